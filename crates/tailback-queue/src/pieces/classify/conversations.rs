//! A queue for each conversation: all packets with the same classification key.
//!
//! Fair queueing shares a line between conversations. A conversation can be defined as the packets of a pair of hosts
//! (in one direction), of one connection, from one source, or to one destination. Queues are numbered in the order in
//! which their first packets reach this port.
//!
//! State: a hash table from key to number (with our mixing function, so that no result depends on the process), and the
//! first flow of each conversation. A packet costs one lookup.
//!
//! Source: S. Keshav, "On the efficient implementation of fair queueing", 1991: a conversation is one (sending host,
//! receiving host) pair, and its ACKs are another conversation.

use crate::pieces::classify::Classifier;
use crate::pieces::classify::hash::mix;
use crate::pieces::classify::per_flow::QUEUE_FLOW;
use crate::pieces::store::QueueId;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use tailback_base::{FlowId, Key, KeyField, Kind, Packet, ProbeDef, Time};

/// The parameter of all disciplines that share a line between conversations.
pub const CONVERSATION: Key<KeyField> = Key::new(
    "conversation",
    Kind::Choice(&["pair", "tuple", "source", "destination"]),
    "pair",
    "What counts as one conversation: a pair of sending and receiving host, a connection (tuple), a sending host, or a \
     receiving host. Each direction is a conversation of its own.",
    "Keshav 1991: host pairs",
);

/// One queue for each key.
#[derive(Clone, Debug)]
pub struct Conversations {
    key: KeyField,
    numbers: HashMap<u64, QueueId, BuildHasherDefault<Mixed>>,
    /// The flow that opened each conversation.
    first: Vec<FlowId>,
}

/// The mixing function, as a hasher of 64-bit keys.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.write_u64(u64::from(*b));
        }
    }
    fn write_u64(&mut self, x: u64) {
        self.0 = mix(self.0 ^ x);
    }
}

impl Conversations {
    pub fn new(key: KeyField) -> Conversations {
        Conversations {
            key,
            numbers: HashMap::default(),
            first: Vec::new(),
        }
    }

    /// The number of conversations so far.
    pub fn count(&self) -> usize {
        self.first.len()
    }

    /// The number of this packet's conversation; a new number if the conversation is new.
    #[inline]
    pub fn number<P: Packet>(&mut self, p: &P) -> QueueId {
        let next = self.first.len() as QueueId;
        let q = *self.numbers.entry(p.key(self.key)).or_insert(next);
        if q == next {
            self.first.push(p.flow());
        }
        q
    }
}

impl<P: Packet> Classifier<P> for Conversations {
    fn queue_of(&mut self, p: &P, _now: Time) -> QueueId {
        self.number(p)
    }
    fn probes(&self) -> &'static [ProbeDef] {
        const { &[QUEUE_FLOW] }
    }
    fn read(&self, _probe: usize, index: u32) -> f64 {
        self.first.get(index as usize).map_or(f64::NAN, |f| f64::from(f.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::testing::TestPacket;

    #[test]
    fn conversations_are_numbered_as_they_appear() {
        let mut c = Conversations::new(KeyField::Label);
        let mut number_of = |label: u64, flow: u32| {
            let p = TestPacket {
                label,
                ..TestPacket::new(0, flow, 1000)
            };
            c.queue_of(&p, Time::ZERO)
        };
        let named = [(9, 4), (1 << 60, 5), (9, 6), (0, 7)].map(|(label, flow)| number_of(label, flow));
        assert_eq!(named, [0, 1, 0, 2]);
        assert_eq!(
            Classifier::<TestPacket>::read(&c, 0, 0),
            4.0,
            "the flow that came first"
        );
        assert!(Classifier::<TestPacket>::read(&c, 0, 3).is_nan());
    }
}
