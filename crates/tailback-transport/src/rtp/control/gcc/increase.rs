//! The estimate by delay. It grows until the line is overused, then falls, and then waits until the queue is empty.
//!
//! ```text
//!              overuse: 0.85 of what arrives
//!   increase -------------------------------> hold      (at most once in a round trip, of 10 to 200 ms)
//!       ^ normal, after a report                | underuse: hold
//!       '---------------------------------------'
//! ```
//!
//! The estimate grows by 8 % a second. If the rate that arrives is within three deviations of its mean at the last
//! overuses, the estimate instead grows by half a packet in each response time, which is a round trip plus 100 ms. In
//! both cases an update adds at least 1 kbit/s. The estimate never grows beyond 1.5 times the rate that arrives.
//!
//! Departure from str0m 0.25.0: str0m divides the packet of 1200 B by 8, but the draft and libwebrtc multiply it by 8.
//! In str0m the growth near the last reduction is therefore always the least step.

use super::super::Terms;
use super::trendline::Usage;
use tailback_base::Time;

/// The weight of a new rate in the mean at overuses, and the largest distance from this mean, in deviations, that
/// counts as near.
const WEIGHT: f64 = 0.95;
const NEAR: f64 = 3.0;
const MOST_OF_ARRIVED: f64 = 1.5;
const BACKOFF_S: f64 = 0.1;
const REDUCED_EVERY_S: (f64, f64) = (0.01, 0.2);
const FAR_BELOW: f64 = 0.5;
const LEAST_STEP: f64 = 1000.0;
/// For the frames of a browser's encoder: the number of frames per second, and the packet size in bits from which the
/// number of packets follows.
const FPS: f64 = 30.0;
const PACKET_BITS: f64 = 8.0 * 1200.0;

#[derive(Clone, Copy, PartialEq, Eq)]
enum GrowthState {
    Increase,
    Hold,
}

/// Exponential mean and variance.
#[derive(Default)]
struct Mean(Option<(f64, f64)>);

impl Mean {
    fn add(&mut self, x: f64) {
        self.0 = Some(match self.0 {
            None => (x, 0.0),
            Some((mean, variance)) => {
                let off = x - mean;
                (mean + WEIGHT * off, (1.0 - WEIGHT) * (variance + WEIGHT * off * off))
            }
        });
    }

    /// How many deviations x is above the mean. If the deviation is 0, any other value is infinitely far away.
    fn deviations(&self, x: f64) -> Option<f64> {
        self.0.map(|(mean, variance)| match x - mean {
            0.0 => 0.0,
            off => off / libm::sqrt(variance),
        })
    }

    fn has_deviation(&self) -> bool {
        self.0.is_some_and(|(_, variance)| variance > 0.0)
    }
}

pub struct Increase {
    terms: Terms,
    beta: f64,
    growth: f64,
    state: GrowthState,
    rate: f64,
    /// The rate that arrived at the last overuses.
    capacity: Mean,
    changed: Option<Time>,
}

impl Increase {
    pub fn new(terms: Terms, beta: f64, growth: f64) -> Increase {
        Increase {
            terms,
            beta,
            growth,
            state: GrowthState::Increase,
            rate: terms.start,
            capacity: Mean::default(),
            changed: None,
        }
    }

