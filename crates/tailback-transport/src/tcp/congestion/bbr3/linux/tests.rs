//! The differences of Linux, each compared with the draft's form on the path of `bbr3/tests.rs` (1000 B per millisecond
//! and 40 ms).

use super::super::probe_bandwidth::AckPhase;
use super::super::tests::Hand;
use super::super::{Mistaken, State};
use super::*;
use crate::tcp::congestion::testing::sign;
use crate::tcp::congestion::{Congestion, CongestionControl, CongestionEvent};

const FORMS: [&str; 2] = ["draft", "linux"];

fn settled(form: &str) -> Hand {
    let mut h = Hand::form(form, "false");
    h.until(State::Cruise, 1.0);
    h
}

/// A sender on a path of 4 ms, with marks that count.
fn short() -> Hand {
    let mut h = Hand::form("linux", "true");
    for _ in 0..40 {
        h.ack(1.0, 1.0, 4.0, |_, _| {});
    }
    h
}

/// This many ACKs of the path of 4 ms. This share of the ACKs is marked.
fn marked(h: &mut Hand, acks: u32, share: f64) {
    for n in 0..acks {
        let this = f64::from(n % 4) < 4.0 * share;
        h.ack(1.0, 1.0, 4.0, |s, a| {
            s.marked = (share * 4000.0) as u64;
            a.marked = if this { 1000 } else { 0 };
        });
    }
}

/// The gains are in 256ths: 709 + 1 for Startup, and 1000 / 2885 rounded down for Drain.
#[test]
fn numbers_are_256ths() {
    let gain = |state: State| 256.0 * state.pacing_gain(Bbr3Form::Linux);
    assert_eq!(
        [State::Startup, State::Drain, State::Down, State::Up].map(gain),
        [710.0, 88.0, 232.0, 320.0]
    );
    let n = Bbr3Form::Linux.numbers();
    assert_eq!(
        [n.loss_threshold, n.keep, n.headroom].map(|x| 256.0 * x),
        [5.0, 180.0, 38.0]
    );
}

/// 5 / 256 of 51 segments is no segment, and 5 / 256 of 52 segments is one.
#[test]
fn the_threshold_is_in_whole_segments() {
    for (form, of, ends) in [("linux", 51, true), ("linux", 52, false), ("draft", 51, false)] {
        let mut h = settled(form);
        h.until(State::Up, 1.0);
        h.lose(of, 1);
        assert_eq!(h.q.state == State::Down, ends, "{form} {of}");
    }
    // Of the 98 segments before the lost one two may be lost, and one was lost. The next loss exceeds the threshold.
    assert_eq!(segments_at_loss(99e3, 2e3, 1e3, 1e3), 99e3);
    assert_eq!(segments_at_loss(99e3, 5e3, 1e3, 1e3), 98e3);
}

/// Drain lasts until a product is left. It begins with the signals of Startup reset.
#[test]
fn drain_has_no_limit() {
    for form in FORMS {
        let mut h = Hand::form(form, "false");
        h.out = 200;
        h.round(0.5);
        h.lose(200, 1);
        h.q.full.reached = true;
        h.ack(1.0, 1.0, 40.0, |_, _| {});
        assert_eq!((h.q.state, h.q.bounds.lost_in_round), (State::Drain, form == "draft"));
        for _ in 0..6 {
            h.round(1.0);
        }
        assert_eq!(h.q.state == State::Drain, form == "linux");
    }
}

/// The filter of the rate advances only if the present cycle has a sample.
#[test]
fn an_empty_cycle_forgets_nothing() {
    for (form, bw_left) in [("draft", 0.5e6), ("linux", 1e6)] {
        let mut h = settled(form);
        for _ in 0..3 {
            h.q.path.advance(h.q.form);
        }
        h.ack(1.0, 0.5, 40.0, |_, _| {});
        assert!((h.q.path.max_bw() / bw_left - 1.0).abs() < 1e-9, "{form}");
    }
}

