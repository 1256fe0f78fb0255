//! The packets on their way to the far end of a link, in order of arrival, in as few bytes as possible.
//!
//! Where packets are handed on ahead of time, a whole round trip of a flow is on one wire, which only this flow uses:
//! the packets are equal except for number and age. Such a packet takes one slot of 16 bytes; the common fields are
//! stored once, in the wire. Any other packet takes two slots, as does one with time stamps. It takes three slots if it
//! is older than four seconds or keeps the time at which it entered a queue.
//!
//! | slot | first word | second word |
//! |---|---|---|
//! | 1 | arrival (48), flags (8), `Tag` (8) | like the one before: difference of numbers (32), age (32) |
//! | 1 | the same | unlike the one before: number (48), bytes (16) |
//! | 2 | age (32), hop (8), header (8), TOS (8), tag (8) | flow (32), extra (32) |
//! | 3 | time of entry (48), zeros, tag (8) | age beyond 32 bits |
//!
//! State: the slots, and the fields that the last packet that came and the last one that left had in common with their
//! neighbours. Times are in ns, numbers and sizes in bytes. A packet costs a comparison and a copy of 16 or 32 bytes
//! each way.

use crate::wire::packet::{NO_EXTRA, WirePacket};
use crate::wire::port::prefetch::prefetch;
use crate::wire::port::ring::Ring;
use tailback_base::{FlowId, Time};

/// A packet in the air, or (fused) still waiting for the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flying {
    pub packet: WirePacket,
    pub arrives: Time,
}

type Slot = [u64; 2];

/// The largest memory of a packet.
pub const MOST_BYTES: usize = 3 * size_of::<Slot>();

/// The kind of a slot, in the lowest byte of its first word.
struct Tag;

impl Tag {
    /// A packet like the one before it.
    const ALIKE: u64 = 0;
    /// The first of two slots, or of three.
    const TWO: u64 = 1;
    const THREE: u64 = 2;
    /// The second slot, and the third.
    const SECOND: u64 = 3;
    const THIRD: u64 = 4;

    fn of(slot: &Slot) -> u64 {
        slot[0] & 0xff
    }
}

const LOW32: u64 = 0xffff_ffff;
const LOW16: u64 = 0xffff;

/// A packet's number, and all fields that are usually the same in the next packet.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    seq: u64,
    /// Bytes (16), hop and header (16), flags and TOS (16).
    shape: u64,
    flow: u32,
}

impl Last {
    #[inline(always)]
    fn of([number, place, birth, whose]: [u64; 4]) -> Last {
        Last {
            seq: number >> 16,
            shape: (number & LOW16) << 32 | (place & LOW16) << 16 | birth & LOW16,
            flow: (whose >> 32) as u32,
        }
    }

    /// The words of a packet that differs from this one only in number and birth.
    #[inline(always)]
    fn words(&self, seq: u64, born: u64) -> [u64; 4] {
        [
            seq << 16 | self.shape >> 32,
            self.shape >> 16 & LOW16,
            born << 16 | self.shape & LOW16,
            u64::from(self.flow) << 32 | u64::from(NO_EXTRA),
        ]
    }
}

/// A wire.
#[derive(Debug, Default)]
pub struct Wire {
    slots: Ring<Slot>,
    /// The values of the packet that came last, and those of the packet that left last.
    came: Last,
    left: Last,
}

impl Wire {
    #[inline]
    pub fn push(&mut self, packet: WirePacket, arrives: Time) {
        let words = packet.words();
        let newest = Last::of(words);
        let age = arrives.0 - (words[2] >> 16);
        let step = newest.seq.wrapping_sub(self.came.seq) as i64;
        let plain = words[1] >> 16 == 0 && words[3] as u32 == NO_EXTRA;
        let alike = plain & (newest.shape == self.came.shape) & (newest.flow == self.came.flow);
        let first_word = arrives.0 << 16 | words[2] & 0xff00;
        self.came = newest;
        if alike && age <= LOW32 && step == i64::from(step as i32) {
            return self.slots.push([first_word | Tag::ALIKE, (step as u64) << 32 | age]);
        }
        let three = words[1] >> 16 != 0 || age > LOW32;
        let tag = if three { Tag::THREE } else { Tag::TWO };
        let second_word = (words[1] & LOW16) << 16 | (words[2] & 0xff) << 8 | Tag::SECOND;
        self.slots
            .push_two([first_word | tag, words[0]], [age << 32 | second_word, words[3]]);
        if three {
            self.slots.push([words[1] & !LOW16 | Tag::THIRD, age >> 32]);
        }
    }

    /// The words of the packet at the head, and how many slots it has.
    #[inline]
    fn head(&self) -> Option<([u64; 4], Time, usize)> {
        let (slot, second) = self.slots.front_two()?;
        let arrives = slot[0] >> 16;
        if Tag::of(slot) == Tag::ALIKE {
            let step = i64::from((slot[1] >> 32) as i32);
            let (seq, born) = (self.left.seq.wrapping_add_signed(step), arrives - (slot[1] & LOW32));
            return Some((self.left.words(seq, born), Time(arrives), 1));
        }
        let (stamp, beyond, n) = match Tag::of(slot) {
            Tag::THREE => {
                let third = self.slots.peek(2)?;
                (third[0] & !LOW16, third[1], 3)
            }
            _ => (0, 0, 2),
        };
        let born = arrives - (beyond << 32 | second[0] >> 32);
        let words = [
            slot[1],
            stamp | second[0] >> 16 & LOW16,
            born << 16 | slot[0] & 0xff00 | second[0] >> 8 & 0xff,
            second[1],
        ];
        Some((words, Time(arrives), n))
    }

