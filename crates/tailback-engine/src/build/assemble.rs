//! From a [`Network`] to a simulator: ports, conditioners, flows, applications, in this order.
//!
//! Everything gets its number by name: ports and flows are numbered in the natural order of their names ("s2" before
//! "s10"), so that adding an unrelated link changes no tie elsewhere. Random streams are named after the thing that draws.

use super::network::{AppDef, Direction, FlowDef, FlowHandle, LinkDef, LinkId, Network, QueueChoice, Transport, UNITS};
use super::route::{Arc, Router};
use crate::event::EventKind;
use crate::impair::Impairments;
use crate::measure::capture::{Looks, Names, Tap};
use crate::measure::recorder::Recorder;
use crate::packet::Keys;
use crate::port::{Before, Explicit, Fused, Port, Queue};
use crate::sim::ahead::looks_at_everything;
use crate::sim::conditioners::EdgeSlot;
use crate::sim::flow::{Carrier, Flow, FlowStats, NO_APP};
use crate::sim::{AppSlot, Sim, Tick};
use crate::traffic::application::NodeId;
use std::cmp::Ordering;
use tailback_base::quantity::Refusal;
use tailback_base::work::{counted_as, done};
use tailback_base::{Duration, FlowId, Stream, Time};
use tailback_queue::fifo::{DropTail, Fifo};
use tailback_transport::path::Path;

/// A built network: the simulator, and where to find things in it.
pub struct Built {
    pub sim: Sim,
    /// Names of the ports, in order of number: `bottleneck`, `bottleneck.reverse`.
    pub port_names: Vec<String>,
    pub group_names: Vec<String>,
    /// Port numbers of each link: forward and reverse.
    pub link_ports: Vec<[u32; 2]>,
    /// Flow number of each handle.
    pub flow_ids: Vec<FlowId>,
}

/// Compare names so that numbers inside them count as numbers.
pub fn natural(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    loop {
        match (a.first(), b.first()) {
            (None, None) => return Ordering::Equal,
            (None, _) => return Ordering::Less,
            (_, None) => return Ordering::Greater,
            (Some(x), Some(y)) if x.is_ascii_digit() && y.is_ascii_digit() => {
                let digits = |s: &[u8]| s.iter().take_while(|c| c.is_ascii_digit()).count();
                let trim = |s: &[u8]| s.iter().take_while(|c| **c == b'0').count();
                let (na, nb) = (digits(a), digits(b));
                let (xa, xb) = (&a[trim(&a[..na])..na], &b[trim(&b[..nb])..nb]);
                let order = xa.len().cmp(&xb.len()).then(xa.cmp(xb)).then(nb.cmp(&na));
                if order != Ordering::Equal {
                    return order;
                }
                (a, b) = (&a[na..], &b[nb..]);
            }
            (Some(x), Some(y)) if x != y => return x.cmp(y),
            _ => (a, b) = (&a[1..], &b[1..]),
        }
    }
}

/// One direction of a link, numbered by its place in the list.
struct PortPlace {
    name: String,
    link: usize,
    /// 0 forward, 1 reverse.
    direction: usize,
}

impl Network {
    /// Number everything by name, find the routes, and start the clocks.
    ///
    /// # Errors
    /// A flow whose destination cannot be reached, or two links of one name.
    pub fn build(mut self) -> Result<Built, Refusal> {
        let places = port_places(&mut self.links)?;
        let mut link_ports = vec![[0u32; 2]; self.links.len()];
        for (number, p) in counted_as(4, &places).enumerate() {
            link_ports[p.link][p.direction] = number as u32;
        }
        let mut sim = Sim::new(graph(self.nodes.len(), &self.links, &link_ports));
        for p in counted_as(UNITS, &places) {
            if let Some(d) = self.links[p.link].directions[p.direction].take() {
                add_port(&mut sim, d, &p.name, link_ports[p.link][1 - p.direction], self.seed);
            }
        }
        self.add_conditioners(&mut sim, &link_ports);
        let flow_ids = self.add_flows(&mut sim)?;
        for (flow, side, edge) in self.followers {
            sim.follow(flow_ids[flow.0 as usize], side, edge);
        }
        for edge in self.hearing {
            sim.edges[edge as usize].hears = true;
        }
        sim.transports = self.transports;
        sim.edge_numbers = self.edge_numbers;
        announce_present(&mut sim);
        Ok(Built {
            sim,
            port_names: counted_as(4, places).map(|p| p.name).collect(),
            group_names: self.groups,
            link_ports,
            flow_ids,
        })
    }