/// Bursts count for one to two spans of five rounds, and enlarge the window by at most 100 ms of the rate.
#[test]
fn bursts_have_two_spans() {
    for (form, least, most) in [("draft", 10, 12), ("linux", 5, 10)] {
        let mut h = settled(form);
        for _ in 0..30 {
            h.ms += 9.0;
            for n in 0..10 {
                h.ack(if n == 0 { 1.0 } else { 0.0 }, 1.0, 40.0, |_, _| {});
            }
        }
        assert!(h.q.path.extra_acked() >= 9000.0, "{form}");
        h.q.bw = 5e4;
        assert!((h.q.burst_room() - 5e3).abs() < 1e-9);
        h.q.bw = 1e6;
        let began = h.q.path.round;
        while h.q.path.extra_acked() >= 5000.0 {
            h.ack(1.2, 1.0, 40.0, |_, _| {});
        }
        let rounds = h.q.path.round - began;
        assert!((least..=most).contains(&rounds), "{form}: {rounds}");
    }
}

/// A sample that is a quarter greater restarts the search for a full pipe, even within a round.
#[test]
fn growth_is_looked_for_in_each_sample() {
    for form in FORMS {
        let mut h = Hand::form(form, "false");
        h.out = 200;
        for _ in 0..3 {
            h.round(0.5);
        }
        h.ack(1.0, 0.7, 40.0, |_, _| {});
        h.round(0.5);
        h.round(0.5);
        assert_eq!(h.q.full.reached, form == "draft", "{form}");
    }
}

/// Six segments that one ACK shows as lost are one event. A Startup that ends by loss does not mean that the pipe is
/// full now.
#[test]
fn startup_counts_acks_with_losses() {
    for (form, at_once, apart) in [("draft", 6, 12), ("linux", 1, 7)] {
        let mut h = Hand::form(form, "false");
        for n in 0..6 {
            h.lose(200, n + 1);
        }
        assert_eq!(h.q.bounds.ranges, at_once, "{form}");
        for n in 0..6 {
            h.ms += 1.0;
            h.lose(200, n + 7);
        }
        assert_eq!(h.q.bounds.ranges, apart, "{form}");
        h.q.leave_startup_by_loss();
        assert_eq!((h.q.full.reached, h.q.full.now), (true, form == "draft"));
    }
}

/// Startup's window grows up to twice the initial window, even after a timeout. In the draft's form it grows as long as
/// no initial window is delivered.
#[test]
fn the_first_window_doubles_in_any_case() {
    for (form, grown) in [("draft", 8), ("linux", 20)] {
        let mut h = Hand::form(form, "false");
        for n in 0..60 {
            h.ack(1.0, 0.01, 40.0, |s, _| s.application_limited = true);
            if n == 30 {
                h.q.cwnd = 8e3;
            }
        }
        assert_eq!((h.q.cwnd / 1e3).round() as u64, grown, "{form}");
    }
}

/// A burst is the bytes of 1/1024 s of the rate, and 64 kB halved for each 512 us of the round trip, in whole segments.
#[test]
fn the_burst_is_longer_on_short_paths() {
    let mut h = settled("linux");
    h.q.pacing = 10.24e6;
    for (us, burst) in [(40_000, 10e3), (1_100, 26e3), (600, 42e3), (100, 65e3)] {
        h.q.trips.least = Some(Duration::from_micros(us));
        assert_eq!(h.q.send_quantum(), Some(burst), "{us} us");
    }
    h.q.pacing = 1e5;
    assert_eq!(h.q.burst(), 65e3);
    h.q.trips.least = Some(Duration::from_millis(40));
    assert_eq!(h.q.burst(), 2e3);
}

/// 43 segments are in flight, and the next segment leaves in 3 ms. At that time 40 segments are left, which is one
/// product.
#[test]
fn in_flight_is_that_of_the_next_departure() {
    for form in FORMS {
        let mut h = settled(form);
        h.q.state = State::Down;
        h.out = 44;
        h.ack(1.0, 1.0, 40.0, |_, _| {});
        assert_eq!(h.q.state, State::Down, "{form}");
        h.ack(1.0, 1.0, 40.0, |s, _| s.until_next = Duration::from_millis(4));
        assert_eq!(h.q.state == State::Cruise, form == "linux", "{form}");
        // If the gain is above 1, a burst of two is added.
        h.q.state = State::Up;
        h.q.full.restart(1e6);
        (h.q.bounds.inflight_longterm, h.q.cycle.too_high) = (42e3, true);
        h.out = 40;
        h.ack(1.0, 1.0, 40.0, |_, _| {});
        assert_eq!(h.q.state == State::Down, form == "linux", "{form}");
    }
}

