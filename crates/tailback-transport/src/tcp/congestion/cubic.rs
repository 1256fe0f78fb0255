//! CUBIC (RFC 9438): the window is a cubic function of the time since the last reduction.
//!
//! ```text
//!   window |              .- - Wmax + C (t - K)^3            concave up to Wmax, flat around it, then probing beyond;
//!     Wmax |      _____--'                                   K = cbrt((Wmax - window) / C) is when Wmax is reached
//!          |   .-'
//!  beta W  |--'
//!          +------------|-----------------> t
//!          0            K
//! ```
//!
//! Growth depends on time, not on round trips. Flows of different round trips therefore share more evenly, and a path
//! with a large rate-delay product fills sooner. In addition a Reno-friendly estimate grows as a linear window with the
//! same reduction would. The window is never below this estimate. A loss or an echo multiplies the window by `beta`. A
//! flow that is reduced below its last Wmax lowers its Wmax a little more (fast convergence). After a timeout slow
//! start follows, and then an epoch with K = 0.
//!
//! When CUBIC takes over an open connection, Wmax is the window. The first ACK in avoidance begins an epoch from this
//! window with K = 0, and the estimate grows as Reno does.
//!
//! The state is the window of `window.rs`, Wmax, the window at the last reduction, the beginning of the epoch with K,
//! and the estimate. It has 100 bytes, stored twice for `undo`. Departure: an ACK counts the bytes that it acknowledges
//! instead of one segment, so that delayed ACKs do not slow growth. With `congestion_form = "linux"` the window is
//! computed in whole segments (`cubic_linux.rs`). An ACK in avoidance costs a few multiplications and a division. An
//! epoch costs a cube root. HyStart++ and RFC 8511 are options.

use super::window::{CongestionWindow, real};
use super::{
    AckEvent, Congestion, CongestionControl, CongestionEvent, ControlForm, Departure, Facts, Handover, Mistaken, Phase,
    Reset, WindowRules, cubic_linux,
};
use std::sync::Arc;
use tailback_base::model::Probe;
use tailback_base::model::{Key, Kind, Model};
use tailback_base::{Settings, Time, params};

/// Values that can be recorded.
const READ: [Probe<Cubic>; 3] = [
    Probe::new(
        "w_max",
        "segments",
        "the window that CUBIC approaches: the window at the last reduction, or less with fast convergence",
        |q: &Cubic, _| q.curve.w_max,
    ),
    Probe::new(
        "k",
        "s",
        "time from the beginning of the epoch until the window reaches w_max",
        |q: &Cubic, _| q.curve.epoch.map_or(f64::NAN, |e| e.k),
    ),
    Probe::new("w_est", "segments", "the Reno-friendly estimate", |q: &Cubic, _| {
        q.curve.epoch.map_or(f64::NAN, |e| e.estimate)
    }),
];

pub static MODEL: Model = Model {
    name: "cubic",
    family: "congestion",
    title: "CUBIC",
    summary: "The window is a cubic function of the time since the last reduction: steep at first, flat near the \
              window \
              of the last loss, then steeper again. The default of most operating systems.",
    source: "RFC 9438",
    params: PARAMS,
    probes: &Probe::defs(&READ),
};

params! {
    const PARAMS;

    pub(super) C: f64 = Key::new("c", Kind::Real { min: 0.001, max: 100.0 }, "0.4",
        "How steep the cubic function is, in segments/s^3.", "RFC 9438 section 5.1");
    pub(super) BETA: f64 = Key::new("beta", Kind::Real { min: 0.1, max: 0.99 }, "0.7",
        "The share of the window that a loss leaves.", "RFC 9438 section 4.6");
    pub(super) FAST_CONVERGENCE: bool = Key::new("fast_convergence", Kind::Bool, "true",
        "If a flow is reduced before it reaches the window of its last reduction, it aims lower, so that new flows \
         get a share (fast convergence).",
        "RFC 9438 section 4.7");
    pub(super) RENO_FRIENDLY: bool = Key::new("reno_friendly", Kind::Bool, "true",
        "The window is at least that of a linear growth with the same mean as Reno's (the Reno-friendly region).",
        "RFC 9438 section 4.3");
    pub(super) HYSTART: bool = Key::new("hystart", Kind::Bool, "false",
        "HyStart++ ends the first slow start when the round trip grows.", "RFC 9406");
    pub(super) SEARCH: bool = Key::new("search", Kind::Bool, "false",
        "SEARCH ends the first slow start when what is delivered falls behind what was sent; it wins over `hystart`.",
        "draft-chung-ccwg-search-09");
    ABE: bool = Key::new("abe", Kind::Bool, "false",
        "An ECN echo leaves 0.85 of the window instead of what a loss leaves; `ecn_decrease` of tcp wins.",
        "RFC 8511 section 3.1");
}

