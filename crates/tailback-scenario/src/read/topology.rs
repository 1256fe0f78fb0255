//! Topology helpers: well-known networks written out as the link tables they stand for, before anything else looks.
//!
//! A `[link.NAME]` the user gives beside the helper is laid over the generated one, key by key, so that one hop of a
//! parking lot can differ from the others, and `--set link.bottleneck.queue.buffer=...` means what it says.

use crate::check::Reader;
use crate::document::{Entry, Node, Tree};
use crate::error::{At, Problem};
use tailback_base::model::{Param, Raw};
use tailback_sim::declare::tables::{PARKING_LOT, link, top};

/// The document with the topology's links in it.
pub struct Expanded {
    pub root: Node,
    /// Where flows begin and end unless they say otherwise.
    pub ends: Option<(String, String)>,
}

/// What a helper would copy at most, in values: a list of impairments times ten thousand hops fills a memory.
const MOST_VALUES: usize = 2_000_000;

/// Write the helper's links out. Problems of the `topology` table are reported here, once.
pub fn expand(r: &mut Reader, root: &Node) -> Expanded {
    let unchanged = || Expanded {
        root: root.clone(),
        ends: None,
    };
    let Some(node) = root.given(&top::TOPOLOGY) else {
        return unchanged();
    };
    let before = r.seen();
    let Some(filled) = r.model(node, top::TOPOLOGY.name, "topology") else {
        return unchanged();
    };
    // The parts are read for their problems; the links made of them are then free of any.
    for parts in link::PARTS {
        for part_key in [parts.queue, parts.conditioner] {
            if let (Some(part), Some(family)) = (filled.part(&part_key), part_key.kind.family()) {
                r.model(part, &filled.key(&part_key), family);
            }
        }
        for list in [parts.impair, parts.rate_changes] {
            if let (Some(part), Some(family)) = (filled.part(&list), list.kind.family()) {
                r.model_list(part, &filled.key(&list), family);
            }
        }
    }
    if r.seen() > before {
        return unchanged();
    }
    let lot = filled.settings.find_key(&link::HOPS);
    let hops = lot.unwrap_or(1) as usize;
    if size(node).saturating_mul(hops) > MOST_VALUES {
        r.complain(Problem::new(
            "limit",
            node.at.clone(),
            top::TOPOLOGY.name,
            "so many hops with such long lists are too much",
            "use fewer hops or shorter lists",
        ));
        return unchanged();
    }
    let names: Vec<(String, String, String)> = match lot {
        Some(_) => (1..=hops)
            .map(|i| (format!("hop{i}"), format!("r{}", i - 1), format!("r{i}")))
            .collect(),
        None => vec![("bottleneck".into(), "left".into(), "right".into())],
    };
    let ends = Some((names[0].1.clone(), names[names.len() - 1].2.clone()));

    let links_given = root.get(top::LINKS.name);
    if let Some(Entry {
        node: Node {
            tree: Tree::Scalar(_) | Tree::List(_),
            ..
        },
        ..
    }) = links_given
    {
        return unchanged();
    }
    let written = written_out(node, links_given, names);
    let mut root = root.clone();
    let at = links_given.map_or(At::Nowhere, |e| e.node.at.clone());
    let table = Node::table(written, at);
    if let Tree::Table(entries) = &mut root.tree {
        match entries.iter_mut().find(|e| e.key == top::LINKS.name) {
            Some(entry) => entry.node = table,
            None => entries.push(Entry {
                key: top::LINKS.name.into(),
                key_at: At::Nowhere,
                node: table,
            }),
        }
    }
    Expanded { root, ends }
}

