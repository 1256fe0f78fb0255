//! Shares of the free space: a queue may take half of the free space, and when little space is free, no more than an
//! equal part of the whole buffer.
//!
//! A single queue gets a third of the buffer. The more queues have packets, the less each queue gets. The space that is
//! free when all queues have their shares is never used. This is the disadvantage of a rule that needs neither a search
//! nor state. The rule counts packets.
//!
//! ```text
//! left = buffer - stored      left = 0: drop (overflow)
//! queue >= floor(left / 2), or left < number of queues and queue > floor(buffer / number of queues): drop (percap)
//! ```
//!
//! State: none. A packet costs two comparisons. Stored packets are never evicted.
//!
//! Source: the rule of the public ns-2 class of stochastic fairness queueing.

use crate::contract::discipline::DropReason;
use crate::pieces::drop::{DropPolicy, Eviction, PolicyEntry, Scene};
use crate::pieces::store::QueueId;
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, Size};

/// The declaration of the policy alone, for use with any scheduler.
pub static MODEL: Model = Model {
    name: "fair-share",
    family: "policy",
    title: "Shares by what is left",
    summary: "A packet is refused if its queue holds at least half of the free space. While the free space is less \
              than a packet for each queue, it is also refused if its queue holds more than an equal part of the \
              buffer.",
    source: "ns-2 SFQ",
    params: &[],
    probes: &[],
};

/// The registry entry of this drop policy.
pub const fn entry<P: Packet + 'static>() -> PolicyEntry<P> {
    PolicyEntry {
        model: &MODEL,
        build: |_, buffer, _| Ok(Box::new(FairShare::new(buffer)?)),
    }
}

/// The policy that refuses arrivals at a queue that already has its share.
#[derive(Clone, Copy, Debug)]
pub struct FairShare(());

impl FairShare {
    /// # Errors
    /// A buffer in bytes.
    pub fn new(buffer: Size) -> Result<FairShare, Refusal> {
        match buffer {
            Size::Packets(_) | Size::Unlimited => Ok(FairShare(())),
            Size::Bytes(_) => Err(Refusal::new(
                format!("buffer = \"{buffer}\" is in bytes, but the shares of the free space are counted in packets"),
                "give the buffer in packets, or let the longest queue lose packets",
            )),
        }
    }
}

impl<P: Packet> DropPolicy<P> for FairShare {
    fn refuse(&mut self, q: QueueId, _p: &P, scene: &mut Scene<P>) -> Option<DropReason> {
        let (free, queues) = (scene.store.free(), u64::from(scene.queues.max(1)));
        if free == 0 {
            return Some(DropReason::Overflow);
        }
        let length = u64::from(scene.store.packets(q));
        let short = free < queues && length > scene.store.limit() / queues;
        (length >= free / 2 || short).then_some(DropReason::Percap)
    }
    fn evict(&mut self, _newcomer: QueueId, _scene: &mut Scene<P>) -> Option<Eviction> {
        None
    }
    fn evicts(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::testing::{Bench, TestPacket};
    use crate::pieces::classify::per_flow::Even;
    use crate::pieces::port::Port;
    use crate::pieces::schedule::round_robin::RoundRobin;

    /// The number of stored packets of each of this number of flows, after packets of these flows have arrived in turn
    /// while the line did not send.
    fn held(flows: u32) -> Vec<u64> {
        let policy = FairShare::new(Size::Packets(40)).unwrap();
        let port = Port::new(Size::Packets(40), Even::new(16), RoundRobin::default(), policy);
        let mut b = Bench::new(port);
        for id in 0..2000 {
            b.arrive(TestPacket::new(id, id as u32 % flows, 500));
        }
        let mut held = vec![0; flows as usize];
        while let Some(p) = b.take() {
            held[p.flow as usize] += 1;
        }
        held
    }

    #[test]
    fn shares_of_forty_packets_in_sixteen_queues() {
        assert_eq!(held(1), [13]);
        assert_eq!(held(2), [10, 10]);
        assert_eq!(held(3), [8, 8, 8]);
        assert_eq!(held(4), [7, 6, 6, 6]);
        assert_eq!(held(5), [5; 5]);
        let sixteen = held(16);
        assert_eq!(sixteen.iter().sum::<u64>(), 35);
        assert_eq!((&sixteen[..3], &sixteen[3..]), (&[3; 3][..], &[2; 13][..]));
    }

    #[test]
    fn the_reason_is_the_share_or_the_end_of_the_buffer() {
        let policy = FairShare::new(Size::Packets(2)).unwrap();
        let mut b = Bench::new(Port::new(Size::Packets(2), Even::new(1), RoundRobin::default(), policy));
        for id in 0..2 {
            b.arrive(TestPacket::new(id, 0, 500));
        }
        assert_eq!(b.log.drops(DropReason::Percap), [1], "1 >= floor(1 / 2)");
        assert!(FairShare::new(Size::Bytes(40_000)).is_err());
    }
}
