//! What BBR remembers of the last rounds: the fastest delivery, and how much more came at once than it explains.

use super::RATE_ROUNDS;
use std::collections::VecDeque;
use tailback_base::Time;

/// The exact greatest rate of the last rounds. An old rate leaves when a new one enters.
#[derive(Clone, Debug, Default)]
pub(super) struct Fastest(VecDeque<(u64, f64)>);

impl Fastest {
    pub fn enter(&mut self, round: u64, rate: f64) {
        while self.0.back().is_some_and(|b| b.1 <= rate) {
            self.0.pop_back();
        }
        self.0.push_back((round, rate));
        while self.0.front().is_some_and(|f| f.0 + RATE_ROUNDS < round) {
            self.0.pop_front();
        }
    }

    pub fn get(&self) -> f64 {
        self.0.front().map_or(0.0, |f| f.1)
    }
}

/// ACKs that come in bursts: how much more was acknowledged than the rate explains (Linux).
#[derive(Clone, Debug, Default)]
pub(super) struct Bursts {
    pub since: Time,
    pub acked: f64,
    /// The greatest amount in the present span of five rounds and in the span before.
    pub most: [f64; 2],
    pub rounds: u32,
}
