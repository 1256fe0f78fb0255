//! The `[link.NAME]` tables: ends, line, queues, conditioners, impairments and rate changes of both directions.

use super::conditioners::{Before, conditioner};
use super::names::{bad_name, is_name};
use crate::check::{Filled, Reader, join, refused};
use crate::document::{Entry, Node};
use crate::error::{At, Problem};
use tailback_base::{BitRate, Duration, Param, Stream, Time};
use tailback_queue::{BuildContext, shaped};
use tailback_sim::change::{Change, Schedule, Values};
use tailback_sim::declare::impairments as declared;
use tailback_sim::declare::impairments::Impairment;
use tailback_sim::declare::tables::{LINK, link, rate_change};
use tailback_sim::library::outside::stand_in;
use tailback_sim::spec::{DirectionSpec, LinkSpec};

/// One link; `None` if something is wrong with it.
pub fn link(r: &mut Reader, entry: &Entry) -> Option<LinkSpec> {
    let problems_before = r.seen();
    let path = join("link", &entry.key);
    let mut node = entry.node.clone();
    // A table made by dotted keys has no place of its own; its name has one.
    if node.at == At::Nowhere || matches!((&node.at, &entry.key_at), (At::Text(a, _), At::Text(b, _)) if a > b) {
        node.at = entry.key_at.clone();
    }
    let filled = r.fill(&node, &path, &LINK, &[]);
    let part = |param: &Param| node.given(param).map(|n| (n, join(&path, param.name)));
    let [
        (queue, impair, changes),
        (reverse_queue, reverse_impair, reverse_changes),
    ] = link::PARTS.map(|parts| {
        let queue = part(&parts.queue).and_then(|(n, path)| r.model(n, &path, "queue"));
        let impairments = part(&parts.impair).map_or(vec![], |(n, path)| impairments(r, n, &path));
        let changes = part(&parts.rate_changes).map_or(vec![], |(n, path)| rate_changes(r, n, &path));
        (queue, impairments, changes)
    });
    let filled = filled?;
    let s = &filled.settings;
    check_ends(r, &filled);
    if r.seen() > problems_before {
        return None;
    }
    let queue = queue?;
    let rate = s.get(&link::RATE);
    let delay = s.get(&link::DELAY);
    let reverse_rate = s.get(&link::REVERSE_RATE).unwrap_or(rate);
    let reverse_delay = s.get(&link::REVERSE_DELAY).unwrap_or(delay);
    let mut edge = |param: &Param, rate| part(param).and_then(|(n, path)| conditioner(r, n, &path, Before::Link(rate)));
    let forward_edge = edge(&link::CONDITIONER, rate);
    let reverse_edge = edge(&link::REVERSE_CONDITIONER, reverse_rate);
    if r.seen() > problems_before {
        return None;
    }
    let buildable = can_build(r, &queue, (rate, delay));
    let reverse_buildable = reverse_queue
        .as_ref()
        .is_none_or(|q| can_build(r, q, (reverse_rate, reverse_delay)));
    if !(buildable && reverse_buildable) {
        return None;
    }
    // A queue that can be built has a known profile. The warnings about a queue see the profile's values, too.
    let queue = shaped::laid(queue.settings);
    let reverse_queue = reverse_queue.map_or_else(|| queue.clone(), |q| shaped::laid(q.settings));
    Some(LinkSpec {
        name: entry.key.clone(),
        from: s.get(&link::FROM),
        to: s.get(&link::TO),
        layer: None,
        forward: DirectionSpec {
            rate,
            delay,
            queue,
            switch: None,
            conditioner: forward_edge,
            impairments: impair,
            changes,
            trace: None,
        },
        reverse: DirectionSpec {
            rate: reverse_rate,
            delay: reverse_delay,
            queue: reverse_queue,
            switch: None,
            conditioner: reverse_edge,
            impairments: reverse_impair,
            changes: reverse_changes,
            trace: None,
        },
    })
}

/// Check that a link joins two nodes with proper names.
fn check_ends(r: &mut Reader, filled: &Filled) {
    let [from, to] = [link::FROM, link::TO].map(|key| {
        let name = filled.settings.get(&key);
        if !is_name(&name) {
            bad_name(r, &name, filled.node.place_of(&key), &filled.key(&key), "a node");
        }
        name
    });
    if from == to {
        let problem = format!("the link goes from \"{from}\" to \"{from}\"");
        let remedy = "give the two ends different names";
        r.complain(filled.problem("conflict", &link::TO, problem, remedy).value(to));
    }
}

/// The port of a discipline that is built to check whether its settings contradict each other.
pub fn trial(rate: BitRate, delay: Duration) -> BuildContext {
    BuildContext {
        stream: Stream::new(0, "check"),
        rate,
        delay,
    }
}

/// Build the discipline once, because its builder finds the settings that contradict each other.
fn can_build(r: &mut Reader, queue: &Filled, (rate, delay): (BitRate, Duration)) -> bool {
    // A discipline from outside is built when the run begins.
    match r
        .library
        .queues
        .build_with(&queue.settings, trial(rate, delay), &stand_in)
    {
        Ok(_) => true,
        Err(e) => {
            r.complain(refused(queue, e));
            false
        }
    }
}

fn rate_changes(r: &mut Reader, node: &Node, path: &str) -> Vec<Change> {
    let list = r.model_list(node, path, "rate-change");
    let mut changes: Vec<(Time, BitRate)> = list
        .iter()
        .map(|c| {
            let s = &c.settings;
            (Time(s.get(&rate_change::AT).0), s.get(&rate_change::RATE))
        })
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
    let mut impairments = vec![];
    for f in &list {
        match declared::read(&f.settings) {
            Ok(read) => impairments.extend(read),
            Err(e) => r.complain(refused(f, e)),
        }
    }
    impairments
}
