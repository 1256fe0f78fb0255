//! A limit for each queue: no queue may become longer, however empty the other queues are.
//!
//! This is the simplest way to divide a buffer. No flow can take another flow's space, but unused space of one queue
//! cannot be used by the others. An arrival at a full queue is dropped (percap); an arrival at a full buffer is dropped
//! (overflow).
//!
//! State: none. A packet costs one comparison. Stored packets are never evicted.
//!
//! Source: complete partitioning in F. Kamoun and L. Kleinrock, "Analysis of shared finite storage in a computer
//! network node environment under general traffic conditions", IEEE Transactions on Communications 28 (7), 1980.

use crate::contract::capacity;
use crate::contract::discipline::DropReason;
use crate::pieces::drop::{DropPolicy, Eviction, PolicyEntry, Scene};
use crate::pieces::store::QueueId;
use tailback_base::{Key, Kind, Model, Packet, Settings, Size, params};

/// The declaration of the policy alone, for use with any scheduler.
pub static MODEL: Model = Model {
    name: "queue-limit",
    family: "policy",
    title: "A limit for each queue",
    summary: "A packet that arrives at a full queue is dropped, whatever the other queues hold.",
    source: "Kamoun and Kleinrock 1980",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    pub LIMIT: Size = Key::new("queue_limit", Kind::Size, "50 packets",
        "How much may wait in each queue, in packets or bytes.", "ns-2");
}

/// The registry entry of this drop policy.
pub const fn entry<P: Packet + 'static>() -> PolicyEntry<P> {
    PolicyEntry {
        model: &MODEL,
        build: |s, _, _| Ok(Box::new(QueueLimit::from_settings(s))),
    }
}

/// The policy that refuses arrivals at a full queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueLimit {
    limit: Size,
}

impl QueueLimit {
    /// Reads the settings of a model that declares its parameter.
    pub fn from_settings(s: &Settings) -> QueueLimit {
        QueueLimit { limit: s.get(&LIMIT) }
    }
}

impl<P: Packet> DropPolicy<P> for QueueLimit {
    fn refuse(&mut self, q: QueueId, p: &P, scene: &mut Scene<P>) -> Option<DropReason> {
        if !scene.store.fits(scene.store.cost(p)) {
            return Some(DropReason::Overflow);
        }
        let fits = capacity::fits(self.limit, scene.store.backlog_of(q), p.bytes());
        (!fits).then_some(DropReason::Percap)
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
    use crate::pieces::classify::per_flow::PerFlow;
    use crate::pieces::port::Port;
    use crate::pieces::schedule::round_robin::RoundRobin;

    #[test]
    fn each_queue_has_its_limit_and_the_buffer_its_own() {
        for (limit, holds) in [("3 packets", 3), ("2000B", 4), ("2499B", 4)] {
            let policy = QueueLimit::from_settings(&Settings::defaults(&MODEL).with("queue_limit", limit));
            let mut b = Bench::new(Port::new(
                Size::Packets(10),
                PerFlow::new(),
                RoundRobin::default(),
                policy,
            ));
            for id in 0..30 {
                b.arrive(TestPacket::new(id, (id / 6) as u32, 500));
            }
            assert_eq!(b.log.drops(DropReason::Percap).first(), Some(&holds), "{limit}");
            assert_eq!(b.backlog().packets, 10, "{limit}: the buffer");
            assert_eq!(
                b.log.drops(DropReason::Percap).len() + b.log.drops(DropReason::Overflow).len(),
                20
            );
            assert!(!b.log.drops(DropReason::Overflow).is_empty());
        }
    }
}
