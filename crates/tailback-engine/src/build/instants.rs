//! When each flow of a group starts or stops.

use crate::spec::Instants;
use tailback_base::{Duration, Stream, Time};

/// One instant a flow.
pub(super) fn instants(what: &Instants, n: u32, starts: &[Time], rng: &mut Stream) -> Vec<Time> {
    match what {
        Instants::Listed(list) => (0..n as usize).map(|i| list[i % list.len()]).collect(),
        Instants::Uniform { from, to } => (0..n)
            .map(|_| *from + Duration((rng.uniform() * (to.0 - from.0) as f64) as u64))
            .collect(),
        Instants::Poisson {
            from,
            mean_gap,
            shuffled,
        } => {
            let mut t = *from;
            let mut next = || {
                t += Duration(rng.exponential(mean_gap.0 as f64) as u64);
                t
            };
            let mut all: Vec<Time> = (0..n).map(|_| next()).collect();
            if *shuffled {
                for i in (1..all.len()).rev() {
                    all.swap(i, rng.below(i as u64 + 1) as usize);
                }
            }
            all
        }
        Instants::After(list) => (0..n as usize)
            .map(|i| starts.get(i).copied().unwrap_or(Time::ZERO) + list[i % list.len()])
            .collect(),
    }
}
