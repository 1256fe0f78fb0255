//! DCTCP (RFC 8257): the reduction of the window is proportional to the share of marked bytes.
//!
//! A router marks every packet that arrives while its queue is above a low threshold. Each ACK says whether the data
//! that it acknowledges was marked, and the sender keeps `alpha`, the smoothed fraction of marked bytes. At a mark, at
//! most once per window of data, the window is reduced by the fraction alpha / 2. If all data is marked, the window is
//! halved. If a tenth is marked, the window is reduced by a twentieth. The response to losses is Reno's.
//!
//! ```text
//!   each ACK            total += acked ; echo: marked += acked ; grow as Reno, unless it echoes
//!   end of a round      alpha = (1 - g) alpha + g marked / total
//!   an echo of data     cwnd = ssthresh = cwnd (1 - alpha / 2), at least 2 segments, unless a loss is being repaired
//!     sent after the last reduction
//! ```
//!
//! When DCTCP takes over an open connection, it continues from window and threshold, with alpha as at the start. The
//! control before may already have responded to marks of the outstanding data, so the first reduction is for an echo of
//! later data.
//!
//! The state is the window of `window.rs`, alpha, two counts of bytes, and two rounds. DCTCP requires an echo with each
//! ACK ([`EchoRule::EveryAck`](super::EchoRule::EveryAck)). Bytes reported by SACK count when the ACK number passes
//! them (RFC 8257 section 3.3). An ACK costs two additions beyond Reno's.

use super::round::Round;
use super::window::{CongestionWindow, LEAST_SSTHRESH};
use super::{AckEvent, CongestionControl, CongestionEvent, Facts, Handover, Mistaken, Phase, Reset, WindowRules};
use std::sync::Arc;
use tailback_base::model::{Key, Kind, Model};
use tailback_base::{ProbeDef, Settings, params};

pub static MODEL: Model = Model {
    name: "dctcp",
    family: "congestion",
    title: "Data center TCP",
    summary: "Reno's growth, but once a round trip the window falls by half the smoothed fraction of bytes that were \
              marked. Made for short round trips and for queues that mark every packet above a low threshold. `tcp` \
              needs ECN.",
    source: "RFC 8257",
    params: PARAMS,
    probes: &[ProbeDef {
        name: "alpha",
        unit: "1",
        doc: "smoothed fraction of bytes that were marked",
        per: "",
    }],
};

params! {
    const PARAMS;

    GAIN: f64 = Key::new("gain", Kind::Real { min: 0.0001, max: 1.0 }, "0.0625",
        "Weight of the last round trip in the fraction of marked bytes.", "RFC 8257 section 4.2");
    ALPHA: f64 = Key::new("alpha", Kind::Real { min: 0.0, max: 1.0 }, "1",
        "The fraction assumed at the start; 1 halves the window at the first mark.", "RFC 8257 section 3.3; 0: ns-2");
}

pub const FACTS: Facts = Facts {
    linux: Some("dctcp"),
    ..Facts::PROPORTIONAL
};

/// RFC 5681 equation 4: a loss leaves half.
const KEPT: f64 = 0.5;

pub struct Dctcp {
    window: CongestionWindow,
    gain: f64,
    alpha: f64,
    round: Round,
    /// The span from one reduction to the first ACK of data sent after it.
    reduced: Round,
    /// The bytes acknowledged in this round, and how many of these bytes were marked.
    total: u64,
    marked: u64,
    reductions: u64,
}

pub fn build(own: &Settings, rules: &Arc<WindowRules>) -> Box<dyn CongestionControl> {
    Box::new(Dctcp {
        window: CongestionWindow::new(rules),
        gain: own.get(&GAIN),
        alpha: own.get(&ALPHA),
        round: Round::default(),
        reduced: Round::default(),
        total: 0,
        marked: 0,
        reductions: 0,
    })
}

impl Dctcp {
    /// RFC 8257 section 3.3 steps 5 to 8.
    fn end_round(&mut self) {
        if self.total == 0 {
            return;
        }
        // Counted marks may belong to packets that SACK has reported but that are not acknowledged yet.
        let fraction = (self.marked as f64 / self.total as f64).min(1.0);
        self.alpha = (1.0 - self.gain) * self.alpha + self.gain * fraction;
        (self.total, self.marked) = (0, 0);
    }

    /// Step 9: "cwnd = cwnd * (1 - DCTCP.Alpha / 2)".
    fn reduce(&mut self) {
        let w = &mut self.window;
        w.cwnd = (w.cwnd * (1.0 - self.alpha / 2.0)).max(LEAST_SSTHRESH * w.rules.segment);
        w.ssthresh = w.cwnd;
        self.reductions += 1;
    }
}

impl CongestionControl for Dctcp {
    fn on_ack(&mut self, a: &AckEvent<'_>) {
        self.total += a.acked;
        self.marked += a.marked;
        if self.round.is_over(a) {
            self.end_round();
        }
        // "DCTCP does not react to congestion indications more than once for every window of data."
        if a.ecn_echo && a.phase == Phase::Open && self.reduced.is_over(a) {
            self.reduce();
        }
        let w = &mut self.window;
        if !w.may_grow(a) {
        } else if w.in_slow_start() {
            w.slow_start(a);
        } else {
            w.one_segment_a_round_trip(a);
        }
    }

