//! Queue-state drop (QSDRR): the victim stays the victim until it has become the shortest queue.
//!
//! With longest-queue drop, all flows with equal queues lose packets at every overflow, so they halve their windows
//! together and the line becomes idle. The sticky rule concentrates an overflow on few flows. The longest queue is
//! chosen once and loses packets until it is shorter than every other non-empty queue. Only then another queue is
//! chosen. With n equal queues and n packets to drop, the k-th victim loses k packets. So about sqrt(2n) flows lose
//! packets, instead of n.
//!
//! * When room is needed, the policy tests before the eviction whether the victim is the shortest queue. In a tie with
//!   another queue the victim stays (`docs/decisions/shared-buffer.md`), because only this strict interpretation gives
//!   the published number of victims.
//! * A victim that has become empty is replaced at the next overflow. If the victim is the only non-empty queue, it is
//!   the shortest, and is chosen again. The victim is kept during times without overflow, because there is no timer.
//!
//! State: the [`LengthIndex`] and `sticky`, a queue or `None` (the initial value). A packet costs one change of the
//! index, and an overflow one query: O(1) if the buffer is in packets, O(log n) if it is in bytes. Every change of the
//! victim is reported through the probe `victim`.
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

/// The declaration of the policy alone, for use with any scheduler.
pub static MODEL: Model = Model {
    name: "qsdrr",
    family: "policy",
    title: "Queue-state drop",
    summary: "When the buffer is full, the longest queue loses front packets until it is the shortest.",
    source: "Kantawala and Turner, WUCSE-2005-11, chapter 3",
    params: &[TIE.param],
    probes: &[VICTIM],
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
pub fn build(s: &Settings, buffer: Size, stream: Stream) -> Result<Sticky, Refusal> {
    Ok(Sticky::new(Unit::of(buffer), s.get(&TIE), stream))
}

/// The policy that drops packets from one queue until it is the shortest.
#[derive(Debug)]
pub struct Sticky {
    index: LengthIndex,
    sticky: Option<QueueId>,
}

impl Sticky {
    /// A policy for a buffer that counts in `unit`. Only `Tie::Random` draws from the stream.
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
