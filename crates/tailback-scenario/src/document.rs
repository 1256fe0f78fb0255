//! A scenario as it is written: a tree of tables, lists and values, each with its place.
//!
//! TOML text and the JSON of the Python builder become the same [`Document`], so that everything after this file
//! (overrides, checks, the canonical form) is written once. A place is a range of bytes in the text, or the `--set`
//! argument that made the value. JSON has no places, so the key path alone names the culprit.
//!
//! Nothing here depends on the meaning of a key. The TOML parser bounds its recursion (80 levels), and so does the JSON
//! parser (128 levels).

use super::error::{self, At, Problem, ScenarioError};
use serde_core::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use std::fmt;
use tailback_base::model::{Param, Raw};
use toml::de::{DeTable, DeValue};

/// A scenario with the text it came from.
#[derive(Clone, Debug)]
pub struct Document {
    /// The name of the document in messages: the path of the file.
    pub file: String,
    /// The text; empty for JSON, which has no lines worth showing.
    pub text: String,
    /// The `--set` arguments applied, in order; [`At::Argument`] is an index into this list.
    pub arguments: Vec<String>,
    pub root: Node,
}

/// A value and its place.
#[derive(Clone, Debug)]
pub struct Node {
    pub at: At,
    pub tree: Tree,
}

#[derive(Clone, Debug)]
pub enum Tree {
    Scalar(Raw),
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// One key of a table with its value, in the order of the file.
#[derive(Clone, Debug)]
pub struct Entry {
    pub key: String,
    pub key_at: At,
    pub node: Node,
}

impl Node {
    pub fn text(text: &str, at: At) -> Node {
        Node {
            at,
            tree: Tree::Scalar(Raw::Text(text.to_string())),
        }
    }

    pub fn table(entries: Vec<Entry>, at: At) -> Node {
        Node {
            at,
            tree: Tree::Table(entries),
        }
    }

    pub fn entries(&self) -> &[Entry] {
        match &self.tree {
            Tree::Table(entries) => entries,
            _ => &[],
        }
    }

    /// The entries of a table, to be changed.
    pub fn entries_mut(&mut self) -> &mut [Entry] {
        match &mut self.tree {
            Tree::Table(entries) => entries,
            _ => &mut [],
        }
    }

    /// A value of a table, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries_mut()
            .iter_mut()
            .find(|e| e.key == key)
            .map(|e| &mut e.node)
    }

    /// Give a table another entry; its place is that of the value.
    pub fn insert(&mut self, key: &str, node: Node) {
        if let Tree::Table(entries) = &mut self.tree {
            let (key, key_at) = (key.to_string(), node.at.clone());
            entries.push(Entry { key, key_at, node });
        }
    }

    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|e| e.key == key)
    }

    /// The given value of a parameter.
    pub fn given(&self, param: &Param) -> Option<&Node> {
        self.get(param.name).map(|e| &e.node)
    }

    /// The place of a parameter's value; the place of this table if the value is left out.
    pub fn place_of(&self, param: &Param) -> At {
        self.given(param).unwrap_or(self).at.clone()
    }

    /// The node at a path below this one, such as `before[0].n`, or at the part of the path that was given.
    pub fn at_path(&self, path: &str) -> &Node {
        let mut node = self;
        for step in path.split('.') {
            let (key, item) = match step.strip_suffix(']').and_then(|s| s.split_once('[')) {
                Some((key, item)) => (key, item.parse().ok()),
                None => (step, None),
            };
            let Some(entry) = node.get(key) else {
                return node;
            };
            node = &entry.node;
            // One model alone counts as a list of one.
            if let (Some(i), Tree::List(items)) = (item, &node.tree) {
                node = items.get::<usize>(i).unwrap_or(node);
            }
        }
        node
    }

    /// The value in the form that parameters read; `None` if it contains a table.
    pub fn raw(&self) -> Option<Raw> {
        match &self.tree {
            Tree::Scalar(raw) => Some(raw.clone()),
            Tree::List(list) => list.iter().map(Node::raw).collect::<Option<_>>().map(Raw::List),
            Tree::Table(_) => None,
        }
    }

    /// The value as a message quotes it; long values are cut.
    pub fn show(&self) -> String {
        let full = match &self.tree {
            Tree::Scalar(raw) => raw.show(),
            Tree::List(list) => {
                let shown: Vec<String> = list.iter().take(4).map(Node::show).collect();
                format!("[{}{}]", shown.join(", "), if list.len() > 4 { ", ..." } else { "" })
            }
            Tree::Table(entries) => {
                let shown_entries: Vec<String> = entries
                    .iter()
                    .take(4)
                    .map(|e| format!("{} = {}", e.key, e.node.show()))
                    .collect();
                format!(
                    "{{ {}{} }}",
                    shown_entries.join(", "),
                    if entries.len() > 4 { ", ..." } else { "" }
                )
            }
        };
        error::shorten(&full, 80)
    }
}

