//! From a document to a [`Spec`]: the top of the file, the topology, the links. Flows and recordings have files of
//! their own beside this one.
//!
//! All problems of a file are collected. What depends on a broken part is left out rather than reported twice: flows
//! are not routed over links that could not be read.

use super::conditioners::{Before, conditioner};
use super::document::{Document, Entry, Node, Tree};
use super::error::{At, Problem, ScenarioError};
use super::impairments::impairments;
use super::profiles::Profiles;
use super::routes::Routes;
use super::table::{Filled, Reader, join};
use super::tables::{LINK, SCENARIO};
use super::{flows, recording, sessions, topology};
use crate::library::Library;
use crate::spec::{DirectionSpec, End, LinkSpec, SessionSpec, Spec};
use tailback_base::model::{Settings, nearest};
use tailback_base::{BitRate, Duration, Stream, Time};
use tailback_queue::BuildContext;

/// The most links; routes are found for every pair of ends in use.
const MOST_LINKS: usize = 10_000;

/// Check a document and make the engine's description of the run, with warnings about what looks like a mistake.
pub fn read(document: &Document, library: &Library) -> Result<(Spec, Vec<String>), ScenarioError> {
    let mut r = Reader::new(library);
    let spec = scenario(&mut r, document);
    match spec {
        Some(spec) if (r.seen() == 0) => Ok((spec, r.warnings)),
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
            Err(ScenarioError::of(document, r.problems, r.more))
        }
    }
}

const EXAMPLE: &str = "a scenario needs at least duration, a link and flows, for example:\n\
    \x20     duration = \"100s\"\n\
    \x20     topology = { kind = \"dumbbell\", rate = \"10Mbps\", delay = \"20ms\", queue = { kind = \"droptail\", buffer = \"100 packets\" } }\n\
    \x20     flows.bulk = { count = 10, rtt = \"100ms\" }";

fn scenario(r: &mut Reader, document: &Document) -> Option<Spec> {
    if document.root.entries().is_empty() {
        r.complain(Problem::new("empty", At::Nowhere, "", "the scenario is empty", EXAMPLE));
        return None;
    }
    let before = r.seen();
    let expanded = topology::expand(r, &document.root);
    let broken_topology = r.seen() > before;
    let top = r.fill(&expanded.root, "", &SCENARIO, &[]);
    // Even when something at the top is wrong, the tables below are read, for their own problems.
    let part = |name: &str| expanded.root.get(name).map(|e| &e.node);
    let entries = named(r, part("link"), "link");
    if entries.len() > MOST_LINKS {
        let at = entries[MOST_LINKS].key_at.clone();
        r.complain(Problem::new(
            "limit",
            at,
            "link",
            format!("{} links are too many", entries.len()),
            format!("at most {MOST_LINKS} links can be simulated"),
        ));
        return None;
    }
    let count = entries.len();
    let links: Vec<LinkSpec> = entries.iter().filter_map(|e| link(r, e)).collect();
    let whole = links.len() == count && !broken_topology;
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

    let profile_entries = named(r, part("profile"), "profile");
    let profiles = Profiles::read(r, &profile_entries);
    let mut routes = Routes::new(&links);
    let around = flows::Around {
        intervals: expanded.root.get("interval").is_some(),
        interval: (top.as_ref().map(|t| &t.settings).filter(|s| !s.is_none("interval"))).map(|s| s.time("interval")),
        links: &links,
        profiles: &profiles,
        // Ends are only a default when the network is what the user meant.
        ends: if whole {
            expanded.ends.clone().or_else(|| only_link(&links))
        } else {
            None
        },
        whole,
        duration: top.as_ref().map(|t| t.settings.time("duration")),
    };
    let flow_entries = named(r, part("flows"), "flows");
    if part("flows").is_some()
        && flow_entries.is_empty()
        && matches!(
            part("flows"),
            Some(Node {
                tree: Tree::Table(_),
                ..
            })
        )
    {
        let at = part("flows").map_or(At::Nowhere, |n| n.at.clone());
        r.complain(Problem::new(
            "missing",
            at,
            "flows",
            "the scenario has no flows",
            "add a table [flows.NAME], which may be as short as count = 10",
        ));
    }
    let groups = flows::groups(r, &flow_entries, &around, &mut routes);
    let session_entries = named(r, part("sessions"), "sessions");
    let sessions = sessions::sessions(r, &session_entries, &around, &groups, &mut routes);
    if let (None, None, Some(flows)) = (part("flows"), part("sessions"), SCENARIO.param("flows")) {
        r.missing(flows, &expanded.root, "", &SCENARIO);
    }

    let record_entries = named(r, part("record"), "record");
    let known = recording::Known {
        links: &links,
        groups: &groups,
        whole: r.seen() == 0,
        duration: around.duration,
    };
    let record = record_entries
        .iter()
        .filter_map(|e| recording::recording(r, e, &known))
        .collect();

    let top = top?;
    let s = &top.settings;
    let (duration, warmup) = (s.time("duration"), s.time("warmup"));
    if warmup >= duration {
        let at = expanded.root.get("warmup").map_or(At::Nowhere, |e| e.node.at.clone());
        let problem = format!("the warm-up of {warmup} leaves nothing of the duration of {duration} to count");
        r.complain(
            Problem::new(
                "conflict",
                at,
                "warmup",
                problem,
                format!("give a warm-up shorter than {duration}, or a longer duration"),
            )
            .value(warmup.to_string()),
        );
    }
    let interval = (!s.is_none("interval")).then(|| s.time("interval"));
    let members = sessions.iter().map(|s| u64::from(s.clients));
    let flows_in_all: u64 = groups.iter().map(|g| u64::from(g.count)).chain(members).sum();
    if let Some(interval) = interval {
        let rows = (duration.0 / interval.0.max(1)).saturating_mul(flows_in_all.max(1));
        if rows > recording::MOST_ROWS {
            let at = expanded.root.get("interval").map_or(At::Nowhere, |e| e.node.at.clone());
            let problem = format!("an interval of {interval} makes {rows} rows in {duration}");
            r.complain(Problem::new(
                "limit",
                at,
                "interval",
                problem,
                format!("choose a longer interval: at most {} rows", recording::MOST_ROWS),
            ));
        }
    }
    let name = if s.is_none("name") {
        stem(&document.file)
    } else {
        s.text("name").to_string()
    };
    Some(Spec {
        name,
        duration,
        warmup,
        seed: s.count("seed"),
        interval,
        links,
        flows: groups,
        end: end(r, s, &sessions, &expanded.root),
        sessions,
        record,
        log_drops: s.flag("log_drops"),
    })
}

