//! Weighted round robin: the queues are served in turn, each with a number of packets in proportion to its weight.
//!
//! This is the simplest way to share a line by weight. It needs one counter, no packet sizes and no sorting. It shares
//! packets and not bytes, so a flow with large packets gets more bytes than its weight says. Deficit round robin
//! ([`drr`](super::drr)) avoids this. In both disciplines, a queue with a large weight sends its whole share at once.
//!
//! ```text
//! packets of a turn = weight / least weight seen so far, rounded to a whole number, at least 1
//! ```
//!
//! From: M. Katevenis, S. Sidiropoulos, C. Courcoubetis, "Weighted round-robin cell multiplexing in a general-purpose
//! ATM switch chip", IEEE Journal on Selected Areas in Communications 9(8), 1991, where all cells have one size.
//!
//! State: a list of the queues with packets, of which the first has the turn; the number of packets that this queue may
//! still send; the weights. A packet costs O(1).
//!
//! Departures: the weights are read from the packets. So with a new smallest weight, all later turns become longer.
//! Weights that are not whole multiples of the smallest one are rounded, so the shares are rounded too.

use crate::contract::discipline::Line;
use crate::pieces::index::queue_list::QueueList;
use crate::pieces::schedule::{Scheduler, SchedulerEntry, ServiceOrder, Turn};
use crate::pieces::store::{PerQueue, QueueId, Store};
use tailback_base::{Model, Packet};

pub static MODEL: Model = Model {
    name: "wrr",
    family: "scheduler",
    title: "Weighted round robin",
    summary: "The queues take turns, with a number of packets in proportion to the flow's weight.",
    source: "Katevenis, Sidiropoulos and Courcoubetis 1991",
    params: &[],
    probes: &[],
};

/// The registry entry of this scheduler.
pub const fn entry<P: Packet + 'static>() -> SchedulerEntry<P> {
    SchedulerEntry {
        model: &MODEL,
        build: |_, _| Ok(Box::new(WeightedTurns::default())),
    }
}

/// The queues with packets, in the order of their turns.
#[derive(Clone, Debug)]
pub struct WeightedTurns {
    waiting: QueueList,
    /// The packets that the queue with the turn may still send; 0 if its turn has not begun.
    left: u32,
    /// The weight of the last packet of each queue.
    weight: PerQueue<f64>,
    least: f64,
}

impl Default for WeightedTurns {
    fn default() -> Self {
        WeightedTurns {
            waiting: QueueList::default(),
            left: 0,
            weight: PerQueue::default(),
            least: f64::INFINITY,
        }
    }
}

impl WeightedTurns {
    /// The number of packets in a turn of this queue.
    fn packets(&self, q: QueueId) -> u32 {
        libm::round(self.weight.get(q) / self.least).clamp(1.0, f64::from(u32::MAX)) as u32
    }
}

impl ServiceOrder for WeightedTurns {
    fn turn(&self) -> Option<QueueId> {
        self.waiting.first()
    }

    fn after(&self, q: QueueId) -> Option<QueueId> {
        match self.waiting.holds(q) {
            true => self.waiting.after(q).or(self.waiting.first()),
            false => None,
        }
    }
}

impl<P: Packet> Scheduler<P> for WeightedTurns {
    fn appended(&mut self, q: QueueId, slot: u32, store: &Store<P>, _line: &Line) {
        if let Some(p) = store.packet(slot) {
            *self.weight.at(q) = p.weight();
            self.least = self.least.min(p.weight());
        }
    }

    fn activate(&mut self, q: QueueId, _store: &Store<P>, _line: &Line) {
        self.waiting.push(q);
    }

    fn next(&mut self, _store: &Store<P>, _line: &Line) -> Turn {
        let Some(q) = self.waiting.first() else {
            return Turn::Empty;
        };
        if self.left == 0 {
            self.left = self.packets(q);
        }
        Turn::Queue(q)
    }

    fn served(&mut self, q: QueueId, _bytes: u32, store: &Store<P>, line: &Line) {
        self.left = self.left.saturating_sub(1);
        if store.packets(q) == 0 {
            self.deactivate(q, store, line);
        } else if self.left == 0 {
            self.waiting.remove(q);
            self.waiting.push(q);
        }
    }

    fn deactivate(&mut self, q: QueueId, _store: &Store<P>, _line: &Line) {
        if self.waiting.first() == Some(q) {
            self.left = 0;
        }
        self.waiting.remove(q);
    }
}

#[cfg(test)]
mod tests {
    use crate::contract::build_context::BuildContext;
    use crate::contract::testing::{Bench, Queue};
    use crate::registry;
    use tailback_base::{BitRate, Duration, Settings, Stream};

    /// A port with a queue for each flow.
    fn bench(scheduler: &str) -> Bench<Queue> {
        let settings = Settings::defaults(&crate::ports::qsdrr::MODEL)
            .with("buffer", "5000 packets")
            .with("scheduler", scheduler);
        let context = BuildContext {
            stream: Stream::new(1, "test"),
            rate: BitRate(1_000_000),
            delay: Duration::ZERO,
        };
        Bench::new(registry::build(&settings, context).unwrap_or_else(|e| panic!("{e}")))
    }

    #[test]
    fn a_turn_has_as_many_packets_as_the_weight_has_units() {
        let mut b = bench("wrr");
        for (flow, weight) in [(1, 0.5), (2, 1.0), (3, 1.6)] {
            b.fill(flow, weight, 700, 20);
        }
        // The turns have 1, 2 and 3.2 packets, and the last number is rounded.
        assert_eq!(b.flows(12), [1, 2, 2, 3, 3, 3, 1, 2, 2, 3, 3, 3]);
    }

    /// A queue that becomes empty loses the rest of its turn. A queue that becomes active is the last one of the round.
    #[test]
    fn an_emptied_queue_saves_nothing() {
        let mut b = bench("wrr");
        b.fill(1, 1.0, 500, 5);
        b.fill(2, 4.0, 500, 2);
        assert_eq!(b.flows(4), [1, 2, 2, 1]);
        b.fill(2, 4.0, 500, 6);
        assert_eq!(b.flows(9), [1, 2, 2, 2, 2, 1, 2, 2, 1]);
        assert!(b.take().is_none());
    }

    /// Two flows with packets of 1500 and 500 B have equal weights. With turns of packets, the first flow gets three
    /// times the bytes of the second. With turns of bytes, both get the same.
    #[test]
    fn packets_are_shared_and_not_bytes() {
        for (scheduler, ratio) in [("wrr", 3.0), ("wdrr", 1.0)] {
            let mut b = bench(scheduler);
            b.fill(1, 1.0, 1500, 1000);
            b.fill(2, 1.0, 500, 3000);
            let mut bytes = [0.0, 0.0];
            for _ in 0..1000 {
                let p = b.take().unwrap();
                bytes[p.flow as usize - 1] += f64::from(p.bytes);
            }
            assert!((bytes[0] / bytes[1] - ratio).abs() < 0.02, "{scheduler}: {bytes:?}");
        }
    }
}
