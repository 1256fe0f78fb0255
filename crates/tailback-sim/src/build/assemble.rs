//! Turns a [`Network`] into a simulator: ports, conditioners, flows, applications, in this order.
//!
//! Everything is numbered by its name. Ports and flows are numbered in the natural order of their names ("s2" before
//! "s10"), so that an additional unrelated link changes no tie elsewhere. Each random stream is named after the object
//! that draws from it.

use super::network::{
    Alters, AppDef, Direction, FlowDef, FlowHandle, LinkDef, LinkId, Network, QueueChoice, Transport, UNITS,
};
use crate::change::{Change, Values};
use crate::declare::paths::Paths;
use crate::sim::ahead::looks_at_everything;
use crate::sim::changes::Altered;
use crate::sim::conditioners::EdgeSlot;
use crate::sim::flow::{Carrier, Coming, Echo, Flow, FlowStats, Hears, NO_APP, NOTHING_AWAITED, Route};
use crate::sim::laws::Laws;
use crate::sim::names::{PortName, PortNames, natural};
use crate::sim::recorder::Recorder;
use crate::sim::route::{Arc, Router};
use crate::sim::{AppSlot, Sim, Tick, Topology};
use crate::traffic::application::{NodeId, Side};
use crate::wire::event::EventKind;
use crate::wire::impair::Impairments;
use crate::wire::port::{Before, Explicit, Fused, Port, Queue};
use crate::wire::tap::{Looks, Names, Tap};
use tailback_base::quantity::Refusal;
use tailback_base::work::{counted_as, done};
use tailback_base::{Duration, FlowId, Named, Size, Stream, Time};
use tailback_queue::entry::Arithmetic;
use tailback_queue::fifo::{DropTail, Fifo};
use tailback_queue::witness::Witness;

/// A built network: the simulator, and the numbers of its parts.
pub struct Built {
    pub sim: Sim,
    pub port_names: PortNames,
    pub group_names: Vec<String>,
    /// Port numbers of each link: forward and reverse.
    pub link_ports: Vec<[u32; 2]>,
    /// Flow number of each handle.
    pub flow_ids: Vec<FlowId>,
}

/// One direction of a link, numbered by its place in the list.
struct PortPlace {
    name: PortName,
    link: u32,
}

impl PortPlace {
    /// 0 forward, 1 reverse.
    fn direction(&self) -> usize {
        usize::from(self.name.reverse)
    }
}

impl Network {
    /// Number everything by name, find the routes, and start the clocks.
    ///
    /// # Errors
    /// A flow whose destination cannot be reached, or two links of one name.
    pub fn build(mut self) -> Result<Built, Refusal> {
        let places = port_places(&self.links, &self.stems)?;
        let mut link_ports = vec![[0u32; 2]; self.links.len()];
        for (number, p) in counted_as(4, &places).enumerate() {
            link_ports[p.link as usize][p.direction()] = number as u32;
        }
        let mut sim = Sim::new(graph(self.nodes.len(), &self.links, &link_ports));
        let fails = |l: &LinkDef| {
            l.directions
                .iter()
                .flatten()
                .any(|d| d.alters.as_ref().is_some_and(|a| a.fails()))
        };
        sim.net.router.equal.may_fail = self.links.iter().any(fails);
        sim.net.ports.reserve_exact(places.len());
        sim.net.peer.reserve_exact(places.len());
        for p in counted_as(UNITS, &places) {
            let link = p.link as usize;
            if let Some(direction) = self.links[link].directions[p.direction()].take() {
                let named = || p.name.say(Named::new(self.seed).text("link."), &self.stems);
                add_port(
                    &mut sim,
                    direction,
                    named,
                    link_ports[link][1 - p.direction()],
                    self.rules.route_delay,
                );
            }
        }
        sim.ahead.never = self.from_outside;
        sim.net.keeps_under_way = self.rules.keeps;
        if self.spreads() {
            sim.net.router.equal.gap = self.rules.flowlet_gap;
            sim.net.router.equal.seeds = self.path_seeds();
            same_way_back(&sim.net.ports, &places, &self.stems)?;
        }
        self.add_conditioners(&mut sim, &link_ports);
        let flow_ids = self.add_flows(&mut sim)?;
        for (flow, side, edge) in self.followers {
            sim.follow(flow_ids[flow.0 as usize], side, edge);
        }
        for edge in self.hearing {
            sim.edges.all[edge as usize].hears = true;
        }
        for (flows, change, rng) in self.changes {
            let flows = flows.map(|f| flow_ids[f as usize].0).collect();
            sim.plan_change(Altered::Flows { flows, rng }, change);
        }
        sim.apps.transports = self.transports;
        sim.apps.edge_numbers = self.edge_numbers;
        announce_present(&mut sim);
        Ok(Built {
            sim,
            port_names: PortNames {
                stems: self.stems,
                ports: counted_as(4, places).map(|p| p.name).collect(),
            },
            group_names: self.groups,
            link_ports,
            flow_ids,
        })
    }

