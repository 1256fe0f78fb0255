//! Names that a scenario gives: of links, flows, nodes.

use crate::check::{Filled, Reader, join};
use crate::document::{Entry, Node, Tree};
use crate::error::{At, Problem, shorten};
use tailback_base::model::{Param, nearest};
use tailback_sim::declare::tables::top;

/// The tables with a proper name in a table of tables.
pub fn named<'d>(r: &mut Reader, root: &'d Node, param: &Param) -> Vec<&'d Entry> {
    let family = param.name;
    let Some(node) = root.given(param) else { return vec![] };
    let Tree::Table(entries) = &node.tree else {
        let problem = format!("\"{family}\" is not a table of tables but {}", node.show());
        r.complain(
            Problem::new(
                "value",
                node.at.clone(),
                family,
                problem,
                format!("write each as [{family}.NAME]"),
            )
            .value(node.show()),
        );
        return vec![];
    };
    let mut good = vec![];
    let mut nameless = false;
    for entry in entries {
        if !matches!(entry.node.tree, Tree::Table(_)) {
            // In `[link]` with `rate = ...` below it, the name is missing. This is reported once, not for each key.
            if std::mem::replace(&mut nameless, true) {
                continue;
            }
            let path = join(family, &entry.key);
            let problem = format!("\"{}\" stands in [{family}] itself", shorten(&entry.key, 60));
            let remedy = format!(
                "give the table a name, as in [{family}.{}]",
                if family == top::LINKS.name {
                    "bottleneck"
                } else {
                    "NAME"
                }
            );
            r.complain(Problem::new("value", entry.key_at.clone(), &path, problem, remedy).value(entry.node.show()));
        } else if is_name(&entry.key) {
            good.push(entry);
        } else {
            bad_name(r, &entry.key, entry.key_at.clone(), &join(family, &entry.key), family);
        }
    }
    good
}

/// Names of links, flows and nodes: they become parts of key paths and of file names.
pub fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

pub fn bad_name(r: &mut Reader, name: &str, at: At, path: &str, what: &str) {
    let problem = format!("\"{}\" is not a name for {what}", shorten(name, 60));
    let remedy = "use 1 to 64 of the letters A-Z and a-z, digits, - and _";
    r.complain(Problem::new("name", at, path, problem, remedy).value(shorten(name, 60)));
}

/// `NAME.reverse` is the reverse direction of the thing that `NAME` alone stands for.
pub fn direction_of(text: &str) -> (&str, bool) {
    text.strip_suffix(".reverse").map_or((text, false), |name| (name, true))
}

/// The words for what the name of a link stands for, in singular and plural.
pub const A_LINK: (&str, &str) = ("link", "links");
/// The words for what the name of a group of flows stands for, in singular and plural.
pub const A_GROUP: (&str, &str) = ("group of flows", "groups of flows");

/// Complain that a name, the value of `key`, is the name of no `what`; `all` is the plural of `what`.
pub fn unknown<'a>(
    r: &mut Reader,
    (filled, key): (&Filled, &Param),
    name: &str,
    (what, all): (&str, &str),
    known: impl Iterator<Item = &'a str> + Clone,
) {
    let (near, remedy) = among(name, known, all);
    let problem = format!("there is no {what} \"{}\"", shorten(name, 60));
    let problem = filled.problem("value", key, problem, remedy).value(name);
    r.complain(problem.nearest(near.as_deref()));
}

/// "did you mean" in front of a list of the existing names.
pub fn among<'a>(word: &str, names: impl Iterator<Item = &'a str> + Clone, what: &str) -> (Option<String>, String) {
    let near = nearest(word, names.clone()).map(str::to_string);
    let first_names: Vec<&str> = names.clone().take(12).collect();
    let tail = if names.count() > 12 { ", ..." } else { "" };
    let list = if first_names.is_empty() {
        format!("there are no {what}")
    } else {
        format!("the {what} are {}{tail}", first_names.join(", "))
    };
    let remedy = match &near {
        Some(n) => format!("did you mean \"{n}\"? {list}"),
        None => list,
    };
    (near, remedy)
}

/// The place of the value at the end of this path of keys, or of the part of the path that exists.
pub fn place(node: &Node, path: &[&str]) -> At {
    let mut place = node.at.clone();
    let mut inner = node;
    for key in path {
        let Some(entry) = inner.get(key) else { break };
        inner = &entry.node;
        place = match &inner.tree {
            // A table may be long; its name is enough.
            Tree::Table(_) => entry.key_at.clone(),
            Tree::Scalar(_) | Tree::List(_) => inner.at.clone(),
        };
    }
    place
}
