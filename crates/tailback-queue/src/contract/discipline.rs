//! The contract between a queue discipline and its driver.
//!
//! * `now` never decreases.
//! * The driver calls [`QueueDiscipline::dequeue`] whenever the line becomes free, even if nothing is stored, and
//!   after each enqueue on a free line. A packet that `dequeue` returns has left the backlog: the packet on the wire
//!   is not part of the buffer.
//! * Every packet given to `enqueue` leaves exactly once: through `dequeue`, or through [`Out::dropped`].
//! * The discipline owns its packets and its random stream; it draws nothing if a decision is certain.

use crate::contract::queue_aqms::QueueAqms;
use crate::contract::view::QueueView;
use tailback_base::quantity::Refusal;
use tailback_base::{Packet, ProbeDef, Settings, Time};

pub use crate::contract::line::{Line, OnWire};
pub use crate::contract::report::{Backlog, DropReason, MarkReason, Out, Place, ProbeId, signal};

/// The result of `dequeue` when the line is free.
#[derive(Clone, PartialEq, Debug)]
pub enum Service<P> {
    Send(P),
    /// Packets are stored, but none may leave before this instant.
    Wait(Time),
    Empty,
}

/// The answer of a discipline whose parameters cannot change during a run.
pub fn fixed(settings: &Settings) -> Refusal {
    Refusal::new(
        format!(
            "the parameters of \"{}\" cannot change during a run",
            settings.model.name
        ),
        "give their values in the queue of the link",
    )
}

/// Refuse a new value of a parameter that sets how something begins, or for which the state was made.
///
/// # Errors
/// The value is another one.
pub fn unchanged<T: PartialEq>(name: &str, before: &T, now: &T) -> Result<(), Refusal> {
    match before == now {
        true => Ok(()),
        false => Err(fixed_value(name)),
    }
}

/// The answer to a new value of this parameter.
pub fn fixed_value(name: &str) -> Refusal {
    let refusal = Refusal::new(
        format!("{name} cannot change during a run"),
        format!("leave {name} out of the change, or give it from the beginning"),
    );
    refusal.within(name)
}

/// A queue discipline. One object per link direction.
///
/// ```
/// use std::collections::VecDeque;
/// use tailback_base::{Packet, Time};
/// use tailback_queue::testing::{Bench, TestPacket};
/// use tailback_queue::{Backlog, DropReason, Line, Out, Place, QueueDiscipline, Service};
///
/// /// First in, first out, and never more than two.
/// struct Two<P>(VecDeque<P>);
///
/// impl<P: Packet> QueueDiscipline<P> for Two<P> {
///     fn enqueue(&mut self, p: P, _line: &Line, out: &mut dyn Out<P>) {
///         match self.0.len() {
///             2 => out.dropped(p, Place::Arriving, DropReason::Overflow),
///             _ => self.0.push_back(p),
///         }
///     }
///     fn dequeue(&mut self, _line: &Line, _out: &mut dyn Out<P>) -> Service<P> {
///         self.0.pop_front().map_or(Service::Empty, Service::Send)
///     }
///     fn backlog(&self) -> Backlog {
///         let bytes = self.0.iter().map(|p| u64::from(p.bytes())).sum();
///         Backlog { packets: self.0.len() as u64, bytes }
///     }
/// }
///
/// let mut bench = Bench::new(Two(VecDeque::new()));
/// for id in 1..=3 {
///     bench.arrive(TestPacket::new(id, 0, 1500));
/// }
/// assert_eq!(bench.log.drops(DropReason::Overflow), [3]);
/// assert_eq!(bench.drain(), [1, 2]);
/// ```
pub trait QueueDiscipline<P: Packet> {
    /// Take an arriving packet. It is stored, dropped, or stored while another packet is dropped.
    fn enqueue(&mut self, p: P, line: &Line, out: &mut dyn Out<P>);
    /// A flow whose packets look like this one may send through here from now on: called at its start, or when its
    /// keys have changed. A real router does not get this information. It is for values that are configured in
    /// advance and for measures; no decision about a packet may depend on this call.
    fn flow_joined(&mut self, _p: &P, _now: Time) {}
    /// The flow announced with a packet like this one sends no more.
    fn flow_left(&mut self, _p: &P, _now: Time) {}
    /// Choose the next packet to send.
    fn dequeue(&mut self, line: &Line, out: &mut dyn Out<P>) -> Service<P>;
    /// When the discipline next needs [`QueueDiscipline::on_timer`]. Asked after every call.
    fn next_timer(&self) -> Option<Time> {
        None
    }
    fn on_timer(&mut self, _line: &Line, _out: &mut dyn Out<P>) {}
    fn backlog(&self) -> Backlog;
    /// Replace the settings, and keep packets and state. The new settings have the same model and the same nested
    /// models, as a scenario has them (models where they are named, values of profiles filled in). Settings that equal
    /// the present ones change nothing. After a refusal some of the values may be the new ones already, so try the
    /// settings on another discipline first.
    ///
    /// # Errors
    /// Settings that contradict each other, and new values for which its state was not made ([`unchanged`]). By default
    /// every change is refused.
    fn reconfigure(&mut self, settings: &Settings) -> Result<(), Refusal> {
        Err(fixed(settings))
    }
    /// Give each queue its own AQM, before the first packet. A discipline with one queue returns them.
    fn give_aqms(&mut self, aqms: QueueAqms<P>) -> Result<(), QueueAqms<P>> {
        Err(aqms)
    }
    /// Leave the clearing of code points to the outermost of the admissions before it, because admissions count packets
    /// by code point. Returns whether it would clear any.
    fn leave_washing(&mut self) -> bool {
        false
    }
    /// Its packets, for an admission before it; `None` if it does not show them.
    fn view(&self) -> Option<&dyn QueueView<P>> {
        None
    }
    fn view_mut(&mut self) -> Option<&mut dyn QueueView<P>> {
        None
    }
    /// Whether it may send requests to sources ([`Out::request`]). A discipline that returns false and sends one
    /// violates its contract.
    fn sends_requests(&self) -> bool {
        false
    }
    /// Whether others see its state: disciplines that share a memory, or a program that looks at it while a run goes
    /// on. If so, the driver calls it at each instant at which something is due. Otherwise the driver may make the same
    /// calls later, when the next packet comes, in the same order and with the same times.
    fn is_shared(&self) -> bool {
        false
    }
    /// The probes that can be recorded; usually those of the model's declaration.
    fn probes(&self) -> &[ProbeDef] {
        &[]
    }
    /// The present value of a probe; NaN if it has no value at `index`.
    fn read(&self, _probe: ProbeId, _index: u32) -> f64 {
        f64::NAN
    }
}

/// A boxed discipline is a discipline, so that stages can wrap what a registry has built.
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
    fn reconfigure(&mut self, settings: &Settings) -> Result<(), Refusal> {
        (**self).reconfigure(settings)
    }
    fn give_aqms(&mut self, aqms: QueueAqms<P>) -> Result<(), QueueAqms<P>> {
        (**self).give_aqms(aqms)
    }
    fn leave_washing(&mut self) -> bool {
        (**self).leave_washing()
    }
    fn view(&self) -> Option<&dyn QueueView<P>> {
        (**self).view()
    }
    fn view_mut(&mut self) -> Option<&mut dyn QueueView<P>> {
        (**self).view_mut()
    }
    fn sends_requests(&self) -> bool {
        (**self).sends_requests()
    }
    fn is_shared(&self) -> bool {
        (**self).is_shared()
    }
    fn probes(&self) -> &[ProbeDef] {
        (**self).probes()
    }
    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        (**self).read(probe, index)
    }
}
