//! Conditioners: meters, markers and shapers at the edge of a network, or inside a sending host.
//!
//! A conditioner is driven like a discipline: calls carry `now`, effects go through [`EdgeOut`]. It stands in front of a
//! port's queue and sees what is about to enter it; it may also watch the opposite direction, talk to other edges, and
//! follow the smoothed round-trip time of endpoints on its own host.

use tailback_base::{Duration, FlowId, Time};

/// Another edge of the domain, by its position in the scenario's list of edges.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EdgeId(pub u32);

/// What edges tell each other; the meaning of `kind` is the conditioner's own.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EdgeMessage {
    pub kind: u32,
    pub value: f64,
}

/// Where a conditioner sends what it decided.
pub trait EdgeOut<P> {
    /// Hand the packet on to the port's queue now.
    fn send(&mut self, p: P);
    fn dropped(&mut self, p: P);
    /// Tell another edge; it arrives after the path's propagation delay.
    fn message(&mut self, to: EdgeId, m: EdgeMessage);
}

/// A traffic conditioner at an edge port, or between a host's transport and its access link.
pub trait Conditioner<P> {
    /// A packet about to enter the port: re-colour and send it, hold it, or drop it.
    fn forward(&mut self, p: P, now: Time, out: &mut dyn EdgeOut<P>);
    /// A packet that came in over the same link, in the other direction.
    fn reverse(&mut self, _p: &P, _now: Time) {}
    /// The smoothed round-trip time of a local endpoint changed.
    fn srtt(&mut self, _flow: FlowId, _srtt: Duration, _now: Time) {}
    fn message(&mut self, _from: EdgeId, _m: EdgeMessage, _now: Time) {}
    /// When a held packet wants out; asked after every call.
    fn next_timer(&self) -> Option<Time> {
        None
    }
    fn on_timer(&mut self, _now: Time, _out: &mut dyn EdgeOut<P>) {}
}
