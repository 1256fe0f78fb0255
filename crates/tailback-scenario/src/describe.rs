//! The reference of models, as data for programs, as text for terminals and as Markdown for the docs.

use super::linux;
use serde_json::{Value, json};
use std::fmt::Write;
use tailback_base::model::{Catalogue, Kind, KindData, Model, Param, Per, Profile, nearest};
use tailback_queue::entry::Marks;
use tailback_queue::registry::facts;
use tailback_queue::shape::htb::classes;
use tailback_sim::library::Library;
use tailback_sim::results::column::{Called, Shown};
use tailback_sim::results::outcome::{Filled, TABLES, TableRow};
use tailback_sim::results::quantity::Better;

/// One model as data.
pub fn model(m: &Model) -> Value {
    let params: Vec<Value> = m
        .params
        .iter()
        .map(|p| {
            json!({
                "name": p.name,
                "kind": kind(&p.kind.data()),
                "allowed": allowed(p),
                "default": if matches!(p.default, "" | "none") { Value::Null } else { json!(p.default) },
                "required": p.default.is_empty(),
                "doc": p.doc,
                "source": p.source,
            })
        })
        .collect();
    let probes: Vec<Value> = m
        .probes
        .iter()
        .map(|p| json!({ "name": p.name, "unit": p.unit, "doc": p.doc, "per": p.per }))
        .collect();
    let mut described_model = json!({
        "name": m.name,
        "family": m.family,
        "title": m.title,
        "summary": m.summary,
        "source": m.source,
        "aliases": catalogue().aliases_of(m).iter().map(|a| json!({ "name": a.name, "of": a.of })).collect::<Vec<_>>(),
        "parameters": params,
        "probes": probes,
        "profiles": m.profiles().iter().map(profile).collect::<Vec<_>>(),
    });
    if m.family == "queue" {
        described_model["marks"] = json!(marks(m));
        for (name, value) in linux::of_queue(m.name) {
            described_model[name] = value;
        }
    } else if m.family == classes::FAMILY {
        described_model["linux"] = linux::described(&classes::LINUX);
    }
    described_model
}

/// The values that a parameter takes. `list` is null if a list is not allowed, and `any` if it may have any length.
/// Otherwise `list` says what each item is for.
fn kind(data: &KindData) -> Value {
    json!({
        "type": data.of,
        "list": data.list.map(|per| per.map_or("any", Per::word)),
        "min": data.least,
        "max": data.most,
        "words": data.words,
        "family": data.family,
    })
}

/// Whether a discipline marks packets: `never`, `ecn` (if its network or its own `ecn` says so), `always` (marks are
/// its signal), or `inside` (like the discipline inside it).
fn marks(m: &Model) -> &'static str {
    match facts(m.name).map_or(Marks::Never, |f| f.marks) {
        Marks::Never => "never",
        Marks::WithEcn => "ecn",
        Marks::Signal => "always",
        Marks::Inside => "inside",
    }
}

/// A named set of values as data.
fn profile(p: &Profile) -> Value {
    let values: serde_json::Map<String, Value> = p.values.iter().map(|(k, v)| (k.to_string(), json!(v))).collect();
    json!({ "name": p.name, "doc": p.doc, "values": values })
}

/// Every model, by family.
pub fn list() -> Value {
    let families = catalogue().families().iter().map(|f| {
        let row = |m: &Model, group| json!({ "name": m.name, "title": m.title, "summary": m.summary, "group": group });
        let groups = f.by_group();
        let models = groups
            .iter()
            .flat_map(|(title, models)| models.iter().map(move |m| row(m, title)));
        json!({ "family": f.name, "models": models.collect::<Vec<Value>>() })
    });
    Value::Array(families.collect())
}

/// The tables of results and the titles of their columns.
pub fn tables() -> Value {
    let column = |called: Called| {
        json!({
            "name": called.name,
            "unit": called.unit,
            "quantity": called.quantity,
            "title": called.title,
            "short": called.short,
            "share": called.share,
            "better": called.better.map(|b| match b {
                Better::More => "more",
                Better::Less => "less",
            }),
            "key": called.key,
            "shown": called.shown.map(|s| match s {
                Shown::OnPages => "on pages",
                Shown::Everywhere => "everywhere",
            }),
            "drawn": called.drawn,
        })
    };
    let table = |t: &TableRow| {
        let columns: Vec<Value> = (t.called)().into_iter().map(column).collect();
        json!({ "name": t.name, "title": t.title, "seldom": t.filled == Filled::Seldom, "columns": columns })
    };
    TABLES.iter().map(table).collect()
}

