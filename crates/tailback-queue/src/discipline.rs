//! The contract between a queue discipline and whoever drives it.
//!
//! * `now` never decreases.
//! * The driver calls [`QueueDiscipline::dequeue`] whenever the line falls free, also to find nothing, and after each
//!   enqueue on a free line. What `dequeue` hands out has left the backlog: the packet on the wire is not part of the
//!   buffer.
//! * Every packet given to `enqueue` leaves exactly once: through `dequeue`, or through [`Out::dropped`].
//! * The discipline owns its packets and its random stream; it draws nothing when a decision needs no chance.

use tailback_base::{BitRate, Duration, Ecn, FlowId, Packet, ProbeDef, Request, Time};
pub use tailback_base::{DropReason, MarkReason, Place};

/// The line behind the queue, as it is at this call.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    pub now: Time,
    pub rate: BitRate,
    /// What is being sent, if anything.
    pub busy: Option<OnWire>,
}

/// The packet on the wire.
#[derive(Clone, Copy, Debug)]
pub struct OnWire {
    pub until: Time,
    pub flow: FlowId,
    /// Its [`tailback_base::KeyField::Pair`] key.
    pub pair: u64,
    pub bytes: u32,
}

impl Line {
    /// The time this many bytes take on the line.
    pub fn time_of(&self, bytes: u32) -> Duration {
        self.rate.time_of(u64::from(bytes))
    }

    /// An idle line, for tests and lazy drivers.
    pub fn idle(now: Time, rate: BitRate) -> Line {
        Line { now, rate, busy: None }
    }
}

/// What is stored, without the packet on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    pub packets: u64,
    pub bytes: u64,
}

/// Index into [`QueueDiscipline::probes`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ProbeId(pub u16);

/// Where a discipline reports what it did. The driver counts, records and delivers.
pub trait Out<P> {
    /// `p` leaves here, unsent.
    fn dropped(&mut self, p: P, place: Place, why: DropReason);
    /// `p` was marked (its CE is already set) and stays.
    fn marked(&mut self, p: &P, why: MarkReason);
    /// Send a control packet back to the source of `about`.
    fn request(&mut self, about: &P, r: Request);
    /// A probe whose every change matters (victims, modes, intervals) tells its new value.
    fn note(&mut self, probe: ProbeId, index: u32, value: f64);
}

/// The answer to "what now?" when the line is free.
#[derive(Clone, PartialEq, Debug)]
pub enum Service<P> {
    Send(P),
    /// Packets are stored, but none may leave before this instant.
    Wait(Time),
    Empty,
}

/// A queue discipline. One object per link direction.
pub trait QueueDiscipline<P: Packet> {
    /// Take a packet that arrives. It is stored, dropped, or stored at another's expense.
    fn enqueue(&mut self, p: P, line: &Line, out: &mut dyn Out<P>);
    /// The driver knows that a flow whose packets look like this one may send through here from now on: at its start, or
    /// when its keys have changed. Routers are not told such things; this is for what a discipline is given beforehand and
    /// for measures, and no packet depends on its being called.
    fn flow_joined(&mut self, _p: &P, _now: Time) {}
    /// The flow announced with this look sends no more.
    fn flow_left(&mut self, _p: &P, _now: Time) {}
    /// Choose the next packet to send.
    fn dequeue(&mut self, line: &Line, out: &mut dyn Out<P>) -> Service<P>;
    /// When the discipline next wants [`QueueDiscipline::on_timer`]. Asked after every call.
    fn next_timer(&self) -> Option<Time> {
        None
    }
    fn on_timer(&mut self, _line: &Line, _out: &mut dyn Out<P>) {}
    fn backlog(&self) -> Backlog;
    /// The probes the recorder may read; the model's declaration, usually.
    fn probes(&self) -> &'static [ProbeDef] {
        &[]
    }
    /// The present value of a probe; NaN where `index` has none.
    fn read(&self, _probe: ProbeId, _index: u32) -> f64 {
        f64::NAN
    }
}

/// A boxed discipline is a discipline, so that stages wrap what a registry built.
impl<P: Packet> QueueDiscipline<P> for Box<dyn QueueDiscipline<P>> {
    fn enqueue(&mut self, p: P, line: &Line, out: &mut dyn Out<P>) {
        (**self).enqueue(p, line, out)
    }
    fn flow_joined(&mut self, p: &P, now: Time) {
        (**self).flow_joined(p, now)
    }
    fn flow_left(&mut self, p: &P, now: Time) {
        (**self).flow_left(p, now)
    }
    fn dequeue(&mut self, line: &Line, out: &mut dyn Out<P>) -> Service<P> {
        (**self).dequeue(line, out)
    }
    fn next_timer(&self) -> Option<Time> {
        (**self).next_timer()
    }
    fn on_timer(&mut self, line: &Line, out: &mut dyn Out<P>) {
        (**self).on_timer(line, out)
    }
    fn backlog(&self) -> Backlog {
        (**self).backlog()
    }
    fn probes(&self) -> &'static [ProbeDef] {
        (**self).probes()
    }
    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        (**self).read(probe, index)
    }
}

/// The router's side of ECN (RFC 3168 §5): mark a capable packet when `ecn` is on, and say whether it survives.
/// The caller drops what does not.
pub fn signal<P: Packet>(p: &mut P, ecn: bool, why: MarkReason, out: &mut dyn Out<P>) -> bool {
    if ecn && p.ecn() != Ecn::NotEct {
        p.set_ce();
        out.marked(p, why);
        return true;
    }
    false
}
