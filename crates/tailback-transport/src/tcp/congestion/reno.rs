//! The classic controller: slow start, congestion avoidance, halving (RFC 5681).
//!
//! Tahoe, Reno, NewReno and SACK share this controller and differ only in recovery. The window doubles each round trip
//! until the threshold, and then grows by one segment per round trip. A loss leaves half of the window. During fast
//! recovery the window does not grow. If a router requests a lower rate, the router's rule gives the reduction, see
//! `docs/decisions/explicit-requests.md`.
//!
//! When the controller takes over an open connection, it continues from window and threshold. Counts of whole segments
//! begin anew.
//!
//! The state is the window of `window.rs`, which Reno's relatives share. The departures are those listed in that file.
//! Options are HyStart++ (`hystart.rs`), and a separate factor for an ECN echo (RFC 8511). An ACK costs a compare, and
//! in avoidance one division.

use super::whole::WholeSegments;
use super::window::CongestionWindow;
use super::{
    AckEvent, CongestionControl, CongestionEvent, ControlForm, Departure, Facts, Handover, Mistaken, Reset, WindowRules,
};
use std::sync::Arc;
use tailback_base::model::{Key, Kind, Model};
use tailback_base::{Settings, params};

pub static MODEL: Model = Model {
    name: "reno",
    family: "congestion",
    title: "Slow start, congestion avoidance and halving",
    summary: "The classic controller of Tahoe, Reno, NewReno and SACK senders: the window doubles each round trip up \
              to \
              the slow-start threshold, then grows by one segment a round trip; a loss leaves half of it.",
    source: "RFC 5681 section 3",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    HYSTART: bool = Key::new("hystart", Kind::Bool, "false",
        "HyStart++ ends the first slow start when the round trip grows.", "RFC 9406");
    SEARCH: bool = Key::new("search", Kind::Bool, "false",
        "SEARCH ends the first slow start when what is delivered falls behind what was sent; it wins over `hystart`.",
        "draft-chung-ccwg-search-09");
    ABE: bool = Key::new("abe", Kind::Bool, "false",
        "An ECN echo leaves 0.8 of the window instead of what a loss leaves; `ecn_decrease` of tcp wins.",
        "RFC 8511 section 3.1");
}

/// With HyStart++ or SEARCH the controller compares round trips.
pub const FACTS: Facts = Facts {
    records: |own, _| own.get(&HYSTART) || own.get(&SEARCH),
    hears_departures: |own, _| own.get(&SEARCH),
    linux: Some("reno"),
    ..Facts::CLASSIC
};

/// RFC 5681 equation 4: a loss leaves half.
const KEPT: f64 = 0.5;

/// RFC 8511 section 3.1: beta_ecn.
const KEPT_AFTER_ECHO: f64 = 0.8;

pub struct Reno {
    window: CongestionWindow,
    /// The share of the window that an ECN echo leaves.
    echoed: f64,
    /// The counts of a window that is a number of whole segments.
    whole: Option<Box<WholeSegments>>,
}

pub fn build(own: &Settings, rules: &Arc<WindowRules>) -> Box<dyn CongestionControl> {
    Box::new(Reno {
        window: CongestionWindow::new(rules).with_rule(own.get(&SEARCH), own.get(&HYSTART)),
        echoed: if own.get(&ABE) { KEPT_AFTER_ECHO } else { KEPT },
        whole: (rules.form != ControlForm::Standard).then(Box::default),
    })
}

impl Reno {
    /// Growth of a window of whole segments. Each round trip adds one segment.
    #[cold]
    fn on_ack_whole(&mut self, a: &AckEvent<'_>) {
        let (Some(whole_segments), w) = (&mut self.whole, &mut self.window) else {
            return;
        };
        if !w.may_grow(a) {
            w.stay(a, None);
            return;
        }
        let segment = w.rules.segment;
        let mut acked = match w.rules.form {
            ControlForm::Ns3 => whole_segments.acknowledged(a, segment),
            ControlForm::Standard | ControlForm::Linux => whole_segments.delivered(a, segment),
        };
        if w.in_slow_start() {
            acked = w.slow_start_whole(a, acked, None);
        }
        if acked > 0.0 {
            w.cwnd += whole_segments.count(acked, libm::floor(w.cwnd / segment)) * segment;
        }
    }
}

