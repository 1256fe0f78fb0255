//! The store of a single queue: packets in order of arrival, their bytes, and a limit.
//!
//! The memory of a ring grows with a burst and shrinks again after the burst, so that a thousand ports do not keep the
//! memory of their largest bursts. The cost of a packet is one push, one pop and two additions.

use crate::contract::capacity;
use crate::contract::line::Line;
use crate::contract::report::{Backlog, DropReason, Out, Place};
use crate::contract::view::{Handle, PacketSource, QueueView};
use std::collections::VecDeque;
use tailback_base::{Packet, Size, Stream, Time};

/// Packets in order of arrival, with their bytes and a limit.
#[derive(Debug)]
pub struct Ring<P> {
    pub(super) packets: VecDeque<P>,
    bytes: u64,
    limit: Size,
}

/// A ring with at most this capacity is not shrunk.
pub(super) const KEEP: usize = 64;

impl<P: Packet> Ring<P> {
    pub fn new(limit: Size) -> Ring<P> {
        Ring {
            packets: VecDeque::new(),
            bytes: 0,
            limit,
        }
    }

    #[inline]
    pub fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.packets.len() as u64,
            bytes: self.bytes,
        }
    }

    #[inline]
    pub fn limit(&self) -> Size {
        self.limit
    }

    /// Set another limit. Packets that are stored stay.
    pub fn set_limit(&mut self, limit: Size) {
        self.limit = limit;
    }

    /// Whether a packet of this size fits.
    #[inline]
    pub fn fits(&self, bytes: u32) -> bool {
        capacity::fits(self.limit, self.backlog(), bytes)
    }

    /// Append a packet, with the present time as its stamp. The caller must have checked [`Ring::fits`].
    #[inline]
    pub fn push(&mut self, mut p: P, now: Time) {
        p.set_stamp(now);
        self.push_stamped(p);
    }

    /// Append a packet that keeps its stamp, because it was moved from another queue and has already waited.
    #[inline]
    pub fn push_stamped(&mut self, p: P) {
        self.bytes += u64::from(p.bytes());
        self.packets.push_back(p);
    }

    /// Take the head.
    #[inline]
    pub fn pop(&mut self) -> Option<P> {
        let p = self.packets.pop_front()?;
        self.bytes -= u64::from(p.bytes());
        self.shrink();
        Some(p)
    }

    /// The packet at `index`, 0 being the head.
    pub fn get(&self, index: usize) -> Option<&P> {
        self.packets.get(index)
    }

    /// Remove the packet at `index`. The others keep their order. This moves up to half the backlog.
    pub fn remove(&mut self, index: usize) -> Option<P> {
        let p = self.packets.remove(index)?;
        self.bytes -= u64::from(p.bytes());
        self.shrink();
        Some(p)
    }

    /// Halve the memory when less than an eighth of it is used. Packets for at least 3/8 of the memory have been popped
    /// since it was last moved, so the moves cost a constant per packet.
    #[inline]
    fn shrink(&mut self) {
        let capacity = self.packets.capacity();
        if capacity > KEEP && self.packets.len() < capacity / 8 {
            self.packets.shrink_to(capacity / 2);
        }
    }
}

impl<P: Packet> QueueView<P> for Ring<P> {
    fn stored(&self) -> Backlog {
        self.backlog()
    }
    fn limit(&self) -> Size {
        self.limit
    }
    fn draw(&self, stream: &mut Stream) -> Option<Handle> {
        match self.packets.len() as u64 {
            0 => None,
            n => Some(Handle(stream.below(n))),
        }
    }
    fn oldest(&self) -> Option<Handle> {
        (!self.packets.is_empty()).then_some(Handle(0))
    }
    fn newest(&self) -> Option<Handle> {
        self.packets.len().checked_sub(1).map(|last| Handle(last as u64))
    }
    fn nth(&self, k: u64) -> Option<Handle> {
        (k < self.packets.len() as u64).then_some(Handle(k))
    }
    fn get(&self, at: Handle) -> Option<&P> {
        self.packets.get(at.0 as usize)
    }
    fn remove(&mut self, at: Handle, _why: DropReason, _line: &Line) -> Option<P> {
        Ring::remove(self, at.0 as usize)
    }
}

impl<P: Packet> PacketSource<P> for Ring<P> {
    fn pop(&mut self) -> Option<P> {
        Ring::pop(self)
    }
    fn waiting(&self) -> Backlog {
        self.backlog()
    }
    fn drop(&mut self, p: P, why: DropReason, out: &mut dyn Out<P>) {
        out.dropped(p, Place::Dequeued, why);
    }
}
