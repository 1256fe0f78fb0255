//! The `[flows.NAME]` tables: ends, private links, transport, traffic, and when flows start and stop.
//!
//! `rtt` is turned into the delay of the access link here: the round trip without queues and transmission times is the
//! delay of the path there and back plus twice the access and exit delays.

use super::advice::flows as advice;
use super::conditioners::{Before, conditioner};
use super::instants::{first_instant, in_order, instants};
use super::links::impairments;
use super::names::{among, place};
use super::profiles::{Profiles, with_preset};
use super::routes::{Routes, nodes_over};
use super::transport::{deadline, frames_or_datagrams, packets, sizes, transport};
use crate::check::{Filled, Reader, join};
use crate::document::{Entry, Node, Tree};
use crate::error::{At, Problem};
use tailback_base::model::{Choice, Key, Param, Raw, Settings};
use tailback_base::{BitRate, Duration, Time};
use tailback_sim::declare::impairments::Impairment;
use tailback_sim::declare::instants::Instants;
use tailback_sim::declare::paths::Paths;
use tailback_sim::declare::tables::flows::*;
use tailback_sim::declare::tables::{DELAY_ONLY_BPS, FLOWS, MOST_FLOWS};
use tailback_sim::measure::{convergence, playout};
use tailback_sim::spec::{AccessSpec, GroupSpec, LinkSpec};
use tailback_sim::traffic::voice;
use tailback_sim::wire::packet::MAX_HOPS;

/// The most groups of flows.
const MOST_GROUPS: usize = 100_000;
/// Bytes a flow takes, roughly: two endpoints, its counters, its private links. The number is used only in a message.
const FLOW_BYTES: u64 = 4_000;

/// The data against which a group of flows is checked.
pub struct Around<'a> {
    pub links: &'a [LinkSpec],
    /// The tables of the links, for the places of warnings.
    pub link_tables: Option<&'a Node>,
    /// The scenario's own sets of tcp values.
    pub profiles: &'a Profiles,
    /// The default ends of flows.
    pub ends: Option<(String, String)>,
    /// Whether all links could be read. Otherwise an unknown node may be on a broken link, so it is not reported.
    pub whole: bool,
    /// Whether the scenario asks for the table of intervals.
    pub intervals: bool,
    /// The length of the intervals, if it could be read.
    pub interval: Option<Duration>,
    /// The duration, if it could be read.
    pub duration: Option<Duration>,
    /// Whether the network may mark. It may unless the scenario says that it does not.
    pub marking: bool,
    /// The paths that packets take, unless a group has its own setting.
    pub paths: Paths,
}

/// Read all groups.
pub fn groups(r: &mut Reader, entries: &[&Entry], around: &Around, routes: &mut Routes) -> Vec<GroupSpec> {
    if entries.len() > MOST_GROUPS {
        let problem = format!("{} groups of flows are too many", entries.len());
        r.complain(Problem::new(
            "limit",
            entries[MOST_GROUPS].key_at.clone(),
            "flows",
            problem,
            "put flows that share everything but delays into one group with lists",
        ));
        return vec![];
    }
    let mut groups = vec![];
    let mut total = 0u64;
    for entry in entries {
        let Some(group) = group(r, entry, around, routes) else {
            continue;
        };
        let before = total;
        total += u64::from(group.count);
        if total > MOST_FLOWS && before <= MOST_FLOWS {
            let at = entry.node.given(&COUNT).map_or(&entry.key_at, |n| &n.at).clone();
            too_many(r, at, &join("flows", &entry.key), total);
        }
        groups.push(group);
    }
    if !groups.is_empty()
        && (r.seen() == 0)
        && let Some(end) = around.duration.map(|d| Time(d.0))
    {
        for g in &groups {
            if first_instant(&g.start).is_some_and(|t| t >= end) {
                let entry = entries.iter().find(|e| e.key == g.name);
                let place_of_start = entry.map_or(At::Nowhere, |e| place(&e.node, &[START.name]));
                let text = format!("no flow starts before the run ends at {}", Duration(end.0));
                r.warn(place_of_start, format!("flows.{}", g.name), text);
            }
        }
    }
    groups
}