/// With HyStart++ or SEARCH the control compares round trips. In the forms of Linux and ns-3 it counts delivered
/// segments.
pub const FACTS: Facts = Facts {
    records: |own, rules| own.get(&HYSTART) || own.get(&SEARCH) || rules.form != ControlForm::Standard,
    hears_departures: |own, _| own.get(&SEARCH),
    linux: Some("cubic"),
    ..Facts::CLASSIC
};

/// RFC 9438 section 4.4: "target = 1.5 * cwnd" at most.
const MOST_A_ROUND: f64 = 1.5;
/// RFC 9438 section 4.3: the growth of Reno, segments a round trip.
const RENO_ALPHA: f64 = 1.0;

/// A stage of congestion avoidance. Windows are in segments, and times in seconds.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    begin: Time,
    k: f64,
    /// The Reno-friendly estimate.
    estimate: f64,
}

/// RFC 8511 section 3.1: beta_ecn for CUBIC.
const KEPT_AFTER_ECHO: f64 = 0.85;

#[derive(Clone, Copy, Debug)]
struct Curve {
    /// Wmax in segments; 0 if the next epoch begins at its own maximum.
    w_max: f64,
    /// The window at the last reduction, segments.
    prior: f64,
    epoch: Option<Epoch>,
}

pub struct Cubic {
    window: CongestionWindow,
    c: f64,
    beta: f64,
    /// The share of the window that an ECN echo leaves.
    echoed: f64,
    fast_convergence: bool,
    reno_friendly: bool,
    curve: Curve,
    /// The curve before the last reduction.
    before: Curve,
    /// The time of the last ACK.
    heard: Time,
}

pub fn build(own: &Settings, rules: &Arc<WindowRules>) -> Box<dyn CongestionControl> {
    if rules.form != ControlForm::Standard {
        return cubic_linux::build(own, rules);
    }
    let curve = Curve {
        w_max: 0.0,
        prior: 0.0,
        epoch: None,
    };
    Box::new(Cubic {
        window: CongestionWindow::new(rules).with_rule(own.get(&SEARCH), own.get(&HYSTART)),
        c: own.get(&C),
        beta: own.get(&BETA),
        echoed: if own.get(&ABE) { KEPT_AFTER_ECHO } else { own.get(&BETA) },
        fast_convergence: own.get(&FAST_CONVERGENCE),
        reno_friendly: own.get(&RENO_FRIENDLY),
        curve,
        before: curve,
        heard: Time::ZERO,
    })
}

impl Cubic {
    fn segments(&self) -> f64 {
        self.window.cwnd / self.window.rules.segment
    }

    /// The epoch in progress. The first ACK in avoidance begins an epoch (section 4.2).
    fn epoch(&mut self, now: Time) -> Epoch {
        if let Some(epoch) = self.curve.epoch {
            return epoch;
        }
        let window = self.segments();
        if window >= self.curve.w_max {
            self.curve.w_max = window;
        }
        let epoch = Epoch {
            begin: now,
            k: libm::cbrt((self.curve.w_max - window) / self.c),
            estimate: window,
        };
        self.curve.epoch = Some(epoch);
        epoch
    }

    /// Section 4.2: W_cubic(t) = C (t - K)^3 + W_max.
    fn cubic(&self, k: f64, t: f64) -> f64 {
        let x = t - k;
        self.c * x * x * x + self.curve.w_max
    }

