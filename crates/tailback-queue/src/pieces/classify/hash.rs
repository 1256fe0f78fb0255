//! Queues by hash: no table is needed, but some flows share a queue.
//!
//! There is a fixed number of queues, and a flow's queue is a uniform hash of its destination (or another key). This
//! needs no table and finds the queue in one step. But with n flows on K queues, some queues get several flows and
//! others none, unless n/K is large. The hash is SplitMix64's finalizer of key and seed, reduced by multiplication. It
//! is our own code, so that results never change with a library. The seed comes from the discipline's random stream, so
//! each replication has another hash.
//!
//! State: the seed, and for the probes the number of flows of each queue. A packet costs four multiplications.
//!
//! Source: A. Kantawala and J. S. Turner, WUCSE-2005-11, chapter 5. That hash uses only the destination. For real
//! packets the 5-tuple is hashed. The address arithmetic of ns-2 is not used. Mixing function: Steele, Lea, Flood,
//! "Fast splittable pseudorandom number generators", 2014.

use crate::pieces::classify::Classifier;
use crate::pieces::classify::occupancy::{FLOW_RATIO, Occupancy, QUEUE_FLOWS};
use crate::pieces::store::QueueId;
use tailback_base::model::Probe;
use tailback_base::{KeyField, Packet, ProbeDef, Time};

/// A seeded uniform hash of a key onto K queues.
#[derive(Clone, Copy, Debug)]
pub struct Hashed {
    key: KeyField,
    queues: u32,
    seed: u64,
}

impl Hashed {
    /// A hash to `queues` queues, which is K; 0 counts as 1.
    pub fn new(key: KeyField, queues: u32, seed: u64) -> Hashed {
        Hashed {
            key,
            queues: queues.max(1),
            seed,
        }
    }

    /// The queue of a key.
    pub fn queue(&self, key: u64) -> QueueId {
        let h = mix(mix(key) ^ self.seed);
        ((u128::from(h) * u128::from(self.queues)) >> 64) as u32
    }
}

/// The mixing function, a bijection. Each bit of the result depends on every bit of `x`.
pub fn mix(x: u64) -> u64 {
    let z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The mapper: a hash, and the number of flows that it has mapped to each queue.
#[derive(Clone, Debug)]
pub struct ByHash {
    hash: Hashed,
    occupancy: Occupancy,
}

/// Values that can be recorded.
const READ: [Probe<ByHash>; 2] = [
    Probe::of(FLOW_RATIO, |h, _| h.occupancy.ratio()),
    Probe::of(QUEUE_FLOWS, |h, q| h.occupancy.flows(q).map_or(f64::NAN, f64::from)),
];

impl ByHash {
    pub fn new(hash: Hashed) -> ByHash {
        ByHash {
            hash,
            occupancy: Occupancy::new(hash.queues),
        }
    }

    fn queue<P: Packet>(&self, p: &P) -> QueueId {
        self.hash.queue(p.key(self.hash.key))
    }
}

impl<P: Packet> Classifier<P> for ByHash {
    fn queue_of(&mut self, p: &P, _now: Time) -> QueueId {
        self.queue(p)
    }

    fn queues(&self) -> Option<u32> {
        Some(self.hash.queues)
    }

    fn flow_joined(&mut self, p: &P, _now: Time) {
        self.occupancy.join(self.queue(p), 1);
    }

    fn flow_left(&mut self, p: &P, _now: Time) {
        self.occupancy.leave(self.queue(p), 1);
    }

    fn probes(&self) -> &'static [ProbeDef] {
        const { &Probe::defs(&READ) }
    }

    fn read(&self, probe: usize, index: u32) -> f64 {
        Probe::read(&READ, self, probe, index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_spread_evenly_and_differently_for_each_seed() {
        let a = Hashed::new(KeyField::Destination, 100, 1);
        let b = Hashed::new(KeyField::Destination, 100, 2);
        let mut count = [0.0_f64; 100];
        let mut agreeing = 0;
        for key in 0..100_000 {
            count[a.queue(key) as usize] += 1.0;
            agreeing += u32::from(a.queue(key) == b.queue(key));
        }
        let chi2: f64 = count.iter().map(|n| (n - 1000.0) * (n - 1000.0) / 1000.0).sum();
        // For 99 degrees of freedom, these are the bounds at 0.1 %.
        assert!((60.0..149.0).contains(&chi2), "{chi2}");
        assert!(
            (850..1150).contains(&agreeing),
            "two seeds agree on one key in K: {agreeing}"
        );
    }

    #[test]
    fn every_result_is_a_queue() {
        for queues in [0, 1, 7, u32::MAX] {
            let h = Hashed::new(KeyField::Tuple, queues, 3);
            assert!((0..1000).all(|key| h.queue(key) < queues.max(1)));
        }
    }
}
