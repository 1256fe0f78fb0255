use super::*;
use crate::contract::discipline::MarkReason;
use crate::contract::testing::{Bench, TestPacket};
use crate::fifo::Fifo;
use tailback_base::{BitRate, Duration};

const COLOURED: [u8; 3] = [10, 12, 14];

fn context() -> BuildContext {
    BuildContext {
        stream: Stream::new(1, "test"),
        rate: BitRate(8_000_000),
        delay: Duration::ZERO,
    }
}

fn bench(with: &[(&str, &str)]) -> Bench<Fifo<TestPacket, Mred>> {
    let s = with
        .iter()
        .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text));
    let mred = Mred::configured(&s, context()).unwrap_or_else(|e| panic!("{e}"));
    let mut b = Bench::new(Fifo::from_settings(&s, mred));
    b.rate = BitRate(8_000_000);
    b
}

fn packet(id: u64, colour: usize) -> TestPacket {
    TestPacket {
        dscp: COLOURED[colour],
        ..TestPacket::new(id, colour as u32, 1000)
    }
}

/// Held averages, one for each accounting: who goes by what.
#[test]
fn each_precedence_goes_by_its_own_average_or_by_the_one_of_all() {
    let held_averages = "[12 packets, 30 packets, 60 packets]";
    // Shares with independent signals; a forced drop counts as 1.
    for (accounting, expected) in [
        ("rio-c", [0.0, 0.05 / 3.0, 1.0]),
        ("rio-d", [0.0, 0.05 / 3.0, 1.0]),
        ("wred", [1.0, 1.0, 1.0]),
    ] {
        let mut b = bench(&[
            ("accounting", accounting),
            ("weight", "0"),
            ("initial_average", held_averages),
            ("spacing", "geometric"),
        ]);
        for id in 0..300_000 {
            b.arrive(packet(id, id as usize % 3));
            b.serve();
        }
        for (c, expected) in expected.iter().enumerate() {
            let dropped = b.log.dropped.iter().filter(|d| d.0.flow == c as u32).count();
            let share = dropped as f64 / 100_000.0;
            assert!((share - expected).abs() < 0.002, "{accounting} {c}: {share}");
        }
    }
}

#[test]
fn which_averages_an_arrival_moves() {
    for (accounting, expected) in [
        ("rio-c", [0.0, 0.5, 1.25]),
        ("rio-d", [0.0, 0.0, 0.0]),
        ("wred", [1.25, 1.25, 1.25]),
    ] {
        let mut b = bench(&[("accounting", accounting), ("weight", "0.5")]);
        for (id, colour) in [(0, 0), (1, 2), (2, 1)] {
            b.arrive(packet(id, colour));
        }
        assert_eq!([0, 1, 2].map(|k| b.probe("average", k)), expected, "{accounting}");
    }
}

#[test]
fn tail_drop_counts_what_waits_of_the_precedence() {
    let mut b = bench(&[("accounting", "tail-drop"), ("buffer", "70 packets")]);
    for id in 0..300 {
        b.arrive(packet(id, id as usize % 3));
    }
    // Red is full at 10, yellow at 25, green at 35 by the buffer.
    assert_eq!([0, 1, 2].map(|c| b.probe("backlog", c)), [35.0, 25.0, 10.0]);
    assert_eq!(b.log.drops(DropReason::Percap)[0], 32);
    assert_eq!(b.log.drops(DropReason::Overflow).first(), Some(&103));
    assert!(b.probe("average", 0).is_nan() && b.probe("probability", 0).is_nan());
}

#[test]
fn an_overflow_leaves_the_averages() {
    let mut b = bench(&[("buffer", "3 packets"), ("weight", "0.5")]);
    for id in 0..3 {
        b.arrive(packet(id, 0));
    }
    let before = b.probe("average", 0);
    for id in 3..9 {
        b.arrive(packet(id, 0));
    }
    assert_eq!(b.probe("average", 0), before);
    assert_eq!(b.log.drops(DropReason::Overflow).len(), 6);
}

#[test]
fn with_ecn_a_capable_packet_is_marked_also_above_the_upper_threshold() {
    for (ecn, above, marked, dropped) in [
        ("true", "true", 100, 0),
        ("true", "false", 0, 100),
        ("false", "true", 0, 100),
    ] {
        let mut b = bench(&[
            ("weight", "0"),
            ("initial_average", "60 packets"),
            ("ecn", ecn),
            ("mark_above_max", above),
        ]);
        for id in 0..100 {
            b.arrive(packet(id, 0).capable());
            b.serve();
        }
        assert_eq!(b.log.marks(MarkReason::Forced).len(), marked);
        assert_eq!(b.log.drops(DropReason::Forced).len(), dropped);
    }
}

/// Mean gaps at probability 0.05: spread over 1 to 20, or independent.
#[test]
fn spacing() {
    for (spacing, gap) in [("uniform", 10.5), ("geometric", 20.0)] {
        let mut b = bench(&[
            ("weight", "0"),
            ("initial_average", "17.5 packets"),
            ("spacing", spacing),
        ]);
        for id in 0..400_000 {
            b.arrive(packet(id, 2));
            b.serve();
        }
        let mean = 400_000.0 / b.log.drops(DropReason::Early).len() as f64;
        assert!((mean / gap - 1.0).abs() < 0.01, "{spacing}: {mean}");
    }
}

/// Yellow is served and gone, red waits: only ns-2's shared average counts the time.
#[test]
fn the_idle_time_of_ns2() {
    for (ns2, steps) in [("false", 1), ("true", 11)] {
        let settings = [
            ("accounting", "wred"),
            ("weight", "0.1"),
            ("initial_average", "5 packets"),
            ("ns2_idle", ns2),
        ];
        let mut b = bench(&settings);
        b.arrive(packet(0, 1));
        b.arrive(packet(1, 2));
        let before = b.probe("average", 0);
        assert_eq!(b.serve(), Some(0));
        b.pass(Duration::from_millis(10));
        b.arrive(packet(2, 0));
        let expected = before * 0.9_f64.powi(steps) + 0.1;
        assert!((b.probe("average", 0) - expected).abs() < 1e-12, "{ns2}");
    }
}

#[test]
fn thresholds_the_wrong_way_round_are_refused() {
    let s = Settings::defaults(&MODEL).with("min_threshold", "[40 packets, 41 packets, 10 packets]");
    let e = Mred::configured(&s, context()).unwrap_err();
    assert!(
        e.problem.contains("min_threshold (41) is above max_threshold (40)"),
        "{e}"
    );
}
