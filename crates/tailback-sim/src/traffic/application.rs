//! Applications: they open, feed and close the flows.
//!
//! An application is an object that is called when an event that it requested happens, and that acts on the network
//! through [`Net`]. It has at most one pending wake. The traffic sources of a scenario ([`crate::traffic`]) are
//! applications, and so is anything a user writes, such as a server farm with a million short connections.

use crate::measure::frames::Fate;
use crate::measure::playout::CompleteFrame;
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

/// An event for an application.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum AppInput {
    /// The start time of the application.
    Start,
    /// The stop time of the application: it must produce no more data.
    Stop,
    /// The wake that it requested.
    Wake,
    /// An event at an endpoint of one of its flows.
    Transport { flow: FlowId, side: Side, event: AppEvent },
    /// A datagram of one of its flows has arrived; `number` counts the flow's datagrams in the order of sending, from
    /// 0.
    Datagram { flow: FlowId, bytes: u32, number: u64 },
    /// A control packet has reached the source of one of its datagram flows.
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

/// Data that one side of an application has requested, and for which the other side waits.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Transfer {
    /// Payload.
    pub bytes: u64,
    /// The time at which it was requested: before the first write, and before its connection was opened, if it needs a
    /// new one.
    pub asked: Time,
    /// The times at which its first and its last byte were delivered in order to the application that waits for it.
    pub first: Option<Time>,
    pub done: Option<Time>,
    /// The time at which its sender received the acknowledgement of its last byte.
    pub acked: Option<Time>,
    /// The repairs of its sender's connection between the write and that time.
    pub repairs: Repairs,
    /// The least time that it can take: see [`Net::send`].
    pub least: Duration,
}

/// The number of times that a sender had to send data again.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Repairs {
    /// Expiries of its retransmission timer, including those for a SYN.
    pub timeouts: u32,
    /// Data segments sent again.
    pub resent: u32,
}

/// The purpose of bytes that are written for a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Bytes that must arrive before the data can be sent, such as the request for it.
    Request,
    /// The data of the transfer, to the last byte.
    Data,
}

/// A requested transfer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TransferId(pub(crate) u32);

/// Transfers that a client requests together: a page with its objects.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Page {
    pub objects: u64,
    /// Payload of all of them.
    pub bytes: u64,
    /// The time at which the first transfer was requested, and the time at which the last was delivered.
    pub asked: Time,
    pub done: Option<Time>,
}

/// A requested page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PageId(pub(crate) u32);

