//! Vegas: the window depends on how much of it is queued (Brakmo and Peterson 1995).
//!
//! With W segments outstanding, a least round trip `base` and a present round trip `cur`, W base / cur segments are in
//! the network. The rest, `diff`, is in a queue. Once per round trip the window grows by one segment if fewer than
//! `alpha` are queued, and shrinks by one if more than `beta` are queued. Slow start ends when more than `gamma` are
//! queued. The response to losses is Reno's, and during the repair of losses the control is Reno.
//!
//! ```text
//!   slow start --- diff > gamma: W = W base / cur + 1 ---> avoidance: diff < alpha: +1, diff > beta: -1, once a round
//!        ^                                                     |
//!        '------- timeout ----------   loss, echo: half  <-----'   then a whole round without judgement
//! ```
//!
//! `diff` is a real number, as in the paper. Linux and ns-3 cut `diff` to whole segments, each at a different place of
//! the computation. The parameter `queued` selects the place. With `alpha = 1` the rounded-up number of ns-3 is never
//! less than alpha, so a window that a loss has halved stays there.
//!
//! When Vegas takes over an open connection, it continues from window and threshold and measures `base` anew. A
//! standing queue at that time counts as part of the path. A whole round passes before Vegas judges.
//!
//! Vegas decides once per round trip, from the least of the round's samples, as in Linux and ns-3. It works with any
//! loss recovery. The paper's own retransmission is not implemented. The state is the window of `window.rs`, two
//! minima, a count and a round. The round trip of each segment is taken from the sender's records, so time stamps are
//! not needed. The handshake's round trip counts only in the forms of Linux and ns-3. A SYN is shorter than a segment
//! of data, and on a slow line the difference would look like a permanent queue. An ACK costs two compares, and a round
//! costs a division.

use super::round::Round;
use super::window::{CongestionWindow, LEAST_SSTHRESH};
use super::{AckEvent, CongestionControl, CongestionEvent, Facts, Handover, Mistaken, Phase, Reset, WindowRules};
use std::sync::Arc;
use tailback_base::model::{Key, Kind, Model};
use tailback_base::{Duration, ProbeDef, Settings, Time, params};

const PAPER: &str = "Brakmo and Peterson 1995, section 4";
const SEGMENTS: Kind = Kind::Real {
    min: 0.0,
    max: 10_000.0,
};

pub static MODEL: Model = Model {
    name: "vegas",
    family: "congestion",
    title: "TCP Vegas",
    summary: "Keeps a few segments queued, whose number follows from the round trip. While fewer than `alpha` \
              segments are queued, the window grows by one segment in each round trip; while more than `beta` are \
              queued, it shrinks by one. It reacts to losses as Reno does.",
    source: "L. Brakmo and L. Peterson, TCP Vegas: end to end congestion avoidance on a global Internet, JSAC 1995",
    params: PARAMS,
    probes: &[
        ProbeDef {
            name: "base_rtt",
            unit: "s",
            doc: "least round trip",
            per: "",
        },
        ProbeDef {
            name: "queued",
            unit: "segments",
            doc: "segments believed to be queued, by the last estimate",
            per: "",
        },
    ],
};

params! {
    const PARAMS;

    ALPHA: f64 = Key::new("alpha", SEGMENTS, "2",
        "With fewer segments queued than this, the window grows by one a round trip.",
        PAPER);
    BETA: f64 = Key::new("beta", SEGMENTS, "4",
        "With more segments queued than this, the window shrinks by one a round trip.",
        PAPER);
    GAMMA: f64 = Key::new("gamma", SEGMENTS, "1", "With more segments queued than this, slow start ends.", PAPER);
    QUEUED: Queued = Key::choice("queued", "expected",
        "How the segments in the queue are counted: W - W base / cur as a real number, as the paper; the whole part of \
         W (cur - base) / base; or W less the whole part of W base / cur.",
        "expected: Brakmo and Peterson 1995, section 4; linux: Linux; ns3: ns-3");
}

pub const FACTS: Facts = Facts {
    records: |_, _| true,
    linux: Some("vegas"),
    ..Facts::CLASSIC
};

/// RFC 5681 equation 4: a loss leaves half.
const KEPT: f64 = 0.5;
/// The least number of samples in a round. Fewer samples may all come from delayed ACKs.
const LEAST_SAMPLES: u32 = 3;
/// The rounding error that is allowed in a number of segments.
const LAST_BIT: f64 = 1e-9;
/// After a judgement the threshold is not below this share of the window, as in Linux.
const THRESHOLD_SHARE: f64 = 0.75;

