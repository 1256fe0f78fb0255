//! BBRv3 without a connection: a path of 1000 B per millisecond and 40 ms, with ACKs as a sender's records would report
//! them.

use super::losses::inflight_at_loss;
use super::probe_bandwidth::AckPhase;
use super::*;
use crate::tcp::congestion::RateSample;
use crate::tcp::congestion::testing::{acked, sign};
use crate::tcp::testing::config;

const SEGMENT: u64 = 1000;

fn bbr3(values: &[(&str, &str)]) -> Bbr3 {
    made(&Settings::defaults(&MODEL), values)
}

fn made(own: &Settings, values: &[(&str, &str)]) -> Bbr3 {
    let base = [
        ("payload", "1000B"),
        ("initial_window", "10 packets"),
        ("header", "40B"),
    ];
    let rules = config(&[&base, values].concat()).window;
    let mut bbr3 = Bbr3::new(own, &rules);
    bbr3.draw(&mut Stream::new(1, "test"));
    bbr3
}

/// A sender on the test path, with the delivered and lost bytes and the time.
pub(super) struct Hand {
    pub q: Bbr3,
    pub ms: f64,
    total: u64,
    lost: u64,
    /// The segments in flight when the segments that are acknowledged now were sent.
    pub out: u64,
}

impl Hand {
    fn new() -> Hand {
        Hand::with(&[])
    }

    fn with(values: &[(&str, &str)]) -> Hand {
        Hand::of(bbr3(values))
    }

    /// A sender with the control in this form.
    pub fn form(form: &str, ecn_low: &str) -> Hand {
        let own = Settings::defaults(&MODEL).with("form", form).with("ecn_low", ecn_low);
        Hand::of(made(&own, &[]))
    }

    fn of(mut q: Bbr3) -> Hand {
        q.sending_begins(Time::ZERO, Some(Duration::from_millis(40)));
        Hand {
            q,
            ms: 0.0,
            total: 0,
            lost: 0,
            out: 40,
        }
    }

    fn now(&self) -> Time {
        Time::from_seconds(self.ms / 1e3)
    }