    /// Conditioners, in the order they were handed in, and the propagation delay from each to each.
    fn add_conditioners(&mut self, sim: &mut Sim, link_ports: &[[u32; 2]]) {
        let mut nodes = Vec::new();
        for (i, (link, reverse, conditioner)) in self.edges.drain(..).enumerate() {
            let port = link_ports[link.0 as usize][usize::from(reverse)];
            sim.ports[port as usize].edge = i as u32;
            sim.ports[port as usize].before |= Before::CONDITIONER;
            let peer = sim.peer[port as usize];
            sim.ports[peer as usize].watched_exit = true;
            let l = &self.links[link.0 as usize];
            nodes.push(if reverse { l.to } else { l.from });
            sim.edges.push(EdgeSlot::new(conditioner, port));
            sim.arm_edge(i as u32);
        }
        for a in &nodes {
            let row = nodes.iter().map(|b| path_delay(sim, *a, *b)).collect();
            sim.edge_delay.push(row);
        }
    }

    /// Flows, in natural order of their group's name, then by index. Answers the number of each handle.
    fn add_flows(&mut self, sim: &mut Sim) -> Result<Vec<FlowId>, Refusal> {
        let mut by_name: Vec<usize> = (0..self.flows.len()).collect();
        by_name.sort_by(|a, b| {
            done(8);
            let (a, b) = (&self.flows[*a], &self.flows[*b]);
            natural(&self.groups[a.group as usize], &self.groups[b.group as usize]).then(a.index.cmp(&b.index))
        });
        sim.router.expect(self.flows.len());
        let mut flow_ids = vec![FlowId(0); self.flows.len()];
        let mut defs: Vec<Option<FlowDef>> = counted_as(32, self.flows.drain(..)).map(Some).collect();
        for handle in counted_as(UNITS, by_name) {
            if let Some(def) = defs[handle].take() {
                flow_ids[handle] = self.add_flow(sim, def)?;
            }
        }
        Ok(flow_ids)
    }

    fn add_flow(&self, sim: &mut Sim, def: FlowDef) -> Result<FlowId, Refusal> {
        let id = FlowId(sim.flows.len() as u32);
        let name = match &def.transport {
            Transport::Member(stream) => stream.clone(),
            _ => format!("flows.{}.{}", self.groups[def.group as usize], def.index),
        };
        let member = matches!(def.transport, Transport::Member(_));
        let (forward, backward) = match member {
            true => Default::default(),
            false => sim.router.routes(def.from, def.to, &mut sim.routes, &sim.peer),
        };
        if forward.len == 0 && !member {
            let called = |node: NodeId, host: &str| match self.nodes[node.0 as usize].as_str() {
                "" => format!("{name}.{host}"),
                given => given.to_string(),
            };
            let (from, to) = (called(def.from, "source"), called(def.to, "destination"));
            return Err(Refusal::new(
                format!("no path leads from \"{from}\" to \"{to}\""),
                "add a link, or change the flow's ends",
            ));
        }
        let carrier = match def.transport {
            Transport::Described(c) => {
                let path = || path_of(sim, def.from, def.to);
                Carrier::Connection(c.ends(path, &mut Stream::new(self.seed, &format!("{name}.transport"))))
            }
            Transport::Connection(ends) => Carrier::Connection(ends),
            Transport::Datagrams { ecn } => Carrier::Datagrams { ecn, next_seq: 0 },
            Transport::Injected => Carrier::Injected(Box::default()),
            Transport::Member(_) => {
                sim.unfinished += 1;
                Carrier::Member(Box::default())
            }
        };
        let mut flow = Flow {
            group: def.group,
            index: def.index,
            carrier,
            timers: [Time::NEVER; 2],
            free_until: Time::ZERO,
            runs_ahead: [false; 2],
            in_order: false,
            keys: Keys {
                source: def.from.0,
                destination: def.to.0,
                label: def.label.unwrap_or(def.to.0),
                aggregate: def.aggregate,
                weight: def.weight,
            },
            app: NO_APP,
            listens: false,
            followed: false,
            in_flight: 0,
            watched: false,
            awaited: [false; 2],
            declared: true,
            present: false,
            opened: Time::ZERO,
            stats: FlowStats {
                meter: def.meter,
                media: def.media,
                ..FlowStats::default()
            },
        };
        if let Some(a) = def.app {
            flow.app = sim.apps.len() as u32;
            flow.listens = a.listens;
            flow.opened = a.start;
            add_app(sim, a, Stream::new(self.seed, &name), Some(id), def.group);
        }
        sim.flows.push(flow);
        sim.ways.push([forward, backward]);
        Ok(id)
    }
}

