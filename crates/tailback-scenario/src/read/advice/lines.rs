//! Warnings about lines: one that no flow crosses, one that its flows cannot fill, and one that carries nothing.

use super::ports::of_transport;
use crate::check::Reader;
use crate::error::At;
use crate::read::flows::Around;
use crate::read::routes::{Hop, Routes};
use std::collections::{BTreeMap, BTreeSet};
use tailback_base::{BitRate, Duration, Time};
use tailback_sim::change::{Change, Values};
use tailback_sim::declare::paths::Paths;
use tailback_sim::spec::{DirectionSpec, GroupSpec, LinkSpec, SessionSpec, WorkloadSpec};

/// Flows whose windows fill less than this share of their line are warned of.
const FAR_BELOW: f64 = 0.5;
/// A line that carries nothing for the rest of the run is warned of, if that rest is more than this share of the run.
const REST: f64 = 0.05;
/// The smallest packet of data, bits: a line that carries less in a run carries none.
const PACKET_BITS: u128 = 40 * 8;

/// Warn of links and directions that the flows do not use or cannot fill.
pub fn of_use(
    r: &mut Reader,
    (groups, sessions, workloads): (&[GroupSpec], &[SessionSpec], &[WorkloadSpec]),
    around: &Around,
    routes: &mut Routes,
) {
    let mut used = vec![false; around.links.len()];
    let mut equal = BTreeSet::new();
    let mut limited: BTreeMap<(usize, bool), Option<f64>> = BTreeMap::new();
    for g in groups {
        let hops = routes.taken([&g.from, &g.to], g.paths, &g.via);
        note_equal(&mut equal, g.paths, &g.via, || routes.equal(&g.from, &g.to));
        hops.iter().for_each(|h| used[h.link] = true);
        let first = routes.over(&g.from, &g.via, &g.to).unwrap_or_default();
        let most = at_most(g, routes.round_trip(&first)).filter(|_| g.paths == Paths::First);
        for h in &hops {
            let sum = limited.entry((h.link, h.reverse)).or_insert(Some(0.0));
            *sum = sum.zip(most).map(|(a, b)| a + b);
        }
    }
    for s in sessions {
        for from in s.page_servers.iter().chain([&s.from]) {
            note_equal(&mut equal, s.paths, &[], || routes.equal(from, &s.to));
            for h in routes.taken([from, &s.to], s.paths, &[]) {
                used[h.link] = true;
                limited.insert((h.link, h.reverse), None);
            }
        }
    }
    for w in workloads {
        of_workload(w, around, routes, &mut used);
        equal.extend(0..around.links.len());
    }
    if !around.whole || groups.is_empty() && sessions.is_empty() && workloads.is_empty() {
        return;
    }
    for (index, link) in around.links.iter().enumerate().filter(|(index, _)| !used[*index]) {
        let (why, remedy) = match equal.contains(&index) {
            true => (
                "of several equal paths, all packets take the same one",
                "add paths = \"flow\" or \"packet\" to share equal paths, name its ends in a group of flows, or leave \
                 it out",
            ),
            false => (
                "packets take the path with the fewest hops, and of several such paths the one with the least delay",
                "name its ends in a group of flows, or leave it out",
            ),
        };
        let text = format!("no flow crosses link {}: {why}; {remedy}", link.name);
        r.warn(At::Nowhere, format!("link.{}", link.name), text);
    }
    // Of several lines on a way the slowest counts.
    let slowest = limited.iter().filter_map(|((link, reverse), most)| {
        let way = direction(&around.links[*link], *reverse);
        Some((way.rate, *link, *reverse, (*most)?))
    });
    let Some((rate, link, reverse, most)) = slowest.min_by_key(|x| x.0) else {
        return;
    };
    if most > 0.0
        && most < FAR_BELOW * rate.bits_per_second()
        && direction(&around.links[link], reverse).changes.is_empty()
    {
        let name = around.links[link].port_name(reverse);
        let text = format!(
            "its flows can send at most {:.2} Mb/s, a window in each round trip, but the line has {rate}: the windows \
             limit them, not the queue; give a larger window_cap or rwnd",
            most / 1e6
        );
        r.warn(At::Nowhere, format!("link.{name}"), text);
    }
}

