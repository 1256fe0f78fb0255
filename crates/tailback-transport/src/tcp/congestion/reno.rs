//! The classic controller: slow start, congestion avoidance, halving (RFC 5681).
//!
//! Tahoe, Reno, NewReno and SACK share it; they differ in recovery. The window doubles each round trip until the
//! threshold, then grows by one segment a round trip, and a loss leaves half of it. During fast recovery it does not
//! grow. A router that asks for less gets what its rule says, see `docs/decisions/explicit-requests.md`.
//!
//! State: `cwnd`, `ssthresh` in bytes. Departures, all parameters: what is halved (the bytes outstanding, or the window
//! as ns-2 does), a threshold in whole segments beside a window with a fraction (ns-2), byte counting (RFC 3465),
//! growth while the window is not the limit (ns-2), the factor of an ECN echo (RFC 8511).
//! An ACK costs a compare and in avoidance one division.

use super::{
    AckEvent, AfterTimeout, Congestion, CongestionControl, CongestionEvent, Growth, Halve, Phase, Reset, WindowRules,
};
use std::sync::Arc;
use tailback_base::{Model, Settings};

pub static MODEL: Model = Model {
    name: "reno",
    family: "congestion",
    title: "Slow start, congestion avoidance and halving",
    summary: "The classic controller of Tahoe, Reno, NewReno and SACK senders: the window doubles each round trip up to \
              the slow-start threshold, then grows by one segment a round trip; a loss leaves half of it.",
    source: "RFC 5681 section 3",
    params: &[],
    probes: &[],
};

/// RFC 5681 equation 4: "ssthresh = max (FlightSize / 2, 2*SMSS)".
const LEAST_SSTHRESH: f64 = 2.0;
/// RFC 5681 section 3.1: "the loss window, LW, equals 1 full-sized segment".
const LOSS_WINDOW: f64 = 1.0;

pub struct Reno {
    /// Bytes.
    cwnd: f64,
    /// Bytes.
    ssthresh: f64,
    /// Both before the last reduction.
    before: (f64, f64),
    rules: Arc<WindowRules>,
}

pub fn build(_own: &Settings, rules: &Arc<WindowRules>) -> Box<dyn CongestionControl> {
    let windows = (rules.initial_window, rules.initial_ssthresh);
    Box::new(Reno {
        cwnd: windows.0,
        ssthresh: windows.1,
        before: windows,
        rules: rules.clone(),
    })
}

/// A number of bytes as a real number. Lengths stay far below 2^63, where the signed conversion is one instruction.
#[inline]
fn real(bytes: u64) -> f64 {
    bytes as i64 as f64
}

impl Reno {
    fn set_ssthresh(&mut self, bytes: f64) {
        let segment = self.rules.segment;
        let whole = if self.rules.whole_ssthresh {
            libm::floor(bytes / segment) * segment
        } else {
            bytes
        };
        self.ssthresh = whole.max(LEAST_SSTHRESH * segment);
    }

    /// Half of the window in both, as a fast retransmit leaves it.
    fn halve(&mut self, flight: u64) {
        let half = match self.rules.halve {
            Halve::Flight => flight as f64,
            Halve::Cwnd => self.cwnd.min(self.rules.cap),
        } / 2.0;
        self.set_ssthresh(half);
        // With a threshold in whole segments the window keeps its fraction; otherwise recovery starts at the threshold.
        self.cwnd = if self.rules.whole_ssthresh {
            half.max(self.rules.segment)
        } else {
            self.ssthresh
        };
    }

    fn timeout(&mut self, flight: u64, again: bool) {
        if !again {
            self.halve(flight);
        }
        self.cwnd = match self.rules.after_timeout {
            AfterTimeout::Halve => self.ssthresh,
            AfterTimeout::SlowStart => LOSS_WINDOW * self.rules.segment,
        };
    }

    fn echo(&mut self, flight: u64) {
        let before = match self.rules.halve {
            Halve::Flight => self.cwnd.min(flight as f64),
            Halve::Cwnd => self.cwnd.min(self.rules.cap),
        };
        let left = before * self.rules.ecn_decrease;
        self.set_ssthresh(left);
        // RFC 3168 section 6.1.2: the window is never below one segment.
        self.cwnd = left.max(self.rules.segment);
    }
}

