//! The JSON schema (draft 2020-12) of a scenario, made from the declarations, so that editors complete and check.
//!
//! It is a little more lenient than [`super::read`]: it has the ranges of plain numbers and the spelling of units, but
//! not the ranges of quantities with units, nor the dependencies between keys. The schema never refuses a scenario that
//! the reader accepts.

use super::canonical;
use super::document::{Node, Tree};
use super::error::At;
use serde_json::{Map, Value, json};
use tailback_base::model::{Catalogue, Kind, Model, Param, Raw};
use tailback_sim::declare::{changes, tables, workload};
use tailback_sim::library::Library;

/// Numbers as the unit parser reads them.
const NUMBER: &str = r"\s*[+]?[0-9._]+([eE][+-]?[0-9_]+)?\s*";
const TIME_UNITS: &str = "ns|us|\u{b5}s|\u{3bc}s|ms|s|sec|second|seconds|min|h|rtt|RTT";
const RATE_UNITS: &str = r"[kKMGT]?(bits?/s|bps|b/s)|%(\s*of\s+[A-Za-z0-9_.-]+)?";
const BYTE_UNITS: &str = "B|bytes?|[kKMG]B|[KMG]iB|bdp|BDP";
const PACKET_UNITS: &str = "packets?|pkts?";
const NAME: &str = "^[A-Za-z0-9_-]{1,64}$";

/// The schema of the whole scenario.
pub fn schema() -> Value {
    let mut definitions = Map::new();
    for model in [
        &tables::LINK,
        &tables::SWITCH,
        &tables::FLOWS,
        &workload::WORKLOAD,
        &changes::CHANGE,
        &tables::RECORD,
    ] {
        definitions.insert(model.name.to_string(), table(model));
    }
    definitions.insert("profile".into(), object(&tailback_transport::tcp::MODEL, false));
    for family in catalogue().families().iter().filter(|f| f.name != "table") {
        definitions.insert(family.name.to_string(), choice(family.name));
        for model in &family.models {
            definitions.insert(format!("{}.{}", family.name, model.name), object(model, true));
        }
    }
    // In a table of flows or of a workload the transport's name is a key, which replaces `kind`.
    for model in catalogue().family("transport") {
        let reference = format!("flows.{}", model.name);
        definitions.insert(reference.clone(), object(model, false));
        for owner in ["flows", workload::WORKLOAD.name] {
            let properties = definitions.get_mut(owner).and_then(|f| f["properties"].as_object_mut());
            if let Some(properties) = properties {
                properties.insert(
                    model.name.to_string(),
                    json!({ "$ref": format!("#/$defs/{reference}"), "description": model.summary }),
                );
            }
        }
    }
    definitions.insert("sessions".into(), sessions());
    let mut top = table(&tables::SCENARIO);
    top["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    top["title"] = json!("tailback scenario");
    top["required"] = json!(["duration"]);
    top["anyOf"] = json!([{ "required": ["flows"] }, { "required": ["sessions"] }, { "required": ["workload"] }]);
    top["$defs"] = Value::Object(definitions);
    top
}

/// A table of sessions: the keys of all sessions, and the parameters of the kinds. The schema leaves it to the reader
/// which parameters belong to which kind.
fn sessions() -> Value {
    let mut schema = table(&tables::SESSIONS);
    schema["required"] = json!(["kind"]);
    let kinds = catalogue().family("session");
    let names: Vec<&str> = kinds.iter().map(|m| m.name).collect();
    let session_params = kinds
        .iter()
        .flat_map(|m| m.params)
        .map(|p| (p.name.to_string(), param(p)));
    let transports = catalogue().family("transport").iter().map(|m| {
        let reference = format!("#/$defs/flows.{}", m.name);
        let description = m.summary;
        (
            m.name.to_string(),
            json!({ "$ref": reference, "description": description }),
        )
    });
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.insert(
            "kind".into(),
            json!({ "enum": names, "description": "The kind of session." }),
        );
        for (name, value) in session_params.chain(transports) {
            match properties.get_mut(&name) {
                Some(other) => *other = json!({ "anyOf": [other.clone(), value] }),
                None => drop(properties.insert(name, value)),
            }
        }
    }
    schema
}

