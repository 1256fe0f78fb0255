//! SRR, smoothed round robin: round robin with integer weights, whose turns are spread as evenly as a binary code
//! allows, at constant cost.
//!
//! Weighted round robin serves the whole share of a queue at once. Here the weights are written in binary. For each
//! binary digit there is a column with the queues whose weight has a one in this position. A fixed sequence says which
//! column is served next: the highest column every second time, the next one every fourth time, and so on. So a queue
//! with weight 5 = 101 is visited in the turns of two columns, five times per round in total, and these visits are
//! spread over the round. There is no clock and no sorting, so a packet costs O(1) for any number of queues.
//!
//! ```text
//! WSS(1) = 1          WSS(k) = WSS(k - 1), k, WSS(k - 1)       read in a cycle; term n is 1 + trailing zeros of n
//! term t           walk column K - t, K - 1 being the highest that holds a queue
//! a visit          deficit += quantum, once; packets while the deficit covers them; then the next queue of the column
//! ```
//!
//! From: C. Guo, "SRR: an O(1) time complexity packet scheduler for flows in multi-service packet networks", SIGCOMM
//! 2001, for the matrix, the sequence, and the new position in the sequence when K changes by d (the position times
//! 2^d, or divided by it and rounded up). As in ns-2, the first queue of an empty set is visited at once. A queue that
//! enters the column being served is inserted just before the queue with the turn.
//!
//! State: the columns, 16 lists; for each queue its integer weight and deficit; the present visit (queue and column);
//! the position in the sequence. The weight of a queue is that of its flow in units of `granularity`, rounded down,
//! from 1 to 65535. It is read when the queue becomes active.
//!
//! Departures: a queue leaves its columns together with its last packet, whereas ns-2 keeps it until the next visit. A
//! weight below one unit counts as one unit, and a weight above 65535 units counts as 65535, because weights are read
//! from packets and cannot be refused.
//!
//! Cost of a packet: O(1). A visit in which no packet is sent, because the packet is larger than the credit, costs the
//! same.

use crate::contract::discipline::Line;
use crate::pieces::index::queue_list::QueueList;
use crate::pieces::schedule::drr::QUANTUM;
use crate::pieces::schedule::{Scheduler, SchedulerEntry, ServiceOrder, Turn};
use crate::pieces::store::{PerQueue, QueueId, Store};
use tailback_base::{Key, Kind, Model, Packet, Settings, params};

/// The declaration of the scheduler alone, for use with any drop policy.
pub static MODEL: Model = Model {
    name: "srr",
    family: "scheduler",
    title: "Smoothed round robin",
    summary: "In a round each queue has as many visits as its integer weight, spread over the round.",
    source: "Guo, SIGCOMM 2001",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    /// The credit of each visit.
    pub QUANTUM_OF_VISIT: u64 = Key::new(QUANTUM.param.name, QUANTUM.param.kind, "1500B",
        "The credit of a visit. If it is smaller than the largest packet, some visits pass without a packet.",
        "the largest packet; ns-2's mtu_ is 1000 B");
    pub GRANULARITY: f64 = Key::new("granularity", Kind::Real { min: 1e-6, max: 1e12 }, "1",
        "The weight that gives a flow one visit in each round. A flow has as many visits as its weight divided by \
         this, rounded down, but at least one.",
        "ns-2 granularity_, there 1000 bit/s of a rate");
}

/// The registry entry of this scheduler.
pub const fn entry<P: Packet + 'static>() -> SchedulerEntry<P> {
    SchedulerEntry {
        model: &MODEL,
        build: |s, _| Ok(Box::new(Srr::from_settings(s))),
    }
}

/// The number of binary digits of a weight.
const COLUMNS: usize = 16;

/// The present visit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Visit {
    queue: QueueId,
    column: usize,
    /// Whether the queue has already received its quantum in this visit.
    given: bool,
}

/// The scheduler, with the columns and the position in the sequence.
#[derive(Clone, Debug)]
pub struct Srr {
    /// The quantum, bytes.
    quantum: i64,
    granularity: f64,
    columns: Vec<QueueList>,
    /// The weight of each queue in units. For an empty queue, it is the weight of its last packet.
    weight: PerQueue<u16>,
    /// The deficit of each queue, bytes.
    deficit: PerQueue<i64>,
    /// The present visit; `None` between two columns, and if no packet waits.
    visit: Option<Visit>,
    /// One more than the highest column that has a queue.
    highest: usize,
    /// The position of the term that is read next, counted from 1.
    place: u64,
}