    fn grow(&mut self, a: &AckEvent<'_>) {
        let segment = self.window.rules.segment;
        let window = self.segments();
        let acked = (real(a.acked) / segment).min(window);
        let Epoch { begin, k, mut estimate } = self.epoch(a.now);
        let t = a.now.since(begin).seconds();
        // Section 4.3: growth by alpha until the estimate reaches the window before the last reduction, and then Reno's
        // growth.
        let alpha = if estimate >= self.curve.prior {
            RENO_ALPHA
        } else {
            3.0 * (1.0 - self.beta) / (1.0 + self.beta)
        };
        estimate += alpha * acked / window;
        let grown = if self.reno_friendly && self.cubic(k, t) < estimate {
            estimate.max(window)
        } else {
            let ahead = t + a.srtt.map_or(0.0, |r| r.seconds());
            let target = self.cubic(k, ahead).clamp(window, MOST_A_ROUND * window);
            window + acked * (target - window) / window
        };
        self.window.cwnd = grown * segment;
        self.curve.epoch = Some(Epoch { begin, k, estimate });
    }

    /// Sections 4.6 to 4.8: store the values of a reduction that the next epoch needs.
    fn remember(&mut self, what: Congestion) {
        let window = self.segments();
        if what == (Congestion::Timeout { again: true }) {
            // This is the same loss again.
            self.curve.epoch = None;
            return;
        }
        self.before = self.curve;
        self.curve.epoch = None;
        match what {
            // Section 4.8: the next epoch begins with K = 0 and its own window as the maximum.
            Congestion::Timeout { .. } | Congestion::LostSyn => self.curve.w_max = 0.0,
            Congestion::Loss | Congestion::Ecn | Congestion::Request { .. } => {
                self.curve.w_max = if self.fast_convergence && window < self.curve.w_max {
                    window * (1.0 + self.beta) / 2.0
                } else {
                    window
                };
            }
        }
        self.curve.prior = window;
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, a: &AckEvent<'_>) {
        let idle = a.now.since(self.heard);
        self.heard = a.now;
        if self.window.in_slow_start() {
            self.curve.epoch = None;
            if self.window.may_grow(a) {
                self.window.slow_start(a);
            } else {
                self.window.stay(a, None);
            }
        } else if self.window.may_grow(a) {
            self.grow(a);
        } else if let Some(epoch) = &mut self.curve.epoch
            && a.phase == Phase::Open
            && !a.window_limited
        {
            // Section 4.2: time during which the application limits the sender does not count.
            epoch.begin += idle;
        }
    }

    fn on_congestion(&mut self, e: &CongestionEvent) {
        self.remember(e.what);
        let (beta, echoed) = (self.beta, self.echoed);
        self.window.congested(e, |w| w * beta, |w| w * echoed);
    }

    fn sends(&mut self, sent: &Departure) {
        self.window.sends(sent);
    }

    fn window_reset(&mut self, why: Reset) {
        if matches!(why, Reset::Idle | Reset::IdleHalves { .. } | Reset::Restart) {
            self.curve.epoch = None;
        }
        self.window.reset(why);
    }

    /// Begin a new epoch at its own maximum.
    fn take_over(&mut self, from: &Handover) {
        self.window.take_over(from);
        let window = self.segments();
        self.curve = Curve {
            w_max: window,
            prior: window,
            epoch: None,
        };
        (self.before, self.heard) = (self.curve, from.now);
    }

    /// Section 4.9: restore window, threshold, Wmax, K and the beginning of the epoch.
    fn undo(&mut self, _why: Mistaken) {
        self.window.undo();
        self.curve = self.before;
    }

    fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }

    fn read(&self, probe: usize) -> f64 {
        Probe::read(&READ, self, probe, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::testing::{AckClock, acked, sign};
    use crate::tcp::testing::config;

    fn cubic(own: &[(&str, &str)], window: &str) -> Box<dyn CongestionControl> {
        let own_settings = own.iter().fold(Settings::defaults(&MODEL), |s, (n, v)| s.with(n, v));
        let settings = [
            ("payload", "1000B"),
            ("initial_window", window),
            ("initial_ssthresh", "1000B"),
        ];
        build(&own_settings, &config(&settings).window)
    }

    fn segments(c: &dyn CongestionControl) -> f64 {
        c.cwnd() / 1000.0
    }

    /// After a loss at 100 with a round trip of 100 ms, K is cbrt(30 / 0.4) = 4.217 s. The window is 100 again at K,
    /// and 100.4 a second later.
    #[test]
    fn the_window_is_back_at_its_maximum_after_k() {
        let mut c = cubic(&[], "100 packets");
        let mut clock = AckClock::new();
        clock.sign(&mut *c, Congestion::Loss);
        assert!((segments(&*c) - 70.0).abs() < 1e-9);
        clock.ack(&mut *c, 0.1);
        let begin = clock.now;
        let k = c.read(1);
        assert!((k - 4.217).abs() < 0.0005, "{k}");
        let mut window_at = |end_s: f64| {
            while clock.now < begin + end_s {
                clock.ack(&mut *c, 0.1);
            }
            (segments(&*c), c.read(2))
        };
        // At half of K the window is 100 - 0.4 (K / 2)^3.
        let (half, _) = window_at(k / 2.0);
        assert!((half - (100.0 - 30.0 / 8.0)).abs() < 0.3, "{half}");
        let (there, estimate) = window_at(k);
        assert!(
            (there - 100.0).abs() < 0.02 && estimate < 99.0,
            "{there}, estimate {estimate}"
        );
        let (beyond, _) = window_at(k + 1.0);
        assert!((beyond - 100.4).abs() < 0.1, "{beyond}");
    }

    /// The linear estimate needs 30 / 0.529 = 56.7 round trips to return to 100, and one more round trip for each
    /// segment beyond. One second after K it is therefore above the curve if the round trip is below 5.217 s / 57.1 =
    /// 91 ms.
    #[test]
    fn a_short_round_trip_goes_by_the_reno_friendly_estimate() {
        let run = |friendly: &str, rtt: f64| {
            let mut c = cubic(&[("reno_friendly", friendly)], "100 packets");
            let mut clock = AckClock::new();
            clock.sign(&mut *c, Congestion::Loss);
            clock.ack(&mut *c, rtt);
            let begin = clock.now;
            while clock.now < begin + 5.217 {
                clock.ack(&mut *c, rtt);
            }
            segments(&*c)
        };
        assert!((run("true", 0.095) - 100.4).abs() < 0.15, "{}", run("true", 0.095));
        assert!(run("true", 0.087) > 101.5, "{}", run("true", 0.087));
        assert!((run("false", 0.05) - 100.4).abs() < 0.1);
        assert!(run("true", 0.05) > 140.0);
    }

    /// The estimate grows by 3 (1 - beta) / (1 + beta) = 0.529 per round trip up to the window before the loss, then
    /// by 1.
    #[test]
    fn the_estimate_grows_by_alpha_then_by_one() {
        let mut c = cubic(&[("c", "0.001")], "20 packets");
        let mut clock = AckClock::new();
        clock.sign(&mut *c, Congestion::Loss);
        clock.ack(&mut *c, 0.001);
        let round = |control: &mut dyn CongestionControl, clock: &mut AckClock| {
            let (before, until) = (control.read(2), clock.now + 0.001);
            while clock.now < until {
                clock.ack(control, 0.001);
            }
            control.read(2) - before
        };
        let first = round(&mut *c, &mut clock);
        assert!((first - 0.529).abs() < 0.04, "{first}");
        for _ in 0..20 {
            round(&mut *c, &mut clock);
        }
        assert!(c.read(2) > 20.0);
        let later = round(&mut *c, &mut clock);
        assert!((later - 1.0).abs() < 0.06, "{later}");
    }

    #[test]
    fn a_second_loss_below_the_first_aims_lower() {
        for (fast, aim) in [("true", 80.0 * 1.7 / 2.0), ("false", 80.0)] {
            let mut c = cubic(&[("fast_convergence", fast)], "100 packets");
            c.on_congestion(&sign(Congestion::Loss, 100_000));
            while segments(&*c) < 80.0 {
                c.on_ack(&AckEvent {
                    srtt: Some(tailback_base::Duration::from_millis(100)),
                    now: Time::from_seconds(1.5),
                    ..acked(1000)
                });
            }
            let window = segments(&*c);
            c.on_congestion(&sign(Congestion::Loss, 80_000));
            assert!((c.read(0) - aim * window / 80.0).abs() < 1e-9, "{fast}: {}", c.read(0));
        }
    }

    /// In whole segments the estimate of Reno grows by at most one segment for an ACK of one segment, for any `beta`.
    #[test]
    fn the_least_window_and_the_least_beta_end() {
        let own_settings = Settings::defaults(&MODEL).with("beta", "0.1");
        let settings = [
            ("payload", "1000B"),
            ("initial_window", "2 packets"),
            ("initial_ssthresh", "1000B"),
            ("congestion_form", "linux"),
        ];
        let mut c = build(&own_settings, &config(&settings).window);
        for _ in 0..5 {
            c.on_ack(&acked(1000));
        }
        assert!((2.0..8.0).contains(&segments(&*c)), "{}", segments(&*c));
    }

    /// The new window is beta times the outstanding bytes, not beta times the old window. It is at least two segments,
    /// or one after an echo.
    #[test]
    fn a_reduction_keeps_beta_of_what_is_outstanding() {
        let mut c = cubic(&[], "100 packets");
        c.on_congestion(&sign(Congestion::Loss, 50_000));
        assert_eq!((c.cwnd(), c.ssthresh(), c.read(0)), (35_000.0, 35_000.0, 100.0));
        c.on_congestion(&sign(Congestion::Loss, 1000));
        assert_eq!((c.cwnd(), c.ssthresh()), (2000.0, 2000.0));
        c.on_congestion(&sign(Congestion::Ecn, 1000));
        assert_eq!((c.cwnd(), c.ssthresh()), (1000.0, 2000.0));
    }

    /// With 100 outstanding and RFC 8511 an echo leaves 85. K is then cbrt(15 / 0.4) = 3.347 s.
    #[test]
    fn an_alternative_backoff_answers_echoes_more_gently() {
        let mut c = cubic(&[("abe", "true")], "100 packets");
        let mut clock = AckClock::new();
        clock.sign(&mut *c, Congestion::Ecn);
        assert_eq!(c.cwnd(), 85_000.0);
        clock.ack(&mut *c, 0.1);
        assert!((c.read(1) - 3.347).abs() < 0.0005, "{}", c.read(1));
        clock.sign(&mut *c, Congestion::Loss);
        assert!((c.cwnd() - 0.7 * 85_000.0).abs() < 20.0);
    }

    #[test]
    fn after_a_timeout_the_next_epoch_begins_at_its_own_window() {
        let mut c = cubic(&[], "100 packets");
        let mut clock = AckClock::new();
        // A loss at 100 comes first. Its maximum is dropped later.
        clock.sign(&mut *c, Congestion::Loss);
        clock.sign(&mut *c, Congestion::Timeout { again: false });
        assert!((c.cwnd() - 1000.0).abs() < 1e-6 && (c.ssthresh() - 49_000.0).abs() < 1e-6);
        while c.cwnd() < c.ssthresh() {
            clock.ack(&mut *c, 0.1);
        }
        clock.ack(&mut *c, 0.1);
        assert_eq!((c.read(0), c.read(1)), (49.0, 0.0));
    }

    #[test]
    fn time_in_which_the_application_holds_back_does_not_count() {
        let mut c = cubic(&[], "100 packets");
        let mut clock = AckClock::new();
        clock.sign(&mut *c, Congestion::Loss);
        clock.ack(&mut *c, 0.1);
        let window = c.cwnd();
        for _ in 0..7000 {
            clock.ack_with(&mut *c, 0.1, |a| a.window_limited = false);
        }
        assert_eq!(c.cwnd(), window);
        clock.ack(&mut *c, 0.1);
        // Ten seconds of the curve would give 100 + 0.4 * 5.8^3 = 178.
        assert!(segments(&*c) < 70.5, "{}", segments(&*c));
    }

    #[test]
    fn an_undone_reduction_gives_the_curve_back() {
        let mut c = cubic(&[], "100 packets");
        let mut clock = AckClock::new();
        clock.sign(&mut *c, Congestion::Loss);
        for _ in 0..500 {
            clock.ack(&mut *c, 0.1);
        }
        let state = |c: &dyn CongestionControl| (c.cwnd(), c.ssthresh(), c.read(0), c.read(1), c.read(2));
        let before = state(&*c);
        clock.sign(&mut *c, Congestion::Timeout { again: false });
        assert_ne!(state(&*c), before);
        c.undo(Mistaken::Recovery);
        assert_eq!(state(&*c), before);
    }
}