impl CongestionControl for Reno {
    fn on_ack(&mut self, a: &AckEvent<'_>) {
        let always = self.rules.growth == Growth::Always;
        // RFC 3168 section 6.1.2 with RFC 5681: an ACK that reports congestion does not open the window.
        if a.acked == 0 || a.phase == Phase::Recovery || a.ecn_echo || !(a.window_limited || always) {
            return;
        }
        let (segment, bytes) = (self.rules.segment, real(a.acked));
        if self.cwnd < self.ssthresh {
            // RFC 5681 equation 2: "cwnd += min (N, SMSS)"; RFC 3465 section 2.3: L = 1 after a timeout.
            self.cwnd += match self.rules.byte_counting {
                0 if always => segment,
                0 => bytes.min(segment),
                _ if a.phase == Phase::Loss => bytes.min(segment),
                l => bytes.min(f64::from(l) * segment),
            };
        } else if self.rules.byte_counting > 0 {
            self.cwnd += segment * bytes.min(self.cwnd) / self.cwnd;
        } else {
            // RFC 5681 equation 3: "cwnd += SMSS*SMSS/cwnd".
            self.cwnd += segment * segment / self.cwnd;
        }
    }

    fn on_congestion(&mut self, e: &CongestionEvent) {
        self.before = (self.cwnd, self.ssthresh);
        match e.what {
            Congestion::Loss => self.halve(e.flight),
            Congestion::Ecn => self.echo(e.flight),
            Congestion::Request { keep, .. } => {
                self.cwnd = (self.cwnd * keep).max(LEAST_SSTHRESH * self.rules.segment);
                self.ssthresh = self.cwnd;
            }
            Congestion::Timeout { again } => self.timeout(e.flight, again),
            Congestion::LostSyn => {
                self.cwnd = self.rules.segment;
                self.timeout(e.flight, false);
            }
        }
    }

    fn window_reset(&mut self, why: Reset) {
        let window = match why {
            Reset::Tahoe | Reset::LostSyn => self.rules.segment,
            Reset::RecoveryEnd { at_most: Some(bytes) } => self.ssthresh.min(bytes),
            // The window has been where it belongs since the loss.
            Reset::RecoveryEnd { at_most: None } => return,
            Reset::Idle => self.cwnd.min(self.rules.initial_window),
            Reset::Restart => {
                self.ssthresh = self.rules.initial_ssthresh;
                self.rules.initial_window
            }
        };
        self.cwnd = window.max(LOSS_WINDOW * self.rules.segment);
    }

    /// RFC 4015 section 3.2 in its fullest form: both are what they were, unless they have grown since.
    fn undo(&mut self) {
        self.cwnd = self.cwnd.max(self.before.0);
        self.ssthresh = self.ssthresh.max(self.before.1);
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Limit;
    use crate::tcp::testing::config;
    use tailback_base::Time;

    fn reno(values: &[(&str, &str)]) -> Box<dyn CongestionControl> {
        build(&Settings::defaults(&MODEL), &config(values).window)
    }

    fn acked(bytes: u64) -> AckEvent<'static> {
        AckEvent {
            now: Time::ZERO,
            acked: bytes,
            sacked: 0,
            lost: 0,
            flight: 0,
            pipe: 0,
            rtt: None,
            srtt: None,
            ecn_echo: false,
            phase: Phase::Open,
            window_limited: true,
            limit: Limit::Network,
            round_ended: false,
            rate: None,
        }
    }

    fn sign(what: Congestion, flight: u64) -> CongestionEvent {
        CongestionEvent {
            now: Time::ZERO,
            flight,
            what,
        }
    }

    #[test]
    fn slow_start_doubles_and_avoidance_adds_one_segment_a_window() {
        let mut c = reno(&[
            ("payload", "1000B"),
            ("initial_window", "2 packets"),
            ("initial_ssthresh", "8 packets"),
        ]);
        for _ in 0..6 {
            c.on_ack(&acked(1000));
        }
        assert_eq!(c.cwnd(), 8000.0);
        for _ in 0..8 {
            c.on_ack(&acked(1000));
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
            let mut c = reno(&values);
            c.on_ack(&acked(bytes));
            c.cwnd() - 10_000.0
        };
        assert_eq!(grown("0", "unlimited", 5000), 1000.0);
        assert_eq!(grown("2", "unlimited", 5000), 2000.0);
        assert_eq!(grown("0", "10 packets", 5000), 100.0);
        assert_eq!(grown("2", "10 packets", 5000), 500.0);
    }

