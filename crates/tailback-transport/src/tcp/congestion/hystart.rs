//! HyStart++ (RFC 9406): slow start that ends when the round trip grows, before a queue overflows.
//!
//! ```text
//!                 the least round trip of this round is above the last round's by the threshold
//!   slow start ---------------------------------------------------------------> conservative slow start
//!        ^                                                                        (a quarter of the growth)
//!        '----------- the least round trip falls below that of the entry ------------'    |
//!                                                                                         | five rounds
//!                                                              threshold = window  <------'
//! ```
//!
//! The threshold is an eighth of the last round's least round trip, at least 4 ms and at most 16 ms. A round is judged
//! once it has eight samples. Only the first slow start is watched, while the window has no threshold. Later slow
//! starts end at the threshold of the last loss. A loss or an echo ends slow start as usual.
//!
//! The state is two minima, a baseline, two counts and a round. An ACK costs a few compares.

use super::AckEvent;
use super::round::Round;
use super::slow_start::{SlowStart, SlowStartAdvice, StartView};
use tailback_base::Duration;

/// RFC 9406 section 4.3, Tunable Constants.
const LEAST_THRESHOLD: Duration = Duration::from_millis(4);
const MOST_THRESHOLD: Duration = Duration::from_millis(16);
const THRESHOLD_DIVISOR: u64 = 8;
const SAMPLES: u32 = 8;
const CONSERVATIVE_ROUNDS: u32 = 5;
/// RFC 9406 section 4.3: L, the most segments per ACK without pacing.
const MOST_SEGMENTS: f64 = 8.0;
const CONSERVATIVE_GROWTH: f64 = 1.0 / 4.0;

#[derive(Clone, Copy, PartialEq, Debug, Default)]
enum Stage {
    #[default]
    Usual,
    Conservative {
        /// The least round trip when this state was entered.
        baseline: Duration,
        rounds: u32,
    },
}

#[derive(Clone, Debug, Default)]
pub struct HystartPlusPlus {
    round: Round,
    /// The least round trip of the last round, and that of this round.
    last: Option<Duration>,
    current: Option<Duration>,
    samples: u32,
    stage: Stage,
}

/// RFC 9406 section 4.2: "RttThresh = clamp(MIN_RTT_THRESH, lastRoundMinRTT / MIN_RTT_DIVISOR, MAX_RTT_THRESH)".
fn threshold(last: Duration) -> Duration {
    Duration(last.0 / THRESHOLD_DIVISOR).clamp(LEAST_THRESHOLD, MOST_THRESHOLD)
}

