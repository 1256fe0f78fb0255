//! What is on its way to the far end of a link, in order of arrival, in as few bytes as it needs.
//!
//! Where packets are handed on ahead of time, a whole round trip of a flow lies on one wire, its own: equal packets that
//! differ in number and age alone. Such a packet takes one slot of 16 bytes; what is the same stands once, in the wire.
//! Any other takes two slots, and three if it is older than four seconds or keeps the time at which it entered a queue.
//!
//! | slot | first word | second word |
//! |---|---|---|
//! | 1 | arrival (48), flags (8), [`Tag`] (8) | like the one before: difference of numbers (32), age (32); else number (48), bytes (16) |
//! | 2 | age (32), header (8), hop (8), TOS (8), tag (8) | flow (32), extra (32) |
//! | 3 | time of entry (48), tag (16) | age beyond 32 bits |
//!
//! State: the slots, and what the last packet that came and the last one that left had in common with their neighbours. Times in
//! ns, numbers and sizes in bytes. A packet costs a comparison and a copy of 16 bytes each way, or of 32.

use crate::packet::{Parts, WirePacket};
use crate::port::prefetch::prefetch;
use crate::port::ring::Ring;
use tailback_base::{FlowId, Time};

/// A packet in the air, or (fused) still waiting for the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flying {
    pub packet: WirePacket,
    pub arrives: Time,
}

type Slot = [u64; 2];

/// What a slot is, in the lowest byte of its first word.
struct Tag;

impl Tag {
    /// A packet like the one before it.
    const ALIKE: u64 = 0;
    /// The first of two slots, or of three.
    const TWO: u64 = 1;
    const THREE: u64 = 2;
    /// The second, and the third.
    const SECOND: u64 = 3;
    const THIRD: u64 = 4;

    fn of(slot: &Slot) -> u64 {
        slot[0] & 0xff
    }
}

const LOW32: u64 = 0xffff_ffff;

/// A packet's number, and all that is usually the same in the next one.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    seq: u64,
    /// Bytes (16), header (8), hop (8), flags (8), TOS (8).
    shape: u64,
    flow: u32,
}

impl Last {
    #[inline]
    fn of(p: &Parts) -> Last {
        let shape = u64::from(p.bytes) << 32
            | u64::from(p.header) << 24
            | u64::from(p.hop) << 16
            | u64::from(p.flags) << 8
            | u64::from(p.tos);
        Last {
            seq: p.seq,
            shape,
            flow: p.flow,
        }
    }

    #[inline]
    fn parts(&self) -> Parts {
        Parts {
            seq: self.seq,
            bytes: (self.shape >> 32) as u16,
            header: (self.shape >> 24) as u8,
            hop: (self.shape >> 16) as u8,
            flags: (self.shape >> 8) as u8,
            tos: self.shape as u8,
            flow: self.flow,
            ..Parts::default()
        }
    }
}

/// A wire.
#[derive(Debug, Default)]
pub struct Wire {
    slots: Ring<Slot>,
    /// Of the packet that came last, and of the one that left last.
    came: Last,
    left: Last,
}

impl Wire {
    #[inline]
    pub fn push(&mut self, packet: WirePacket, arrives: Time) {
        let p = packet.parts();
        let last = Last::of(&p);
        let age = arrives.0.wrapping_sub(p.born);
        let step = last.seq.wrapping_sub(self.came.seq) as i64;
        let alike = last.shape == self.came.shape && last.flow == self.came.flow && p.is_plain();
        let first = arrives.0 << 16 | u64::from(p.flags) << 8;
        self.came = last;
        if alike && age <= LOW32 && step == i64::from(step as i32) {
            return self.slots.push([first | Tag::ALIKE, (step as u64) << 32 | age]);
        }
        self.push_whole(&p, first, age);
    }

    #[inline(never)]
    fn push_whole(&mut self, p: &Parts, first: u64, age: u64) {
        let three = p.stamp != 0 || age > LOW32;
        let tag = if three { Tag::THREE } else { Tag::TWO };
        self.slots.push([first | tag, p.seq << 16 | u64::from(p.bytes)]);
        let shape = u64::from(p.header) << 24 | u64::from(p.hop) << 16 | u64::from(p.tos) << 8;
        self.slots.push([
            (age & LOW32) << 32 | shape | Tag::SECOND,
            u64::from(p.flow) << 32 | u64::from(p.extra),
        ]);
        if three {
            self.slots.push([p.stamp << 16 | Tag::THIRD, age >> 32]);
        }
    }

    /// The packet at the head, and how many slots it has.
    #[inline]
    fn head(&self) -> Option<(Parts, Time, usize)> {
        let slot = self.slots.front()?;
        let arrives = slot[0] >> 16;
        if Tag::of(slot) == Tag::ALIKE {
            let step = i64::from((slot[1] >> 32) as i32);
            let p = Parts {
                seq: self.left.seq.wrapping_add_signed(step),
                born: arrives.wrapping_sub(slot[1] & LOW32),
                ..self.left.parts()
            };
            return Some((p, Time(arrives), 1));
        }
        self.head_whole(*slot)
    }

