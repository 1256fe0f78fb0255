//! Deficit round robin: the queues take turns, in bytes.
//!
//! Non-empty queues stand in a ring. A queue whose turn it is gets a quantum of credit, sends packets while its credit
//! covers the packet at its front, keeps the rest for its next turn, and the turn moves on. A queue that empties loses its
//! credit: nobody saves up while away. With a quantum of at least the largest packet each turn sends something, so a packet
//! costs O(1); a smaller quantum is as fair in the long run and costs the turns in which nothing is sent.
//!
//! ```text
//! 0 <= credit < largest packet          after each turn that ends with packets left
//! |sent_a - sent_b| <= quantum + 2 largest packets   while both stay backlogged, with equal quanta
//! ```
//!
//! State: for each queue two links of the ring and its credit in bytes, 16 bytes; which queue has the turn; whether it was
//! already given its quantum for this turn.
//!
//! Source: M. Shreedhar and G. Varghese, "Efficient fair queuing using deficit round-robin", SIGCOMM 1995;
//! `spec/multi-queue-buffers.md` 2.3. Departure from ns-2: "already given" belongs to the turn, not to the queue, so a
//! queue that is emptied by an eviction during its turn cannot come back with a stale flag and miss a quantum. Quanta may
//! differ by queue, which is weighted DRR (2.10).

use super::arena::NONE;
use super::pieces::{Scheduler, ServiceOrder};
use super::store::{PerQueue, QueueId, Store};
use crate::discipline::Line;
use tailback_base::{Kind, Packet, Param};

/// Said once for the models served by DRR.
pub const QUANTUM: Param = Param::new(
    "quantum",
    Kind::Bytes {
        min: 64,
        max: 1_000_000_000,
    },
    "1500B",
    "The credit a queue gets with each turn; at least the largest packet, or turns pass without a packet.",
    "A3: the largest packet; ns-2's default is 250 B",
);

/// The ring of non-empty queues.
#[derive(Clone, Debug)]
pub struct Drr {
    quantum: u32,
    quanta: Vec<u32>,
    ring: PerQueue<Member>,
    turn: u32,
    /// The queue that has the turn has had its quantum for it.
    given: bool,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    prev: u32,
    /// `NONE` when the queue is not in the ring.
    next: u32,
    credit: u64,
}

impl Default for Member {
    fn default() -> Self {
        Member {
            prev: NONE,
            next: NONE,
            credit: 0,
        }
    }
}

impl Drr {
    /// Equal quanta, in bytes; 0 counts as 1.
    pub fn new(quantum: u32) -> Drr {
        Drr::weighted(quantum, Vec::new())
    }

    /// The quantum of each queue, in bytes; queues beyond the list get `quantum`.
    pub fn weighted(quantum: u32, quanta: Vec<u32>) -> Drr {
        Drr {
            quantum,
            quanta,
            ring: PerQueue::default(),
            turn: NONE,
            given: false,
        }
    }

    /// What the queue may still send, bytes.
    pub fn credit(&self, q: QueueId) -> u64 {
        self.ring.get(q).credit
    }

    fn quantum_of(&self, q: QueueId) -> u64 {
        u64::from(self.quanta.get(q as usize).copied().unwrap_or(self.quantum).max(1))
    }

    fn pass_turn(&mut self) {
        self.turn = self.ring.get(self.turn).next;
        self.given = false;
    }
}

impl ServiceOrder for Drr {
    fn turn(&self) -> Option<QueueId> {
        (self.turn != NONE).then_some(self.turn)
    }

    fn after(&self, q: QueueId) -> Option<QueueId> {
        Some(self.ring.get(q).next).filter(|q| *q != NONE)
    }
}

impl<P: Packet> Scheduler<P> for Drr {
    /// Last in the current round: just before the queue that has the turn.
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
        *self.ring.at(q) = Member { prev, next, credit: 0 };
        self.ring.at(prev).next = q;
        self.ring.at(next).prev = q;
    }

    fn next(&mut self, store: &Store<P>, _line: &Line) -> Option<QueueId> {
        loop {
            let q = self.turn()?;
            let quantum = if self.given { 0 } else { self.quantum_of(q) };
            self.given = true;
            let member = self.ring.at(q);
            member.credit += quantum;
            let bytes = u64::from(store.head_bytes(q));
            if bytes <= member.credit {
                member.credit -= bytes;
                return Some(q);
            }
            self.pass_turn();
        }
    }

    /// Leaves the ring and forgets its credit; a turn it had moves on.
    fn deactivate(&mut self, q: QueueId, _store: &Store<P>, _line: &Line) {
        let Member { prev, next, .. } = self.ring.get(q);
        if next == NONE {
            return;
        }
        self.ring.at(prev).next = next;
        self.ring.at(next).prev = prev;
        *self.ring.at(q) = Member::default();
        if self.turn == q {
            self.turn = if next == q { NONE } else { next };
            self.given = false;
        }
    }
}

#[cfg(test)]
#[path = "drr_tests.rs"]
mod tests;
