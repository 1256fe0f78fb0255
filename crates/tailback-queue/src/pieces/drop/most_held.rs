//! Fair queueing's drop rule: when the buffer is full, the conversation that holds most of it loses its last packet.
//!
//! The newcomer is stored first and judged with the others. If its own conversation holds most, alone or tied, it loses
//! its newest packet, which is the newcomer; of other
//! conversations that are tied, the one that has held so much longest loses, or with `tie = "lowest"` the one with the
//! lowest number. The latter is a bias: of six equal greedy sources the first loses twice what the last does.
//! Taking the last packet means that the finish tag of the conversation can be put back as if the packet had never come
//! (see [`fair`](crate::pieces::schedule::fair_queueing)).
//!
//! State: the [`LengthIndex`]. A packet costs O(log n).
//!
//! Source: A. Demers, S. Keshav, S. Shenker, SIGCOMM 1989; ties: `docs/decisions/longest-queue-tie.md`.

use crate::pieces::drop::{DropPolicy, End, Eviction, Scene};
use crate::pieces::index::length_index::{LengthIndex, Tie};
use crate::pieces::params::BUFFER;
use crate::pieces::store::{QueueId, Unit};
use tailback_base::{Key, Kind, Packet, Settings, Stream};

/// Which of several longest queues loses, if the newcomer's own is not one of them.
pub const TIE: Key<Tie> = Key::new(
    "tie",
    Kind::Choice(&["fifo", "lowest"]),
    "fifo",
    "Which of several longest queues loses a packet: the one that has had this length for the longest time, or the one \
     with the lowest number.",
    "neither source says; with lowest, low numbers lose more",
);

/// The rule these settings describe.
pub fn build(s: &Settings) -> MostHeld {
    MostHeld::new(Unit::of(s.get(&BUFFER)), s.get(&TIE))
}

/// Drops the last packet of the queue that holds most.
#[derive(Debug)]
pub struct MostHeld {
    index: LengthIndex,
}

impl MostHeld {
    /// For a buffer that counts in `unit`; `tie` must be one that draws nothing.
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
