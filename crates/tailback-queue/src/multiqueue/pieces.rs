//! The three pieces a port is made of: who shares a queue, who is served next, who loses when the buffer is full.
//!
//! [`Classifier`], [`Scheduler`] and [`DropPolicy`] are independent (the thesis says so of its drop policies, and the
//! spec makes it a design rule): any policy runs above any scheduler and any classifier. Each is a set of hooks that the
//! frame in `port.rs` calls at fixed points; a new discipline is one new file with one of these traits.
//!
//! A hook may look at the [`Store`] and change only its own state. Values kept for a queue belong in a
//! [`PerQueue`](super::store::PerQueue), values kept for a packet (a scheduler's tags) in a vector indexed by slot.
//!
//! Source: the hooks of `spec/multi-queue-buffers.md` 2.1. Added to them: `Scheduler::appended` (tags need every packet,
//! not only the first of a queue), `Scheduler::served` (a queue emptied by service and one emptied by eviction differ
//! for WF2Q+, 2.12), `ServiceOrder` (ties broken in service order, 2.2).

use super::store::{QueueId, Store};
use crate::discipline::{DropReason, Line, MarkReason, Out, ProbeId};
use tailback_base::{Packet, ProbeDef, Time};

/// Maps packets to queues (2.13, 2.14).
pub trait Classifier<P: Packet> {
    /// The queue of an arriving packet. Numbers are dense from 0: the port keeps a queue for every number up to the
    /// largest ever named. Either [`Classifier::refused`] or [`Classifier::left`] follows for the same packet.
    fn queue_of(&mut self, p: &P, now: Time) -> QueueId;
    /// How many queues there are, when that is known beforehand.
    fn queues(&self) -> Option<u32> {
        None
    }
    /// A flow whose packets look like this one may send from now on; see `QueueDiscipline::flow_joined`.
    fn flow_joined(&mut self, _p: &P, _now: Time) {}
    /// It sends no more, or its packets look different from now on.
    fn flow_left(&mut self, _p: &P, _now: Time) {}
    /// The packet was dropped on arrival.
    fn refused(&mut self, _p: &P, _q: QueueId, _now: Time) {}
    /// The packet left queue `q`, served or evicted.
    fn left(&mut self, _p: &P, _q: QueueId, _now: Time) {}
    fn next_timer(&self) -> Option<Time> {
        None
    }
    fn on_timer(&mut self, _now: Time) {}
    /// The classifier's own probes; [`Classifier::read`] takes their place in this list.
    fn probes(&self) -> &'static [ProbeDef] {
        &[]
    }
    fn read(&self, _probe: usize, _index: u32) -> f64 {
        f64::NAN
    }
}

/// The order in which queues will have their turns, for schedulers that have a ring.
pub trait ServiceOrder {
    /// The queue whose turn it is.
    fn turn(&self) -> Option<QueueId> {
        None
    }
    /// The queue that follows `q` in the ring.
    fn after(&self, _q: QueueId) -> Option<QueueId> {
        None
    }
    /// The first queue in service order, from the turn on, that is meant. O(queues in the ring).
    fn first_that(&self, meant: &mut dyn FnMut(QueueId) -> bool) -> Option<QueueId> {
        let start = self.turn()?;
        let mut q = start;
        loop {
            if meant(q) {
                return Some(q);
            }
            q = self.after(q)?;
            if q == start {
                return None;
            }
        }
    }
}

/// Chooses whose packet is sent next (2.3, 2.10 to 2.12).
pub trait Scheduler<P: Packet>: ServiceOrder {
    /// A packet was stored, in this slot, at the end of `q`. Comes before [`Scheduler::activate`].
    fn appended(&mut self, _q: QueueId, _slot: u32, _store: &Store<P>, _line: &Line) {}
    /// `q` holds its first packet.
    fn activate(&mut self, q: QueueId, store: &Store<P>, line: &Line);
    /// The queue whose front packet is sent now; `None` when nothing is stored. The frame takes the packet and calls
    /// [`Scheduler::served`].
    fn next(&mut self, store: &Store<P>, line: &Line) -> Option<QueueId>;
    /// The front packet of `q`, chosen by [`Scheduler::next`], is gone.
    fn served(&mut self, q: QueueId, store: &Store<P>, line: &Line) {
        if store.packets(q) == 0 {
            self.deactivate(q, store, line);
        }
    }
    /// `q` lost its last packet (by eviction, unless [`Scheduler::served`] says so).
    fn deactivate(&mut self, q: QueueId, store: &Store<P>, line: &Line);
    /// The packet in this slot of `q`, wherever it stands, is about to be evicted. One of the two calls below follows if
    /// it is the only one or at the front.
    fn evicting(&mut self, _q: QueueId, _slot: u32, _store: &Store<P>, _line: &Line) {}
    /// The front packet of `q` was evicted and another is now at the front.
    fn head_changed(&mut self, _q: QueueId, _store: &Store<P>, _line: &Line) {}
    fn probes(&self) -> &'static [ProbeDef] {
        &[]
    }
    fn read(&self, _probe: usize, _index: u32) -> f64 {
        f64::NAN
    }
}

