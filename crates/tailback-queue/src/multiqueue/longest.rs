//! Longest-queue drop: when the buffer is full, the longest queue gives up its front packet.
//!
//! Whoever holds most of the shared buffer pays for it, so a flow that keeps its queue short loses nothing, however
//! aggressive the others are, and no queue needs a threshold. With [`Drr`](super::drr::Drr) this is plain DRR, the
//! discipline the other multi-queue policies improve on. Its weakness is synchrony: with equal queues every overflow takes
//! one packet of each, so all flows halve together.
//!
//! State: the [`LengthIndex`]. A packet costs one change of it, an overflow one question: O(1) in packets, O(log n) in
//! bytes.
//!
//! Source: P. E. McKenney, "Stochastic fairness queueing", INFOCOM 1990 (taking space from the longest queue);
//! M. Shreedhar and G. Varghese 1995 (DRR); `spec/multi-queue-buffers.md` 2.4. The front packet goes, not the last.

use super::drr::QUANTUM;
use super::length_index::{LengthIndex, TIE, Tie};
use super::models::{COUNT_NEWCOMER, port_params, port_probes};
use super::pieces::{DropPolicy, Scene};
use super::store::{QueueId, Unit};
use tailback_base::{Model, Packet, Stream};

pub static MODEL: Model = Model {
    name: "drr",
    family: "queue",
    title: "Deficit round robin with longest-queue drop",
    summary: "A queue for each flow, or for several, that share one buffer and take turns on the line, a quantum of bytes \
              a turn. Measure: each queue's length. Function: the longest. Action: when the buffer is full, the front \
              packet of the longest queue is dropped (overflow); it never marks.",
    source: "Shreedhar and Varghese 1995; McKenney 1990; Kantawala and Turner, WUCSE-2005-11, chapter 3",
    params: port_params![QUANTUM; TIE, COUNT_NEWCOMER],
    probes: port_probes![],
};

/// Drop from the longest queue.
#[derive(Debug)]
pub struct Longest {
    index: LengthIndex,
}

impl Longest {
    /// For a buffer that counts in `unit`. The stream is drawn from for `Tie::Random` only.
    pub fn new(unit: Unit, tie: Tie, stream: Stream) -> Longest {
        Longest {
            index: LengthIndex::new(unit, tie, stream),
        }
    }
}

impl<P: Packet> DropPolicy<P> for Longest {
    fn victim(&mut self, _newcomer: QueueId, scene: &mut Scene<P>) -> Option<QueueId> {
        self.index.longest(scene.order)
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

#[cfg(test)]
#[path = "longest_tests.rs"]
mod tests;
