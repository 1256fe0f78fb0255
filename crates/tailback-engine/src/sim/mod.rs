//! The driver: virtual time, and the calls every object of the network gets.
//!
//! One event is taken at a time, in the order of [`crate::wire::event`]. What an object does in a call takes effect at once
//! (a packet enters the next queue) or as an event of its own. Objects never see each other, only what the driver hands
//! them. Here: the state of a run and its loop; one file each for links, conditioners, endpoints, applications,
//! recording.

pub(crate) mod ahead;
mod applications;
pub(crate) mod conditioners;
pub mod conservation;
mod endpoints;
pub mod flow;
mod inject;
pub mod injected;
mod links;
pub mod members;
pub mod names;
pub mod recorder;
mod recording;
pub mod route;
mod scouts;
pub mod transfers;

use crate::sim::conditioners::EdgeSlot;
use crate::sim::flow::{Flow, Route, Snapshot};
use crate::sim::recorder::Recorder;
use crate::traffic::application::{AppInput, Application};
use crate::wire::event::{EventKind, EventList};
use crate::wire::packet::{Extras, SimPacket, WirePacket};
use crate::wire::port::Port;
use crate::wire::port::snapshot::PortSnapshot;
use crate::wire::tap::Tap;
pub use flow::Closed;
pub use members::Retired;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use tailback_base::{BitRate, Duration, FlowId, Request, Stream, Time};
use tailback_conditioner::{EdgeId, EdgeMessage};
use tailback_transport::Plain;

/// What the engine did, for `engine` in the results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineCounters {
    /// Packets, data or ACK, fully received at the far end of a link.
    pub packet_hops: u64,
    pub events: u64,
    /// Packet-hops that were no events of their own, since the packet was handed on ahead of time.
    pub handed_ahead: u64,
}

pub(crate) struct AppSlot {
    pub app: Option<Box<dyn Application>>,
    pub rng: Stream,
    pub own_flow: Option<FlowId>,
    pub start: Time,
    pub stop: Option<Time>,
    pub wake_at: Time,
    /// Time of the pending event for it; not later.
    pub armed: Time,
    pub started: bool,
    pub stopped: bool,
    /// Group of the flows it opens.
    pub group: u32,
    /// A member that asks for nothing more.
    pub finished: bool,
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
    /// What it does, after its name.
    pub does: String,
    pub remedy: String,
}

