//! The congestion bit of fair queueing: marks packets of conversations with more than a given part of an equal share of
//! the buffer.
//!
//! With fair queueing, only the conversation of a queue makes this queue long. So the bit can show which conversation
//! is responsible. The rule after a data packet has been stored is:
//!
//! ```text
//! n = conversations with a packet at this port, waiting or on the line
//! q = what this conversation has here, this packet and the one on the line included
//! mark if q > theta * buffer / n
//! ```
//!
//! ACKs are never marked, because the bit in an ACK reports the congestion of the forward path. With an unlimited
//! buffer no packets are marked. The decision is made once, on arrival, and a mark is never removed.
//!
//! [`ShareMark`] works with any drop policy. State: the queue that was served last, because its packet is on the line
//! while the line is busy. A packet costs O(1).
//!
//! Source: S. Keshav's Berkeley thesis, 1991, chapter 6. The thesis does not say whether packets are counted before or
//! after an overflow that this packet causes. Here they are counted after it.

use crate::contract::discipline::{DropReason, MarkReason};
use crate::pieces::drop::{DropPolicy, Eviction, Scene};
use crate::pieces::store::{QueueId, Unit};
use tailback_base::{Key, Kind, Packet, ProbeDef, Time};

pub const THETA: Key<f64> = Key::new(
    "theta",
    Kind::Real { min: 0.0, max: 100.0 },
    "0.333333333333",
    "A conversation is marked when it holds more than this part of its equal share of the buffer.",
    "Keshav 1991: 1/3",
);

/// A drop policy that also marks.
#[derive(Debug)]
pub struct ShareMark<D> {
    policy: D,
    theta: f64,
    served: Option<QueueId>,
}

impl<D> ShareMark<D> {
    pub fn new(policy: D, theta: f64) -> ShareMark<D> {
        ShareMark {
            policy,
            theta,
            served: None,
        }
    }
}

impl<P: Packet, D: DropPolicy<P>> DropPolicy<P> for ShareMark<D> {
    fn mark(&mut self, q: QueueId, p: &P, scene: &mut Scene<P>) -> Option<MarkReason> {
        let limit = scene.store.limit();
        if !p.is_data() || limit == u64::MAX {
            return None;
        }
        let mut length = scene.store.length(q).unwrap_or(0);
        let mut present = scene.store.backlogged();
        if let (Some(wire), Some(served)) = (scene.line.busy, self.served) {
            if served == q {
                length += match scene.store.unit() {
                    Unit::Packets => 1,
                    Unit::Bytes => u64::from(wire.bytes),
                };
            }
            present += u32::from(scene.store.packets(served) == 0);
        }
        // Both sides are multiplied by the number of conversations, so that an exact part, such as 1/3 of half of 24,
        // does not depend on the rounding of a division.
        (length as f64 * f64::from(present) > self.theta * limit as f64 * (1.0 + 1e-9)).then_some(MarkReason::Share)
    }

    fn after_service(&mut self, q: QueueId, p: &P, scene: &mut Scene<P>) {
        self.served = Some(q);
        self.policy.after_service(q, p, scene);
    }

    fn refuse(&mut self, q: QueueId, p: &P, scene: &mut Scene<P>) -> Option<DropReason> {
        self.policy.refuse(q, p, scene)
    }
    fn evict(&mut self, newcomer: QueueId, scene: &mut Scene<P>) -> Option<Eviction> {
        self.policy.evict(newcomer, scene)
    }
    fn evicts(&self) -> bool {
        self.policy.evicts()
    }
    fn after_append(&mut self, q: QueueId, p: &P, scene: &mut Scene<P>) {
        self.policy.after_append(q, p, scene);
    }
    fn after_evict(&mut self, q: QueueId, p: &P, scene: &mut Scene<P>) {
        self.policy.after_evict(q, p, scene);
    }
    fn next_timer(&self) -> Option<Time> {
        self.policy.next_timer()
    }
    fn on_timer(&mut self, scene: &mut Scene<P>) {
        self.policy.on_timer(scene);
    }
    fn probes(&self) -> &'static [ProbeDef] {
        self.policy.probes()
    }
    fn read(&self, probe: usize, index: u32) -> f64 {
        self.policy.read(probe, index)
    }
}