impl SlowStart for HystartPlusPlus {
    fn judge(&mut self, a: &AckEvent<'_>, seen: &StartView) -> SlowStartAdvice {
        if !seen.first {
            return SlowStartAdvice::Usual;
        }
        if self.round.is_over(a) {
            (self.last, self.current, self.samples) = (self.current, None, 0);
            if let Stage::Conservative { rounds, .. } = &mut self.stage {
                *rounds += 1;
                if *rounds >= CONSERVATIVE_ROUNDS {
                    return SlowStartAdvice::End { spent: true };
                }
            }
        }
        if let Some(sample) = a.rate.and_then(|r| r.rtt).or(a.rtt) {
            self.current = Some(self.current.map_or(sample, |c| c.min(sample)));
            self.samples += 1;
        }
        if let (true, Some(current)) = (self.samples >= SAMPLES, self.current) {
            match (self.stage, self.last) {
                (Stage::Usual, Some(last)) if current >= last + threshold(last) => {
                    self.stage = Stage::Conservative {
                        baseline: current,
                        rounds: 0,
                    };
                }
                (Stage::Conservative { baseline, .. }, _) if current < baseline => self.stage = Stage::Usual,
                _ => {}
            }
        }
        // RFC 9406 section 4.2: "cwnd = cwnd + (min(N, L * SMSS) / CSS_GROWTH_DIVISOR)".
        let share = match self.stage {
            Stage::Usual => 1.0,
            Stage::Conservative { .. } => CONSERVATIVE_GROWTH,
        };
        let most = MOST_SEGMENTS;
        SlowStartAdvice::Grow { share, most }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::testing::AckClock;
    use crate::tcp::congestion::{Congestion, CongestionControl, cubic, reno};
    use crate::tcp::testing::config;
    use tailback_base::Settings;

    fn with(own: &[(&str, &str)], window: &str) -> [Box<dyn CongestionControl>; 2] {
        let rules = config(&[("payload", "1000B"), ("initial_window", window)]).window;
        let set = |model| own.iter().fold(Settings::defaults(model), |s, (n, v)| s.with(n, v));
        [
            reno::build(&set(&reno::MODEL), &rules),
            cubic::build(&set(&cubic::MODEL), &rules),
        ]
    }

    /// Take the ACKs of one round trip. Returns the number of ACKs, and the window after these ACKs.
    fn round(c: &mut dyn CongestionControl, clock: &mut AckClock, rtt: f64) -> f64 {
        let until = clock.una + 1000 * (c.cwnd() / 1000.0) as u64;
        while clock.una < until {
            clock.ack(c, rtt);
        }
        c.cwnd() / 1000.0
    }

    #[test]
    fn the_threshold_is_an_eighth_between_4_and_16_ms() {
        for (last, expected) in [(20.0, 4.0), (40.0, 5.0), (100.0, 12.5), (200.0, 16.0)] {
            let t = threshold(Duration::from_seconds(last / 1e3));
            assert!((t.seconds() * 1e3 - expected).abs() < 1e-6, "{last}: {t}");
        }
    }

    /// With round minima of 40 and 46 ms slow start is conservative from the eighth sample on. Then 45 ms resumes slow
    /// start, and 46 ms does not. A rise of 4.9 ms has no effect.
    #[test]
    fn a_longer_round_trip_makes_it_careful_and_a_shorter_one_quick_again() {
        for mut c in with(&[("hystart", "true")], "16 packets") {
            let mut clock = AckClock::new();
            assert_eq!(round(&mut *c, &mut clock, 0.040), 32.0);
            assert_eq!(round(&mut *c, &mut clock, 0.0449), 64.0);
        }
        for (next, grows) in [(0.045, 2.0), (0.046, 1.25)] {
            for mut c in with(&[("hystart", "true")], "16 packets") {
                let mut clock = AckClock::new();
                round(&mut *c, &mut clock, 0.040);
                // Seven samples have full growth. The eighth and all others have a quarter of it.
                let careful = round(&mut *c, &mut clock, 0.046);
                assert!((careful - (32.0 + 7.0 + 25.0 / 4.0)).abs() < 1.1, "{careful}");
                // The first eight samples of the next round still use the judgement of the last round.
                let later = round(&mut *c, &mut clock, next);
                let expected = careful + 8.0 * 0.25 + (careful - 8.0) * (grows - 1.0);
                assert!((later - expected).abs() < 2.5, "{next}: {later}, not {expected}");
            }
        }
    }

    /// From a window of 64, with a round trip that has grown, the window is at most 64 * 1.25^5 = 195 at the end. Slow
    /// start would reach 2048.
    #[test]
    fn five_careful_rounds_end_it() {
        for mut c in with(&[("hystart", "true")], "32 packets") {
            let mut clock = AckClock::new();
            assert_eq!(round(&mut *c, &mut clock, 0.040), 64.0);
            // The eight samples that detect the rise do not grow the window, so the window is 64 after these samples.
            for _ in 0..8 {
                clock.ack_with(&mut *c, 0.050, |a| a.window_limited = false);
            }
            while c.ssthresh().is_infinite() {
                clock.ack(&mut *c, 0.050);
            }
            let (end, threshold) = (c.cwnd() / 1000.0, c.ssthresh() / 1000.0);
            assert!(end == threshold && (170.0..=195.5).contains(&end), "{end}, {threshold}");
        }
    }

    /// A round with eight samples is judged, a round with seven is not.
    #[test]
    fn a_window_of_seven_is_not_judged() {
        for (window, careful) in [("8 packets", true), ("7 packets", false)] {
            for mut c in with(&[("hystart", "true")], window) {
                let mut clock = AckClock::new();
                // The first ACK alone is a round, and the next round is a window of ACKs. The test prevents growth, so
                // the window stays the same.
                let mut hold = |rtt: f64, c: &mut dyn CongestionControl| {
                    for _ in 0..(c.cwnd() / 1000.0) as u64 {
                        clock.ack_with(c, rtt, |a| a.window_limited = false);
                    }
                };
                hold(0.040, &mut *c);
                hold(0.040, &mut *c);
                hold(0.060, &mut *c);
                hold(0.060, &mut *c);
                let before = c.cwnd();
                clock.ack(&mut *c, 0.060);
                assert_eq!(c.cwnd() - before < 1000.0, careful, "{window}");
            }
        }
    }

    #[test]
    fn it_watches_only_while_there_is_no_threshold() {
        for mut c in with(&[("hystart", "true")], "100 packets") {
            let mut clock = AckClock::new();
            clock.sign(&mut *c, Congestion::Timeout { again: false });
            let threshold = c.ssthresh();
            for rtt in [0.04, 0.04, 0.1, 0.2, 0.4] {
                round(&mut *c, &mut clock, rtt);
            }
            assert_eq!((c.ssthresh(), c.cwnd()), (threshold, 32_000.0));
        }
    }
}
