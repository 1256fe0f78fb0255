//! The schedulers of a port, which decide which queue has the turn on the line, and the arithmetic that they share.
//! Each scheduler has its own file.

pub mod drr;
pub mod drr_plus_plus;
pub mod fair_queueing;
pub mod frame_based;
pub mod priority;
pub mod round_robin;
pub mod scfq;
pub mod srr;
pub mod stamps;
pub mod stratified;
pub mod virtual_clock;
pub mod virtual_time;
pub mod weighted_round_robin;
pub mod wf2q;
pub mod wf2q_plus;

use crate::contract::build_context::BuildContext;
use crate::contract::discipline::Line;
use crate::contract::row::Row;
use crate::pieces::store::{QueueId, Store};
use tailback_base::model::Registered;
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, ProbeDef, Settings, Time};

/// The order in which queues will have their turns, for schedulers that have a ring.
pub trait ServiceOrder {
    /// The queue with the turn.
    fn turn(&self) -> Option<QueueId> {
        None
    }
    /// The queue that follows `q` in the ring.
    fn after(&self, _q: QueueId) -> Option<QueueId> {
        None
    }
    /// The first queue that `meant` accepts, in service order from the queue with the turn on. The cost is O(queues in
    /// the ring).
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

/// A scheduler's decision about the next queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    Queue(QueueId),
    /// Packets are stored, but no packet may leave before this instant.
    Wait(Time),
    Empty,
}

impl Turn {
    /// The turn of this queue; `Turn::Empty` without a queue.
    pub fn of(q: Option<QueueId>) -> Turn {
        q.map_or(Turn::Empty, Turn::Queue)
    }
}

/// The registry entry of a scheduler that a scenario can combine with a drop policy (`scheduler`).
pub type SchedulerEntry<P> = Row<fn(&Settings, BuildContext) -> Result<Box<dyn Scheduler<P>>, Refusal>>;

impl<P> Registered for SchedulerEntry<P> {
    const FAMILY: &'static str = "scheduler";
    const WHAT: &'static str = "scheduler";
    fn model(&self) -> &'static Model {
        self.model
    }
}

/// A rule that chooses the queue whose packet is sent next.
pub trait Scheduler<P: Packet>: ServiceOrder {
    /// A packet was stored in this slot, at the end of `q`. This is called before [`Scheduler::activate`].
    fn appended(&mut self, _q: QueueId, _slot: u32, _store: &Store<P>, _line: &Line) {}
    /// `q` was empty, and now has its first packet.
    fn activate(&mut self, q: QueueId, store: &Store<P>, line: &Line);
    /// The queue with the turn. The port takes a packet from this queue and calls [`Scheduler::served`]. An AQM may
    /// drop other packets of the queue first. If it drops all packets, the port calls this function again.
    fn next(&mut self, store: &Store<P>, line: &Line) -> Turn;
    /// A packet of `q`, chosen by [`Scheduler::next`], is being sent: charge the queue for it.
    fn served(&mut self, q: QueueId, _bytes: u32, store: &Store<P>, line: &Line) {
        if store.packets(q) == 0 {
            self.deactivate(q, store, line);
        }
    }
    /// `q` has lost its last packet by an eviction, or by a service that [`Scheduler::served`] reports.
    fn deactivate(&mut self, q: QueueId, store: &Store<P>, line: &Line);
    /// The packet in this slot of `q`, anywhere in the queue, is about to be evicted. If it is the only packet,
    /// [`Scheduler::deactivate`] follows; otherwise, if it is at the front, [`Scheduler::head_changed`] follows.
    fn evicting(&mut self, _q: QueueId, _slot: u32, _store: &Store<P>, _line: &Line) {}
    /// The front packet of `q` was evicted, or dropped while it was taken out, and another packet is now at the front.
    fn head_changed(&mut self, _q: QueueId, _store: &Store<P>, _line: &Line) {}
    /// Whether the scheduler keeps emptied queues until it has visited them once more. It may then name an empty queue,
    /// and the port calls [`Scheduler::found_empty`].
    fn revisits(&self) -> bool {
        false
    }
    /// The queue that [`Scheduler::next`] has named had no packet to send.
    fn found_empty(&mut self, _q: QueueId, _store: &Store<P>, _line: &Line) {}
    fn probes(&self) -> &'static [ProbeDef] {
        &[]
    }
    fn read(&self, _probe: usize, _index: u32) -> f64 {
        f64::NAN
    }
}

/// A boxed scheduler is a scheduler too, so that it can be chosen by name.
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
    fn next(&mut self, store: &Store<P>, line: &Line) -> Turn {
        (**self).next(store, line)
    }
    fn served(&mut self, q: QueueId, bytes: u32, store: &Store<P>, line: &Line) {
        (**self).served(q, bytes, store, line)
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
    fn revisits(&self) -> bool {
        (**self).revisits()
    }
    fn found_empty(&mut self, q: QueueId, store: &Store<P>, line: &Line) {
        (**self).found_empty(q, store, line)
    }
    fn probes(&self) -> &'static [ProbeDef] {
        (**self).probes()
    }
    fn read(&self, probe: usize, index: u32) -> f64 {
        (**self).read(probe, index)
    }
}

/// Queues that have their turns in this order, for tests.
#[cfg(test)]
pub(crate) struct Turns(pub(crate) Vec<QueueId>);

#[cfg(test)]
impl ServiceOrder for Turns {
    fn turn(&self) -> Option<QueueId> {
        self.0.first().copied()
    }
    fn after(&self, q: QueueId) -> Option<QueueId> {
        let i = self.0.iter().position(|x| *x == q)?;
        Some(self.0[(i + 1) % self.0.len()])
    }
}
