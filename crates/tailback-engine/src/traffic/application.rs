//! Applications: what opens, feeds and closes the flows.
//!
//! An application is an object that is called when something it asked for happens, and acts on the network through
//! [`Net`]. It has one pending wake at most. The traffic sources of a scenario ([`crate::traffic`]) are applications;
//! so is anything a user writes, such as a server farm with a million short connections.

use crate::measure::frames::Fate;
use tailback_base::{Duration, FlowId, Request, Stream, Time};
use tailback_transport::{Amount, AppEvent, Endpoint};

/// The two ends of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    Source,
    Destination,
}

impl Side {
    pub fn other(self) -> Side {
        match self {
            Side::Source => Side::Destination,
            Side::Destination => Side::Source,
        }
    }
}

/// What an application is told.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum AppInput {
    /// Its start time has come.
    Start,
    /// Its stop time has come: produce no more data.
    Stop,
    /// The wake it asked for.
    Wake,
    /// An endpoint of one of its flows has news.
    Transport { flow: FlowId, side: Side, event: AppEvent },
    /// A datagram of one of its flows arrived: the n-th that was sent, counted from 0.
    Datagram { flow: FlowId, bytes: u32, number: u64 },
    /// A control packet reached the source of one of its datagram flows.
    Request { flow: FlowId, request: Request },
}

/// A node of the network.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

/// A way to make both ends of a connection, registered with the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransportId(pub u32);

/// The two ends of a new connection, source first.
pub type Ends = [Box<dyn Endpoint>; 2];

/// Data that one side of an application asked for, and the other side waits for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Transfer {
    /// Payload.
    pub bytes: u64,
    /// When it was asked for: before the first write, and before the connection for it was opened, if it needs one.
    pub asked: Time,
    /// When its first and its last byte were delivered in order to the application that waits for it.
    pub first: Option<Time>,
    pub done: Option<Time>,
    /// When its sender had the acknowledgement of its last byte.
    pub acked: Option<Time>,
    /// What its sender's connection needed from when it was written until then.
    pub repairs: Repairs,
    /// What it would take at least: see [`Net::send`].
    pub least: Duration,
}

/// How often a sender had to send again.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Repairs {
    /// Expiries of its retransmission timer, those for a SYN too.
    pub timeouts: u32,
    /// Segments of data sent again.
    pub resent: u32,
}

/// What bytes that are written for a transfer are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// What has to arrive before the data can be sent, such as the request for them.
    Request,
    /// Its data, to the last byte.
    Data,
}

/// A transfer that was asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TransferId(pub(crate) u32);

/// Transfers that a client wants together: a page with its objects.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Page {
    pub objects: u64,
    /// Payload of all of them.
    pub bytes: u64,
    /// When the first was asked for, and when the last was delivered.
    pub asked: Time,
    pub done: Option<Time>,
}

/// A page that was asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PageId(pub(crate) u32);

/// What an application may do.
pub trait Net {
    fn now(&self) -> Time;
    /// The application's own random stream.
    fn rng(&mut self) -> &mut Stream;
    /// The flow the scenario made for this application, if any.
    fn own_flow(&self) -> Option<FlowId>;
    /// Open a connection between two nodes; this application hears of both its ends. Ids are reused once a connection
    /// is closed and none of its packets is in flight.
    fn open(&mut self, from: NodeId, to: NodeId, transport: TransportId) -> FlowId;
    /// The same over a two-way transport, opened by the application at `to`, as a client opens a connection to the
    /// server whose data it wants: when the destination's side is first written to.
    fn open_from_destination(&mut self, from: NodeId, to: NodeId, transport: TransportId) -> FlowId;
    fn write(&mut self, flow: FlowId, side: Side, n: Amount);
    /// This application closes this side of a two-way connection itself. Without this call a side closes when the other
    /// has: it is a sink.
    fn stay_open(&mut self, flow: FlowId, side: Side);
    /// Whether this application reads what arrives at this side. While it does not, the receive buffer fills.
    fn set_reading(&mut self, flow: FlowId, side: Side, on: bool);
    /// This side will write no more; what it has written is still delivered.
    fn close(&mut self, flow: FlowId, side: Side);
    /// Give up what this side has not sent yet, and close.
    fn abort(&mut self, flow: FlowId, side: Side);
    /// A transfer is asked for now: it gets a row in the table of transfers.
    fn ask(&mut self, bytes: u64) -> TransferId;
    /// Write for a transfer: the time of the acknowledgement of its data is noted, and `least` grows by what these
    /// bytes take on an empty path.
    fn send(&mut self, transfer: TransferId, flow: FlowId, side: Side, bytes: u64, part: Part);
    /// So many bytes of a transfer have arrived. Answers the transfer when that ends it.
    fn arrived(&mut self, transfer: TransferId, bytes: u64) -> Option<Transfer>;
    /// A page of so many objects with so much payload is asked for now: it gets a row in the table of pages. The
    /// transfers of its objects have theirs as well.
    fn begin_page(&mut self, objects: u64, bytes: u64) -> PageId;
    /// All of a page has been delivered.
    fn end_page(&mut self, page: PageId);
    /// This application asks for nothing more: a run may end when all that open connections have said so.
    fn finished(&mut self);
    /// Send a datagram of this size on the wire, of which `header` bytes are no payload.
    fn datagram(&mut self, flow: FlowId, bytes: u32, header: u32);
    /// The number that the next datagram of this flow will have.
    fn next_datagram(&self, flow: FlowId) -> u64;
    /// How many of the bytes that were written to this side have not been sent, if its end counts them.
    fn unsent(&self, flow: FlowId, side: Side) -> u64;
    /// Take back so many of the bytes that were written last to this side, as far as they have not been sent.
    fn withdraw(&mut self, flow: FlowId, side: Side, bytes: u64);
    /// A video frame of this flow, made then, has arrived to its last byte.
    fn frame_whole(&mut self, flow: FlowId, made: Time);
    /// What became of a video frame at its deadline; in the order in which they were made.
    fn frame_judged(&mut self, flow: FlowId, made: Time, bytes: u64, fate: Fate);
    /// A burst of a flow, of so much payload in bytes, is acknowledged to its last byte: count it and the time it took.
    fn burst_over(&mut self, flow: FlowId, payload: u64, took: Duration);
    /// Change the destination label of a flow: packets that reach a queue from now on carry it.
    fn relabel(&mut self, flow: FlowId, label: u32);
    /// Call me again at this instant (replaces an earlier wish).
    fn wake(&mut self, at: Time);
}

/// An application.
pub trait Application {
    fn on(&mut self, e: AppInput, net: &mut dyn Net);

    /// It acts on news from its connection as it has been told to, though its kind does not.
    fn listens(&self) -> bool {
        false
    }

    /// It never calls the destination of its own flow: that acts on what comes to it and on its timers alone, and a run
    /// may go ahead there.
    fn keeps_to_source(&self) -> bool {
        false
    }
}