impl Document {
    /// Read TOML text.
    pub fn from_toml(text: &str, file: &str) -> Result<Document, Box<Problem>> {
        match DeTable::parse(text) {
            Ok(table) => {
                let range = table.span();
                let root = Node {
                    at: At::Text(range.start, range.end),
                    tree: table_of(table.get_ref()),
                };
                Ok(Document {
                    file: file.to_string(),
                    text: text.to_string(),
                    arguments: vec![],
                    root,
                })
            }
            Err(e) => Err(Box::new(syntax_problem(text, e.message(), e.span()))),
        }
    }

    /// The error with these problems of the document, their places, and the number of further problems.
    pub fn refused(&self, problems: Vec<Problem>, more: usize) -> ScenarioError {
        let mut error = ScenarioError::in_text(&self.file, &self.text, &self.arguments, problems);
        error.more += more;
        error
    }

    /// A warning, with the line of the setting that looks like a mistake.
    pub fn warning(&self, about: &str, at: At, problem: &str) -> String {
        error::warning(&self.file, &self.text, &self.arguments, about, at, problem)
    }

    /// Read JSON, as the Python builder hands it over. A `null` in an object counts as a missing key.
    pub fn from_json(text: &str, file: &str) -> Result<Document, Box<Problem>> {
        match serde_json::from_str::<Json>(text) {
            Ok(Json(Some(
                root @ Node {
                    tree: Tree::Table(_), ..
                },
            ))) => Ok(Document {
                file: file.to_string(),
                text: String::new(),
                arguments: vec![],
                root,
            }),
            Ok(_) => Err(Box::new(Problem::new(
                "syntax",
                At::Nowhere,
                "",
                "the JSON is not an object",
                "give an object with the tables of a scenario",
            ))),
            Err(e) => Err(Box::new(Problem::new(
                "syntax",
                At::Nowhere,
                "",
                format!("this is not JSON: {e}"),
                "give one JSON object with the tables of a scenario",
            ))),
        }
    }

    /// The line, from 1, of a path such as `axis.rate.values` or `at[1].where`: the line of its last step that is in
    /// the text.
    pub fn line_of(&self, path: &str) -> Option<usize> {
        let mut node = &self.root;
        let mut place = None;
        for step in path.split('.') {
            let (key, item) = step.split_once('[').map_or((step, None), |(key, rest)| {
                (key, rest.trim_end_matches(']').parse::<usize>().ok())
            });
            let Some(entry) = node.get(key) else { break };
            (node, place) = (&entry.node, Some(&entry.key_at));
            if let (Some(i), Tree::List(items)) = (item, &entry.node.tree) {
                let Some(item) = items.get(i) else { break };
                (node, place) = (item, Some(&item.at));
            }
        }
        match place? {
            At::Text(start, _) => Some(1 + self.text[..*start].matches('\n').count()),
            At::Nowhere | At::Argument(_) => None,
        }
    }
}

/// The message of the TOML parser, with a remedy.
fn syntax_problem(text: &str, message: &str, span: Option<std::ops::Range<usize>>) -> Problem {
    let span = span.unwrap_or(text.len()..text.len());
    let place = At::Text(span.start, span.end);
    let shown = text.get(span.start..span.end).unwrap_or("");
    if message.contains("duplicate key") {
        let key = shown.trim().to_string();
        let problem = if key.is_empty() {
            "a name is given twice".into()
        } else {
            format!("the name \"{key}\" is given twice")
        };
        return Problem::new("duplicate", place, &key, problem, "rename or remove one of the two");
    }
    let at_end = span.start >= text.trim_end().len();
    let remedy = if at_end {
        "the file seems cut off here: close what is open, or fetch the file again"
    } else if message.contains("recurse") {
        "nest tables and lists less deeply: no scenario needs more than a few levels"
    } else if message.contains("string values must be quoted") {
        "put quotes around a text, as in rate = \"5Mbps\""
    } else {
        "write key = value, with texts in quotes, and tables as [link.NAME] on a line of their own"
    };
    Problem::new("syntax", place, "", format!("this is not TOML: {message}"), remedy)
}

fn table_of(table: &DeTable) -> Tree {
    let mut entries: Vec<(usize, Entry)> = table
        .iter()
        .map(|(key, value)| {
            let span = key.span();
            let entry = Entry {
                key: key.get_ref().to_string(),
                key_at: At::Text(span.start, span.end),
                node: node_of(value.get_ref(), value.span()),
            };
            (span.start, entry)
        })
        .collect();
    entries.sort_by_key(|(start, _)| *start);
    Tree::Table(entries.into_iter().map(|(_, e)| e).collect())
}

