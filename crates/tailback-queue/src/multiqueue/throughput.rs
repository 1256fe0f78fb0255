//! Throughput drop (TDRR): the queue that has been served fastest gives up its front packet.
//!
//! Queue length says who holds the buffer now; TDRR asks who has had more than its share of the line. Each queue has an
//! estimate of its service rate, kept while the queue is empty: the thesis credits TDRR's results on short bursts to this
//! memory that outlives a queue. When the buffer is full, the non-empty queue with the highest estimate is the victim.
//!
//! The estimate is a piece of its own ([`RateEstimate`]), because the thesis does not say what is averaged. [`PerService`]
//! (A1): at each service, gap = max(now - previous service of this queue, the packet's time on the line), and
//! rate = (1 - w) rate + w * 8 bytes / gap. Estimates per arrival, and with a time constant, fit beside it; one whose
//! values all decay alike keeps scaled values and changes only the queue just served.
//!
//! State: for each queue `rate` (bit/s, 0 at first) and the time of its previous service, and a [`RateHeap`] of the non-empty
//! queues. A packet costs O(log n), an overflow O(1).
//!
//! Source: A. Kantawala and J. S. Turner, WUCSE-2005-11, chapter 3 (TDRR); `spec/multi-queue-buffers.md` 2.5; w = 1/32 of
//! the thesis, which found 1e-6 to 0.5 alike. A packet of zero bytes, or two services at one instant on an infinitely fast
//! line, would divide by zero: they change no estimate.

use super::drr::QUANTUM;
use super::length_index::{TIE, Tie};
use super::models::{BUFFER, COUNT_NEWCOMER, HASH_KEY, MAPPER, QUEUES};
use super::per_flow::QUEUE_FLOW;
use super::pieces::{DropPolicy, Scene};
use super::port::{BACKLOGGED, EVICTED_BYTES, EVICTED_SHARE, QUEUE_BYTES, QUEUE_PACKETS};
use super::rate_heap::RateHeap;
use super::store::{PerQueue, QueueId};
use crate::discipline::Line;
use tailback_base::{Kind, Model, Packet, Param, ProbeDef, Stream, Time};

/// The estimated rate of a queue.
pub const QUEUE_RATE: ProbeDef = ProbeDef {
    name: "queue_rate",
    unit: "bit/s",
    doc: "The estimated service rate of a queue.",
    per: "queue",
};

pub static MODEL: Model = Model {
    name: "tdrr",
    family: "queue",
    title: "Throughput deficit round robin",
    summary: "Deficit round robin that drops from the fastest. Measure: each queue's service rate, an average that \
              outlives the queue. Function: the highest among the non-empty queues. Action: when the buffer is full, the \
              front packet of that queue is dropped (overflow); it never marks.",
    source: "Kantawala and Turner, WUCSE-2005-11, chapter 3",
    params: &[
        BUFFER,
        Param::new(
            "weight",
            Kind::Real { min: 1e-9, max: 1.0 },
            "0.03125",
            "The share of each new sample in a queue's rate estimate.",
            "1/32, thesis chapter 3",
        ),
        QUANTUM,
        MAPPER,
        QUEUES,
        HASH_KEY,
        TIE,
        COUNT_NEWCOMER,
    ],
    probes: &[
        BACKLOGGED,
        QUEUE_PACKETS,
        QUEUE_BYTES,
        EVICTED_BYTES,
        EVICTED_SHARE,
        QUEUE_FLOW,
        QUEUE_RATE,
    ],
};

/// How a queue's throughput is estimated. A hook that changes the queue's key gives it.
pub trait RateEstimate {
    /// A packet was stored.
    fn appended(&mut self, _q: QueueId, _bytes: u32, _line: &Line) -> Option<f64> {
        None
    }
    /// A packet was sent.
    fn served(&mut self, q: QueueId, bytes: u32, line: &Line) -> Option<f64>;
    /// What orders the queues.
    fn key(&self, q: QueueId) -> f64;
    /// The rate for people, bit/s.
    fn rate(&self, q: QueueId) -> f64 {
        self.key(q)
    }
}

/// The mean of bits over the gap, at each service.
#[derive(Clone, Debug)]
pub struct PerService {
    weight: f64,
    queue: PerQueue<Served>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Served {
    rate: f64,
    last: Option<Time>,
}

impl PerService {
    /// `weight` is w, the share of a new sample, clipped to 0..=1.
    pub fn new(weight: f64) -> PerService {
        PerService {
            weight: if weight.is_nan() { 0.0 } else { weight.clamp(0.0, 1.0) },
            queue: PerQueue::default(),
        }
    }
}

impl RateEstimate for PerService {
    fn served(&mut self, q: QueueId, bytes: u32, line: &Line) -> Option<f64> {
        let queue = self.queue.at(q);
        let last = queue.last.replace(line.now)?;
        let bits = 8.0 * f64::from(bytes);
        // In numbers, not through Line::time_of: a gap of less than a nanosecond is still a gap.
        let gap = line.now.since(last).seconds().max(bits / line.rate.bits_per_second());
        let sample = bits / gap;
        if !sample.is_finite() {
            return None;
        }
        queue.rate = (1.0 - self.weight) * queue.rate + self.weight * sample;
        Some(queue.rate)
    }

    fn key(&self, q: QueueId) -> f64 {
        self.queue.get(q).rate
    }
}

/// Drop from the queue with the highest estimate.
#[derive(Debug)]
pub struct Throughput<E> {
    estimate: E,
    heap: RateHeap,
}

impl<E: RateEstimate> Throughput<E> {
    /// The stream is drawn from for `Tie::Random` only.
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
    fn victim(&mut self, _newcomer: QueueId, scene: &mut Scene<P>) -> Option<QueueId> {
        self.heap.highest(scene.order)
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
