//! The retransmission timeout: round-trip estimation and backoff (RFC 6298), and a form that counts whole clock
//! ticks.
//!
//! The RFC form keeps srtt and rttvar as real seconds. The clock granularity G is only the minimum of the variance
//! term. The tick form is Van Jacobson's fixed-point code as in BSD and ns-2. A round trip is a whole number of ticks,
//! counted from the tick before the segment was sent. The tick form keeps srtt in eighths and rttvar in quarters of a
//! tick. After the fourth doubling srtt is added to rttvar and reset. The timeouts of this form are multiples of the
//! tick. To reproduce a run of ns-2 this arithmetic must be the same to the bit.
//!
//! The state is 48 bytes. A sample costs some twenty operations. Reading the timeout costs two.

use crate::tcp::config::{Config, RtoForm};
use tailback_base::{Duration, Time};

/// RFC 6298 rule 2.3: "alpha=1/8 and beta=1/4".
const ALPHA: f64 = 1.0 / 8.0;
const BETA: f64 = 1.0 / 4.0;
/// RFC 6298 rule 2.2: "where K = 4".
const K: f64 = 4.0;
/// ns-2 doubles no further than this once the timeout has reached its maximum.
const MOST_BACKOFF_IN_TICKS: u32 = 64;
/// ns-2, after BSD: "If backed off this far, clobber the srtt value, storing it in the mean deviation instead."
const CLOBBER_ABOVE: u32 = 8;

/// Linux's estimate, in seconds; see `Rto::greatest`.
#[derive(Clone, Debug)]
struct Greatest {
    srtt: f64,
    /// Four times the deviation, the greatest such value of the round, and the value in use.
    deviation: f64,
    most: f64,
    counts: f64,
    /// The end of the round.
    round: u64,
}

#[derive(Clone, Debug)]
enum RttEstimate {
    /// The values are in seconds. There is no sample yet while srtt is negative.
    Real { srtt: f64, rttvar: f64 },
    /// The estimate of Linux. There is no sample yet while srtt is negative.
    Greatest(Box<Greatest>),
    /// The value of srtt is in 1/8 ticks and that of rttvar in 1/4 ticks. There is no sample yet while srtt is 0.
    /// `phase` is the time from the last tick before time 0 to time 0.
    Ticks { srtt: i32, rttvar: i32, phase: Duration },
}

#[derive(Clone, Debug)]
pub struct Rto {
    estimate: RttEstimate,
    /// Timeout before backoff and limits.
    current: Duration,
    /// The srtt of the estimate, for readers outside.
    srtt: Option<Duration>,
    backoff: u32,
}

impl Rto {
    pub fn new(c: &Config) -> Rto {
        let estimate = match c.rto_form {
            RtoForm::Rfc6298 => RttEstimate::Real {
                srtt: -1.0,
                rttvar: 0.0,
            },
            RtoForm::Linux => RttEstimate::Greatest(Box::new(Greatest {
                srtt: -1.0,
                deviation: 0.0,
                most: 0.0,
                counts: 0.0,
                round: 0,
            })),
            // ns-2's rttvar_init_ is 12 s. This value only has an effect if the backoff exceeds eight before there is
            // any sample.
            RtoForm::Ticks => RttEstimate::Ticks {
                srtt: 0,
                rttvar: (12.0 / c.clock_granularity.seconds()) as i32 * 4,
                phase: c.clock_phase.unwrap_or_default(),
            },
        };
        Rto {
            estimate,
            current: c.initial_rto,
            srtt: None,
            backoff: 1,
        }
    }

    /// The phase of the ticks, if the clock has ticks.
    pub fn phase(&self) -> Option<Duration> {
        match self.estimate {
            RttEstimate::Ticks { phase, .. } => Some(phase),
            RttEstimate::Real { .. } | RttEstimate::Greatest(_) => None,
        }
    }

    /// Move the ticks of this sender's clock.
    pub fn set_phase(&mut self, to: Duration) {
        if let RttEstimate::Ticks { phase, .. } = &mut self.estimate {
            *phase = to;
        }
    }

