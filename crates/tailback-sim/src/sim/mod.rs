//! The driver: virtual time, and the calls that every object of the network gets.
//!
//! One event is taken at a time, in the order of [`crate::wire::event`]. An action of an object in a call takes effect
//! at once (a packet enters the next queue) or as an event of its own. Objects never see each other; they only see the
//! data that the driver hands them. This file has the state of a run and its loop. The way of a packet, links, lazy
//! ports, conditioners, endpoints, applications, clients and recording have one file each.

pub(crate) mod ahead;
mod applications;
pub(crate) mod changes;
mod clients;
pub(crate) mod conditioners;
pub mod conservation;
mod datagrams;
mod endpoints;
pub(crate) mod equal;
pub mod flow;
pub(crate) mod ideal;
pub mod injected;
pub(crate) mod laws;
mod lazy;
mod links;
pub mod members;
pub mod names;
mod outlet;
pub mod recorder;
mod recording;
pub mod route;
mod scouts;
pub mod transfers;
mod travel;

use crate::sim::conditioners::EdgeSlot;
use crate::sim::flow::{Carrier, Flow, Hears, Route, Snapshot};
use crate::sim::recorder::Recorder;
use crate::traffic::application::{AppInput, Application, Side, TransportId};
use crate::wire::event::{EventKind, EventList};
use crate::wire::packet::{Extras, SimPacket, WirePacket};
use crate::wire::port::Port;
use crate::wire::port::snapshot::PortSnapshot;
use crate::wire::tap::Tap;
pub use flow::Closed;
pub use members::Retired;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use tailback_base::{Duration, FlowId, Request, Stream, Time};
use tailback_conditioner::{EdgeId, EdgeMessage};
use tailback_transport::Plain;

/// Counts of the engine's work, for `engine` in the results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineCounters {
    /// Packets, data or ACK, fully received at the far end of a link.
    pub packet_hops: u64,
    pub events: u64,
    /// Packet-hops without an event, because the packet was handed on ahead of time.
    pub handed_ahead: u64,
    /// Services of lines and timers of disciplines without an event (`sim/lazy.rs`).
    pub made_up: u64,
    /// Packets that clients of sessions got before their arrival time (`sim/clients.rs`).
    pub clients_ahead: u64,
}

impl EngineCounters {
    /// A packet is handed on ahead of time.
    #[inline(always)]
    fn hand_ahead(&mut self) {
        self.packet_hops += 1;
        self.handed_ahead += 1;
    }
}

/// The memory of each application in addition to its own state, bytes.
pub const APPLICATION_BYTES: usize = size_of::<AppSlot>();

pub(crate) struct AppSlot {
    pub app: Option<Box<dyn Application>>,
    pub rng: Stream,
    pub own_flow: Option<FlowId>,
    pub start: Time,
    pub stop: Option<Time>,
    pub wake_at: Time,
    /// Time of the pending event for the wake, which is not later than the wake.
    pub armed: Time,
    pub started: bool,
    pub stopped: bool,
    /// Group of the flows it opens.
    pub group: u32,
    /// Whether the member has finished its requests.
    pub finished: bool,
    /// The events that it gets from the connections that it opens.
    pub hears: Hears,
    /// The transport of all connections that it opens, if that is known.
    pub transport: Option<TransportId>,
    /// The number of its open connections.
    pub open: u32,
    /// Only its connections use the ports next to its client (rule 3 of `sim/clients.rs`).
    pub alone: bool,
}