    /// Repeated halving stops at one segment, the threshold at two.
    #[test]
    fn halving_ends_at_one_segment_and_the_threshold_at_two() {
        for profile in ["rfc", "ns2"] {
            let mut c = reno(&[("profile", profile), ("payload", "1000B")]);
            for _ in 0..20 {
                let flight = c.cwnd() as u64;
                c.on_congestion(&sign(Congestion::Ecn, flight));
                assert!(c.cwnd() >= 1000.0 && c.ssthresh() >= 2000.0);
                c.on_congestion(&sign(Congestion::Loss, flight));
                assert!(c.cwnd() >= 1000.0 && c.ssthresh() >= 2000.0);
            }
        }
    }

    #[test]
    fn a_segment_that_times_out_again_does_not_lower_the_threshold_again() {
        let mut c = reno(&[("payload", "1000B"), ("initial_window", "10 packets")]);
        c.on_congestion(&sign(Congestion::Timeout { again: false }, 10_000));
        assert_eq!((c.cwnd(), c.ssthresh()), (1000.0, 5000.0));
        c.on_congestion(&sign(Congestion::Timeout { again: true }, 1000));
        assert_eq!((c.cwnd(), c.ssthresh()), (1000.0, 5000.0));
    }

    #[test]
    fn what_is_halved_is_a_choice() {
        let mut flight = reno(&[("payload", "1000B"), ("initial_window", "10 packets")]);
        flight.on_congestion(&sign(Congestion::Loss, 7000));
        assert_eq!((flight.cwnd(), flight.ssthresh()), (3500.0, 3500.0));
        let mut window = reno(&[
            ("profile", "ns2"),
            ("payload", "1000B"),
            ("initial_window", "11 packets"),
        ]);
        window.on_congestion(&sign(Congestion::Loss, 7000));
        assert_eq!((window.cwnd(), window.ssthresh()), (5500.0, 5000.0));
    }

    #[test]
    fn an_ecn_echo_leaves_the_declared_share() {
        let mut c = reno(&[
            ("payload", "1000B"),
            ("initial_window", "10 packets"),
            ("ecn_decrease", "0.8"),
        ]);
        c.on_congestion(&sign(Congestion::Ecn, 10_000));
        assert_eq!(c.cwnd(), 8000.0);
        let before = c.cwnd();
        c.on_ack(&AckEvent {
            ecn_echo: true,
            ..acked(1000)
        });
        assert_eq!(c.cwnd(), before);
    }

    /// Levels 0 and 14 of 15: the first is gentle, the last a halving.
    #[test]
    fn a_request_leaves_the_share_it_names_and_at_least_two_segments() {
        let start = [("payload", "1000B"), ("initial_window", "60 packets")];
        for (level, keep, left) in [(0, 1.0 - 0.5 / 15.0, 58_000.0), (14, 0.5, 30_000.0), (14, 0.01, 2000.0)] {
            let mut c = reno(&start);
            c.on_congestion(&sign(Congestion::Request { level, keep }, 60_000));
            assert_eq!((c.cwnd(), c.ssthresh()), (left, left));
        }
    }

    #[test]
    fn an_undone_reduction_gives_back_window_and_threshold() {
        let mut c = reno(&[("payload", "1000B"), ("initial_window", "10 packets")]);
        c.on_congestion(&sign(Congestion::Timeout { again: false }, 10_000));
        c.on_ack(&acked(1000));
        assert_eq!((c.cwnd(), c.ssthresh()), (2000.0, 5000.0));
        c.undo();
        assert_eq!((c.cwnd(), c.ssthresh()), (10_000.0, f64::INFINITY));
    }

    #[test]
    fn in_recovery_and_on_duplicates_nothing_grows() {
        let mut c = reno(&[("payload", "1000B"), ("initial_window", "10 packets")]);
        c.on_ack(&acked(0));
        c.on_ack(&AckEvent {
            phase: Phase::Recovery,
            ..acked(1000)
        });
        assert_eq!(c.cwnd(), 10_000.0);
    }
}
