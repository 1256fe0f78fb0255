//! Random discard: when the buffer is full, a random queue among those above their equal part of the buffer loses its
//! front packet.
//!
//! Finding the longest queue needs an index that every packet changes. This policy keeps no index: it draws one of the
//! queues with more than b / n of the buffer b, each with the same probability. A queue within its part loses no
//! packets, as with longest-queue drop. But the losses of an overflow are spread over all queues above their part, and
//! a queue far above its part loses no more often than one just above it.
//!
//! ```text
//! drawn among             the queues longer than b / n, n all queues
//! no queue is so long     the newcomer's queue; the newcomer, if that is empty (it needs more bytes than are free)
//! ```
//!
//! State: a random stream. A packet has no cost, and an overflow costs a pass over all queues.
//!
//! Source: B. Suter, T. V. Lakshman, D. Stiliadis, A. K. Choudhury, "Buffer management schemes for supporting TCP in
//! gigabit routers with per-flow queueing", IEEE Journal on Selected Areas in Communications 17(6), 1999 (random drop,
//! RND, from the front, under frame-based fair queueing). There n is the number of flows that are set up. Here it is
//! the number of queues so far, or the number of queues of the mapper.

use crate::pieces::drop::{DropPolicy, End, Eviction, PolicyEntry, Scene};
use crate::pieces::store::QueueId;
use tailback_base::{Model, Packet, Stream};

/// The declaration of the policy alone, for use with any scheduler.
pub static MODEL: Model = Model {
    name: "random-discard",
    family: "policy",
    title: "Random discard",
    summary: "When the buffer is full, one queue, drawn from those above an equal part of the buffer, loses its front \
              packet.",
    source: "Suter, Lakshman, Stiliadis and Choudhury 1999",
    params: &[],
    probes: &[],
};

/// The registry entry of this drop policy.
pub const fn entry<P: Packet + 'static>() -> PolicyEntry<P> {
    PolicyEntry {
        model: &MODEL,
        build: |_, _, context| Ok(Box::new(RandomDiscard { stream: context.stream })),
    }
}

/// The policy that drops packets from a random long queue.
#[derive(Clone, Debug)]
pub struct RandomDiscard {
    stream: Stream,
}

impl<P: Packet> DropPolicy<P> for RandomDiscard {
    fn evict(&mut self, newcomer: QueueId, scene: &mut Scene<P>) -> Option<Eviction> {
        let (store, n) = (scene.store, scene.queues.max(newcomer.saturating_add(1)));
        let is_above = |q: &QueueId| {
            let length = store.length(*q).unwrap_or(0);
            u128::from(length) * u128::from(n) > u128::from(store.limit())
        };
        let queues_above = (0..store.queues()).filter(is_above).count();
        let drawn_queue = match queues_above {
            0 => Some(newcomer).filter(|q| store.packets(*q) > 0),
            _ => (0..store.queues())
                .filter(is_above)
                .nth(self.stream.below(queues_above as u64) as usize),
        };
        drawn_queue.map(|q| Eviction::one(q, End::Front))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::testing::{Bench, TestPacket};
    use crate::pieces::classify::per_flow::PerFlow;
    use crate::pieces::port::Port;
    use crate::pieces::schedule::round_robin::RoundRobin;
    use tailback_base::Size;

    type Discarding = Bench<Port<TestPacket, PerFlow, RoundRobin, RandomDiscard>>;

    fn bench(buffer: Size, seed: u64) -> Discarding {
        let policy = RandomDiscard {
            stream: Stream::new(seed, "test"),
        };
        Bench::new(Port::new(buffer, PerFlow::new(), RoundRobin::default(), policy))
    }

    fn fill(b: &mut Discarding, flow: u32, bytes: u32, packets: u32) {
        for i in 0..packets {
            b.arrive(TestPacket::new(u64::from(1000 * flow + i), flow, bytes));
        }
    }

    /// The number of packets of this flow that were lost.
    fn losses(b: &Discarding, flow: u32) -> usize {
        b.log.dropped.iter().filter(|d| d.0.flow == flow).count()
    }

    /// The part of each of four queues in a buffer of 40 packets is 10 packets. Queues of 24 and 12 packets are above
    /// this and lose packets equally often. A queue of 4 packets and that of the arriving packet lose none.
    #[test]
    fn queues_above_their_part_lose_equally_often() {
        let mut lost = [0; 4];
        for seed in 0..200 {
            let mut b = bench(Size::Packets(40), seed);
            for (flow, packets) in [(0, 24), (1, 12), (2, 4), (3, 2)] {
                fill(&mut b, flow, 1000, packets);
            }
            (0..4).for_each(|flow| lost[flow as usize] += losses(&b, flow));
        }
        assert_eq!((lost[0] + lost[1], &lost[2..]), (400, &[0, 0][..]));
        // The bound is 4 standard deviations of 400 draws.
        assert!(lost[0].abs_diff(200) < 40, "{lost:?}");
    }

    /// The packet at the front is lost, so packets are lost in the order of arrival.
    #[test]
    fn the_front_packet_is_lost() {
        let mut b = bench(Size::Packets(4), 1);
        fill(&mut b, 0, 1000, 4);
        fill(&mut b, 1, 1000, 3);
        let ids: Vec<u64> = b.log.dropped.iter().map(|d| d.0.id).collect();
        assert_eq!(ids[..2], [0, 1]);
        assert_eq!(b.backlog().packets, 4);
    }

    /// Two queues each have their part of a buffer of 4 packets. So the queue of the arriving packet loses a packet.
    #[test]
    fn a_flow_at_its_part_pays_itself() {
        let mut b = bench(Size::Packets(4), 1);
        fill(&mut b, 0, 1000, 2);
        fill(&mut b, 1, 1000, 2);
        fill(&mut b, 1, 1000, 1);
        assert_eq!((losses(&b, 0), losses(&b, 1)), (0, 1));
    }

    /// In a buffer in bytes, several packets may have to be dropped for an arriving packet, but no more than necessary
    /// are dropped.
    #[test]
    fn a_buffer_of_bytes_makes_room_and_no_more() {
        let mut b = bench(Size::Bytes(10_000), 1);
        fill(&mut b, 0, 500, 20);
        fill(&mut b, 1, 1500, 1);
        assert_eq!((losses(&b, 0), b.backlog().bytes), (3, 10_000));
        // No queue is above its part of 2500 B, and the queue of the arriving packet is empty, so the arriving packet
        // is dropped.
        let mut b = bench(Size::Bytes(10_000), 1);
        (0..3).for_each(|flow| fill(&mut b, flow, 2400, 1));
        fill(&mut b, 3, 2900, 1);
        assert_eq!((losses(&b, 3), b.backlog().packets), (1, 3));
    }
}
