//! The `[record.NAME]` tables: which quantities, of which link or flows, how often.

use super::names::among;
use crate::declare::tables::{EDGE_PROBES, FLOW_PROBES, LINK_PROBES, RECORD};
use crate::scenario::check::{Filled, Reader, join};
use crate::scenario::document::{Entry, Node};
use crate::scenario::error::{At, Problem};
use crate::spec::{GroupSpec, LinkSpec, RecordSpec, Sampling, Target};
use tailback_base::Duration;
use tailback_base::model::{ProbeDef, Settings, Value};

/// What the rows of one table may take in memory: what a run collects stays there until the run is over.
const MOST_BYTES: u64 = 8_000_000_000;
/// A sample while it is collected, and as a row of the table.
const SAMPLE_BYTES: u64 = 64;
/// The totals of a flow at the end of an interval, and the row made of them.
pub const INTERVAL_BYTES: u64 = 512;

/// So many rows of so many bytes, if they are more than a table may take: what to say of them, and how many may be.
pub fn too_much(rows: u64, bytes: u64) -> Option<(String, u64)> {
    let all = rows.saturating_mul(bytes);
    (all > MOST_BYTES).then(|| {
        let needs = format!("{rows} rows, which take some {:.1} GB of memory", all as f64 / 1e9);
        (needs, MOST_BYTES / bytes)
    })
}

/// What can be recorded.
pub struct Known<'a> {
    pub links: &'a [LinkSpec],
    pub groups: &'a [GroupSpec],
    /// Everything could be read; otherwise an unknown name may be that of a broken table, and nothing is said about it.
    pub whole: bool,
    pub duration: Option<Duration>,
}

/// Read one recording.
pub fn recording(r: &mut Reader, entry: &Entry, known: &Known) -> Option<RecordSpec> {
    let before = r.seen();
    let path = join("record", &entry.key);
    let node = &entry.node;
    let filled = r.fill(node, &path, &RECORD, &[])?;
    let target = target(r, node, &filled, known);
    let when = sampling(r, node, &filled);
    let (target, when) = (target?, when?);
    let names: Vec<String> = filled
        .settings
        .list("probes")
        .iter()
        .filter_map(|v| if let Value::Text(t) = v { Some(t.clone()) } else { None })
        .collect();
    let count = probes(r, node, &filled, known, &target, &names);
    // A distribution changes with each packet.
    let spread = |name: &&String| LINK_PROBES.iter().any(|p| p.name == **name && p.per == "percent");
    if let (Sampling::OnChange, Some(name)) = (when, names.iter().find(spread)) {
        r.complain(Problem::new(
            "conflict",
            at(node, "on_change"),
            &filled.key("on_change"),
            format!("the probe \"{name}\" is taken at a step, not on change"),
            "give every = \"1s\", or the time at which it is wanted, in the place of on_change",
        ));
    }
    if let (Sampling::Every(every), Some(duration)) = (when, known.duration) {
        let samples = (duration.0 / every.0.max(1)).saturating_mul(count);
        let rows = samples.saturating_mul(names.len().max(1) as u64);
        if let Some((needs, most)) = too_much(rows, SAMPLE_BYTES) {
            let problem = format!("a sample every {every} makes in {duration} {needs}");
            let remedy = format!("sample less often, or fewer flows: at most {most} rows");
            r.complain(
                Problem::new("limit", at(node, "every"), &filled.key("every"), problem, remedy)
                    .value(every.to_string()),
            );
        }
    }
    (r.seen() == before).then_some(RecordSpec {
        name: entry.key.clone(),
        what: target,
        probes: names,
        when,
    })
}

fn at(node: &Node, key: &str) -> At {
    node.get(key).map_or(node.at.clone(), |e| e.node.at.clone())
}

fn target(r: &mut Reader, node: &Node, filled: &Filled, known: &Known) -> Option<Target> {
    let s = &filled.settings;
    match (s.is_none("link"), s.is_none("flows"), s.is_none("edge")) {
        (false, true, true) => {
            let text = s.text("link");
            let (name, reverse) = text.strip_suffix(".reverse").map_or((text, false), |n| (n, true));
            if known.whole && !known.links.iter().any(|l| l.name == name) {
                let (near, remedy) = among(name, known.links.iter().map(|l| l.name.as_str()), "links");
                let problem = format!("there is no link \"{}\"", crate::scenario::error::shorten(name, 60));
                r.complain(
                    Problem::new("value", at(node, "link"), &filled.key("link"), problem, remedy)
                        .value(text)
                        .nearest(near.as_deref()),
                );
                return None;
            }
            Some(Target::Link {
                name: name.to_string(),
                reverse,
            })
        }
        (true, false, true) => {
            let text = s.text("flows");
            let (group, reverse) = text.strip_suffix(".reverse").map_or((text, false), |n| (n, true));
            if known.whole && !known.groups.iter().any(|g| g.name == group) {
                let (near, remedy) = among(group, known.groups.iter().map(|g| g.name.as_str()), "groups of flows");
                let problem = format!("there are no flows \"{}\"", crate::scenario::error::shorten(group, 60));
                r.complain(
                    Problem::new("value", at(node, "flows"), &filled.key("flows"), problem, remedy)
                        .value(text)
                        .nearest(near.as_deref()),
                );
                return None;
            }
            Some(Target::Flows {
                group: group.to_string(),
                reverse,
            })
        }
        (true, true, false) => edge(r, node, filled, known),
        (no_link, no_flows, no_edge) => {
            let problem = format!(
                "[{}] names {}",
                filled.path,
                match (no_link, no_flows, no_edge) {
                    (true, true, _) => "nothing to record",
                    (false, false, true) => "both a link and flows",
                    _ => "an edge and something else",
                }
            );
            r.complain(Problem::new(
                "conflict",
                node.at.clone(),
                &filled.key("link"),
                problem,
                "give one of link = \"NAME\", flows = \"NAME\" and edge = \"NAME\"",
            ));
            None
        }
    }
}