    /// The round trip of a segment sent at `sent`. There are `per_window` samples in a window (RFC 7323 appendix G).
    /// `round` has the unit acknowledged now, and the unit to be sent next.
    pub fn sample(&mut self, sent: Time, now: Time, per_window: u32, round: (u64, u64), c: &Config) {
        match &mut self.estimate {
            RttEstimate::Real { srtt, rttvar } => {
                let r = now.since(sent).seconds();
                if *srtt < 0.0 {
                    // Rule 2.2: "SRTT <- R, RTTVAR <- R/2".
                    (*srtt, *rttvar) = (r, r / 2.0);
                } else {
                    // Rule 2.3, in this order: RTTVAR first.
                    let n = f64::from(per_window.max(1));
                    let (alpha, beta) = (ALPHA / n, BETA / n);
                    *rttvar += beta * ((*srtt - r).abs() - *rttvar);
                    *srtt += alpha * (r - *srtt);
                }
                let g = c.clock_granularity.seconds();
                self.current = Duration::from_seconds(*srtt + g.max(K * *rttvar));
                self.srtt = Some(Duration::from_seconds(*srtt));
            }
            RttEstimate::Greatest(_) => self.greatest(now.since(sent).seconds(), round, c.min_rto.seconds()),
            RttEstimate::Ticks { srtt, rttvar, phase } => {
                let tick = c.clock_granularity.seconds();
                let ticks = if c.timestamps {
                    (now.since(sent).seconds() / tick + 0.5) as i32
                } else {
                    ticks_between(sent, now, *phase, tick)
                };
                let r = ticks.max(1);
                if *srtt != 0 {
                    let mut delta = r - (*srtt >> 3);
                    *srtt = (*srtt + delta).max(1);
                    delta = delta.abs() - (*rttvar >> 2);
                    *rttvar = (*rttvar + delta).max(1);
                } else {
                    (*srtt, *rttvar) = (r << 3, r << 1);
                }
                self.current = Duration((((*rttvar << 3) + *srtt) >> 3) as u64 * c.clock_granularity.0);
                self.srtt = Some(Duration((*srtt >> 3) as u64 * c.clock_granularity.0));
            }
        }
    }

    /// The present timeout. By rules 2.4 and 2.5 it is at least the minimum and at most the maximum. The minimum is
    /// applied before the backoff, so that consecutive expiries are exactly rto, 2 rto, 4 rto apart.
    #[inline]
    pub fn timeout(&self, c: &Config) -> Duration {
        let base = self.current.0.max(c.min_rto.0);
        Duration(base.saturating_mul(u64::from(self.backoff)).min(c.max_rto.0.max(1)))
    }

    /// Rule 5.5: "The host MUST set RTO <- RTO * 2".
    pub fn back_off(&mut self, c: &Config) {
        let timeout = self.timeout(c);
        match &mut self.estimate {
            RttEstimate::Real { .. } | RttEstimate::Greatest(_) => {
                // Do not double further once the timeout has reached the maximum.
                if timeout < c.max_rto {
                    self.backoff = self.backoff.saturating_mul(2);
                }
            }
            RttEstimate::Ticks { srtt, rttvar, .. } => {
                if self.backoff < MOST_BACKOFF_IN_TICKS || timeout < c.max_rto {
                    self.backoff = self.backoff.saturating_mul(2);
                }
                if self.backoff > CLOBBER_ABOVE {
                    *rttvar = rttvar.saturating_add(*srtt >> 3);
                    *srtt = 0;
                    self.srtt = None;
                }
            }
        }
    }

    /// Linux's estimate (P. Sarolahti, A. Kuznetsov, "Congestion control in Linux TCP", USENIX 2002, section 4). The
    /// variance term is the greatest deviation in a round trip and falls slowly, never below `least`. A round trip that
    /// is shorter than usual changes this term less.
    #[cold]
    fn greatest(&mut self, r: f64, (una, nxt): (u64, u64), least: f64) {
        let RttEstimate::Greatest(g) = &mut self.estimate else {
            return;
        };
        let Greatest {
            srtt,
            deviation,
            most,
            counts,
            round,
        } = &mut **g;
        if *srtt < 0.0 {
            (*srtt, *deviation) = (r, 2.0 * r);
            *counts = deviation.max(least);
            (*most, *round) = (*counts, nxt);
        } else {
            let error = r - *srtt;
            *srtt += ALPHA * error;
            let excess = error.abs() - *deviation / 4.0;
            // The deviation grows by a quarter of the excess, times four. For a sample below the usual it grows by only
            // an eighth of this.
            *deviation += if error < 0.0 && excess > 0.0 {
                excess / 8.0
            } else {
                excess
            };
            *most = most.max(*deviation);
            *counts = counts.max(*most);
            if una > *round {
                *counts -= (*counts - *most).max(0.0) / 4.0;
                (*round, *most) = (nxt, least);
            }
        }
        let (srtt, counts) = (*srtt, *counts);
        self.current = Duration::from_seconds(srtt + counts);
        self.srtt = Some(Duration::from_seconds(srtt));
    }

    /// An ACK of data never retransmitted ends the backoff (Karn).
    #[inline]
    pub fn end_backoff(&mut self) {
        self.backoff = 1;
    }

    /// RFC 6298 rule 5.7: "If the timer expires awaiting the ACK of a SYN segment [...] the RTO MUST be re-initialized
    /// to 3 seconds when data transmission begins".
    pub fn after_lost_syn(&mut self, c: &Config) {
        if self.srtt.is_none() && !matches!(self.estimate, RttEstimate::Ticks { .. }) {
            self.current = Duration(c.initial_rto.0.max(3_000_000_000));
        }
        if !c.syn_backoff_lasts {
            self.backoff = 1;
        }
    }

