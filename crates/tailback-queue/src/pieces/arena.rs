//! One arena for all packets of a port, with linked lists of packets in it.
//!
//! A port may have 10,000 queues and a shared buffer of 1,000 packets, and should then not need 10,000 rings. So all
//! packets are in one vector of slots. A queue is three numbers (first slot, last slot, length), and the links between
//! packets are 32-bit indices inside the slots. A packet stays in its slot until it leaves. So a piece that stores a
//! value for each packet, such as the tag of a scheduler, can use its own vector with the slot as index, and only this
//! piece needs memory for it.
//!
//! Links go in both directions, because a packet may leave from the middle: an admission before the port, such as
//! CHOKe, draws a random packet and may drop it. From the first draw on, the arena keeps a dense list of the full slots
//! for draws. A port without draws does not have this cost.
//!
//! State: slots (packet, two links, the number of its queue), and the free slots as a list through the same links.
//! Memory: the packet plus 12 bytes per slot, for the largest number of packets since the arena was last empty. When a
//! large arena becomes empty, its memory is freed. Storing, taking or drawing a packet costs O(1); the growth of the
//! vector is amortised.
//!
//! The layout is our choice. Routers also keep packet memory in linked lists of cells.

use std::cell::OnceCell;

/// The value for "no slot" and "no queue".
pub const NONE: u32 = u32::MAX;

/// An arena that becomes empty keeps this many slots and frees the rest.
const KEPT_SLOTS: usize = 1024;

#[derive(Debug)]
struct Slot<P> {
    /// `None` means that the slot is free; `next` is then the next free slot.
    packet: Option<P>,
    prev: u32,
    next: u32,
    queue: u32,
}

/// The full slots as a dense list, for draws. `at[slot]` is the position of `slot` in `slots`.
#[derive(Debug)]
struct Dense {
    slots: Vec<u32>,
    at: Vec<u32>,
}

/// The packets of all queues of a port.
#[derive(Debug)]
pub struct Arena<P> {
    slots: Vec<Slot<P>>,
    free: u32,
    len: u32,
    /// The dense list. It is made by the first draw, and kept up to date from then on.
    dense: OnceCell<Dense>,
}

/// A queue of packets in an [`Arena`]: the first and the last slot, and the number of packets.
#[derive(Clone, Copy, Debug)]
pub struct List {
    pub head: u32,
    pub tail: u32,
    pub len: u32,
}

impl<P> Default for Arena<P> {
    fn default() -> Self {
        Arena {
            slots: Vec::new(),
            free: NONE,
            len: 0,
            dense: OnceCell::new(),
        }
    }
}

impl<P> Arena<P> {
    /// The number of packets stored.
    pub fn stored(&self) -> u32 {
        self.len
    }

    /// Whether one more packet can be addressed. This is false only at 2^32 - 1 packets, and memory runs out long
    /// before that.
    pub fn has_room(&self) -> bool {
        self.free != NONE || self.slots.len() < NONE as usize
    }

    /// The packet in this slot, if it is full.
    pub fn packet(&self, slot: u32) -> Option<&P> {
        self.slots.get(slot as usize)?.packet.as_ref()
    }

    /// The packet in this slot, if it is full, to be changed in place.
    pub fn packet_mut(&mut self, slot: u32) -> Option<&mut P> {
        self.slots.get_mut(slot as usize)?.packet.as_mut()
    }

    /// The slot after this one in its list.
    pub fn next(&self, slot: u32) -> Option<u32> {
        self.slots
            .get(slot as usize)
            .map(|s| s.next)
            .filter(|next| *next != NONE)
    }

    /// The queue of the packet in this slot.
    pub fn queue(&self, slot: u32) -> Option<u32> {
        self.slots
            .get(slot as usize)
            .filter(|s| s.packet.is_some())
            .map(|s| s.queue)
    }

    /// The slot of the `k`-th stored packet. The order is arbitrary, but the same on every machine. The packet is
    /// uniformly random if `k` is uniform in 0..len. A call costs O(1), except the first one, which costs O(len).
    pub fn nth(&self, k: u32) -> Option<u32> {
        let dense = self.dense.get_or_init(|| {
            let full = |s: &u32| self.slots[*s as usize].packet.is_some();
            let slots: Vec<u32> = (0..self.slots.len() as u32).filter(full).collect();
            let mut at = vec![NONE; self.slots.len()];
            for (i, s) in slots.iter().enumerate() {
                at[*s as usize] = i as u32;
            }
            Dense { slots, at }
        });
        dense.slots.get(k as usize).copied()
    }

    /// Put a packet of queue `queue` into a slot that is in no list yet. `Err` returns the packet if there is no room,
    /// see [`Arena::has_room`].
    fn put(&mut self, packet: P, queue: u32) -> Result<u32, P> {
        let slot = if self.free != NONE {
            let slot = self.free;
            let s = &mut self.slots[slot as usize];
            self.free = s.next;
            *s = Slot {
                packet: Some(packet),
                prev: NONE,
                next: NONE,
                queue,
            };
            slot
        } else if self.slots.len() < NONE as usize {
            self.slots.push(Slot {
                packet: Some(packet),
                prev: NONE,
                next: NONE,
                queue,
            });
            (self.slots.len() - 1) as u32
        } else {
            return Err(packet);
        };
        self.len += 1;
        if let Some(dense) = self.dense.get_mut() {
            if dense.at.len() < self.slots.len() {
                dense.at.resize(self.slots.len(), NONE);
            }
            dense.at[slot as usize] = dense.slots.len() as u32;
            dense.slots.push(slot);
        }
        Ok(slot)
    }

