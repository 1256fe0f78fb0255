//! Reads a document into a [`Spec`]: the whole scenario here, and each kind of table in its own file.
//!
//! All problems of a file are collected. Parts that depend on a broken part are left out, so that no problem is
//! reported twice: flows are not routed over links that could not be read.

pub mod advice;
pub mod changes;
pub mod conditioners;
mod fabrics;
pub mod flows;
pub mod instants;
pub mod layer_loads;
pub mod links;
mod marking;
pub mod named_file;
pub mod names;
mod paths;
pub mod profiles;
pub mod recording;
pub mod routes;
pub mod sessions;
mod size_classes;
pub mod switches;
pub mod topology;
mod trace_file;
pub mod traces;
pub mod transport;
mod workload_files;
mod workloads;

use crate::check::{Filled, Reader};
use crate::document::{Document, Entry, Node, Tree};
use crate::error::{At, Problem, ScenarioError};
use crate::measures::Settled;
use layer_loads::LayerLoad;
use names::named;
use profiles::Profiles;
use routes::Routes;
use tailback_base::model::{Choice, Settings};
use tailback_sim::declare::paths::{OnFailure, PathSeeds, Paths};
use tailback_sim::declare::tables::End;
use tailback_sim::declare::tables::{SCENARIO, top};
use tailback_sim::library::Library;
use tailback_sim::spec::{GroupSpec, LinkSpec, PathRules, Spec};

/// The most links; routes are found for every pair of ends in use.
const MOST_LINKS: usize = 10_000;

/// The contents of a document.
pub struct Read {
    /// The engine's description of the run.
    pub spec: Spec,
    /// The warnings.
    pub warnings: Vec<String>,
    /// Values that depend on the path.
    pub settled: Vec<Settled>,
    /// The loads of workloads on each layer of the topology.
    pub loads: Vec<LayerLoad>,
}

/// Check a document and make the engine's description of the run.
pub fn read(document: &Document, library: &Library) -> Result<Read, ScenarioError> {
    let mut r = Reader::new(library);
    let spec = scenario(&mut r, document);
    let loads = spec.as_ref().map_or(vec![], |spec| layer_loads::of(spec, library));
    layer_loads::warn(&mut r, &loads);
    r.tell_what_follows();
    match spec {
        Some(spec) if (r.seen() == 0) => {
            let warnings = r.warnings.into_iter();
            let texts = warnings.map(|w| document.warning(&w.about, w.at, &w.text));
            Ok(Read {
                spec,
                warnings: texts.collect(),
                settled: r.settled.into_values().collect(),
                loads,
            })
        }
        _ => {
            if r.seen() == 0 {
                let remedy = "please report this, with the file";
                r.complain(Problem::new(
                    "value",
                    At::Nowhere,
                    "",
                    "the scenario could not be read",
                    remedy,
                ));
            }
            Err(document.refused(r.problems, r.more))
        }
    }
}

const EXAMPLE: &str = "a scenario needs at least duration, a link and flows, for example:\n\
    \x20     duration = \"100s\"\n\
    \x20     topology = { kind = \"dumbbell\", rate = \"10Mbps\", delay = \"20ms\", queue = { kind = \"droptail\", \
    buffer = \"100 packets\" } }\n\
    \x20     flows.bulk = { count = 10, rtt = \"100ms\" }";

