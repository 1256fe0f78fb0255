//! The target of the queueing delay, which rises where other flows fill the queue.
//!
//! The queueing delay is sampled each 50 ms, in units of the least target. The mean is that of the last 50 samples, the
//! variance that of the last 200:
//!
//! ```text
//!   new = (mean of 50 + sqrt(variance of 200)) least
//!   losses in more than 0.2 % of round trips: 1.5 new
//!   else variance below 0.2: new
//!   else new below the least target: at least half of the present one
//!   else: 0.9 of the present one
//! ```
//!
//! The result stays between the least and the largest target. The share of round trips with losses is smoothed by 1/50.
//!
//! The state is 200 delays. The draft leaves open how often the delay is sampled. The 50 ms are those of its authors'
//! code.

use std::collections::VecDeque;
use tailback_base::{Duration, Time};

const EVERY: Duration = Duration::from_millis(50);
const LONG: usize = 200;
const SHORT: usize = 50;
const LOSS_GAIN: f64 = 1.0 / 50.0;
const LOSSES: f64 = 0.002;
const STEADY: f64 = 0.2;

pub struct DelayTarget {
    /// Seconds.
    least: f64,
    most: f64,
    target: f64,
    /// The sampled delays in units of the least target, newest first.
    seen: VecDeque<f64>,
    updated: Option<Time>,
    /// The share of round trips with losses, the time at which the present round trip began, and whether it has a loss.
    losses: f64,
    round: Time,
    has_loss: bool,
}

impl DelayTarget {
    /// If the target is to stay constant, `most` equals `least`.
    pub fn new(least: f64, most: f64) -> DelayTarget {
        DelayTarget {
            least,
            most: most.max(least),
            target: least,
            seen: VecDeque::new(),
            updated: None,
            losses: 0.0,
            round: Time::ZERO,
            has_loss: false,
        }
    }

    /// Seconds.
    pub fn get(&self) -> f64 {
        self.target
    }

    /// Take a report. `is_lost` says whether the report has losses.
    pub fn report(&mut self, is_lost: bool, srtt: f64, now: Time) {
        self.has_loss |= is_lost;
        if now.since(self.round).seconds() > srtt {
            let share = if self.has_loss { 1.0 } else { 0.0 };
            self.losses += LOSS_GAIN * (share - self.losses);
            (self.has_loss, self.round) = (false, now);
        }
    }

    /// Take a queueing delay, s.
    pub fn delay(&mut self, queueing: f64, now: Time) {
        if self.least == self.most || self.updated.is_some_and(|t| now.since(t) < EVERY) {
            return;
        }
        self.updated = Some(now);
        self.seen.push_front(queueing / self.least);
        self.seen.truncate(LONG);
        let mean = |n: usize| self.seen.iter().take(n).sum::<f64>() / self.seen.len().min(n) as f64;
        let centre = mean(LONG);
        let squares = self.seen.iter().map(|q| (q - centre) * (q - centre)).sum::<f64>();
        let variance = squares / self.seen.len() as f64;
        let new = self.least * (mean(SHORT) + libm::sqrt(variance));
        let target = if self.losses > LOSSES {
            1.5 * new
        } else if variance < STEADY {
            new
        } else if new < self.least {
            new.max(0.5 * self.target)
        } else {
            0.9 * self.target
        };
        self.target = target.clamp(self.least, self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The target after ten seconds of a delay that is `low` and `high` in turn (ms), for a second each. `is_lost` says
    /// whether each round trip has a loss.
    fn target(low: f64, high: f64, is_lost: bool) -> f64 {
        let mut t = DelayTarget::new(0.06, 0.4);
        for n in 0..200_u64 {
            let now = Time(n * 50_000_000);
            t.report(is_lost, 0.049, now);
            t.delay(if n / 20 % 2 == 0 { low } else { high } / 1e3, now);
        }
        t.get()
    }

    #[test]
    fn the_target_follows_a_steady_queue() {
        assert_eq!(target(15.0, 15.0, false), 0.06);
        let near = |x: f64, y: f64| assert!((x - y).abs() < 1e-9, "{x} {y}");
        near(target(200.0, 200.0, false), 0.2);
        near(target(200.0, 200.0, true), 0.3);
        near(target(300.0, 300.0, true), 0.4);
        // The variance is 1.17, so the target falls by a tenth each time.
        near(target(10.0, 140.0, false), 0.06);
        // With losses the target rises. The mean of the last 50 samples, 30 of 140 ms and 20 of 10 ms, is 88 ms, and
        // the deviation is 65 ms.
        near(target(10.0, 140.0, true), 1.5 * (0.088 + 0.065));
    }
}
