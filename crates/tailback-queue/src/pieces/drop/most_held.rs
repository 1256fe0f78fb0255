//! Fair queueing's drop rule: when the buffer is full, the conversation with the longest queue loses its last packet.
//!
//! The arriving packet is stored first and counts in the length of its queue. If its conversation has the longest
//! queue, alone or tied, the arriving packet is dropped. If other conversations are tied, the one whose queue has had
//! this length longest loses its last packet, or with `tie = "lowest"` the one with the lowest number. The rule
//! `lowest` is a bias: of six equal greedy sources the first loses twice as many packets as the last. Because the last
//! packet is dropped, the finish tag of the conversation can be reset as if the packet had never arrived (see
//! [`fair`](crate::pieces::schedule::fair_queueing)).
//!
//! State: the [`LengthIndex`]. A packet costs O(log n).
//!
//! Source: A. Demers, S. Keshav, S. Shenker, SIGCOMM 1989; ties: `docs/decisions/longest-queue-tie.md`.

use crate::pieces::drop::{DropPolicy, End, Eviction, Scene};
use crate::pieces::index::length_index::{LengthIndex, Tie};
use crate::pieces::params::BUFFER;
use crate::pieces::store::{QueueId, Unit};
use tailback_base::{Key, Kind, Packet, Settings, Stream};

/// The choice between several longest queues, if the queue of the arriving packet is not one of them.
pub const TIE: Key<Tie> = Key::new(
    "tie",
    Kind::Choice(&["fifo", "lowest"]),
    "fifo",
    "Which of several longest queues loses a packet: the one that has had this length for the longest time, or the one \
     with the lowest number.",
    "neither source says; with lowest, low numbers lose more",
);

/// The policy that these settings describe.
pub fn build(s: &Settings) -> MostHeld {
    MostHeld::new(Unit::of(s.get(&BUFFER)), s.get(&TIE))
}

/// The policy that drops the last packet of the longest queue.
#[derive(Debug)]
pub struct MostHeld {
    index: LengthIndex,
}

impl MostHeld {
    /// A policy for a buffer that counts in `unit`. `tie` must not be `Random`, because there is no random stream.
    pub fn new(unit: Unit, tie: Tie) -> MostHeld {
        MostHeld {
            index: LengthIndex::new(unit, tie, Stream::new(0, "")),
        }
    }
}

impl<P: Packet> DropPolicy<P> for MostHeld {
    fn evict(&mut self, newcomer: QueueId, scene: &mut Scene<P>) -> Option<Eviction> {
        let most = self.index.longest(scene.order)?;
        let loses = match scene.store.length(newcomer) == scene.store.length(most) {
            true => newcomer,
            false => most,
        };
        Some(Eviction::one(loses, End::Back))
    }
    fn after_append(&mut self, q: QueueId, _p: &P, scene: &mut Scene<P>) {
        self.index.set(q, scene.store.length(q));
    }
    fn after_service(&mut self, q: QueueId, _p: &P, scene: &mut Scene<P>) {
        self.index.set(q, scene.store.length(q));
    }
    fn after_evict(&mut self, q: QueueId, _p: &P, scene: &mut Scene<P>) {
        self.index.set(q, scene.store.length(q));
    }
}