fn node_of(value: &DeValue, span: std::ops::Range<usize>) -> Node {
    let tree = match value {
        DeValue::String(s) => Tree::Scalar(Raw::Text(s.to_string())),
        // An integer beyond 64 bits becomes a real, which every whole-number parameter refuses with its range.
        DeValue::Integer(i) => Tree::Scalar(match i64::from_str_radix(i.as_str(), i.radix()) {
            Ok(n) => Raw::Int(n),
            Err(_) => Raw::Real(i.as_str().parse().unwrap_or(f64::INFINITY)),
        }),
        DeValue::Float(x) => Tree::Scalar(Raw::Real(x.as_str().parse().unwrap_or(f64::NAN))),
        DeValue::Boolean(b) => Tree::Scalar(Raw::Bool(*b)),
        // No parameter is a date. As text the date reaches the unit parser, whose message says what is expected.
        DeValue::Datetime(d) => Tree::Scalar(Raw::Text(d.to_string())),
        DeValue::Array(list) => Tree::List(list.iter().map(|v| node_of(v.get_ref(), v.span())).collect()),
        DeValue::Table(table) => table_of(table),
    };
    Node {
        at: At::Text(span.start, span.end),
        tree,
    }
}

/// A value on its own, as in `--set path=value`: TOML if it is TOML, otherwise the bare word as a text.
pub fn value_from_argument(text: &str, argument: usize) -> Node {
    let as_toml = format!("x = {}", text.trim());
    let place = At::Argument(argument);
    if let Ok(table) = DeTable::parse(&as_toml) {
        let mut entries = table.get_ref().iter();
        if let (Some((key, value)), None) = (entries.next(), entries.next())
            && key.get_ref() == "x"
            && !matches!(value.get_ref(), DeValue::Datetime(_))
        {
            let mut node = node_of(value.get_ref(), value.span());
            move_to(&mut node, &place);
            return node;
        }
    }
    from_raw(Raw::from_word(text), &place)
}

fn from_raw(raw: Raw, at: &At) -> Node {
    let tree = match raw {
        Raw::List(list) => Tree::List(list.into_iter().map(|r| from_raw(r, at)).collect()),
        one => Tree::Scalar(one),
    };
    Node { at: at.clone(), tree }
}

fn move_to(node: &mut Node, at: &At) {
    node.at = at.clone();
    match &mut node.tree {
        Tree::Scalar(_) => {}
        Tree::List(list) => list.iter_mut().for_each(|n| move_to(n, at)),
        Tree::Table(entries) => {
            for e in entries {
                e.key_at = at.clone();
                move_to(&mut e.node, at);
            }
        }
    }
}

/// A JSON value on its way to a [`Node`]; `None` is `null`. It has a visitor of its own, because serde_json's value
/// does not show that a name came twice.
struct Json(Option<Node>);

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Json, D::Error> {
        d.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

fn scalar<E>(raw: Raw) -> Result<Json, E> {
    Ok(Json(Some(Node {
        at: At::Nowhere,
        tree: Tree::Scalar(raw),
    })))
}

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "a JSON value")
    }
    fn visit_bool<E>(self, b: bool) -> Result<Json, E> {
        scalar(Raw::Bool(b))
    }
    fn visit_i64<E>(self, i: i64) -> Result<Json, E> {
        scalar(Raw::Int(i))
    }
    fn visit_u64<E>(self, i: u64) -> Result<Json, E> {
        scalar(i64::try_from(i).map_or(Raw::Real(i as f64), Raw::Int))
    }
    fn visit_f64<E>(self, x: f64) -> Result<Json, E> {
        scalar(Raw::Real(x))
    }
    fn visit_str<E>(self, s: &str) -> Result<Json, E> {
        scalar(Raw::Text(s.to_string()))
    }
    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json(None))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut list = vec![];
        while let Some(Json(node)) = seq.next_element()? {
            list.push(node.ok_or_else(|| A::Error::custom("a list holds null"))?);
        }
        Ok(Json(Some(Node {
            at: At::Nowhere,
            tree: Tree::List(list),
        })))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut entries: Vec<Entry> = vec![];
        let mut seen_keys = std::collections::BTreeSet::new();
        while let Some((key, Json(node))) = map.next_entry::<String, Json>()? {
            if !seen_keys.insert(key.clone()) {
                return Err(A::Error::custom(format!("the name \"{key}\" is given twice")));
            }
            if let Some(node) = node {
                entries.push(Entry {
                    key,
                    key_at: At::Nowhere,
                    node,
                });
            }
        }
        Ok(Json(Some(Node::table(entries, At::Nowhere))))
    }
}
