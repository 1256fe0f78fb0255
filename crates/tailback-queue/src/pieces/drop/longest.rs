//! Longest-queue drop: when the buffer is full, the longest queue loses its front packet.
//!
//! The flow with the most packets in the shared buffer loses packets. So a flow that keeps its queue short loses no
//! packets, however aggressive the others are, and no queue needs a threshold. With
//! [`Drr`](crate::pieces::schedule::drr::Drr) this is plain DRR, which the other multi-queue policies are designed to
//! improve. Its weakness is synchronisation: if queues are equal, every overflow takes one packet from each queue, so
//! all flows halve their windows together.
//!
//! State: the [`LengthIndex`]. A packet costs one change of the index, and an overflow one query: O(1) if the buffer is
//! in packets, O(log n) if it is in bytes. If the buffer has no limit, the index is not kept. If a limit is set during
//! the run, the index is made at that time, with equal queues in the order of their numbers.
//!
//! Source: P. E. McKenney, "Stochastic fairness queueing", INFOCOM 1990 (taking space from the longest queue); M.
//! Shreedhar and G. Varghese 1995 (DRR). The front packet is dropped, not the last one.

use crate::pieces::drop::{DropPolicy, End, Eviction, PolicyEntry, Scene};
use crate::pieces::index::length_index::{LengthIndex, TIE, Tie};
use crate::pieces::store::{QueueId, Unit};
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, Settings, Size, Stream};

/// The declaration of the policy alone, for use with any scheduler.
pub static MODEL: Model = Model {
    name: "longest",
    family: "policy",
    title: "Longest-queue drop",
    summary: "When the buffer is full, the longest queue loses its front packet.",
    source: "McKenney 1990",
    params: &[TIE.param],
    probes: &[],
};

/// The registry entry of this drop policy.
pub const fn entry<P: Packet + 'static>() -> PolicyEntry<P> {
    PolicyEntry {
        model: &MODEL,
        build: |s, buffer, context| Ok(Box::new(build(s, buffer, context.stream)?)),
    }
}

/// The policy that these settings describe. The settings may also be those of a discipline that declares its
/// parameters.
pub fn build(s: &Settings, buffer: Size, stream: Stream) -> Result<Longest, Refusal> {
    Ok(Longest::new(Unit::of(buffer), s.get(&TIE), stream))
}

/// The policy that drops packets from the longest queue.
#[derive(Debug)]
pub struct Longest {
    index: LengthIndex,
    /// Whether the index contains the lengths of all queues.
    kept: bool,
}

impl Longest {
    /// A policy for a buffer that counts in `unit`. Only `Tie::Random` draws from the stream.
    pub fn new(unit: Unit, tie: Tie, stream: Stream) -> Longest {
        Longest {
            index: LengthIndex::new(unit, tie, stream),
            kept: true,
        }
    }

    /// The policy for a buffer of this size. The index is kept only if packets may have to be evicted from the buffer.
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
