//! The contract between a conditioner and whoever drives it.
//!
//! * `now` never decreases.
//! * Every packet given to [`Conditioner::forward`] leaves exactly once, through [`EdgeOut::send`] or
//!   [`EdgeOut::dropped`], in that call or in a later one.
//! * [`Conditioner::next_timer`] is asked before the first packet and after every call.

use tailback_base::{DropReason, Duration, FlowId, ProbeDef, Time};

/// Another edge of the domain, by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EdgeId(pub u32);

/// What edges tell each other; the meaning of `kind` is the conditioner's own.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EdgeMessage {
    pub kind: u32,
    /// What it is about, such as an aggregate.
    pub about: u64,
    pub value: f64,
}

/// What an edge reads in a packet beyond what queues may see: the transport header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Header {
    /// The packet opens a connection.
    pub syn: bool,
    /// The sender says that it has reduced its window (RFC 3168 section 6.1.2).
    pub cwr: bool,
    /// Bytes of payload.
    pub payload: u32,
    /// Next byte its sender expects from the other side, if the packet says so.
    pub ack: Option<u64>,
    /// The time stamps option (RFC 7323 section 3), if the connection has it.
    pub stamps: Option<Stamps>,
}

/// Time stamps of a packet, each by the clock of the end that made it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamps {
    /// When its sender sent it.
    pub value: Time,
    /// The last one from the other side that its sender had seen.
    pub echo: Time,
}

/// What a sender on the same host tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SenderState {
    /// The smoothed round-trip time.
    pub srtt: Duration,
    /// The congestion window is below the slow-start threshold.
    pub slow_start: bool,
}

/// Propagation delays of the path of a flow: what a router is configured with, or learns by means that are not
/// simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathDelay {
    /// Between the hosts and back.
    pub round_trip: Duration,
    /// Of it, from the host to this edge and from there back.
    pub outside: Duration,
}

/// Where a conditioner sends what it decided.
pub trait EdgeOut<P> {
    /// Hand the packet on to the port's queue now.
    fn send(&mut self, p: P);
    /// `p` leaves here, unsent.
    fn dropped(&mut self, p: P, why: DropReason);
    /// Tell another edge; it arrives after the path's propagation delay.
    fn message(&mut self, to: EdgeId, m: EdgeMessage);
}

/// A traffic conditioner at an edge port, or between a host's transport and its access link.
pub trait Conditioner<P> {
    /// A packet about to enter the port: re-colour and send it, hold it, or drop it.
    fn forward(&mut self, p: P, seen: &Header, now: Time, out: &mut dyn EdgeOut<P>);
    /// A packet that came in over the same link, in the other direction.
    fn reverse(&mut self, _p: &P, _seen: &Header, _now: Time) {}
    /// The state of a sender on the same host, before it sends what an ACK (or a timer, or its application) lets out.
    fn sender(&mut self, _flow: FlowId, _state: SenderState, _now: Time) {}
    /// What another edge told.
    fn message(&mut self, _from: EdgeId, _m: EdgeMessage, _now: Time) {}
    /// The path of a flow whose packets look like this one, before it joins.
    fn flow_path(&mut self, _p: &P, _path: PathDelay, _now: Time) {}
    /// A flow whose packets look like this one may pass from now on. For what is set up beforehand and for measures: no
    /// packet depends on its being called.
    fn flow_joined(&mut self, _p: &P, _now: Time) {}
    /// The flow announced with this look sends no more.
    fn flow_left(&mut self, _p: &P, _now: Time) {}
    /// When it next wants [`Conditioner::on_timer`].
    fn next_timer(&self) -> Option<Time> {
        None
    }
    fn on_timer(&mut self, _now: Time, _out: &mut dyn EdgeOut<P>) {}
    /// The quantities the recorder may read.
    fn probes(&self) -> &[ProbeDef] {
        &[]
    }
    /// The present value of the i-th of them; NaN where `index` has none.
    fn read(&self, _probe: usize, _index: u32, _now: Time) -> f64 {
        f64::NAN
    }
}
