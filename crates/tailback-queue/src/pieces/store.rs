//! The contents of a port: its queues, their packets, and the space of the buffer that they use.
//!
//! The [`Store`] is the part of a port that classifier, scheduler and drop policy may all read but not change. Only the
//! frame (`port.rs`) appends and removes packets. The store counts in the unit of the buffer, packets or bytes.
//! [`Store::cost`] of a packet, [`Store::length`] of a queue, [`Store::used`] and [`Store::limit`] are always in this
//! unit. So the longest queue is the longest in packets if the buffer is in packets, and in bytes if it is in bytes
//! (`docs/decisions/shared-buffer.md`).
//!
//! State: the arena; for each queue a list (12 bytes) and its number of bytes (8 bytes), which take 24 bytes together;
//! the totals. A queue is created when the classifier first names it. Every operation costs O(1), except those that say
//! otherwise.

use crate::contract::report::Backlog;
use crate::pieces::arena::{Arena, List, NONE};
use tailback_base::{Packet, Size, Time};

pub use crate::contract::queue_aqms::QueueId;

/// The unit of the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    Packets,
    Bytes,
}

impl Unit {
    /// The unit of a buffer of this size. An unlimited buffer counts packets.
    pub fn of(size: Size) -> Unit {
        match size {
            Size::Bytes(_) => Unit::Bytes,
            Size::Packets(_) | Size::Unlimited => Unit::Packets,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    list: List,
    bytes: u64,
}

/// The queues of a port and their packets.
#[derive(Debug)]
pub struct Store<P> {
    arena: Arena<P>,
    queues: Vec<Queue>,
    unit: Unit,
    limit: u64,
    bytes: u64,
    backlogged: u32,
}

impl<P: Packet> Store<P> {
    /// An empty store. An unlimited buffer counts packets.
    pub fn new(size: Size) -> Store<P> {
        let (unit, limit) = match size {
            Size::Packets(n) => (Unit::Packets, n),
            Size::Bytes(n) => (Unit::Bytes, n),
            Size::Unlimited => (Unit::Packets, u64::MAX),
        };
        Store {
            arena: Arena::default(),
            queues: Vec::new(),
            unit,
            limit,
            bytes: 0,
            backlogged: 0,
        }
    }

    /// Change the limit to another size of the same unit. Stored packets stay.
    pub fn set_size(&mut self, size: Size) {
        self.limit = match size {
            Size::Packets(n) | Size::Bytes(n) => n,
            Size::Unlimited => u64::MAX,
        };
    }

    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// The buffer's size, in its unit.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The buffer's size as it was declared.
    pub fn size(&self) -> Size {
        match self.unit {
            Unit::Packets if self.limit == u64::MAX => Size::Unlimited,
            Unit::Packets => Size::Packets(self.limit),
            Unit::Bytes => Size::Bytes(self.limit),
        }
    }

    /// The space in use, in the buffer's unit.
    pub fn used(&self) -> u64 {
        match self.unit {
            Unit::Packets => u64::from(self.arena.stored()),
            Unit::Bytes => self.bytes,
        }
    }

    /// The space that a packet takes, in the buffer's unit.
    pub fn cost(&self, p: &P) -> u64 {
        match self.unit {
            Unit::Packets => 1,
            Unit::Bytes => u64::from(p.bytes()),
        }
    }

    /// The free space, in the buffer's unit.
    pub fn free(&self) -> u64 {
        self.limit.saturating_sub(self.used())
    }

    /// Whether a packet of this cost fits in addition to the stored packets.
    pub fn fits(&self, cost: u64) -> bool {
        self.arena.has_room() && self.used().saturating_add(cost) <= self.limit
    }

    pub fn backlog(&self) -> Backlog {
        Backlog {
            packets: u64::from(self.arena.stored()),
            bytes: self.bytes,
        }
    }

    /// The number of queues so far, including empty ones.
    pub fn queues(&self) -> u32 {
        self.queues.len() as u32
    }

    /// The number of queues that have packets.
    pub fn backlogged(&self) -> u32 {
        self.backlogged
    }

    /// The packets in a queue; 0 for a queue that does not exist.
    pub fn packets(&self, q: QueueId) -> u32 {
        self.queues.get(q as usize).map_or(0, |x| x.list.len)
    }

    /// The bytes in a queue.
    pub fn bytes(&self, q: QueueId) -> u64 {
        self.queues.get(q as usize).map_or(0, |x| x.bytes)
    }

    /// The length of a queue in the buffer's unit; `None` if it is empty.
    pub fn length(&self, q: QueueId) -> Option<u64> {
        let queue = self.queues.get(q as usize).filter(|x| x.list.len > 0)?;
        Some(match self.unit {
            Unit::Packets => u64::from(queue.list.len),
            Unit::Bytes => queue.bytes,
        })
    }

    /// The slot of the packet at the front of a queue.
    pub fn head(&self, q: QueueId) -> Option<u32> {
        self.queues.get(q as usize).map(|x| x.list.head).filter(|s| *s != NONE)
    }

    /// The slot of the packet at the end of a queue.
    pub fn tail(&self, q: QueueId) -> Option<u32> {
        self.queues.get(q as usize).map(|x| x.list.tail).filter(|s| *s != NONE)
    }

    /// The bytes of the packet at the front of a queue; 0 if it is empty.
    pub fn head_bytes(&self, q: QueueId) -> u32 {
        self.head(q).and_then(|s| self.arena.packet(s)).map_or(0, P::bytes)
    }

    /// The slot of the packet after this one in its queue.
    pub fn after(&self, slot: u32) -> Option<u32> {
        self.arena.next(slot)
    }

    /// The slot of the `k`-th packet of a queue; 0 is the front. This visits the packets before it one by one.
    pub fn nth_of(&self, q: QueueId, k: u32) -> Option<u32> {
        (0..k).try_fold(self.head(q)?, |slot, _| self.arena.next(slot))
    }

    /// The packets of a queue, from the front.
    pub fn packets_of(&self, q: QueueId) -> impl Iterator<Item = &P> {
        let slots = std::iter::successors(self.head(q), |slot| self.arena.next(*slot));
        slots.filter_map(|slot| self.arena.packet(slot))
    }

    /// The backlog of a queue.
    pub fn backlog_of(&self, q: QueueId) -> Backlog {
        Backlog {
            packets: u64::from(self.packets(q)),
            bytes: self.bytes(q),
        }
    }

    /// The packet in a slot.
    pub fn packet(&self, slot: u32) -> Option<&P> {
        self.arena.packet(slot)
    }

    /// The packet in a slot, for marking.
    pub(super) fn packet_mut(&mut self, slot: u32) -> Option<&mut P> {
        self.arena.packet_mut(slot)
    }

    /// The queue of the packet in a slot.
    pub fn queue_of(&self, slot: u32) -> Option<QueueId> {
        self.arena.queue(slot)
    }

    /// The slot of the `k`-th stored packet, in an arbitrary but reproducible order.
    pub(crate) fn nth(&self, k: u32) -> Option<u32> {
        self.arena.nth(k)
    }

    /// The slot of the packet that arrived first of all. If several arrived at one instant, it is the one in the lowest
    /// queue. This reads the head of every queue.
    pub(crate) fn oldest(&self) -> Option<u32> {
        let heads = (0..self.queues()).filter_map(|q| self.head(q));
        heads.min_by_key(|slot| self.packet(*slot).map(P::stamp))
    }

    /// The slot of the packet that arrived last of all. If several arrived at one instant, it is the one in the highest
    /// queue. This reads the tail of every queue.
    pub(crate) fn newest(&self) -> Option<u32> {
        let tails = (0..self.queues()).filter_map(|q| self.tail(q));
        tails.max_by_key(|slot| self.packet(*slot).map(P::stamp))
    }

    /// Store a packet at the end of a queue, with the stamp `now`, whether it fits or not. Returns its slot, or the
    /// packet if no slot index is left.
    pub(crate) fn append(&mut self, q: QueueId, mut p: P, now: Time) -> Result<u32, P> {
        p.set_stamp(now);
        self.append_stamped(q, p)
    }

    /// The same as `append`, for a packet that keeps its stamp because it has already waited elsewhere.
    pub(super) fn append_stamped(&mut self, q: QueueId, p: P) -> Result<u32, P> {
        if self.queues.len() <= q as usize {
            self.queues.resize(q as usize + 1, Queue::default());
        }
        let bytes = u64::from(p.bytes());
        let queue = &mut self.queues[q as usize];
        let slot = queue.list.push(&mut self.arena, p, q)?;
        queue.bytes += bytes;
        self.bytes += bytes;
        self.backlogged += u32::from(queue.list.len == 1);
        Ok(slot)
    }

    /// Remove the packet from a slot, anywhere in its queue.
    pub(crate) fn remove(&mut self, slot: u32) -> Option<(QueueId, P)> {
        let q = self.arena.queue(slot)?;
        let queue = &mut self.queues[q as usize];
        let p = queue.list.remove(&mut self.arena, slot)?;
        let bytes = u64::from(p.bytes());
        queue.bytes -= bytes;
        self.bytes -= bytes;
        self.backlogged -= u32::from(queue.list.len == 0);
        Some((q, p))
    }
}

/// A value for each queue. The vector grows as queues are used; a queue that was not used yet has the default value.
#[derive(Clone, Debug, Default)]
pub struct PerQueue<T>(Vec<T>);

impl<T: Copy + Default> PerQueue<T> {
    #[inline]
    pub fn get(&self, q: QueueId) -> T {
        self.0.get(q as usize).copied().unwrap_or_default()
    }

    #[inline]
    pub fn at(&mut self, q: QueueId) -> &mut T {
        if self.0.len() <= q as usize {
            self.grow(q);
        }
        &mut self.0[q as usize]
    }

    #[cold]
    fn grow(&mut self, q: QueueId) {
        self.0.resize(q as usize + 1, T::default());
    }

    /// The value of a queue for which [`PerQueue::at`] was called before.
    #[inline]
    pub fn seen(&mut self, q: QueueId) -> &mut T {
        &mut self.0[q as usize]
    }

    /// Change the value of every queue that was used.
    pub fn each(&mut self, f: impl FnMut(&mut T)) {
        self.0.iter_mut().for_each(f);
    }
}
