//! Building a run: nodes, links, flows, applications and conditioners by name, then [`Network::build`].
//!
//! Everything is handed in in any order and gets its place by name: ports and flows are numbered in the natural order of
//! their names ("s2" before "s10"), so that adding an unrelated link changes no tie elsewhere. Random streams are named
//! after the thing that draws.

use crate::build::route::{Arc, Router};
use crate::event::EventKind;
use crate::impair::Impairments;
use crate::measure::convergence::Settling;
use crate::measure::recorder::Recorder;
use crate::packet::{Keys, SimPacket};
use crate::port::{Explicit, Fused, Port, Queue};
use crate::sim::flow::{Carrier, Flow, FlowStats, NO_APP, NO_FOLLOWER};
use crate::sim::{AppSlot, EdgeSlot, Sim, Tick};
use crate::spec::Impairment;
use crate::traffic::application::{Application, Ends, NodeId, TransportId};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::rc::Rc;
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Duration, Ecn, FlowId, Size, Stream, Time};
use tailback_conditioner::Conditioner;
use tailback_queue::QueueDiscipline;
use tailback_queue::fifo::{DropTail, Fifo};
use tailback_transport::path::Path;
use tailback_transport::registry::Connection;

/// A link, as returned by [`Network::link`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkId(u32);

/// A flow, as returned by [`Network::flow`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowHandle(u32);

/// What stands before a line.
pub enum QueueChoice {
    /// FIFO drop-tail with this limit, computed rather than simulated.
    DropTail(Size),
    Discipline(Box<dyn QueueDiscipline<SimPacket>>),
}

/// One direction of a link.
pub struct Direction {
    pub rate: BitRate,
    pub delay: Duration,
    pub queue: QueueChoice,
    pub impairments: Vec<Impairment>,
    pub rate_changes: Vec<(Time, BitRate)>,
    /// Keep a histogram of the time in the queue.
    pub quantiles: bool,
}

impl Direction {
    /// An unlimited FIFO.
    pub fn new(rate: BitRate, delay: Duration) -> Direction {
        Direction {
            rate,
            delay,
            queue: QueueChoice::DropTail(Size::Unlimited),
            impairments: Vec::new(),
            rate_changes: Vec::new(),
            quantiles: false,
        }
    }

    #[must_use]
    pub fn with(mut self, queue: QueueChoice) -> Direction {
        self.queue = queue;
        self.quantiles = true;
        self
    }
}

struct LinkDef {
    name: String,
    from: NodeId,
    to: NodeId,
    directions: [Option<Direction>; 2],
}

/// What carries a flow's data.
pub enum Transport {
    /// Made for its path, once that is known.
    Described(Connection),
    /// Made by the caller.
    Connection(Ends),
    Datagrams {
        ecn: Ecn,
    },
}

struct FlowDef {
    group: u32,
    index: u32,
    from: NodeId,
    to: NodeId,
    transport: Transport,
    app: Option<AppDef>,
    aggregate: u32,
    weight: f64,
    settling: Option<Box<Settling>>,
    label: Option<u32>,
}

struct AppDef {
    app: Box<dyn Application>,
    start: Time,
    stop: Option<Time>,
    listens: bool,
}

/// A network under construction.
pub struct Network {
    seed: u64,
    nodes: Vec<String>,
    node_by_name: HashMap<String, NodeId>,
    links: Vec<LinkDef>,
    groups: Vec<String>,
    flows: Vec<FlowDef>,
    /// Applications without a flow of their own, with the group of the flows they open.
    free_apps: Vec<(String, u32, AppDef)>,
    transports: Vec<Rc<dyn Fn() -> Ends>>,
    edges: Vec<(LinkId, bool, Box<dyn Conditioner<SimPacket>>)>,
    followers: Vec<(FlowHandle, u32)>,
}

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

impl Network {
    pub fn new(seed: u64) -> Network {
        Network {
            seed,
            nodes: Vec::new(),
            node_by_name: HashMap::new(),
            links: Vec::new(),
            groups: Vec::new(),
            flows: Vec::new(),
            free_apps: Vec::new(),
            transports: Vec::new(),
            edges: Vec::new(),
            followers: Vec::new(),
        }
    }

