//! Binomial controls: Reno with another law of growth and reduction (Bansal and Balakrishnan 2001).
//!
//! With a window of W segments a round trip adds a / W^k, and a loss subtracts b W^l. The classic control has k = 0 and
//! l = 1. If k + l = 1, the mean window under the same losses is about that of the classic control, sqrt(a / (b p)).
//! With a smaller l a loss subtracts less, so the rate is smoother, but the control finds free capacity later.
//!
//! ```text
//!                         ACK: W += a / W^(k+1)
//!   slow start ---------> avoidance <-------.
//!        ^   ssthresh           |           | W -= b W^l: a loss, an ECN echo
//!        |                      '-----------'
//!        '-- timeout: ssthresh = W - b W^l, W = 1
//! ```
//!
//! When the control takes over an open connection, it continues from window and threshold by its own law.
//!
//! The state is the window of `window.rs`, and the law's four numbers. An ACK in avoidance costs the computation of one
//! power.

use super::window::CongestionWindow;
use super::{AckEvent, CongestionControl, CongestionEvent, Facts, Handover, Mistaken, Reset, WindowRules};
use std::sync::Arc;
use tailback_base::model::{Key, Kind, Model};
use tailback_base::{Settings, choice, params};

/// The four numbers of a law.
struct Exponents {
    k: f64,
    l: f64,
    a: f64,
    b: f64,
}

choice! {
    enum NamedLaw { SquareRoot = "sqrt", InverseIncrease = "iiad", Aimd = "aimd" }
}

impl NamedLaw {
    /// Section 3 of the paper, with a and b from its authors' implementation in ns-2.
    fn law(self) -> Exponents {
        let (k, l, a, b) = match self {
            NamedLaw::SquareRoot => (0.5, 0.5, 1.0, 2.0 / 3.0),
            NamedLaw::InverseIncrease => (1.0, 0.0, 1.0, 2.0 / 3.0),
            NamedLaw::Aimd => (0.0, 1.0, 1.0, 0.5),
        };
        Exponents { k, l, a, b }
    }
}

const PAPER: &str = "Bansal and Balakrishnan 2001, section 3";

pub static MODEL: Model = Model {
    name: "binomial",
    family: "congestion",
    title: "Binomial controls: square root, inverse increase, general AIMD",
    summary: "Slow start as in Reno. After it, each round trip adds a / W^k segments to a window of W segments, and a \
              loss or an ECN echo takes b W^l segments from it. `law` names a set of the four numbers; each may be \
              given by itself.",
    source: "D. Bansal and H. Balakrishnan, Binomial congestion control algorithms, Infocom 2001",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    LAW: NamedLaw = Key::choice("law", "sqrt",
        "The law: sqrt is k = l = 0.5, iiad (inverse increase, additive decrease) k = 1, l = 0, both with a = 1, b = \
         2/3; aimd is k = 0, l = 1, a = 1, b = 1/2, which is Reno.", PAPER);
    K: Option<f64> = Key::new("k", Kind::Real { min: -1.0, max: 3.0 }, "none",
        "Exponent of the growth; default: the law's.", PAPER);
    L: Option<f64> = Key::new("l", Kind::Real { min: 0.0, max: 1.0 }, "none",
        "Exponent of the reduction; default: the law's.", PAPER);
    A: Option<f64> = Key::new("a", Kind::Real { min: 0.001, max: 1000.0 }, "none",
        "Growth of a window of one segment, in segments for each round trip; default: the law's.", PAPER);
    B: Option<f64> = Key::new("b", Kind::Real { min: 0.001, max: 1000.0 }, "none",
        "Reduction of a window of one segment, in segments; default: the law's.", PAPER);
}

pub const FACTS: Facts = Facts::CLASSIC;

pub struct Binomial {
    window: CongestionWindow,
    law: Exponents,
}

pub fn build(own: &Settings, rules: &Arc<WindowRules>) -> Box<dyn CongestionControl> {
    let law = own.get(&LAW).law();
    Box::new(Binomial {
        window: CongestionWindow::new(rules),
        law: Exponents {
            k: own.get(&K).unwrap_or(law.k),
            l: own.get(&L).unwrap_or(law.l),
            a: own.get(&A).unwrap_or(law.a),
            b: own.get(&B).unwrap_or(law.b),
        },
    })
}

impl CongestionControl for Binomial {
    fn on_ack(&mut self, a: &AckEvent<'_>) {
        let w = &mut self.window;
        if !w.may_grow(a) {
            return;
        }
        if w.in_slow_start() {
            w.slow_start(a);
        } else {
            let segments = w.cwnd / w.rules.segment;
            w.cwnd += self.law.a * w.counted(a) / libm::pow(segments, self.law.k + 1.0);
        }
    }

    fn on_congestion(&mut self, e: &CongestionEvent) {
        let (law, segment) = (&self.law, self.window.rules.segment);
        let window_left = |bytes: f64| {
            let segments = bytes / segment;
            (segments - law.b * libm::pow(segments, law.l)).max(0.0) * segment
        };
        self.window.congested(e, window_left, window_left);
    }

    fn window_reset(&mut self, why: Reset) {
        self.window.reset(why);
    }

