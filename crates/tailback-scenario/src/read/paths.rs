//! The rates and round trips of a scenario, which are computed before the scenario is read, if a value depends on them.
//!
//! The tables of links, flows and sessions are read for ends, delays and transports only, as the scenario itself will
//! be. Problems of these tables are reported when the scenario is read.

use super::advice::ports::of_transport;
use super::flows::{Around, ends, route};
use super::names::named;
use super::profiles::{Profiles, with_preset};
use super::routes::Routes;
use super::sessions;
use super::transport::transport;
use crate::check::{Filled, Reader, join};
use crate::document::{Entry, Node, Tree};
use crate::error::Problem;
use crate::measures::{Measures, Trips, WhichTrip, direction};
use std::collections::BTreeMap;
use tailback_base::model::{Choice, Param, Raw, Settings};
use tailback_base::quantity::{parse_rate, parse_time};
use tailback_base::relative::{self, OfPath};
use tailback_base::{BitRate, Duration};
use tailback_queue::fifo::droptail;
use tailback_sim::declare::changes;
use tailback_sim::declare::paths::Paths;
use tailback_sim::declare::tables::flows as key;
use tailback_sim::declare::tables::sessions::{CLIENTS, SERVERS};
use tailback_sim::declare::tables::{FLOWS, LINK, SESSIONS, link, top};
use tailback_sim::spec::{DirectionSpec, LinkSpec};

/// The rates and round trips of the paths, as far as a value of the scenario depends on them.
pub fn measure(r: &mut Reader, root: &Node, own_ends: Option<(String, String)>) -> Measures {
    let which = which(r, root);
    let wanted = wanted(root);
    let mut measures = Measures {
        which,
        ..Measures::default()
    };
    if wanted == Wanted::Nothing {
        return measures;
    }
    measures.rates = rates(root);
    changes_of(root, &mut measures);
    if wanted == Wanted::Trips {
        let mut scratch = Reader::new(r.library);
        scratch.measures = Measures {
            unknown: true,
            ..measures.clone()
        };
        round_trips(&mut scratch, root, own_ends, &mut measures);
    }
    measures
}

/// The value of `bdp_rtt`.
fn which(r: &mut Reader, root: &Node) -> Option<WhichTrip> {
    let node = root.given(&top::BDP_RTT)?;
    let text = text_of(node)?;
    match text {
        "largest" => return Some(WhichTrip::Largest),
        "mean" => return Some(WhichTrip::Mean),
        _ => {}
    }
    match parse_time(text) {
        Ok(rtt) if rtt > Duration::ZERO => Some(WhichTrip::Given(rtt)),
        _ => {
            let problem = format!("{} is not a round trip", node.show());
            let remedy = "write \"largest\", \"mean\" or a time such as \"40ms\"";
            let problem = Problem::new("value", node.at.clone(), top::BDP_RTT.name, problem, remedy);
            r.complain(problem.value(node.show()));
            // This value makes sure that the key gets only this complaint.
            Some(WhichTrip::Largest)
        }
    }
}

/// The path data on which the values of a tree depend.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wanted {
    Nothing,
    Rates,
    Trips,
}

fn wanted(node: &Node) -> Wanted {
    let of_text = |text: &str| match relative::parse(text) {
        None => Wanted::Nothing,
        Some(OfPath::Share(..)) => Wanted::Rates,
        Some(OfPath::Products(_) | OfPath::RoundTrips(_)) => Wanted::Trips,
    };
    match &node.tree {
        Tree::Scalar(Raw::Text(t)) => of_text(t),
        Tree::Scalar(_) => Wanted::Nothing,
        Tree::List(items) => items.iter().map(wanted).max().unwrap_or(Wanted::Nothing),
        Tree::Table(entries) => entries.iter().map(|e| wanted(&e.node)).max().unwrap_or(Wanted::Nothing),
    }
}

fn text_of(node: &Node) -> Option<&str> {
    match &node.tree {
        Tree::Scalar(Raw::Text(t)) => Some(t),
        _ => None,
    }
}

/// The tables of a family, with their names.
fn tables<'d>(root: &'d Node, family: &Param) -> impl Iterator<Item = &'d Entry> {
    root.given(family).map_or(&[][..], Node::entries).iter()
}

