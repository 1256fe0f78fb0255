//! The `[link.NAME]` tables: ends, line, queues, conditioners, impairments and rate changes of both directions.

use super::conditioners::{Before, conditioner};
use super::names::{bad_name, is_name};
use crate::change::{Change, Schedule, Values};
use crate::declare::impairments as declared;
use crate::declare::impairments::Impairment;
use crate::declare::tables::LINK;
use crate::library::outside::is_outside;
use crate::scenario::check::{Filled, Reader, join, refused};
use crate::scenario::document::{Entry, Node};
use crate::scenario::error::{At, Problem};
use crate::spec::{DirectionSpec, LinkSpec};
use tailback_base::{BitRate, Duration, Settings, Stream, Time};
use tailback_queue::BuildContext;

/// One link; nothing if something is wrong with it.
pub fn link(r: &mut Reader, entry: &Entry) -> Option<LinkSpec> {
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
    check_ends(r, &node, &filled);
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
    let given = |key: &str| node.get(key).map_or(&node, |e| &e.node);
    let buildable = can_build(r, &queue, given("queue"), (rate, delay));
    let reverse_buildable = reverse_queue
        .as_ref()
        .is_none_or(|q| can_build(r, q, given("reverse_queue"), (reverse_rate, reverse_delay)));
    if !(buildable && reverse_buildable) {
        return None;
    }
    // What can be built has a profile that is known; what warns of a queue sees its values, too.
    let laid = |s: Settings| s.with_profile(&[]).unwrap_or(s);
    let queue = laid(queue.settings);
    let reverse_queue = reverse_queue.map_or_else(|| queue.clone(), |q| laid(q.settings));
    Some(LinkSpec {
        name: entry.key.clone(),
        from: s.text("from").to_string(),
        to: s.text("to").to_string(),
        forward: DirectionSpec {
            rate,
            delay,
            queue,
            conditioner: there,
            impairments: impair,
            changes,
            trace: None,
        },
        reverse: DirectionSpec {
            rate: reverse_rate,
            delay: reverse_delay,
            queue: reverse_queue,
            conditioner: back,
            impairments: reverse_impair,
            changes: reverse_changes,
            trace: None,
        },
    })
}

/// A link joins two nodes with proper names.
fn check_ends(r: &mut Reader, node: &Node, filled: &Filled) {
    let s = &filled.settings;
    let at = |key: &str| node.get(key).map_or(At::Nowhere, |e| e.node.at.clone());
    for key in ["from", "to"] {
        if !is_name(s.text(key)) {
            bad_name(r, s.text(key), at(key), &filled.key(key), "a node");
        }
    }
    if s.text("from") == s.text("to") {
        let problem = format!("the link goes from \"{0}\" to \"{0}\"", s.text("from"));
        let remedy = "give the two ends different names";
        r.complain(Problem::new("conflict", at("to"), &filled.key("to"), problem, remedy).value(s.text("to")));
    }
}

/// Build the discipline once, since it knows best which of its settings contradict each other.
fn can_build(r: &mut Reader, queue: &Filled, given: &Node, (rate, delay): (BitRate, Duration)) -> bool {
    // What is handed in from outside is built when the run begins.
    if is_outside(&queue.settings) {
        return true;
    }
    let context = BuildContext {
        stream: Stream::new(0, "check"),
        rate,
        delay,
    };
    match r.library.queues.build(&queue.settings, context) {
        Ok(_) => true,
        Err(e) => {
            r.complain(refused(queue, given, e));
            false
        }
    }
}

fn rate_changes(r: &mut Reader, node: &Node, path: &str) -> Vec<Change> {
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
    if changes.is_empty() {
        return vec![];
    }
    let (times, rates) = changes.into_iter().unzip();
    vec![Change {
        to: Values::Rate(rates),
        when: Schedule::At(times),
    }]
}

/// The impairments of one direction.
pub fn impairments(r: &mut Reader, node: &Node, path: &str) -> Vec<Impairment> {
    let list = r.model_list(node, path, "impairment");
    list.iter().filter_map(|f| declared::read(&f.settings)).collect()
}
