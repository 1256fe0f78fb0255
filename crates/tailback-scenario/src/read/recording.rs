//! The `[record.NAME]` tables: which quantities, of which link or flows, how often.

use super::names::{A_GROUP, A_LINK, among, direction_of, unknown};
use crate::check::{Filled, Reader, join};
use crate::document::{Entry, Node};
use crate::error::{At, Problem};
use crate::outside::{has_controls, is_class};
use tailback_base::Duration;
use tailback_base::model::{ProbeDef, Settings};
use tailback_sim::declare::tables::record::*;
use tailback_sim::declare::tables::{EDGE_PROBES, FLOW_PROBES, LINK_PROBES, RECORD, SOJOURN_PERCENTILES};
use tailback_sim::library::outside::{is_stack, outside_in};
use tailback_sim::spec::{GroupSpec, LinkSpec, RecordSpec, Sampling, Target};
use tailback_transport::datagram::{DELAY, ECHO, ROUND_TRIP};

/// The most memory that the rows of one table may take: what a run collects stays in memory until the run is over.
const MOST_BYTES: u64 = 8_000_000_000;
/// A sample while it is collected, and as a row of the table.
const SAMPLE_BYTES: u64 = 64;
/// The totals of a flow at the end of an interval, and the row made of them.
pub const INTERVAL_BYTES: u64 = 512;

/// If this number of rows of this many bytes is more than a table may take: the message, and the number of rows that it
/// may have.
pub fn too_much(rows: u64, bytes: u64) -> Option<(String, u64)> {
    let table_bytes = rows.saturating_mul(bytes);
    (table_bytes > MOST_BYTES).then(|| {
        let needs = format!(
            "{rows} rows, which take some {:.1} GB of memory",
            table_bytes as f64 / 1e9
        );
        (needs, MOST_BYTES / bytes)
    })
}

/// The quantities that can be recorded.
pub struct Known<'a> {
    pub links: &'a [LinkSpec],
    pub groups: &'a [GroupSpec],
    /// Whether everything could be read. Otherwise an unknown name may be that of a broken table, so it is not
    /// reported.
    pub whole: bool,
    pub duration: Option<Duration>,
}

/// Read one recording.
pub fn recording(r: &mut Reader, entry: &Entry, known: &Known) -> Option<RecordSpec> {
    let problems_before = r.seen();
    let path = join("record", &entry.key);
    let node = &entry.node;
    let filled = r.fill(node, &path, &RECORD, &[])?;
    let target = target(r, &filled, known);
    let sampling = sampling(r, &filled);
    let (target, sampling) = (target?, sampling?);
    let names = filled.settings.get(&PROBES);
    let count = probes(r, &filled, known, &target, &names);
    // A distribution changes with each packet.
    if sampling == Sampling::OnChange && names.iter().any(|name| name == SOJOURN_PERCENTILES.name) {
        let problem = format!(
            "the probe \"{}\" is sampled at an interval, not on change",
            SOJOURN_PERCENTILES.name
        );
        let remedy = "replace on_change by every = \"1s\", or, for one sample, by every = its time";
        r.complain(filled.problem("conflict", &ON_CHANGE, problem, remedy));
    }
    if let Target::Flows { group, reverse, .. } = &target {
        answers(
            r,
            &filled,
            known.groups.iter().find(|g| g.name == *group),
            *reverse,
            &names,
        );
    }
    if let (Sampling::Every(every), Some(duration)) = (sampling, known.duration) {
        let samples = (duration.0 / every.0.max(1)).saturating_mul(count);
        let rows = samples.saturating_mul(names.len().max(1) as u64);
        if let Some((needs, most_rows)) = too_much(rows, SAMPLE_BYTES) {
            let problem = format!("with a sample every {every}, a run of {duration} makes {needs}");
            let remedy = format!("sample less often, or fewer flows: at most {most_rows} rows");
            let problem = filled.problem("limit", &EVERY, problem, remedy);
            r.complain(problem.value(every.to_string()));
        }
    }
    (r.seen() == problems_before).then_some(RecordSpec {
        name: entry.key.clone(),
        what: target,
        probes: names,
        when: sampling,
    })
}

/// Probes of answers to datagrams need answers; a round trip ends at the source.
fn answers(r: &mut Reader, filled: &Filled, group: Option<&GroupSpec>, reverse: bool, names: &[String]) {
    let Some(g) = group else { return };
    let Some(echo) = g.transport.find_key(&ECHO) else {
        return;
    };
    let is_asked = |name: &str| names.iter().any(|n| n == name);
    let name = &g.name;
    let (problem, remedy) = if reverse && is_asked(ROUND_TRIP.name) {
        (
            "a round trip is measured where it ends, at the source".to_string(),
            format!("give flows = \"{name}\""),
        )
    } else if !echo && (is_asked(ROUND_TRIP.name) || reverse && is_asked(DELAY.name)) {
        (
            format!("the datagrams of flows.{name} are not answered"),
            "give the flows transport = { kind = \"udp\", echo = true }".to_string(),
        )
    } else {
        return;
    };
    r.complain(filled.problem("conflict", &PROBES, problem, remedy));
}

