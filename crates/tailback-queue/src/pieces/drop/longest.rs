//! Longest-queue drop: when the buffer is full, the longest queue gives up its front packet.
//!
//! The flow that holds most of the shared buffer loses. So a flow that keeps its queue short loses nothing, however
//! aggressive the others are, and no queue needs a threshold. With [`Drr`](crate::pieces::schedule::drr::Drr) this is
//! plain DRR, the discipline that the other multi-queue policies improve on. Its weakness is synchronisation: with
//! equal queues every overflow takes one packet from each, so all flows halve together.
//!
//! State: the [`LengthIndex`]. A packet costs one change of it, an overflow one query: O(1) in packets, O(log n) in
//! bytes. Without a limit of the buffer the index is not kept; where a limit comes during the run, it is made then, and
//! equal queues stand in the order of their numbers.
//!
//! Source: P. E. McKenney, "Stochastic fairness queueing", INFOCOM 1990 (taking space from the longest queue); M.
//! Shreedhar and G. Varghese 1995 (DRR). The front packet is dropped, not the last.

use crate::pieces::drop::{DropPolicy, End, Eviction, PolicyEntry, Scene};
use crate::pieces::index::length_index::{LengthIndex, TIE, Tie};
use crate::pieces::store::{QueueId, Unit};
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, Settings, Size, Stream};

/// The policy alone, for use under a scheduler of another name.
pub static MODEL: Model = Model {
    name: "longest",
    family: "policy",
    title: "Longest-queue drop",
    summary: "When the buffer is full, the longest queue loses its front packet.",
    source: "McKenney 1990",
    params: &[TIE.param],
    probes: &[],
};

/// The row of the list of drop policies.
pub const fn entry<P: Packet + 'static>() -> PolicyEntry<P> {
    PolicyEntry {
        model: &MODEL,
        build: |s, buffer, context| Ok(Box::new(build(s, buffer, context.stream)?)),
    }
}

/// The policy that these settings describe; the settings of a discipline that declares its parameters also work.
pub fn build(s: &Settings, buffer: Size, stream: Stream) -> Result<Longest, Refusal> {
    Ok(Longest::new(Unit::of(buffer), s.get(&TIE), stream))
}

/// Drops from the longest queue.
#[derive(Debug)]
pub struct Longest {
    index: LengthIndex,
    /// The index holds the lengths of all queues.
    kept: bool,
}

impl Longest {
    /// For a buffer that counts in `unit`. Only `Tie::Random` draws from the stream.
    pub fn new(unit: Unit, tie: Tie, stream: Stream) -> Longest {
        Longest {
            index: LengthIndex::new(unit, tie, stream),
            kept: true,
        }
    }

    /// For a buffer of this size: the index is kept if something may be evicted from it.
    #[must_use]
    pub fn in_buffer(mut self, buffer: Size) -> Longest {
        self.kept = buffer != Size::Unlimited;
        self
    }

    #[inline]
    fn note<P: Packet>(&mut self, q: QueueId, scene: &Scene<P>) {
        if self.kept {
            self.index.set(q, scene.store.length(q));
        }
    }

    #[cold]
    fn begin<P: Packet>(&mut self, scene: &Scene<P>) {
        self.kept = true;
        for q in 0..scene.store.queues() {
            self.index.set(q, scene.store.length(q));
        }
    }
}

impl<P: Packet> DropPolicy<P> for Longest {
    fn evict(&mut self, _newcomer: QueueId, scene: &mut Scene<P>) -> Option<Eviction> {
        if !self.kept {
            self.begin(scene);
        }
        self.index.longest(scene.order).map(|q| Eviction::one(q, End::Front))
    }
    fn after_append(&mut self, q: QueueId, _p: &P, scene: &mut Scene<P>) {
        self.note(q, scene);
    }
    fn after_service(&mut self, q: QueueId, _p: &P, scene: &mut Scene<P>) {
        self.note(q, scene);
    }
    fn after_evict(&mut self, q: QueueId, _p: &P, scene: &mut Scene<P>) {
        self.note(q, scene);
    }
}

#[cfg(test)]
#[path = "longest_tests.rs"]
mod tests;
