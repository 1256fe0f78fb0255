//! Queue-state drop (QSDRR): the victim stays the victim until it has become the shortest queue.
//!
//! With longest-queue drop all flows of equal queues lose packets at every overflow, so they halve together and the
//! line runs dry. The sticky rule concentrates an overflow on few flows: the longest queue is chosen once and keeps
//! losing until it is shorter than every other non-empty queue; only then another one is chosen. With n equal queues
//! and n packets to drop, the k-th victim loses k packets, so about sqrt(2n) flows lose something, instead of n.
//!
//! * The question "is it the shortest?" is asked when room is needed, before the eviction. In a tie with another
//!   queue the victim stays (`docs/decisions/shared-buffer.md`): only this strict reading gives the published number
//!   of victims.
//! * A victim that has become empty is replaced at the next overflow. If it is the only queue, it is the shortest,
//!   and is chosen again. The victim is kept during times without overflow; there is no timer.
//!
//! State: the [`LengthIndex`] and `sticky`, a queue or `None` (the initial value). A packet costs one change of the
//! index, an overflow one query: O(1) in packets, O(log n) in bytes. Every change of the victim is reported through
//! the probe `victim`.
//!
//! Source: A. Kantawala and J. S. Turner, WUCSE-2005-11, chapter 3 (QSDRR).

use crate::pieces::drop::{DropPolicy, End, Eviction, PolicyEntry, Scene};
use crate::pieces::index::length_index::{LengthIndex, TIE, Tie};
use crate::pieces::store::{QueueId, Unit};
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, ProbeDef, Settings, Size, Stream};

/// The sticky victim; reported on every change.
pub const VICTIM: ProbeDef = ProbeDef {
    name: "victim",
    unit: "queue",
    doc: "The queue that loses packets when the buffer is full.",
    per: "",
};

/// The policy alone, for use under a scheduler of another name.
pub static MODEL: Model = Model {
    name: "qsdrr",
    family: "policy",
    title: "Queue-state drop",
    summary: "When the buffer is full, the longest queue loses front packets until it is the shortest.",
    source: "Kantawala and Turner, WUCSE-2005-11, chapter 3",
    params: &[TIE.param],
    probes: &[VICTIM],
};

/// The row of the list of drop policies.
pub const fn entry<P: Packet + 'static>() -> PolicyEntry<P> {
    PolicyEntry {
        model: &MODEL,
        build: |s, buffer, context| Ok(Box::new(build(s, buffer, context.stream)?)),
    }
}

/// The policy that these settings describe; the settings of a discipline that declares its parameters also work.
pub fn build(s: &Settings, buffer: Size, stream: Stream) -> Result<Sticky, Refusal> {
    Ok(Sticky::new(Unit::of(buffer), s.get(&TIE), stream))
}

/// Drops from one queue until it is the shortest.
#[derive(Debug)]
pub struct Sticky {
    index: LengthIndex,
    sticky: Option<QueueId>,
}

impl Sticky {
    /// For a buffer that counts in `unit`. Only `Tie::Random` draws from the stream.
    pub fn new(unit: Unit, tie: Tie, stream: Stream) -> Sticky {
        Sticky {
            index: LengthIndex::new(unit, tie, stream),
            sticky: None,
        }
    }

    /// The present victim.
    pub fn sticky(&self) -> Option<QueueId> {
        self.sticky
    }
}

impl<P: Packet> DropPolicy<P> for Sticky {
    fn evict(&mut self, _newcomer: QueueId, scene: &mut Scene<P>) -> Option<Eviction> {
        if self.sticky.is_none_or(|q| self.index.strictly_shortest(q)) {
            let chosen = self.index.longest(scene.order);
            if chosen != self.sticky {
                self.sticky = chosen;
                scene.note(0, 0, chosen.map_or(f64::NAN, f64::from));
            }
        }
        self.sticky.map(|q| Eviction::one(q, End::Front))
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
    fn probes(&self) -> &'static [ProbeDef] {
        const { &[VICTIM] }
    }
    fn read(&self, _probe: usize, _index: u32) -> f64 {
        self.sticky.map_or(f64::NAN, f64::from)
    }
}

#[cfg(test)]
#[path = "sticky_tests.rs"]
mod tests;