fn scenario(r: &mut Reader, document: &Document) -> Option<Spec> {
    if document.root.entries().is_empty() {
        r.complain(Problem::new("empty", At::Nowhere, "", "the scenario is empty", EXAMPLE));
        return None;
    }
    let before = r.seen();
    let expanded = topology::expand(r, &document.root);
    let broken_topology = r.seen() > before;
    let root = &expanded.root;
    r.measures = paths::measure(r, root, expanded.ends.clone());
    let top = r.fill(root, "", &SCENARIO, &[]);
    // Even if a value at the top is wrong, the tables below are read, for their own problems.
    let link_tables = root.given(&top::LINKS);
    let (mut links, whole) = links_of(r, root, broken_topology)?;
    fabrics::note_layers(&mut links, root.given(&top::TOPOLOGY));
    let switches = switches::switches(r, root, &mut links, whole);
    let profile_entries = named(r, root, &top::PROFILES);
    let profiles = Profiles::read(r, &profile_entries);
    let mut routes = Routes::new(&links);
    let settings = top.as_ref().map(|t| &t.settings);
    let given_marking = settings.and_then(|s| s.get(&top::MARKING));
    let around = flows::Around {
        intervals: root.given(&top::INTERVAL).is_some(),
        interval: settings.and_then(|s| s.get(&top::INTERVAL)),
        links: &links,
        link_tables,
        profiles: &profiles,
        // There are default ends only if the network is the one that the user meant.
        ends: match whole {
            true => expanded.ends.clone().or_else(|| only_link(&links)),
            false => None,
        },
        whole,
        duration: settings.map(|s| s.get(&top::DURATION)),
        marking: given_marking != Some(false),
        paths: settings.map_or(Paths::First, |s| s.get(&top::PATHS)),
    };
    let mut groups = groups_of(r, root, &around, &mut routes);
    let session_entries = named(r, root, &top::SESSIONS);
    let sessions = sessions::sessions(r, &session_entries, &around, &groups, &mut routes);
    let others = (&groups[..], &sessions[..]);
    let workloads = workloads::workloads(r, (root, &document.file), &around, others, &mut routes);
    let tables = [&top::FLOWS, &top::SESSIONS, &top::WORKLOADS];
    if tables.iter().all(|family| root.given(family).is_none()) {
        r.missing(&top::FLOWS, root, "", &SCENARIO);
    }
    advice::ports::warn(r, &groups, &sessions, &around, &mut routes);
    advice::ecn::warn(r, root, &groups, &sessions);
    advice::lines::of_use(r, (&groups, &sessions, &workloads), &around, &mut routes);
    let duration = around.duration;
    let marking = marking::decide(r, given_marking, &groups, &sessions, &workloads);
    marking::follow(r, &mut links, link_tables, &marking);
    let network = changes::Changeable {
        links: &mut links,
        groups: &mut groups,
        whole: r.seen() == 0,
        marks: marking.on,
        duration,
    };
    network.change(r, root);
    if let Some(duration) = duration {
        advice::lines::of_outages(r, &links, duration);
    }
    let record_entries = named(r, root, &top::RECORDINGS);
    let known = recording::Known {
        links: &links,
        groups: &groups,
        whole: r.seen() == 0,
        duration,
    };
    let recordings = record_entries.iter().filter_map(|e| recording::recording(r, e, &known));
    let record = recordings.collect();

    let top = top?;
    let s = &top.settings;
    let members = sessions
        .iter()
        .map(|s| u64::from(s.clients))
        .chain(workloads.iter().map(|_| 1));
    let flows_in_all: u64 = groups.iter().map(|g| u64::from(g.count)).chain(members).sum();
    instants_fit(r, &top, flows_in_all);
    Some(Spec {
        name: s.get(&top::NAME).unwrap_or_else(|| stem(&document.file)),
        duration: s.get(&top::DURATION),
        warmup: s.get(&top::WARMUP),
        seed: s.get(&top::SEED),
        interval: s.get(&top::INTERVAL),
        end: end(r, &top, root),
        links,
        switches,
        flows: groups,
        sessions,
        workloads,
        record,
        log_drops: s.get(&top::LOG_DROPS),
        size_classes: size_classes::read(r, root, &s.get(&top::SIZE_CLASSES)),
        marking,
        path_rules: path_rules(s),
    })
}