/// The meaning of a name.
enum Meaning {
    Models(Vec<&'static Model>),
    /// A named set of values, and the model it belongs to.
    Profiles(Vec<(&'static Model, &'static Profile)>),
}

/// A model (`FAMILY.MODEL` where several families have a model of that name), a family, or a profile.
fn find(name: &str) -> Result<Meaning, String> {
    let mut models = catalogue().named(name);
    if let Some((family, model)) = name.split_once('.') {
        models.extend(catalogue().meant(family, model));
    }
    if models.is_empty() {
        models.extend(catalogue().family(name));
    }
    if !models.is_empty() {
        return Ok(Meaning::Models(models));
    }
    let profiles_of = |m: &'static Model| m.profiles().iter().map(move |p| (m, p));
    let mut profiles: Vec<(&Model, &Profile)> = catalogue()
        .all()
        .flat_map(profiles_of)
        .filter(|(_, p)| p.name == name)
        .collect();
    profiles.dedup_by(|a, b| std::ptr::eq(a.1, b.1));
    if !profiles.is_empty() {
        return Ok(Meaning::Profiles(profiles));
    }
    if let Some(absent) = super::absent::sentence(name) {
        return Err(absent);
    }
    let families = catalogue().families().iter().map(|f| f.name);
    let named = catalogue().all().flat_map(profiles_of).map(|(_, p)| p.name);
    let hint = match nearest(name, catalogue().all().map(|m| m.name).chain(families).chain(named)) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => "`tailback describe` alone lists all".to_string(),
    };
    Err(format!(
        "there is no model, family or profile \"{}\"; {hint}",
        super::error::shorten(name, 60)
    ))
}

/// The text about a name, or, if nothing has this name, what to try instead.
///
/// # Errors
/// A sentence that names the nearest model, family or profile.
pub fn text_of(name: &str) -> Result<String, String> {
    Ok(match find(name)? {
        Meaning::Models(found) => found.iter().map(|m| text(m)).collect::<Vec<_>>().join("\n"),
        Meaning::Profiles(found) => found.iter().map(|(m, p)| text_of_profile(m, p)).collect(),
    })
}

/// The data about a name: a list of models, or of profiles with the model of each.
///
/// # Errors
/// The errors are those of [`text_of`].
pub fn data_of(name: &str) -> Result<Value, String> {
    let list = match find(name)? {
        Meaning::Models(found) => found.iter().map(|m| model(m)).collect(),
        Meaning::Profiles(found) => found
            .iter()
            .map(|(m, p)| {
                let mut data = profile(p);
                data["family"] = json!("profile");
                data["model"] = json!(m.name);
                data
            })
            .collect(),
    };
    Ok(Value::Array(list))
}

fn text_of_profile(m: &Model, p: &Profile) -> String {
    let mut out = format!("{} (profile of {})\n", p.name, m.name);
    wrap(&mut out, p.doc, 2);
    out.push_str("\nValues\n");
    for (key, value) in p.values {
        let _ = writeln!(out, "  {key} = {value}");
    }
    if p.values.is_empty() {
        out.push_str("  the defaults\n");
    }
    out
}

/// The quantities of a queue that may depend on the path, each with an example in these quotes; `None` if it has no
/// quantities.
fn on_path(m: &Model, quote: &str) -> Option<String> {
    let quote = if quote.is_empty() { "\"" } else { quote };
    let has = |is: fn(&Kind) -> bool| m.params.iter().any(|p| is(item(&p.kind)));
    let forms = [
        (
            has(|k| matches!(k, Kind::Size | Kind::Level | Kind::Bytes { .. })),
            "sizes as",
            "0.5 bdp",
        ),
        (has(|k| matches!(k, Kind::Time { .. })), "times as", "2 rtt"),
        (has(|k| matches!(k, Kind::Rate { .. })), "rates as", "95 %"),
    ];
    let examples: Vec<String> = forms
        .iter()
        .filter(|(has, ..)| m.family == "queue" && *has)
        .map(|(_, what, form)| format!("{what} {quote}{form}{quote}"))
        .collect();
    (!examples.is_empty()).then(|| {
        format!(
            "In a scenario they may depend on the link: {}; `tailback check` says what each is.",
            examples.join(", ")
        )
    })
}

