use super::*;
use crate::contract::discipline::Place;
use crate::contract::testing::{Bench, TestPacket};
use crate::fifo::Fifo;
use tailback_base::Ecn;

fn bench(with: &[(&str, &str)]) -> Bench<Fifo<TestPacket, Codel>> {
    let settings = with
        .iter()
        .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text));
    Bench::new(Fifo::from_settings(
        &settings,
        Codel::new(Config::from_settings(&settings).unwrap()),
    ))
}

/// Store `n` packets now, identities from `first`.
fn fill(b: &mut Bench<Fifo<TestPacket, Codel>>, first: u64, n: u64, capable: bool) {
    for id in first..first + n {
        let p = TestPacket::new(id, 0, 1000);
        b.arrive(if capable { p.capable() } else { p });
    }
}

/// Dequeue once a step; the offsets (ms, from the start) at which actions happened, until there are `want`.
fn actions(b: &mut Bench<Fifo<TestPacket, Codel>>, step: Duration, want: usize) -> Vec<f64> {
    let start = b.now;
    let mut times_ms = vec![];
    while times_ms.len() < want {
        let before = b.log.dropped.len() + b.log.marked.len();
        assert!(b.serve().is_some(), "the backlog was not ample");
        for _ in before..b.log.dropped.len() + b.log.marked.len() {
            times_ms.push((b.now - start).seconds() * 1e3);
        }
        b.pass(step);
    }
    times_ms
}

#[test]
fn actions_follow_the_control_law() {
    let offsets = [
        0.0, 100.0, 170.71, 228.45, 278.45, 323.17, 363.99, 401.79, 437.14, 470.48,
    ];
    for (ecn, step) in [
        ("false", Duration::from_millis(1)),
        ("true", Duration::from_micros(250)),
    ] {
        let mut b = bench(&[("buffer", "10000 packets"), ("ecn", ecn)]);
        fill(&mut b, 0, 5000, true);
        b.pass(Duration::from_millis(5)); // the first packet above target is served here
        let times_ms = actions(&mut b, step, offsets.len());
        assert!(
            (times_ms[0] - 100.0).abs() < 1e-6,
            "the first exactly one interval after: {}",
            times_ms[0]
        );
        for (time_ms, expected) in times_ms.iter().zip(offsets) {
            let deviation_ms = time_ms - times_ms[0] - expected;
            assert!(
                (-0.01..=step.seconds() * 1e3 + 0.01).contains(&deviation_ms),
                "{time_ms} for {expected}"
            );
        }
        assert_eq!(b.log.marked.is_empty(), ecn == "false");
        assert_eq!(b.log.dropped.is_empty(), ecn == "true");
        assert_eq!(b.probe("dropping", 0), 1.0);
        assert_eq!(b.probe("count", 0), 10.0);
    }
}

#[test]
fn a_single_packet_below_target_starts_the_interval_anew() {
    let mut b = bench(&[]);
    fill(&mut b, 0, 90, false);
    b.pass(Duration::from_millis(20));
    for _ in 0..90 {
        b.serve(); // above target for 90 ms
        b.pass(Duration::from_millis(1));
    }
    fill(&mut b, 100, 300, false);
    assert_eq!(b.serve(), Some(100)); // has waited nothing
    b.pass(Duration::from_millis(5));
    let at = actions(&mut b, Duration::from_millis(1), 1);
    assert!((at[0] - 100.0).abs() < 1e-6, "{}", at[0]);
    assert!(
        b.log
            .dropped
            .iter()
            .all(|d| d.1 == Place::Dequeued && d.2 == DropReason::Sojourn)
    );
}

#[test]
fn one_mtu_in_the_queue_is_no_standing_queue() {
    let mut b = bench(&[]);
    fill(&mut b, 0, 2, false);
    for _ in 0..50 {
        b.pass(Duration::from_millis(100));
        assert!(b.serve().is_some());
        fill(&mut b, 9, 1, false); // one packet of 1000 B stays behind
    }
    assert!(b.log.dropped.is_empty());
}

#[test]
fn an_empty_queue_leaves_the_dropping_state() {
    let mut b = bench(&[]);
    fill(&mut b, 0, 300, false);
    b.pass(Duration::from_millis(5));
    actions(&mut b, Duration::from_millis(1), 1);
    assert_eq!(b.probe("dropping", 0), 1.0);
    b.drain();
    assert_eq!(b.probe("dropping", 0), 0.0);
}

#[test]
fn a_soon_return_resumes_near_the_old_rate_and_a_late_one_does_not() {
    for (away, count) in [(200, 9.0), (2_000, 1.0)] {
        let mut b = bench(&[("buffer", "10000 packets")]);
        fill(&mut b, 0, 2000, false);
        b.pass(Duration::from_millis(5));
        actions(&mut b, Duration::from_millis(1), 10); // count 10, entered with 1
        b.drain();
        b.pass(Duration::from_millis(away));
        fill(&mut b, 0, 2000, false);
        b.pass(Duration::from_millis(5));
        let dropped = b.log.dropped.len();
        while b.log.dropped.len() == dropped {
            b.serve();
            b.pass(Duration::from_millis(1));
        }
        // Within 16 intervals: 10 - 1 actions gained. (The drain itself may have added some.)
        let seen = b.probe("count", 0);
        assert!(
            if count > 1.0 { seen >= count } else { seen == 1.0 },
            "away {away}: {seen}"
        );
    }
}

#[test]
fn only_a_full_buffer_drops_at_the_tail() {
    let mut b = bench(&[("buffer", "3 packets"), ("ecn", "true")]);
    fill(&mut b, 0, 5, true);
    assert_eq!(b.log.drops(DropReason::Overflow), [3, 4]);
    assert_eq!(b.drain(), [0, 1, 2]);
}

#[test]
fn the_ce_threshold_marks_every_capable_packet_that_waited_longer() {
    let mut b = bench(&[("ce_threshold", "1ms")]);
    fill(&mut b, 0, 2, true);
    fill(&mut b, 2, 1, false);
    b.pass(Duration::from_millis(1));
    assert_eq!(
        b.take().map(|p| p.ecn),
        Some(Ecn::Ect0),
        "not longer than the threshold"
    );
    b.pass(Duration::from_micros(1));
    assert_eq!(b.drain(), [1, 2]);
    assert_eq!(b.log.marks(MarkReason::Step), [1]);
    assert!(b.log.dropped.is_empty());
}

#[test]
fn a_target_above_the_interval_is_refused() {
    let settings = Settings::defaults(&MODEL).with("target", "200ms");
    assert!(
        Config::from_settings(&settings)
            .unwrap_err()
            .remedy
            .contains("interval")
    );
}