    /// The random stream of the component of this name.
    pub fn stream(&self, name: &str) -> Stream {
        Stream::new(self.seed, name)
    }

    /// The node of this name, made if it is new.
    pub fn node(&mut self, name: &str) -> NodeId {
        if let Some(n) = self.node_by_name.get(name) {
            return *n;
        }
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(name.to_string());
        self.node_by_name.insert(name.to_string(), id);
        id
    }

    pub fn link(&mut self, name: &str, from: NodeId, to: NodeId, forward: Direction, reverse: Direction) -> LinkId {
        self.links.push(LinkDef {
            name: name.to_string(),
            from,
            to,
            directions: [Some(forward), Some(reverse)],
        });
        LinkId((self.links.len() - 1) as u32)
    }

    /// The group of this name, made if it is new.
    pub fn group(&mut self, name: &str) -> u32 {
        if let Some(i) = self.groups.iter().position(|g| g == name) {
            return i as u32;
        }
        self.groups.push(name.to_string());
        (self.groups.len() - 1) as u32
    }

    /// A flow of a group, with the application that feeds it.
    pub fn flow(&mut self, group: u32, index: u32, from: NodeId, to: NodeId, transport: Transport) -> FlowHandle {
        self.flows.push(FlowDef {
            group,
            index,
            from,
            to,
            transport,
            app: None,
            aggregate: 0,
            weight: 1.0,
            settling: None,
            label: None,
        });
        FlowHandle((self.flows.len() - 1) as u32)
    }

    /// Give a flow its application. With `listens`, it hears every event of the endpoints, not only start and stop.
    pub fn feed(
        &mut self,
        flow: FlowHandle,
        app: Box<dyn Application>,
        start: Time,
        stop: Option<Time>,
        listens: bool,
    ) {
        self.flows[flow.0 as usize].app = Some(AppDef {
            app,
            start,
            stop,
            listens,
        });
    }

    /// Measure how soon the flow gets a reserved rate in each interval.
    pub fn measure(&mut self, flow: FlowHandle, meter: Settling) {
        self.flows[flow.0 as usize].settling = Some(Box::new(meter));
    }

    pub fn set_aggregate(&mut self, flow: FlowHandle, aggregate: u32) {
        self.flows[flow.0 as usize].aggregate = aggregate;
    }

    /// The destination label the flow starts with; the number of its destination unless it is set.
    pub fn set_label(&mut self, flow: FlowHandle, label: u32) {
        self.flows[flow.0 as usize].label = Some(label);
    }

    /// The flow's share at schedulers that share the line by weight; 1 unless it is set.
    pub fn set_weight(&mut self, flow: FlowHandle, weight: f64) {
        self.flows[flow.0 as usize].weight = weight;
    }

    /// An application that opens its own connections; they are counted in the group of its name.
    pub fn application(&mut self, name: &str, app: Box<dyn Application>, start: Time) {
        let group = self.group(name);
        self.free_apps.push((
            name.to_string(),
            group,
            AppDef {
                app,
                start,
                stop: None,
                listens: true,
            },
        ));
    }

    /// Register a way to make connections, for [`crate::traffic::application::Net::open`].
    pub fn transport(&mut self, make: impl Fn() -> Ends + 'static) -> TransportId {
        self.transports.push(Rc::new(make));
        TransportId((self.transports.len() - 1) as u32)
    }

    /// Put a conditioner in front of a link's queue (the reverse direction's, if asked). Its number as an edge is the
    /// number of conditioners before it.
    pub fn edge(&mut self, link: LinkId, reverse: bool, conditioner: Box<dyn Conditioner<SimPacket>>) -> u32 {
        self.edges.push((link, reverse, conditioner));
        (self.edges.len() - 1) as u32
    }

    /// Let a conditioner follow the smoothed round-trip time of a flow.
    pub fn follow(&mut self, flow: FlowHandle, edge: u32) {
        self.followers.push((flow, edge));
    }