/// The kind of a value, or of a list's items.
fn item(kind: &Kind) -> &Kind {
    match kind {
        Kind::Each(_, k) | Kind::List(k) => item(k),
        k => k,
    }
}

/// One model as text of at most 100 columns.
pub fn text(m: &Model) -> String {
    let mut out = format!("{} ({}): {}\n", m.name, m.family, m.title);
    wrap(&mut out, m.summary, 2);
    if !m.source.is_empty() {
        wrap(&mut out, &format!("Source: {}", m.source), 2);
    }
    let also = also_called(m, "");
    if !also.is_empty() {
        wrap(&mut out, &format!("Also called: {also}"), 2);
    }
    if !m.params.is_empty() {
        out.push_str("\nParameters\n");
        for p in m.params {
            let _ = writeln!(out, "  {} = {}", p.name, default_of(p));
            wrap(&mut out, p.doc, 6);
            wrap(&mut out, &format!("Allowed: {}.", allowed(p)), 6);
            if !p.source.is_empty() {
                wrap(&mut out, &format!("Source: {}.", p.source), 6);
            }
        }
    }
    if let Some(note) = on_path(m, "") {
        out.push('\n');
        wrap(&mut out, &note, 2);
    }
    if !m.profiles().is_empty() {
        out.push_str("\nProfiles\n");
        for p in m.profiles() {
            let _ = writeln!(out, "  {}", p.name);
            wrap(&mut out, p.doc, 6);
            let values: Vec<String> = p.values.iter().map(|(k, v)| format!("{k} = {v}")).collect();
            if !values.is_empty() {
                wrap(&mut out, &format!("{}.", values.join(", ")), 6);
            }
        }
    }
    if !m.probes.is_empty() {
        out.push_str("\nProbes\n");
        for p in m.probes {
            let per = if p.per.is_empty() {
                String::new()
            } else {
                format!(", one for each {}", p.per)
            };
            let _ = writeln!(out, "  {} ({}{per})", p.name, p.unit);
            wrap(&mut out, p.doc, 6);
        }
    }
    out
}

/// The list of all models as text, one line each.
pub fn list_text() -> String {
    let mut out = String::new();
    for family in catalogue().families() {
        let _ = writeln!(out, "{}", family.name);
        for (title, models) in family.by_group() {
            if !title.is_empty() {
                let _ = writeln!(out, "  {title}");
            }
            let indent = if title.is_empty() { "  " } else { "    " };
            for m in models {
                let _ = writeln!(out, "{indent}{:<16}{}", m.name, m.title);
            }
        }
    }
    out
}

/// One model as a Markdown section with a table of its parameters.
pub fn markdown(m: &Model) -> String {
    let mut out = format!("### `{}`: {}\n\n{}\n", m.name, m.title, m.summary);
    if !m.source.is_empty() {
        let _ = writeln!(out, "\nSource: {}.", m.source.trim_end_matches('.'));
    }
    let also = also_called(m, "`");
    if !also.is_empty() {
        let _ = writeln!(out, "\nAlso called: {also}.");
    }
    if !m.params.is_empty() {
        out.push_str("\n| Parameter | Default | Meaning | Allowed | Source |\n|---|---|---|---|---|\n");
        for p in m.params {
            let default = if matches!(p.default, "" | "none") {
                default_of(p)
            } else {
                format!("`{}`", p.default)
            };
            let cells = [
                format!("`{}`", p.name),
                default,
                p.doc.into(),
                allowed(p),
                p.source.into(),
            ];
            let _ = writeln!(
                out,
                "| {} |",
                cells.map(|c| c.replace('|', "\\|").replace('\n', " ")).join(" | ")
            );
        }
    }
    if let Some(note) = on_path(m, "`") {
        let _ = writeln!(out, "\n{note}");
    }
    if !m.profiles().is_empty() {
        out.push_str("\n| Profile | Meaning | Values |\n|---|---|---|\n");
        for p in m.profiles() {
            let values: Vec<String> = p.values.iter().map(|(k, v)| format!("`{k} = {v}`")).collect();
            let (doc, values) = (p.doc.replace('|', "\\|"), values.join(", ").replace('|', "\\|"));
            let _ = writeln!(out, "| `{}` | {doc} | {values} |", p.name);
        }
    }
    if !m.probes.is_empty() {
        out.push_str("\n| Probe | Unit | Meaning |\n|---|---|---|\n");
        for p in m.probes {
            let per = if p.per.is_empty() {
                String::new()
            } else {
                format!(" (by {})", p.per)
            };
            let _ = writeln!(
                out,
                "| `{}` | {}{per} | {} |",
                p.name,
                p.unit,
                p.doc.replace('|', "\\|")
            );
        }
    }
    out
}

