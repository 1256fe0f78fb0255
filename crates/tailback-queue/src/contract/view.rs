//! The view of a queue for its admission.

use crate::contract::capacity;
use crate::contract::line::Line;
use crate::contract::report::{Backlog, DropReason, Out, Place};
use tailback_base::{Size, Stream};

/// How an admitted packet left the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    Served,
    /// Dropped while it waited, to make room for another packet or by an admission.
    Evicted(DropReason),
    /// Dropped by the queue after the admission: the queue refused it, or dropped it at dequeue.
    Dropped(Place, DropReason),
}

/// The quantity that an AQM measures, and the value above which it acts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Congestion {
    /// The backlog in the unit of the buffer.
    pub average: f64,
    /// The average above which packets are signalled.
    pub threshold: f64,
}

/// The source of packets for an admission when the line is free: a FIFO, or one queue of a port.
pub trait PacketSource<P> {
    /// Remove the head from the backlog and return it.
    fn pop(&mut self) -> Option<P>;
    /// The present backlog.
    fn waiting(&self) -> Backlog;
    /// Drop a packet that was taken out. The host reports it with [`Place::Dequeued`].
    fn drop(&mut self, p: P, why: DropReason, out: &mut dyn Out<P>);
}

/// A stored packet, identified by its number in its queue. A handle is valid until the queue changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handle(pub u64);

/// The view of a queue for an admission before it. A port of several queues shows its queues as one.
pub trait QueueView<P> {
    /// The backlog, without the packet on the wire.
    fn stored(&self) -> Backlog;
    /// The hard limit of the backlog. The admission measures in the unit of this limit.
    fn limit(&self) -> Size;
    /// Whether the queue would accept a packet of this size. A queue that evicts other packets to make room returns
    /// true for every packet that fits into the empty buffer.
    fn fits(&self, bytes: u32) -> bool {
        capacity::fits(self.limit(), self.stored(), bytes)
    }
    /// A random stored packet. Each packet has the same probability, whatever its queue. This takes one random number,
    /// or none if at most one packet is stored.
    fn draw(&self, stream: &mut Stream) -> Option<Handle>;
    /// The stored packet that has waited longest, if the queue can tell. Only `front-drop` needs it.
    fn oldest(&self) -> Option<Handle> {
        None
    }
    /// The stored packet that arrived last, if the queue can tell.
    fn newest(&self) -> Option<Handle> {
        None
    }
    /// The packet that leaves after `k` others, if this is one queue that is served in order of arrival.
    fn nth(&self, _k: u64) -> Option<Handle> {
        None
    }
    fn get(&self, at: Handle) -> Option<&P>;
    /// Remove the packet without sending it, and update the state of the queue (lengths, rings, credits). The caller
    /// reports the drop; the queue must not report it.
    fn remove(&mut self, at: Handle, why: DropReason, line: &Line) -> Option<P>;
    /// The congestion that the AQM of this queue measures, if it has one.
    fn congestion(&self) -> Option<Congestion> {
        None
    }
}