    /// Whether some flow or connection takes other paths than the first one.
    fn spreads(&self) -> bool {
        let flows = self.flows.iter().map(|f| f.paths);
        flows
            .chain(self.transports.iter().map(|t| t.paths))
            .any(|p| p != Paths::First)
    }

    /// The seed of the hash of each node, by its name.
    fn path_seeds(&self) -> Vec<u64> {
        let named = Named::new(self.rules.seed.unwrap_or(self.seed)).text("paths.");
        let host_seed = |node: &String| match self.rules.one_seed {
            true => named.stream().bits(),
            false => named.text(node).stream().bits(),
        };
        counted_as(8, &self.nodes).map(host_seed).collect()
    }

    /// Add the conditioners in the order in which they were handed in, and the propagation delay between each two of
    /// them.
    fn add_conditioners(&mut self, sim: &mut Sim, link_ports: &[[u32; 2]]) {
        let mut nodes = Vec::new();
        for (i, (link, reverse, conditioner)) in self.edges.drain(..).enumerate() {
            let port = link_ports[link.0 as usize][usize::from(reverse)];
            sim.net.ports[port as usize].edge = i as u32;
            sim.net.ports[port as usize].before |= Before::CONDITIONER;
            if conditioner.sends_requests() {
                sim.net.ports[port as usize].before |= Before::REQUESTS;
            }
            let peer = sim.net.peer[port as usize];
            sim.net.ports[peer as usize].watched_exit = true;
            let l = &self.links[link.0 as usize];
            nodes.push(if reverse { l.to } else { l.from });
            sim.edges.all.push(EdgeSlot::new(conditioner, port));
            sim.arm_edge(i as u32);
        }
        for a in &nodes {
            let row = nodes.iter().map(|b| path_delay(sim, *a, *b)).collect();
            sim.edges.delay.push(row);
        }
    }

    /// Add the flows in the natural order of their groups' names, then by index. Returns the flow number of each
    /// handle.
    fn add_flows(&mut self, sim: &mut Sim) -> Result<Vec<FlowId>, Refusal> {
        let ranks = ranks(&self.groups);
        let mut defs = std::mem::take(&mut self.flows);
        defs.sort_by_key(|f| {
            done(8);
            (ranks[f.group as usize], f.index)
        });
        let mut flow_ids = vec![FlowId(0); defs.len()];
        sim.flows.all.reserve_exact(defs.len());
        sim.net.ways.reserve_exact(defs.len());
        sim.apps.all.reserve_exact(defs.len());
        for def in counted_as(UNITS, defs) {
            let handle = def.handle.0 as usize;
            flow_ids[handle] = self.add_flow(sim, def)?;
        }
        Ok(flow_ids)
    }

    /// The routes of a flow in both directions; empty if no path leads to its destination.
    fn ways(&self, net: &mut Topology, def: &FlowDef) -> (Route, Route) {
        let Topology {
            router, routes, peer, ..
        } = net;
        if let Some(via) = &def.via {
            let via = via.iter().copied();
            let nodes: Vec<NodeId> = [def.from].into_iter().chain(via).chain([def.to]).collect();
            return router.lay_over(&nodes, routes, peer);
        }
        if def.paths != Paths::First {
            let bits = def.named.text(".paths").stream().bits();
            return router.spread([def.from, def.to], def.paths, bits, routes, peer);
        }
        // A host has no name and one flow.
        match [def.from, def.to].iter().any(|n| self.nodes[n.0 as usize].is_empty()) {
            true => router.lay(def.from, def.to, routes, peer),
            false => router.routes(def.from, def.to, routes, peer),
        }
    }

