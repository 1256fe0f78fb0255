mod linux;

use super::*;
use crate::contract::testing::{Bench, TestPacket};
use tailback_base::{BitRate, Duration};

type Dual = Bench<DualPi2<TestPacket>>;

fn settings(with: &[(&str, &str)]) -> Settings {
    with.iter()
        .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text))
}

fn bench(with: &[(&str, &str)]) -> Dual {
    let s = settings(with).with_profile(&[]).unwrap();
    let config = Config::from_settings(&s).unwrap();
    Bench::new(DualPi2::new(s.get(&BUFFER), config, Stream::new(1, "dualpi2")))
}

fn packet(id: u64, ecn: Ecn) -> TestPacket {
    TestPacket {
        ecn,
        ..TestPacket::new(id, ecn as u32, 1000)
    }
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Serve `n` packets of this kind at a held base probability, one at a time; what was marked and dropped of them.
fn signals(with: &[(&str, &str)], base: f64, ecn: Ecn, n: u64) -> (Vec<MarkReason>, Vec<DropReason>) {
    let mut b = bench(with);
    b.queue.base = base;
    for id in 0..n {
        b.arrive(packet(id, ecn));
        b.serve();
    }
    let marks = b.log.marked.iter().map(|m| m.1).collect();
    (marks, b.log.dropped.iter().map(|d| d.2).collect())
}

/// RFC 9332 section 2.4: p_L = k sqrt(p_C).
#[test]
fn the_l_queue_is_signalled_with_k_times_the_root() {
    for how in ["even", "random"] {
        let n = if how == "even" { 10_000 } else { 1_000_000 };
        let close = |count: usize, share: f64| {
            let within = if how == "even" {
                1.0
            } else {
                5.0 * (share * n as f64).sqrt()
            };
            assert!(
                (count as f64 - share * n as f64).abs() <= within,
                "{how}: {count} for {share}"
            );
        };
        let (marks, drops) = signals(&[("signals", how)], 0.1, Ecn::Ect1, n);
        close(marks.len(), 0.2);
        assert!(drops.is_empty() && marks.iter().all(|m| *m == MarkReason::Coupled));
        let (marks, drops) = signals(&[("signals", how)], 0.1, Ecn::Ect0, n);
        close(marks.len(), 0.01);
        assert!(drops.is_empty() && marks.iter().all(|m| *m == MarkReason::Early));
        let (marks, drops) = signals(&[("signals", how)], 0.1, Ecn::NotEct, n);
        close(drops.len(), 0.01);
        assert!(marks.is_empty() && drops.iter().all(|d| *d == DropReason::Early));
    }
}

/// Even signals are spaced evenly.
#[test]
fn sums_space_the_signals() {
    let mut b = bench(&[]);
    b.queue.base = 0.1;
    for id in 0..1000 {
        b.arrive(packet(id, Ecn::Ect1));
        b.serve();
    }
    let at: Vec<u64> = b.log.marked.iter().map(|m| m.0.id).collect();
    assert!(at.windows(2).all(|w| (4..=6).contains(&(w[1] - w[0]))), "{at:?}");
}

/// From k p' = 1 on marks have come to their end: both queues drop with p'^2, capable or not, and L marks the rest.
#[test]
fn an_overload_drops_from_both() {
    let n = 10_000;
    for (base, overload) in [(0.49, false), (0.6, true)] {
        let share = base * base * n as f64;
        let (marks, drops) = signals(&[], base, Ecn::Ect0, n);
        let dropped = drops.iter().filter(|d| **d == DropReason::Overload).count() as f64;
        let expected = if overload { (0.0, share) } else { (share, 0.0) };
        assert!((marks.len() as f64 - expected.0).abs() <= 1.0 && (dropped - expected.1).abs() <= 1.0);
        let (marks, drops) = signals(&[], base, Ecn::Ect1, n);
        let dropped = if overload { share } else { 0.0 };
        assert!((drops.len() as f64 - dropped).abs() <= 1.0, "{} drops", drops.len());
        let marked = if overload { n as f64 - dropped } else { 0.98 * n as f64 };
        assert!((marks.len() as f64 - marked).abs() <= 2.0, "{} marks", marks.len());
        // What is not capable is dropped early in either case.
        let (_, drops) = signals(&[], base, Ecn::NotEct, n);
        assert!((drops.len() as f64 - share).abs() <= 1.0 && drops.iter().all(|d| *d == DropReason::Early));
    }
}

/// With a coupling below one marks are left to L when p' has come to its end: the classic queue loses all, L nothing.
#[test]
fn a_weak_coupling_does_not_overload_the_l_queue() {
    let weak = [("coupling", "0.5")];
    let (marks, drops) = signals(&weak, 1.0, Ecn::Ect1, 1000);
    assert!(
        drops.is_empty() && (499..=501).contains(&marks.len()),
        "{}",
        marks.len()
    );
    let (marks, drops) = signals(&weak, 1.0, Ecn::Ect0, 1000);
    // A sum of ones is above one from the second packet on.
    assert!(marks.is_empty() && drops.len() >= 998, "{}", drops.len());
}

/// The L queue's own marks: none up to 0.8 ms, all from 1.2 ms on, half at 1 ms; not for a packet that is alone.
#[test]
fn the_ramp_marks_what_has_waited_a_millisecond() {
    let share = |overrides: &[(&str, &str)], sojourn: u64, is_alone: bool| {
        let mut b = bench(overrides);
        let n = 1000;
        for id in 0..n {
            b.arrive(packet(id, Ecn::Ect1));
            if !is_alone {
                b.arrive(packet(id, Ecn::Ect1));
            }
            b.pass(Duration::from_micros(sojourn));
            b.serve();
            while b.queue.rings[0].pop().is_some() {}
            b.queue.base = 0.0;
        }
        assert!(b.log.marked.iter().all(|m| m.1 == MarkReason::Step));
        b.log.marked.len() as f64 / n as f64
    };
    for (sojourn, expected) in [(800, 0.0), (900, 0.25), (1000, 0.5), (1200, 1.0), (3000, 1.0)] {
        let seen = share(&[], sojourn, false);
        assert!((seen - expected).abs() <= 2e-3, "{sojourn} us: {seen}");
        assert_eq!(share(&[], sojourn, true), 0.0, "alone");
    }
    let linux: &[(&str, &str)] = &[("profile", "linux"), ("min_backlog", "0B")];
    assert_eq!(share(linux, 1000, true), 0.0);
    assert_eq!(share(linux, 1001, true), 1.0);
    let linux: &[(&str, &str)] = &[("profile", "linux")];
    assert_eq!(
        share(linux, 3000, true),
        1.0,
        "a short queue does not spare from the step"
    );
}

/// A step of the controller by hand.
#[test]
fn the_base_probability_is_pi_of_the_longer_wait() {
    let mut b = bench(&[]);
    b.arrive(packet(0, Ecn::NotEct));
    b.pass(ms(6));
    b.arrive(packet(1, Ecn::Ect1));
    b.pass(ms(26));
    // Updates at 16 and 32 ms: heads have waited 16 and 10 ms, then 32 and 26.
    let first_step = 0.16 * (0.016 - 0.015) + 3.2 * 0.016;
    let second = 0.16 * (0.032 - 0.015) + 3.2 * 0.016;
    assert!((b.probe("probability", 0) - first_step - second).abs() < 1e-12);
    let square = (first_step + second) * (first_step + second);
    assert!((b.probe("classic_probability", 0) - square).abs() < 1e-12);
    assert!((b.probe("coupled_probability", 0) - 2.0 * (first_step + second)).abs() < 1e-12);
    b.drain();
    b.pass(ms(5000));
    assert_eq!(b.probe("probability", 0), 0.0);
    assert_eq!(b.queue.next_timer(), None, "nothing is left to update");
}

/// L first, and a tenth of the bytes for the classic queue while both are backlogged.
#[test]
fn the_classic_queue_has_its_share() {
    for (weight, share) in [("0.1", 0.1), ("0.0625", 0.0625), ("0", 0.0)] {
        let mut b = bench(&[("classic_weight", weight), ("buffer", "unlimited")]);
        for id in 0..5000 {
            let ecn = if id % 2 == 0 { Ecn::NotEct } else { Ecn::Ect1 };
            let bytes = if id % 2 == 0 { 1500 } else { 300 };
            b.arrive(TestPacket {
                bytes,
                ..packet(id, ecn)
            });
        }
        let mut sent_bytes = [0.0, 0.0];
        for i in 0..1000 {
            let p = b.take().unwrap();
            assert!(i > 0 || p.ecn == Ecn::Ect1, "L is first");
            sent_bytes[usize::from(p.ecn == Ecn::NotEct)] += f64::from(p.bytes);
        }
        let seen = sent_bytes[1] / (sent_bytes[0] + sent_bytes[1]);
        assert!((seen - share).abs() < 0.006, "{seen} for {weight}");
        // Nobody saves up while the other is away.
        b.drain();
        for id in 0..50 {
            b.arrive(packet(id, Ecn::NotEct));
        }
        for _ in 0..40 {
            b.serve();
        }
        b.arrive(packet(99, Ecn::Ect1));
        assert_eq!(b.serve(), Some(99));
    }
}

/// The time-shifted FIFO: an L packet overtakes classic ones that came up to the shift before it.
#[test]
fn time_shifted_service_overtakes_by_the_shift() {
    let mut b = bench(&[("time_shift", "30ms")]);
    b.arrive(packet(0, Ecn::NotEct));
    b.pass(ms(10));
    b.arrive(packet(1, Ecn::NotEct));
    b.pass(ms(25));
    b.arrive(packet(2, Ecn::Ect1));
    b.arrive(packet(3, Ecn::Ect1));
    // Waits of 35 and 25 ms against 30.
    assert_eq!(b.drain(), [0, 2, 3, 1]);
}

#[test]
fn ce_goes_with_the_scalable() {
    let mut b = bench(&[]);
    for (id, ecn) in [(0, Ecn::NotEct), (1, Ecn::Ect0), (2, Ecn::Ce), (3, Ecn::Ect1)] {
        b.arrive(packet(id, ecn));
    }
    assert_eq!((b.probe("l_packets", 0), b.probe("classic_packets", 0)), (2.0, 2.0));
    // The classic queue, which is behind after one packet of L, pays for its own with nine of L.
    assert_eq!(b.drain(), [2, 0, 3, 1]);
}

#[test]
fn one_buffer_for_both() {
    let mut b = bench(&[("buffer", "3 packets")]);
    for (id, ecn) in [
        (0, Ecn::NotEct),
        (1, Ecn::Ect1),
        (2, Ecn::Ect1),
        (3, Ecn::Ect1),
        (4, Ecn::NotEct),
    ] {
        b.arrive(packet(id, ecn));
    }
    assert_eq!(b.log.drops(DropReason::Overflow), [3, 4]);
    // 250 ms at 1 Mb/s are 31 packets of 1000 B.
    let mut b = bench(&[("profile", "rfc")]);
    b.rate = BitRate(1_000_000);
    for id in 0..40 {
        b.arrive(packet(id, Ecn::NotEct));
    }
    assert_eq!(b.backlog().packets, 31);
}

#[test]
fn an_admission_before_it_sees_both_queues() {
    let mut b = bench(&[]);
    b.arrive(packet(0, Ecn::NotEct));
    b.pass(ms(1));
    b.arrive(packet(1, Ecn::Ect1));
    b.arrive(packet(2, Ecn::Ect1));
    let line = b.line();
    let q = &mut b.queue;
    let ids: Vec<u64> = (0..3).map(|i| QueueView::get(q, Handle(i)).unwrap().id).collect();
    assert_eq!(ids, [1, 2, 0]);
    let oldest = QueueView::oldest(q).unwrap();
    assert_eq!(
        QueueView::remove(q, oldest, DropReason::Overflow, &line).map(|p| p.id),
        Some(0)
    );
    let oldest = QueueView::oldest(q).unwrap();
    assert_eq!(
        QueueView::remove(q, oldest, DropReason::Overflow, &line).map(|p| p.id),
        Some(1)
    );
    let mut draws = Stream::new(1, "draw");
    let drawn = QueueView::draw(q, &mut draws).unwrap();
    assert_eq!(QueueView::get(q, drawn).map(|p| p.id), Some(2));
}

#[test]
fn what_contradicts_itself_is_refused() {
    for (overrides, says) in [
        (&[("l_min", "2ms")][..], "l_min"),
        (&[("time_shift", "30ms"), ("classic_weight", "0.2")], "time_shift"),
    ] {
        let e = Config::from_settings(&settings(overrides)).unwrap_err();
        assert!(e.problem.contains(says), "{e}");
    }
}
