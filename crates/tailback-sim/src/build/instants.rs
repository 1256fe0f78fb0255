//! The times at which each flow of a group starts or stops.

use crate::declare::instants::Instants;
use tailback_base::work::counted_as;
use tailback_base::{Duration, Stream, Time};

/// One instant for each flow.
pub(super) fn instants(what: &Instants, n: u32, starts: &[Time], rng: &mut Stream) -> Vec<Time> {
    let start = |i: usize| starts.get(i).copied().unwrap_or(Time::ZERO);
    match what {
        Instants::Listed(list) => counted_as(2, 0..n as usize).map(|i| list[i % list.len()]).collect(),
        Instants::Uniform { from, to } => counted_as(4, 0..n)
            .map(|_| *from + Duration((rng.uniform() * (to.0 - from.0) as f64) as u64))
            .collect(),
        Instants::Poisson {
            from,
            mean_gap,
            shuffled,
        } => {
            let mut t = *from;
            let mut next_instant = || {
                t += Duration(rng.exponential(mean_gap.0 as f64) as u64);
                t
            };
            let mut all: Vec<Time> = counted_as(4, 0..n).map(|_| next_instant()).collect();
            if *shuffled {
                for i in counted_as(8, (1..all.len()).rev()) {
                    all.swap(i, rng.below(i as u64 + 1) as usize);
                }
            }
            all
        }
        Instants::After(list) => counted_as(2, 0..n as usize)
            .map(|i| start(i) + list[i % list.len()])
            .collect(),
        Instants::AfterUniform { from, to } => counted_as(4, 0..n as usize)
            .map(|i| start(i) + *from + Duration((rng.uniform() * (to.0 - from.0) as f64) as u64))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawn_time_follows_each_start() {
        let starts: Vec<Time> = (0..10_000).map(|i| Time(i * 1_000_000)).collect();
        let what = Instants::AfterUniform {
            from: Duration::from_millis(2000),
            to: Duration::from_millis(4000),
        };
        let stops = instants(&what, 10_000, &starts, &mut Stream::new(1, "test"));
        let after: Vec<f64> = starts.iter().zip(&stops).map(|(a, b)| (*b - *a).seconds()).collect();
        assert!(after.iter().all(|x| (2.0..4.0).contains(x)));
        // The mean of 10,000 values has a standard error of 0.0058 s.
        let mean = after.iter().sum::<f64>() / 1e4;
        assert!((mean - 3.0).abs() < 0.02, "{mean} s");
    }
}
