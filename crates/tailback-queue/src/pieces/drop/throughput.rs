//! Throughput drop (TDRR): the queue that has been served fastest loses its front packet.
//!
//! The queue length shows which flow fills the buffer at present. TDRR instead finds the flow that has had more than
//! its share of the line. Each queue has an estimate of its service rate, which is kept while the queue is empty. The
//! thesis attributes TDRR's results on short bursts to this long memory. When the buffer is full, the non-empty queue
//! with the highest estimate is the victim.
//!
//! The estimate is a separate piece ([`RateEstimate`]), because the thesis does not say what is averaged. It can be
//! bits divided by the gap at each service (the default; `docs/decisions/tdrr-average.md`), bits divided by the gap at
//! each arrival, or recent services with a time constant.
//!
//! State: the data of the estimate for each queue, and a [`RateHeap`] of the non-empty queues. A packet costs O(log
//! n), an overflow O(1).
//!
//! Source: A. Kantawala and J. S. Turner, WUCSE-2005-11, chapter 3 (TDRR). w = 1/32 is the value of the thesis. It
//! found no difference for values between 1e-6 and 0.5.

use crate::pieces::drop::{DropPolicy, End, Eviction, PolicyEntry, Scene};
use crate::pieces::index::length_index::{TIE, Tie};
use crate::pieces::index::rate_estimate::{
    Clocked, ESTIMATOR, Estimator, PerArrival, PerService, RateEstimate, THETA, WEIGHT,
};
use crate::pieces::index::rate_heap::RateHeap;
use crate::pieces::store::QueueId;
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, ProbeDef, Settings, Stream};

/// The estimated rate of a queue.
pub const QUEUE_RATE: ProbeDef = ProbeDef {
    name: "queue_rate",
    unit: "bit/s",
    doc: "The estimated rate of a queue. With a time constant, it is the estimate at the last packet of any queue.",
    per: "queue",
};

/// The declaration of the policy alone, for use with any scheduler.
pub static MODEL: Model = Model {
    name: "tdrr",
    family: "policy",
    title: "Throughput drop",
    summary: "When the buffer is full, the queue that has been served fastest loses its front packet.",
    source: "Kantawala and Turner, WUCSE-2005-11, chapter 3",
    params: &[ESTIMATOR.param, WEIGHT.param, THETA.param, TIE.param],
    probes: &[QUEUE_RATE],
};

/// The registry entry of this drop policy.
pub const fn entry<P: Packet + 'static>() -> PolicyEntry<P> {
    PolicyEntry {
        model: &MODEL,
        build: |s, _, context| build(s, context.stream),
    }
}

/// The policy that these settings describe. The settings may also be those of a discipline that declares its
/// parameters.
///
/// # Errors
/// A given parameter belongs to an estimator that was not chosen.
pub fn build<P: Packet + 'static>(s: &Settings, stream: Stream) -> Result<Box<dyn DropPolicy<P>>, Refusal> {
    let (estimator, tie) = (Estimator::from_settings(s)?, s.get(&TIE));
    Ok(match estimator {
        Estimator::PerService(w) => Box::new(Throughput::new(PerService::new(w), tie, stream)),
        Estimator::PerArrival(w) => Box::new(Throughput::new(PerArrival::new(w), tie, stream)),
        Estimator::Clocked(theta) => Box::new(Throughput::new(Clocked::new(theta), tie, stream)),
    })
}

/// The policy that drops packets from the queue with the highest estimate.
#[derive(Debug)]
pub struct Throughput<E> {
    estimate: E,
    heap: RateHeap,
}

impl<E: RateEstimate> Throughput<E> {
    /// A policy with this estimate. Only `Tie::Random` draws from the stream.
    pub fn new(estimate: E, tie: Tie, stream: Stream) -> Throughput<E> {
        Throughput {
            estimate,
            heap: RateHeap::new(tie, stream),
        }
    }

    /// The rate estimate of a queue, bit/s.
    pub fn rate(&self, q: QueueId) -> f64 {
        self.estimate.rate(q)
    }
}

impl<P: Packet, E: RateEstimate> DropPolicy<P> for Throughput<E> {
    fn evict(&mut self, _newcomer: QueueId, scene: &mut Scene<P>) -> Option<Eviction> {
        self.heap.highest(scene.order).map(|q| Eviction::one(q, End::Front))
    }

    fn after_append(&mut self, q: QueueId, p: &P, scene: &mut Scene<P>) {
        let key = self.estimate.appended(q, p.bytes(), scene.line);
        if key.is_some() || !self.heap.contains(q) {
            self.heap.set(q, key.unwrap_or_else(|| self.estimate.key(q)));
        }
    }

    fn after_service(&mut self, q: QueueId, p: &P, scene: &mut Scene<P>) {
        let key = self.estimate.served(q, p.bytes(), scene.line);
        if scene.store.packets(q) == 0 {
            self.heap.remove(q);
        } else if let Some(key) = key {
            self.heap.set(q, key);
        }
    }

    fn after_evict(&mut self, q: QueueId, _p: &P, scene: &mut Scene<P>) {
        if scene.store.packets(q) == 0 {
            self.heap.remove(q);
        }
    }

    fn probes(&self) -> &'static [ProbeDef] {
        const { &[QUEUE_RATE] }
    }

    fn read(&self, _probe: usize, index: u32) -> f64 {
        self.rate(index)
    }
}

#[cfg(test)]
#[path = "throughput_tests.rs"]
mod tests;