/// The links, and whether they are the whole network that was meant.
fn links_of(r: &mut Reader, root: &Node, broken_topology: bool) -> Option<(Vec<LinkSpec>, bool)> {
    let entries = named(r, root, &top::LINKS);
    let count = entries.len();
    if count > MOST_LINKS {
        let at = entries[MOST_LINKS].key_at.clone();
        let remedy = format!("at most {MOST_LINKS} links can be simulated");
        r.complain(Problem::new(
            "limit",
            at,
            "link",
            format!("{count} links are too many"),
            remedy,
        ));
        return None;
    }
    if count == 0 && !broken_topology {
        let remedy =
            "add a [link.NAME] with from, to, rate, delay and queue, or topology = { kind = \"dumbbell\", ... }";
        r.complain(Problem::new(
            "missing",
            At::Nowhere,
            "link",
            "the scenario has no links",
            remedy,
        ));
    }
    let links: Vec<LinkSpec> = entries.iter().filter_map(|e| links::link(r, e)).collect();
    let whole = links.len() == count && !broken_topology;
    Some((links, whole))
}

fn groups_of(r: &mut Reader, root: &Node, around: &flows::Around, routes: &mut Routes) -> Vec<GroupSpec> {
    let entries: Vec<&Entry> = named(r, root, &top::FLOWS);
    if let Some(Node {
        at,
        tree: Tree::Table(_),
    }) = root.given(&top::FLOWS).filter(|_| entries.is_empty())
    {
        let remedy = "add a table [flows.NAME], which may be as short as count = 10";
        r.complain(Problem::new(
            "missing",
            at.clone(),
            "flows",
            "the scenario has no flows",
            remedy,
        ));
    }
    flows::groups(r, &entries, around, routes)
}

/// Check that the warm-up leaves time to count, and that the intervals are not too many.
fn instants_fit(r: &mut Reader, top: &Filled, flows_in_all: u64) {
    let s = &top.settings;
    let (duration, warmup) = (s.get(&top::DURATION), s.get(&top::WARMUP));
    if warmup >= duration {
        let problem = format!("the warm-up of {warmup} leaves nothing of the duration of {duration} to count");
        let remedy = format!("give a warm-up shorter than {duration}, or a longer duration");
        let problem = top.problem("conflict", &top::WARMUP, problem, remedy);
        r.complain(problem.value(warmup.to_string()));
    }
    let Some(interval) = s.get(&top::INTERVAL) else {
        return;
    };
    let rows = (duration.0 / interval.0.max(1)).saturating_mul(flows_in_all.max(1));
    if let Some((needs, most_rows)) = recording::too_much(rows, recording::INTERVAL_BYTES) {
        let problem = format!("with an interval of {interval}, a run of {duration} makes {needs}");
        let remedy = format!("choose a longer interval: at most {most_rows} rows");
        let problem = top.problem("limit", &top::INTERVAL, problem, remedy);
        r.complain(problem.value(interval.to_string()));
    }
}

/// The condition that ends the run. Tables that are wrong have been complained about.
fn end(r: &mut Reader, top: &Filled, root: &Node) -> End {
    let end = top.settings.get(&top::END);
    let asks = [&top::SESSIONS, &top::WORKLOADS];
    let tables = asks.iter().filter_map(|family| root.given(family));
    let mut used = tables.filter(|node| !matches!(&node.tree, Tree::Table(entries) if entries.is_empty()));
    if end == End::Sessions && used.next().is_none() {
        let problem = "the run is to end with its sessions or workloads, but it has no sessions or workloads";
        let remedy = "add a table [sessions.NAME] or [workload.NAME], or leave `end` out";
        r.complain(top.problem("conflict", &top::END, problem, remedy).value(end.word()));
    }
    end
}

/// The choice of nodes among equal paths.
fn path_rules(s: &Settings) -> PathRules {
    PathRules {
        seed: s.get(&top::PATH_SEED),
        one_seed: s.get(&top::PATH_SEEDS) == PathSeeds::One,
        flowlet_gap: s.get(&top::FLOWLET_GAP),
        route_delay: s.get(&top::ROUTE_DELAY),
        keeps: s.get(&top::ON_FAILURE) == OnFailure::Keep,
    }
}

/// The name of a file without folders and ending.
fn stem(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let name = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    if name.is_empty() {
        "scenario".into()
    } else {
        name.to_string()
    }
}

fn only_link(links: &[LinkSpec]) -> Option<(String, String)> {
    match links {
        [link] => Some((link.from.clone(), link.to.clone())),
        _ => None,
    }
}
