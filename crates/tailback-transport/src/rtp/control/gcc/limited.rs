//! Whether the application limits the rate, because it sends less than 65 % of the estimate.
//!
//! A budget fills at 65 % of the estimate and empties only with the bytes of media that are sent. Its bounds are plus
//! and minus 500 ms of that rate. If the budget rises above 80 % of its bound, the application limits the rate. If it
//! falls below 50 %, the application no longer does. If no packet is sent, the budget is checked every 500 ms.

use tailback_base::Time;

const SHARE: f64 = 0.65;
const WINDOW_S: f64 = 0.5;
const BEGINS: f64 = 0.8;
const ENDS: f64 = 0.5;

pub struct Limited {
    /// The rate at which the budget fills, bytes per second, and the bytes in the budget.
    rate: f64,
    budget: f64,
    last: Option<Time>,
    is_limited: bool,
}

impl Limited {
    pub fn new(estimate: f64) -> Limited {
        Limited {
            rate: SHARE * estimate / 8.0,
            budget: 0.0,
            last: None,
            is_limited: false,
        }
    }

    pub fn is_limited(&self) -> bool {
        self.is_limited
    }

    pub fn set(&mut self, estimate: f64) {
        self.rate = SHARE * estimate / 8.0;
        let most = self.most();
        self.budget = self.budget.clamp(-most, most);
    }

    fn most(&self) -> f64 {
        self.rate * WINDOW_S
    }

    pub fn sent(&mut self, bytes: u32, now: Time) {
        let Some(last) = self.last.replace(now) else { return };
        let most_bytes = self.most();
        let left = (self.budget - f64::from(bytes)).max(-most_bytes);
        self.budget = (left + self.rate * now.since(last).seconds()).min(most_bytes);
        let bound = if self.is_limited { ENDS } else { BEGINS };
        self.is_limited = self.budget > bound * most_bytes;
    }

    /// Time has passed, perhaps without a packet.
    pub fn idle(&mut self, now: Time) {
        if self.last.is_none_or(|last| now.since(last).seconds() >= WINDOW_S) {
            self.sent(0, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the application limits the rate after a second of packets of 1250 B at a share of an estimate of 1
    /// Mbit/s, and then after another second at 100 %.
    fn limited(share: f64) -> [bool; 2] {
        let mut limited = Limited::new(1e6);
        let mut time_s = 0.0;
        [share, 1.0].map(|share| {
            let end = time_s + 1.0;
            while time_s < end {
                limited.sent(1250, Time((1e9 * time_s) as u64));
                time_s += 0.01 / share;
            }
            limited.is_limited()
        })
    }

    /// At half of the estimate the budget gains 15 % of the estimate, and is full enough only after 1.7 s. At a tenth
    /// of the estimate it is full enough after half a second.
    #[test]
    fn an_application_that_sends_little_limits_the_rate() {
        assert_eq!(limited(0.1), [true, false]);
        assert_eq!(limited(0.5), [false, false]);
        assert_eq!(limited(0.7), [false, false]);
        let mut silent = Limited::new(1e6);
        (0..3).for_each(|n| silent.idle(Time(n * 500_000_000)));
        assert!(silent.is_limited());
    }
}
