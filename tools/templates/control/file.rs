//! __Title__: say in one sentence what the sender does, and what that is good for.
//!
//! ```text
//! each round trip   W += growth
//! a loss            W = kept W
//! ```
//!
//! From: the paper or RFC, with its section.
//!
//! When it takes over an open connection, it goes on from window and threshold.
//!
//! State: the window of `window.rs`. An ACK costs a division.

use super::window::CongestionWindow;
use super::{AckEvent, CongestionControl, CongestionEvent, Facts, Handover, Mistaken, Reset, WindowRules};
use std::sync::Arc;
use tailback_base::model::{Key, Kind, Model};
use tailback_base::{Settings, params};

pub static MODEL: Model = Model {
    name: "__name__",
    family: "congestion",
    title: "__Title__",
    summary: "Adds `growth` segments each round trip; a loss leaves `kept` of the window.",
    source: "the paper or RFC, with its section",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    GROWTH: f64 = Key::new("growth", Kind::Real { min: 0.001, max: 1000.0 }, "1",
        "Segments that a round trip adds.", "");
    KEPT: f64 = Key::new("kept", Kind::Real { min: 0.01, max: 1.0 }, "0.5",
        "Share of the window that a loss leaves.", "");
}

/// What it needs of its connection: say here if it ignores marks, or if marks are its signal; if it wants delivery
/// rates (`records`), each lost segment (`hears_losses`) or each that leaves (`hears_departures`).
pub const FACTS: Facts = Facts::CLASSIC;

pub struct __Type__ {
    window: CongestionWindow,
    growth: f64,
    kept: f64,
}

pub fn build(own: &Settings, rules: &Arc<WindowRules>) -> Box<dyn CongestionControl> {
    Box::new(__Type__ {
        window: CongestionWindow::new(rules),
        growth: own.get(&GROWTH),
        kept: own.get(&KEPT),
    })
}

impl CongestionControl for __Type__ {
    fn on_ack(&mut self, a: &AckEvent<'_>) {
        let w = &mut self.window;
        if !w.may_grow(a) {
            return;
        }
        if w.in_slow_start() {
            w.slow_start(a);
        } else {
            w.cwnd += self.growth * w.rules.segment * w.counted(a) / w.cwnd;
        }
    }

    fn on_congestion(&mut self, e: &CongestionEvent) {
        let kept = self.kept;
        self.window.congested(e, |w| w * kept, |w| w * kept);
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
    use crate::tcp::congestion::Congestion;
    use crate::tcp::congestion::testing::AckClock;
    use crate::tcp::testing::config;

    /// A sender in congestion avoidance with a window of so many segments of 1000 bytes.
    fn sender(window: &str) -> Box<dyn CongestionControl> {
        let values = [
            ("payload", "1000B"),
            ("initial_window", window),
            ("initial_ssthresh", "1000B"),
        ];
        build(&Settings::defaults(&MODEL), &config(&values).window)
    }

    #[test]
    fn a_round_trip_adds_a_segment() {
        let mut c = sender("10 packets");
        let mut clock = AckClock::new();
        for _ in 0..10 {
            clock.ack(&mut *c, 0.05);
        }
        assert!((c.cwnd() - 11_000.0).abs() < 100.0, "{}", c.cwnd());
    }

    #[test]
    fn a_loss_halves() {
        let mut c = sender("10 packets");
        AckClock::new().sign(&mut *c, Congestion::Loss);
        assert_eq!(c.cwnd(), 5000.0);
    }
}