/// CRUISE begins within the bound of the last probe.
#[test]
fn cruise_begins_within_the_long_term() {
    for (form, bound) in [("draft", 50e3), ("linux", 45e3)] {
        let mut h = settled(form);
        h.q.state = State::Down;
        (h.q.bounds.inflight_shortterm, h.q.bounds.inflight_longterm) = (50e3, 45e3);
        h.out = 10;
        h.ack(1.0, 1.0, 40.0, |_, _| {});
        assert_eq!((h.q.state, h.q.bounds.inflight_shortterm), (State::Cruise, bound));
    }
}

/// After 9 s the ACK of a lone half segment arrives, with a round trip of 300 ms. This ACK may be late, so the least
/// round trip after 10 s is that of the next ACK.
#[test]
fn a_late_ack_does_not_replace_the_minimum() {
    for (form, least) in [("draft", 300), ("linux", 400)] {
        let mut h = settled(form);
        h.ms = 9_500.0;
        h.ack(0.0, 1.0, 300.0, |s, _| (s.newly, s.delivered) = (500, 500));
        h.ms = 11_000.0;
        h.ack(0.0, 1.0, 400.0, |_, _| {});
        assert_eq!(h.q.trips.least, Some(Duration::from_millis(least)), "{form}");
    }
}

/// A timeout outside of a probe keeps the window before it as a bound.
#[test]
fn a_timeout_bounds_by_the_window_before_it() {
    for form in FORMS {
        let mut h = settled(form);
        let cwnd_before = h.q.cwnd;
        h.q.on_congestion(&CongestionEvent {
            in_flight: 7000,
            ..sign(Congestion::Timeout { again: false }, 40_000)
        });
        let bound = if form == "linux" { cwnd_before } else { f64::INFINITY };
        assert_eq!((h.q.cwnd, h.q.bounds.inflight_shortterm), (8000.0, bound), "{form}");
    }
}

/// An undo restores the values from the beginning of recovery, after the probe had ended, and changes no state.
#[test]
fn an_undo_changes_no_state() {
    for (form, state) in [("draft", State::Refill), ("linux", State::Down)] {
        let mut h = settled(form);
        h.until(State::Up, 1.0);
        for n in 1..=4 {
            h.lose(60, n);
        }
        h.q.on_congestion(&sign(Congestion::Loss, 60_000));
        h.q.undo(Mistaken::Recovery);
        assert_eq!((h.q.state, h.longterm().is_finite()), (state, form == "linux"));
    }
}

/// A tail that a probe repaired counts as one lost segment of the segments delivered in the round, plus one.
#[test]
fn a_repaired_tail_counts_beside_what_was_delivered() {
    for form in FORMS {
        let mut h = settled(form);
        h.until(State::Up, 1.0);
        h.q.bounds.inflight_latest = 40e3;
        h.lose_as(60, 1, true);
        assert_eq!(h.q.state == State::Down, form == "linux", "{form}");
        assert_eq!(h.longterm(), if form == "linux" { 41.0 } else { f64::INFINITY });
    }
}

/// The sample of an ACK may also end a probe. In the draft's form only a lost segment ends a probe.
#[test]
fn the_sample_of_an_ack_ends_a_probe() {
    for form in FORMS {
        let mut h = settled(form);
        h.until(State::Up, 1.0);
        h.ack(1.0, 1.0, 40.0, |s, _| s.lost = 4000);
        assert_eq!(h.q.state == State::Down, form == "linux", "{form}");
    }
}