/// The tables of the helper's links, each under what the user gives for it; then the user's other links.
fn written_out(node: &Node, given: Option<&Entry>, names: Vec<(String, String, String)>) -> Vec<Entry> {
    let mut links: Vec<Entry> = given.map_or(vec![], |e| e.node.entries().to_vec());
    let mut written = vec![];
    for (name, from, to) in names {
        let end = |key: &Param, value: &str| Entry {
            key: key.name.into(),
            key_at: node.at.clone(),
            node: Node::text(value, node.at.clone()),
        };
        let mut entries = vec![end(&link::FROM, &from), end(&link::TO, &to)];
        entries.extend(
            node.entries()
                .iter()
                .filter(|e| e.key != "kind" && e.key != link::HOPS.name)
                .cloned(),
        );
        match links.iter().position(|e| e.key == name) {
            None => written.push(Entry {
                key: name,
                key_at: node.at.clone(),
                node: Node::table(entries, node.at.clone()),
            }),
            Some(i) => {
                let own = links.remove(i);
                // A value where a table belongs goes through as it is, to be complained about.
                written.push(if matches!(own.node.tree, Tree::Table(_)) {
                    lay_over(entries, own)
                } else {
                    own
                });
            }
        }
    }
    written.append(&mut links);
    written
}

/// Whether this topology table may make a link of this name. The number of hops is not looked at: a hop too many is
/// found when the link turns out to have no ends.
pub fn makes(topology: &Node, link: &str) -> bool {
    if first_link(topology) == "hop1" {
        link.strip_prefix("hop").is_some_and(|n| n.parse::<u32>().is_ok())
    } else {
        link == "bottleneck"
    }
}

/// The name of the first link this topology table makes.
pub fn first_link(topology: &Node) -> &'static str {
    let is_lot = |node: &Node| matches!(&node.tree, Tree::Scalar(Raw::Text(t)) if t == PARKING_LOT.name);
    let lot = is_lot(topology) || topology.get("kind").is_some_and(|e| is_lot(&e.node));
    if lot { "hop1" } else { "bottleneck" }
}

fn lay_over(mut entries: Vec<Entry>, own: Entry) -> Entry {
    for own_entry in own.node.entries() {
        match entries.iter_mut().find(|e| e.key == own_entry.key) {
            Some(e) => e.node = refine(e, own_entry),
            None => entries.push(own_entry.clone()),
        }
    }
    Entry {
        key: own.key,
        key_at: own.key_at,
        node: Node::table(entries, own.node.at),
    }
}

/// A model without its `kind`, such as `queue = { buffer = "200 packets" }`, changes values of the one underneath.
fn refine(under: &Entry, given: &Entry) -> Node {
    if !matches!(given.node.tree, Tree::Table(_)) || given.node.get("kind").is_some() {
        return given.node.clone();
    }
    let base = match &under.node.tree {
        Tree::Table(entries) => entries.clone(),
        Tree::Scalar(Raw::Text(_)) => vec![Entry {
            key: "kind".into(),
            key_at: under.key_at.clone(),
            node: under.node.clone(),
        }],
        _ => return given.node.clone(),
    };
    lay_over(base, given.clone()).node
}

fn size(node: &Node) -> usize {
    match &node.tree {
        Tree::Scalar(_) => 1,
        Tree::List(list) => 1 + list.iter().map(size).sum::<usize>(),
        Tree::Table(entries) => 1 + entries.iter().map(|e| size(&e.node)).sum::<usize>(),
    }
}

#[cfg(test)]
mod tests {
    use crate::load_text;
    use tailback_base::Size;

    #[test]
    fn one_value_of_a_helper_s_queue_can_be_changed() {
        for queue in ["\"drr\"", "{ kind = \"drr\", quantum = \"500B\" }"] {
            let text = format!(
                "duration = \"1s\"\ntopology = {{ kind = \"dumbbell\", rate = \"1Mbps\", delay = \"1ms\", queue = \
                 {queue} }}\n[flows.a]\n"
            );
            let set = ["link.bottleneck.queue.buffer=200 packets".to_string()];
            let spec = load_text(&text, "test", &set).unwrap().spec;
            let queue = &spec.links[0].forward.queue;
            assert_eq!((queue.model.name, queue.size("buffer")), ("drr", Size::Packets(200)));
        }
    }
}