fn target(r: &mut Reader, filled: &Filled, known: &Known) -> Option<Target> {
    let s = &filled.settings;
    match (s.get(&LINK), s.get(&FLOWS), s.get(&EDGE)) {
        (Some(text), None, None) => {
            let (name, reverse) = direction_of(&text);
            if known.whole && !known.links.iter().any(|l| l.name == name) {
                let links = known.links.iter().map(|l| l.name.as_str());
                unknown(r, (filled, &LINK), name, A_LINK, links);
                return None;
            }
            Some(Target::Link {
                name: name.to_string(),
                reverse,
            })
        }
        (None, Some(text), None) => {
            let (name, reverse) = direction_of(&text);
            let find = |name: &str| known.groups.iter().find(|g| g.name == name);
            let numbered = name
                .rsplit_once('.')
                .and_then(|(group, n)| Some((group, n.parse::<u32>().ok()?)));
            let (group, only) = match numbered {
                Some((group, n)) if find(name).is_none() => (group, Some(n)),
                _ => (name, None),
            };
            let spec = find(group);
            if known.whole && spec.is_none() {
                let groups = known.groups.iter().map(|g| g.name.as_str());
                unknown(r, (filled, &FLOWS), group, A_GROUP, groups);
                return None;
            }
            if let (Some(g), Some(n)) = (spec, only)
                && n >= g.count
            {
                let problem = format!("{group} has no flow {n}");
                let remedy = format!("give {group}.0 to {group}.{}", g.count.saturating_sub(1));
                r.complain(filled.problem("value", &FLOWS, problem, remedy).value(name));
                return None;
            }
            Some(Target::Flows {
                group: group.to_string(),
                only,
                reverse,
            })
        }
        (None, None, Some(name)) => edge(r, filled, known, name),
        (link, flows, edge) => {
            let names = match (link, flows, edge) {
                (None, None, _) => "nothing to record",
                (Some(_), Some(_), None) => "both a link and flows",
                _ => "an edge and something else",
            };
            let (place, problem) = (filled.node.at.clone(), format!("[{}] names {names}", filled.path));
            let remedy = "give one of link = \"NAME\", flows = \"NAME\" and edge = \"NAME\"";
            r.complain(Problem::new("conflict", place, &filled.key(&LINK), problem, remedy));
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
    let (name, reverse) = direction_of(edge);
    let link = known.links.iter().find(|l| l.name == name)?;
    let direction = if reverse { &link.reverse } else { &link.forward };
    direction.conditioner.as_ref()
}

fn edge(r: &mut Reader, filled: &Filled, known: &Known, name: String) -> Option<Target> {
    if known.whole && conditioner_of(known, &name).is_none() {
        let links = known
            .links
            .iter()
            .flat_map(|l| [l.name.clone(), format!("{}.reverse", l.name)]);
        let groups = known.groups.iter().map(|g| format!("flows.{}", g.name));
        let edges: Vec<String> = links
            .chain(groups)
            .filter(|n| conditioner_of(known, n).is_some())
            .collect();
        let edges = edges.iter().map(String::as_str);
        let words = ("conditioner at", "edges with a conditioner");
        unknown(r, (filled, &EDGE), &name, words, edges);
        return None;
    }
    Some(Target::Edge { name })
}

fn sampling(r: &mut Reader, filled: &Filled) -> Option<Sampling> {
    let s = &filled.settings;
    match (s.get(&EVERY), s.get(&ON_CHANGE)) {
        (Some(every), false) => Some(Sampling::Every(every)),
        (None, true) => Some(Sampling::OnChange),
        (every, _) => {
            let says = match every {
                None => "not when to record",
                Some(_) => "both every and on_change",
            };
            let problem = format!("[{}] says {says}", filled.path);
            let remedy = "give one of every = \"10ms\" and on_change = true";
            r.complain(filled.problem("conflict", &EVERY, problem, remedy));
            None
        }
    }
}

/// Check the names of the probes. Returns how many rows a sample has.
fn probes(r: &mut Reader, filled: &Filled, known: &Known, target: &Target, names: &[String]) -> u64 {
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
        Target::Flows { group, only, .. } => {
            let group = known.groups.iter().find(|g| g.name == *group);
            let all = group.map_or(1, |g| u64::from(g.count));
            (&FLOW_PROBES, group.map(|g| &g.transport), only.map_or(all, |_| 1))
        }
    };
    // The probes are unknown without the model.
    let Some(settings) = settings else { return rows };
    let (model, own_probes) = (settings.model, settings.probes());
    let all = || built_in.iter().chain(own_probes.iter().copied()).map(|p| p.name);
    for (i, name) in names.iter().enumerate() {
        let item = match filled.node.given(&PROBES) {
            Some(Node {
                tree: crate::document::Tree::List(items),
                ..
            }) => items.get(i).map_or(At::Nowhere, |n| n.at.clone()),
            Some(node) => node.at.clone(),
            None => At::Nowhere,
        };
        let key = format!("{}[{i}]", filled.key(&PROBES));
        // Only a discipline or a stack from outside itself has the list of its probes. The run refuses a probe that it
        // does not have.
        if !all().any(|p| p == name) && outside_in(settings).is_none() && !is_stack(settings) {
            let declared: Vec<&str> = all().collect();
            let (near, mut remedy) = among(name, declared.into_iter(), "probes here");
            let mut inside = settings.models().into_iter().map(|s| s.model);
            let control = inside.find(|m| has_controls(m.family));
            let with_control = control.map_or(String::new(), |m| format!(" with \"{}\"", m.name));
            let class_name = control.unwrap_or(model).name;
            if is_class(class_name) {
                remedy = format!("name it in `probes` of the class {class_name}; {remedy}");
            }
            let name_shown = crate::error::shorten(name, 60);
            let problem = format!(
                "the {} \"{}\"{with_control} has no probe \"{name_shown}\"",
                model.family, model.name
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
