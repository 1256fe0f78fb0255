//! Deficit round robin: the queues take turns, in bytes.
//!
//! Non-empty queues form a ring. The queue with the turn gets a quantum of credit, sends packets while its credit
//! covers the packet at its front, and keeps the rest for its next turn; then the turn moves on. A queue that becomes
//! empty loses its credit, so no queue saves credit while it is idle. With a quantum of at least the largest packet
//! each turn sends something, so a packet costs O(1). A smaller quantum is equally fair in the long run, but some
//! turns send nothing.
//!
//! ```text
//! 0 <= credit < largest packet          after each turn that ends with packets left
//! |sent_a - sent_b| <= quantum + 2 largest packets   while both stay backlogged, with equal quanta
//! ```
//!
//! Weighted DRR (`wdrr`) gives each queue a quantum in proportion to its weight: the queue with the least weight seen
//! so far gets `quantum`, the others proportionally more; with `quantum_of = "unit"` a weight of one gets it. The line
//! is shared by weight in the long run, but in large steps: a queue that has just used its quantum waits for the sum
//! of all others.
//!
//! State: for each queue two links of the ring and its credit, 16 bytes; which queue has the turn; whether it already
//! got its quantum for this turn. Credit counts bytes, or, with weights, units of 2^-20 byte, so that the ratios of
//! quanta equal those of the weights.
//!
//! Source: M. Shreedhar and G. Varghese, "Efficient fair queuing using deficit round-robin", SIGCOMM 1995. Departure
//! from ns-2: "already given" belongs to the turn, not to the queue, so a queue that is emptied by an eviction during
//! its turn cannot come back with an old flag and miss a quantum. In weighted DRR the weights come with the packets,
//! so a new least weight makes all other quanta grow from their next turns on.

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
    /// Whose quantum that is.
    pub QUANTUM_OF: QuantumOf = Key::choice("quantum_of", "least",
        "Which weight gets `quantum`: the least one seen so far, or a weight of one, whatever the others have.",
        "unit: Kantawala and Turner, WUCSE-2005-11, chapter 7, one largest packet for each unit of weight");
    /// Declared once for the models served by DRR.
    pub QUANTUM: u64 = Key::new("quantum", Kind::Bytes { min: 64, max: 1_000_000_000 }, "1500B",
        "The credit that a queue gets with each turn. If it is smaller than the largest packet, some turns pass \
         without a packet.",
        "the largest packet; ns-2's default is 250 B");
}

tailback_base::choice! {
    /// The weight whose quantum is given.
    #[derive(Default)]
    pub enum QuantumOf {
        /// The least weight seen so far.
        #[default]
        Least = "least",
        /// A weight of one.
        Unit = "unit",
    }
}

/// The scheduler alone, for use below a drop policy of another name.
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

/// Turns in proportion to the weights of flows.
pub static WEIGHTED: Model = Model {
    name: "wdrr",
    family: "scheduler",
    title: "Weighted deficit round robin",
    summary: "The queues take turns, with a quantum in proportion to the flow's weight.",
    source: "Shreedhar and Varghese 1995",
    params: &[QUANTUM_OF_LEAST.param, QUANTUM_OF.param],
    probes: &[],
};

/// The row of weighted deficit round robin.
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

/// How much credit a turn brings.
pub trait Quanta {
    /// A byte of credit, as a power of two.
    const BYTE: u32;
    /// A packet of this weight was stored in the queue.
    fn learn(&mut self, _q: QueueId, _weight: f64) {}
    /// The credit that a turn gives the queue, in units of credit.
    fn of(&self, q: QueueId) -> i64;
}

/// The same for every queue, bytes.
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
    /// The quantum for the least weight, or for a weight of one, bytes.
    quantum: u32,
    of: QuantumOf,
    /// 0 for a queue not seen yet.
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
    /// Whether the queue with the turn already got its quantum for it.
    given: bool,
}

#[derive(Clone, Copy, Debug)]
struct RingLink {
    prev: u32,
    /// `NONE` if the queue is not in the ring.
    next: u32,
    /// Below 0 after a packet for which it did not have the credit.
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
    /// Equal quanta, in bytes; 0 counts as 1.
    pub fn new(quantum: u32) -> Drr {
        Drr::with(Equal(i64::from(quantum.max(1))))
    }
}

impl Drr<ByWeight> {
    /// Quanta by weight; `quantum`, in bytes, is that for the least weight, or for a weight of one; 0 counts as 1.
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

    /// How much the queue may still send, bytes.
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

    /// Insert at the end of the current round: just before the queue with the turn.
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

    /// An AQM may drop the packet for which the queue got the turn; if the next one is larger, sending it leaves a
    /// debt.
    fn served(&mut self, q: QueueId, bytes: u32, store: &Store<P>, line: &Line) {
        match store.packets(q) {
            0 => self.deactivate(q, store, line),
            _ => self.ring.at(q).credit -= i64::from(bytes) << Q::BYTE,
        }
    }

    /// The queue leaves the ring and loses its credit; if it had the turn, the turn moves on.
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
