//! What a queue shows of itself to an admission before it or over it.

use crate::contract::capacity;
use crate::contract::line::Line;
use crate::contract::report::{Backlog, DropReason, Out, Place};
use tailback_base::{Size, Stream};

/// How a packet that was let in went away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    Served,
    /// Dropped while it waited, for another packet or by an admission.
    Evicted(DropReason),
    /// Dropped by the queue behind: refused after all, or when it was taken out.
    Dropped(Place, DropReason),
}

/// What an AQM measures, and from where on it acts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Congestion {
    /// In the unit of the buffer.
    pub average: f64,
    /// The average from which on packets are signalled.
    pub threshold: f64,
}

/// Where an admission takes packets from when the line is free: a FIFO, or one queue of a port.
pub trait PacketSource<P> {
    /// Take the head. It leaves the backlog.
    fn pop(&mut self) -> Option<P>;
    /// What waits now.
    fn waiting(&self) -> Backlog;
    /// Drop a packet that was taken. The host reports it with [`Place::Dequeued`].
    fn drop(&mut self, p: P, why: DropReason, out: &mut dyn Out<P>);
}

/// A stored packet, as its queue names it. Good until the queue next changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handle(pub u64);

/// What a queue shows to an admission in front of it. A port of several queues implements it over all of them.
pub trait QueueView<P> {
    /// What is stored, without the packet on the wire.
    fn stored(&self) -> Backlog;
    /// The hard limit of all that is stored; its unit is the unit the admission measures in.
    fn limit(&self) -> Size;
    /// Whether the queue would take a packet of this size. A queue that pushes others out to make room answers for
    /// that: true for whatever fits into the empty buffer.
    fn fits(&self, bytes: u32) -> bool {
        capacity::fits(self.limit(), self.stored(), bytes)
    }
    /// A stored packet, each as likely as any other, whichever queue it waits in. One draw; none when nothing or only
    /// one packet is stored.
    fn draw(&self, stream: &mut Stream) -> Option<Handle>;
    /// The stored packet that has waited longest, if the queue knows it. Required for `front-drop` only.
    fn oldest(&self) -> Option<Handle> {
        None
    }
    /// The stored packet that came last, if the queue knows it.
    fn newest(&self) -> Option<Handle> {
        None
    }
    fn get(&self, at: Handle) -> Option<&P>;
    /// Take the packet out, unsent, keeping the queue's own books (lengths, rings, credits). The caller reports the
    /// drop; the queue must not.
    fn remove(&mut self, at: Handle, why: DropReason, line: &Line) -> Option<P>;
    /// How congested the AQM of this queue finds it, if it has one.
    fn congestion(&self) -> Option<Congestion> {
        None
    }
}