/// Both directions of every link, in natural order of their names.
///
/// # Errors
/// Two links of one name.
fn port_places(links: &mut [LinkDef]) -> Result<Vec<PortPlace>, Refusal> {
    let mut places = Vec::with_capacity(2 * links.len());
    for (link, l) in counted_as(32, links).enumerate() {
        // From here on the port has the name: a copy of a million would have to be given back.
        let name = std::mem::take(&mut l.name);
        let reverse = format!("{name}.reverse");
        for (direction, name) in [name, reverse].into_iter().enumerate() {
            places.push(PortPlace { name, link, direction });
        }
    }
    places.sort_by(|a, b| {
        done(8);
        natural(&a.name, &b.name)
    });
    let twice = counted_as(8, places.windows(2)).find(|w| w[0].name == w[1].name);
    match twice {
        Some(w) => Err(Refusal::new(
            format!("two links are called \"{}\"", w[0].name),
            "give each its own name",
        )),
        None => Ok(places),
    }
}

/// The links as a graph, for routing.
fn graph(nodes: usize, links: &[LinkDef], link_ports: &[[u32; 2]]) -> Router {
    let mut router = Router::new(nodes);
    for (l, ports) in counted_as(32, links).zip(link_ports) {
        for (d, (from, to)) in [(l.from, l.to), (l.to, l.from)].into_iter().enumerate() {
            let delay = l.directions[d].as_ref().map_or(Duration::ZERO, |d| d.delay);
            let (port, to) = (ports[d], to.0);
            router.add(from, Arc { port, to, delay });
        }
    }
    router.finish();
    router
}

/// The next port: a queue, a line, and what harms packets before them. `peer` is the opposite direction.
fn add_port(sim: &mut Sim, d: Direction, name: &str, peer: u32, seed: u64) {
    let queue = match d.queue {
        // Fused arithmetic has fixed departures when the rate cannot change.
        QueueChoice::DropTail(limit) if d.rate_changes.is_empty() => Queue::Fused(Fused::new(limit)),
        QueueChoice::DropTail(limit) => {
            Queue::Explicit(Box::new(Explicit::new(Box::new(Fifo::new(limit, DropTail)), d.rate)))
        }
        QueueChoice::Discipline(q) => Queue::Explicit(Box::new(Explicit::new(q, d.rate))),
    };
    let mut port = Port::new(d.rate, d.delay, queue, d.quantiles);
    if !d.impairments.is_empty() {
        let stream = Stream::new(seed, &format!("link.{name}.impairments"));
        port.impair = Impairments::new(&d.impairments, stream);
        port.before |= Before::IMPAIRMENTS;
    }
    let number = sim.ports.len() as u32;
    // A discipline that acts by the clock starts with the run, not with its first packet.
    if let Queue::Explicit(e) = &port.queue
        && e.server.timer_at() != Time::NEVER
    {
        sim.events.push(e.server.timer_at(), EventKind::QueueTimer, number);
    }
    if let Some((t, _)) = d.rate_changes.first() {
        sim.events.push(*t, EventKind::RateChange, number);
    }
    sim.rate_changes.push(d.rate_changes);
    sim.peer.push(peer);
    sim.ports.push(port);
}

/// Propagation delay between two nodes, along the path that packets take.
fn path_delay(sim: &mut Sim, from: NodeId, to: NodeId) -> Duration {
    if from == to {
        return Duration::ZERO;
    }
    let path = sim.router.path(from, to, &sim.peer).unwrap_or_default();
    Duration(path.iter().map(|x| x.delay.0).sum())
}

/// What the endpoints of a flow may know of the lines under it.
pub(crate) fn path_of(sim: &mut Sim, from: NodeId, to: NodeId) -> Path {
    let mut path = Path::default();
    for arc in sim.router.path(from, to, &sim.peer).unwrap_or_default() {
        let back = sim.peer[arc.port as usize];
        for (way, port) in [(&mut path.there, arc.port), (&mut path.back, back)] {
            let port = &sim.ports[port as usize];
            way.lines.push(port.rate());
            way.delay += port.delay;
        }
    }
    path
}