    /// The packet that arrives next.
    #[inline]
    pub fn front(&self) -> Option<Flying> {
        let (words, arrives, _) = self.head()?;
        let packet = WirePacket::from_words(words);
        Some(Flying { packet, arrives })
    }

    /// The arrival time of the packet that arrives next, and its birth.
    #[inline]
    pub fn next_arrival(&self) -> Option<(Time, Time)> {
        let (slot, second) = self.slots.front_two()?;
        let arrives = slot[0] >> 16;
        let age = match Tag::of(slot) {
            Tag::ALIKE => slot[1] & LOW32,
            Tag::THREE => second[0] >> 32 | self.slots.peek(2)?[1] << 32,
            _ => second[0] >> 32,
        };
        Some((Time(arrives), Time(arrives - age)))
    }

    #[inline]
    pub fn pop(&mut self) -> Option<Flying> {
        let (words, arrives, n) = self.head()?;
        self.left = Last::of(words);
        self.slots.skip(n);
        let packet = WirePacket::from_words(words);
        Some(Flying { packet, arrives })
    }

    /// The flow of the packet that is about this many slots behind the first, its direction, and the number of hops it
    /// has made.
    pub fn peek(&self, k: usize) -> Option<(FlowId, bool, usize)> {
        let slot = self.slots.peek(k)?;
        let (place, whose) = match Tag::of(slot) {
            Tag::ALIKE => (self.left.shape >> 16, u64::from(self.left.flow) << 32),
            Tag::TWO | Tag::THREE => {
                let second = self.slots.peek(k + 1)?;
                (second[0] >> 16, second[1])
            }
            _ => return None,
        };
        let p = WirePacket::from_words([0, place & LOW16, slot[0] & 0xff00, whose]);
        Some((p.flow_id(), p.is_backward(), p.hop()))
    }

    /// Prefetch the slot at the head.
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

    /// A packet's words: number, bytes, time of entry, hop, header, birth, TOS, flow, extra.
    #[derive(Clone, Copy, Debug)]
    struct Drawn {
        seq: u64,
        bytes: u64,
        stamp: u64,
        hop: u64,
        tos: u64,
        flow: u64,
        extra: u32,
    }

    const COMMON: Drawn = Drawn {
        seq: 1,
        bytes: 1500,
        stamp: 0,
        hop: 1,
        tos: 0,
        flow: 3,
        extra: NO_EXTRA,
    };

    impl Drawn {
        fn born(self, t: u64) -> WirePacket {
            WirePacket::from_words([
                self.seq << 16 | self.bytes,
                self.stamp << 16 | self.hop << 8 | 40,
                t << 16 | 1 << 8 | self.tos,
                self.flow << 32 | u64::from(self.extra),
            ])
        }
    }

    /// Packets that are mostly equal, like those of a connection.
    fn drawn() -> impl Strategy<Value = Drawn> {
        let odd = (0..4u64, 0..3u64, 0..2u64, 0..2u64, prop::bool::weighted(0.2), 0..3u64);
        let drawn = (prop::bool::weighted(0.7), 0..1u64 << 48, odd);
        drawn.prop_map(|(alike, seq, (stamp, hop, tos, flow, extra, bytes))| {
            if alike {
                return Drawn {
                    seq: seq % 100_000,
                    ..COMMON
                };
            }
            Drawn {
                seq,
                bytes: 65_535 - bytes,
                stamp,
                hop,
                tos,
                flow,
                extra: if extra { 7 } else { NO_EXTRA },
            }
        })
    }

    proptest! {
        /// Compared with the library's deque, under any interleaving.
        #[test]
        fn what_goes_in_comes_out(
            ops in prop::collection::vec((prop::bool::weighted(0.6), drawn(), 0..10_000_000_000u64), 1..400),
        ) {
            let (mut wire, mut model, mut now) = (Wire::default(), VecDeque::new(), 0u64);
            for (push, p, age) in ops {
                if push {
                    now += age % 1000;
                    let packet = p.born(now);
                    let arrives = Time(now + age);
                    wire.push(packet, arrives);
                    model.push_back(Flying { packet, arrives });
                } else {
                    prop_assert_eq!(wire.pop(), model.pop_front());
                }
                prop_assert_eq!(wire.packets(), model.len() as u64);
                prop_assert_eq!(wire.front(), model.front().copied());
                let next = model.front().map(|f| (f.arrives, f.packet.born()));
                prop_assert_eq!(wire.next_arrival(), next);
            }
        }
    }

    #[test]
    fn packets_of_one_connection_take_one_slot_each() {
        let mut wire = Wire::default();
        for i in 0..100 {
            let p = Drawn {
                seq: 1 + 1460 * i,
                ..COMMON
            };
            wire.push(p.born(1000 * i), Time(1000 * i + 50_000_000));
        }
        assert_eq!(
            (wire.packets(), wire.slots()),
            (100, 101),
            "the first says what they have in common"
        );
    }
}