fn too_many(r: &mut Reader, at: At, path: &str, total: u64) {
    let gigabytes = total.saturating_mul(FLOW_BYTES) / 1_000_000_000;
    let problem = format!("{total} flows are too many: they would take about {gigabytes} GB of memory");
    let remedy = format!("at most {MOST_FLOWS} flows, all groups together; run fewer, or several scenarios");
    r.complain(
        Problem::new("limit", at, &join(path, COUNT.name), problem, remedy)
            .value(total.to_string())
            .allowed(format!("1 to {MOST_FLOWS} flows")),
    );
}

fn group(r: &mut Reader, entry: &Entry, around: &Around, routes: &mut Routes) -> Option<GroupSpec> {
    let problems_before = r.seen();
    let path = join("flows", &entry.key);
    let node = &entry.node;
    // A count out of range gets the message about memory instead of the message about a range.
    if let Some(Node {
        tree: Tree::Scalar(Raw::Int(n)),
        at,
    }) = node.given(&COUNT)
        && *n > MOST_FLOWS as i64
    {
        too_many(r, at.clone(), &path, *n as u64);
        return None;
    }
    let names: Vec<&'static str> = r.library.catalogue.family("transport").iter().map(|m| m.name).collect();
    let filled = r.fill(node, &path, &FLOWS, &names);
    let part = |param: &Param| node.given(param).map(|n| (n, join(&path, param.name)));

    let traffic = match part(&TRAFFIC) {
        Some((n, key)) => {
            let filled = r.model(n, &key, "traffic").map(|f| f.settings);
            filled.and_then(|s| with_preset(r, s, n, &key))
        }
        None => Some(Settings::defaults(&tailback_sim::traffic::bulk::MODEL)),
    };
    let transport = transport(r, node, &path, &names, traffic.as_ref(), around.profiles);
    let sizes = sizes(r, node, &path, filled.as_ref(), traffic.as_ref(), transport.as_ref());
    if let (Some(traffic), Some(transport), Some(sizes)) = (&traffic, &transport, &sizes) {
        packets(r, node, &path, traffic, transport, sizes);
    }
    let at_once = || Some(Instants::Listed(vec![Time::ZERO]));
    let start = part(&START).map_or_else(at_once, |(n, key)| instants(r, n, &key, false));
    let meter = part(&METER).map(|(n, key)| meter(r, n, &key, around));
    let playout = part(&PLAYOUT).and_then(|(n, key)| playout_of(r, n, &key, [traffic.as_ref(), transport.as_ref()]));
    let host = part(&CONDITIONER).map(|(n, key)| conditioner(r, n, &key, Before::Host));
    let stop = part(&STOP).map(|(n, key)| instants(r, n, &key, true));
    let [access_impair, exit_impair] =
        [ACCESS_IMPAIR, EXIT_IMPAIR].map(|p| part(&p).map_or(vec![], |(n, key)| impairments(r, n, &key)));

    let filled = filled?;
    let s = &filled.settings;
    let deadline = deadline(r, &filled, [traffic.as_ref(), transport.as_ref()]);
    let (from, to) = ends(r, &filled, around)?;
    let path_delay = route(r, &filled, &from, &to, around, routes);
    let (paths, via) = which_paths(r, &filled, (&from, &to), around, routes)?;
    let path_delay = path_delay.and_then(|_| round_trip(&from, &via, &to, routes));
    let (mut access, exit) = private_links(r, &filled, path_delay, access_impair, exit_impair);
    if host.is_some() {
        access.get_or_insert_with(AccessSpec::no_time);
    }
    if let (Some(start), Some(Some(stop))) = (&start, &stop) {
        in_order(r, &filled, s.get(&COUNT), (start, stop));
    }
    if r.seen() > problems_before {
        return None;
    }
    let transport_at = place(node, &[transport.as_ref().map_or(TRANSPORT.name, |t| t.model.name)]);
    if let Some(warning) = transport.as_ref().and_then(advice::out_of_reach) {
        r.warn(transport_at.clone(), &path, warning);
    }
    if let Some(t) = &transport
        && let Some(hops) = routes.over(&from, &via, &to)
        && let Some(warning) = advice::about(t, &hops, around.links, around.marking)
    {
        r.warn(transport_at, &path, warning);
    }
    if s.get(&COUNT) > 1
        && let Some(hops) = routes.over(&from, &via, &to)
        && let Some(warning) = advice::one_conversation((access.is_some(), exit.is_some()), &hops, around.links)
    {
        r.warn(place(node, &[COUNT.name]), &path, warning);
    }
    let aggregate =
        [(SOURCE_EDGE, &from), (DESTINATION_EDGE, &to)].map(|(key, node)| s.get(&key).unwrap_or_else(|| node.clone()));
    Some(GroupSpec {
        name: entry.key.clone(),
        count: s.get(&COUNT),
        from,
        to,
        paths,
        via,
        weight: s.get(&WEIGHT),
        access,
        exit,
        aggregate,
        tunnel: s.get(&TUNNEL).map(|name| (name, s.get(&TUNNEL_HASH))),
        conditioner: host.flatten(),
        transport: transport?,
        traffic: traffic?,
        sizes: sizes?,
        meter: meter.flatten(),
        dscp: s.get(&DSCP),
        deadline,
        playout,
        changes: vec![],
        start: start?,
        stop: stop.flatten(),
    })
}