/// The rate of each direction. A rate that is a share of another rate is computed once the other rate is known; rates
/// that depend on each other in a circle stay unknown.
fn rates(root: &Node) -> BTreeMap<String, BitRate> {
    let mut delay_texts: Vec<(String, &str)> = vec![];
    for e in tables(root, &top::LINKS) {
        let Some(forward) = e.node.given(&link::RATE).and_then(text_of) else {
            continue;
        };
        let back = e.node.given(&link::REVERSE_RATE).and_then(text_of);
        delay_texts.push((direction(&e.key, false), forward));
        delay_texts.push((direction(&e.key, true), back.unwrap_or(forward)));
    }
    let mut rates = BTreeMap::new();
    loop {
        let count = rates.len();
        delay_texts.retain(|(name, text)| {
            let rate = match relative::parse(text) {
                Some(OfPath::Share(x, of)) => rates
                    .get(of)
                    .map(|r: &BitRate| BitRate(libm::round(x * r.bits_per_second()) as u64)),
                _ => parse_rate(text).ok(),
            };
            if let Some(rate) = rate {
                rates.insert(name.clone(), rate);
            }
            rate.is_none()
        });
        if rates.len() == count {
            return rates;
        }
    }
}

/// The rates that change during the run, and the target of each table of changes.
fn changes_of(root: &Node, measures: &mut Measures) {
    for e in tables(root, &top::LINKS) {
        for (parts, reverse) in link::PARTS.iter().zip([false, true]) {
            if e.node.given(&parts.rate_changes).is_some() {
                measures.changing.insert(direction(&e.key, reverse));
            }
        }
    }
    for e in tables(root, &top::CHANGES) {
        let text_given = |p: &Param| e.node.given(p).and_then(text_of);
        if let Some(line) = text_given(&changes::LINK) {
            let rate: [&Param; 3] = [&changes::RATES, &changes::TRACE, &changes::MAHIMAHI];
            if rate.iter().any(|p| e.node.given(p).is_some()) {
                measures.changing.insert(line.to_string());
            }
            measures.changes.insert(e.key.clone(), format!("link.{line}"));
        } else if let Some(group) = text_given(&changes::FLOWS) {
            measures.changes.insert(e.key.clone(), format!("flows.{group}"));
        }
    }
}

/// The round trips of the flows that cross each link, of each group, of the clients of sessions, and of all flows.
fn round_trips(r: &mut Reader, root: &Node, own_ends: Option<(String, String)>, measures: &mut Measures) {
    let entries = named(r, root, &top::LINKS);
    let links: Vec<LinkSpec> = entries.iter().filter_map(|e| line(r, e, measures)).collect();
    measures.broken = links.len() < entries.len();
    let profile_entries = named(r, root, &top::PROFILES);
    let profiles = Profiles::read(r, &profile_entries);
    let around = Around {
        links: &links,
        link_tables: None,
        profiles: &profiles,
        ends: own_ends.or_else(|| super::only_link(&links)),
        whole: !measures.broken,
        intervals: false,
        interval: None,
        duration: None,
        marking: true,
        paths: spread(root),
    };
    let mut routes = Routes::new(&links);
    for (family, of) in [
        (
            &top::FLOWS,
            of_group as fn(&mut Reader, &Entry, &Around, &mut Routes) -> Option<FlowsOnPath>,
        ),
        (&top::SESSIONS, of_session),
    ] {
        for e in named(r, root, family) {
            let Some(crossing) = of(r, e, &around, &mut routes) else {
                measures.broken = true;
                continue;
            };
            let own = join(family.name, &e.key);
            let crossed = crossing.links.iter().map(|l| format!("link.{l}"));
            for table in crossed.chain([own, String::new()]) {
                let all = measures
                    .trips
                    .get(&table)
                    .map_or(crossing.trips, |t| t.with(crossing.trips));
                measures.trips.insert(table, all);
            }
        }
    }
}

/// The paths that the whole network takes.
fn spread(root: &Node) -> Paths {
    let word = root.given(&top::PATHS).and_then(text_of);
    let place = word.and_then(|word| Paths::WORDS.iter().position(|w| *w == word));
    place.map_or(Paths::First, |i| Paths::MEANINGS[i])
}

