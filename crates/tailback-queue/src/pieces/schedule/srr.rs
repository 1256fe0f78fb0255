//! SRR, smoothed round robin: turns by integer weights, spread as evenly as a binary code allows, at constant cost.
//!
//! Weighted round robin sends the whole share of a queue at once. Here the weights are written in binary, and a
//! column holds the queues whose weight has a one in that position. A fixed sequence says which column is walked
//! next: the highest column every second time, the next one every fourth time, and so on. So a queue with weight 5 =
//! 101 is visited in the turns of two columns, five times per round in total, and these visits are spread out. There
//! is no clock and no sorting: a packet costs O(1) for any number of queues.
//!
//! ```text
//! WSS(1) = 1          WSS(k) = WSS(k - 1), k, WSS(k - 1)       read in a cycle; term n is 1 + trailing zeros of n
//! term t           walk column K - t, K - 1 being the highest that holds a queue
//! a visit          deficit += quantum, once; packets while the deficit covers them; then the next queue of the column
//! ```
//!
//! From: C. Guo, "SRR: an O(1) time complexity packet scheduler for flows in multi-service packet networks", SIGCOMM
//! 2001: the matrix, the sequence, and the place in it when K changes by d (times 2^d, or divided and rounded up). As
//! in ns-2, the first queue of an empty set is visited at once, and a queue joins the column that is being walked
//! just before the queue with the turn.
//!
//! State: the columns, 16 lists; for each queue its integer weight and deficit; the present visit (queue and column);
//! the place in the sequence. The weight of a queue is that of its flow in units of `granularity`, rounded down, from
//! 1 to 65535, and is read when the queue becomes active.
//!
//! Departures: a queue leaves together with its last packet, whereas ns-2 keeps it until the next visit. A weight
//! below the unit counts as one unit, and one above 65535 units as 65535, because weights come with packets and
//! cannot be refused.
//!
//! Cost of a packet: O(1); a visit that sends nothing, because the packet is larger than the quantum, costs the same.

use crate::contract::discipline::Line;
use crate::pieces::index::queue_list::QueueList;
use crate::pieces::schedule::drr::QUANTUM;
use crate::pieces::schedule::{Scheduler, SchedulerEntry, ServiceOrder, Turn};
use crate::pieces::store::{PerQueue, QueueId, Store};
use tailback_base::{Key, Kind, Model, Packet, Settings, params};

/// The scheduler alone, for use below a drop policy of another name.
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

/// Binary digits of a weight.
const COLUMNS: usize = 16;

/// The present visit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Visit {
    queue: QueueId,
    column: usize,
    /// Whether it already got its quantum.
    given: bool,
}

/// The columns and the place in the sequence.
#[derive(Clone, Debug)]
pub struct Srr {
    /// Bytes.
    quantum: i64,
    granularity: f64,
    columns: Vec<QueueList>,
    /// Weights in units, for queues that hold packets; for others the weight of their last packet.
    weight: PerQueue<u16>,
    /// Bytes.
    deficit: PerQueue<i64>,
    /// `None` between two columns, and if no packet waits.
    visit: Option<Visit>,
    /// One more than the highest column that holds a queue.
    highest: usize,
    /// The place of the term that is read next, counted from 1.
    place: u64,
}

impl Srr {
    /// Reads the settings of a model that declares its parameters.
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

    /// The column of the term that is next in the sequence of order `highest`.
    fn read_term(&mut self) -> usize {
        let term = 1 + self.place.trailing_zeros() as usize;
        self.place = if self.place + 1 < 1 << self.highest {
            self.place + 1
        } else {
            1
        };
        self.highest - term
    }

    /// The next queue to be visited, when a column ends or a visit is over.
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

    /// The highest column has changed: find the place in the sequence of the new order.
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
        let first = self.highest == 0;
        for column in Srr::columns_of(weight) {
            match self.visit {
                Some(v) if v.column == column => self.columns[column].insert_before(q, v.queue),
                _ => self.columns[column].push(q),
            }
        }
        if first {
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

    /// An AQM may drop the packet for which the queue got the turn; if the next one is larger, sending it leaves a
    /// debt.
    fn served(&mut self, q: QueueId, bytes: u32, store: &Store<P>, line: &Line) {
        match store.packets(q) {
            0 => self.deactivate(q, store, line),
            _ => *self.deficit.at(q) -= i64::from(bytes),
        }
    }

    /// The queue leaves its columns and loses its deficit; a present visit passes to the next queue of the column.
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