    /// Number everything by name, find the routes, and start the clocks.
    ///
    /// # Errors
    /// A flow whose destination cannot be reached, or two links of one name.
    pub fn build(mut self) -> Result<Built, Refusal> {
        // Ports: both directions of every link, in natural order of their names.
        let mut order: Vec<(String, u32, usize)> = Vec::with_capacity(2 * self.links.len());
        for (i, l) in self.links.iter().enumerate() {
            order.push((l.name.clone(), i as u32, 0));
            order.push((format!("{}.reverse", l.name), i as u32, 1));
        }
        order.sort_by(|a, b| natural(&a.0, &b.0));
        if let Some(w) = order.windows(2).find(|w| w[0].0 == w[1].0) {
            return Err(Refusal::new(
                format!("two links are called \"{}\"", w[0].0),
                "give each its own name",
            ));
        }
        let mut link_ports = vec![[0u32; 2]; self.links.len()];
        for (number, (_, link, direction)) in order.iter().enumerate() {
            link_ports[*link as usize][*direction] = number as u32;
        }
        let mut router = Router::new(self.nodes.len());
        for (l, p) in self.links.iter().zip(&link_ports) {
            let delay = |d: usize| l.directions[d].as_ref().map_or(Duration::ZERO, |d| d.delay);
            router.add(
                l.from,
                Arc {
                    port: p[0],
                    to: l.to.0,
                    delay: delay(0),
                },
            );
            router.add(
                l.to,
                Arc {
                    port: p[1],
                    to: l.from.0,
                    delay: delay(1),
                },
            );
        }
        router.finish();
        let mut sim = Sim::new(router);
        let seed = self.seed;
        for (name, link, direction) in &order {
            let def = &mut self.links[*link as usize];
            let Some(d) = def.directions[*direction].take() else {
                continue;
            };
            let queue = match d.queue {
                // Fused arithmetic has fixed departures when the rate cannot change.
                QueueChoice::DropTail(limit) if d.rate_changes.is_empty() => Queue::Fused(Fused::new(limit)),
                QueueChoice::DropTail(limit) => {
                    Queue::Explicit(Box::new(Explicit::new(Box::new(Fifo::new(limit, DropTail)))))
                }
                QueueChoice::Discipline(q) => Queue::Explicit(Box::new(Explicit::new(q))),
            };
            let mut port = Port::new(d.rate, d.delay, queue, d.quantiles);
            if !d.impairments.is_empty() {
                port.impair = Impairments::new(&d.impairments, Stream::new(seed, &format!("link.{name}.impairments")));
            }
            let number = sim.ports.len() as u32;
            if let Some((t, _)) = d.rate_changes.first() {
                sim.events.push(*t, EventKind::RateChange, number);
            }
            sim.rate_changes.push(d.rate_changes);
            sim.peer.push(link_ports[*link as usize][1 - direction]);
            sim.ports.push(port);
        }
        // Edges.
        let mut edge_nodes = Vec::new();
        for (i, (link, reverse, conditioner)) in self.edges.drain(..).enumerate() {
            let port = link_ports[link.0 as usize][usize::from(reverse)];
            sim.ports[port as usize].edge = i as u32;
            let peer = sim.peer[port as usize];
            sim.ports[peer as usize].peer_edge = i as u32;
            let l = &self.links[link.0 as usize];
            edge_nodes.push(if reverse { l.to } else { l.from });
            sim.edges.push(EdgeSlot {
                conditioner,
                port,
                timer_at: Time::NEVER,
            });
        }
        for a in &edge_nodes {
            let mut row = Vec::new();
            for b in &edge_nodes {
                let delay = if a == b {
                    0
                } else {
                    sim.router
                        .path(*a, *b)
                        .unwrap_or_default()
                        .iter()
                        .map(|x| x.delay.0)
                        .sum()
                };
                row.push(Duration(delay));
            }
            sim.edge_delay.push(row);
        }
        // Flows, in natural order of their group's name, then by index.
        let mut by_name: Vec<usize> = (0..self.flows.len()).collect();
        by_name.sort_by(|a, b| {
            let (a, b) = (&self.flows[*a], &self.flows[*b]);
            natural(&self.groups[a.group as usize], &self.groups[b.group as usize]).then(a.index.cmp(&b.index))
        });
        let mut flow_ids = vec![FlowId(0); self.flows.len()];
        let mut defs: Vec<Option<FlowDef>> = self.flows.into_iter().map(Some).collect();
        for handle in by_name {
            let Some(def) = defs[handle].take() else { continue };
            let id = FlowId(sim.flows.len() as u32);
            flow_ids[handle] = id;
            let (forward, backward) = sim.router.routes(def.from, def.to, &mut sim.routes, &sim.peer);
            if forward.len == 0 {
                let (from, to) = (&self.nodes[def.from.0 as usize], &self.nodes[def.to.0 as usize]);
                return Err(Refusal::new(
                    format!("no path leads from \"{from}\" to \"{to}\""),
                    "add a link, or change the flow's ends",
                ));
            }
            let mut flow = Flow {
                group: def.group,
                index: def.index,
                carrier: match def.transport {
                    Transport::Described(c) => {
                        let name = format!("flows.{}.{}.transport", self.groups[def.group as usize], def.index);
                        let path = || path_of(&mut sim, def.from, def.to);
                        Carrier::Connection(c.ends(path, &mut Stream::new(seed, &name)))
                    }
                    Transport::Connection(ends) => Carrier::Connection(ends),
                    Transport::Datagrams { ecn } => Carrier::Datagrams { ecn, next_seq: 0 },
                },
                timers: [Time::NEVER; 2],
                keys: Keys {
                    source: def.from.0,
                    destination: def.to.0,
                    label: def.label.unwrap_or(def.to.0),
                    aggregate: def.aggregate,
                    weight: def.weight,
                },
                app: NO_APP,
                listens: false,
                srtt_follower: NO_FOLLOWER,
                in_flight: 0,
                watched: false,
                declared: true,
                present: false,
                opened: Time::ZERO,
                stats: FlowStats {
                    settling: def.settling,
                    ..FlowStats::default()
                },
            };
            if let Some(a) = def.app {
                flow.app = sim.apps.len() as u32;
                flow.listens = a.listens;
                flow.opened = a.start;
                let name = format!("flows.{}.{}", self.groups[def.group as usize], def.index);
                add_app(&mut sim, a, Stream::new(seed, &name), Some(id), def.group);
            }
            sim.flows.push(flow);
            sim.ways.push([forward, backward]);
        }
        for (name, group, a) in self.free_apps {
            add_app(
                &mut sim,
                a,
                Stream::new(seed, &format!("application.{name}")),
                None,
                group,
            );
        }
        for (flow, edge) in self.followers {
            sim.flows[flow_ids[flow.0 as usize].0 as usize].srtt_follower = edge;
        }
        sim.transports = self.transports;
        // Flows that start with the run, and those that nobody starts, are there before the first packet.
        for i in 0..sim.flows.len() {
            let app = sim.flows[i].app;
            if app == NO_APP || sim.apps[app as usize].start == Time::ZERO {
                sim.announce(FlowId(i as u32), true);
            }
        }
        Ok(Built {
            sim,
            port_names: order.into_iter().map(|o| o.0).collect(),
            group_names: self.groups,
            link_ports,
            flow_ids,
        })
    }
}

/// What the endpoints of a flow may know of the lines under it.
fn path_of(sim: &mut Sim, from: NodeId, to: NodeId) -> Path {
    let mut path = Path::default();
    for arc in sim.router.path(from, to).unwrap_or_default() {
        let back = sim.peer[arc.port as usize];
        for (way, port) in [(&mut path.there, arc.port), (&mut path.back, back)] {
            let port = &sim.ports[port as usize];
            way.lines.push(port.clock.rate());
            way.delay = way.delay + port.delay;
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
    });
}

impl Built {
    /// Count from `at` on only.
    pub fn warm_up(&mut self, at: Time) {
        self.tick(Tick::Warmup, at);
    }

    /// Snapshots of all flows every `period`, the first interval ending at `first`. Without a warm-up it begins with the
    /// run, so that what is sent at the very first instant belongs to it.
    pub fn intervals(&mut self, period: Duration, first: Time) {
        if self.sim.intervals.is_empty() {
            let rows = self.sim.flows.iter().map(|f| f.snapshot(Time::ZERO)).collect();
            self.sim.intervals.push((Time::ZERO, rows));
        }
        self.tick(Tick::Interval(period), first);
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
