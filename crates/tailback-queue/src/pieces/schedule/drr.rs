//! Deficit round robin: the queues are served in turn, with a number of bytes per turn.
//!
//! Non-empty queues form a ring. The queue with the turn gets a quantum of credit, and sends packets while its credit
//! covers the packet at its front. It keeps the rest of the credit for its next turn, and the turn moves to the next
//! queue. A queue that becomes empty loses its credit, so an idle queue cannot save credit. If the quantum is at least
//! the largest packet, at least one packet is sent in each turn, so a packet costs O(1). A smaller quantum is equally
//! fair in the long run, but in some turns no packet is sent.
//!
//! ```text
//! 0 <= credit < largest packet          after each turn that ends with packets left
//! |sent_a - sent_b| <= quantum + 2 largest packets   while both stay backlogged, with equal quanta
//! ```
//!
//! Weighted DRR (`wdrr`) gives each queue a quantum in proportion to its weight: the queue with the smallest weight so
//! far gets `quantum`, and the others get more in proportion to their weights. With `quantum_of = "unit"` a queue of
//! weight one gets `quantum`. The line is shared by weight in the long run, but in large steps: a queue that has just
//! used its quantum waits for the quanta of all other queues.
//!
//! State: for each queue two links of the ring and its credit, 16 bytes; the queue that has the turn, and whether it
//! has already received its quantum for this turn. Credit counts bytes, or, with weights, units of 2^-20 byte, so that
//! the ratios of quanta equal those of the weights.
//!
//! Source: M. Shreedhar and G. Varghese, "Efficient fair queuing using deficit round-robin", SIGCOMM 1995. Departure
//! from ns-2: the flag that the quantum was given belongs to the turn and not to the queue. So if an eviction empties a
//! queue during its turn, the queue does not miss a quantum when it becomes active again. In weighted DRR the weights
//! are read from the packets. So with a new smallest weight, the quanta of all other queues grow from their next turns
//! on.

use crate::pieces::arena::NONE;
use crate::pieces::schedule::{Scheduler, SchedulerEntry, ServiceOrder, Turn};

use crate::contract::discipline::Line;
use crate::pieces::store::{PerQueue, QueueId, Store};
use tailback_base::{Key, Kind, Model, Packet, Settings, params};

params! {
    /// The quantum of weighted deficit round robin.
    pub QUANTUM_OF_LEAST: u64 = Key::new("quantum", QUANTUM.param.kind, "1500B",
        "The credit that the queue with the least weight gets with each turn. If it is smaller than the largest \
         packet, some turns pass without a packet.", "the largest packet");
    /// The weight that gets this quantum.
    pub QUANTUM_OF: QuantumOf = Key::choice("quantum_of", "least",
        "Which weight gets `quantum`: the least one seen so far, or a weight of one, whatever the others have.",
        "unit: Kantawala and Turner, WUCSE-2005-11, chapter 7, one largest packet for each unit of weight");
    /// The quantum parameter of all models that are served by DRR.
    pub QUANTUM: u64 = Key::new("quantum", Kind::Bytes { min: 64, max: 1_000_000_000 }, "1500B",
        "The credit that a queue gets with each turn. If it is smaller than the largest packet, some turns pass \
         without a packet.",
        "the largest packet; ns-2's default is 250 B");
}

tailback_base::choice! {
    /// The weight that gets the given quantum.
    #[derive(Default)]
    pub enum QuantumOf {
        /// The smallest weight so far.
        #[default]
        Least = "least",
        /// A weight of one.
        Unit = "unit",
    }
}

/// The declaration of the scheduler alone, for use with any drop policy.
pub static MODEL: Model = Model {
    name: "drr",
    family: "scheduler",
    title: "Deficit round robin",
    summary: "The queues take turns, a quantum of bytes a turn.",
    source: "Shreedhar and Varghese 1995",
    params: &[QUANTUM.param],
    probes: &[],
};

/// The registry entry of this scheduler.
pub const fn entry<P: Packet + 'static>() -> SchedulerEntry<P> {
    SchedulerEntry {
        model: &MODEL,
        build: |s, _| Ok(Box::new(Drr::new(quantum(s)))),
    }
}

/// The declaration of DRR with quanta in proportion to the weights of flows.
pub static WEIGHTED: Model = Model {
    name: "wdrr",
    family: "scheduler",
    title: "Weighted deficit round robin",
    summary: "The queues take turns, with a quantum in proportion to the flow's weight.",
    source: "Shreedhar and Varghese 1995",
    params: &[QUANTUM_OF_LEAST.param, QUANTUM_OF.param],
    probes: &[],
};

/// The registry entry of weighted deficit round robin.
pub const fn weighted_entry<P: Packet + 'static>() -> SchedulerEntry<P> {
    SchedulerEntry {
        model: &WEIGHTED,
        build: |s, _| Ok(Box::new(Drr::weighted(quantum(s), s.get(&QUANTUM_OF)))),
    }
}

/// The quantum in these settings, bytes.
pub fn quantum(s: &Settings) -> u32 {
    u32::try_from(s.get(&QUANTUM)).unwrap_or(u32::MAX)
}

/// The rule for the credit of a turn.
pub trait Quanta {
    /// The units of credit in a byte, as a power of two.
    const BYTE: u32;
    /// A packet of this weight was stored in the queue.
    fn learn(&mut self, _q: QueueId, _weight: f64) {}
    /// The credit that a turn gives the queue, in units of credit.
    fn of(&self, q: QueueId) -> i64;
}

/// The same quantum for every queue, bytes.
#[derive(Clone, Copy, Debug)]
pub struct Equal(i64);

impl Quanta for Equal {
    const BYTE: u32 = 0;
    fn of(&self, _q: QueueId) -> i64 {
        self.0
    }
}