impl Srr {
    /// The scheduler with the settings of a model that declares its parameters.
    pub fn from_settings(s: &Settings) -> Srr {
        Srr {
            quantum: s.get(&QUANTUM_OF_VISIT) as i64,
            granularity: s.get(&GRANULARITY),
            columns: vec![QueueList::default(); COLUMNS],
            weight: PerQueue::default(),
            deficit: PerQueue::default(),
            visit: None,
            highest: 0,
            place: 1,
        }
    }

    fn columns_of(weight: u16) -> impl Iterator<Item = usize> {
        (0..COLUMNS).filter(move |c| weight & (1 << c) != 0)
    }

    /// Read the next term in the sequence of order `highest`, and return its column.
    fn read_term(&mut self) -> usize {
        let term = 1 + self.place.trailing_zeros() as usize;
        self.place = if self.place + 1 < 1 << self.highest {
            self.place + 1
        } else {
            1
        };
        self.highest - term
    }

    /// Move to the next queue to be visited, when a visit is over. At the end of a column, this is in another column.
    fn move_on(&mut self, next_in_column: Option<Visit>) {
        self.visit = next_in_column;
        while self.visit.is_none() && self.highest > 0 {
            let column = self.read_term();
            self.visit = self.columns[column].first().map(|queue| Visit {
                queue,
                column,
                given: false,
            });
        }
    }

    fn following(&self, visit: Visit) -> Option<Visit> {
        self.columns[visit.column].after(visit.queue).map(|queue| Visit {
            queue,
            given: false,
            ..visit
        })
    }

    /// The highest column has changed: compute the position in the sequence of the new order.
    fn reorder(&mut self) {
        let highest = (0..COLUMNS)
            .rev()
            .find(|c| !self.columns[*c].is_empty())
            .map_or(0, |c| c + 1);
        if highest >= self.highest {
            self.place <<= highest - self.highest;
        } else {
            self.place = self.place.div_ceil(1 << (self.highest - highest));
            if self.place >= 1 << highest {
                self.place = 1;
            }
        }
        self.highest = highest;
    }
}

impl ServiceOrder for Srr {}

impl<P: Packet> Scheduler<P> for Srr {
    fn appended(&mut self, q: QueueId, slot: u32, store: &Store<P>, _line: &Line) {
        if let Some(p) = store.packet(slot).filter(|_| store.packets(q) == 1) {
            let units = (p.weight() / self.granularity).clamp(1.0, f64::from(u16::MAX));
            *self.weight.at(q) = units as u16;
        }
    }

    fn activate(&mut self, q: QueueId, _store: &Store<P>, _line: &Line) {
        let weight = self.weight.get(q);
        if Srr::columns_of(weight).next().is_some_and(|c| self.columns[c].holds(q)) {
            return;
        }
        *self.deficit.at(q) = 0;
        let is_first = self.highest == 0;
        for column in Srr::columns_of(weight) {
            match self.visit {
                Some(v) if v.column == column => self.columns[column].insert_before(q, v.queue),
                _ => self.columns[column].push(q),
            }
        }
        if is_first {
            self.place = 1;
            self.highest = Srr::columns_of(weight).last().map_or(0, |c| c + 1);
            self.visit = Some(Visit {
                queue: q,
                column: self.highest - 1,
                given: false,
            });
        } else {
            self.reorder();
        }
    }

    fn next(&mut self, store: &Store<P>, _line: &Line) -> Turn {
        loop {
            if self.visit.is_none() {
                self.move_on(None);
            }
            let Some(visit) = &mut self.visit else {
                return Turn::Empty;
            };
            let deficit = self.deficit.at(visit.queue);
            if !std::mem::replace(&mut visit.given, true) {
                *deficit += self.quantum;
            }
            if i64::from(store.head_bytes(visit.queue)) <= *deficit {
                return Turn::Queue(visit.queue);
            }
            let over = *visit;
            self.move_on(self.following(over));
        }
    }

    /// An AQM may drop the packet for which the queue got the turn. If the next packet is larger and is sent, the
    /// deficit becomes negative.
    fn served(&mut self, q: QueueId, bytes: u32, store: &Store<P>, line: &Line) {
        match store.packets(q) {
            0 => self.deactivate(q, store, line),
            _ => *self.deficit.at(q) -= i64::from(bytes),
        }
    }

    /// The queue leaves its columns and loses its deficit. If it is being visited, the next queue of the column is
    /// visited.
    fn deactivate(&mut self, q: QueueId, _store: &Store<P>, _line: &Line) {
        if let Some(visit) = self.visit.filter(|v| v.queue == q) {
            self.visit = self.following(visit);
        }
        for column in Srr::columns_of(self.weight.get(q)) {
            self.columns[column].remove(q);
        }
        *self.deficit.at(q) = 0;
        self.reorder();
    }
}

#[cfg(test)]
#[path = "srr_tests.rs"]
mod tests;