/// The whole reference in Markdown.
pub fn reference() -> String {
    let mut out = String::from(
        "# Reference of the scenario\n\nMade by `tailback describe --markdown` from the declarations in the code. Do \
         not edit.\n",
    );
    for family in catalogue().families() {
        let _ = write!(out, "\n## {}\n", family.title);
        // A model of several families is listed with its own family.
        for m in family
            .models
            .iter()
            .filter(|m| m.family == family.name || family.name == "table")
        {
            let _ = write!(out, "\n{}", markdown(m));
        }
    }
    out
}

fn catalogue() -> &'static Catalogue {
    &Library::standard().catalogue
}

/// The names of a model in other programs: `fq_codel (Linux), FqCoDelQueueDisc (ns-3)`.
fn also_called(m: &Model, quote: &str) -> String {
    let all = catalogue().aliases_of(m);
    let aliases: Vec<String> = all
        .iter()
        .map(|a| format!("{quote}{}{quote} ({})", a.name, a.of))
        .collect();
    aliases.join(", ")
}

/// The values of a parameter, with the names of a family of models.
fn allowed(p: &Param) -> String {
    match p.kind.family() {
        Some(family) if !matches!(p.kind, Kind::Named(_)) => {
            let names: Vec<&str> = catalogue().family(family).iter().map(|m| m.name).collect();
            format!("{}: {}", p.kind.allowed(), names.join(", "))
        }
        _ => p.kind.allowed(),
    }
}

fn default_of(p: &Param) -> String {
    match p.default {
        "" => "must be given".into(),
        "none" => "none".into(),
        text => text.into(),
    }
}

/// Append a paragraph, indented, broken between words at 100 columns.
fn wrap(out: &mut String, text: &str, indent: usize) {
    let mut column = 0;
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > 100 {
            out.push('\n');
            column = 0;
        }
        if column == 0 {
            out.extend(std::iter::repeat_n(' ', indent));
            column = indent;
        } else {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    if column > 0 {
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_is_described_in_full() {
        let reference = reference();
        for m in catalogue().all() {
            let (text, markdown, data) = (text(m), markdown(m), model(m));
            assert!(text.lines().all(|l| l.chars().count() <= 100), "{text}");
            assert!(reference.contains(&markdown));
            assert_eq!(data["parameters"].as_array().unwrap().len(), m.params.len());
            for p in m.params {
                assert!(text.contains(p.name) && markdown.contains(p.name));
            }
        }
        assert!(text_of("poisson").unwrap().matches("poisson (").count() == 2);
        // A family gives its models, a family and a model give that model, and a profile gives its values.
        assert!(text_of("aqm").unwrap().contains("codel (queue)"));
        assert!(text_of("traffic.poisson").unwrap().matches("poisson (").count() == 1);
        assert!(text_of("ns2").unwrap().starts_with("ns2 (profile of tcp)"));
        assert_eq!(data_of("ns2").unwrap()[0]["model"], "tcp");
        assert!(text_of("tcp").unwrap().contains("\nProfiles\n"));
        // A name of another program gives its model; a name of two models gives both.
        assert!(text_of("fq_codel").unwrap().starts_with("fq-codel (queue)"));
        assert!(
            text_of("fq-codel")
                .unwrap()
                .contains("Also called: fq_codel (Linux), FqCoDelQueueDisc (ns-3)")
        );
        let both = data_of("RED/RIO").unwrap();
        let names: Vec<_> = both
            .as_array()
            .unwrap()
            .iter()
            .map(|m| m["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["rio", "mred"]);
        assert!(text_of("dropptail").unwrap_err().contains("\"droptail\""));
        assert!(list_text().contains("dumbbell"));
        assert!(list().as_array().unwrap().len() == catalogue().families().len());
    }
}