    fn take_over(&mut self, from: &Handover) {
        self.window.take_over(from);
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::testing::{AckClock, acked, sign};
    use crate::tcp::congestion::{Congestion, reno};
    use crate::tcp::testing::config;

    fn rules(window: &str) -> Arc<WindowRules> {
        let settings = [
            ("payload", "1000B"),
            ("initial_window", window),
            ("initial_ssthresh", "1000B"),
        ];
        config(&settings).window
    }

    fn binomial(own: &[(&str, &str)], window: &str) -> Box<dyn CongestionControl> {
        let own = own.iter().fold(Settings::defaults(&MODEL), |s, (n, v)| s.with(n, v));
        build(&own, &rules(window))
    }

    fn segments(c: &dyn CongestionControl) -> f64 {
        c.cwnd() / 1000.0
    }

    /// A window of 100 grows by a / W^k in a round trip, and a loss subtracts b W^l.
    #[test]
    fn growth_and_reduction_follow_the_law() {
        for (law, a_round, at_loss) in [
            ("sqrt", 0.1, 20.0 / 3.0),
            ("iiad", 0.01, 2.0 / 3.0),
            ("aimd", 1.0, 50.0),
        ] {
            let mut c = binomial(&[("law", law)], "100 packets");
            for _ in 0..100 {
                c.on_ack(&acked(1000));
            }
            let grown = segments(&*c) - 100.0;
            assert!((grown / a_round - 1.0).abs() < 0.01, "{law}: {grown}");
            let mut c = binomial(&[("law", law)], "100 packets");
            c.on_congestion(&sign(Congestion::Loss, 100_000));
            assert!(
                (100.0 - segments(&*c) - at_loss).abs() < 1e-9,
                "{law}: {}",
                segments(&*c)
            );
            assert_eq!(c.cwnd(), c.ssthresh());
        }
    }

    /// The growth from the window that a loss at 30 leaves back to 30: the segments acknowledged, and the mean window
    /// of the round trips.
    #[test]
    fn a_cycle_of_periodic_loss_has_its_length() {
        for (law, segments_a_cycle, mean) in [("iiad", 587, 29.67), ("sqrt", 547, 28.19), ("aimd", 338, 22.5)] {
            let mut c = binomial(&[("law", law)], "30 packets");
            c.on_congestion(&sign(Congestion::Loss, 30_000));
            let (mut acks, mut round_trips) = (0, 0.0);
            while segments(&*c) < 30.0 {
                round_trips += 1.0 / segments(&*c);
                c.on_ack(&acked(1000));
                acks += 1;
            }
            assert_eq!(acks, segments_a_cycle, "{law}");
            let average = f64::from(acks) / round_trips;
            assert!((average - mean).abs() < 0.1, "{law}: {average} segments a round trip");
            // The law gives sqrt(a / (b p)) for such windows. The mean of squares is 1.5 for these two laws, and 2 with
            // b = 1/2.
            if law == "iiad" {
                let expected = (1.5 * f64::from(acks)).sqrt();
                assert!((average / expected - 1.0).abs() < 0.005, "{average} against {expected}");
            }
        }
    }

    #[test]
    fn a_small_window_keeps_one_segment_and_a_threshold_of_two() {
        let mut c = binomial(&[("law", "iiad")], "2 packets");
        c.on_congestion(&sign(Congestion::Ecn, 2000));
        assert!((segments(&*c) - 4.0 / 3.0).abs() < 1e-9);
        assert_eq!(c.ssthresh(), 2000.0);
        let mut c = binomial(&[("law", "iiad"), ("b", "5")], "2 packets");
        c.on_congestion(&sign(Congestion::Ecn, 2000));
        assert_eq!((c.cwnd(), c.ssthresh()), (1000.0, 2000.0));
    }

    /// The law with k = 0, l = 1, a = 1 and b = 1/2 equals Reno to the bit, through slow start, losses, echoes, a
    /// timeout and undo.
    #[test]
    fn its_aimd_is_reno() {
        let settings = [
            ("payload", "1000B"),
            ("initial_window", "10 packets"),
            ("initial_ssthresh", "40 packets"),
        ];
        let rules = config(&settings).window;
        let own = Settings::defaults(&MODEL).with("law", "aimd");
        let mut controls = [
            build(&own, &rules),
            reno::build(&Settings::defaults(&reno::MODEL), &rules),
        ];
        let mut windows = [(); 2].map(|()| Vec::new());
        for (control, window_sizes) in controls.iter_mut().zip(&mut windows) {
            let mut clock = AckClock::new();
            for n in 0..2000 {
                clock.ack(&mut **control, 0.1);
                match n {
                    300 | 900 => clock.sign(&mut **control, Congestion::Loss),
                    1200 => clock.sign(&mut **control, Congestion::Ecn),
                    1500 => clock.sign(&mut **control, Congestion::Timeout { again: false }),
                    1510 => control.undo(Mistaken::Recovery),
                    _ => {}
                }
                window_sizes.push((control.cwnd(), control.ssthresh()));
            }
        }
        assert!(windows[0] == windows[1]);
    }
}