tailback_base::choice! {
    enum Queued { Expected = "expected", Linux = "linux", Ns3 = "ns3" }
}

pub struct Vegas {
    window: CongestionWindow,
    alpha: f64,
    beta: f64,
    gamma: f64,
    rule: Queued,
    /// The least round trip of all, and that of this round, seconds.
    base: f64,
    current: f64,
    samples: u32,
    round: Round,
    /// Whether a loss is being repaired, or the repair has just ended. The next round that counts begins with the next
    /// ACK.
    repairing: bool,
    /// The number of queued segments at the last judgement.
    queued: f64,
}

pub fn build(own: &Settings, rules: &Arc<WindowRules>) -> Box<dyn CongestionControl> {
    Box::new(Vegas {
        window: CongestionWindow::new(rules),
        alpha: own.get(&ALPHA),
        beta: own.get(&BETA),
        gamma: own.get(&GAMMA),
        rule: own.get(&QUEUED),
        base: f64::INFINITY,
        current: f64::INFINITY,
        samples: 0,
        round: Round::default(),
        repairing: false,
        queued: f64::NAN,
    })
}

impl Vegas {
    fn begin_round(&mut self) {
        (self.current, self.samples) = (f64::INFINITY, 0);
    }

    fn as_reno(&mut self, a: &AckEvent<'_>) {
        let w = &mut self.window;
        if !w.may_grow(a) {
        } else if w.in_slow_start() {
            w.slow_start(a);
        } else {
            w.one_segment_a_round_trip(a);
        }
    }

    /// Once per round trip: compute how many segments are queued, and react.
    fn judge(&mut self, a: &AckEvent<'_>) {
        let segment = self.window.rules.segment;
        let whole_segments = libm::floor(self.window.cwnd / segment);
        let expected = whole_segments * self.base / self.current;
        // Exact ratios such as 20 * 100 / 105 must not fall below a whole number because of rounding in the last bit.
        let (in_network, queued) = match self.rule {
            Queued::Expected => (expected, whole_segments - expected),
            Queued::Linux => {
                let queued = libm::floor(whole_segments * (self.current - self.base) / self.base + LAST_BIT);
                (libm::floor(expected + LAST_BIT), queued)
            }
            Queued::Ns3 => {
                let in_network = libm::floor(expected + LAST_BIT);
                (in_network, whole_segments - in_network)
            }
        };
        self.queued = queued;
        if self.window.in_slow_start() {
            if queued > self.gamma + LAST_BIT {
                let new_window = whole_segments.min(in_network + 1.0) * segment;
                self.window.cwnd = new_window;
                self.window.ssthresh = self.window.ssthresh.min(new_window);
            } else {
                self.as_reno(a);
            }
        } else {
            let w = &mut self.window;
            if queued > self.beta + LAST_BIT {
                w.cwnd -= segment;
                w.ssthresh = w.ssthresh.min(w.cwnd);
            } else if queued < self.alpha - LAST_BIT && w.may_grow(a) {
                w.cwnd += segment;
            }
        }
        let w = &mut self.window;
        w.cwnd = w.cwnd.max(LEAST_SSTHRESH * segment);
        w.ssthresh = w.ssthresh.max(THRESHOLD_SHARE * w.cwnd);
    }
}

impl CongestionControl for Vegas {
    fn on_ack(&mut self, a: &AckEvent<'_>) {
        if let Some(r) = a
            .rate
            .and_then(|r| r.rtt)
            .or(a.rtt)
            .map(|r| r.seconds())
            .filter(|r| *r > 0.0)
        {
            self.base = self.base.min(r);
            self.current = self.current.min(r);
            self.samples += 1;
        }
        if a.phase != Phase::Open {
            self.repairing = true;
            self.as_reno(a);
            return;
        }
        if self.repairing {
            self.repairing = false;
            self.round.restart(a);
            self.begin_round();
            return;
        }
        if !self.round.is_over(a) {
            if self.window.in_slow_start() {
                self.as_reno(a);
            }
            return;
        }
        if self.samples < LEAST_SAMPLES {
            self.as_reno(a);
        } else {
            self.judge(a);
        }
        self.begin_round();
    }

    fn on_congestion(&mut self, e: &CongestionEvent) {
        self.window.congested(e, |w| w * KEPT, |w| w * KEPT);
    }

    /// Linux and ns-3 count the handshake's round trip. The paper counts only round trips of data.
    fn sending_begins(&mut self, _now: Time, srtt: Option<Duration>) {
        if self.rule != Queued::Expected
            && let Some(r) = srtt.filter(|_| self.base.is_infinite() && !self.repairing)
        {
            self.base = r.seconds();
        }
    }