    /// Empty a slot that is no longer in a list.
    fn take(&mut self, slot: u32) -> Option<P> {
        let s = self.slots.get_mut(slot as usize)?;
        let packet = s.packet.take()?;
        s.next = self.free;
        self.free = slot;
        self.len -= 1;
        if let Some(dense) = self.dense.get_mut() {
            let hole = dense.at[slot as usize] as usize;
            dense.slots.swap_remove(hole);
            if let Some(moved) = dense.slots.get(hole) {
                dense.at[*moved as usize] = hole as u32;
            }
        }
        if self.len == 0 && self.slots.len() > KEPT_SLOTS {
            // Each slot that is freed here was filled after the arena was last empty, so this costs O(1) per packet.
            self.slots = Vec::new();
            self.free = NONE;
            self.dense = OnceCell::new();
        }
        Some(packet)
    }

    #[cfg(test)]
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }
}

impl Default for List {
    fn default() -> Self {
        List {
            head: NONE,
            tail: NONE,
            len: 0,
        }
    }
}

impl List {
    /// Store a packet at the end of this list. `queue` is the number of the queue with this list. Returns the slot, or
    /// the packet if the arena has no room.
    pub fn push<P>(&mut self, arena: &mut Arena<P>, packet: P, queue: u32) -> Result<u32, P> {
        let slot = arena.put(packet, queue)?;
        if self.tail == NONE {
            self.head = slot;
        } else {
            arena.slots[self.tail as usize].next = slot;
            arena.slots[slot as usize].prev = self.tail;
        }
        self.tail = slot;
        self.len += 1;
        Ok(slot)
    }

    /// Take the packet out of this slot of this list.
    pub fn remove<P>(&mut self, arena: &mut Arena<P>, slot: u32) -> Option<P> {
        let (prev, next) = match arena.slots.get(slot as usize) {
            Some(s) if s.packet.is_some() => (s.prev, s.next),
            _ => return None,
        };
        match prev {
            NONE => self.head = next,
            p => arena.slots[p as usize].next = next,
        }
        match next {
            NONE => self.tail = prev,
            n => arena.slots[n as usize].prev = prev,
        }
        self.len -= 1;
        arena.take(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// The arena gives the same results as a deque for each queue, for pushes, pops at the front, and removals of a
        /// drawn packet.
        #[test]
        fn lists_are_deques(ops in prop::collection::vec((0u32..4, 0u8..4, any::<u32>()), 0..400)) {
            let mut arena = Arena::default();
            let mut lists = [List::default(); 4];
            let mut naive: Vec<VecDeque<u32>> = vec![VecDeque::new(); 4];
            let mut name = 0;
            for (q, op, draw) in ops {
                let i = q as usize;
                match op {
                    0 | 1 => {
                        lists[i].push(&mut arena, name, q).unwrap();
                        naive[i].push_back(name);
                        name += 1;
                    }
                    2 => {
                        let head = lists[i].head;
                        prop_assert_eq!(lists[i].remove(&mut arena, head), naive[i].pop_front());
                    }
                    _ if arena.stored() == 0 => prop_assert_eq!(arena.nth(0), None),
                    _ => {
                        let slot = arena.nth(draw % arena.stored()).unwrap();
                        let owner = arena.queue(slot).unwrap() as usize;
                        let packet = lists[owner].remove(&mut arena, slot).unwrap();
                        let place = naive[owner].iter().position(|x| *x == packet).unwrap();
                        naive[owner].remove(place);
                    }
                }
                prop_assert_eq!(arena.stored() as usize, naive.iter().map(VecDeque::len).sum::<usize>());
                for (list, model) in lists.iter().zip(&naive) {
                    let mut slot = list.head;
                    let mut packets = vec![];
                    while slot != NONE {
                        packets.push(*arena.packet(slot).unwrap());
                        slot = arena.slots[slot as usize].next;
                    }
                    prop_assert_eq!(list.len as usize, model.len());
                    prop_assert!(packets.iter().eq(model.iter()));
                }
            }
        }
    }

    #[test]
    fn a_draw_reaches_every_packet_once() {
        let mut arena = Arena::default();
        let mut list = List::default();
        for name in 0..10 {
            list.push(&mut arena, name, 0).unwrap();
        }
        for _ in 0..3 {
            list.remove(&mut arena, list.head);
        }
        let mut values: Vec<i32> = (0..7)
            .map(|k| arena.nth(k).unwrap())
            .map(|s| *arena.packet(s).unwrap())
            .collect();
        values.sort();
        assert_eq!(values, [3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(arena.nth(7), None);
    }

    #[test]
    fn a_large_arena_is_given_back_when_it_falls_empty() {
        let mut arena = Arena::default();
        let mut list = List::default();
        for name in 0..5000 {
            list.push(&mut arena, name, 0).unwrap();
        }
        while list.head != NONE {
            list.remove(&mut arena, list.head);
        }
        assert_eq!(arena.slots(), 0);
        assert!(list.push(&mut arena, 1, 0).is_ok());
    }
}