/// The conditioner by the name of its edge.
fn conditioner_of<'k>(known: &'k Known, edge: &str) -> Option<&'k Settings> {
    if let Some(group) = edge.strip_prefix("flows.") {
        let group = known.groups.iter().find(|g| g.name == group)?;
        return group.conditioner.as_ref();
    }
    let (name, reverse) = edge.strip_suffix(".reverse").map_or((edge, false), |n| (n, true));
    let link = known.links.iter().find(|l| l.name == name)?;
    let direction = if reverse { &link.reverse } else { &link.forward };
    direction.conditioner.as_ref()
}

fn edge(r: &mut Reader, node: &Node, filled: &Filled, known: &Known) -> Option<Target> {
    let name = filled.settings.text("edge");
    if known.whole && conditioner_of(known, name).is_none() {
        let links = known
            .links
            .iter()
            .flat_map(|l| [l.name.clone(), format!("{}.reverse", l.name)]);
        let groups = known.groups.iter().map(|g| format!("flows.{}", g.name));
        let edges: Vec<String> = links
            .chain(groups)
            .filter(|n| conditioner_of(known, n).is_some())
            .collect();
        let (near, remedy) = among(name, edges.iter().map(String::as_str), "edges with a conditioner");
        let problem = format!(
            "there is no conditioner at \"{}\"",
            crate::scenario::error::shorten(name, 60)
        );
        r.complain(
            Problem::new("value", at(node, "edge"), &filled.key("edge"), problem, remedy)
                .value(name)
                .nearest(near.as_deref()),
        );
        return None;
    }
    Some(Target::Edge { name: name.to_string() })
}

fn sampling(r: &mut Reader, node: &Node, filled: &Filled) -> Option<Sampling> {
    let s = &filled.settings;
    match (s.is_none("every"), s.flag("on_change")) {
        (false, false) => Some(Sampling::Every(s.time("every"))),
        (true, true) => Some(Sampling::OnChange),
        (none, _) => {
            let problem = format!(
                "[{}] says {}",
                filled.path,
                if none {
                    "not when to record"
                } else {
                    "both every and on_change"
                }
            );
            r.complain(Problem::new(
                "conflict",
                at(node, "every"),
                &filled.key("every"),
                problem,
                "give one of every = \"10ms\" and on_change = true",
            ));
            None
        }
    }
}

/// Check the names of the probes. Returns how many rows a sample has.
fn probes(r: &mut Reader, node: &Node, filled: &Filled, known: &Known, target: &Target, names: &[String]) -> u64 {
    let (built_in, settings, rows): (&'static [ProbeDef], Option<&Settings>, u64) = match target {
        Target::Link { name, reverse } => {
            let link = known.links.iter().find(|l| l.name == *name);
            let queue = link.map(|l| if *reverse { &l.reverse.queue } else { &l.forward.queue });
            (&LINK_PROBES, queue, 1)
        }
        Target::Edge { name } => {
            let rows = known.groups.iter().find(|g| format!("flows.{}", g.name) == *name);
            (
                &EDGE_PROBES,
                conditioner_of(known, name),
                rows.map_or(1, |g| u64::from(g.count)),
            )
        }
        Target::Flows { group, .. } => {
            let group = known.groups.iter().find(|g| g.name == *group);
            (
                &FLOW_PROBES,
                group.map(|g| &g.transport),
                group.map_or(1, |g| u64::from(g.count)),
            )
        }
    };
    // Without the model one cannot know its probes.
    let Some(settings) = settings else { return rows };
    let (model, own) = (settings.model, settings.probes());
    let all = || built_in.iter().chain(own.iter().copied()).map(|p| p.name);
    for (i, name) in names.iter().enumerate() {
        let item = match node.get("probes").map(|e| &e.node) {
            Some(Node {
                tree: crate::scenario::document::Tree::List(items),
                ..
            }) => items.get(i).map_or(At::Nowhere, |n| n.at.clone()),
            Some(one) => one.at.clone(),
            None => At::Nowhere,
        };
        let key = format!("{}[{i}]", filled.key("probes"));
        if !all().any(|p| p == name) {
            let known: Vec<&str> = all().collect();
            let (near, remedy) = among(name, known.into_iter(), "probes here");
            let problem = format!(
                "the {} \"{}\" has no probe \"{}\"",
                model.family,
                model.name,
                crate::scenario::error::shorten(name, 60)
            );
            r.complain(
                Problem::new("value", item, &key, problem, remedy)
                    .value(name.clone())
                    .nearest(near.as_deref()),
            );
        } else if names[..i].contains(name) {
            r.complain(
                Problem::new(
                    "duplicate",
                    item,
                    &key,
                    format!("the probe \"{name}\" is named twice"),
                    "name it once",
                )
                .value(name.clone()),
            );
        }
    }
    rows
}
