//! The classic controller: slow start, congestion avoidance, halving (RFC 5681).
//!
//! Tahoe, Reno, NewReno and SACK share it; they differ in recovery. The window doubles each round trip until the
//! threshold, then grows by one segment a round trip, and a loss leaves half of it.
//!
//! State: `cwnd`, `ssthresh` in bytes. Departures, all parameters: what is halved (the bytes outstanding, or the window
//! as ns-2 does), a threshold in whole segments beside a window with a fraction (ns-2), byte counting (RFC 3465),
//! growth while the window is not the limit (ns-2), the factor of an ECN echo (RFC 8511).
//! An ACK costs a compare and in avoidance one division.

use super::{Acked, Congested, CongestionControl};
use crate::tcp::config::{Config, Halve};
use crate::tcp::state::real;

/// RFC 5681 equation 4: "ssthresh = max (FlightSize / 2, 2*SMSS)".
const LEAST_SSTHRESH: f64 = 2.0;
/// RFC 5681 section 3.1: "the loss window, LW, equals 1 full-sized segment".
const LOSS_WINDOW: f64 = 1.0;

#[derive(Clone, Debug)]
pub struct Reno {
    /// Bytes.
    cwnd: f64,
    /// Bytes.
    ssthresh: f64,
    /// Bytes of a full segment.
    segment: f64,
    /// Bytes, infinite without a cap.
    cap: f64,
    ecn_decrease: f64,
    byte_counting: u32,
    halve: Halve,
    whole_ssthresh: bool,
    grow_when_unused: bool,
    timeout_halves: bool,
}

pub fn build(c: &Config) -> Box<dyn CongestionControl> {
    Box::new(Reno {
        cwnd: c.initial_window,
        ssthresh: c.initial_ssthresh,
        segment: c.segment(),
        cap: c.window_cap,
        ecn_decrease: c.ecn_decrease,
        byte_counting: c.byte_counting,
        halve: c.halve,
        whole_ssthresh: c.whole_ssthresh,
        grow_when_unused: c.grow_when_unused,
        timeout_halves: c.timeout_halves,
    })
}

impl Reno {
    /// The window a reduction starts from.
    fn before(&self, e: &Congested) -> f64 {
        match self.halve {
            Halve::Flight => e.flight as f64,
            Halve::Cwnd => self.cwnd.min(self.cap),
        }
    }

    fn set_ssthresh(&mut self, bytes: f64) {
        let whole = if self.whole_ssthresh {
            libm::floor(bytes / self.segment) * self.segment
        } else {
            bytes
        };
        self.ssthresh = whole.max(LEAST_SSTHRESH * self.segment);
    }

    /// Half of it in both, as a fast retransmit leaves it.
    fn halve(&mut self, e: &Congested) {
        let half = self.before(e) / 2.0;
        self.set_ssthresh(half);
        // With a threshold in whole segments the window keeps its fraction; otherwise recovery starts at the threshold.
        self.cwnd = if self.whole_ssthresh {
            half.max(self.segment)
        } else {
            self.ssthresh
        };
    }
}

impl CongestionControl for Reno {
    #[inline]
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn set_cwnd(&mut self, bytes: f64) {
        self.cwnd = bytes.max(LOSS_WINDOW * self.segment);
    }

    fn ack(&mut self, a: &Acked) {
        // RFC 3168 section 6.1.2 with RFC 5681: an ACK that reports congestion does not open the window.
        if a.ecn_echo || !(a.window_limited || self.grow_when_unused) {
            return;
        }
        let (segment, bytes) = (self.segment, real(a.bytes));
        if self.cwnd < self.ssthresh {
            // RFC 5681 equation 2: "cwnd += min (N, SMSS)"; RFC 3465 section 2.3: L = 1 after a timeout.
            self.cwnd += match self.byte_counting {
                0 if self.grow_when_unused => segment,
                0 => bytes.min(segment),
                _ if a.after_timeout => bytes.min(segment),
                l => bytes.min(f64::from(l) * segment),
            };
        } else if self.byte_counting > 0 {
            self.cwnd += segment * bytes.min(self.cwnd) / self.cwnd;
        } else {
            // RFC 5681 equation 3: "cwnd += SMSS*SMSS/cwnd".
            self.cwnd += segment * segment / self.cwnd;
        }
    }

    fn loss(&mut self, e: &Congested) {
        self.halve(e);
    }