/// A run in progress.
pub struct Sim {
    pub(crate) now: Time,
    pub(crate) events: EventList,
    pub(crate) ports: Vec<Port>,
    /// Pairs of opposite directions: `peer[p]`.
    pub(crate) peer: Vec<u32>,
    /// By port, of those whose rate changes.
    pub(crate) rate_changes: BTreeMap<u32, Vec<(Time, BitRate)>>,
    pub(crate) routes: Vec<u32>,
    pub(crate) flows: Vec<Flow>,
    /// Ways there and back of each flow, apart from the rest of it: a packet on its way needs nothing else.
    pub(crate) ways: Vec<[Route; 2]>,
    /// Totals at the start of statistics, when that is not the start of the run.
    pub(crate) baseline: Vec<Snapshot>,
    pub(crate) apps: Vec<AppSlot>,
    pub(crate) edges: Vec<EdgeSlot>,
    /// The edges that follow the ends of flows, source first; as long as the last flow that has one.
    pub(crate) followers: Vec<[Vec<u32>; 2]>,
    /// Propagation delay between edges, by (from, to).
    pub(crate) edge_delay: Vec<Vec<Duration>>,
    pub(crate) messages: Vec<Option<Message>>,
    /// Places among them that are free: the first is taken, since its number breaks ties.
    pub(crate) free_messages: BinaryHeap<Reverse<u32>>,
    pub(crate) ticks: Vec<Tick>,
    pub(crate) intervals: Vec<(Time, Vec<Snapshot>)>,
    /// Ports with rows by interval, and their totals at the ends of the intervals.
    pub(crate) interval_ports: Vec<u32>,
    pub(crate) port_intervals: Vec<Vec<PortSnapshot>>,
    pub(crate) extras: Extras,
    pub(crate) recorder: Option<Box<Recorder>>,
    pub(crate) tap: Option<Box<dyn Tap>>,
    pub(crate) counters: EngineCounters,
    pub(crate) ahead: ahead::Ahead,
    /// Packets that connections have sent in this call of [`Sim::run_some`].
    pub(crate) sent: u32,
    pub(crate) transports: Vec<members::TransportMaker>,
    /// The number among aggregates of each node where sessions have ends.
    pub(crate) edge_numbers: BTreeMap<u32, u16>,
    pub(crate) router: route::Router,
    pub(crate) free_flows: Vec<u32>,
    pub(crate) transfers: Vec<transfers::TransferRow>,
    pub(crate) pages: Vec<transfers::PageRow>,
    pub(crate) awaited: transfers::Awaited,
    /// Members that have not said that they ask for nothing more.
    pub(crate) unfinished: u32,
    /// The tick to push when there are none, if the run is to end then.
    pub(crate) end_tick: Option<u32>,
    ended: Option<Time>,
    pub(crate) broken: Option<Broken>,
    /// What ends have to send after segments that were predicted.
    outbox: Vec<Plain>,
    /// News for applications, delivered when the call that caused it is over.
    news: Vec<(u32, AppInput)>,
    /// Control packets to send, with the port they come from.
    requests: Vec<(u32, WirePacket, Request)>,
    forwarded: Vec<SimPacket>,
    /// Packets of injected flows that have reached their destinations.
    emitted: Vec<injected::Emitted>,
    /// News is being delivered further up the stack.
    telling: bool,
}

impl Sim {
    pub(crate) fn new(router: route::Router) -> Sim {
        Sim {
            now: Time::ZERO,
            events: EventList::new(),
            ports: Vec::new(),
            peer: Vec::new(),
            rate_changes: BTreeMap::new(),
            routes: Vec::new(),
            flows: Vec::new(),
            ways: Vec::new(),
            baseline: Vec::new(),
            apps: Vec::new(),
            edges: Vec::new(),
            followers: Vec::new(),
            edge_delay: Vec::new(),
            messages: Vec::new(),
            free_messages: BinaryHeap::new(),
            ticks: Vec::new(),
            intervals: Vec::new(),
            interval_ports: Vec::new(),
            port_intervals: Vec::new(),
            extras: Extras::default(),
            recorder: None,
            tap: None,
            counters: EngineCounters::default(),
            ahead: ahead::Ahead::default(),
            sent: 0,
            transports: Vec::new(),
            edge_numbers: BTreeMap::new(),
            router,
            free_flows: Vec::new(),
            transfers: Vec::new(),
            pages: Vec::new(),
            awaited: transfers::Awaited::new(),
            unfinished: 0,
            end_tick: None,
            ended: None,
            broken: None,
            outbox: Vec::new(),
            news: Vec::new(),
            requests: Vec::new(),
            forwarded: Vec::new(),
            emitted: Vec::new(),
            telling: false,
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

    /// As [`Sim::run_until`], but at most this many events. True when there are no more to run.
    pub fn run_some(&mut self, until: Time, most: u32) -> bool {
        let mut left = most;
        self.sent = 0;
        self.look_to(until);
        // An event may send a whole window, so packets count as events do.
        while left > 0 && self.sent < most {
            let Some((t, kind, entity)) = self.events.pop_until(until) else {
                self.counters.events += u64::from(most - left);
                self.now = self.ended.unwrap_or(until);
                return true;
            };
            if self.events.due_soon() > scouts::MANY {
                self.scout();
            }
            left -= 1;
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
                EventKind::RateChange => self.on_rate_change(entity),
                EventKind::Tick => {
                    self.on_tick(entity);
                    self.look_to(until);
                }
            }
        }
        self.counters.events += u64::from(most - left);
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