    fn add_flow(&self, sim: &mut Sim, def: FlowDef) -> Result<FlowId, Refusal> {
        let id = FlowId(sim.flows.all.len() as u32);
        let member = matches!(def.transport, Transport::Member);
        let (forward, backward) = match member {
            true => Default::default(),
            false => self.ways(&mut sim.net, &def),
        };
        if forward.len == 0 && !member {
            let called = |node: NodeId, host: &str| match self.nodes[node.0 as usize].as_str() {
                "" => format!("flows.{}.{}.{host}", self.groups[def.group as usize], def.index),
                given => given.to_string(),
            };
            let (from, to) = (called(def.from, "source"), called(def.to, "destination"));
            return Err(Refusal::new(
                format!("no path leads from \"{from}\" to \"{to}\""),
                "add a link, or change the flow's ends",
            ));
        }
        let keys = def.keys();
        let mut outside = false;
        let carrier = match def.transport {
            Transport::Described(c) => {
                outside = c.is_from_outside();
                let path = || sim.path(def.from, def.to);
                Carrier::Connection(c.ends(path, &mut def.named.text(".transport").stream()))
            }
            Transport::Connection(ends) => Carrier::Connection(ends),
            Transport::Datagrams { ecn } => Carrier::Datagrams {
                ecn,
                echo: Echo::Nothing,
                next_seq: 0,
            },
            Transport::Echoed { ecn, bytes } => Carrier::Datagrams {
                ecn,
                echo: bytes.map_or(Echo::Same, Echo::Bytes),
                next_seq: 0,
            },
            Transport::Injected => Carrier::Injected(Box::default()),
            Transport::Member => {
                sim.apps.unfinished += 1;
                Carrier::Member(Box::default())
            }
        };
        let [colours, limits_host] = match &carrier {
            Carrier::Connection(ends) => Flow::wishes(ends),
            _ => [false; 2],
        };
        let mut flow = Flow {
            group: def.group,
            index: def.index,
            carrier,
            timers: [Time::NEVER; 2],
            free_until: Time::ZERO,
            runs_ahead: [false; 2],
            in_order: false,
            keys,
            app: NO_APP,
            hears: Hears::Nothing,
            followed: false,
            colours,
            limits_host,
            in_flight: 0,
            watched: false,
            awaits: [NOTHING_AWAITED; 2],
            coming: Coming::NOTHING,
            declared: true,
            present: false,
            opened: Time::ZERO,
            stats: FlowStats {
                meter: def.meter,
                media: def.media,
                ..FlowStats::default()
            },
        };
        if let Some(application) = def.app {
            flow.app = sim.apps.all.len() as u32;
            if application.listens {
                flow.hears = Hears::Everything;
            }
            flow.opened = application.start;
            add_app(sim, application, def.named.stream(), Some(id), def.group);
        }
        let opened = flow.opened;
        sim.flows.all.push(flow);
        if outside {
            sim.ask_at(id.0, Side::Destination, opened);
        }
        let ways = [forward, backward].map(|way| way.marked(def.dscp));
        sim.net.ways.push(ways);
        if sim.net.router.equal.may_fail {
            sim.net
                .router
                .equal
                .note_bits(id.0 as usize, def.named.text(".paths").stream().bits());
        }
        Ok(id)
    }
}

/// Check that the requests of queues can go back along the links that the data took.
///
/// # Errors
/// A queue that sends requests.
fn same_way_back(ports: &[Port], places: &[PortPlace], stems: &[String]) -> Result<(), Refusal> {
    let Some(place) = ports
        .iter()
        .zip(places)
        .find(|(port, _)| port.sends_requests())
        .map(|(_, place)| place)
    else {
        return Ok(());
    };
    Err(Refusal::new(
        format!(
            "the queue of link {} sends requests to sources, back over the links of the data; only with paths = \
             \"first\" does a flow have a single such way",
            place.name.written(stems)
        ),
        "leave paths out, or give another queue",
    ))
}

/// The place of each name in the natural order of all names.
fn ranks(names: &[String]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..names.len() as u32).collect();
    order.sort_by(|a, b| {
        done(8);
        natural(&names[*a as usize], &names[*b as usize])
    });
    let mut ranks = vec![0; names.len()];
    for (rank, i) in (0..).zip(order) {
        ranks[i as usize] = rank;
    }
    ranks
}

/// List both directions of every link, in natural order of their names.
///
/// # Errors
/// Two links of one name.
fn port_places(links: &[LinkDef], stems: &[String]) -> Result<Vec<PortPlace>, Refusal> {
    // Sort by stems first. Nearly all names are then in their places, and only few are assembled for a comparison.
    let ranks = ranks(stems);
    let mut order: Vec<u32> = (0..links.len() as u32).collect();
    order.sort_by_key(|i| ranks[links[*i as usize].name.stem as usize]);
    let mut places = Vec::with_capacity(2 * links.len());
    for i in counted_as(32, order) {
        let link = links[i as usize].name;
        places.extend([false, true].map(|reverse| PortPlace {
            name: PortName { link, reverse },
            link: i,
        }));
    }
    places.sort_by(|a, b| {
        done(8);
        a.name.order(b.name, stems)
    });
    // Names of one stem differ.
    let same = |a: PortName, b: PortName| a.link.stem != b.link.stem && a.order(b, stems).is_eq();
    let twice = counted_as(2, places.windows(2)).find(|w| same(w[0].name, w[1].name));
    match twice {
        Some(w) => Err(Refusal::new(
            format!("two links are called \"{}\"", w[0].name.written(stems)),
            "give each its own name",
        )),
        None => Ok(places),
    }
}