/// The calls that an application can make.
pub trait Net {
    fn now(&self) -> Time;
    /// The application's own random stream.
    fn rng(&mut self) -> &mut Stream;
    /// The flow that the scenario made for this application, if any.
    fn own_flow(&self) -> Option<FlowId>;
    /// Open a connection between two nodes; this application gets the events of both its ends. Ids are reused once a
    /// connection is closed and none of its packets is in flight.
    fn open(&mut self, from: NodeId, to: NodeId, transport: TransportId) -> FlowId;
    /// Open a connection between two nodes over a two-way transport from the application at `to`, as a client opens a
    /// connection to the server whose data it requests. The connection opens when the destination's side is first
    /// written to.
    fn open_from_destination(&mut self, from: NodeId, to: NodeId, transport: TransportId) -> FlowId;
    fn write(&mut self, flow: FlowId, side: Side, n: Amount);
    /// This application will close this side of a two-way connection itself. Without this call a side closes when the
    /// other side has closed, because it is a sink.
    fn stay_open(&mut self, flow: FlowId, side: Side);
    /// Whether this application reads what arrives at this side. While it does not, the receive buffer fills.
    fn set_reading(&mut self, flow: FlowId, side: Side, on: bool);
    /// This side will write no more; data that it has written are still delivered.
    fn close(&mut self, flow: FlowId, side: Side);
    /// Give up what this side has not sent yet, and close.
    fn abort(&mut self, flow: FlowId, side: Side);
    /// Request a transfer now. It gets a row in the table of transfers.
    fn ask(&mut self, bytes: u64) -> TransferId;
    /// Write bytes for a transfer. The time of the acknowledgement of its data is recorded, and `least` grows by the
    /// time that these bytes take on an empty path.
    fn send(&mut self, transfer: TransferId, flow: FlowId, side: Side, bytes: u64, part: Part);
    /// Compare a transfer of this number of bytes, over a connection of its own, with an empty path.
    fn compare_alone(&mut self, _transfer: TransferId, _flow: FlowId, _transport: TransportId, _bytes: u64) {}
    /// This many bytes of a transfer have arrived. Returns the transfer if this completes it.
    fn arrived(&mut self, transfer: TransferId, bytes: u64) -> Option<Transfer>;
    /// Request a page with this number of objects and this payload now. It gets a row in the table of pages. The
    /// transfers of its objects have their own rows.
    fn begin_page(&mut self, objects: u64, bytes: u64) -> PageId;
    /// All of a page has been delivered.
    fn end_page(&mut self, page: PageId);
    /// This application will request nothing more. A run may end when all applications that open connections have
    /// called this.
    fn finished(&mut self);
    /// Send a datagram of this size on the wire, including `header` bytes that are not payload.
    fn datagram(&mut self, flow: FlowId, bytes: u32, header: u32);
    /// The number that the next datagram of this flow will have.
    fn next_datagram(&self, flow: FlowId) -> u64;
    /// The number of bytes written to this side that have not been sent, if its end counts them.
    fn unsent(&self, flow: FlowId, side: Side) -> u64;
    /// The rate of payload that the transport of this flow requests of its source, bit/s; `None` if the transport
    /// requests no rate.
    fn target(&self, _flow: FlowId) -> Option<f64> {
        None
    }
    /// Write a packet of a call to a transport that numbers packets and does not retransmit. The packet's fate is
    /// measured as that of a datagram. The packet fits into one datagram.
    fn write_packet(&mut self, _flow: FlowId, _payload: u64) {}
    /// The packet of a call with this number, which was made at `made`, has arrived.
    fn packet_arrived(&mut self, _flow: FlowId, _number: u64, _made: Time) {}
    /// The packet with this number is not expected any more.
    fn packet_lost(&mut self, _flow: FlowId, _number: u64) {}
    /// Take back this many of the bytes written last to this side, as far as they have not been sent. `u64::MAX` also
    /// takes back what was written without end, if the end counts what it has sent.
    fn withdraw(&mut self, flow: FlowId, side: Side, bytes: u64);
    /// The last byte of a video frame of this flow has arrived.
    fn frame_whole(&mut self, flow: FlowId, frame: CompleteFrame);
    /// The fate of a video frame at its deadline; called in the order in which the frames were made.
    fn frame_judged(&mut self, flow: FlowId, made: Time, bytes: u64, fate: Fate);
    /// The last byte of a burst with this payload has been acknowledged: count the burst and its time.
    fn burst_over(&mut self, flow: FlowId, payload: u64, took: Duration);
    /// Change the destination label of a flow: packets that reach a queue from now on have the new label.
    fn relabel(&mut self, flow: FlowId, label: u32);
    /// The next call of this application will act on this flow: prefetch the flow's state. This changes only the
    /// computing time.
    fn expect(&self, _flow: FlowId) {}
    /// Call this application again at this instant (replaces an earlier request).
    fn wake(&mut self, at: Time);
}

/// An application.
pub trait Application {
    fn on(&mut self, e: AppInput, net: &mut dyn Net);

    /// Whether it reacts to events of its connection because of its settings, although sources of its kind do not.
    fn listens(&self) -> bool {
        false
    }

    /// Whether it gets only these events from the connections that it opens: the last byte of a transfer's data, bytes
    /// that belong to no transfer's data, and the end of the connection. The engine counts the other bytes for it.
    /// Return true only if this holds too: while the application waits for a transfer on its only connection, it acts
    /// at the destination of that connection only at its own wakes, at its stop, and at events of the destination or of
    /// the connection's end.
    fn waits_for_transfers(&self) -> bool {
        false
    }

    /// Whether it never calls the destination of its own flow. The destination only reacts to packets that arrive and
    /// to its own timers, so a run may go ahead there.
    fn keeps_to_source(&self) -> bool {
        false
    }
}