    /// Bit/s.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    pub fn update(&mut self, usage: Usage, arrived: f64, srtt: Option<f64>, now: Time) {
        match usage {
            Usage::Over => self.overused(arrived, srtt, now),
            Usage::Under => self.state = GrowthState::Hold,
            Usage::Normal => {
                self.state = GrowthState::Increase;
                self.grow(arrived, srtt, now);
            }
        }
    }

    fn overused(&mut self, arrived: f64, srtt: Option<f64>, now: Time) {
        let is_off = self.capacity.has_deviation() && self.capacity.deviations(arrived).is_some_and(|d| d < -NEAR);
        if is_off {
            self.capacity = Mean::default();
        }
        self.capacity.add(arrived);
        let wait = srtt.unwrap_or(BACKOFF_S).clamp(REDUCED_EVERY_S.0, REDUCED_EVERY_S.1);
        let is_soon = self.changed.is_some_and(|t| now.since(t).seconds() < wait);
        if is_soon && arrived >= FAR_BELOW * self.rate {
            return;
        }
        self.state = GrowthState::Hold;
        self.set((self.beta * arrived).min(self.rate), now);
    }

    fn grow(&mut self, arrived: f64, srtt: Option<f64>, now: Time) {
        let most_rate = MOST_OF_ARRIVED * arrived;
        if self.rate >= most_rate {
            self.changed = Some(now);
            return;
        }
        let time = now.since(self.changed.unwrap_or(now)).seconds();
        if self.capacity.has_deviation() && self.capacity.deviations(arrived).is_some_and(|d| d > NEAR) {
            self.capacity = Mean::default();
        }
        let is_near = self.capacity.deviations(arrived).is_some_and(|d| d.abs() <= NEAR);
        let step = if is_near {
            let response = srtt.unwrap_or(0.0) + BACKOFF_S;
            0.5 * (time / response).min(1.0) * self.packet_bits()
        } else {
            (libm::pow(self.growth, time.min(1.0)) - 1.0) * self.rate
        };
        self.set((self.rate + step.max(LEAST_STEP)).min(most_rate), now);
    }

    /// The mean size of the packets of a frame, bits.
    fn packet_bits(&self) -> f64 {
        let frame = self.rate / FPS;
        frame / libm::ceil(frame / PACKET_BITS)
    }

    /// Set a rate that is known from another source than the delay.
    pub fn set(&mut self, rate: f64, now: Time) {
        self.rate = self.terms.clamp(rate);
        self.changed = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_base::Ecn;

    const TERMS: Terms = Terms {
        min: 100e3,
        start: 3e6,
        max: 20e6,
        ecn: Ecn::NotEct,
    };

    /// The rate doubles in ln 2 / ln 1.08 = 9.0 s, with an update every 25 ms, if everything arrives.
    #[test]
    fn without_congestion_it_doubles_in_nine_seconds() {
        let mut i = Increase::new(TERMS, 0.85, 1.08);
        let updates = (0..).take_while(|n| {
            i.update(Usage::Normal, i.rate(), Some(0.05), Time(n * 25_000_000));
            i.rate() < 6e6
        });
        let seconds = 0.025 * updates.count() as f64;
        assert!((seconds - 9.0).abs() < 0.05, "{seconds}");
    }

    #[test]
    fn an_overuse_leaves_0_85_of_what_arrives() {
        let mut i = Increase::new(TERMS, 0.85, 1.08);
        i.update(Usage::Over, 2e6, Some(0.05), Time(1));
        assert_eq!(i.rate(), 0.85 * 2e6);
    }

    /// At 3 Mbit/s a frame is 100 kbit, in eleven packets. Near a mean that two overuses left, a whole response time of
    /// 150 ms adds half a packet. Far from this mean, it multiplies the rate by 1.08^0.15.
    #[test]
    fn near_its_last_reduction_it_adds_half_a_packet() {
        let grown = |arrived: f64| {
            let mut i = Increase::new(TERMS, 1.0, 1.08);
            let at_ms = |ms: u64| Time(ms * 1_000_000);
            i.update(Usage::Over, 3.1e6, Some(0.05), at_ms(0));
            i.update(Usage::Over, 3.0e6, Some(0.05), at_ms(200));
            i.update(Usage::Normal, arrived, Some(0.05), at_ms(350));
            i.rate() - 3e6
        };
        assert!((grown(3.0e6) - 0.5 * 100e3 / 11.0).abs() < 1e-6, "{}", grown(3.0e6));
        assert!(
            (grown(4.0e6) - 3e6 * (libm::pow(1.08, 0.15) - 1.0)).abs() < 1e-6,
            "{}",
            grown(4.0e6)
        );
    }
}