/// What ends the run.
fn end(r: &mut Reader, top: &Settings, sessions: &[SessionSpec], root: &Node) -> End {
    if top.text("end") == "duration" {
        return End::Duration;
    }
    if sessions.is_empty() {
        let at = root.get("end").map_or(At::Nowhere, |e| e.node.at.clone());
        let problem = "the run is to end with its sessions, and there are none";
        let remedy = "add a table [sessions.NAME], or leave `end` out";
        r.complain(Problem::new("conflict", at, "end", problem, remedy).value("sessions"));
    }
    End::Sessions
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
        [one] => Some((one.from.clone(), one.to.clone())),
        _ => None,
    }
}

/// The tables of a table of tables, those with a proper name.
fn named<'d>(r: &mut Reader, node: Option<&'d Node>, family: &str) -> Vec<&'d Entry> {
    let Some(node) = node else { return vec![] };
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
            // `[link]` with `rate = ...` below it: the name is forgotten. Said once, not for each key.
            if std::mem::replace(&mut nameless, true) {
                continue;
            }
            let path = join(family, &entry.key);
            let problem = format!(
                "\"{}\" stands in [{family}] itself",
                super::error::shorten(&entry.key, 60)
            );
            let remedy = format!(
                "give the table a name, as in [{family}.{}]",
                if family == "link" { "bottleneck" } else { "NAME" }
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
    let problem = format!("\"{}\" is not a name for {what}", super::error::shorten(name, 60));
    let remedy = "use 1 to 64 of the letters A-Z and a-z, digits, - and _";
    r.complain(Problem::new("name", at, path, problem, remedy).value(super::error::shorten(name, 60)));
}

