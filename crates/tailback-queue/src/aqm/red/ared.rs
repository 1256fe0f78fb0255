//! Adaptive RED: changes the maximum probability until the average stays in the middle between the thresholds.
//!
//! In RED the equilibrium of the average depends on the load, because more flows need a stronger signal. Adaptive RED
//! leaves RED unchanged and adjusts `max_probability` slowly. It raises `max_probability` by a step while the average
//! is above a band in the middle, and reduces it by a factor while the average is below this band. Measure: RED's
//! average. Function: RED's ramp, adjusted. Action: the same as RED's.
//!
//! ```text
//! D = max_threshold - min_threshold
//! every period:  average > min_threshold + 0.6 D and max_p < highest:  max_p += min(alpha, max_p / 4)
//!                average < min_threshold + 0.4 D and max_p > lowest:   max_p *= beta
//! ```
//!
//! From: Floyd, Gummadi, Shenker, "Adaptive RED: an algorithm for increasing the robustness of RED's active queue
//! management", 2001, figure 1 and section 4.2 (automatic thresholds and weight).
//!
//! State: RED's state; `max_probability`; the end of the period, or with `clock` = arrival the time of the last change.
//!
//! Departures. In the published form `max_probability` can leave its range by one step; here it is limited to the
//! range. ns-2 has no timer. It adjusts at the first arrival that is later than a period after the last change
//! (`clock` = arrival).
//!
//! Cost of a packet: the same as in RED. Cost of a period: a few comparisons.

use crate::aqm::red::params::{
    BYTES, DELAY_TARGET, FIRST_COUNT, GENTLE, INITIAL_AVERAGE, MARK_ABOVE_MAX, MARK_CAP, MAX_PROBABILITY,
    MAX_THRESHOLD, MEAN_PACKET, MIN_THRESHOLD, NS2_GUARDS, SPREAD, WAIT, WEIGHT, WEIGHT_RULE,
};
use crate::aqm::red::signals::Ramp;
use crate::aqm::red::steered::{PROBES, Steered, Steering};
use crate::aqm::red::{Config, Red};
use crate::aqm::ticks::Ticks;
use crate::contract::build_context::BuildContext;
use crate::contract::discipline::fixed_value;
use crate::entry::{Configured, Entry, Facts, Law};
use crate::linux::{self, Linux};
use crate::params::{BEFORE, BUFFER, COUNT_IN_SERVICE, ECN};
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Key, Kind, Model, Packet, Settings, Time, params};

const SOURCE: &str = "Floyd, Gummadi, Shenker 2001";

tailback_base::choice! {
    /// When max_probability is adjusted.
    enum Moment {
        Timer = "timer",
        Arrival = "arrival",
    }
}

pub static MODEL: Model = Model {
    name: "ared",
    family: "queue",
    title: "Adaptive RED",
    summary: "RED that holds its average in the middle of the thresholds under any load. Measure: the filtered \
              backlog. Function: RED's ramp, with max_probability raised by steps while the average is high and \
              lowered by a factor while it is low. Action: as RED.",
    source: "Floyd, Gummadi, Shenker 2001; ns-2 red adaptive_",
    params: PARAMS,
    probes: PROBES,
};

params! {
    const PARAMS;

    BUFFER;
    MIN_THRESHOLD;
    MAX_THRESHOLD;
    DELAY_TARGET;
    WEIGHT;
    OWN_WEIGHT_RULE = WEIGHT_RULE.with_default("rate", SOURCE).param;
    MAX_PROBABILITY;
    PERIOD: Duration = Key::new("period", Kind::Time { min: 1e-3, max: 100.0 }, "500ms",
        "How often max_probability may change.", SOURCE);
    ALPHA: f64 = Key::new("alpha", Kind::Real { min: 0.0, max: 1.0 }, "0.01",
        "The step by which max_probability is raised; at most a quarter of max_probability.", SOURCE);
    BETA: f64 = Key::new("beta", Kind::Real { min: 0.0, max: 1.0 }, "0.9",
        "The factor by which max_probability is lowered.", SOURCE);
    LOWEST: f64 = Key::new("lowest", Kind::Real { min: 0.0, max: 1.0 }, "0.01",
        "The least value of max_probability.", SOURCE);
    HIGHEST: f64 = Key::new("highest", Kind::Real { min: 0.0, max: 1.0 }, "0.5",
        "The largest value of max_probability.", SOURCE);
    CLOCK: Moment = Key::choice("clock", "timer",
        "When max_probability changes: at the end of every period, or at the first arrival that is more than a period \
         after the last change.",
        "timer: Floyd, Gummadi, Shenker 2001; arrival: ns-2");
    GENTLE;
    ECN;
    MARK_CAP;
    MARK_ABOVE_MAX;
    BYTES;
    MEAN_PACKET;
    SPREAD;
    WAIT;
    FIRST_COUNT;
    NS2_GUARDS;
    INITIAL_AVERAGE;
    COUNT_IN_SERVICE;
    BEFORE;
}

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry::aqm::<Steered<Band>>(&MODEL, Facts::WITH_ECN.law(Law::Average).linux(&LINUX))
}