/// The playout of arriving data.
fn playout_of(
    r: &mut Reader,
    node: &Node,
    path: &str,
    [traffic, transport]: [Option<&Settings>; 2],
) -> Option<Settings> {
    let filled = r.model(node, path, "playout")?;
    let (traffic, transport) = (traffic?, transport?);
    let (source, name) = (traffic.model.name, transport.model.name);
    let is_played = frames_or_datagrams(r.library, traffic, transport);
    let is_fixed = playout::fixed_delay(&filled.settings).is_some();
    let (problem, remedy) = if !is_played {
        (
            format!("{source} over {name} has neither datagrams nor frames that could be played"),
            "leave the playout out",
        )
    } else if !is_fixed && !voice::has_silences(traffic) {
        (
            format!("the delay of adaptive playout changes in silences, and {source} has none here"),
            "give traffic = { kind = \"voice\", speech = \"on-off\" }, or playout = \"fixed\"",
        )
    } else {
        return Some(filled.settings);
    };
    r.complain(Problem::new("conflict", node.at.clone(), path, problem, remedy).value(node.show()));
    None
}

/// The additional measurement of each flow in the table of intervals.
fn meter(r: &mut Reader, node: &Node, path: &str, around: &Around) -> Option<Settings> {
    let filled = r.model(node, path, "meter")?;
    if !around.intervals {
        let problem = "a meter writes into the table of intervals, but the scenario has no interval";
        let remedy = "add interval = \"1s\" or so at the top of the scenario, or leave the meter out";
        r.complain(Problem::new("conflict", node.at.clone(), path, problem, remedy));
    }
    let window = filled.settings.get(&convergence::WINDOW);
    if let Some(interval) = around.interval
        && window > interval
    {
        let problem =
            format!("the sliding window of {window} is longer than the interval of {interval}: it never slides");
        let remedy = "give meter.window a few gaps between packets, or a longer interval at the top of the scenario";
        let problem = filled.problem("conflict", &convergence::WINDOW, problem, remedy);
        r.complain(problem.value(window.to_string()));
    }
    Some(filled.settings)
}

/// The two ends, given or by default.
pub(super) fn ends(r: &mut Reader, filled: &Filled, around: &Around) -> Option<(String, String)> {
    let mut end = |key: &Key<Option<String>>, default: Option<&String>| -> Option<String> {
        let node = filled.settings.get(key);
        if node.is_some() {
            return node;
        }
        if default.is_none() && around.whole && !around.links.is_empty() {
            let nodes = among(
                "",
                Routes::new(around.links).node_names().collect::<Vec<_>>().into_iter(),
                "nodes",
            )
            .1;
            let problem = format!(
                "[{}] needs \"{}\": there is more than one link, so the ends are not obvious",
                filled.path, key.name
            );
            let remedy = format!("add `{}` with the name of a node; {nodes}", key.name);
            r.complain(filled.problem("missing", key, problem, remedy));
        }
        default.cloned()
    };
    let from = end(&FROM, around.ends.as_ref().map(|e| &e.0));
    let to = end(&TO, around.ends.as_ref().map(|e| &e.1));
    Some((from?, to?))
}