    #[inline(never)]
    fn head_whole(&self, slot: Slot) -> Option<(Parts, Time, usize)> {
        let arrives = slot[0] >> 16;
        let second = self.slots.peek(1)?;
        let (stamp, beyond, n) = match Tag::of(&slot) {
            Tag::THREE => {
                let third = self.slots.peek(2)?;
                (third[0] >> 16, third[1], 3)
            }
            _ => (0, 0, 2),
        };
        let p = Parts {
            seq: slot[1] >> 16,
            bytes: slot[1] as u16,
            header: (second[0] >> 24) as u8,
            hop: (second[0] >> 16) as u8,
            tos: (second[0] >> 8) as u8,
            flags: (slot[0] >> 8) as u8,
            born: arrives.wrapping_sub(beyond << 32 | second[0] >> 32),
            flow: (second[1] >> 32) as u32,
            extra: second[1] as u32,
            stamp,
        };
        Some((p, Time(arrives), n))
    }

    /// The packet that arrives next.
    #[inline]
    pub fn front(&self) -> Option<Flying> {
        let (p, arrives, _) = self.head()?;
        let packet = WirePacket::from_parts(&p);
        Some(Flying { packet, arrives })
    }

    #[inline]
    pub fn pop(&mut self) -> Option<Flying> {
        let (p, arrives, n) = self.head()?;
        self.left = Last::of(&p);
        for _ in 0..n {
            self.slots.pop();
        }
        let packet = WirePacket::from_parts(&p);
        Some(Flying { packet, arrives })
    }

    /// Whose packet lies about so many slots behind the first, its direction, and how many hops it has made.
    pub fn peek(&self, k: usize) -> Option<(FlowId, bool, usize)> {
        let slot = self.slots.peek(k)?;
        let one = |flow: u64, shape: u64, flags: u8| {
            let p = WirePacket::from_parts(&Parts {
                hop: (shape >> 16) as u8,
                flags,
                flow: flow as u32,
                ..Parts::default()
            });
            Some((p.flow_id(), p.is_backward(), p.hop()))
        };
        match Tag::of(slot) {
            Tag::ALIKE => one(u64::from(self.left.flow), self.left.shape, (slot[0] >> 8) as u8),
            Tag::TWO | Tag::THREE => {
                let second = self.slots.peek(k + 1)?;
                one(second[1] >> 32, second[0], (slot[0] >> 8) as u8)
            }
            _ => None,
        }
    }

    /// Bring the slot at the head near.
    pub fn prefetch_head(&self) {
        if let Some(slot) = self.slots.front() {
            prefetch(slot);
        }
    }

    /// Packets on it.
    pub fn packets(&self) -> u64 {
        let starts = |s: &&Slot| Tag::of(s) < Tag::SECOND;
        self.slots.iter().filter(starts).count() as u64
    }

    /// Slots in use.
    #[inline]
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// Packets that are mostly alike, as those of a connection are.
    fn parts() -> impl Strategy<Value = Parts> {
        let common = Parts {
            bytes: 1500,
            header: 40,
            hop: 1 << 6,
            flags: 1,
            extra: u32::MAX,
            ..Parts::default()
        };
        let odd = (0..4u64, 0..3u8, 0..2u8, 0..2u32, prop::bool::weighted(0.2), 0..3u64);
        (prop::bool::weighted(0.7), 0..1u64 << 48, odd).prop_map(
            move |(alike, seq, (stamp, hop, tos, flow, extra, bytes))| {
                if alike {
                    return Parts {
                        seq: seq % 100_000,
                        ..common
                    };
                }
                Parts {
                    seq,
                    stamp,
                    hop,
                    tos,
                    flow,
                    extra: if extra { 7 } else { u32::MAX },
                    bytes: 65_535 - bytes as u16,
                    ..common
                }
            },
        )
    }

    proptest! {
        /// Against the library's deque, under any interleaving.
        #[test]
        fn what_goes_in_comes_out(ops in prop::collection::vec((prop::bool::weighted(0.6), parts(), 0..10_000_000_000u64), 1..400)) {
            let (mut wire, mut model, mut now) = (Wire::default(), VecDeque::new(), 0u64);
            for (push, p, age) in ops {
                if push {
                    now += age % 1000;
                    let packet = WirePacket::from_parts(&Parts { born: now, ..p });
                    let arrives = Time(now + age);
                    wire.push(packet, arrives);
                    model.push_back(Flying { packet, arrives });
                } else {
                    prop_assert_eq!(wire.pop(), model.pop_front());
                }
                prop_assert_eq!(wire.packets(), model.len() as u64);
                prop_assert_eq!(wire.front(), model.front().copied());
            }
        }
    }

    #[test]
    fn packets_of_one_connection_take_one_slot_each() {
        let mut wire = Wire::default();
        for i in 0..100 {
            let p = Parts {
                seq: 1 + 1460 * i,
                bytes: 1500,
                header: 40,
                born: 1000 * i,
                extra: u32::MAX,
                ..Parts::default()
            };
            wire.push(WirePacket::from_parts(&p), Time(1000 * i + 50_000_000));
        }
        assert_eq!(
            (wire.packets(), wire.slots()),
            (100, 101),
            "the first says what they have in common"
        );
    }
}