/// The links as a graph, for routing.
fn graph(nodes: usize, links: &[LinkDef], link_ports: &[[u32; 2]]) -> Router {
    let leaving = links.iter().zip(link_ports).flat_map(|(link, ports)| {
        done(32);
        [(link.from, link.to), (link.to, link.from)]
            .into_iter()
            .enumerate()
            .map(|(d, (from, to))| {
                let delay = link.directions[d].as_ref().map_or(Duration::ZERO, |d| d.delay);
                let (port, to) = (ports[d], to.0);
                (from, Arc { port, to, delay })
            })
    });
    Router::new(nodes, leaving)
}

/// Add the next port: its queue, its line, and the impairments before them. `peer` is the port of the opposite
/// direction.
fn add_port(sim: &mut Sim, d: Direction, named: impl FnOnce() -> Named, peer: u32, route_delay: Duration) {
    let queue = match d.queue {
        // A departure that is computed at the packet's arrival cannot change later.
        QueueChoice::DropTail(limit) if d.alters.is_none() => {
            Queue::Fused(Fused::new(Arithmetic { limit, step: None }))
        }
        QueueChoice::Computed(rule) => Queue::Fused(Fused::new(rule)),
        QueueChoice::DropTail(limit) => {
            Queue::Explicit(Box::new(Explicit::new(Box::new(Fifo::new(limit, DropTail)), d.rate)))
        }
        QueueChoice::Discipline(q) => Queue::Explicit(Box::new(Explicit::new(q, d.rate))),
    };
    let mut port = Port::new(d.rate, d.delay, queue, d.quantiles);
    if !d.impairments.is_empty() {
        let stream = named().text(".impairments").stream();
        port.impair = Impairments::new(&d.impairments, stream);
        port.before |= Before::IMPAIRMENTS;
    }
    let port_number = sim.net.ports.len() as u32;
    // A discipline that acts by the clock starts with the run, not with its first packet.
    if let Queue::Explicit(e) = &port.queue
        && e.server.timer_at() != Time::NEVER
    {
        sim.events.push(e.server.timer_at(), EventKind::QueueTimer, port_number);
    }
    sim.net.peer.push(peer);
    sim.net.ports.push(port);
    if let Some(alters) = d.alters {
        add_changes(sim, port_number, *alters, route_delay);
    }
}

fn add_changes(sim: &mut Sim, port: u32, alters: Alters, route_delay: Duration) {
    let port_state = &mut sim.net.ports[port as usize];
    if alters.trace.is_some() || alters.changes.iter().any(|c| matches!(c.to, Values::Rate(_))) {
        port_state.rate_changes();
    }
    if let (Queue::Explicit(e), Some(trace)) = (&mut port_state.queue, alters.trace) {
        e.server.follow(trace);
    }
    for change in alters.changes {
        if matches!(change.to, Values::Up(_)) {
            at_far_end(sim, port);
            let known = Change {
                to: change.to.clone(),
                when: change.when.later(route_delay),
            };
            sim.plan_change(Altered::Routes(port), known);
        }
        sim.plan_change(Altered::Port(port), change);
    }
}

/// Packets at the far end of a port are inspected there.
fn at_far_end(sim: &mut Sim, port: u32) {
    sim.net.ports[port as usize].watched_exit = true;
}

/// Propagation delay between two nodes, along the path that packets take.
fn path_delay(sim: &mut Sim, from: NodeId, to: NodeId) -> Duration {
    if from == to {
        return Duration::ZERO;
    }
    let path = sim.net.router.path(from, to, &sim.net.peer).unwrap_or_default();
    Duration(path.iter().map(|x| x.delay.0).sum())
}