/// The round trip of the first path over these nodes.
fn round_trip(from: &str, via: &[String], to: &str, routes: &mut Routes) -> Option<Duration> {
    let hops = routes.over(from, via, to)?;
    Some(routes.round_trip(&hops))
}

/// The paths that a group takes, and the nodes that it passes.
fn which_paths(
    r: &mut Reader,
    filled: &Filled,
    (from, to): (&str, &str),
    around: &Around,
    routes: &mut Routes,
) -> Option<(Paths, Vec<String>)> {
    let (own_paths, via) = (filled.settings.get(&PATHS), filled.settings.get(&VIA));
    if via.is_empty() || !around.whole {
        return Some((own_paths.unwrap_or(around.paths), via));
    }
    if let Some(own_paths) = own_paths.filter(|own_paths| *own_paths != Paths::First) {
        let problem = format!(
            "via names the path, but paths = \"{}\" chooses one of several",
            own_paths.word()
        );
        r.complain(filled.problem("conflict", &VIA, problem, "keep one of the two"));
        return None;
    }
    if let Some(unknown) = via.iter().find(|node| !routes.has(node)) {
        let nodes: Vec<&str> = routes.node_names().collect();
        let (near, remedy) = among(unknown, nodes.into_iter(), "nodes");
        let problem = format!("no link touches a node \"{}\"", crate::error::shorten(unknown, 60));
        let problem = filled.problem("unreachable", &VIA, problem, remedy);
        r.complain(problem.value(unknown).nearest(near.as_deref()));
        return None;
    }
    let hops = routes.over(from, &via, to);
    let mut passed: Vec<&str> = vec![from];
    passed.extend(hops.iter().flatten().map(|h| routes.end_of(*h)));
    let repeated_node = (1..passed.len())
        .find(|i| passed[..*i].contains(&passed[*i]))
        .map(|i| passed[i]);
    let problem = match (&hops, repeated_node) {
        (None, _) => format!("no way leads over {}", nodes_over(from, &via, to).join(", ")),
        (_, Some(node)) => format!(
            "the way over {} passes {node} twice",
            nodes_over(from, &via, to).join(", ")
        ),
        (Some(hops), _) if hops.len() > MAX_HOPS - 2 => format!("the way over these nodes has {} links", hops.len()),
        _ => return Some((Paths::First, via)),
    };
    r.complain(filled.problem(
        "conflict",
        &VIA,
        problem,
        "name nodes in the order in which packets pass them",
    ));
    None
}

/// The delay of the path there and back; complains if there is no path.
pub(super) fn route(
    r: &mut Reader,
    filled: &Filled,
    from: &str,
    to: &str,
    around: &Around,
    routes: &mut Routes,
) -> Option<Duration> {
    if !around.whole || around.links.is_empty() {
        return None;
    }
    let mut all_known = true;
    for (key, name) in [(FROM, from), (TO, to)] {
        if !routes.has(name) {
            let nodes: Vec<&str> = routes.node_names().collect();
            let (near, remedy) = among(name, nodes.into_iter(), "nodes");
            let problem = format!("no link touches a node \"{}\"", crate::error::shorten(name, 60));
            r.complain(
                filled
                    .problem("unreachable", &key, problem, remedy)
                    .value(name)
                    .nearest(near.as_deref()),
            );
            all_known = false;
        }
    }
    if !all_known {
        return None;
    }
    if from == to {
        let problem = format!("the flows go from \"{from}\" to \"{to}\", over no link");
        let remedy = "give two different nodes";
        r.complain(filled.problem("conflict", &TO, problem, remedy).value(to));
        return None;
    }
    let Some(hops) = routes.path(from, to) else {
        let reach = routes.connected(from);
        let (near, list) = among(to, reach.into_iter(), &format!("nodes that \"{from}\" reaches"));
        let problem = format!("no way leads from \"{from}\" to \"{to}\"");
        let remedy = format!("add a link that joins the two parts of the network; {list}");
        r.complain(
            filled
                .problem("unreachable", &TO, problem, remedy)
                .value(to)
                .nearest(near.as_deref()),
        );
        return None;
    };
    if hops.len() > MAX_HOPS - 2 {
        let problem = format!("the way from \"{from}\" to \"{to}\" has {} links", hops.len());
        let remedy = format!("at most {} links can be crossed, beside access and exit", MAX_HOPS - 2);
        r.complain(filled.problem("limit", &TO, problem, remedy).value(to));
        return None;
    }
    Some(routes.round_trip(&hops))
}