impl AppSlot {
    /// The time at which it will be stopped.
    pub fn next_stop(&self) -> Time {
        self.stop.filter(|_| !self.stopped).unwrap_or(Time::NEVER)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    pub from: EdgeId,
    pub to: EdgeId,
    pub what: EdgeMessage,
}

pub(crate) enum Tick {
    Warmup,
    /// The run is over before its time.
    End,
    /// Flows by interval: period, end of the first.
    Interval(Duration),
    /// Sample these series.
    Sample {
        period: Duration,
        series: Vec<u32>,
    },
}

/// A discipline breaks its contract, and the run cannot go on.
#[derive(Clone, Debug)]
pub(crate) struct Broken {
    pub port: u32,
    /// What the discipline does, in words that follow its name.
    pub does: String,
    pub remedy: String,
}

/// A run in progress.
pub struct Sim {
    pub(crate) now: Time,
    pub(crate) events: EventList,
    pub(crate) net: Topology,
    pub(crate) extras: Extras,
    pub(crate) flows: Flows,
    pub(crate) apps: Applications,
    pub(crate) edges: Edges,
    pub(crate) watch: Watch,
    pub(crate) ahead: ahead::Ahead,
    changes: Vec<changes::Planned>,
    pub(crate) counters: EngineCounters,
    /// Packets that connections have sent in this call of [`Sim::run_some`].
    pub(crate) sent: u32,
    /// Control packets to send, with the port they come from.
    requests: Vec<(u32, WirePacket, Request)>,
    /// The tick to push when all members have finished, if the run is to end then.
    pub(crate) end_tick: Option<u32>,
    ended: Option<Time>,
    pub(crate) broken: Option<Broken>,
}

/// Ports, and the ways of packets over them.
#[derive(Default)]
pub(crate) struct Topology {
    pub ports: Vec<Port>,
    /// Pairs of opposite directions: `peer[p]`.
    pub peer: Vec<u32>,
    /// The ports of all ways, one way after the other.
    pub routes: Vec<u32>,
    /// The ways of each flow there and back. They are separate from its other state, because a packet on its way needs
    /// only them.
    pub ways: Vec<[Route; 2]>,
    pub router: route::Router,
    /// Packets that are on the way over a link when it fails still arrive.
    pub keeps_under_way: bool,
}

/// Flows, and the work that their ends leave to be done.
#[derive(Default)]
pub(crate) struct Flows {
    pub all: Vec<Flow>,
    /// Free slots of closed connections, with the time at which the last packet of the connection left the network. The
    /// slot with the latest time is used first. A lazy port finds out late that a packet was lost, so the order in
    /// which slots become free does not count.
    free: BinaryHeap<(Time, u32)>,
    /// The number of closed connections that still have packets in the network.
    pub closing: u32,
    /// Packets that ends have to send after predicted segments.
    outbox: Vec<Plain>,
    /// Packets of injected flows that have reached their destinations.
    emitted: Vec<injected::Emitted>,
    /// Ends that have been notified of packets that leave their host, and whose timers have not been checked since.
    told: Vec<(FlowId, Side)>,
}

impl Flows {
    /// A connection is over, and its ends are dropped.
    pub fn close(&mut self, id: FlowId) {
        self.all[id.0 as usize].carrier = Carrier::Closed;
        self.closing += 1;
    }

    /// Free the slot of a connection if it is closed and has no packet in the network.
    pub fn reuse_if_done(&mut self, id: FlowId, now: Time) {
        if self.all[id.0 as usize].is_reusable() {
            self.reuse(id, now);
        }
    }

    #[cold]
    pub fn reuse(&mut self, id: FlowId, now: Time) {
        self.closing -= 1;
        self.free.push((now, id.0));
    }