/// A quantum in proportion to the weights of the packets.
#[derive(Clone, Debug)]
pub struct ByWeight {
    /// The quantum for the smallest weight, or for a weight of one, bytes.
    quantum: u32,
    of: QuantumOf,
    /// The weight of each queue; 0 for a queue that has had no packet yet.
    weight: PerQueue<f64>,
    least: f64,
}

impl Quanta for ByWeight {
    const BYTE: u32 = 20;

    fn learn(&mut self, q: QueueId, weight: f64) {
        *self.weight.at(q) = weight;
        self.least = self.least.min(weight);
    }

    fn of(&self, q: QueueId) -> i64 {
        let weight = self.weight.get(q);
        let ratio = match self.of {
            QuantumOf::Least => weight / self.least,
            QuantumOf::Unit => weight,
        };
        libm::round(f64::from(self.quantum) * ratio * f64::from(1 << Self::BYTE)) as i64
    }
}

/// The ring of non-empty queues.
#[derive(Clone, Debug)]
pub struct Drr<Q = Equal> {
    quanta: Q,
    ring: PerQueue<RingLink>,
    turn: u32,
    /// Whether the queue with the turn has already received its quantum for this turn.
    given: bool,
}

#[derive(Clone, Copy, Debug)]
struct RingLink {
    prev: u32,
    /// The next queue in the ring; `NONE` if this queue is not in the ring.
    next: u32,
    /// The credit. It is below 0 after a packet that was larger than the credit.
    credit: i64,
}

impl Default for RingLink {
    fn default() -> Self {
        RingLink {
            prev: NONE,
            next: NONE,
            credit: 0,
        }
    }
}

impl Drr {
    /// DRR with equal quanta, in bytes; 0 counts as 1.
    pub fn new(quantum: u32) -> Drr {
        Drr::with(Equal(i64::from(quantum.max(1))))
    }
}

impl Drr<ByWeight> {
    /// DRR with quanta by weight. `quantum` is the quantum of the smallest weight, or of a weight of one, in bytes; 0
    /// counts as 1.
    pub fn weighted(quantum: u32, of: QuantumOf) -> Drr<ByWeight> {
        Drr::with(ByWeight {
            quantum: quantum.max(1),
            of,
            weight: PerQueue::default(),
            least: f64::INFINITY,
        })
    }
}

impl<Q: Quanta> Drr<Q> {
    fn with(quanta: Q) -> Drr<Q> {
        Drr {
            quanta,
            ring: PerQueue::default(),
            turn: NONE,
            given: false,
        }
    }

    /// The bytes that the queue may still send.
    pub fn credit(&self, q: QueueId) -> u64 {
        (self.ring.get(q).credit >> Q::BYTE).max(0) as u64
    }

    fn pass_turn(&mut self) {
        self.turn = self.ring.get(self.turn).next;
        self.given = false;
    }
}

impl<Q> ServiceOrder for Drr<Q> {
    fn turn(&self) -> Option<QueueId> {
        (self.turn != NONE).then_some(self.turn)
    }

    fn after(&self, q: QueueId) -> Option<QueueId> {
        Some(self.ring.get(q).next).filter(|q| *q != NONE)
    }
}

impl<P: Packet, Q: Quanta> Scheduler<P> for Drr<Q> {
    fn appended(&mut self, q: QueueId, slot: u32, store: &Store<P>, _line: &Line) {
        if let Some(p) = store.packet(slot).filter(|_| Q::BYTE > 0) {
            self.quanta.learn(q, p.weight());
        }
    }

    /// Insert the queue at the end of the current round, which is just before the queue with the turn.
    fn activate(&mut self, q: QueueId, _store: &Store<P>, _line: &Line) {
        if self.ring.get(q).next != NONE {
            return;
        }
        let (prev, next) = match self.turn {
            NONE => {
                self.turn = q;
                self.given = false;
                (q, q)
            }
            turn => (self.ring.get(turn).prev, turn),
        };
        *self.ring.at(q) = RingLink { prev, next, credit: 0 };
        self.ring.at(prev).next = q;
        self.ring.at(next).prev = q;
    }

    fn next(&mut self, store: &Store<P>, _line: &Line) -> Turn {
        loop {
            let Some(q) = self.turn() else { return Turn::Empty };
            let quantum = if self.given { 0 } else { self.quanta.of(q) };
            self.given = true;
            let member = self.ring.at(q);
            member.credit = member.credit.saturating_add(quantum);
            let bytes = i64::from(store.head_bytes(q)) << Q::BYTE;
            if bytes <= member.credit {
                return Turn::Queue(q);
            }
            self.pass_turn();
        }
    }

    /// An AQM may drop the packet for which the queue got the turn. If the next packet is larger and is sent, the
    /// credit becomes negative.
    fn served(&mut self, q: QueueId, bytes: u32, store: &Store<P>, line: &Line) {
        match store.packets(q) {
            0 => self.deactivate(q, store, line),
            _ => self.ring.at(q).credit -= i64::from(bytes) << Q::BYTE,
        }
    }

    /// The queue leaves the ring and loses its credit. If it had the turn, the turn moves to the next queue.
    fn deactivate(&mut self, q: QueueId, _store: &Store<P>, _line: &Line) {
        let RingLink { prev, next, .. } = self.ring.get(q);
        if next == NONE {
            return;
        }
        self.ring.at(prev).next = next;
        self.ring.at(next).prev = prev;
        *self.ring.at(q) = RingLink::default();
        if self.turn == q {
            self.turn = if next == q { NONE } else { next };
            self.given = false;
        }
    }
}

#[cfg(test)]
#[path = "drr_tests.rs"]
mod tests;