    fn ecn(&mut self, e: &Congested) {
        let before = match self.halve {
            Halve::Flight => self.cwnd.min(e.flight as f64),
            Halve::Cwnd => self.cwnd.min(self.cap),
        };
        let left = before * self.ecn_decrease;
        self.set_ssthresh(left);
        // RFC 3168 section 6.1.2: the window is never below one segment.
        self.cwnd = left.max(self.segment);
    }

    fn timeout(&mut self, e: &Congested) {
        if !e.again {
            self.halve(e);
        }
        self.cwnd = if self.timeout_halves {
            self.ssthresh
        } else {
            LOSS_WINDOW * self.segment
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::testing::config;
    use tailback_base::Time;

    fn acked(bytes: u64) -> Acked {
        Acked {
            now: Time::ZERO,
            bytes,
            flight: 0,
            window_limited: true,
            after_timeout: false,
            ecn_echo: false,
            srtt: None,
        }
    }

    fn congested(flight: u64, again: bool) -> Congested {
        Congested {
            now: Time::ZERO,
            flight,
            again,
        }
    }

    #[test]
    fn slow_start_doubles_and_avoidance_adds_one_segment_a_window() {
        let mut c = build(&config(&[
            ("payload", "1000B"),
            ("initial_window", "2 packets"),
            ("initial_ssthresh", "8 packets"),
        ]));
        for _ in 0..6 {
            c.ack(&acked(1000));
        }
        assert_eq!(c.cwnd(), 8000.0);
        for _ in 0..8 {
            c.ack(&acked(1000));
        }
        assert!((c.cwnd() - 9000.0).abs() < 60.0, "{}", c.cwnd());
    }

    #[test]
    fn a_stretch_ack_grows_by_one_segment_unless_bytes_are_counted() {
        let grown = |l: &str, ssthresh: &str, bytes| {
            let values = [
                ("payload", "1000B"),
                ("initial_window", "10 packets"),
                ("initial_ssthresh", ssthresh),
                ("byte_counting", l),
            ];
            let mut c = build(&config(&values));
            c.ack(&acked(bytes));
            c.cwnd() - 10_000.0
        };
        assert_eq!(grown("0", "unlimited", 5000), 1000.0);
        assert_eq!(grown("2", "unlimited", 5000), 2000.0);
        assert_eq!(grown("0", "10 packets", 5000), 100.0);
        assert_eq!(grown("2", "10 packets", 5000), 500.0);
    }

    /// Edge case 9: repeated halving stops at one segment, the threshold at two.
    #[test]
    fn halving_ends_at_one_segment_and_the_threshold_at_two() {
        for profile in ["rfc", "ns2"] {
            let mut c = build(&config(&[("profile", profile), ("payload", "1000B")]));
            for _ in 0..20 {
                let flight = c.cwnd() as u64;
                c.ecn(&congested(flight, false));
                assert!(c.cwnd() >= 1000.0 && c.ssthresh() >= 2000.0);
                c.loss(&congested(flight, false));
                assert!(c.cwnd() >= 1000.0 && c.ssthresh() >= 2000.0);
            }
        }
    }

    #[test]
    fn a_segment_that_times_out_again_does_not_lower_the_threshold_again() {
        let mut c = build(&config(&[("payload", "1000B"), ("initial_window", "10 packets")]));
        c.timeout(&congested(10_000, false));
        assert_eq!((c.cwnd(), c.ssthresh()), (1000.0, 5000.0));
        c.timeout(&congested(1000, true));
        assert_eq!((c.cwnd(), c.ssthresh()), (1000.0, 5000.0));
    }

    #[test]
    fn what_is_halved_is_a_choice() {
        let mut flight = build(&config(&[("payload", "1000B"), ("initial_window", "10 packets")]));
        flight.loss(&congested(7000, false));
        assert_eq!((flight.cwnd(), flight.ssthresh()), (3500.0, 3500.0));
        let mut window = build(&config(&[
            ("profile", "ns2"),
            ("payload", "1000B"),
            ("initial_window", "11 packets"),
        ]));
        window.loss(&congested(7000, false));
        assert_eq!((window.cwnd(), window.ssthresh()), (5500.0, 5000.0));
    }

    #[test]
    fn an_ecn_echo_leaves_the_declared_share() {
        let mut c = build(&config(&[
            ("payload", "1000B"),
            ("initial_window", "10 packets"),
            ("ecn_decrease", "0.8"),
        ]));
        c.ecn(&congested(10_000, false));
        assert_eq!(c.cwnd(), 8000.0);
        let before = c.cwnd();
        c.ack(&Acked {
            ecn_echo: true,
            ..acked(1000)
        });
        assert_eq!(c.cwnd(), before);
    }
}
