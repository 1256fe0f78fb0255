//! The scalable law alone: each mark subtracts half a segment, and each round trip adds one segment.
//!
//! DCTCP and Prague approach a window of 2 / p with an average of marks and one cut per round trip. The effects of
//! their cuts, pauses and averages make it 2 to 2.73 / p. This control is the law that DCTCP and Prague approach. If
//! every packet is marked with probability p, growth and marks balance at W = growth / (per_mark p), by default 2 / p
//! segments, in every round trip. The control is the reference for queues that are made for scalable senders, such as
//! coupled queues.
//!
//! ```text
//! each ACK of a bytes   marked: W -= per_mark a ; W += growth segment a / W
//! slow start            W += a ; the first mark leaves half
//! loss                  W = ssthresh = W / 2 ; timeout as Reno
//! ```
//!
//! The reduction of half a segment per mark is from B. Briscoe and K. De Schepper, "Resolving tensions between
//! congestion control scaling requirements", 2017. W = 2 / p is from RFC 9332, section 2.1 and appendix C.
//!
//! When the control takes over an open connection, it continues from window and threshold.
//!
//! The state is the window of `window.rs` and a count. Departures: every ACK grows the window, marked or not, which
//! makes the law exact. The original gives 2 (1 - p) / p. The echo is that of RFC 8257. An ACK costs a division.

use super::window::{CongestionWindow, LEAST_SSTHRESH, real};
use super::{
    AckEvent, Congestion, CongestionControl, CongestionEvent, Facts, Handover, Mistaken, Phase, Reset, WindowRules,
};
use std::sync::Arc;
use tailback_base::model::{Key, Kind, Model};
use tailback_base::{Ecn, Settings, params};

const SOURCE: &str = "Briscoe and De Schepper 2017";

pub static MODEL: Model = Model {
    name: "scalable",
    family: "congestion",
    title: "The scalable law alone",
    summary: "Each marked segment reduces the window by half a segment, and each round trip adds one segment. So the \
              window follows 2 / p at once, without the averages and pauses of dctcp and prague. Packets have ECT(1); \
              `tcp` needs ECN.",
    source: "Briscoe and De Schepper 2017; RFC 9332 section 2.1",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    PER_MARK: f64 = Key::new("per_mark", Kind::Real { min: 0.001, max: 1.0 }, "0.5",
        "Segments by which a marked segment reduces the window.", SOURCE);
    GROWTH: f64 = Key::new("growth", Kind::Real { min: 0.001, max: 1000.0 }, "1",
        "Segments that a round trip adds.", SOURCE);
}

/// Half a segment for each mark (RFC 9332 appendix A). Linux's `scalable` is another control (Kelly 2003).
pub const FACTS: Facts = Facts {
    codepoint: Ecn::Ect1,
    spreads: false,
    ..Facts::PROPORTIONAL
};

/// RFC 5681 equation 4: a loss leaves half of the window. The first mark in slow start does the same.
const KEPT: f64 = 0.5;

pub struct Scalable {
    window: CongestionWindow,
    per_mark: f64,
    growth: f64,
    reductions: u64,
}

pub fn build(own: &Settings, rules: &Arc<WindowRules>) -> Box<dyn CongestionControl> {
    Box::new(Scalable {
        window: CongestionWindow::new(rules),
        per_mark: own.get(&PER_MARK),
        growth: own.get(&GROWTH),
        reductions: 0,
    })
}

impl Scalable {
    fn answer_mark(&mut self, a: &AckEvent<'_>) {
        let w = &mut self.window;
        let window_left = match w.in_slow_start() {
            true => w.cwnd * KEPT,
            false => w.cwnd - self.per_mark * real(a.marked),
        };
        w.cwnd = window_left.max(LEAST_SSTHRESH * w.rules.segment);
        w.ssthresh = w.cwnd;
        self.reductions += 1;
    }
}

impl CongestionControl for Scalable {
    fn on_ack(&mut self, a: &AckEvent<'_>) {
        if a.acked == 0 || a.phase == Phase::Recovery {
            return;
        }
        if a.marked > 0 {
            self.answer_mark(a);
        }
        let w = &mut self.window;
        if w.in_slow_start() {
            w.slow_start(a);
        } else if w.may_grow(&AckEvent { ecn_echo: false, ..*a }) {
            w.cwnd += self.growth * w.rules.segment * real(a.acked) / w.cwnd;
        }
    }

    fn on_congestion(&mut self, e: &CongestionEvent) {
        // With an echo on every ACK, marks do not arrive as signs of congestion.
        if e.what != Congestion::Ecn {
            self.window.congested(e, |w| w * KEPT, |w| w);
        }
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

    fn own_reductions(&self) -> u64 {
        self.reductions
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
    use crate::tcp::congestion::testing::AckClock;
    use crate::tcp::testing::config;

    fn scalable(own: &[(&str, &str)], window: &str, threshold: &str) -> Box<dyn CongestionControl> {
        let own_settings = own.iter().fold(Settings::defaults(&MODEL), |s, (n, v)| s.with(n, v));
        let settings = [
            ("payload", "1000B"),
            ("initial_window", window),
            ("initial_ssthresh", threshold),
        ];
        build(&own_settings, &config(&settings).window)
    }

    /// Every n-th packet is marked. Growth and marks balance, so the mean of 1 / W is per_mark p / growth.
    #[test]
    fn the_window_is_two_over_p() {
        for (own, law) in [
            (&[][..], 2.0),
            (&[("per_mark", "0.25")][..], 4.0),
            (&[("growth", "0.5")][..], 1.0),
        ] {
            for every in [5u64, 20, 50] {
                let mut c = scalable(own, "20 packets", "1000B");
                let mut clock = AckClock::new();
                let (mut sum, mut acks) = (0.0, 0.0);
                for n in 0..400_000u64 {
                    clock.ack_with(&mut *c, 0.05, |a| a.ecn_echo = n % every == 0);
                    if n > 200_000 {
                        (sum, acks) = (sum + 1000.0 / c.cwnd(), acks + 1.0);
                    }
                }
                let (mean, law) = (acks / sum, law * every as f64);
                // A mark subtracts a tenth of a window of five segments, so 1 / W differs from its value at the arrival
                // of the ACK.
                assert!(
                    (mean / law - 1.0).abs() < 0.025,
                    "every {every}: {mean}, by the law {law}"
                );
            }
        }
    }

    #[test]
    fn the_first_mark_ends_slow_start_with_half() {
        let mut c = scalable(&[], "10 packets", "unlimited");
        let mut clock = AckClock::new();
        for _ in 0..30 {
            clock.ack(&mut *c, 0.05);
        }
        assert_eq!(c.cwnd(), 40_000.0);
        clock.ack_with(&mut *c, 0.05, |a| a.ecn_echo = true);
        // The acknowledged segment also adds its 20th part.
        assert_eq!((c.cwnd(), c.ssthresh(), c.own_reductions()), (20_050.0, 20_000.0, 1));
    }

    #[test]
    fn a_loss_halves_and_packets_say_so() {
        let mut c = scalable(&[], "40 packets", "1000B");
        let clock = AckClock::new();
        clock.sign(&mut *c, Congestion::Loss);
        assert_eq!((c.cwnd(), FACTS.codepoint), (20_000.0, Ecn::Ect1));
    }
}