/// Decides who loses a packet (2.4 to 2.8).
pub trait DropPolicy<P: Packet> {
    /// Refuse an arriving packet, and why. Asked with the state before it is stored.
    fn refuse(&mut self, _q: QueueId, _p: &P, _scene: &mut Scene<P>) -> Option<DropReason> {
        None
    }
    /// The queue that gives up its front packet (or its last, see [`DropPolicy::takes_last`]) for a packet of queue
    /// `newcomer`; `None` refuses the newcomer instead, as does a queue that is empty. Asked again until the newcomer fits.
    fn victim(&mut self, newcomer: QueueId, scene: &mut Scene<P>) -> Option<QueueId>;
    /// Whether a victim loses the packet at its end, instead of the one at its front.
    fn takes_last(&self) -> bool {
        false
    }
    /// The newcomer `p` has found its place at the end of `q`: whether to mark it, and why. The frame marks it, if it is
    /// ECN-capable.
    fn mark(&mut self, _q: QueueId, _p: &P, _scene: &mut Scene<P>) -> Option<MarkReason> {
        None
    }
    /// Whether the policy makes room by evicting. One that only ever refuses says no, and its `victim` is `None`.
    fn evicts(&self) -> bool {
        true
    }
    fn after_append(&mut self, _q: QueueId, _p: &P, _scene: &mut Scene<P>) {}
    fn after_service(&mut self, _q: QueueId, _p: &P, _scene: &mut Scene<P>) {}
    fn after_evict(&mut self, _q: QueueId, _p: &P, _scene: &mut Scene<P>) {}
    fn next_timer(&self) -> Option<Time> {
        None
    }
    fn on_timer(&mut self, _scene: &mut Scene<P>) {}
    /// The policy's own probes; [`DropPolicy::read`] and [`Scene::note`] take their place in this list.
    fn probes(&self) -> &'static [ProbeDef] {
        &[]
    }
    fn read(&self, _probe: usize, _index: u32) -> f64 {
        f64::NAN
    }
}

/// What a drop policy sees and may say during a hook.
pub struct Scene<'a, P> {
    pub store: &'a Store<P>,
    pub line: &'a Line,
    /// How many queues there are: those the classifier is made for, or, when it makes them as flows come, those so far.
    pub queues: u32,
    /// The scheduler's ring, for ties broken in service order.
    pub order: &'a dyn ServiceOrder,
    pub(super) out: &'a mut dyn Out<P>,
    /// For each of the policy's probes, its id in the discipline's declaration.
    pub(super) ids: &'a [Option<ProbeId>],
}

impl<P> Scene<'_, P> {
    /// Tell the new value of the policy's probe number `probe`. Nothing happens when the model does not declare it.
    pub fn note(&mut self, probe: usize, index: u32, value: f64) {
        if let Some(Some(id)) = self.ids.get(probe) {
            self.out.note(*id, index, value);
        }
    }
}

/// A boxed classifier is a classifier, so that the mapper of a port can be chosen at run time.
impl<P: Packet> Classifier<P> for Box<dyn Classifier<P>> {
    fn queue_of(&mut self, p: &P, now: Time) -> QueueId {
        (**self).queue_of(p, now)
    }
    fn queues(&self) -> Option<u32> {
        (**self).queues()
    }
    fn flow_joined(&mut self, p: &P, now: Time) {
        (**self).flow_joined(p, now)
    }
    fn flow_left(&mut self, p: &P, now: Time) {
        (**self).flow_left(p, now)
    }
    fn refused(&mut self, p: &P, q: QueueId, now: Time) {
        (**self).refused(p, q, now)
    }
    fn left(&mut self, p: &P, q: QueueId, now: Time) {
        (**self).left(p, q, now)
    }
    fn next_timer(&self) -> Option<Time> {
        (**self).next_timer()
    }
    fn on_timer(&mut self, now: Time) {
        (**self).on_timer(now)
    }
    fn probes(&self) -> &'static [ProbeDef] {
        (**self).probes()
    }
    fn read(&self, probe: usize, index: u32) -> f64 {
        (**self).read(probe, index)
    }
}