/// A link without the contents of its tables.
fn line(r: &mut Reader, entry: &Entry, measures: &Measures) -> Option<LinkSpec> {
    let filled = r.fill(&entry.node, &join("link", &entry.key), &LINK, &[])?;
    let s = &filled.settings;
    // The delay is left out if it depends on the path, which it must not.
    let delay = s.gives(&link::DELAY).then(|| s.get(&link::DELAY))?;
    let direction_spec = |reverse: bool, delay: Duration| {
        Some(DirectionSpec {
            rate: *measures.rates.get(&direction(&entry.key, reverse))?,
            delay,
            queue: Settings::defaults(&droptail::MODEL),
            conditioner: None,
            impairments: vec![],
            changes: vec![],
            trace: None,
            switch: None,
        })
    };
    Some(LinkSpec {
        name: entry.key.clone(),
        from: s.get(&link::FROM),
        to: s.get(&link::TO),
        layer: None,
        forward: direction_spec(false, delay)?,
        reverse: direction_spec(true, s.get(&link::REVERSE_DELAY).unwrap_or(delay))?,
    })
}

/// The flows of a table.
struct FlowsOnPath {
    /// The links they cross.
    links: Vec<String>,
    trips: Trips,
}

/// The round trips of `count` flows whose ends have these delays.
fn crossing(
    r: &mut Reader,
    filled: &Filled,
    around: &Around,
    routes: &mut Routes,
    (count, far, packet): (u32, &[Duration], Option<u64>),
    own: &[Duration],
) -> Option<FlowsOnPath> {
    let (from, to) = ends(r, filled, around)?;
    let mut path = route(r, filled, &from, &to, around, routes)?;
    // Sessions have no such key.
    let via = filled.settings.find_key(&key::VIA).unwrap_or_default();
    if let Some(hops) = routes.over(&from, &via, &to) {
        path = routes.round_trip(&hops);
    }
    let rtt = filled.settings.get(&key::RTT);
    let turn = |list: &[Duration], i: u32| match list {
        [] => Duration::ZERO,
        list => list[i as usize % list.len()],
    };
    let trip = |i: u32| match rtt.is_empty() {
        true => {
            let ends = turn(own, i) + turn(far, i);
            path + ends + ends
        }
        false => turn(&rtt, i),
    };
    let own = filled.settings.get(&key::PATHS).unwrap_or(around.paths);
    let hops = routes.taken([&from, &to], own, &via);
    Some(FlowsOnPath {
        links: hops.iter().map(|h| around.links[h.link].name.clone()).collect(),
        trips: Trips::of((0..count).map(trip), packet)?,
    })
}

fn of_group(r: &mut Reader, entry: &Entry, around: &Around, routes: &mut Routes) -> Option<FlowsOnPath> {
    let path = join(top::FLOWS.name, &entry.key);
    let node = &entry.node;
    let names: Vec<&'static str> = r.library.catalogue.family("transport").iter().map(|m| m.name).collect();
    let filled = r.fill(node, &path, &FLOWS, &names)?;
    let traffic = match node.given(&key::TRAFFIC) {
        Some(n) => {
            let traffic_path = join(&path, key::TRAFFIC.name);
            let settings = r.model(n, &traffic_path, "traffic")?.settings;
            with_preset(r, settings, n, &traffic_path)?
        }
        None => Settings::defaults(&tailback_sim::traffic::bulk::MODEL),
    };
    let transport = transport(r, node, &path, &names, Some(&traffic), around.profiles)?;
    let s = &filled.settings;
    let (access, exit) = (s.get(&key::ACCESS_DELAY), s.get(&key::EXIT_DELAY));
    let others = (s.get(&key::COUNT), &exit[..], of_transport(&transport).0);
    crossing(r, &filled, around, routes, others, &access)
}

fn of_session(r: &mut Reader, entry: &Entry, around: &Around, routes: &mut Routes) -> Option<FlowsOnPath> {
    let path = join(top::SESSIONS.name, &entry.key);
    let node = &entry.node;
    let model = sessions::kind(r, node, &path)?;
    let names: Vec<&'static str> = r.library.catalogue.family("transport").iter().map(|m| m.name).collect();
    let other_keys = sessions::other_keys(model, &names);
    let filled = r.fill(node, &path, &SESSIONS, &other_keys)?;
    let transport = transport(r, node, &path, &names, None, around.profiles)?;
    let s = &filled.settings;
    let clients = s.get(&CLIENTS);
    let servers = s.get(&SERVERS).unwrap_or(clients) as usize;
    let (access, exit) = (s.get(&key::ACCESS_DELAY), s.get(&key::EXIT_DELAY));
    // The clients take the servers in turn, and the servers take the delays in turn.
    let far: Vec<Duration> = access.iter().copied().cycle().take(servers).collect();
    let others = (clients, &far[..], of_transport(&transport).0);
    crossing(r, &filled, around, routes, others, &exit)
}
