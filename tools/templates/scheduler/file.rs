//! __Title__: say in one sentence whose turn it is, and what that is good for.
//!
//! From: the paper or RFC, with its section.
//!
//! State: a list of the queues that hold packets, the one that has the turn first. A packet costs O(1).

use crate::contract::discipline::Line;
use crate::pieces::index::queue_list::QueueList;
use crate::pieces::schedule::{Scheduler, SchedulerEntry, ServiceOrder, Turn};
use crate::pieces::store::{QueueId, Store};
use tailback_base::{Model, Packet};

pub static MODEL: Model = Model {
    name: "__name__",
    family: "scheduler",
    title: "__Title__",
    summary: "The queues take turns, a packet a turn.",
    source: "the paper or RFC, with its section",
    params: &[],
    probes: &[],
};

/// The row of the list of schedulers.
pub const fn entry<P: Packet + 'static>() -> SchedulerEntry<P> {
    SchedulerEntry {
        model: &MODEL,
        build: |_, _| Ok(Box::new(__Type__::default())),
    }
}

/// The queues that hold packets, in the order of their turns.
#[derive(Clone, Debug, Default)]
pub struct __Type__ {
    waiting: QueueList,
}

impl ServiceOrder for __Type__ {
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

impl<P: Packet> Scheduler<P> for __Type__ {
    fn activate(&mut self, q: QueueId, _store: &Store<P>, _line: &Line) {
        self.waiting.push(q);
    }

    fn next(&mut self, _store: &Store<P>, _line: &Line) -> Turn {
        Turn::of(self.waiting.first())
    }

    fn served(&mut self, q: QueueId, _bytes: u32, store: &Store<P>, _line: &Line) {
        self.waiting.remove(q);
        if store.packets(q) > 0 {
            self.waiting.push(q);
        }
    }

    fn deactivate(&mut self, q: QueueId, _store: &Store<P>, _line: &Line) {
        self.waiting.remove(q);
    }
}

#[cfg(test)]
mod tests {
    use crate::contract::build_context::BuildContext;
    use crate::contract::testing::{Bench, Queue, TestPacket};
    use crate::registry;
    use tailback_base::{BitRate, Duration, Settings, Stream};

    /// A queue for each flow.
    fn bench() -> Bench<Queue> {
        let settings = Settings::defaults(&crate::ports::drr::MODEL)
            .with("buffer", "100 packets")
            .with("scheduler", "__name__");
        let context = BuildContext {
            stream: Stream::new(1, "test"),
            rate: BitRate(1_000_000),
            delay: Duration::ZERO,
        };
        Bench::new(registry::build(&settings, context).unwrap_or_else(|e| panic!("{e:?}")))
    }

    #[test]
    fn a_packet_a_turn() {
        let mut b = bench();
        for (id, flow) in [1, 1, 1, 2, 2, 3].into_iter().enumerate() {
            b.arrive(TestPacket::new(id as u64, flow, 1500));
        }
        let order: Vec<u32> = std::iter::from_fn(|| b.take()).map(|p| p.flow).collect();
        assert_eq!(order, [1, 2, 3, 1, 2, 1]);
    }
}