static LINUX: Linux = Linux {
    always: &["adaptive"],
    built_in: &[linux::NOT_GENTLE, linux::AS_GIVEN],
    differs: linux::LARGE_BURST,
    note: linux::LIMIT_NEEDED,
    ..Linux::new("red", &linux::OF_RED)
};

impl Configured for Steered<Band> {
    /// # Errors
    /// RED's errors, and a range of max_probability that does not include its first value.
    fn configured(s: &Settings, context: BuildContext) -> Result<Self, Refusal> {
        let band = Band::from_settings(s)?;
        let config = Config::from_settings(s, &context)?;
        Ok(Steered::new(Red::new(config, context), band))
    }
}

/// The controller that keeps the average in the middle band.
#[derive(Clone, Debug)]
pub struct Band {
    alpha: f64,
    beta: f64,
    lowest: f64,
    highest: f64,
    clock: Clock,
}

#[derive(Clone, Debug)]
enum Clock {
    Timer(Ticks),
    Arrival { period: Duration, moved: Time },
}

impl Band {
    fn from_settings(s: &Settings) -> Result<Band, Refusal> {
        let (lowest, initial, highest) = (s.get(&LOWEST), s.get(&MAX_PROBABILITY), s.get(&HIGHEST));
        if initial < lowest || initial > highest {
            return Err(Refusal::new(
                format!("max_probability = {initial} is not between lowest = {lowest} and highest = {highest}"),
                "give a max_probability between the two; it is the first value",
            ));
        }
        let period = s.get(&PERIOD);
        Ok(Band {
            alpha: s.get(&ALPHA),
            beta: s.get(&BETA),
            lowest,
            highest,
            clock: match s.get(&CLOCK) {
                Moment::Arrival => Clock::Arrival {
                    period,
                    moved: Time::ZERO,
                },
                _ => Clock::Timer(Ticks::new(period)),
            },
        })
    }

    /// Adjust `max_probability` once, if the average is outside the band. Returns whether it changed.
    fn adjust(&self, average: f64, ramp: &mut Ramp) -> bool {
        let (low, width) = (ramp.min_threshold, ramp.max_threshold - ramp.min_threshold);
        let p = ramp.max_probability;
        let moved = if average > low + 0.6 * width && p < self.highest {
            p + self.alpha.min(p / 4.0)
        } else if average < low + 0.4 * width && p > self.lowest {
            p * self.beta
        } else {
            return false;
        };
        ramp.max_probability = moved.clamp(self.lowest, self.highest);
        true
    }
}

impl Steering for Band {
    fn arrival(&mut self, average: f64, ramp: &mut Ramp, now: Time) {
        if let Clock::Arrival { period, moved } = self.clock
            && now.since(moved) > period
            && self.adjust(average, ramp)
        {
            self.clock = Clock::Arrival { period, moved: now };
        }
    }

    fn next_timer(&self) -> Option<Time> {
        match &self.clock {
            Clock::Timer(ticks) => Some(ticks.next()),
            Clock::Arrival { .. } => None,
        }
    }

    fn on_timer(&mut self, average: f64, ramp: &mut Ramp, now: Time) {
        if let Clock::Timer(ticks) = &mut self.clock
            && ticks.tick(now)
        {
            self.adjust(average, ramp);
        }
    }

