//! Buckets: queues chosen by a hash that may change during the run, or by the hash of ns-2.
//!
//! With a hash to a fixed number of buckets, some flows share a bucket permanently. If the hash gets a new salt from
//! time to time, the flows that share a bucket change, so no flow has a disadvantage for long. Waiting packets stay
//! where they are. So if the bucket of a flow changes, its newer packets may overtake its older ones. The other hash,
//! that of ns-2, adds the numbers of the two hosts. So all flows of a pair of hosts share a bucket, and pairs with
//! equal sums share a bucket too.
//!
//! ```text
//! ns-2:   k = source + destination;   ((k + k / 256 - k / 16 - 1) mod (2^20 - 1)) mod buckets, in whole numbers
//! ```
//!
//! State: the salt, and the number of its changes. A packet costs four multiplications with the salted hash, or three
//! divisions with that of ns-2.
//!
//! Source: P. E. McKenney, "Stochastic fairness queueing", INFOCOM 1990 (the hash with perturbation); the public ns-2
//! class.

use crate::pieces::classify::Classifier;
use crate::pieces::classify::hash::Hashed;
use crate::pieces::store::QueueId;
use tailback_base::{Duration, KeyField, Packet, Stream, Time};

/// The kind of hash.
#[derive(Clone, Copy, Debug)]
enum Rule {
    Salted(Hashed, KeyField),
    SumOfHosts,
}

/// A mapper of flows to a fixed number of buckets.
#[derive(Clone, Debug)]
pub struct Buckets {
    rule: Rule,
    buckets: u32,
    /// The time between two salts; with zero the first salt is kept.
    perturb: Duration,
    changes: u64,
    stream: Stream,
}

impl Buckets {
    /// Buckets by a salted hash of a key, with a new salt every `perturb`. If `perturb` is zero, the salt never
    /// changes.
    pub fn salted(key: KeyField, buckets: u32, perturb: Duration, mut stream: Stream) -> Buckets {
        let hash = Hashed::new(key, buckets, stream.bits());
        Buckets {
            rule: Rule::Salted(hash, key),
            buckets,
            perturb,
            changes: 0,
            stream,
        }
    }

    /// Buckets by the sum of the two hosts' numbers.
    pub fn by_sum_of_hosts(buckets: u32, stream: Stream) -> Buckets {
        Buckets {
            rule: Rule::SumOfHosts,
            buckets: buckets.max(1),
            perturb: Duration::ZERO,
            changes: 0,
            stream,
        }
    }
}

/// ns-2's bucket of a sum of two host numbers.
fn bucket_of_sum(k: u64, buckets: u32) -> QueueId {
    let k = k as i64;
    let mixed = (k + k / 256 - k / 16 - 1).rem_euclid((1 << 20) - 1);
    (mixed as u64 % u64::from(buckets)) as QueueId
}

impl<P: Packet> Classifier<P> for Buckets {
    fn queue_of(&mut self, p: &P, _now: Time) -> QueueId {
        match self.rule {
            Rule::Salted(hash, key) => hash.queue(p.key(key)),
            Rule::SumOfHosts => {
                let sum = p.key(KeyField::Source) + p.key(KeyField::Destination);
                bucket_of_sum(sum, self.buckets)
            }
        }
    }

    fn queues(&self) -> Option<u32> {
        Some(self.buckets)
    }

    fn next_timer(&self) -> Option<Time> {
        (self.perturb > Duration::ZERO).then(|| Time(self.perturb.0.saturating_mul(self.changes + 1)))
    }

    fn on_timer(&mut self, _now: Time) {
        self.changes += 1;
        if let Rule::Salted(_, key) = self.rule {
            self.rule = Rule::Salted(Hashed::new(key, self.buckets, self.stream.bits()), key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::testing::TestPacket;

    fn bucket(c: &mut Buckets, flow: u32) -> QueueId {
        c.queue_of(&TestPacket::new(0, flow, 500), Time::ZERO)
    }

    /// The values computed by hand are 2 + 0 - 0 - 1; 256 + 1 - 16 - 1 = 240; 4096 + 16 - 256 - 1 = 3855; (2^21 +
    /// 2^13 - 2^17 - 1) mod (2^20 - 1) = 925696.
    #[test]
    fn the_bucket_of_a_sum() {
        let sums = [
            (2, 1),
            (256, 240 % 16),
            (4096, 3855 % 16),
            (1 << 21, 925_696 % 16),
            (0, 1_048_574 % 16),
        ];
        for (k, expected) in sums {
            assert_eq!(bucket_of_sum(k, 16), expected, "{k}");
        }
        // Both hosts of a test packet have the number of its flow.
        let mut c = Buckets::by_sum_of_hosts(16, Stream::new(1, "test"));
        assert_eq!(bucket(&mut c, 128), 0);
        assert_eq!(Classifier::<TestPacket>::next_timer(&c), None);
    }

    #[test]
    fn a_new_salt_deals_the_flows_out_anew() {
        let mut c = Buckets::salted(KeyField::Tuple, 16, Duration::from_millis(500), Stream::new(1, "test"));
        let all = |c: &mut Buckets| (0..1000).map(|f| bucket(c, f)).collect::<Vec<_>>();
        let queues_before = all(&mut c);
        assert_eq!(
            (all(&mut c), queues_before.iter().max()),
            (queues_before.clone(), Some(&15))
        );
        let due = Classifier::<TestPacket>::next_timer(&c);
        assert_eq!(due, Some(Time(500_000_000)));
        Classifier::<TestPacket>::on_timer(&mut c, Time(500_000_000));
        let same = all(&mut c).iter().zip(&queues_before).filter(|(a, b)| a == b).count();
        assert!((30..100).contains(&same), "one in sixteen stays: {same}");
        assert_eq!(Classifier::<TestPacket>::next_timer(&c), Some(Time(1_000_000_000)));
    }
}
