//! Counts flows without storing their keys, with a small Bloom filter and a counter for each group.
//!
//! A flow belongs to the group to which its key hashes. Each group has m bits, and a flow has k of these bits. If a
//! packet finds one of its bits unset, it sets all its bits and counts as a new flow: the group's counter grows by one
//! (one per packet, not one per bit, see `docs/decisions/bloom-groups.md`). A flow whose bits were all set by other
//! flows is missed. The rate of missed flows is about 0.6185^(m/e) with e flows in the group and k = (m/e) ln 2.
//! Clearing all filters restarts the count. Single flows are never removed.
//!
//! State: for each group ceil(m/64) words and a saturating counter of c bits. A packet costs one hash for the group
//! and k/2 hashes for its bits.
//!
//! Source: A. Kantawala and J. S. Turner, WUCSE-2005-11, chapter 5.

use crate::pieces::classify::hash::{Hashed, mix};
use tailback_base::KeyField;

/// The sizes of the filters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FilterShape {
    pub groups: u32,
    /// m, the bits of a group's filter.
    pub bits: u32,
    /// k, the bits of a flow.
    pub hashes: u32,
    /// c, the bits of a group's counter.
    pub counter_bits: u32,
}

impl FilterShape {
    /// Sizes for an expected number of flows in a group: m = 10 bits for each of these flows, k nearest to (m/e) ln 2,
    /// and c large enough to count three times this number.
    pub fn for_flows(groups: u32, flows_in_group: u32) -> FilterShape {
        let flows = flows_in_group.max(1);
        let bits = flows.saturating_mul(10);
        FilterShape {
            groups,
            bits,
            hashes: FilterShape::hashes_for(bits, flows),
            counter_bits: FilterShape::counter_for(flows),
        }
    }

    /// The number of hash functions for which a filter of `bits` bits misses the fewest of `flows` flows.
    pub fn hashes_for(bits: u32, flows: u32) -> u32 {
        let k = f64::from(bits) / f64::from(flows.max(1)) * std::f64::consts::LN_2;
        (libm::round(k) as u32).clamp(1, 64)
    }

    /// The number of counter bits that are needed to count up to three times `flows`.
    pub fn counter_for(flows: u32) -> u32 {
        (libm::ceil(libm::log2(3.0 * f64::from(flows) + 1.0)) as u32).clamp(1, 32)
    }
}

/// The filters and counters of all groups.
#[derive(Clone, Debug)]
pub struct Filters {
    shape: FilterShape,
    group: Hashed,
    /// The number of words of a group's filter.
    words: usize,
    bits: Vec<u64>,
    seed: u64,
    count: Vec<u32>,
    most: u32,
}

impl Filters {
    /// Empty filters, with a seed for the groups and one for the bits. Sizes of 0 count as 1.
    pub fn new(shape: FilterShape, group_seed: u64, bit_seed: u64) -> Filters {
        let shape = FilterShape {
            groups: shape.groups.max(1),
            bits: shape.bits.max(1),
            hashes: shape.hashes.max(1),
            counter_bits: shape.counter_bits.clamp(1, 32),
        };
        let words = shape.bits.div_ceil(64) as usize;
        Filters {
            shape,
            group: Hashed::new(KeyField::Destination, shape.groups, group_seed),
            words,
            bits: vec![0; words * shape.groups as usize],
            seed: bit_seed,
            count: vec![0; shape.groups as usize],
            most: u32::MAX >> (32 - shape.counter_bits),
        }
    }

    pub fn shape(&self) -> FilterShape {
        self.shape
    }

    /// The group of a flow.
    #[inline]
    pub fn group(&self, key: u64) -> u32 {
        self.group.queue(key)
    }