/// Mark the links that flows between the hosts of a workload cross.
fn of_workload(w: &WorkloadSpec, around: &Around, routes: &mut Routes, used: &mut [bool]) {
    if w.paths != Paths::First {
        // Some pair of hosts uses each link between them.
        used.fill(true);
        return;
    }
    // Hosts at one switch share all but their own links.
    let mut switches: Vec<&str> = vec![];
    for host in &w.hosts {
        for (i, link) in around.links.iter().enumerate() {
            let far = match (link.from == *host, link.to == *host) {
                (true, _) => &link.to,
                (_, true) => &link.from,
                _ => continue,
            };
            used[i] = true;
            switches.push(far);
        }
    }
    switches.sort_unstable();
    switches.dedup();
    for from in &switches {
        for to in &switches {
            for h in routes.path(from, to).unwrap_or_default() {
                used[h.link] = true;
            }
        }
    }
}

/// Note the links of equal paths where packets take only the first.
fn note_equal(equal: &mut BTreeSet<usize>, paths: Paths, via: &[String], hops: impl FnOnce() -> Vec<Hop>) {
    if paths == Paths::First && via.is_empty() {
        equal.extend(hops().iter().map(|h| h.link));
    }
}

fn direction(link: &LinkSpec, reverse: bool) -> &DirectionSpec {
    if reverse { &link.reverse } else { &link.forward }
}

/// The largest rate that the windows of a group allow when no queue delays it, bit/s: one window in each round trip.
/// `None` if its windows do not limit it.
fn at_most(g: &GroupSpec, path: Duration) -> Option<f64> {
    let bulk = g.traffic.model.name == tailback_sim::traffic::bulk::MODEL.name;
    let window = of_transport(&g.transport).1.filter(|_| bulk)?;
    let mean = |delays: &[Duration]| match delays.len() {
        0 => 0.0,
        n => delays.iter().map(|d| d.seconds()).sum::<f64>() / n as f64,
    };
    let private = [&g.access, &g.exit]
        .into_iter()
        .flatten()
        .map(|a| 2.0 * mean(&a.delay))
        .sum::<f64>();
    let trip = path.seconds() + private;
    (trip > 0.0).then(|| window as f64 * 8.0 / trip * f64::from(g.count))
}

/// Warn of lines that carry nothing in the run, or from an instant on.
pub fn of_outages(r: &mut Reader, links: &[LinkSpec], duration: Duration) {
    let end = Time::ZERO + duration;
    for link in links {
        for reverse in [false, true] {
            let way = direction(link, reverse);
            let name = link.port_name(reverse);
            let Some(from) = shut_from(way, end) else { continue };
            let shut_s = (end - from).seconds();
            let text = if from == Time::ZERO {
                "the line carries not one packet in the whole run; give another rate or trace".to_string()
            } else if shut_s > REST * duration.seconds() {
                format!(
                    "the line carries nothing from {} to the end of the run; end the run there, or give another rate",
                    Duration(from.0)
                )
            } else {
                continue;
            };
            r.warn(At::Nowhere, format!("link.{name}"), text);
        }
    }
}

/// The instant from which a line carries nothing until the end of the run. It is 0 if the line carries less than one
/// packet in the whole run, and `None` if the line carries something at the end.
fn shut_from(d: &DirectionSpec, end: Time) -> Option<Time> {
    if let Some(trace) = &d.trace {
        let offered = trace.offered(end);
        if offered < PACKET_BITS * 1_000_000_000 {
            return Some(Time::ZERO);
        }
        // The first instant by which the line has offered everything.
        let (mut low, mut high) = (0, end.0);
        while low < high {
            let middle = low + (high - low) / 2;
            match trace.offered(Time(middle)) == offered {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        return (low < end.0).then_some(Time(low));
    }
    let last_change = d
        .changes
        .iter()
        .filter_map(|c| last_rate(c, end))
        .max_by_key(|(at, _)| *at)?;
    (last_change.1 == Some(BitRate(0))).then_some(last_change.0)
}

/// A change that sets more rates than this is not followed to its end.
const MOST_INSTANTS: usize = 1 << 20;

/// The time at which a change sets its last rate before the end, and that rate; no rate if the change sets too many to
/// follow.
fn last_rate(c: &Change, end: Time) -> Option<(Time, Option<BitRate>)> {
    let Values::Rate(rates) = &c.to else { return None };
    let taken = (0..).map_while(|n| c.when.nth(n)).take_while(|t| *t < end).enumerate();
    let (n, instant) = taken.take(MOST_INSTANTS).last()?;
    match n + 1 < MOST_INSTANTS {
        true => Some((instant, Some(rates[n % rates.len()]))),
        false => Some((end, None)),
    }
}
