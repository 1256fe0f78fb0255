//! Fair queueing's drop rule: when the buffer is full, the conversation that holds most of it loses its last packet.
//!
//! The newcomer is stored first and compared with the others. If its own conversation holds most, alone or in a tie,
//! that conversation loses its newest packet, which is the newcomer. In other ties the conversation that has held
//! this amount longest loses, or, with `tie = "lowest"`, the one with the lowest number. The latter is a bias: of six
//! equal greedy sources the first loses twice what the last does. Because the last packet is taken, the finish tag of
//! the conversation can be restored as if the packet had never come (see
//! [`fair`](crate::pieces::schedule::fair_queueing)).
//!
//! State: the [`LengthIndex`]. A packet costs O(log n).
//!
//! Source: A. Demers, S. Keshav, S. Shenker, SIGCOMM 1989; ties: `docs/decisions/longest-queue-tie.md`.

use crate::pieces::drop::{DropPolicy, End, Eviction, Scene};
use crate::pieces::index::length_index::{LengthIndex, Tie};
use crate::pieces::store::{QueueId, Unit};
use tailback_base::{Packet, Stream};

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