    /// A free slot.
    pub fn take_free(&mut self) -> Option<FlowId> {
        self.free.pop().map(|(_, slot)| FlowId(slot))
    }
}

/// Applications, what they have requested, and the events that they have not got yet.
#[derive(Default)]
pub(crate) struct Applications {
    pub all: Vec<AppSlot>,
    pub transports: Vec<members::TransportMaker>,
    /// The number among aggregates of each node where sessions have ends.
    pub edge_numbers: BTreeMap<u32, u16>,
    pub transfers: Vec<transfers::TransferRow>,
    /// The senders of workloads alone on the paths that transfers took.
    pub alone: ideal::LoneSenders,
    pub pages: Vec<transfers::PageRow>,
    pub awaited: transfers::Awaited,
    /// The number of members that may still make requests.
    pub unfinished: u32,
    /// Events for applications, delivered when the call that caused them is over.
    news: Vec<(u32, AppInput)>,
    /// Events are being delivered further up the stack.
    telling: bool,
}

/// Conditioners, and the messages between them.
#[derive(Default)]
pub(crate) struct Edges {
    pub all: Vec<EdgeSlot>,
    /// The edges that follow the ends of each flow, source first. The list ends with the last flow that has such an
    /// edge.
    pub followers: Vec<[Vec<u32>; 2]>,
    /// Propagation delay between edges, by (from, to).
    pub delay: Vec<Vec<Duration>>,
    pub messages: Vec<Option<Message>>,
    /// The free places among the messages. The first one is taken, because its number breaks ties.
    pub free_messages: BinaryHeap<Reverse<u32>>,
    /// Packets that a conditioner lets through during its call.
    forwarded: Vec<SimPacket>,
}

/// The recordings of the run.
#[derive(Default)]
pub(crate) struct Watch {
    pub recorder: Option<Box<Recorder>>,
    /// The laws that are checked during the run, if any.
    pub laws: Option<Box<laws::Laws>>,
    pub tap: Option<Box<dyn Tap>>,
    pub ticks: Vec<Tick>,
    /// Totals at the start of statistics, when that is not the start of the run.
    pub baseline: Vec<Snapshot>,
    pub intervals: Vec<(Time, Vec<Snapshot>)>,
    /// Ports with rows by interval, and their totals at the ends of the intervals.
    pub interval_ports: Vec<u32>,
    pub port_intervals: Vec<Vec<PortSnapshot>>,
}

impl Sim {
    pub(crate) fn new(router: route::Router) -> Sim {
        Sim {
            now: Time::ZERO,
            events: EventList::new(),
            net: Topology {
                router,
                ..Topology::default()
            },
            extras: Extras::default(),
            flows: Flows::default(),
            apps: Applications::default(),
            edges: Edges::default(),
            watch: Watch::default(),
            ahead: ahead::Ahead::default(),
            changes: Vec::new(),
            counters: EngineCounters::default(),
            sent: 0,
            requests: Vec::new(),
            end_tick: None,
            ended: None,
            broken: None,
        }
    }

    pub fn now(&self) -> Time {
        self.now
    }

    pub fn counters(&self) -> EngineCounters {
        self.counters
    }

    /// Run every event up to and including `until`.
    pub fn run_until(&mut self, until: Time) {
        while !self.run_some(until, u32::MAX) {}
    }

    /// Like [`Sim::run_until`], but run at most this many events. Returns true when there are no more events to run.
    pub fn run_some(&mut self, until: Time, most: u32) -> bool {
        let mut events_left = most;
        self.sent = 0;
        self.look_to(until);
        // An event may send a whole window, so packets count as events do.
        while events_left > 0 && self.sent < most {
            let Some((t, kind, entity)) = self.events.pop_until(until) else {
                self.counters.events += u64::from(most - events_left);
                self.now = self.ended.unwrap_or(until);
                self.catch_up_all();
                return true;
            };
            if self.events.due_soon() > scouts::MANY {
                self.scout();
            }
            events_left -= 1;
            debug_assert!(t >= self.now, "time runs backwards: {t:?} after {:?}", self.now);
            self.now = t;
            match kind {
                EventKind::Delivery => self.deliver(entity),
                EventKind::Service => self.on_service(entity),
                EventKind::QueueTimer => self.on_queue_timer(entity),
                EventKind::Endpoint => self.on_endpoint_timer(entity),
                EventKind::Application => self.on_application(entity),
                EventKind::Release => self.on_release(entity),
                EventKind::EdgeTimer => self.on_edge_timer(entity),
                EventKind::Message => self.on_message(entity),
                EventKind::Change => {
                    self.on_change(entity);
                    self.look_to(until);
                }
                EventKind::Tick => {
                    self.catch_up_all();
                    self.on_tick(entity);
                    self.look_to(until);
                }
            }
        }
        self.counters.events += u64::from(most - events_left);
        false
    }

    /// The run cannot go on.
    #[cold]
    pub(crate) fn give_up(&mut self, broken: Broken) {
        self.broken.get_or_insert(broken);
        self.events = EventList::new();
        self.ended = Some(self.now);
    }
}