    /// RFC 4015 section 3.2, steps 7 and 8: after a spurious timeout "SRTT <- max (SRTT_prev, RTT-SAMPLE), RTTVAR <-
    /// max (RTTVAR_prev, RTT-SAMPLE/2)".
    pub fn at_least(&mut self, r: Duration) {
        if let RttEstimate::Real { srtt, rttvar } = &mut self.estimate {
            *srtt = srtt.max(r.seconds());
            *rttvar = rttvar.max(r.seconds() / 2.0);
            self.current = Duration::from_seconds(*srtt + K * *rttvar);
            self.srtt = Some(Duration::from_seconds(*srtt));
        }
    }

    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    /// Smoothed round trip, once there is a sample. In the tick form it is a whole number of ticks.
    #[inline]
    pub fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    /// Variation of the round trip, seconds.
    pub fn rttvar(&self, c: &Config) -> f64 {
        match &self.estimate {
            RttEstimate::Real { rttvar, .. } => *rttvar,
            RttEstimate::Greatest(g) => g.counts / 4.0,
            RttEstimate::Ticks { rttvar, .. } => f64::from(*rttvar) / 4.0 * c.clock_granularity.seconds(),
        }
    }
}

/// A round trip in whole ticks, counted from the tick before the segment was sent.
///
/// The phase of the clock gives the times of the ticks. In the reference each sender has a random phase. The sixteen
/// traces, which log every change of srtt, show that this phase is between 5.54 and 5.58 ms after the last tick.
fn ticks_between(sent: Time, now: Time, phase: Duration, tick: f64) -> i32 {
    let round_trip = now.seconds() - sent.seconds();
    let started = sent.seconds() + phase.seconds();
    ((round_trip + libm::fmod(started, tick)) / tick) as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::testing::config;

    fn at(s: f64) -> Time {
        Time::from_seconds(s)
    }

    /// With a constant round trip R, the closed form of rttvar after n samples is (R/2) 0.75^(n-1).
    #[test]
    fn a_constant_round_trip_follows_its_closed_form() {
        let c = config(&[("min_rto", "200ms"), ("clock_granularity", "1ms")]);
        let mut rto = Rto::new(&c);
        assert_eq!(rto.timeout(&c), Duration::from_millis(1000));
        let r = 0.1;
        for n in 1..40 {
            rto.sample(at(1.0), at(1.0 + r), 1, (0, 0), &c);
            let rttvar = r / 2.0 * 0.75_f64.powi(n - 1);
            assert!((rto.rttvar(&c) - rttvar).abs() < 1e-12);
            let expected = (r + (4.0 * rttvar).max(0.001)).max(0.2);
            assert!((rto.timeout(&c).seconds() - expected).abs() < 2e-9, "sample {n}");
        }
    }

    #[test]
    fn backoff_doubles_exactly_and_stops_at_the_maximum() {
        for profile in ["rfc", "ns2"] {
            let c = config(&[("profile", profile)]);
            let mut rto = Rto::new(&c);
            rto.sample(at(1.0), at(1.05), 1, (0, 0), &c);
            let first_timeout = rto.timeout(&c);
            for n in 1..=3 {
                rto.back_off(&c);
                assert_eq!(rto.timeout(&c).0, first_timeout.0 << n, "{profile}");
            }
            for _ in 0..100 {
                rto.back_off(&c);
                assert!(rto.timeout(&c) <= c.max_rto);
            }
            rto.end_backoff();
            assert!(rto.timeout(&c) >= first_timeout);
        }
    }

    #[test]
    fn ticks_are_whole_and_count_from_the_tick_before() {
        let ticks = |sent, now, phase| ticks_between(Time(sent), Time(now), Duration::from_micros(phase), 0.01);
        assert_eq!(ticks(100_000_000, 144_768_000, 0), 4);
        assert_eq!(ticks(100_000_000, 144_768_000, 5560), 5);
        assert_eq!(ticks(144_768_000, 198_752_000, 5560), 5);
        assert_eq!(ticks(109_000_000, 121_000_000, 0), 2);
        let c = config(&[("profile", "ns2"), ("clock_phase", "5560us")]);
        let mut rto = Rto::new(&c);
        assert_eq!(rto.timeout(&c), Duration::from_millis(3000));
        rto.sample(Time(100_000_000), Time(144_768_000), 1, (0, 0), &c);
        assert_eq!(rto.srtt(), Some(Duration::from_millis(50)));
        // The sum 50 ms + 4 * 25 ms is below the minimum.
        assert_eq!(rto.timeout(&c), Duration::from_millis(200));
    }

    #[test]
    fn more_samples_a_window_weigh_less_each() {
        let c = config(&[]);
        let mut rto = Rto::new(&c);
        rto.sample(at(1.0), at(1.1), 1, (0, 0), &c);
        rto.sample(at(1.0), at(1.9), 10, (0, 0), &c);
        let srtt = rto.srtt().unwrap().seconds();
        assert!((srtt - (0.1 + 0.8 / 80.0)).abs() < 1e-9, "{srtt}");
    }
}