/// The access and the exit link, if the flows have such links.
fn private_links(
    r: &mut Reader,
    filled: &Filled,
    path: Option<Duration>,
    mut access_impair: Vec<Impairment>,
    exit_impair: Vec<Impairment>,
) -> (Option<AccessSpec>, Option<AccessSpec>) {
    let s = &filled.settings;
    if let Some(max) = s.get(&SEND_DELAY).filter(|d| d.0 > 0) {
        access_impair.push(Impairment::SendDelay { max });
    }
    let exit = private_link(s.get(&EXIT_RATE), s.get(&EXIT_DELAY), exit_impair);
    let far = exit.as_ref().map_or(vec![Duration::ZERO], |e| e.delay.clone());
    let sets = Sets {
        key: &ACCESS_DELAY,
        what: "the access delay",
    };
    let delay = delays(r, filled, &sets, &far, path, s.get(&COUNT));
    (private_link(s.get(&ACCESS_RATE), delay, access_impair), exit)
}

/// The delay that `rtt` sets: that of the links of one end.
pub(super) struct Sets {
    pub key: &'static Key<Vec<Duration>>,
    pub what: &'static str,
}

/// The delays of the links of one end. The links' delays are given, or are those with which each of `count` round trips
/// is `rtt`. `far` are the delays of the links of the other end, taken in turn.
pub(super) fn delays(
    r: &mut Reader,
    filled: &Filled,
    sets: &Sets,
    far: &[Duration],
    path: Option<Duration>,
    count: u32,
) -> Vec<Duration> {
    let delays_given = filled.settings.get(sets.key);
    let rtt = filled.settings.get(&RTT);
    if rtt.is_empty() {
        return delays_given;
    }
    if !delays_given.is_empty() {
        let problem = format!("both rtt and {} are given, and rtt sets {}", sets.key.name, sets.what);
        r.complain(filled.problem("conflict", &RTT, problem, "keep one of the two"));
        return delays_given;
    }
    let Some(path) = path else { return vec![] };
    delays_for(&rtt, far, path, count).unwrap_or_else(|(rtt, least)| {
        let problem = format!("a round trip of {rtt} is shorter than the path alone, which takes {least}");
        let remedy = format!("give a round trip of at least {least}, or shorten the delays of the links");
        r.complain(filled.problem("conflict", &RTT, problem, remedy).value(rtt.to_string()));
        vec![]
    })
}

pub(super) fn private_link(
    rate: Vec<BitRate>,
    delay: Vec<Duration>,
    impairments: Vec<Impairment>,
) -> Option<AccessSpec> {
    if rate.is_empty() && delay.is_empty() && impairments.is_empty() {
        return None;
    }
    let rate = if rate.is_empty() {
        vec![BitRate(DELAY_ONLY_BPS)]
    } else {
        rate
    };
    let delay = if delay.is_empty() { vec![Duration::ZERO] } else { delay };
    Some(AccessSpec {
        rate,
        delay,
        impairments,
    })
}

/// The delays at one end so that the round trips are `rtt`; the error is the round trip and the least possible round
/// trip.
fn delays_for(
    rtt: &[Duration],
    far: &[Duration],
    path: Duration,
    count: u32,
) -> Result<Vec<Duration>, (Duration, Duration)> {
    // Both lists are taken in turn; together they repeat after the least common multiple of their lengths.
    let gcd = |mut a: usize, mut b: usize| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a.max(1)
    };
    let common = rtt.len().saturating_mul(far.len() / gcd(rtt.len(), far.len()));
    (0..common.min(count as usize))
        .map(|i| {
            let (rtt, far) = (rtt[i % rtt.len()], far[i % far.len()]);
            let least_rtt = path + far + far;
            if rtt < least_rtt {
                Err((rtt, least_rtt))
            } else {
                Ok(Duration((rtt - least_rtt).0 / 2))
            }
        })
        .collect()
}
