use super::*;
use crate::aqm::race::Race;
use crate::contract::testing::{Bench, TestPacket};
use tailback_base::Duration;

fn queue(with: &[(&str, &str)]) -> PenaltyBox<TestPacket> {
    let red = [("min_threshold", "5 packets"), ("max_threshold", "15 packets")];
    let s = red
        .iter()
        .chain(with)
        .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text));
    let context = BuildContext {
        stream: Stream::new(1, "test"),
        rate: BitRate(10_000_000),
        delay: Duration::ZERO,
    };
    build(&s, context).unwrap_or_else(|e| panic!("{e}"))
}

/// Ten flows on 10 Mb/s: one sends five times its share and does not answer.
#[test]
fn a_constant_flow_at_five_times_its_share_is_boxed_within_five_epochs_and_no_other() {
    let mut race = Race::new(queue(&[]));
    race.constant(0.5);
    for _ in 0..9 {
        race.tcp(44);
    }
    let mut first_second = None;
    for second in 1..=60 {
        race.run(Time::from_seconds(f64::from(second)));
        let boxed: Vec<u64> = race.bench.queue.judge.boxed().map(|b| *b.0).collect();
        if first_second.is_none() && boxed == [0] {
            first_second = Some(second);
        }
        assert!(boxed.iter().all(|flow| *flow == 0), "second {second}: {boxed:?}");
    }
    assert!(first_second.is_some_and(|s| s <= 5), "{first_second:?}");
    assert_eq!(race.bench.probe("unresponsive", 0), 1.0);
    let sent_bytes: u64 = race.sent.iter().sum();
    let share = race.sent[0] as f64 / sent_bytes as f64;
    assert!(
        share < 0.15,
        "it had half of what it asked for before it was found: {share}"
    );
    assert!(
        sent_bytes as f64 > 0.97 * 60.0 * 2500.0,
        "and the line is busy: {sent_bytes}"
    );
}

/// Flow 0 in the box, on a line of 1 Mb/s of which the box has a twentieth.
fn boxed(with: &[(&str, &str)]) -> Bench<PenaltyBox<TestPacket>> {
    let mut q = queue(with);
    for flow in 1..10 {
        q.judge.arrived(flow, 1500, true);
    }
    (0..16).for_each(|_| q.judge.arrived(0, 1500, true));
    (0..2475).for_each(|_| q.judge.arrived(99, 1500, false));
    let mut b = Bench::new(q);
    b.pass(Duration::from_seconds(1.0));
    assert_eq!(b.probe("boxed", 0), 1.0);
    b
}

#[test]
fn the_box_has_its_share_and_what_nobody_else_wants() {
    let mut b = boxed(&[
        ("max_probability", "0"),
        ("weight", "0"),
        ("initial_average", "0 packets"),
    ]);
    for id in 0..12 {
        b.arrive(TestPacket::new(id, 0, 1500));
    }
    assert_eq!(b.log.drops(DropReason::Penalty), [10, 11]);
    for id in 20..24 {
        b.arrive(TestPacket::new(id, 1, 1500));
    }
    // Two frames of tokens, then the others; with nobody else there, the box again.
    let order: Vec<u64> = b.drain();
    assert_eq!(order, [0, 1, 20, 21, 22, 23, 2, 3, 4, 5, 6, 7, 8, 9]);
    // 50 kb/s are a frame in 240 ms.
    for id in 30..34 {
        b.arrive(TestPacket::new(id, 0, 1500));
        b.arrive(TestPacket::new(id + 10, 1, 1500));
    }
    let mut order = vec![];
    for _ in 0..4 {
        b.pass(Duration::from_millis(240));
        order.extend(b.serve());
    }
    assert_eq!(order, [30, 31, 32, 33]);
}

#[test]
fn packets_of_a_flow_stay_in_order_when_it_is_boxed_and_when_it_is_let_go() {
    let mut q = queue(&[("weight", "0"), ("release", "1")]);
    for flow in 1..10 {
        q.judge.arrived(flow, 1500, true);
    }
    (0..16).for_each(|_| q.judge.arrived(0, 1500, true));
    (0..2475).for_each(|_| q.judge.arrived(99, 1500, false));
    let mut b = Bench::new(q);
    for (id, flow) in [(0, 0), (1, 1), (2, 0), (3, 2)] {
        b.arrive(TestPacket::new(id, flow, 500));
    }
    b.pass(Duration::from_seconds(1.0));
    b.arrive(TestPacket::new(4, 0, 500));
    // The box has tokens, but packets 0 and 2 were before.
    assert_eq!([b.serve(), b.serve(), b.serve(), b.serve()], [0, 1, 2, 4].map(Some));
    assert_eq!(b.serve(), Some(3));
    for (id, flow) in [(5, 0), (6, 1), (7, 0)] {
        b.arrive(TestPacket::new(id, flow, 500));
    }
    b.pass(Duration::from_seconds(1.0));
    assert_eq!((b.probe("boxed", 0), b.probe("box_packets", 0)), (0.0, 0.0));
    b.arrive(TestPacket::new(8, 0, 500));
    assert_eq!(b.drain(), [6, 5, 7, 8]);
}

#[test]
fn the_box_counts_in_the_buffer() {
    let mut b = boxed(&[("buffer", "6 packets"), ("weight", "0")]);
    for id in 0..4 {
        b.arrive(TestPacket::new(id, 0, 1500));
        b.arrive(TestPacket::new(id + 10, 1, 1500));
    }
    assert_eq!(b.log.drops(DropReason::Overflow), [3, 13]);
    assert_eq!(b.backlog().packets, 6);
}