fn add_app(sim: &mut Sim, a: AppDef, rng: Stream, own_flow: Option<FlowId>, group: u32) {
    let app_number = sim.apps.all.len() as u32;
    sim.events.push(a.start, EventKind::Application, app_number);
    if let Some(t) = a.stop {
        sim.events.push(t, EventKind::Application, app_number);
    }
    sim.apps.all.push(AppSlot {
        hears: match a.app.waits_for_transfers() {
            true => Hears::Transfers,
            false => Hears::Everything,
        },
        transport: a.transport,
        open: 0,
        alone: false,
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

/// Flows that start with the run, and flows without a start, are announced before the first packet.
fn announce_present(sim: &mut Sim) {
    for i in counted_as(UNITS, 0..sim.flows.all.len()) {
        let app = sim.flows.all[i].app;
        if app == NO_APP || sim.apps.all[app as usize].start == Time::ZERO {
            sim.announce(FlowId(i as u32), true);
        }
    }
}

impl Built {
    /// Count only from `at` on.
    pub fn warm_up(&mut self, at: Time) {
        self.tick(Tick::Warmup, at);
    }

    /// Take snapshots of all flows every `period`. The first interval ends at `first`. Without a warm-up the first
    /// interval begins with the run, so that it includes what is sent at the very first instant.
    pub fn intervals(&mut self, period: Duration, first: Time, ports: &[u32]) {
        self.sim.watch.interval_ports = ports.to_vec();
        if self.sim.watch.intervals.is_empty() {
            let rows = self.sim.snapshots(Time::ZERO);
            self.sim.watch.intervals.push((Time::ZERO, rows));
            self.sim.snapshot_ports();
        }
        self.tick(Tick::Interval(period), first);
    }

    /// End the run when every member has finished its requests, if that is earlier than the end of the run.
    pub fn end_with_sessions(&mut self) {
        self.sim.end_tick = Some(self.sim.watch.ticks.len() as u32);
        self.sim.watch.ticks.push(Tick::End);
        self.sim.ahead.ticks.push(Time::NEVER);
    }

    /// The ports that are not in this list, which is in ascending order.
    pub fn unreported(&mut self, reported: &[u32]) -> impl Iterator<Item = &mut Port> {
        let ports = self.sim.net.ports.iter_mut().zip(0..);
        ports
            .filter(|(_, number)| reported.binary_search(number).is_err())
            .map(|(p, _)| p)
    }

    /// The names of ports and declared flows.
    pub fn names(&self) -> Names {
        let rows = &self.sim.flows.all[..self.sim.declared()];
        Names {
            ports: self.port_names.all().collect(),
            flows: rows
                .iter()
                .inspect(|_| done(64))
                .map(|f| format!("{}.{}", self.group_names[f.group as usize], f.index))
                .collect(),
        }
    }

    /// Check the laws of [`crate::sim::laws`] during the run.
    pub(crate) fn check_laws(&mut self) {
        let mut answers = vec![];
        for (port_number, port) in (0..).zip(counted_as(2, &mut self.sim.net.ports)) {
            if let Queue::Explicit(e) = &mut port.queue {
                let nothing = Box::new(Fifo::new(Size::Packets(1), DropTail));
                let (witness, answer) = Witness::new(std::mem::replace(&mut e.server.queue, nothing));
                e.server.queue = Box::new(witness);
                port.watched = true;
                answers.push((port_number, answer));
            }
        }
        self.sim.watch.laws = Some(Box::new(Laws::new(self.sim.net.ports.len(), answers)));
    }

    /// Let a tap see the packets at the ports it looks at.
    pub fn tap(&mut self, tap: Box<dyn Tap>) {
        for (port_number, port) in (0..).zip(counted_as(2, &mut self.sim.net.ports)) {
            let looks = tap.looks(port_number);
            if looks != Looks::Nothing {
                port.before |= Before::TAP;
            }
            if looks == Looks::Whole {
                port.before |= Before::TAP_AT_EXIT;
                port.watched_exit = true;
            }
        }
        self.sim.watch.tap = Some(tap);
    }

    /// Record these series, which the caller has declared, at a fixed step or on change.
    pub fn record(&mut self, recorder: Recorder, samples: Vec<(Duration, Vec<u32>)>) {
        self.sim.watch.recorder = Some(Box::new(recorder));
        for (period, series) in samples {
            self.tick(Tick::Sample { period, series }, Time::ZERO);
        }
    }

    fn tick(&mut self, tick: Tick, first: Time) {
        let number = self.sim.watch.ticks.len() as u32;
        let looks = looks_at_everything(&tick);
        self.sim.ahead.ticks.push(if looks { first } else { Time::NEVER });
        self.sim.watch.ticks.push(tick);
        self.sim.events.push(first, EventKind::Tick, number);
    }

    pub fn port(&self, link: LinkId, reverse: bool) -> u32 {
        self.link_ports[link.0 as usize][usize::from(reverse)]
    }

    pub fn flow(&self, f: FlowHandle) -> FlowId {
        self.flow_ids[f.0 as usize]
    }
}