    fn on_congestion(&mut self, e: &CongestionEvent) {
        self.window.congested(e, |w| w * KEPT, |w| w * KEPT);
    }

    fn window_reset(&mut self, why: Reset) {
        self.window.reset(why);
    }

    fn take_over(&mut self, from: &Handover) {
        self.window.take_over(from);
        (self.round, self.reduced) = (Round::beginning(from.nxt), Round::beginning(from.nxt));
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

    fn read(&self, _probe: usize) -> f64 {
        self.alpha
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::Congestion;
    use crate::tcp::congestion::testing::{AckClock, sign};
    use crate::tcp::testing::config;

    fn dctcp(own: &[(&str, &str)], window: &str) -> Box<dyn CongestionControl> {
        let own_settings = own.iter().fold(Settings::defaults(&MODEL), |s, (n, v)| s.with(n, v));
        let settings = [
            ("payload", "1000B"),
            ("initial_window", window),
            ("initial_ssthresh", "1000B"),
        ];
        build(&own_settings, &config(&settings).window)
    }

    /// One round trip of ACKs. `marked` says which of these ACKs echo a mark. Returns the window before the end of the
    /// round, and alpha.
    fn round(c: &mut dyn CongestionControl, clock: &mut AckClock, marked: impl Fn(u64) -> bool) {
        let alpha = c.read(0);
        for n in 0.. {
            clock.ack_with(c, 0.001, |a| a.ecn_echo = marked(n));
            if c.read(0) != alpha {
                return;
            }
        }
    }

    /// All data is marked. If alpha starts at 0, it becomes 1/16, then 0.1211. If alpha starts at 1, the window halves
    /// each round trip.
    #[test]
    fn all_marked_moves_alpha_to_one_and_halves_each_round_trip() {
        let mut c = dctcp(&[("alpha", "0")], "64 packets");
        let mut clock = AckClock::new();
        for alpha in [0.0625, 0.1211, 0.1760] {
            round(&mut *c, &mut clock, |_| true);
            assert!((c.read(0) - alpha).abs() < 5e-5, "{}", c.read(0));
        }
        let mut c = dctcp(&[], "64 packets");
        let mut clock = AckClock::new();
        let (mut acks, mut windows) = (vec![], vec![c.cwnd()]);
        for n in 1..200 {
            clock.ack_with(&mut *c, 0.001, |a| a.ecn_echo = true);
            if windows.last() != Some(&c.cwnd()) {
                windows.push(c.cwnd());
                acks.push(n);
            }
        }
        assert_eq!(windows, [64e3, 32e3, 16e3, 8e3, 4e3, 2e3]);
        // The first mark halves the window. The marks of the 63 segments that are outstanding at that time do not
        // reduce it again.
        assert_eq!(acks[..3], [1, 65, 97]);
        assert_eq!(c.read(0), 1.0);
    }

    /// With a constant marked fraction f, alpha approaches f as 1 - (15/16)^n.
    #[test]
    fn a_held_fraction_is_approached_in_sixteen_round_trips() {
        let mut c = dctcp(&[("alpha", "0")], "100 packets");
        let mut clock = AckClock::new();
        // The first round is a single ACK.
        clock.ack(&mut *c, 0.001);
        for n in 1..=64 {
            for i in 0..100 {
                clock.ack_with(&mut *c, 0.001, |a| {
                    a.ecn_echo = i % 4 == 0;
                    // The test keeps 100 segments in each round, independent of the control.
                    a.nxt = a.una + 99_000;
                });
            }
            let expected = 0.25 * (1.0 - (15.0_f64 / 16.0).powi(n));
            assert!((c.read(0) - expected).abs() < 1e-9, "{n}: {} not {expected}", c.read(0));
        }
        assert!((c.read(0) - 0.25).abs() < 0.005);
    }

    /// The response to a loss is Reno's for any alpha, and does not change alpha.
    #[test]
    fn a_loss_halves_whatever_alpha_is() {
        for alpha in ["0", "1"] {
            let mut c = dctcp(&[("alpha", alpha)], "40 packets");
            c.on_congestion(&sign(Congestion::Loss, 40_000));
            assert_eq!((c.cwnd(), c.ssthresh()), (20_000.0, 20_000.0));
            assert_eq!(c.read(0).to_string(), alpha);
            assert_eq!(c.own_reductions(), 0);
        }
    }

    /// While a loss is repaired, marks change alpha but not the window.
    #[test]
    fn marks_during_recovery_only_move_alpha() {
        let mut c = dctcp(&[("alpha", "0")], "40 packets");
        let mut clock = AckClock::new();
        clock.sign(&mut *c, Congestion::Loss);
        for _ in 0..100 {
            clock.ack_with(&mut *c, 0.001, |a| (a.ecn_echo, a.phase) = (true, Phase::Recovery));
        }
        assert!(c.read(0) > 0.2 && c.cwnd() == 20_000.0, "{} {}", c.read(0), c.cwnd());
    }
}