impl CongestionControl for Reno {
    fn on_ack(&mut self, a: &AckEvent<'_>) {
        if self.whole.is_some() {
            self.on_ack_whole(a);
            return;
        }
        let w = &mut self.window;
        if !w.may_grow(a) {
            w.stay(a, None);
            return;
        }
        if w.in_slow_start() {
            w.slow_start(a);
        } else {
            w.one_segment_a_round_trip(a);
        }
    }

    fn on_congestion(&mut self, e: &CongestionEvent) {
        // In ns-3 the count survives, so the window grows by one at once if the count was half or more.
        if let Some(whole) = &mut self.whole
            && self.window.rules.form == ControlForm::Linux
        {
            whole.restart();
        }
        let echoed = self.echoed;
        self.window.congested(e, |w| w * KEPT, |w| w * echoed);
    }

    fn sends(&mut self, sent: &Departure) {
        self.window.sends(sent);
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

    #[inline]
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
    use crate::tcp::congestion::testing::{acked, sign};
    use crate::tcp::congestion::{Congestion, Phase};
    use crate::tcp::testing::config;

    fn reno(values: &[(&str, &str)]) -> Box<dyn CongestionControl> {
        build(&Settings::defaults(&MODEL), &config(values).window)
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
        let grown = |limit: &str, ssthresh: &str, bytes| {
            let settings = [
                ("payload", "1000B"),
                ("initial_window", "10 packets"),
                ("initial_ssthresh", ssthresh),
                ("byte_counting", limit),
            ];
            let mut c = reno(&settings);
            c.on_ack(&acked(bytes));
            c.cwnd() - 10_000.0
        };
        assert_eq!(grown("0", "unlimited", 5000), 1000.0);
        assert_eq!(grown("2", "unlimited", 5000), 2000.0);
        assert_eq!(grown("0", "10 packets", 5000), 100.0);
        assert_eq!(grown("2", "10 packets", 5000), 500.0);
    }

    /// The window is 34 segments, 20 are counted towards the next one, and a loss follows. The ACK that ends the repair
    /// acknowledges all 34. In ns-3 the 20 exceed the 17 segments that the loss leaves, and the 34 are twice 17, so the
    /// window grows by three segments. RFC 5681 section 3.1 allows no more than one.
    #[test]
    fn in_ns3_the_end_of_a_repair_adds_three_segments() {
        let window_after = |form: &str| {
            let mut c = reno(&[
                ("payload", "1000B"),
                ("initial_window", "34 packets"),
                ("initial_ssthresh", "34 packets"),
                ("congestion_form", form),
                ("halve", "cwnd"),
            ]);
            for _ in 0..20 {
                c.on_ack(&acked(1000));
            }
            c.on_congestion(&sign(Congestion::Loss, 34_000));
            let threshold = c.cwnd();
            c.on_ack(&acked(34_000));
            (c.cwnd() - threshold) / 1000.0
        };
        assert_eq!(window_after("ns3"), 3.0);
        assert!(window_after("standard") <= 1.0 && window_after("linux") <= 2.0);
    }

    /// Repeated halving stops at a window of one segment and a threshold of two.
    #[test]
    fn halving_ends_at_one_segment_and_the_threshold_at_two() {
        for profile in ["rfc", "ns2"] {
            let mut c = reno(&[("profile", profile), ("payload", "1000B"), ("least_window", "segment")]);
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
        let cwnd_before = c.cwnd();
        c.on_ack(&AckEvent {
            ecn_echo: true,
            ..acked(1000)
        });
        assert_eq!(c.cwnd(), cwnd_before);
    }

    /// With 20 outstanding and RFC 8511, an echo leaves 16 and a loss leaves 10. `ecn_decrease` overrides both shares.
    #[test]
    fn an_alternative_backoff_answers_echoes_more_gently() {
        for (decrease, window_left) in [("none", 16_000.0), ("0.6", 12_000.0)] {
            let start = [("payload", "1000B"), ("initial_window", "20 packets")];
            let decreased = [start[0], start[1], ("ecn_decrease", decrease)];
            let settings = if decrease == "none" { &start[..] } else { &decreased[..] };
            let own = Settings::defaults(&MODEL).with("abe", "true");
            let mut c = build(&own, &config(settings).window);
            c.on_congestion(&sign(Congestion::Ecn, 20_000));
            assert_eq!(c.cwnd(), window_left);
            let mut c = build(&own, &config(settings).window);
            c.on_congestion(&sign(Congestion::Loss, 20_000));
            assert_eq!(c.cwnd(), 10_000.0);
        }
    }

    /// Requests of levels 0 and 14 of 15. The first level is a small reduction, and the last one is a halving.
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
        c.undo(Mistaken::Recovery);
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
