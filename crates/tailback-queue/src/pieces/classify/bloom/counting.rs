//! Measures how evenly a mapper spreads flows over queues, without packets.
//!
//! The hashes, filters and table of the mapper are applied to flows with random addresses. This shows how even the
//! static distribution of groups is, and how even simple hashing is. It also shows how the static distribution drifts
//! towards that of simple hashing if flows come and go and no group is moved. Each flow is seen once, so it is counted
//! unless the filter misses it.
//!
//! Source: A. Kantawala and J. S. Turner, WUCSE-2005-11, chapter 5, table 5.2 and figures 5.4 and 5.6.

use super::filters::{FilterShape, Filters};
use super::table::{MoveRules, Table};
use crate::pieces::classify::hash::Hashed;
use tailback_base::{KeyField, Stream};

/// The rule that maps a flow to its queue.
#[derive(Clone, Copy, Debug)]
pub enum Spread {
    /// Flows are mapped by a hash of the address.
    Hash,
    /// Groups of flows are counted with filters, and then distributed.
    Groups(FilterShape),
    /// Groups of flows are counted without error.
    Perfect { groups: u32 },
}

/// The mapping from addresses to queues, and the number of flows of each queue.
struct Ways {
    filters: Option<Filters>,
    table: Option<Table>,
    hash: Hashed,
    flows: Vec<u32>,
}

impl Ways {
    fn new(spread: Spread, queues: u32, addresses: &[u64], seed: &mut Stream) -> Ways {
        let mut ways = Ways {
            filters: None,
            table: None,
            hash: Hashed::new(KeyField::Destination, queues, seed.bits()),
            flows: vec![0; queues.max(1) as usize],
        };
        let shape = match spread {
            Spread::Hash => None,
            Spread::Groups(shape) => Some(shape),
            Spread::Perfect { groups } => Some(FilterShape {
                counter_bits: 32,
                ..FilterShape::for_flows(groups, 1)
            }),
        };
        if let Some(shape) = shape {
            let mut filters = Filters::new(shape, seed.bits(), seed.bits());
            for a in addresses {
                let g = filters.group(*a);
                if matches!(spread, Spread::Perfect { .. }) || filters.insert(g, *a) {
                    filters.count(g);
                }
            }
            let mut table = Table::new(shape.groups, queues, &MoveRules::default());
            table.distribute(filters.counts());
            (ways.filters, ways.table) = (Some(filters), Some(table));
        }
        for a in addresses {
            let q = ways.queue(*a);
            ways.flows[q] += 1;
        }
        ways
    }

    fn queue(&self, address: u64) -> usize {
        match (&self.filters, &self.table) {
            (Some(f), Some(t)) => t.queue(f.group(address)) as usize,
            _ => self.hash.queue(address) as usize,
        }
    }

    fn ratio(&self) -> f64 {
        let least = self.flows.iter().min().copied().unwrap_or(0);
        let most = self.flows.iter().max().copied().unwrap_or(0);
        f64::from(most) / f64::from(least)
    }
}

/// The number of flows of the fullest queue divided by that of the emptiest queue, for `flows` random addresses.
pub fn ratio(flows: u32, queues: u32, spread: Spread, stream: &mut Stream) -> f64 {
    Ways::new(spread, queues, &addresses(flows, stream), stream).ratio()
}

/// The number of flows of each queue, for `flows` random addresses.
pub fn occupancy(flows: u32, queues: u32, spread: Spread, stream: &mut Stream) -> Vec<u32> {
    Ways::new(spread, queues, &addresses(flows, stream), stream).flows
}

fn addresses(n: u32, stream: &mut Stream) -> Vec<u64> {
    (0..n).map(|_| stream.bits()).collect()
}

/// A ratio over time.
#[derive(Clone, Debug, Default)]
pub struct Drift {
    /// Samples of the ratio at every step, from time 0.
    pub samples: Vec<f64>,
    /// The mean over time and the extremes, computed at every change of the ratio.
    pub mean: f64,
    pub max: f64,
    pub min: f64,
}