/// Marks count only on short paths, and only if the route allows it. An echo is not a sign of congestion.
#[test]
fn marks_need_a_short_path_and_a_word() {
    let mut h = settled("linux");
    h.until(State::Up, 1.0);
    h.q.on_congestion(&sign(Congestion::Ecn, 45_000));
    h.ack(1.0, 1.0, 40.0, |s, a| (s.marked, a.marked) = (40_000, 1000));
    assert_eq!((h.q.state, h.longterm()), (State::Up, f64::INFINITY));
    for (ms, low, counts) in [(40, "true", false), (5, "false", false), (5, "true", true)] {
        let mut h = Hand::form("linux", low);
        h.q.trips.least = Some(Duration::from_millis(ms));
        h.ack(1.0, 1.0, 40.0, |_, a| a.marked = 1000);
        assert_eq!(h.q.marks.counts, counts, "{ms} ms, {low}");
    }
}

/// The smoothed share begins at 1, and a round without a mark leaves 15/16 of this share.
#[test]
fn the_share_is_smoothed_over_rounds() {
    let mut h = short();
    let mut share = h.q.marks.share;
    for _ in 0..5 {
        let end = h.q.path.round + 1;
        while h.q.path.round < end {
            h.ack(1.0, 1.0, 4.0, |_, _| {});
        }
        assert!((h.q.marks.share / share - 15.0 / 16.0).abs() < 1e-9);
        share = h.q.marks.share;
    }
    marked(&mut h, 4, 1.0);
    assert!(h.q.marks.share > share);
}

/// Outside of a probe, a round with marks lowers the bound of the amount in flight by a third of the share, and does
/// not lower the bound of the rate.
#[test]
fn a_marked_round_lowers_what_is_in_flight() {
    let mut h = short();
    h.until(State::Cruise, 1.0);
    // After a loss in this cycle marks do not cause a probe.
    h.q.marks.lost_in_cycle = true;
    (h.q.bounds.inflight_shortterm, h.q.marks.share) = (30e3, 0.5);
    h.ack(0.0, 1.0, 4.0, |s, a| (s.marked, a.marked) = (1000, 1000));
    while h.q.marks.in_round {
        h.ack(1.0, 1.0, 4.0, |_, _| {});
    }
    let share = 1.0 - h.q.bounds.inflight_shortterm / 30e3;
    assert!((share - 0.5 * 85.0 / 256.0).abs() < 0.02, "{share}");
    assert!(h.q.bounds.bw_shortterm.is_infinite());
}

/// Two rounds with at least half of the data marked end Startup. A sample with more than half marked ends a probe.
#[test]
fn too_many_marks_end_startup_and_probes() {
    for (share, ends) in [(0.25, false), (0.5, true)] {
        let mut h = Hand::form("linux", "true");
        h.q.trips.least = Some(Duration::from_millis(4));
        h.out = 40;
        for n in 0..12 {
            h.ack(1.0, 1.0, 4.0, |_, a| {
                a.marked = if f64::from(n % 4) < 4.0 * share { 1000 } else { 0 };
            });
        }
        assert_eq!(h.q.full.reached, ends, "{share}");
    }
    for (share, ends) in [(0.5, false), (0.75, true)] {
        let mut h = short();
        h.until(State::Up, 1.0);
        h.out = 40;
        h.ack(1.0, 1.0, 4.0, |s, _| s.marked = (share * s.delivered as f64) as u64);
        assert_eq!(h.q.cycle.too_high, ends, "{share}");
    }
}

/// After marks without a loss the next probe begins at once, and grows by half of the bound at first.
#[test]
fn marks_without_losses_ask_for_a_probe() {
    let mut h = short();
    h.until(State::Cruise, 1.0);
    h.q.bounds.inflight_longterm = 64e3;
    h.ack(1.0, 1.0, 4.0, |s, a| (s.marked, a.marked) = (1000, 1000));
    h.ack(1.0, 1.0, 4.0, |_, _| {});
    assert_eq!((h.q.state, h.q.cycle.acks), (State::Refill, AckPhase::Refilling));
    assert_eq!(h.q.cycle.up_rounds, 5);
}