fn catalogue() -> &'static Catalogue {
    &Library::standard().catalogue
}

/// Whether a kind contains tables, whose possible values need no description.
fn structural(kind: &Kind) -> bool {
    kind.holds_models() || matches!(kind, Kind::Named(_))
}

fn table(model: &Model) -> Value {
    let mut schema = object(model, false);
    // A link in addition to a topology may leave everything out, so no key is required here.
    if model.name == "link" {
        schema.as_object_mut().map(|o| o.remove("required"));
    }
    schema
}

/// A table of one model. With `kind`, the table says which model it is.
fn object(model: &Model, kind: bool) -> Value {
    let mut properties = Map::new();
    let mut required = vec![];
    if kind {
        properties.insert(
            "kind".into(),
            match aliases(model)[..] {
                [] => json!({ "const": model.name, "description": model.title }),
                ref also => json!({
                    "enum": std::iter::once(model.name).chain(also.iter().copied()).collect::<Vec<_>>(),
                    "description": model.title,
                }),
            },
        );
        if catalogue().family(model.family).len() > 1 {
            required.push(json!("kind"));
        }
    }
    for p in model.params {
        if p.default.is_empty() {
            required.push(json!(p.name));
        }
        properties.insert(p.name.to_string(), param(p));
    }
    let description = if model.source.is_empty() {
        model.summary.to_string()
    } else {
        format!("{} Source: {}.", model.summary, model.source)
    };
    json!({
        "type": "object",
        "title": model.title,
        "description": description,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// The names that other programs give to this model and to no other one.
fn aliases(model: &Model) -> Vec<&'static str> {
    let all = catalogue().aliases_of(model).into_iter().map(|a| a.name);
    all.filter(|n| catalogue().named(n).len() == 1).collect()
}

fn param(p: &Param) -> Value {
    let mut schema = of_kind(&p.kind);
    let mut text = p.doc.to_string();
    if !structural(&p.kind) {
        text.push_str(&format!(" Allowed: {}.", p.kind.allowed()));
    }
    if !p.source.is_empty() {
        text.push_str(&format!(" Source: {}.", p.source));
    }
    schema["description"] = json!(text);
    if !matches!(p.default, "" | "none") {
        let node = Node {
            at: At::Nowhere,
            tree: Tree::Scalar(Raw::from_word(p.default)),
        };
        schema["default"] = canonical::to_json(&node);
    }
    schema
}

fn pattern(units: &str) -> Value {
    json!({ "type": "string", "pattern": format!("^{NUMBER}({units})\\s*$") })
}

fn of_kind(kind: &Kind) -> Value {
    match kind {
        Kind::Bool => json!({ "type": "boolean" }),
        // In JSON a bound beyond 2^53 cannot be distinguished from its neighbours.
        Kind::Count { min, max } if *max < 1 << 53 => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Count { min, .. } => json!({ "type": "integer", "minimum": min }),
        Kind::Real { min, max } => {
            let mut schema = json!({ "type": "number" });
            for (word, bound) in [("minimum", min), ("maximum", max)] {
                if bound.is_finite() && bound.abs() < f64::MAX {
                    schema[word] = json!(bound);
                }
            }
            schema
        }
        Kind::Time { .. } => pattern(TIME_UNITS),
        Kind::Rate { .. } => pattern(RATE_UNITS),
        Kind::Size => {
            let pattern = format!("^({NUMBER}({PACKET_UNITS}|{BYTE_UNITS})|\\s*unlimited)\\s*$");
            json!({ "type": "string", "pattern": pattern })
        }
        Kind::Level => pattern(&format!("%|{PACKET_UNITS}|{BYTE_UNITS}")),
        Kind::Bytes { .. } => pattern(BYTE_UNITS),
        Kind::CodePoint => json!({ "type": ["string", "integer"] }),
        Kind::Choice(words) => json!({ "enum": words }),
        Kind::Text | Kind::Profile(_) => json!({ "type": "string" }),
        Kind::Each(_, k) | Kind::List(k) => {
            let (item, least) = (of_kind(k), usize::from(!structural(k)));
            json!({ "anyOf": [item.clone(), { "type": "array", "items": item, "minItems": least }] })
        }
        Kind::Model(family) => json!({ "$ref": format!("#/$defs/{family}") }),
        Kind::Named(table) => {
            let value = json!({ "$ref": format!("#/$defs/{table}") });
            json!({ "type": "object", "propertyNames": { "pattern": NAME }, "additionalProperties": value })
        }
    }
}

/// A name or a table of one of the family's models. The discriminator (of OpenAPI, and of validators that adopted it)
/// distinguishes tables by `kind`. A mistake in one model is then not reported as a mistake in every other.
fn choice(family: &str) -> Value {
    let all = catalogue().family(family);
    let bare: Vec<&str> = all
        .iter()
        .filter(|m| m.params.iter().all(|p| !p.default.is_empty()))
        .flat_map(|m| std::iter::once(m.name).chain(aliases(m)))
        .collect();
    let mut options = vec![];
    if family == "instants" {
        let instant = of_kind(&tailback_sim::declare::kinds::TIME);
        options.push(instant.clone());
        options.push(json!({ "type": "array", "items": instant, "minItems": 1 }));
    } else if !bare.is_empty() {
        options.push(json!({ "enum": bare }));
    }
    let reference = |m: &Model| format!("#/$defs/{family}.{}", m.name);
    let tables: Vec<Value> = all.iter().map(|m| json!({ "$ref": reference(m) })).collect();
    if let [one] = tables.as_slice() {
        // The table of the only model needs no `kind`.
        options.push(one.clone());
    } else {
        let mut mapping = Map::new();
        for m in all {
            for name in std::iter::once(m.name).chain(aliases(m)) {
                mapping.insert(name.to_string(), json!(reference(m)));
            }
        }
        options.push(json!({
            "type": "object",
            "required": ["kind"],
            "discriminator": { "propertyName": "kind", "mapping": mapping },
            "oneOf": tables,
        }));
    }
    json!({ "anyOf": options })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references(v: &Value, found: &mut Vec<String>) {
        match v {
            Value::Object(map) => {
                found.extend(map.get("$ref").and_then(Value::as_str).map(str::to_string));
                map.values().for_each(|v| references(v, found));
            }
            Value::Array(list) => list.iter().for_each(|v| references(v, found)),
            _ => {}
        }
    }

    #[test]
    fn the_schema_is_json_and_covers_every_parameter() {
        let schema: Value = serde_json::from_str(&schema().to_string()).unwrap();
        let definitions = schema["$defs"].as_object().unwrap();
        for model in catalogue().all() {
            let object = match (model.family, model.name) {
                ("table", "scenario") => &schema,
                ("table", name) => &definitions[name],
                (family, name) => &definitions[&format!("{family}.{name}")],
            };
            for p in model.params {
                let property = &object["properties"][p.name];
                assert!(
                    property["description"].as_str().unwrap().starts_with(p.doc),
                    "{}.{}",
                    model.name,
                    p.name
                );
                assert_eq!(
                    property.get("default").is_some(),
                    !matches!(p.default, "" | "none"),
                    "{}.{}",
                    model.name,
                    p.name
                );
            }
            assert_eq!(object["additionalProperties"], json!(false));
        }
        for family in catalogue()
            .families()
            .iter()
            .filter(|f| f.models.len() > 1 && f.name != "table")
        {
            let tables = definitions[family.name]["anyOf"].as_array().unwrap().last().unwrap();
            let mapping = tables["discriminator"]["mapping"].as_object().unwrap();
            let also: usize = family.models.iter().map(|m| aliases(m).len()).sum();
            assert_eq!(mapping.len(), family.models.len() + also);
            for (kind, reference) in mapping {
                let named = reference.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                let kind_schema = &definitions[named]["properties"]["kind"];
                let all = kind_schema.get("enum").and_then(Value::as_array).cloned();
                assert!(all.unwrap_or(vec![kind_schema["const"].clone()]).contains(&json!(kind)));
            }
        }
        let mut found_references = vec![];
        references(&schema, &mut found_references);
        assert!(found_references.len() > 20);
        for reference in found_references {
            assert!(
                definitions.contains_key(reference.strip_prefix("#/$defs/").unwrap()),
                "{reference}"
            );
        }
    }
}