    fn window_reset(&mut self, why: Reset) {
        if matches!(why, Reset::Idle | Reset::Restart) {
            self.base = f64::INFINITY;
            self.repairing = true;
        }
        self.window.reset(why);
    }

    /// A whole round passes first, as after a repair.
    fn take_over(&mut self, from: &Handover) {
        self.window.take_over(from);
        self.repairing = from.srtt.is_some();
    }

    fn undo(&mut self, _why: Mistaken) {
        self.window.undo();
    }

    fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }

    fn read(&self, probe: usize) -> f64 {
        match probe {
            0 if self.base.is_finite() => self.base,
            1 => self.queued,
            _ => f64::NAN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::Congestion;
    use crate::tcp::congestion::testing::AckClock;
    use crate::tcp::testing::config;
    use tailback_base::{Duration, Time};

    fn vegas(own: &[(&str, &str)], window: &str, threshold: &str) -> Box<dyn CongestionControl> {
        let own_settings = own.iter().fold(Settings::defaults(&MODEL), |s, (n, v)| s.with(n, v));
        let settings = [
            ("payload", "1000B"),
            ("initial_window", window),
            ("initial_ssthresh", threshold),
        ];
        build(&own_settings, &config(&settings).window)
    }

    /// This many ACKs at this round trip, for a sender with `window` segments outstanding.
    fn acks(c: &mut dyn CongestionControl, clock: &mut AckClock, rtt: f64, (n, window): (u64, u64)) {
        for _ in 0..n {
            clock.ack_with(c, rtt, |a| a.nxt = a.una + 1000 * (window - 1));
        }
    }

    /// Base is 100 ms and W is 20. At 105 ms 0.95 segments are queued and W grows. At 110 ms 1.82 are queued and W
    /// grows. At 115 ms 2.61 are queued and W stays. At 130 ms 4.62 are queued and W shrinks. In these cases Linux
    /// counts 1, 2, 3 and 6 queued segments, and ns-3 counts 1, 2, 3 and 5.
    #[test]
    fn the_window_moves_by_what_is_queued() {
        for (rule, rtt, queued, window) in [
            ("expected", 0.105, 20.0 - 2000.0 / 105.0, 21.0),
            ("expected", 0.110, 20.0 - 2000.0 / 110.0, 21.0),
            ("expected", 0.115, 20.0 - 2000.0 / 115.0, 20.0),
            ("expected", 0.130, 20.0 - 2000.0 / 130.0, 19.0),
            ("linux", 0.105, 1.0, 21.0),
            ("linux", 0.110, 2.0, 20.0),
            ("linux", 0.130, 6.0, 19.0),
            ("ns3", 0.105, 1.0, 21.0),
            ("ns3", 0.110, 2.0, 20.0),
            ("ns3", 0.130, 5.0, 19.0),
        ] {
            let mut c = vegas(&[("queued", rule)], "20 packets", "1000B");
            let mut clock = AckClock::new();
            // The first ACK ends a round that has one sample, so Reno's growth applies: 1 / 20 of a segment.
            acks(&mut *c, &mut clock, 0.1, (1, 20));
            assert_eq!(c.cwnd(), 20_050.0);
            acks(&mut *c, &mut clock, rtt, (20, 20));
            assert!((c.read(1) - queued).abs() < 1e-6, "{rule} {rtt}: {}", c.read(1));
            assert_eq!(libm::floor(c.cwnd() / 1000.0), window, "{rule} {rtt}");
        }
    }

    /// W is 32 in slow start at 110 ms. Then 29.09 segments are in the network and 2.91 are queued, so W becomes 29.09
    /// + 1. In whole segments it becomes 29 + 1.
    #[test]
    fn slow_start_ends_when_more_than_gamma_are_queued() {
        let exact = end_of_slow_start("expected");
        assert!((exact.0 - 2.909).abs() < 0.001 && (exact.1 - 30_091.0).abs() < 1.0 && exact.1 == exact.2);
        assert_eq!(end_of_slow_start("ns3"), (3.0, 30_000.0, 30_000.0));
    }

    /// The queued segments, and the window and threshold, at the end of slow start.
    fn end_of_slow_start(rule: &str) -> (f64, f64, f64) {
        let mut c = vegas(&[("queued", rule)], "31 packets", "unlimited");
        let mut clock = AckClock::new();
        acks(&mut *c, &mut clock, 0.1, (1, 32));
        assert_eq!(c.cwnd(), 32_000.0);
        for _ in 0..31 {
            clock.ack_with(&mut *c, 0.110, |a| {
                (a.nxt, a.window_limited) = (a.una + 31_000, false);
            });
        }
        assert_eq!(c.cwnd(), 32_000.0);
        clock.ack_with(&mut *c, 0.110, |a| a.nxt = a.una + 31_000);
        (c.read(1), c.cwnd(), c.ssthresh())
    }

    /// W is 20 and one segment is lost. The window is halved, and the control is Reno until the loss is repaired. The
    /// first judgement follows one whole round later.
    #[test]
    fn after_a_loss_a_whole_round_goes_by_before_it_judges() {
        let mut c = vegas(&[], "20 packets", "1000B");
        let mut clock = AckClock::new();
        acks(&mut *c, &mut clock, 0.1, (1, 20));
        clock.sign(&mut *c, Congestion::Loss);
        assert_eq!(libm::floor(c.ssthresh() / 1000.0), 10.0);
        for _ in 0..12 {
            clock.ack_with(&mut *c, 0.3, |a| a.phase = Phase::Recovery);
        }
        let window = c.cwnd();
        // The ACK after the repair begins the round. Ten more segments are acknowledged before the judgement.
        for n in 0..=10 {
            assert_eq!((c.cwnd(), c.read(1).is_nan()), (window, true), "{n}");
            clock.ack_with(&mut *c, 0.1, |a| a.nxt = a.una + 9000);
        }
        assert_eq!((c.cwnd(), c.read(1)), (window + 1000.0, 0.0));
    }

    /// The round trip of a handshake is shorter than that of a segment of data, so the paper's rule ignores it. After
    /// an idle period the least round trip is found again.
    #[test]
    fn the_paper_takes_the_least_round_trip_from_data() {
        for (rule, base_rtt) in [("expected", 0.1), ("linux", 0.09), ("ns3", 0.09)] {
            let mut c = vegas(&[("queued", rule)], "20 packets", "1000B");
            c.sending_begins(Time::ZERO, Some(Duration::from_millis(90)));
            let mut clock = AckClock::new();
            acks(&mut *c, &mut clock, 0.1, (1, 20));
            assert_eq!(c.read(0), base_rtt, "{rule}");
            c.window_reset(Reset::Idle);
            c.sending_begins(Time::ZERO, Some(Duration::from_millis(80)));
            acks(&mut *c, &mut clock, 0.11, (1, 20));
            assert_eq!(c.read(0), 0.11, "{rule}");
        }
    }

    /// With `alpha = 1` a window of half the path grows until a segment is queued, but not with the count of ns-3.
    #[test]
    fn half_of_the_path_is_filled_again() {
        let settled = |rule: &str| {
            let mut c = vegas(
                &[("alpha", "1"), ("beta", "3"), ("queued", rule)],
                "20 packets",
                "1000B",
            );
            let mut clock = AckClock::new();
            // No value occurs twice, so the least round trip of a round is a little above the least of all.
            acks(&mut *c, &mut clock, 0.0999, (1, 20));
            for _ in 0..5000 {
                let window = c.cwnd() / 1000.0;
                clock.ack(&mut *c, 0.1 * (window / 50.0).max(1.0));
            }
            libm::floor(c.cwnd() / 1000.0)
        };
        assert_eq!((settled("expected"), settled("ns3")), (51.0, 20.0));
    }

    #[test]
    fn two_samples_are_no_judgement() {
        let mut c = vegas(&[], "20 packets", "1000B");
        let mut clock = AckClock::new();
        acks(&mut *c, &mut clock, 0.1, (1, 20));
        for n in 0..20 {
            clock.ack_with(&mut *c, 0.2, |a| {
                a.nxt = a.una + 19_000;
                a.rtt = a.rtt.filter(|_| n < 2);
            });
        }
        assert!(c.read(1).is_nan());
        // The window has grown as in Reno for the two ACKs that ended rounds.
        assert!((c.cwnd() - 20_000.0 - 2.0 * 50.0).abs() < 0.5, "{}", c.cwnd());
    }

    /// A path of 50 segments and a queue: a window that keeps two to four segments in the queue does not change.
    #[test]
    fn it_settles_with_two_to_four_queued() {
        let mut c = vegas(&[], "2 packets", "unlimited");
        let mut clock = AckClock::new();
        for _ in 0..20_000 {
            let window = c.cwnd() / 1000.0;
            clock.ack(&mut *c, 0.1 * (window / 50.0).max(1.0));
        }
        let window = c.cwnd() / 1000.0;
        assert!(
            (52.0..=55.0).contains(&window) && (2.0..=4.0).contains(&c.read(1)),
            "{window}"
        );
    }
}
