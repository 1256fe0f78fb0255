//! Estimates how much each flow has sent, with counters that many flows share. The estimates are never too small.
//!
//! A table of all flows is exact but large. Here there are a few stages. Each stage has a row of counters and its own
//! hash, which maps a flow to one counter of the row. A packet adds its bytes to the counter of its flow in every
//! stage. Other flows share this counter, but rarely the same flows in every stage. So the smallest counter of a flow
//! is an estimate that is never too small, and rarely much too large. A flow is heavy if its estimate is above a
//! threshold. So heavy flows are never missed, and a few light flows are classified as heavy.
//!
//! With conservative update, a packet raises only the counters that are below the most that the flow can have sent. M
//! is the smallest counter of the flow before the packet:
//!
//! ```text
//! plain          x = x + bytes            for each of the flow's counters x
//! conservative   x = max(x, M + bytes)    estimates of the same packets are never larger than the plain ones
//! ```
//!
//! At the end of an interval all counters are cleared.
//!
//! Source: C. Estan and G. Varghese, "New directions in traffic measurement and accounting", SIGCOMM 2002 (parallel
//! multistage filters, conservative update); G. Cormode and S. Muthukrishnan, "An improved data stream summary: the
//! count-min sketch and its applications", Journal of Algorithms 55, 2005, describe the same counters. The memory in
//! which the paper counts heavy flows exactly is not implemented.
//!
//! State: stages times counters, 8 bytes each, and a seed for each stage. A packet costs a hash and a counter for each
//! stage. At the end of an interval all counters are cleared.

use crate::pieces::classify::hash::mix;
use tailback_base::Stream;

tailback_base::choice! {
    /// The counters that a packet raises.
    #[derive(Default)]
    pub enum Update {
        /// The counters below the sum of the smallest counter and the packet, which are raised to this sum.
        #[default]
        Conservative = "conservative",
        /// All counters of the flow, which are raised by the bytes of the packet.
        Plain = "plain",
    }
}

/// The counters of all stages.
#[derive(Clone, Debug)]
pub struct MultistageFilter {
    update: Update,
    seeds: Vec<u64>,
    /// A row of counters for each stage, bytes.
    counters: Vec<Vec<u64>>,
}

impl MultistageFilter {
    /// A filter with this number of stages and this number of counters per stage, both at least one. The seeds are
    /// drawn from the stream.
    pub fn new(stages: u32, counters: u32, update: Update, stream: &mut Stream) -> MultistageFilter {
        let stages = stages.max(1) as usize;
        MultistageFilter {
            update,
            seeds: (0..stages).map(|_| stream.bits()).collect(),
            counters: vec![vec![0; counters.max(1) as usize]; stages],
        }
    }

    /// The position of the flow's counter in the row of this stage.
    fn place(&self, stage: usize, key: u64) -> usize {
        let h = mix(mix(key) ^ self.seeds[stage]);
        ((u128::from(h) * self.counters[stage].len() as u128) >> 64) as usize
    }

    /// The most that the flow can have sent since the last clearing, bytes.
    pub fn estimate(&self, key: u64) -> u64 {
        let own = |stage| self.counters[stage][self.place(stage, key)];
        (0..self.seeds.len()).map(own).min().unwrap_or(0)
    }

    /// Count a packet of the flow. Returns the new estimate.
    pub fn count(&mut self, key: u64, bytes: u32) -> u64 {
        let now = self.estimate(key).saturating_add(u64::from(bytes));
        for stage in 0..self.seeds.len() {
            let at = self.place(stage, key);
            let x = &mut self.counters[stage][at];
            *x = match self.update {
                Update::Conservative => (*x).max(now),
                Update::Plain => x.saturating_add(u64::from(bytes)),
            };
        }
        now
    }

    /// Begin an interval.
    pub fn clear(&mut self) {
        self.counters.iter_mut().for_each(|row| row.fill(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn both(stages: u32, counters: u32) -> [MultistageFilter; 2] {
        [Update::Conservative, Update::Plain]
            .map(|update| MultistageFilter::new(stages, counters, update, &mut Stream::new(1, "filter")))
    }

    proptest! {
        /// An estimate is never below the true number of bytes, and the conservative estimate is never above the plain
        /// one.
        #[test]
        fn the_truth_is_below_the_conservative_estimate_and_that_below_the_plain_one(
            packets in prop::collection::vec((0u64..60, 40u32..1500), 1..400)
        ) {
            let [mut conservative, mut plain] = both(3, 16);
            let mut truth = BTreeMap::new();
            for (flow, bytes) in packets {
                *truth.entry(flow).or_insert(0) += u64::from(bytes);
                prop_assert_eq!(conservative.count(flow, bytes), conservative.estimate(flow));
                plain.count(flow, bytes);
                for (flow, bytes) in &truth {
                    let estimate = conservative.estimate(*flow);
                    prop_assert!(*bytes <= estimate && estimate <= plain.estimate(*flow));
                }
            }
            plain.clear();
            prop_assert!(truth.keys().all(|flow| plain.estimate(*flow) == 0));
        }
    }

    /// A single counter counts the bytes of all flows, and many counters count each flow exactly.
    #[test]
    fn the_ends_of_the_scale() {
        for (counters, estimate) in [(1, 300), (1 << 20, 100)] {
            for mut filter in both(2, counters) {
                for flow in 0..3 {
                    filter.count(flow, 100);
                }
                assert_eq!(filter.estimate(1), estimate);
            }
        }
    }

    /// Flows send 10,000 B, and the threshold is 20,000 B. So a flow is above the threshold if it shares each of its
    /// counters. For n flows on b counters, this has the probability (1 - (1 - 1/b)^(n - 1))^d. The bound of Estan and
    /// Varghese, lemma 1, is (T / (k (T - s)))^d, with k = T b / C, where C is the number of bytes of all flows.
    #[test]
    fn light_flows_pass_as_often_as_they_share_all_counters() {
        let (n, size, threshold, b, d) = (2000u32, 10_000u32, 20_000u32, 4000u32, 3);
        let k = f64::from(threshold) * f64::from(b) / (f64::from(n) * f64::from(size));
        let bound = (f64::from(threshold) / (k * f64::from(threshold - size))).powi(d) * f64::from(n);
        let shared = 1.0 - (1.0 - 1.0 / f64::from(b)).powi(n as i32 - 1);
        let mean = shared.powi(d) * f64::from(n);
        let [conservative, plain] = both(d as u32, b).map(|mut filter| {
            (0..n).for_each(|flow| {
                filter.count(u64::from(flow), size);
            });
            (0..n)
                .filter(|flow| filter.estimate(u64::from(*flow)) >= u64::from(threshold))
                .count() as f64
        });
        assert!((plain - mean).abs() < 4.0 * mean.sqrt(), "{plain}; {mean} is expected");
        assert!(
            plain < bound && conservative < 0.5 * plain,
            "{conservative}, {plain}; the bound is {bound}"
        );
    }

    /// With many small flows and few counters, conservative update classifies far fewer of the flows as heavy.
    #[test]
    fn conservative_update_finds_fewer_light_flows() {
        let heavy_counts = both(4, 300).map(|mut filter| {
            for round in 0..10 {
                for flow in 0..2000u64 {
                    filter.count(flow, 100 + (flow % 7 + round) as u32);
                }
            }
            (0..2000).filter(|flow| filter.estimate(*flow) >= 6000).count()
        });
        assert!(
            heavy_counts[1] > 500 && heavy_counts[0] * 4 < heavy_counts[1],
            "{heavy_counts:?}"
        );
    }
}
