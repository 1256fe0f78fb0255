//! The contract between a queue discipline and its driver.
//!
//! * `now` never decreases.
//! * The driver calls [`QueueDiscipline::dequeue`] whenever the line becomes free, even if nothing is stored, and after
//!   each enqueue on a free line. A packet that `dequeue` returns has left the backlog, so the packet on the wire is
//!   not part of the buffer.
//! * Every packet given to `enqueue` leaves exactly once: through `dequeue`, or through [`Out::dropped`].
//! * The discipline owns its packets and its random stream. If a decision is certain, it draws no random number.

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
    /// Packets are stored, but no packet may leave before this instant.
    Wait(Time),
    Empty,
}

/// The error of a discipline whose parameters cannot change during a run.
pub fn fixed(settings: &Settings) -> Refusal {
    Refusal::new(
        format!(
            "the parameters of \"{}\" cannot change during a run",
            settings.model.name
        ),
        "give their values in the queue of the link",
    )
}

/// Refuse a new value of a parameter that determines an initial value, or on which the present state depends.
///
/// # Errors
/// The new value differs from the present one.
pub fn unchanged<T: PartialEq>(name: &str, before: &T, now: &T) -> Result<(), Refusal> {
    match before == now {
        true => Ok(()),
        false => Err(fixed_value(name)),
    }
}

/// The error for a new value of this parameter.
pub fn fixed_value(name: &str) -> Refusal {
    let refusal = Refusal::new(
        format!("{name} cannot change during a run"),
        format!("leave {name} out of the change, or give it from the beginning"),
    );
    refusal.within(name)
}

/// A queue discipline. There is one object per link direction.
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
    /// Take an arriving packet. The packet is stored, is dropped, or is stored while another packet is dropped.
    fn enqueue(&mut self, p: P, line: &Line, out: &mut dyn Out<P>);
    /// A flow with packets like this one may send through this discipline from now on. This function is called at the
    /// start of a flow, or when the keys of the flow have changed. A real router does not get this information. The
    /// call may be used for values that are configured in advance and for measurements. No decision about a packet may
    /// depend on this call.
    fn flow_joined(&mut self, _p: &P, _now: Time) {}
    /// The flow that was announced with a packet like this one sends no more packets.
    fn flow_left(&mut self, _p: &P, _now: Time) {}
    /// Choose the next packet to send.
    fn dequeue(&mut self, line: &Line, out: &mut dyn Out<P>) -> Service<P>;
    /// The time at which the discipline next needs [`QueueDiscipline::on_timer`]. The driver reads it after every call.
    fn next_timer(&self) -> Option<Time> {
        None
    }
    fn on_timer(&mut self, _line: &Line, _out: &mut dyn Out<P>) {}
    fn backlog(&self) -> Backlog;
    /// Replace the settings, and keep packets and state. The new settings have the same model and the same nested
    /// models. They have the form of a scenario: nested models are given in place, and values of profiles are filled
    /// in. Settings that equal the present ones change nothing. After a refusal some values may already be the new
    /// ones, so try the settings on another discipline first.
    ///
    /// # Errors
    /// Settings that contradict each other, and new values that do not match the present state ([`unchanged`]). By
    /// default every change is refused.
    fn reconfigure(&mut self, settings: &Settings) -> Result<(), Refusal> {
        Err(fixed(settings))
    }
    /// Give each queue its own AQM, before the first packet arrives. A discipline with one queue returns the AQMs as
    /// the error.
    fn give_aqms(&mut self, aqms: QueueAqms<P>) -> Result<(), QueueAqms<P>> {
        Err(aqms)
    }
    /// Leave the clearing of code points to the outermost admission before this discipline, because admissions count
    /// packets by code point. Returns whether the discipline would clear code points.
    fn leave_washing(&mut self) -> bool {
        false
    }
    /// The packets of the discipline, for an admission before it; `None` if the discipline does not show its packets.
    fn view(&self) -> Option<&dyn QueueView<P>> {
        None
    }
    fn view_mut(&mut self) -> Option<&mut dyn QueueView<P>> {
        None
    }
    /// Whether this discipline may send requests to sources ([`Out::request`]). A discipline that returns false and
    /// sends a request violates its contract.
    fn sends_requests(&self) -> bool {
        false
    }
    /// Whether other code uses the state of this discipline during a run, such as disciplines that share a memory, or a
    /// program that reads the state. If this is true, the driver calls the discipline at each instant at which an
    /// action is due. Otherwise the driver may make the same calls later, when the next packet arrives, in the same
    /// order and with the same times.
    fn is_shared(&self) -> bool {
        false
    }
    /// The probes that can be recorded. These are usually those of the model's declaration.
    fn probes(&self) -> &[ProbeDef] {
        &[]
    }
    /// The present value of a probe; NaN if it has no value at `index`.
    fn read(&self, _probe: ProbeId, _index: u32) -> f64 {
        f64::NAN
    }
}

/// A boxed discipline is a discipline too, so that other stages can wrap a discipline from the registry.
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
