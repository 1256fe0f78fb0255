//! BBR without a connection: a path of 1000 B per millisecond and 40 ms, with ACKs as a sender's records would report
//! them.

use super::*;
use crate::tcp::congestion::testing::{acked, sign};
use crate::tcp::testing::config;

const SEGMENT: u64 = 1000;

fn bbr(form: &str, payload: &str, window: &str) -> Box<Bbr> {
    let rules = config(&[("payload", payload), ("initial_window", window), ("header", "40B")]).window;
    let own = Settings::defaults(&MODEL).with("form", form);
    let mut bbr = Bbr::new(&own, &rules);
    bbr.draw(&mut Stream::new(1, "test"));
    Box::new(bbr)
}

/// A sender on the test path, with the delivered bytes and the time.
struct Hand {
    bbr: Box<Bbr>,
    now: f64,
    total: u64,
}

impl Hand {
    fn new(bbr: Box<Bbr>) -> Hand {
        Hand {
            bbr,
            now: 0.0,
            total: 0,
        }
    }

    /// An ACK of one segment after `ms`. The rate of the last `interval` ms was `rate` segments per ms, and the round
    /// trip was `rtt`.
    fn ack(
        &mut self,
        ms: f64,
        rate: f64,
        rtt: f64,
        in_flight: u64,
        change: impl FnOnce(&mut RateSample, &mut AckEvent<'_>),
    ) {
        self.now += ms;
        self.total += SEGMENT;
        let interval = Duration::from_seconds(rtt / 1e3);
        let mut sample = RateSample {
            delivered: ((rate * rtt) as u64 * SEGMENT).min(self.total),
            total: self.total,
            newly: SEGMENT,
            in_flight: in_flight * SEGMENT,
            lost: 0,
            marked: 0,
            in_flight_at_send: 0,
            interval,
            until_next: Duration::ZERO,
            rtt: Some(interval),
            application_limited: false,
        };
        let mut ack = AckEvent {
            now: Time::from_seconds(self.now / 1e3),
            ..acked(SEGMENT)
        };
        change(&mut sample, &mut ack);
        let mut event = AckEvent {
            rate: None,
            pipe: sample.in_flight.saturating_sub(ack.lost),
            ..ack
        };
        event.rate = Some(&sample);
        self.bbr.on_ack(&event);
    }

    /// A round trip of 40 ACKs, one per millisecond, at this rate.
    fn round(&mut self, rate: f64, in_flight: u64) {
        let end = self.bbr.round + 1;
        while self.bbr.round < end {
            self.ack(1.0, rate, 40.0, in_flight, |_, _| {});
        }
    }

    /// Go to ProbeBW with a rate of one segment per millisecond.
    fn settle(&mut self) {
        for _ in 0..6 {
            self.round(1.0, 100);
        }
        assert_eq!(self.bbr.mode, Mode::Drain);
        self.ack(1.0, 1.0, 40.0, 30, |_, _| {});
        assert!(matches!(self.bbr.mode, Mode::ProbeBw { .. }), "{:?}", self.bbr.mode);
    }
}

#[test]
fn the_cycle_asks_for_no_more_than_the_rate_in_all() {
    assert_eq!(CYCLE.iter().sum::<f64>(), 8.0);
    assert!((HIGH_GAIN - 2.0 / std::f64::consts::LN_2).abs() < 1e-12);
}

/// With 20 Mb/s, 40 ms and 1500 B on the wire, the product is 66.67 segments. 134 + 3 segments are outstanding. Linux
/// counts 140, and 87 at the end of the phase 1.25.
#[test]
fn targets_are_the_product_and_three_batches() {
    for (form, window, probing) in [("draft", 137.0, 87.0), ("linux", 140.0, 90.0)] {
        let mut b = bbr(form, "1460B", "10 packets");
        b.fastest.enter(1, 20e6 / 8.0 * 1460.0 / 1500.0, RATE_ROUNDS);
        b.rtprop = Some(Duration::from_millis(40));
        b.pacing = b.rate();
        assert_eq!(b.target(2.0) / 1460.0, window, "{form}");
        assert_eq!(b.target(1.25) / 1460.0, probing, "{form}");
    }
}

/// Before a sample the rate is 2.885 initial windows in a millisecond, or in the handshake's round trip. Pacing also
/// counts headers.
#[test]
fn it_paces_before_the_first_round_trip() {
    let mut b = bbr("draft", "1000B", "10 packets");
    let rate = |b: &Bbr| b.pacing().map_or(0.0, BitRate::bits_per_second) / 8.0 / 1.04;
    assert!((rate(&b) / (HIGH_GAIN * 10_000.0 / 1e-3) - 1.0).abs() < 1e-6);
    b.sending_begins(Time::ZERO, Some(Duration::from_millis(40)));
    assert!((rate(&b) / (HIGH_GAIN * 10_000.0 / 0.04) - 1.0).abs() < 1e-6);
}

/// Three rounds in which the rate grew by less than a quarter fill the pipe. Growth restarts the count.
#[test]
fn three_rounds_without_growth_end_startup() {
    let mut h = Hand::new(bbr("draft", "1000B", "10 packets"));
    for rate in [0.25, 0.5, 0.6, 0.6, 0.8, 0.9, 0.9] {
        h.round(rate, 10);
        assert_eq!(h.bbr.mode, Mode::Startup, "{rate}");
    }
    h.round(0.9, 100);
    assert_eq!(h.bbr.mode, Mode::Drain);
    assert!((h.bbr.pacing_gain() - 0.3466).abs() < 1e-4);
    // Drain ends at one product, which is 36 segments, and 3 more.
    h.ack(1.0, 0.9, 40.0, 40, |_, _| {});
    assert_eq!(h.bbr.mode, Mode::Drain);
    h.ack(1.0, 0.9, 40.0, 39, |_, _| {});
    assert!(matches!(h.bbr.mode, Mode::ProbeBw { phase, .. } if phase != DRAINING));
}

/// Samples taken while the application limits the sender neither fill the pipe nor lower the rate. A higher sample
/// counts.
#[test]
fn limited_samples_only_raise_the_rate() {
    let mut h = Hand::new(bbr("draft", "1000B", "10 packets"));
    h.settle();
    let rate = h.bbr.rate();
    for _ in 0..400 {
        h.ack(20.0, 0.1, 40.0, 1, |s, _| s.application_limited = true);
    }
    assert_eq!(h.bbr.rate(), rate);
    h.ack(1.0, 1.5, 40.0, 1, |s, _| s.application_limited = true);
    assert!((h.bbr.rate() / rate - 1.5).abs() < 1e-9);
}

/// A rate is removed after ten rounds, when newer rates enter.
#[test]
fn the_rate_is_the_greatest_of_ten_rounds() {
    let mut f = Greatest::default();
    f.enter(1, 5.0, RATE_ROUNDS);
    for round in 2..=11 {
        f.enter(round, 3.0, RATE_ROUNDS);
        assert_eq!(f.get(), 5.0);
    }
    f.enter(12, 3.0, RATE_ROUNDS);
    assert_eq!(f.get(), 3.0);
}

/// The phase 1.25 lasts until a quarter more is outstanding or something is lost. The phase 0.75 lasts until the queue
/// is empty, and at most one round trip.
#[test]
fn phases_of_the_cycle_end_as_they_should() {
    let phase = |h: &Hand| match h.bbr.mode {
        Mode::ProbeBw { phase, .. } => phase,
        other => panic!("{other:?}"),
    };
    for (in_flight, lost, ends_phase) in [(43, 0, false), (52, 0, true), (43, SEGMENT, true)] {
        let mut h = Hand::new(bbr("draft", "1000B", "10 packets"));
        h.settle();
        while phase(&h) != 0 {
            h.ack(1.0, 1.0, 40.0, 42, |_, _| {});
        }
        for n in 0..100 {
            h.ack(1.0, 1.0, 40.0, in_flight, |_, a| {
                a.lost = if n == 60 { lost } else { 0 }
            });
            if phase(&h) != 0 {
                break;
            }
        }
        assert_eq!(phase(&h) == DRAINING, ends_phase, "{in_flight}, {lost}");
        if ends_phase {
            // The target of the draining phase is 40 segments plus 3.
            h.ack(1.0, 1.0, 40.0, 43, |_, _| {});
            assert_eq!(phase(&h), DRAINING);
            h.ack(1.0, 1.0, 40.0, 42, |_, _| {});
            assert_eq!(phase(&h), 2);
        }
    }
}

/// Linux looks ahead to the next departure. The phase 1.25 therefore ends two segments (a batch) below its target of
/// 58. The phase 0.75 ends one segment above its target of 46 if one segment is delivered until then.
#[test]
fn linux_counts_what_is_there_when_the_next_segment_leaves() {
    let phase = |h: &Hand| match h.bbr.mode {
        Mode::ProbeBw { phase, .. } => phase,
        other => panic!("{other:?}"),
    };
    for (before, ends_phase) in [(55, false), (56, true)] {
        let mut h = Hand::new(bbr("linux", "1000B", "10 packets"));
        h.bbr.sending_begins(Time::ZERO, Some(Duration::from_millis(40)));
        h.settle();
        while phase(&h) != 0 {
            h.ack(1.0, 1.0, 40.0, 42, |_, _| {});
        }
        for _ in 0..100 {
            if phase(&h) == 0 {
                h.ack(1.0, 1.0, 40.0, before - 1, |_, _| {});
            }
        }
        assert_eq!(phase(&h) == DRAINING, ends_phase, "{before}");
        if ends_phase {
            h.ack(1.0, 1.0, 40.0, 46, |s, _| s.until_next = Duration::from_micros(900));
            assert_eq!(phase(&h), DRAINING);
            h.ack(1.0, 1.0, 40.0, 46, |s, _| s.until_next = Duration::from_micros(1100));
            assert_eq!(phase(&h), 2);
        }
    }
}

/// A round trip equal to the least one delays the measurement in the draft, but not in Linux.
#[test]
fn an_equal_round_trip_does_not_put_off_the_measurement_in_linux() {
    for (form, measured) in [("draft", false), ("linux", true)] {
        let mut h = Hand::new(bbr(form, "1000B", "10 packets"));
        h.bbr.sending_begins(Time::ZERO, Some(Duration::from_millis(40)));
        h.settle();
        for _ in 0..10_050 {
            h.ack(1.0, 1.0, 40.0, 50, |_, _| {});
        }
        assert_eq!(h.bbr.limits_itself(), measured, "{form}");
    }
}

/// The handshake measures the first round trip.
#[test]
fn the_first_round_trip_is_that_of_the_handshake() {
    let mut h = Hand::new(bbr("draft", "1000B", "10 packets"));
    h.bbr.sending_begins(Time::ZERO, Some(Duration::from_millis(38)));
    h.round(0.5, 10);
    assert_eq!(h.bbr.rtprop, Some(Duration::from_millis(38)));
}

/// After ten seconds without a new least round trip the window is four segments for 200 ms and a round trip. Then
/// everything is as before.
#[test]
fn the_round_trip_is_measured_anew_every_ten_seconds() {
    let mut h = Hand::new(bbr("draft", "1000B", "10 packets"));
    h.settle();
    let begin = h.now;
    while !h.bbr.limits_itself() {
        h.ack(1.0, 1.0, 41.0, 60, |_, _| {});
    }
    // The last round trip of 40 ms occurred at the beginning.
    assert!((h.now - begin - 10_001.0).abs() < 2.0, "{}", h.now - begin);
    assert_eq!(h.bbr.cwnd(), 4000.0);
    let small = h.now + 40.0;
    while h.bbr.limits_itself() {
        let flight = if h.now < small { 50 } else { 4 };
        h.ack(10.0, 0.1, 40.0, flight, |s, _| s.application_limited = true);
    }
    assert!((h.now - small - 200.0).abs() <= 50.0, "{}", h.now - small);
    assert!(h.bbr.cwnd() >= 82_000.0, "{}", h.bbr.cwnd());
    assert_eq!(h.bbr.rtprop, Some(Duration::from_millis(40)));
}

/// If a round trip is longer than 200 ms, ProbeRTT lasts for this round trip.
#[test]
fn the_measurement_lasts_a_round_trip_at_least() {
    let mut h = Hand::new(bbr("draft", "1000B", "10 packets"));
    h.settle();
    while !h.bbr.limits_itself() {
        h.ack(1.0, 1.0, 41.0, 60, |_, _| {});
    }
    h.ack(1.0, 0.1, 40.0, 4, |s, _| s.application_limited = true);
    // These ACKs are of segments sent before the window was small.
    for _ in 0..10 {
        h.ack(50.0, 0.1, 40.0, 4, |s, _| {
            (s.delivered, s.application_limited) = (s.total, true)
        });
        assert!(h.bbr.limits_itself());
    }
    h.ack(50.0, 0.1, 40.0, 4, |s, _| {
        (s.delivered, s.application_limited) = (0, true)
    });
    assert!(!h.bbr.limits_itself());
}

/// A recovery starts with the bytes in the network. For one round as much is sent as delivered. Then the window is
/// restored.
#[test]
fn recovery_conserves_packets_for_a_round_trip() {
    let mut h = Hand::new(bbr("draft", "1000B", "10 packets"));
    h.settle();
    for _ in 0..100 {
        h.ack(1.0, 1.0, 40.0, 80, |_, _| {});
    }
    assert_eq!(h.bbr.cwnd(), 83_000.0);
    h.bbr.on_congestion(&sign(Congestion::Loss, 80_000));
    let recovering = |_: &mut RateSample, a: &mut AckEvent<'_>| a.phase = Phase::Recovery;
    h.ack(1.0, 1.0, 40.0, 70, |s, a| {
        recovering(s, a);
        a.lost = 3000;
    });
    // The window is 70 minus the 3 lost segments, plus the one delivered.
    assert_eq!(h.bbr.cwnd(), 68_000.0);
    h.ack(1.0, 1.0, 40.0, 67, recovering);
    assert_eq!(h.bbr.cwnd(), 68_000.0);
    h.bbr.window_reset(Reset::RecoveryEnd { at_most: None });
    assert_eq!(h.bbr.cwnd(), 83_000.0);
    assert!(h.bbr.ssthresh().is_infinite());
}

/// If three bytes of a segment that was sent in parts arrive, and nothing is in the network, one segment may still
/// leave.
#[test]
fn a_recovery_that_starts_from_an_empty_network_lets_a_segment_leave() {
    let mut h = Hand::new(bbr("draft", "1000B", "10 packets"));
    h.settle();
    h.bbr.on_congestion(&sign(Congestion::Loss, 80_000));
    h.ack(1.0, 1.0, 40.0, 0, |s, a| {
        a.phase = Phase::Recovery;
        s.newly = 3;
    });
    assert_eq!(h.bbr.cwnd(), 1000.0);
}

#[test]
fn a_timeout_starts_with_one_segment_and_ends_with_the_window_before() {
    let mut h = Hand::new(bbr("draft", "1000B", "10 packets"));
    h.settle();
    for _ in 0..100 {
        h.ack(1.0, 1.0, 40.0, 80, |_, _| {});
    }
    h.bbr.on_congestion(&sign(Congestion::Timeout { again: false }, 80_000));
    assert_eq!((h.bbr.cwnd(), h.bbr.full_rate), (1000.0, 0.0));
    h.ack(50.0, 1.0, 40.0, 0, |_, a| a.phase = Phase::Loss);
    assert_eq!(h.bbr.cwnd(), 4000.0);
    h.ack(1.0, 1.0, 40.0, 4, |_, _| {});
    assert_eq!(h.bbr.cwnd(), 83_000.0);
}

/// Echoes and requests change nothing.
#[test]
fn signs_that_are_no_loss_change_nothing() {
    let mut h = Hand::new(bbr("draft", "1000B", "10 packets"));
    h.settle();
    let window = h.bbr.cwnd();
    h.bbr.on_congestion(&sign(Congestion::Ecn, 80_000));
    h.bbr
        .on_congestion(&sign(Congestion::Request { level: 14, keep: 0.5 }, 80_000));
    assert_eq!(h.bbr.cwnd(), window);
}