fn link(r: &mut Reader, entry: &Entry) -> Option<LinkSpec> {
    let before = r.seen();
    let path = join("link", &entry.key);
    let mut node = entry.node.clone();
    // A table made by dotted keys has no place of its own; its name has.
    if node.at == At::Nowhere || matches!((&node.at, &entry.key_at), (At::Text(a, _), At::Text(b, _)) if a > b) {
        node.at = entry.key_at.clone();
    }
    let filled = r.fill(&node, &path, &LINK, &[]);
    let parts = |r: &mut Reader, prefix: &str| {
        let name = |p: &str| format!("{prefix}{p}");
        let queue = node
            .get(&name("queue"))
            .and_then(|e| r.model(&e.node, &join(&path, &e.key), "queue"));
        let impairments = node
            .get(&name("impair"))
            .map_or(vec![], |e| impairments(r, &e.node, &join(&path, &e.key)));
        let changes = node
            .get(&name("rate_changes"))
            .map_or(vec![], |e| rate_changes(r, &e.node, &join(&path, &e.key)));
        (queue, impairments, changes)
    };
    let (queue, impair, changes) = parts(r, "");
    let (reverse_queue, reverse_impair, reverse_changes) = parts(r, "reverse_");
    let filled = filled?;
    let s = &filled.settings;
    for key in ["from", "to"] {
        if !is_name(s.text(key)) {
            let at = node.get(key).map_or(At::Nowhere, |e| e.node.at.clone());
            bad_name(r, s.text(key), at, &filled.key(key), "a node");
        }
    }
    if s.text("from") == s.text("to") {
        let at = node.get("to").map_or(At::Nowhere, |e| e.node.at.clone());
        let problem = format!("the link goes from \"{0}\" to \"{0}\"", s.text("from"));
        r.complain(
            Problem::new(
                "conflict",
                at,
                &filled.key("to"),
                problem,
                "give the two ends different names",
            )
            .value(s.text("to")),
        );
    }
    if r.seen() > before {
        return None;
    }
    let queue = queue?;
    let rate = s.rate("rate");
    let delay = s.time("delay");
    let reverse_rate = if s.is_none("reverse_rate") {
        rate
    } else {
        s.rate("reverse_rate")
    };
    let reverse_delay = if s.is_none("reverse_delay") {
        delay
    } else {
        s.time("reverse_delay")
    };
    let mut edge = |key: &str, rate| {
        let before = Before::Link(rate);
        node.get(key)
            .and_then(|e| conditioner(r, &e.node, &join(&path, &e.key), before))
    };
    let (there, back) = (edge("conditioner", rate), edge("reverse_conditioner", reverse_rate));
    if r.seen() > before {
        return None;
    }
    let buildable = can_build(r, &queue, rate, delay);
    let reverse_buildable = reverse_queue
        .as_ref()
        .is_none_or(|q| can_build(r, q, reverse_rate, reverse_delay));
    if !(buildable && reverse_buildable) {
        return None;
    }
    let reverse_queue = reverse_queue.map_or_else(|| queue.settings.clone(), |q| q.settings);
    Some(LinkSpec {
        name: entry.key.clone(),
        from: s.text("from").to_string(),
        to: s.text("to").to_string(),
        forward: DirectionSpec {
            rate,
            delay,
            queue: queue.settings,
            conditioner: there,
            impairments: impair,
            rate_changes: changes,
        },
        reverse: DirectionSpec {
            rate: reverse_rate,
            delay: reverse_delay,
            queue: reverse_queue,
            conditioner: back,
            impairments: reverse_impair,
            rate_changes: reverse_changes,
        },
    })
}

/// Build the discipline once, since it knows best which of its settings contradict each other.
fn can_build(r: &mut Reader, queue: &Filled, rate: BitRate, delay: Duration) -> bool {
    let context = BuildContext {
        stream: Stream::new(0, "check"),
        rate,
        delay,
    };
    match r.library.queues.build(&queue.settings, context) {
        Ok(_) => true,
        Err(e) => {
            r.complain(
                Problem::new("conflict", queue.at.clone(), &queue.path, e.problem, e.remedy)
                    .value(queue.settings.model.name),
            );
            false
        }
    }
}

fn rate_changes(r: &mut Reader, node: &Node, path: &str) -> Vec<(Time, BitRate)> {
    let list = r.model_list(node, path, "rate-change");
    let mut changes: Vec<(Time, BitRate)> = list
        .iter()
        .map(|c| (Time(c.settings.time("at").0), c.settings.rate("rate")))
        .collect();
    changes.sort_by_key(|(at, _)| *at);
    if let Some(pair) = changes.windows(2).find(|w| w[0].0 == w[1].0) {
        let problem = format!("the rate changes twice at {}", Duration(pair[0].0.0));
        r.complain(Problem::new(
            "conflict",
            node.at.clone(),
            path,
            problem,
            "keep one of the two",
        ));
    }
    changes
}

/// "did you mean" in front of a list of what there is.
pub fn among<'a>(word: &str, names: impl Iterator<Item = &'a str> + Clone, what: &str) -> (Option<String>, String) {
    let near = nearest(word, names.clone()).map(str::to_string);
    let some: Vec<&str> = names.clone().take(12).collect();
    let tail = if names.count() > 12 { ", ..." } else { "" };
    let list = if some.is_empty() {
        format!("there are no {what}")
    } else {
        format!("the {what} are {}{tail}", some.join(", "))
    };
    let remedy = match &near {
        Some(n) => format!("did you mean \"{n}\"? {list}"),
        None => list,
    };
    (near, remedy)
}
