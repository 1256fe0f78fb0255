//! Strict priority: among the queues with packets, the one with the largest weight is served first, however long the
//! others wait.
//!
//! The weight of a flow is its priority. Queues of equal weight are served in turn, packet by packet. A class that is
//! always active starves all classes with a smaller weight. This is inherent, so the discipline should only be used
//! behind an edge that polices traffic.
//!
//! From: A. Cobham, "Priority assignment in waiting line problems", Operations Research 2, 1954; L. Kleinrock,
//! "Queueing systems", volume 2, 1976, chapter 3 ("head of the line").
//!
//! State: a heap of the queues with packets, by weight and then by turn; a counter of turns. The weight of a queue is
//! that of its first packet, read when the queue becomes active and after each packet. A packet costs O(log n).

use crate::contract::discipline::Line;
use crate::pieces::index::tag_heap::TagHeap;
use crate::pieces::schedule::{Scheduler, SchedulerEntry, ServiceOrder, Turn};
use crate::pieces::store::{QueueId, Store};
use tailback_base::{Model, Packet};

pub static MODEL: Model = Model {
    name: "priority",
    family: "scheduler",
    title: "Strict priority",
    summary: "Of the queues that have a packet, the one with the largest weight is served. Queues of the same weight \
              take turns.",
    source: "Cobham 1954; Kleinrock, Queueing Systems, volume 2, 1976, chapter 3",
    params: &[],
    probes: &[],
};

/// The registry entry of this scheduler.
pub const fn entry<P: Packet + 'static>() -> SchedulerEntry<P> {
    SchedulerEntry {
        model: &MODEL,
        build: |_, _| Ok(Box::new(Priority::default())),
    }
}

/// The scheduler that serves queues by weight, and queues of equal weight in turn.
#[derive(Clone, Debug, Default)]
pub struct Priority {
    waiting: TagHeap<(u64, u64)>,
    turns: u64,
}

impl Priority {
    /// Insert the queue after all other queues of its weight.
    fn line_up<P: Packet>(&mut self, q: QueueId, store: &Store<P>) {
        if let Some(p) = store.head(q).and_then(|slot| store.packet(slot)) {
            // Positive numbers have the same order as their bits.
            let lightness = u64::MAX - p.weight().to_bits();
            self.turns += 1;
            self.waiting.set(q, (lightness, self.turns));
        }
    }
}

impl ServiceOrder for Priority {}

impl<P: Packet> Scheduler<P> for Priority {
    fn activate(&mut self, q: QueueId, store: &Store<P>, _line: &Line) {
        self.line_up(q, store);
    }

    fn next(&mut self, _store: &Store<P>, _line: &Line) -> Turn {
        Turn::of(self.waiting.min().map(|(_, q)| q))
    }

    fn served(&mut self, q: QueueId, _bytes: u32, store: &Store<P>, line: &Line) {
        match store.packets(q) {
            0 => self.deactivate(q, store, line),
            _ => self.line_up(q, store),
        }
    }

    fn deactivate(&mut self, q: QueueId, _store: &Store<P>, _line: &Line) {
        self.waiting.remove(q);
    }
}

#[cfg(test)]
mod tests {
    use crate::contract::build_context::BuildContext;
    use crate::contract::discipline::QueueDiscipline;
    use crate::contract::testing::{Bench, TestPacket};
    use crate::registry::Registry;
    use tailback_base::{BitRate, Duration, Settings, Stream};

    /// A port with this scheduler and a queue for each flow.
    fn bench(buffer: &str) -> Bench<Box<dyn QueueDiscipline<TestPacket>>> {
        let settings = Settings::defaults(&crate::ports::tdrr::MODEL)
            .with("buffer", buffer)
            .with("scheduler", "priority");
        let context = BuildContext {
            stream: Stream::new(1, "test"),
            rate: BitRate(1_000_000),
            delay: Duration::ZERO,
        };
        let built = Registry::standard().build(&settings, context);
        Bench::new(built.unwrap_or_else(|e| panic!("{e:?}")))
    }

    fn packet(id: u64, flow: u32, weight: f64) -> TestPacket {
        TestPacket {
            weight,
            ..TestPacket::new(id, flow, 500)
        }
    }

    #[test]
    fn the_heaviest_goes_first_and_equals_take_turns() {
        let mut b = bench("100 packets");
        for (id, (flow, weight)) in [(1, 1.0), (1, 1.0), (2, 4.0), (2, 4.0), (3, 4.0), (3, 4.0), (4, 0.5)]
            .into_iter()
            .enumerate()
        {
            b.arrive(packet(id as u64, flow, weight));
        }
        let first = b.take().map(|p| p.flow);
        assert_eq!(first, Some(2));
        // A packet of a flow with a larger weight overtakes all waiting packets.
        b.arrive(packet(7, 5, 9.0));
        assert_eq!(b.drain(), [7, 4, 3, 5, 0, 1, 6]);
    }

    /// A class that is always active starves the others.
    #[test]
    fn a_busy_class_starves_the_rest() {
        let mut b = bench("100 packets");
        b.arrive(packet(0, 1, 1.0));
        for id in 1..50 {
            b.arrive(packet(id, 2, 2.0));
            assert_eq!(b.take().map(|p| p.id), Some(id));
        }
        assert_eq!(b.drain(), [0]);
    }

    /// A queue whose last packet was evicted has no turn.
    #[test]
    fn an_emptied_queue_has_no_turn() {
        let mut b = bench("3 packets");
        b.arrive(packet(0, 1, 1.0));
        for id in 1..10 {
            b.arrive(packet(id, 2, 2.0));
        }
        assert_eq!(b.drain().len(), 3);
        assert!(b.take().is_none());
    }
}
