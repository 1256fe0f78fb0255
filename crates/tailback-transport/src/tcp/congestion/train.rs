//! HyStart as in Linux's CUBIC: slow start ends when consecutive ACKs span half the round trip, or when round trips
//! grow.
//!
//! The segments of a window leave as a train. While their ACKs return at most a few milliseconds apart, the time from
//! the first ACK to the present one shows how much of the path the window fills. When this time is half the least round
//! trip, the window equals the bytes on the path in one direction. The second condition is as in HyStart++: the least
//! round trip of a round exceeds the least of all by an eighth (4 to 16 ms). When slow start ends, the threshold
//! becomes the present window.
//!
//! The state is three times, a round and a count. An ACK of slow start costs a few compares. Source: S. Ha, I. Rhee,
//! "Taming the elephants: new TCP slow start", Computer Networks 55 (2011), sections 3 and 4.

use super::AckEvent;
use super::round::Round;
use super::slow_start::{SlowStart, SlowStartAdvice, StartView};
use tailback_base::{Duration, Time};

/// ACKs that arrive at most this far apart belong to one train.
const GAP: Duration = Duration::from_millis(2);
const SAMPLES: u32 = 8;
/// The rule does not judge windows smaller than this, segments.
const LEAST_WINDOW: f64 = 16.0;
const LEAST_RISE: Duration = Duration::from_millis(4);
const MOST_RISE: Duration = Duration::from_millis(16);
const RISE_DIVISOR: u64 = 8;
/// The data that a sender may collect to send at once: this number of bytes, but at most a millisecond of its pacing
/// rate.
const HELD_BACK: f64 = 262_144.0;
const MOST_HELD_BACK: f64 = 1e-3;
/// Linux paces slow start at two windows per round trip. This rate is used here although nothing is paced.
const SLOW_START_PACING: f64 = 2.0;

#[derive(Clone, Debug, Default)]
pub struct AckTrain {
    /// Whether this is the form of ns-3, with a train of a whole round trip, and with round trips of twice the least.
    ns3: bool,
    found: bool,
    round: Round,
    begun: Time,
    last_ack: Time,
    least_of_round: Option<Duration>,
    samples: u32,
}

impl AckTrain {
    pub fn of_ns3() -> AckTrain {
        AckTrain {
            ns3: true,
            ..AckTrain::default()
        }
    }

    /// Whether slow start ends with this ACK. `least` is the least round trip of all. The window is `window` segments
    /// of `wire` bytes.
    fn ends(&mut self, a: &AckEvent<'_>, least: Duration, window: f64, wire: f64) -> bool {
        if self.round.is_over(a) {
            (self.begun, self.last_ack) = (a.now, a.now);
            (self.least_of_round, self.samples) = (None, 0);
        }
        if self.found || window < LEAST_WINDOW {
            return false;
        }
        if a.now.since(self.last_ack) <= GAP {
            self.last_ack = a.now;
            let rate = a
                .srtt
                .map_or(f64::INFINITY, |r| SLOW_START_PACING * window * wire / r.seconds());
            let held_back = Duration::from_seconds((HELD_BACK / rate).min(MOST_HELD_BACK));
            let span = if self.ns3 {
                least
            } else {
                Duration((least.0 + held_back.0) / 2)
            };
            self.found = a.now.since(self.begun) > span;
        }
        if let Some(r) = a.rate.and_then(|r| r.rtt).or(a.rtt) {
            let rise = if self.ns3 {
                least.max(LEAST_RISE)
            } else {
                Duration(least.0 / RISE_DIVISOR).clamp(LEAST_RISE, MOST_RISE)
            };
            let current = self.least_of_round.map_or(r, |l| l.min(r));
            self.least_of_round = Some(current);
            if self.samples < SAMPLES {
                self.samples += 1;
            } else {
                self.found |= current > least + rise;
            }
        }
        self.found
    }
}

impl SlowStart for AckTrain {
    fn judge(&mut self, a: &AckEvent<'_>, seen: &StartView) -> SlowStartAdvice {
        let window = libm::floor(seen.cwnd / seen.segment + 1e-9);
        match seen.least {
            Some(least) if a.acked > 0 && self.ends(a, least, window, seen.wire) => {
                SlowStartAdvice::End { spent: false }
            }
            _ => SlowStartAdvice::Usual,
        }
    }

    /// After a timeout the next slow start is also watched.
    fn restart(&mut self) {
        *self = AckTrain {
            ns3: self.ns3,
            ..AckTrain::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::testing::acked;

    /// On a path of 40.2 ms there is an ACK every 0.6 ms, and a round starts with a window of 40. The 35th ACK, 20.6 ms
    /// after the start of the round, ends slow start at 75.
    #[test]
    fn a_train_of_half_a_round_trip_ends_it() {
        let mut h = AckTrain::default();
        let least_rtt = Duration::from_micros(40_200);
        let mut window = 40.0;
        let mut ended = None;
        for n in 0..40u64 {
            let rtt = Some(Duration::from_micros(40_200));
            let ack = AckEvent {
                now: Time(1_000_000_000 + n * 600_000),
                una: 10_000 + n,
                nxt: 10_000 + n + 40,
                rtt,
                srtt: rtt,
                ..acked(1)
            };
            window += if n > 0 { 1.0 } else { 0.0 };
            if h.ends(&ack, least_rtt, window, 1500.0) {
                ended = Some((n, window));
                break;
            }
        }
        assert_eq!(ended, Some((35, 75.0)));
    }

    /// The form of ns-3 needs a whole round trip, which is 67 ACKs.
    #[test]
    fn in_ns3_a_train_of_a_whole_round_trip_ends_it() {
        let mut h = AckTrain::of_ns3();
        let rtt = Some(Duration::from_micros(40_200));
        let ended = (0..100u64).find(|n| {
            let ack = AckEvent {
                now: Time(1_000_000_000 + n * 600_000),
                una: 10_000 + n,
                nxt: 10_100 + n,
                rtt,
                srtt: rtt,
                ..acked(1)
            };
            h.ends(&ack, Duration::from_micros(40_200), 40.0, 1500.0)
        });
        assert_eq!(ended, Some(68));
    }

    /// Round trips that exceed the least by more than an eighth end slow start from the ninth sample of a round on.
    /// ACKs that are 3 ms apart are not a train.
    #[test]
    fn round_trips_that_grow_end_it() {
        for (rtt, ends) in [(45_000, false), (45_100, true)] {
            let mut h = AckTrain::default();
            let sample = Some(Duration::from_micros(rtt));
            let ended: Vec<bool> = (0..12u64)
                .map(|n| {
                    let ack = AckEvent {
                        now: Time(1_000_000_000 + n * 3_000_000),
                        una: 10_000 + n,
                        nxt: 10_000 + n + 40,
                        rtt: sample,
                        srtt: sample,
                        ..acked(1)
                    };
                    h.ends(&ack, Duration::from_millis(40), 40.0, 1500.0)
                })
                .collect();
            assert_eq!(ended.iter().position(|f| *f), ends.then_some(8), "{rtt} us");
        }
    }
}