    /// An ACK of one segment after `ms`. In a round trip of `rtt` ms, `rate` segments per ms were delivered.
    pub fn ack(&mut self, ms: f64, rate: f64, rtt: f64, change: impl FnOnce(&mut RateSample, &mut AckEvent<'_>)) {
        self.ms += ms;
        self.total += SEGMENT;
        let interval = Duration::from_seconds(rtt / 1e3);
        let mut sample = RateSample {
            delivered: ((rate * rtt) as u64 * SEGMENT).min(self.total),
            total: self.total,
            newly: SEGMENT,
            in_flight: (self.out - 1) * SEGMENT,
            lost: 0,
            marked: 0,
            in_flight_at_send: self.out * SEGMENT,
            interval,
            until_next: Duration::ZERO,
            rtt: Some(interval),
            application_limited: false,
        };
        let mut ack = AckEvent {
            now: self.now(),
            ..acked(SEGMENT)
        };
        change(&mut sample, &mut ack);
        self.q.on_ack(&AckEvent {
            rate: Some(&sample),
            ..ack
        });
    }

    /// A round trip of ACKs, one per millisecond, at this rate.
    pub fn round(&mut self, rate: f64) {
        let end = self.q.path.round + 1;
        while self.q.path.round < end {
            self.ack(1.0, rate, 40.0, |_, _| {});
        }
    }

    pub fn lose(&mut self, of_in_flight: u64, lost_since: u64) {
        self.lose_as(of_in_flight, lost_since, false);
    }

    pub fn lose_as(&mut self, of_in_flight: u64, lost_since: u64, by_probe: bool) {
        self.lost += 1;
        let lost = Lost {
            now: self.now(),
            seq: 2 * self.lost * SEGMENT,
            bytes: SEGMENT,
            in_flight_at_send: of_in_flight * SEGMENT,
            lost_since_send: lost_since * SEGMENT,
            delivered: self.total,
            application_limited: false,
            new_range: true,
            by_probe,
        };
        self.q.on_lost(&lost);
    }

    pub fn until(&mut self, state: State, rate: f64) {
        for _ in 0..20_000 {
            if self.q.state == state {
                return;
            }
            if self.q.state == State::ProbeRtt {
                // The amount in flight follows the window of ProbeRTT.
                let out = std::mem::replace(&mut self.out, 4);
                self.ack(1.0, rate, 40.0, |s, _| s.application_limited = true);
                self.out = out;
                continue;
            }
            self.ack(1.0, rate, 40.0, |_, _| {});
        }
        panic!("{:?} and not {state:?}", self.q.state);
    }

    /// Go to CRUISE with a rate of one segment per millisecond.
    fn settle() -> Hand {
        let mut h = Hand::new();
        h.until(State::Cruise, 1.0);
        h
    }

    pub fn longterm(&self) -> f64 {
        self.q.bounds.inflight_longterm / 1000.0
    }
}

/// Section 5.6.1: gains and the bounds of the window in each state.
#[test]
fn the_state_says_gain_and_bound() {
    let table = [
        (State::Startup, 2.77, 2.0, f64::INFINITY),
        (State::Drain, 0.5, 2.0, f64::INFINITY),
        (State::Down, 0.9, 2.0, 60.0),
        (State::Cruise, 1.0, 2.0, 51.0),
        (State::Refill, 1.0, 2.0, 60.0),
        (State::Up, 1.25, 2.25, 60.0),
        (State::ProbeRtt, 1.0, 0.5, 51.0),
    ];
    for (state, pacing, window, bound) in table {
        assert_eq!(
            (state.pacing_gain(Bbr3Form::Draft), state.window_gain()),
            (pacing, window),
            "{state:?}"
        );
        let mut h = Hand::settle();
        h.q.bounds.inflight_longterm = 60_000.0;
        (h.q.state, h.q.cwnd) = (state, 1e6);
        h.q.full.reached = false;
        h.q.set_window(0.0);
        let expected = if state == State::ProbeRtt { 20.0 } else { bound };
        assert!(
            (h.q.cwnd / 1000.0).min(900.0) - expected.min(900.0) < 0.5,
            "{state:?}: {}",
            h.q.cwnd
        );
    }
}

/// The rate is 4 ln 2 = 2.7726 times the initial window in the round trip of the handshake. Pacing also counts headers.
#[test]
fn it_paces_before_the_first_round_trip() {
    assert!((Bbr3Form::Draft.numbers().startup_gain - 4.0 * std::f64::consts::LN_2).abs() < 0.003);
    let rate = |q: &Bbr3| q.pacing().map_or(0.0, BitRate::bits_per_second) / 8.0 / 1.04;
    let mut q = bbr3(&[]);
    assert!((rate(&q) / (2.77 * 10_000.0 / 1e-3) - 1.0).abs() < 1e-6);
    q.sending_begins(Time::ZERO, Some(Duration::from_millis(40)));
    assert!((rate(&q) / (2.77 * 10_000.0 / 0.04) - 1.0).abs() < 1e-6);
}

/// Three rounds in which the rate grew by less than a quarter fill the pipe. Growth restarts the count.
#[test]
fn three_rounds_without_growth_end_startup() {
    let mut h = Hand::new();
    h.out = 200;
    for rate in [0.25, 0.5, 0.6, 0.6, 0.8, 0.9, 0.9] {
        h.round(rate);
        assert_eq!(h.q.state, State::Startup, "{rate}");
    }
    h.round(0.9);
    assert_eq!((h.q.state, h.q.full.now, h.q.full.reached), (State::Drain, true, true));
}

/// Drain ends at one product, or after three rounds.
#[test]
fn drain_ends_at_a_product_or_after_three_rounds() {
    for (out, rounds) in [(41, 0), (200, 4)] {
        let mut h = Hand::new();
        h.out = 200;
        h.until(State::Drain, 1.0);
        let began = h.q.path.round;
        h.out = out;
        while h.q.state == State::Drain {
            h.ack(1.0, 1.0, 40.0, |_, _| {});
        }
        assert_eq!(h.q.path.round - began, rounds, "{out}");
        // If no more than a product is in flight, DOWN ends at once.
        assert_eq!(h.q.state, if out == 41 { State::Cruise } else { State::Down });
    }
}

/// The whole cycle at a constant rate. CRUISE lasts until the wait is over, or for 40 rounds (of 40 segments here).
/// REFILL lasts for one round. UP lasts for three rounds without growth. DOWN lasts until a product is left.
#[test]
fn a_cycle_is_cruise_refill_up_down() {
    let mut h = Hand::settle();
    let began = h.ms;
    h.until(State::Refill, 1.0);
    let waited = h.ms - began;
    assert!((38.0 * 40.0..=40.0 * 40.0 + 2.0).contains(&waited), "{waited} ms");
    assert!(h.q.bounds.bw_shortterm.is_infinite() && h.q.cycle.acks == AckPhase::Refilling);
    let round = h.q.path.round;
    h.until(State::Up, 1.0);
    assert_eq!(h.q.path.round - round, 1);
    assert!(h.q.cycle.is_probe);
    let round = h.q.path.round;
    h.until(State::Down, 1.0);
    assert_eq!(h.q.path.round - round, 3);
    // The feedback of the probe ends a round later. Then the filter of the rate advances once.
    let cycle = h.q.cycle.acks;
    assert_eq!(cycle, AckPhase::ProbeStopping);
    h.until(State::Cruise, 1.0);
    h.round(1.0);
    h.round(1.0);
    assert_eq!((h.q.cycle.acks, h.q.cycle.is_probe), (AckPhase::Init, false));
}

/// In revisions -02 to -05 a rate that a probe found is wrongly dropped after two rounds. Here the rate still counts in
/// the next cycle, and is dropped in the cycle after that.
#[test]
fn a_probe_s_rate_lasts_for_two_cycles() {
    let mut h = Hand::settle();
    h.until(State::Up, 1.0);
    h.round(1.2);
    let max_bw = h.q.path.max_bw();
    assert!((max_bw / 1.2e6 - 1.0).abs() < 1e-9);
    h.until(State::Cruise, 1.0);
    for _ in 0..30 {
        h.round(1.0);
    }
    assert_eq!(h.q.path.max_bw(), max_bw, "30 rounds later");
    h.until(State::Down, 1.0);
    h.until(State::Cruise, 1.0);
    h.until(State::Down, 1.0);
    h.until(State::Cruise, 1.0);
    h.round(1.0);
    h.round(1.0);
    h.round(1.0);
    assert!((h.q.path.max_bw() / 1e6 - 1.0).abs() < 1e-9, "{}", h.q.path.max_bw());
}

/// Limited samples neither fill the pipe nor lower the rate, and UP does not end as long as samples are limited
/// (appendix A.7).
#[test]
fn limited_samples_only_raise_the_rate() {
    let mut h = Hand::settle();
    h.until(State::Up, 1.0);
    let rate = h.q.path.max_bw();
    for _ in 0..400 {
        h.ack(5.0, 0.1, 40.0, |s, _| s.application_limited = true);
        assert_eq!(h.q.state, State::Up);
    }
    assert_eq!(h.q.path.max_bw(), rate);
    h.ack(1.0, 1.5, 40.0, |s, _| s.application_limited = true);
    assert!((h.q.path.max_bw() / rate - 1.5).abs() < 1e-9);
}

/// Losses of more than 2 % of the amount in flight end UP. The bound is then the amount in flight at which losses
/// passed 2 %, but at least 0.7 of the target. Fewer losses do not end UP.
#[test]
fn a_probe_that_loses_too_much_sets_the_bound() {
    let mut h = Hand::settle();
    h.until(State::Up, 1.0);
    h.lose(100, 2);
    assert!((h.q.state, h.longterm()) == (State::Up, f64::INFINITY));
    h.lose(100, 3);
    assert_eq!((h.q.state, h.q.cycle.too_high), (State::Down, true));
    assert_eq!(h.longterm(), 99.0);
    let mut h = Hand::settle();
    h.until(State::Up, 1.0);
    h.lose(20, 10);
    assert!((h.longterm() - 0.7 * 40.0).abs() < 0.1, "{}", h.longterm());
    // There is only one reaction per probe.
    h.lose(10, 5);
    assert!((h.longterm() - 0.7 * 40.0).abs() < 0.1);
}

/// With 98 in flight before and 1 of these lost, the threshold is at 98 + (1.96 - 1) / 0.98.
#[test]
fn the_threshold_lies_within_the_lost_segment_or_before_it() {
    let at = inflight_at_loss(99.0, 2.0, 1.0);
    assert!((at - (98.0 + 0.96 / 0.98)).abs() < 1e-9);
    assert_eq!(inflight_at_loss(99.0, 5.0, 1.0), 98.0);
}

/// Outside of a probe, a round with a loss lowers the short-term bounds to the delivered amounts, but not below 0.7 of
/// the old bounds.
#[test]
fn a_round_with_a_loss_lowers_the_short_term() {
    let mut h = Hand::settle();
    let cwnd = h.q.cwnd;
    for _ in 0..3 {
        h.lose(40, 1);
        h.round(0.5);
    }
    h.round(0.5);
    let share = h.q.bounds.bw_shortterm / h.q.path.max_bw();
    // The first round delivered at 1 before the loss, and the others at 0.5. This makes two steps, and the second one
    // ends at 0.5 or 0.49.
    assert!((0.49..=0.71).contains(&share), "{share}");
    assert!(h.q.bounds.inflight_shortterm <= cwnd && h.q.bw < h.q.path.max_bw());
    assert!(h.q.pacing < 0.99e6);
    h.until(State::Refill, 1.0);
    assert!(h.q.bounds.bw_shortterm.is_infinite() && h.q.bounds.inflight_shortterm.is_infinite());
    assert!((h.q.pacing / 0.99e6 - 1.0).abs() < 0.01, "{}", h.q.pacing);
}

/// Startup ends by loss after a round of recovery in which six ranges and more than 2 % were lost. Five ranges, or 2 %
/// or less, do not end Startup. Without SACK any loss ends Startup.
#[test]
fn startup_ends_by_loss() {
    let run = |overrides: &[(&str, &str)], ranges: u32, lost: u64, limited: bool| {
        let mut h = Hand::with(overrides);
        h.out = 200;
        h.round(0.2);
        h.round(0.4);
        for n in 0..ranges {
            h.lose(200, u64::from(n) + 1);
        }
        h.q.on_congestion(&sign(Congestion::Loss, 200_000));
        for n in 0..3 {
            for _ in 0..40 {
                h.ack(1.0, 0.4 * (f64::from(n) + 1.0), 40.0, |s, a| {
                    (s.lost, s.application_limited) = (lost * SEGMENT, limited);
                    a.phase = Phase::Recovery;
                });
            }
        }
        h
    };
    for limited in [false, true] {
        let h = run(&[], 6, 6, limited);
        assert_eq!((h.q.full.now, h.q.full.reached), (true, true));
        assert_ne!(h.q.state, State::Startup);
        assert!(h.longterm() >= 16.0 && h.longterm() < 60.0, "{}", h.longterm());
    }
    assert_eq!(run(&[], 5, 6, false).q.state, State::Startup);
    assert_eq!(run(&[], 6, 4, false).q.state, State::Startup);
    assert_eq!(run(&[], 0, 0, false).q.state, State::Startup);
    assert_ne!(run(&[("variant", "newreno")], 1, 1, false).q.state, State::Startup);
}

/// A probe after one that lost too much ends at the amount at which the earlier probe ended. If this probe loses
/// little, a full probe follows at once.
#[test]
fn a_cautious_probe_is_followed_by_a_full_one() {
    let mut h = Hand::settle();
    h.until(State::Up, 1.0);
    h.out = 50;
    h.lose(50, 2);
    assert_eq!(h.longterm(), 49.0);
    h.out = 40;
    h.until(State::Up, 1.0);
    assert!(h.q.cycle.too_high);
    h.out = 47;
    h.ack(1.0, 1.0, 40.0, |_, _| {});
    assert_eq!(h.q.state, State::Up);
    h.out = 49;
    h.ack(1.0, 1.0, 40.0, |_, _| {});
    assert_eq!((h.q.state, h.q.cycle.too_high), (State::Down, false));
    let began = h.ms;
    h.out = 40;
    h.until(State::Refill, 1.0);
    assert!(h.ms - began < 90.0, "{} ms later", h.ms - began);
    h.until(State::Up, 1.0);
    h.out = 49;
    h.ack(1.0, 1.0, 40.0, |_, _| {});
    assert_eq!(h.q.state, State::Up, "the second probe is not cautious");
}

/// With a full window at the bound, UP raises the bound by 1, 2, 4, ... segments per round.
#[test]
fn the_bound_grows_twice_as_fast_each_round() {
    let mut h = Hand::settle();
    h.until(State::Up, 1.0);
    (h.q.bounds.inflight_longterm, h.q.cwnd) = (60_000.0, 60_000.0);
    let mut grown = Vec::new();
    for _ in 0..5 {
        let bound_before = h.longterm();
        let end = h.q.path.round + 1;
        while h.q.path.round < end {
            (h.out, h.q.cwnd) = (
                (h.q.bounds.inflight_longterm / 1000.0) as u64,
                h.q.bounds.inflight_longterm,
            );
            h.ack(1.0, 1.0, 40.0, |s, _| s.in_flight_at_send = 0);
        }
        grown.push(h.longterm() - bound_before);
    }
    assert!(grown.windows(2).all(|g| g[1] >= g[0]), "{grown:?}");
    assert!(grown[4] >= 8.0 && grown[0] <= 2.0, "{grown:?}");
}

/// ProbeRTT comes every five seconds, with half a product for 200 ms and a round. CRUISE follows, or Startup if the
/// pipe was not full before.
#[test]
fn probe_rtt_is_half_a_product_for_200_ms() {
    for full in [true, false] {
        let mut h = if full { Hand::settle() } else { Hand::new() };
        let mut began = None;
        while h.q.state != State::ProbeRtt {
            h.ack(1.0, 1.0, 40.1, |s, _| s.application_limited = !full);
            began = Some(h.ms);
        }
        assert!(h.q.limits_itself());
        let began = began.unwrap();
        assert!((4900.0..5400.0).contains(&began), "{began}");
        assert!(h.q.cwnd <= h.q.bw * 0.0401 / 2.0 + 4000.0, "{}", h.q.cwnd);
        h.out = 4;
        while h.q.state == State::ProbeRtt {
            h.ack(1.0, 1.0, 40.0, |s, _| s.application_limited = true);
        }
        assert!((200.0..=243.0).contains(&(h.ms - began)), "{}", h.ms - began);
        assert_eq!(h.q.state, if full { State::Cruise } else { State::Startup });
    }
}

/// After an idle period the sender paces at the rate, and there is no ProbeRTT although five seconds have passed.
#[test]
fn after_a_rest_it_paces_at_the_rate_and_does_not_probe_rtt() {
    let mut h = Hand::settle();
    h.until(State::Up, 1.0);
    h.ms += 6000.0;
    h.q.sending_begins(h.now(), Some(Duration::from_millis(40)));
    assert!((h.q.pacing / (0.99 * h.q.bw) - 1.0).abs() < 1e-9);
    h.ack(40.0, 0.1, 40.0, |s, _| s.application_limited = true);
    assert_ne!(h.q.state, State::ProbeRtt);
}

/// A timeout leaves a window of the bytes in the network and one segment. The window is restored when the repair is
/// over.
#[test]
fn a_timeout_leaves_one_segment_more_than_is_in_flight() {
    let mut h = Hand::settle();
    let cwnd_before = h.q.cwnd;
    h.q.on_congestion(&CongestionEvent {
        in_flight: 7000,
        ..sign(Congestion::Timeout { again: false }, 40_000)
    });
    assert_eq!(h.q.cwnd, 8000.0);
    h.ack(1.0, 1.0, 40.0, |_, a| a.phase = Phase::Loss);
    assert_eq!(h.q.cwnd, 9000.0);
    h.ack(1.0, 1.0, 40.0, |_, _| {});
    assert!(
        h.q.cwnd >= cwnd_before.min(h.q.bounds.inflight_shortterm) - 1.0,
        "{} of {cwnd_before}",
        h.q.cwnd
    );
}

/// After a repair that proves to be a mistake, bounds and state are restored. The state is Startup, or a probe that
/// begins again with REFILL.
#[test]
fn a_mistake_gives_back_what_it_took() {
    let mut h = Hand::settle();
    h.until(State::Up, 1.0);
    for n in 1..=4 {
        h.lose(60, n);
    }
    h.q.on_congestion(&sign(Congestion::Loss, 60_000));
    assert!(h.q.state == State::Down && h.longterm() < 61.0);
    h.q.undo(Mistaken::Recovery);
    assert_eq!((h.q.state, h.longterm()), (State::Refill, f64::INFINITY));
    // A loss outside of a probe changes no state.
    let mut h = Hand::settle();
    h.lose(40, 1);
    h.q.on_congestion(&sign(Congestion::Loss, 40_000));
    h.round(0.5);
    h.round(0.5);
    assert!(h.q.bounds.bw_shortterm.is_finite(), "a round with a loss is over");
    h.q.undo(Mistaken::Recovery);
    assert!(h.q.bounds.bw_shortterm.is_infinite() && h.q.state != State::Startup);
}

/// The second marked round ends Startup. A mark in a probe sets the long-term bound, and any other mark sets the
/// short-term bounds.
#[test]
fn a_mark_counts_as_too_much() {
    let mut h = Hand::new();
    h.round(0.5);
    h.q.on_congestion(&sign(Congestion::Ecn, 40_000));
    h.round(1.0);
    assert_eq!(h.q.state, State::Startup);
    h.q.on_congestion(&sign(Congestion::Ecn, 40_000));
    h.round(2.0);
    assert_ne!(h.q.state, State::Startup);
    let mut h = Hand::settle();
    h.until(State::Up, 1.0);
    h.q.on_congestion(&sign(Congestion::Ecn, 45_000));
    assert_eq!((h.q.state, h.longterm()), (State::Down, 45.0));
}

/// An undo restores the values that its own repair changed, but not those that an earlier mark changed.
#[test]
fn an_undo_leaves_what_a_mark_said() {
    let mut h = Hand::settle();
    h.until(State::Up, 1.0);
    h.q.on_congestion(&sign(Congestion::Ecn, 45_000));
    h.until(State::Cruise, 1.0);
    h.lose(40, 1);
    h.q.on_congestion(&sign(Congestion::Loss, 40_000));
    h.q.undo(Mistaken::Recovery);
    assert_eq!((h.q.state, h.longterm()), (State::Cruise, 45.0));
}

/// ACKs that come in bursts of ten enlarge the window by the bytes of a burst.
#[test]
fn bursts_of_acks_widen_the_window() {
    let mut h = Hand::settle();
    let even = h.q.path.extra_acked();
    for _ in 0..30 {
        h.ms += 9.0;
        for n in 0..10 {
            h.ack(if n == 0 { 1.0 } else { 0.0 }, 1.0, 40.0, |_, _| {});
        }
    }
    assert!(
        even < 2500.0 && h.q.path.extra_acked() >= 9000.0,
        "{even}, {}",
        h.q.path.extra_acked()
    );
}

/// The quantum is the bytes of a millisecond at the rate, between two segments and 64 kB.
#[test]
fn the_quantum_is_a_millisecond() {
    let mut q = bbr3(&[]);
    for (rate, quantum) in [(1e5, 2000.0), (5e6, 5000.0), (1e9, 65_536.0)] {
        q.pacing = rate;
        assert_eq!(q.send_quantum(), Some(quantum));
    }
}
