//! What a run is built from: nodes, links, flows, applications and conditioners by name, handed in in any order.
//!
//! [`Network::build`] then numbers everything (see `assemble.rs`).

pub use super::assemble::{Built, natural};
use crate::measure::convergence::Settling;
use crate::packet::SimPacket;
use crate::spec::Impairment;
use crate::traffic::application::{Application, Ends, NodeId, Side, TransportId};
use std::collections::HashMap;
use std::rc::Rc;
use tailback_base::{BitRate, Duration, Ecn, Size, Stream, Time};
use tailback_conditioner::Conditioner;
use tailback_queue::QueueDiscipline;
use tailback_transport::Connection;

/// A link, as returned by [`Network::link`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkId(pub(super) u32);

/// A flow, as returned by [`Network::flow`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowHandle(pub(super) u32);

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

pub(super) struct LinkDef {
    pub name: String,
    pub from: NodeId,
    pub to: NodeId,
    pub directions: [Option<Direction>; 2],
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

pub(super) struct FlowDef {
    pub group: u32,
    pub index: u32,
    pub from: NodeId,
    pub to: NodeId,
    pub transport: Transport,
    pub app: Option<AppDef>,
    pub aggregate: [u16; 2],
    pub weight: f64,
    pub settling: Option<Box<Settling>>,
    pub label: Option<u32>,
}

pub(super) struct AppDef {
    pub app: Box<dyn Application>,
    pub start: Time,
    pub stop: Option<Time>,
    pub listens: bool,
}

/// A network under construction.
pub struct Network {
    pub(super) seed: u64,
    pub(super) nodes: Vec<String>,
    pub(super) node_by_name: HashMap<String, NodeId>,
    pub(super) links: Vec<LinkDef>,
    pub(super) groups: Vec<String>,
    pub(super) flows: Vec<FlowDef>,
    /// Applications without a flow of their own, with the group of the flows they open.
    pub(super) free_apps: Vec<(String, u32, AppDef)>,
    pub(super) transports: Vec<Rc<dyn Fn() -> Ends>>,
    pub(super) edges: Vec<(LinkId, bool, Box<dyn Conditioner<SimPacket>>)>,
    pub(super) followers: Vec<(FlowHandle, Side, u32)>,
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
            aggregate: [0; 2],
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

    /// The numbers of the edges at which the flow enters and leaves: what queues and conditioners that go by
    /// aggregate look at.
    pub fn set_aggregate(&mut self, flow: FlowHandle, aggregate: [u16; 2]) {
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

    /// Let a conditioner follow the sender at one side of a flow.
    pub fn follow(&mut self, flow: FlowHandle, side: Side, edge: u32) {
        self.followers.push((flow, side, edge));
    }
}
