//! The contract between a conditioner and its driver.
//!
//! * `now` never decreases.
//! * Every packet given to [`Conditioner::forward`] leaves exactly once, through [`EdgeOut::send`] or
//!   [`EdgeOut::dropped`], in that call or in a later one.
//! * The driver calls [`Conditioner::next_timer`] before the first packet and after every call.

use tailback_base::{DropReason, Duration, FlowId, ProbeDef, Request, Time};

/// Another edge of the domain, by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EdgeId(pub u32);

/// A message between edges; the conditioner defines the meaning of `kind`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EdgeMessage {
    pub kind: u32,
    /// The subject, such as an aggregate.
    pub about: u64,
    pub value: f64,
}

/// The transport header, which an edge may read but queues may not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Header {
    /// The packet opens a connection.
    pub syn: bool,
    /// The packet says that its sender has reduced its window (RFC 3168 section 6.1.2).
    pub cwr: bool,
    /// The payload, bytes.
    pub payload: u32,
    /// The next byte that the packet's sender expects from the other end, if the packet carries an acknowledgement.
    pub ack: Option<u64>,
    /// The time stamps option (RFC 7323 section 3), if the connection has it.
    pub stamps: Option<Stamps>,
}

/// The time stamps of a packet. Each is from the clock of the end that made it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamps {
    /// The time at which the packet's sender sent it.
    pub value: Time,
    /// The last time stamp from the other end that the packet's sender had received.
    pub echo: Time,
}

/// The report of a sender on the same host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SenderState {
    /// The smoothed round-trip time.
    pub srtt: Duration,
    /// Whether the congestion window is below the slow-start threshold.
    pub slow_start: bool,
}

/// Propagation delays of a flow's path. They are configured in the router, or obtained in a way that is not simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathDelay {
    /// The round trip between the hosts.
    pub round_trip: Duration,
    /// The part of the round trip between the host and this edge, in both directions.
    pub outside: Duration,
}

/// The receiver of the decisions of a conditioner.
pub trait EdgeOut<P> {
    /// Pass the packet on to the port's queue now.
    fn send(&mut self, p: P);
    /// `p` is dropped here.
    fn dropped(&mut self, p: P, why: DropReason);
    /// Send a message to another edge. It arrives after the propagation delay of the path.
    fn message(&mut self, to: EdgeId, m: EdgeMessage);
    /// Send a request to the sender of packets like this one, in a control packet on the reverse path. A driver without
    /// senders ignores the request.
    fn request(&mut self, _about: &P, _r: Request) {}
}

/// A traffic conditioner at an edge port, or between a host's transport and its access link.
pub trait Conditioner<P> {
    /// A packet is about to enter the port: colour and send it, hold it back, or drop it.
    fn forward(&mut self, p: P, seen: &Header, now: Time, out: &mut dyn EdgeOut<P>);
    /// A packet has arrived over the same link, in the other direction.
    fn reverse(&mut self, _p: &P, _seen: &Header, _now: Time) {}
    /// The state of a sender on the same host. It is reported before the sender sends packets after an ACK, a timer or
    /// a call of its application.
    fn sender(&mut self, _flow: FlowId, _state: SenderState, _now: Time) {}
    /// A message from another edge has arrived.
    fn message(&mut self, _from: EdgeId, _m: EdgeMessage, _now: Time) {}
    /// The path of a flow with packets like this one. This is called before the flow joins.
    fn flow_path(&mut self, _p: &P, _path: PathDelay, _now: Time) {}
    /// A flow with packets like this one may send from now on. This may be used for configuration in advance and for
    /// measurements. No decision about a packet may depend on this call.
    fn flow_joined(&mut self, _p: &P, _now: Time) {}
    /// The flow that was announced with a packet like this one sends no more packets.
    fn flow_left(&mut self, _p: &P, _now: Time) {}
    /// The time of the next call of [`Conditioner::on_timer`].
    fn next_timer(&self) -> Option<Time> {
        None
    }
    fn on_timer(&mut self, _now: Time, _out: &mut dyn EdgeOut<P>) {}
    /// The number of packets that the conditioner holds back.
    fn held(&self) -> u64 {
        0
    }
    /// Whether this conditioner may send requests to senders ([`EdgeOut::request`]). A conditioner that returns false
    /// and sends a request violates its contract.
    fn sends_requests(&self) -> bool {
        false
    }
    /// The quantities that can be recorded.
    fn probes(&self) -> &[ProbeDef] {
        &[]
    }
    /// The present value of the probe with this number; NaN if `index` has no value.
    fn read(&self, _probe: usize, _index: u32, _now: Time) -> f64 {
        f64::NAN
    }
}