    /// Set the bits of a flow in its group. Returns whether one of these bits was not set before.
    #[inline]
    pub fn insert(&mut self, group: u32, key: u64) -> bool {
        let filter = &mut self.bits[group as usize * self.words..][..self.words];
        let mut hash = mix(key) ^ self.seed;
        let mut new = 0;
        for i in 0..self.shape.hashes {
            // Each 64-bit hash gives two bits. Each bit is chosen by a multiplication, in the same way as a queue.
            if i % 2 == 0 {
                hash = mix(hash);
            } else {
                hash = hash.rotate_right(32);
            }
            let bit = ((hash & 0xffff_ffff) * u64::from(self.shape.bits)) >> 32;
            let (word, mask) = (&mut filter[(bit / 64) as usize], 1 << (bit % 64));
            new |= !*word & mask;
            *word |= mask;
        }
        new != 0
    }

    /// Count one more flow in a group, unless its counter is saturated. Returns whether the counter changed.
    pub fn count(&mut self, group: u32) -> bool {
        let n = &mut self.count[group as usize];
        let room = *n < self.most;
        *n += u32::from(room);
        room
    }

    /// The number of flows counted in each group.
    pub fn counts(&self) -> &[u32] {
        &self.count
    }

    /// Clear all filters and counters.
    pub fn clear(&mut self) {
        self.bits.fill(0);
        self.count.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_base::Stream;

    #[test]
    fn the_shape_of_the_published_example() {
        let shape = FilterShape {
            groups: 200,
            bits: 50,
            hashes: 7,
            counter_bits: 4,
        };
        assert_eq!(FilterShape::for_flows(200, 5), shape);
        assert_eq!([1, 2, 5, 10, 42].map(FilterShape::counter_for), [2, 3, 4, 5, 7]);
    }

    #[test]
    fn a_flow_is_new_once_until_all_is_forgotten() {
        let mut f = Filters::new(FilterShape::for_flows(4, 5), 1, 2);
        let group = f.group(77);
        assert!(f.insert(group, 77));
        assert!(!f.insert(group, 77));
        f.clear();
        assert!(f.insert(group, 77));
    }

    #[test]
    fn a_counter_stops_at_its_largest_value() {
        let mut f = Filters::new(
            FilterShape {
                counter_bits: 2,
                ..FilterShape::for_flows(3, 5)
            },
            1,
            2,
        );
        let changed: Vec<bool> = (0..5).map(|_| f.count(1)).collect();
        assert_eq!(changed, [true, true, true, false, false]);
        assert_eq!(f.counts(), [0, 3, 0]);
        f.clear();
        assert_eq!(f.counts(), [0, 0, 0]);
    }

    /// The share of other flows that a filter with e flows misses.
    fn false_positives(bits: u32, e: u64, hashes: u32) -> f64 {
        let mut keys = Stream::new(1, "keys");
        let shape = FilterShape {
            groups: 1,
            bits,
            hashes,
            counter_bits: 8,
        };
        let (mut wrong, mut tried) = (0.0, 0.0);
        for round in 0..3000 {
            let mut f = Filters::new(shape, 0, round);
            for _ in 0..e {
                f.insert(0, keys.bits());
            }
            for _ in 0..20 {
                wrong += f64::from(u8::from(!f.clone().insert(0, keys.bits())));
                tried += 1.0;
            }
        }
        wrong / tried
    }

    /// The expected rate is (1 - (1 - 1/m)^(ke))^k. The published 0.6185^10 = 0.8 % is the limit of this formula for
    /// large filters. A filter of 50 bits is slightly worse.
    #[test]
    fn false_positives_come_at_the_rate_of_the_formula() {
        for (bits, e, hashes) in [(50, 5, 7), (50, 10, 3), (400, 40, 7), (130, 8, 1)] {
            let (m, k) = (f64::from(bits), f64::from(hashes));
            let expected = (1.0 - (1.0 - 1.0 / m).powf(k * e as f64)).powf(k);
            let false_share = false_positives(bits, e, hashes);
            // There are 60,000 trials. The formula itself is an approximation with an error of a few per cent of the
            // rate.
            assert!(
                (false_share - expected).abs() < 0.1 * expected + 3.0 * (expected / 60_000.0).sqrt(),
                "m {bits}, e {e}, k {hashes}: {false_share}, not {expected}"
            );
        }
    }
}
