//! Topology helpers: well-known networks, written out as the link tables that they stand for before anything else reads
//! the document.
//!
//! A `[link.NAME]` that the user gives beside the helper overrides the generated table key by key. One hop of a parking
//! lot can therefore differ from the others, and `--set link.bottleneck.queue.buffer=...` has its usual meaning.

use super::fabrics::{self, Fabric, Made};
use crate::check::{Filled, Reader};
use crate::document::{Entry, Node, Tree};
use crate::error::{At, Problem};
use std::collections::HashMap;
use tailback_base::model::{Param, Raw};
use tailback_sim::declare::fabrics::HOST_QUEUE;
use tailback_sim::declare::tables::{PARKING_LOT, link, top};

/// The document with the topology's links in it.
pub struct Expanded {
    pub root: Node,
    /// The default ends of flows.
    pub ends: Option<(String, String)>,
}

/// The largest number of values that a helper may copy: a list of impairments times ten thousand hops would fill the
/// memory.
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
    let problems_before = r.seen();
    let Some(filled) = r.model(node, top::TOPOLOGY.name, "topology") else {
        return unchanged();
    };
    // The parts are read for their problems, so the links made of them have no further problems.
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
    if let Some(queue) = filled.part(&HOST_QUEUE) {
        r.model(queue, &filled.key(&HOST_QUEUE), "queue");
    }
    if r.seen() > problems_before {
        return unchanged();
    }
    let Some(WrittenOut { fabric, ends }) = network(r, node, &filled) else {
        return unchanged();
    };
    let tables = [
        (&top::LINKS, links(fabric.links, &node.at)),
        (&top::SWITCHES, fabric.switches),
    ];
    let value_count = tables[0]
        .1
        .iter()
        .map(|(_, keys)| keys.iter().map(|e| size(&e.node)).sum::<usize>())
        .sum::<usize>();
    if value_count > MOST_VALUES {
        r.complain(Problem::new(
            "limit",
            node.at.clone(),
            top::TOPOLOGY.name,
            "so many links with such long lists are too much",
            "use fewer links or shorter lists",
        ));
        return unchanged();
    }
    let mut root = root.clone();
    for (family, made_links) in tables.into_iter().filter(|(_, made_links)| !made_links.is_empty()) {
        let written_family = root.get(family.name);
        if written_family.is_some_and(|e| !matches!(e.node.tree, Tree::Table(_))) {
            // This table is complained about later.
            continue;
        }
        let written = written_out(&node.at, written_family, made_links);
        let at = written_family.map_or(At::Nowhere, |e| e.node.at.clone());
        let table = Node::table(written, at);
        if let Tree::Table(entries) = &mut root.tree {
            match entries.iter_mut().find(|e| e.key == family.name) {
                Some(entry) => entry.node = table,
                None => entries.push(Entry {
                    key: family.name.into(),
                    key_at: At::Nowhere,
                    node: table,
                }),
            }
        }
    }
    Expanded { root, ends }
}

/// The links of a topology, and the default ends of flows.
struct WrittenOut {
    fabric: Fabric,
    ends: Option<(String, String)>,
}

fn network(r: &mut Reader, node: &Node, filled: &Filled) -> Option<WrittenOut> {
    let model = filled.settings.model;
    if fabrics::is_fabric(model.name) {
        let fabric = fabrics::write_out(r, filled, model)?;
        return Some(WrittenOut { fabric, ends: None });
    }
    let keys = node
        .entries()
        .iter()
        .filter(|e| e.key != "kind" && e.key != link::HOPS.name);
    let keys: Vec<Entry> = keys.cloned().collect();
    let hops = filled.settings.find_key(&link::HOPS);
    let hop_count = hops.unwrap_or(1) as usize;
    if size(node).saturating_mul(hop_count) > MOST_VALUES {
        r.complain(Problem::new(
            "limit",
            node.at.clone(),
            top::TOPOLOGY.name,
            "so many hops with such long lists are too much",
            "use fewer hops or shorter lists",
        ));
        return None;
    }
    let made = |name: String, from: String, to: String| Made {
        name,
        from,
        to,
        keys: keys.clone(),
    };
    let links: Vec<Made> = match hops {
        Some(_) => (1..=hop_count)
            .map(|i| made(format!("hop{i}"), format!("r{}", i - 1), format!("r{i}")))
            .collect(),
        None => vec![made("bottleneck".into(), "left".into(), "right".into())],
    };
    let ends = Some((links.first()?.from.clone(), links.last()?.to.clone()));
    let switches = vec![];
    Some(WrittenOut {
        fabric: Fabric { links, switches },
        ends,
    })
}

/// The names of links, and the keys of their tables.
fn links(links: Vec<Made>, at: &At) -> Vec<(String, Vec<Entry>)> {
    let end = |key: &Param, value: &str| Entry {
        key: key.name.into(),
        key_at: at.clone(),
        node: Node::text(value, at.clone()),
    };
    let table = |l: Made| {
        let mut keys = vec![end(&link::FROM, &l.from), end(&link::TO, &l.to)];
        keys.extend(l.keys);
        (l.name, keys)
    };
    links.into_iter().map(table).collect()
}

/// The tables that a topology makes, each with the user's values for it on top; then the user's other tables.
fn written_out(at: &At, given: Option<&Entry>, made: Vec<(String, Vec<Entry>)>) -> Vec<Entry> {
    let mut own_tables: Vec<Option<Entry>> =
        given.map_or(vec![], |e| e.node.entries().iter().cloned().map(Some).collect());
    let place: HashMap<String, usize> = own_tables
        .iter()
        .flatten()
        .enumerate()
        .map(|(i, e)| (e.key.clone(), i))
        .collect();
    let mut entries = vec![];
    for (name, keys) in made {
        entries.push(match place.get(&name).and_then(|i| own_tables[*i].take()) {
            None => Entry {
                key: name,
                key_at: at.clone(),
                node: Node::table(keys, at.clone()),
            },
            Some(own_tables) if matches!(own_tables.node.tree, Tree::Table(_)) => lay_over(keys, own_tables),
            // A value in place of a table is passed on unchanged, and is complained about later.
            Some(own_tables) => own_tables,
        });
    }
    entries.extend(own_tables.into_iter().flatten());
    entries
}

/// Whether this topology table may make a link of this name. The number of hops is not checked. A hop too many is found
/// later, because its link has no ends.
pub fn makes(topology: &Node, link: &str) -> bool {
    match fabrics::kind_of(topology) {
        kind if fabrics::is_fabric(kind) => fabrics::makes(kind, link),
        kind if kind == PARKING_LOT.name => link.strip_prefix("hop").is_some_and(|n| n.parse::<u32>().is_ok()),
        _ => link == "bottleneck",
    }
}

/// The name of the first link this topology table makes.
pub fn first_link(topology: &Node) -> &'static str {
    match fabrics::kind_of(topology) {
        kind if fabrics::is_fabric(kind) => "host1",
        kind if kind == PARKING_LOT.name => "hop1",
        _ => "bottleneck",
    }
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

/// A model without its `kind`, such as `queue = { buffer = "200 packets" }`, changes values of the model underneath.
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