fn add_app(sim: &mut Sim, a: AppDef, rng: Stream, own_flow: Option<FlowId>, group: u32) {
    let number = sim.apps.len() as u32;
    sim.events.push(a.start, EventKind::Application, number);
    if let Some(t) = a.stop {
        sim.events.push(t, EventKind::Application, number);
    }
    sim.apps.push(AppSlot {
        app: Some(a.app),
        rng,
        own_flow,
        start: a.start,
        stop: a.stop,
        wake_at: Time::NEVER,
        armed: Time::NEVER,
        started: false,
        stopped: false,
        group,
        finished: false,
    });
}

/// Flows that start with the run, and those that nobody starts, are there before the first packet.
fn announce_present(sim: &mut Sim) {
    for i in counted_as(UNITS, 0..sim.flows.len()) {
        let app = sim.flows[i].app;
        if app == NO_APP || sim.apps[app as usize].start == Time::ZERO {
            sim.announce(FlowId(i as u32), true);
        }
    }
}

impl Built {
    /// Count from `at` on only.
    pub fn warm_up(&mut self, at: Time) {
        self.tick(Tick::Warmup, at);
    }

    /// Snapshots of all flows every `period`, the first interval ending at `first`. Without a warm-up it begins with the
    /// run, so that what is sent at the very first instant belongs to it.
    pub fn intervals(&mut self, period: Duration, first: Time, ports: &[u32]) {
        self.sim.interval_ports = ports.to_vec();
        if self.sim.intervals.is_empty() {
            let rows = self.sim.snapshots(Time::ZERO);
            self.sim.intervals.push((Time::ZERO, rows));
            self.sim.snapshot_ports();
        }
        self.tick(Tick::Interval(period), first);
    }

    /// End when every member has said that it asks for nothing more, if that comes before the end of the run.
    pub fn end_with_sessions(&mut self) {
        self.sim.end_tick = Some(self.sim.ticks.len() as u32);
        self.sim.ticks.push(Tick::End);
        self.sim.ahead.ticks.push(Time::NEVER);
    }

    /// The ports that are not in this list, which is in ascending order.
    pub fn unreported(&mut self, reported: &[u32]) -> impl Iterator<Item = &mut Port> {
        let ports = self.sim.ports.iter_mut().zip(0..);
        ports
            .filter(|(_, number)| reported.binary_search(number).is_err())
            .map(|(p, _)| p)
    }

    /// What ports and declared flows are called.
    pub fn names(&self) -> Names {
        let rows = &self.sim.flows[..self.sim.declared()];
        Names {
            ports: self.port_names.clone(),
            flows: rows
                .iter()
                .inspect(|_| done(64))
                .map(|f| format!("{}.{}", self.group_names[f.group as usize], f.index))
                .collect(),
        }
    }

    /// Let a tap see the packets at the ports it looks at.
    pub fn tap(&mut self, tap: Box<dyn Tap>) {
        for (number, port) in (0..).zip(counted_as(2, &mut self.sim.ports)) {
            let looks = tap.looks(number);
            if looks != Looks::Nothing {
                port.before |= Before::TAP;
            }
            if looks == Looks::Whole {
                port.before |= Before::TAP_AT_EXIT;
                port.watched_exit = true;
            }
        }
        self.sim.tap = Some(tap);
    }

    /// Record these series (declared by the caller), sampled or on change.
    pub fn record(&mut self, recorder: Recorder, samples: Vec<(Duration, Vec<u32>)>) {
        self.sim.recorder = Some(Box::new(recorder));
        for (period, series) in samples {
            self.tick(Tick::Sample { period, series }, Time::ZERO);
        }
    }

    fn tick(&mut self, tick: Tick, first: Time) {
        let number = self.sim.ticks.len() as u32;
        let looks = looks_at_everything(&tick);
        self.sim.ahead.ticks.push(if looks { first } else { Time::NEVER });
        self.sim.ticks.push(tick);
        self.sim.events.push(first, EventKind::Tick, number);
    }

    pub fn port(&self, link: LinkId, reverse: bool) -> u32 {
        self.link_ports[link.0 as usize][usize::from(reverse)]
    }

    pub fn flow(&self, f: FlowHandle) -> FlowId {
        self.flow_ids[f.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_as_people_count() {
        let mut names = ["s10", "s2", "s", "s2.reverse", "a100b", "a100b2", "s02"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["a100b", "a100b2", "s", "s02", "s2", "s2.reverse", "s10"]);
    }
}
