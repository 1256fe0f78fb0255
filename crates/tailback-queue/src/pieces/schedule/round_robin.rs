//! Round robin: the queues are served in turn, one packet per turn.
//!
//! This is the oldest way to share a line. It is fair if all packets have the same size. Otherwise bytes are shared in
//! proportion to the packet sizes. A queue that becomes active is inserted at the end of the round, just before the
//! queue with the turn.
//!
//! From: J. Nagle, "On packet switches with infinite storage", RFC 970, 1985; P. E. McKenney, "Stochastic fairness
//! queueing", INFOCOM 1990, which serves its hashed queues in this way.
//!
//! State: a list of the queues with packets; the first one has the turn. A packet costs O(1).

use crate::contract::discipline::Line;
use crate::pieces::index::queue_list::QueueList;
use crate::pieces::schedule::{Scheduler, SchedulerEntry, ServiceOrder, Turn};
use crate::pieces::store::{QueueId, Store};
use tailback_base::{Model, Packet};

pub static MODEL: Model = Model {
    name: "round-robin",
    family: "scheduler",
    title: "Round robin",
    summary: "The queues take turns, a packet a turn.",
    source: "RFC 970; McKenney 1990",
    params: &[],
    probes: &[],
};

/// The registry entry of this scheduler.
pub const fn entry<P: Packet + 'static>() -> SchedulerEntry<P> {
    SchedulerEntry {
        model: &MODEL,
        build: |_, _| Ok(Box::new(RoundRobin::default())),
    }
}

/// The queues with packets, in the order of their turns.
#[derive(Clone, Debug, Default)]
pub struct RoundRobin {
    waiting: QueueList,
}

impl ServiceOrder for RoundRobin {
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

impl<P: Packet> Scheduler<P> for RoundRobin {
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

    /// A port with longest-queue drop and a queue for each flow.
    fn bench(buffer: &str) -> Bench<Queue> {
        let settings = Settings::defaults(&crate::ports::drr::MODEL)
            .with("buffer", buffer)
            .with("scheduler", "round-robin");
        let context = BuildContext {
            stream: Stream::new(1, "test"),
            rate: BitRate(1_000_000),
            delay: Duration::ZERO,
        };
        Bench::new(registry::build(&settings, context).unwrap_or_else(|e| panic!("{e:?}")))
    }

    fn arrive(b: &mut Bench<Queue>, flows: &[u32]) {
        let from = b.log.dropped.len() as u64 + b.backlog().packets;
        for (id, flow) in (from..).zip(flows) {
            // The sizes do not change the order.
            b.arrive(TestPacket::new(id, *flow, 100 + 700 * flow));
        }
    }

    #[test]
    fn a_packet_a_turn_whatever_its_size() {
        let mut b = bench("100 packets");
        arrive(&mut b, &[1, 1, 1, 1, 2, 2, 3]);
        assert_eq!(b.flows(7), [1, 2, 3, 1, 2, 1, 1]);
    }

    /// A queue that becomes active is the last one of the round: after all other queues, and just before the queue with
    /// the turn.
    #[test]
    fn who_wakes_is_last_in_the_round() {
        let mut b = bench("100 packets");
        arrive(&mut b, &[1, 1, 1, 2, 2, 3, 3]);
        assert_eq!(b.flows(1), [1]);
        arrive(&mut b, &[4]);
        assert_eq!(b.flows(7), [2, 3, 1, 4, 2, 3, 1]);
    }

    /// A queue whose last packet is evicted for an arriving one has no turn any more, even if it had the present turn.
    #[test]
    fn an_emptied_queue_has_no_turn() {
        let mut b = bench("2 packets");
        arrive(&mut b, &[1, 2, 3, 4]);
        assert_eq!(b.drain().len(), 2);
        assert!(b.take().is_none());
    }
}