    fn reconfigure(&mut self, s: &Settings) -> Result<(), Refusal> {
        let mut new = Band::from_settings(s)?;
        match (&mut new.clock, &self.clock) {
            (Clock::Timer(ticks), Clock::Timer(before)) => ticks.follow(before),
            (Clock::Arrival { moved, .. }, Clock::Arrival { moved: before, .. }) => *moved = *before,
            _ => return Err(fixed_value(CLOCK.name)),
        }
        *self = new;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::testing::{Bench, TestPacket};
    use crate::fifo::Fifo;
    use tailback_base::{BitRate, Stream};

    fn context() -> BuildContext {
        BuildContext {
            stream: Stream::new(1, "test"),
            rate: BitRate(1_000_000),
            delay: Duration::ZERO,
        }
    }

    /// A queue with thresholds of 5 and 15 packets and a constant average.
    fn held(average: &str, with: &[(&str, &str)]) -> Bench<Fifo<TestPacket, Steered<Band>>> {
        let held = [("weight", "0"), ("initial_average", average)];
        let settings = held
            .iter()
            .chain(with)
            .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text));
        let ared = Steered::<Band>::configured(&settings, context()).unwrap_or_else(|e| panic!("{e}"));
        Bench::new(Fifo::from_settings(&settings, ared))
    }

    fn periods(b: &mut Bench<Fifo<TestPacket, Steered<Band>>>, n: usize) -> Vec<f64> {
        let period = |_| {
            b.pass(Duration::from_millis(500));
            b.probe("max_probability", 0)
        };
        (0..n).map(period).collect()
    }

    #[test]
    fn above_the_band_it_climbs_by_a_quarter_and_then_by_a_step() {
        let mut b = held("11.01 packets", &[("max_probability", "0.01")]);
        let published = [0.0125, 0.015625, 0.01953, 0.02441, 0.03052, 0.03815, 0.04768];
        let max_probabilities = periods(&mut b, 60);
        for (x, y) in max_probabilities.iter().zip(published) {
            assert!((x - y).abs() < 6e-6, "{x} for {y}");
        }
        assert!((max_probabilities[7] - max_probabilities[6] - 0.01).abs() < 1e-12);
        assert_eq!(max_probabilities[59], 0.5, "and no further");
    }

    #[test]
    fn below_the_band_it_falls_by_a_factor_and_inside_it_stays() {
        let max_probabilities = periods(&mut held("8.99 packets", &[]), 30);
        assert!((max_probabilities[0] - 0.09).abs() < 1e-12 && (max_probabilities[1] - 0.081).abs() < 1e-12);
        assert_eq!(max_probabilities[29], 0.01);
        for inside in ["9 packets", "10 packets", "11 packets"] {
            assert_eq!(periods(&mut held(inside, &[]), 3)[2], 0.1);
        }
    }

    #[test]
    fn by_arrivals_it_moves_later_than_a_period_after_the_last_move() {
        let mut b = held("12 packets", &[("clock", "arrival")]);
        let mut run_to = |ms: u64| {
            b.until(Time::ZERO + Duration::from_millis(ms));
            b.arrive(TestPacket::new(ms, 0, 500));
            b.serve();
            (b.probe("max_probability", 0) * 1000.0).round()
        };
        assert_eq!(
            [500, 700, 1000, 1200, 1300].map(&mut run_to),
            [100.0, 110.0, 110.0, 110.0, 120.0]
        );
    }

    /// If the average stays above the band, `max_probability` grows until enough packets are dropped. So in a closed
    /// loop the equilibrium is in the band, while RED's depends on the load.
    #[test]
    fn a_signal_that_was_too_weak_grows_until_packets_are_dropped() {
        let mut b = held("12 packets", &[("max_probability", "0.01"), ("spread", "false")]);
        let mut share = |n: u64| {
            let dropped_before = b.log.dropped.len();
            for id in 0..n {
                b.arrive(TestPacket::new(id, 0, 500));
                b.serve();
            }
            (b.log.dropped.len() - dropped_before) as f64 / n as f64
        };
        assert!((share(20_000) - 0.007).abs() < 0.002, "0.7 of 0.01");
        b.pass(Duration::from_seconds(30.0));
        let mut share = |n: u64| {
            let dropped_before = b.log.dropped.len();
            for id in 0..n {
                b.arrive(TestPacket::new(id, 0, 500));
                b.serve();
            }
            (b.log.dropped.len() - dropped_before) as f64 / n as f64
        };
        assert!((share(20_000) - 0.35).abs() < 0.01, "0.7 of 0.5");
    }

    #[test]
    fn the_weight_follows_the_rate_unless_it_is_given() {
        let weight = |with: &[(&str, &str)]| {
            let s = with.iter().fold(Settings::defaults(&MODEL), |s, (n, t)| s.with(n, t));
            Config::from_settings(&s, &context()).unwrap().weight
        };
        assert!((weight(&[]) - (1.0 - (-1.0 / 250.0_f64).exp())).abs() < 1e-12);
        assert_eq!(weight(&[("weight", "0.01")]), 0.01);
    }

    #[test]
    fn a_beginning_outside_the_range_is_refused() {
        for with in [("lowest", "0.2"), ("highest", "0.05"), ("max_probability", "0.6")] {
            let s = Settings::defaults(&MODEL).with(with.0, with.1);
            let e = Steered::<Band>::configured(&s, context()).unwrap_err();
            assert!(e.problem.contains("is not between"), "{e}");
        }
    }
}
