//! `--set path=value`: change a scenario before it is checked.
//!
//! The path is that of messages: `link.bottleneck.queue.buffer`. A value is read as TOML if it is TOML (`5`, `true`,
//! `["1s", "2s"]`, `{ kind = "red" }`), and otherwise as text, so that no shell quoting is needed: `rate=5Mbps`. Keys
//! that are missing are made; a name such as `queue = "red"` becomes a table when something is set in it. New links,
//! flows or recordings are not made key by key, because then a mistyped name would pass for a new one.
//!
//! Values that an argument has set are checked like all others, and a message about such a value names the argument.

use super::document::{Document, Entry, Node, Tree, value_from_argument};
use super::error::{At, Problem, ScenarioError, shorten};
use tailback_base::model::{Kind, Raw, nearest};
use tailback_sim::declare::tables::SCENARIO;

/// The most keys in a path. A scenario has four levels, and models in models a few more.
const MOST_KEYS: usize = 32;

/// Apply the arguments in order; a later one wins.
///
/// # Errors
/// An argument that is no `path=value`, or whose path leads nowhere.
pub fn apply(document: &mut Document, arguments: &[String]) -> Result<(), ScenarioError> {
    for argument in arguments {
        let index = document.arguments.len();
        document.arguments.push(argument.clone());
        if let Err(p) = apply_one(document, argument, index) {
            return Err(document.refused(vec![*p], 0));
        }
    }
    Ok(())
}

fn apply_one(document: &mut Document, argument: &str, index: usize) -> Result<(), Box<Problem>> {
    let place = At::Argument(index);
    let fail = |key: &str, problem: String, remedy: String| {
        Box::new(Problem::new("override", place.clone(), key, problem, remedy))
    };
    let Some((path, text)) = argument.split_once('=') else {
        return Err(fail(
            "",
            format!("\"{}\" has no =", shorten(argument, 60)),
            "write path=value, such as link.bottleneck.rate=5Mbps".into(),
        ));
    };
    let keys: Vec<&str> = path.trim().split('.').map(str::trim).collect();
    if keys.len() > MOST_KEYS {
        return Err(fail(
            &shorten(path.trim(), 60),
            format!("the path has {} keys", keys.len()),
            format!("give at most {MOST_KEYS}, such as link.bottleneck.queue.buffer"),
        ));
    }
    if keys.iter().any(|k| k.is_empty()) {
        return Err(fail(
            path.trim(),
            format!("\"{}\" is not a path of keys", shorten(path, 60)),
            "write the keys with dots between, such as link.bottleneck.rate".into(),
        ));
    }
    if let Some(i) = keys.iter().position(|k| k.contains('[')) {
        let whole = keys[..=i].join(".");
        let list = whole.split('[').next().unwrap_or_default();
        return Err(fail(
            path.trim(),
            "one item of a list cannot be set alone".into(),
            format!("set the whole list: {list}=[..., ...]"),
        ));
    }
    if text.trim().is_empty() {
        return Err(fail(
            path.trim(),
            format!("no value is given for \"{}\"", shorten(path, 60)),
            "write path=value, such as link.bottleneck.rate=5Mbps".into(),
        ));
    }
    // A key that is unknown at the very top would otherwise be reported as part of the scenario's tables.
    if SCENARIO.param(keys[0]).is_none() {
        let names = SCENARIO.params.iter().map(|p| p.name);
        let near = nearest(keys[0], names.clone());
        let list = names.collect::<Vec<_>>().join(", ");
        let remedy =
            near.map_or(String::new(), |n| format!("did you mean \"{n}\"? ")) + "a path begins with one of " + &list;
        let mut p = *fail(
            path.trim(),
            format!("a scenario has no key \"{}\"", shorten(keys[0], 60)),
            remedy,
        );
        p.code = "unknown-key";
        return Err(Box::new(p.nearest(near)));
    }
    // The links of a topology are not in the document yet, so new names must pass there; `from` and `to` come with it.
    let family = matches!(SCENARIO.param(keys[0]).map(|p| p.kind), Some(Kind::Named(_)));
    let generated = keys[0] == "link"
        && document
            .root
            .get("topology")
            .is_some_and(|t| super::read::topology::makes(&t.node, keys[1..].first().unwrap_or(&"")));
    if family && keys.len() > 2 && !generated && document.root.get(keys[0]).and_then(|e| e.node.get(keys[1])).is_none()
    {
        let mut names: Vec<&str> = document
            .root
            .get(keys[0])
            .map_or(vec![], |e| e.node.entries().iter().map(|e| e.key.as_str()).collect());
        if keys[0] == "link" {
            names.extend(
                document
                    .root
                    .get("topology")
                    .map(|t| super::read::topology::first_link(&t.node)),
            );
        }
        let (near, remedy) = super::read::names::among(keys[1], names.into_iter(), &format!("tables of [{}]", keys[0]));
        let problem = format!("the scenario has no [{}.{}]", keys[0], shorten(keys[1], 60));
        return Err(Box::new(fail(path.trim(), problem, remedy).nearest(near.as_deref())));
    }
    let value = value_from_argument(text, index);
    set(&mut document.root, &keys, value, &place).map_err(|depth| {
        let whole = keys[..depth].join(".");
        fail(
            path.trim(),
            format!("\"{whole}\" is not a table"),
            format!("set it as a whole: {whole}=..."),
        )
    })
}

/// Descend and set the value; the error is the number of keys that lead to the value in the way.
fn set(root: &mut Node, keys: &[&str], value: Node, at: &At) -> Result<(), usize> {
    let mut node = root;
    for (depth, key) in keys.iter().enumerate() {
        let is_last = depth + 1 == keys.len();
        // `queue = "red"` is short for a table.
        if let Tree::Scalar(Raw::Text(name)) = &node.tree {
            let kind = Entry {
                key: "kind".into(),
                key_at: node.at.clone(),
                node: Node::text(&name.clone(), node.at.clone()),
            };
            node.tree = Tree::Table(vec![kind]);
        }
        let Tree::Table(entries) = &mut node.tree else {
            return Err(depth);
        };
        let i = match entries.iter().position(|e| e.key == *key) {
            Some(i) => i,
            None => {
                entries.push(Entry {
                    key: (*key).to_string(),
                    key_at: at.clone(),
                    node: Node::table(vec![], at.clone()),
                });
                entries.len() - 1
            }
        };
        if is_last {
            entries[i].node = value;
            return Ok(());
        }
        node = &mut entries[i].node;
    }
    Ok(())
}