/// A boxed scheduler is a scheduler.
impl<P: Packet> ServiceOrder for Box<dyn Scheduler<P>> {
    fn turn(&self) -> Option<QueueId> {
        (**self).turn()
    }
    fn after(&self, q: QueueId) -> Option<QueueId> {
        (**self).after(q)
    }
    fn first_that(&self, meant: &mut dyn FnMut(QueueId) -> bool) -> Option<QueueId> {
        (**self).first_that(meant)
    }
}

impl<P: Packet> Scheduler<P> for Box<dyn Scheduler<P>> {
    fn appended(&mut self, q: QueueId, slot: u32, store: &Store<P>, line: &Line) {
        (**self).appended(q, slot, store, line)
    }
    fn activate(&mut self, q: QueueId, store: &Store<P>, line: &Line) {
        (**self).activate(q, store, line)
    }
    fn next(&mut self, store: &Store<P>, line: &Line) -> Option<QueueId> {
        (**self).next(store, line)
    }
    fn served(&mut self, q: QueueId, store: &Store<P>, line: &Line) {
        (**self).served(q, store, line)
    }
    fn deactivate(&mut self, q: QueueId, store: &Store<P>, line: &Line) {
        (**self).deactivate(q, store, line)
    }
    fn evicting(&mut self, q: QueueId, slot: u32, store: &Store<P>, line: &Line) {
        (**self).evicting(q, slot, store, line)
    }
    fn head_changed(&mut self, q: QueueId, store: &Store<P>, line: &Line) {
        (**self).head_changed(q, store, line)
    }
    fn probes(&self) -> &'static [ProbeDef] {
        (**self).probes()
    }
    fn read(&self, probe: usize, index: u32) -> f64 {
        (**self).read(probe, index)
    }
}

/// A boxed drop policy is a drop policy.
impl<P: Packet> DropPolicy<P> for Box<dyn DropPolicy<P>> {
    fn refuse(&mut self, q: QueueId, p: &P, scene: &mut Scene<P>) -> Option<DropReason> {
        (**self).refuse(q, p, scene)
    }
    fn victim(&mut self, newcomer: QueueId, scene: &mut Scene<P>) -> Option<QueueId> {
        (**self).victim(newcomer, scene)
    }
    fn takes_last(&self) -> bool {
        (**self).takes_last()
    }
    fn mark(&mut self, q: QueueId, p: &P, scene: &mut Scene<P>) -> Option<MarkReason> {
        (**self).mark(q, p, scene)
    }
    fn evicts(&self) -> bool {
        (**self).evicts()
    }
    fn after_append(&mut self, q: QueueId, p: &P, scene: &mut Scene<P>) {
        (**self).after_append(q, p, scene)
    }
    fn after_service(&mut self, q: QueueId, p: &P, scene: &mut Scene<P>) {
        (**self).after_service(q, p, scene)
    }
    fn after_evict(&mut self, q: QueueId, p: &P, scene: &mut Scene<P>) {
        (**self).after_evict(q, p, scene)
    }
    fn next_timer(&self) -> Option<Time> {
        (**self).next_timer()
    }
    fn on_timer(&mut self, scene: &mut Scene<P>) {
        (**self).on_timer(scene)
    }
    fn probes(&self) -> &'static [ProbeDef] {
        (**self).probes()
    }
    fn read(&self, probe: usize, index: u32) -> f64 {
        (**self).read(probe, index)
    }
}

/// Queues that take turns in this order, for tests.
#[cfg(test)]
pub(crate) struct Ring(pub(crate) Vec<QueueId>);

#[cfg(test)]
impl ServiceOrder for Ring {
    fn turn(&self) -> Option<QueueId> {
        self.0.first().copied()
    }
    fn after(&self, q: QueueId) -> Option<QueueId> {
        let i = self.0.iter().position(|x| *x == q)?;
        Some(self.0[(i + 1) % self.0.len()])
    }
}
