//! A scenario written out again: as JSON with sorted keys, as TOML, and as a digest that names it.
//!
//! The digest is 128-bit FNV-1a over the sorted JSON without the seed. It names runs in a sweep. It does not protect
//! against someone who wants a collision. Values are used as given: "1s" and "1000ms" make two digests.

use super::document::{Node, Tree};
use super::key::Key;
use super::measures::Settled;
use super::read::named_file::NAMING;
use serde_json::{Map, Value, json};
use tailback_base::model::Raw;

/// The tree as JSON, keys sorted. Infinite and undefined numbers, which JSON lacks, become texts.
pub fn to_json(node: &Node) -> Value {
    match &node.tree {
        Tree::Scalar(raw) => scalar(raw),
        Tree::List(list) => Value::Array(list.iter().map(to_json).collect()),
        Tree::Table(entries) => {
            let mut sorted: Vec<_> = entries.iter().map(|e| (e.key.clone(), to_json(&e.node))).collect();
            sorted.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(sorted.into_iter().collect::<Map<String, Value>>())
        }
    }
}

fn scalar(raw: &Raw) -> Value {
    match raw {
        Raw::Bool(b) => json!(b),
        Raw::Int(i) => json!(i),
        Raw::Real(x) if x.is_finite() => json!(x),
        Raw::Real(x) => json!(x.to_string()),
        Raw::Text(t) => json!(t),
        Raw::List(list) => Value::Array(list.iter().map(scalar).collect()),
    }
}

/// 32 hexadecimal digits for a canonical scenario.
pub fn digest(document: &Value) -> String {
    let mut bytes = Vec::new();
    match document {
        Value::Object(map) => {
            for (key, value) in map.iter().filter(|(k, _)| *k != "seed") {
                bytes.extend(json!(key).to_string().bytes());
                bytes.push(b':');
                bytes.extend(placeless(key, value).to_string().bytes());
                bytes.push(b'\n');
            }
        }
        other => bytes.extend(other.to_string().bytes()),
    }
    Key::of(bytes).to_string()
}

/// A file is represented by its digest, wherever it is.
fn placeless(key: &str, value: &Value) -> Value {
    let mut value = value.clone();
    let naming = NAMING.into_iter().find(|(family, ..)| *family == key);
    if let (Some((_, files, digest)), Value::Object(tables)) = (naming, &mut value) {
        for table in tables.values_mut().filter_map(Value::as_object_mut) {
            if table.contains_key(digest) {
                for file in files {
                    table.remove(file);
                }
            }
        }
    }
    value
}

/// The tree as TOML text that reads back to the same tree. Tables such as `[link.NAME]` get headers; deeper tables are
/// inline.
pub fn to_toml(root: &Node) -> String {
    let mut out = String::new();
    for e in root.entries().iter().filter(|e| !is_family(&e.key, &e.node)) {
        out.push_str(&format!("{} = {}\n", key(&e.key), value(&e.node)));
    }
    for family in root.entries().iter().filter(|e| is_family(&e.key, &e.node)) {
        for table in family.node.entries() {
            out.push_str(&format!("\n[{}.{}]\n", key(&family.key), key(&table.key)));
            for e in table.node.entries() {
                out.push_str(&format!("{} = {}\n", key(&e.key), value(&e.node)));
            }
        }
    }
    out
}

/// The first line of the note on values that depend on the path.
const NOTE: &str = "# Values that depend on the path are here:\n";
/// The beginning of the other lines of the note.
const ROW: &str = "#   ";

/// A scenario's text, with a note that gives those of its values that depend on the path. The text keeps these values
/// as given, so that they follow when a rate or a round trip is changed.
pub fn with_settled(mut text: String, settled: &[Settled]) -> String {
    if let Some(old) = text.find(NOTE) {
        let lines = text[old..].split_inclusive('\n').skip(1);
        let rows: usize = lines.take_while(|l| l.starts_with(ROW)).map(str::len).sum();
        text.replace_range(old..old + NOTE.len() + rows, "");
    }
    if !settled.is_empty() {
        text.truncate(text.trim_end().len());
        text.push_str("\n\n");
        text.push_str(NOTE);
    }
    for s in settled {
        text.push_str(&format!(
            "{ROW}{} = {}  ({} = {})\n",
            s.key,
            quoted(&s.value),
            s.written,
            s.because
        ));
    }
    text
}

/// A table that contains only tables, at least one.
fn is_family(name: &str, node: &Node) -> bool {
    let tables = node.entries();
    matches!(name, "link" | "switch" | "flows" | "profile" | "change" | "record")
        && !tables.is_empty()
        && tables.iter().all(|e| matches!(e.node.tree, Tree::Table(_)))
}

fn key(name: &str) -> String {
    if super::read::names::is_name(name) {
        name.to_string()
    } else {
        quoted(name)
    }
}

/// A value on one line.
pub fn value(node: &Node) -> String {
    match &node.tree {
        Tree::Scalar(Raw::Text(t)) => quoted(t),
        Tree::Scalar(Raw::Real(x)) if x.is_nan() => "nan".into(),
        Tree::Scalar(Raw::Real(x)) => format!("{x:?}"),
        Tree::Scalar(raw) => raw.show(),
        Tree::List(list) => format!("[{}]", list.iter().map(value).collect::<Vec<_>>().join(", ")),
        Tree::Table(entries) if entries.is_empty() => "{}".into(),
        Tree::Table(entries) => format!(
            "{{ {} }}",
            entries
                .iter()
                .map(|e| format!("{} = {}", key(&e.key), value(&e.node)))
                .collect::<Vec<_>>()
                .join(", ")
        ),
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