/// The ratio over time if each flow draws a new address after exponential times of mean `hold`, and each group keeps
/// the queue that it has at the start. Times are in seconds.
pub fn drift(flows: u32, queues: u32, spread: Spread, hold: f64, length: f64, step: f64, stream: &mut Stream) -> Drift {
    let mut addresses_of = addresses(flows, stream);
    let mut ways = Ways::new(spread, queues, &addresses_of, stream);
    let (mut now, mut area, mut ratio) = (0.0, 0.0, ways.ratio());
    let mut drift = Drift {
        max: ratio,
        min: ratio,
        ..Drift::default()
    };
    while now < length {
        let next_change = (now + stream.exponential(hold / f64::from(flows))).min(length);
        while (drift.samples.len() as f64) * step <= next_change {
            drift.samples.push(ratio);
        }
        area += ratio * (next_change - now);
        now = next_change;
        let flow = stream.below(u64::from(flows)) as usize;
        let (old, new) = (addresses_of[flow], stream.bits());
        addresses_of[flow] = new;
        let (from, to) = (ways.queue(old), ways.queue(new));
        ways.flows[from] -= 1;
        ways.flows[to] += 1;
        ratio = ways.ratio();
        if now < length {
            drift.max = drift.max.max(ratio);
            drift.min = drift.min.min(ratio);
        }
    }
    drift.mean = area / length;
    drift
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If 1024 flows are hashed to 64 queues, the mean is 16 flows, and the standard deviation is about 4.
    #[test]
    fn hashing_is_binomial() {
        let mut s = Stream::new(1, "counting");
        let all: Vec<f64> = (0..50)
            .flat_map(|_| occupancy(1024, 64, Spread::Hash, &mut s))
            .map(f64::from)
            .collect();
        let n = all.len() as f64;
        let mean = all.iter().sum::<f64>() / n;
        let sd = (all.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n).sqrt();
        assert_eq!(mean, 16.0);
        let expected = (1024.0_f64 * (1.0 / 64.0) * (63.0 / 64.0)).sqrt();
        assert!((sd - expected).abs() < 0.15, "{sd}, not {expected}");
    }

    #[test]
    fn perfectly_counted_groups_come_out_even() {
        let mut s = Stream::new(2, "counting");
        for (n, queues) in [(1000, 20), (10_000, 200)] {
            let x = ratio(n, queues, Spread::Perfect { groups: 10 * queues }, &mut s);
            assert!((1.0..1.07).contains(&x), "{x}");
        }
        assert_eq!(ratio(10, 20, Spread::Hash, &mut s), f64::INFINITY);
        assert_eq!(ratio(10, 1, Spread::Hash, &mut s), 1.0);
    }

    #[test]
    fn without_moves_groups_drift_to_hashing() {
        let mut s = Stream::new(3, "counting");
        let mut run = |spread| drift(1000, 20, spread, 2.0, 20.0, 0.1, &mut s);
        let groups = run(Spread::Groups(FilterShape::for_flows(200, 5)));
        let hash = run(Spread::Hash);
        assert_eq!(groups.samples.len(), 201);
        assert_eq!(groups.samples[0], groups.min);
        assert!(groups.samples[0] < 1.15 && hash.samples[0] > 1.2);
        let late_mean = |d: &Drift| d.samples[100..].iter().sum::<f64>() / 101.0;
        assert!(
            (late_mean(&groups) / late_mean(&hash) - 1.0).abs() < 0.25,
            "{} {}",
            late_mean(&groups),
            late_mean(&hash)
        );
        let mean = groups.samples.iter().sum::<f64>() / 201.0;
        assert!((groups.mean / mean - 1.0).abs() < 0.05 && groups.max >= late_mean(&groups));
    }
}
