use super::*;
use crate::contract::testing::{Bench, TestPacket};
use crate::fifo::Fifo;
use tailback_base::Ecn;

type CobaltBench = Bench<Fifo<TestPacket, Cobalt>>;

fn context() -> BuildContext {
    BuildContext {
        stream: Stream::new(1, "cobalt"),
        rate: BitRate(100_000_000),
        delay: Duration::ZERO,
    }
}

/// Over a line on which four packets take less than the target.
fn bench(with: &[(&str, &str)]) -> CobaltBench {
    let settings = with
        .iter()
        .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text));
    let mut b = Bench::new(Fifo::from_settings(
        &settings,
        Cobalt::configured(&settings, context()).unwrap(),
    ));
    b.rate = BitRate(100_000_000);
    b
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn fill(b: &mut CobaltBench, n: u64, capable: bool) {
    for id in 0..n {
        let p = TestPacket::new(id, 0, 1000);
        b.arrive(if capable { p.capable() } else { p });
    }
}

fn actions(b: &CobaltBench) -> usize {
    b.log.dropped.len() + b.log.marked.len()
}

/// Milliseconds from now at which actions of the control law come, one dequeue a step.
fn offsets(b: &mut CobaltBench, step: Duration, want: usize) -> Vec<f64> {
    let (start, mut times_ms) = (b.now, vec![]);
    while times_ms.len() < want {
        let before = actions(b);
        assert!(b.serve().is_some(), "the backlog was not ample");
        let more = actions(b) - before;
        times_ms.extend(std::iter::repeat_n((b.now - start).seconds() * 1e3, more));
        b.pass(step);
    }
    times_ms
}

/// CoDel repeats its first step; COBALT, whose count is at 1 already, does not.
#[test]
fn actions_follow_the_control_law_from_a_fresh_state() {
    for (ecn, step) in [("false", ms(1)), ("true", Duration::from_micros(250))] {
        let mut b = bench(&[("buffer", "unlimited"), ("ecn", ecn)]);
        fill(&mut b, 5000, true);
        b.pass(ms(5) + Duration(1)); // the first packet above target is taken here
        let times_ms = offsets(&mut b, step, 6);
        assert!(
            (times_ms[0] - 100.0).abs() < 1e-6,
            "an interval after the first: {times_ms:?}"
        );
        for (time_ms, law) in times_ms.iter().zip([0.0, 70.71, 128.45, 178.45, 223.17, 263.99]) {
            let deviation_ms = time_ms - times_ms[0] - law;
            assert!(
                (-0.01..=step.seconds() * 1e3 + 0.01).contains(&deviation_ms),
                "{time_ms} for {law}"
            );
        }
        assert_eq!(b.log.dropped.is_empty(), ecn == "true");
        assert_eq!(b.log.marked.is_empty(), ecn == "false");
        assert_eq!(b.probe("count", 0), 7.0);
    }
}

/// After the load the count falls by one a control step: 1 / sqrt(count) of an interval after the one before.
#[test]
fn the_count_falls_by_one_a_control_step() {
    let mut b = bench(&[("buffer", "unlimited"), ("ecn", "true")]);
    fill(&mut b, 2000, true);
    b.pass(ms(6));
    offsets(&mut b, ms(1), 6);
    b.drain();
    let (mut count, mut due) = (b.probe("count", 0), b.queue.admission.control.drop_next);
    assert!(count >= 7.0);
    // A packet that has waited nothing, a millisecond.
    while count > 0.0 {
        b.pass(ms(1));
        b.arrive(TestPacket::new(9999, 0, 1000));
        b.serve();
        let fallen = b.now >= due;
        assert_eq!(
            count - b.probe("count", 0),
            f64::from(u8::from(fallen)),
            "at {:?}",
            b.now
        );
        if fallen {
            count -= 1.0;
            // A step is due from when it was taken, at the latest now.
            due = b.queue.admission.control.drop_next;
            let step = 100.0 / libm::sqrt(count.max(1.0));
            let to_come = (due - b.now).seconds() * 1e3;
            let expected = if count == 0.0 { 100.0 } else { step };
            assert!(
                (expected - 1.0..=expected + 0.01).contains(&to_come),
                "{to_come} for {expected}"
            );
        }
    }
}

/// While nothing arrives the count stands; each time the queue is found empty one step that is due is taken.
#[test]
fn the_state_outlives_an_idle_time() {
    let mut b = bench(&[("buffer", "unlimited"), ("ecn", "true")]);
    fill(&mut b, 2000, true);
    b.pass(ms(6));
    offsets(&mut b, ms(1), 6);
    b.drain();
    let count = b.probe("count", 0);
    b.pass(ms(60_000));
    assert_eq!(b.probe("count", 0), count);
    b.serve();
    assert_eq!(b.probe("count", 0), count - 1.0);
    assert!(!b.queue.admission.control.is_at_rest(b.now));
}

/// An overflow counts when more than a target has passed since the last that counted.
#[test]
fn overflows_teach_blue() {
    for (gap, counted) in [(5_000_001, 10.0), (5_000_000, 5.0), (2_000_000, 4.0)] {
        let mut b = bench(&[("buffer", "1 packets")]);
        b.arrive(TestPacket::new(0, 0, 1000));
        for id in 1..=10 {
            b.pass(Duration(gap));
            b.arrive(TestPacket::new(id, 0, 1000));
        }
        assert_eq!(b.log.drops(DropReason::Overflow).len(), 10);
        assert_eq!(b.probe("probability", 0), counted / 256.0, "gap {gap} ns");
        assert_eq!(b.probe("dropping", 0), 1.0);
    }
}

#[test]
fn an_empty_queue_takes_it_back_more_slowly() {
    let mut b = bench(&[("buffer", "1 packets")]);
    fill(&mut b, 2, false);
    assert_eq!(b.probe("probability", 0), 1.0 / 256.0);
    b.drain();
    // Found empty at once: the last move is no target ago.
    assert_eq!(b.probe("probability", 0), 1.0 / 256.0);
    for n in 1..=16 {
        b.pass(ms(5) + Duration(1));
        assert_eq!(b.serve(), None);
        assert_eq!(b.probe("probability", 0), (16 - n) as f64 / 4096.0);
    }
    b.pass(ms(200));
    b.serve();
    assert!(b.queue.admission.control.is_at_rest(b.now));
}

/// BLUE drops what could be marked, with its probability.
#[test]
fn blue_drops_capable_packets_too() {
    let mut b = bench(&[("ecn", "true"), ("p_up", "0.25"), ("buffer", "200000 packets")]);
    b.queue.admission.control.raise(Time::ZERO);
    let n = 100_000;
    for id in 0..n {
        b.arrive(TestPacket::new(id, 0, 1000).capable());
        b.serve();
    }
    let dropped = b.log.drops(DropReason::Overload).len();
    // Some of what is taken is dropped, and another taken: a quarter of all.
    assert!((dropped as f64 / n as f64 - 0.25).abs() < 0.01, "{dropped}");
    assert_eq!(b.log.dropped.len(), dropped);
    assert!(b.log.marked.is_empty());
}

/// ns-3's second way to learn: 500 ms held for 600 dequeues, one a millisecond, are 100 rises; 400 ms are none.
#[test]
fn a_long_sojourn_teaches_blue_where_asked() {
    for (held_ms, rises) in [(500, 100.0), (400, 0.0)] {
        // Marks, so that of each millisecond's packets one is taken.
        let settings = [
            ("blue_threshold", "400ms"),
            ("mtu", "0B"),
            ("ecn", "true"),
            ("buffer", "unlimited"),
        ];
        let mut b = bench(&settings);
        let mut sent_packets = 0;
        for _ in 0..held_ms + 600 {
            // A thousand a millisecond, since BLUE drops some of them.
            for _ in 0..20 {
                b.arrive(TestPacket::new(0, 0, 1000).capable());
            }
            if b.now >= Time(held_ms * 1_000_000) {
                b.serve();
                sent_packets += 1;
                // The rest of those that came together goes, so that the next has waited as long.
                while b.queue.ring.get(0).is_some_and(|p| b.now.since(p.stamp) >= ms(held_ms)) {
                    b.queue.ring.remove(0);
                }
            }
            b.pass(ms(1));
        }
        assert_eq!(sent_packets, 600);
        assert_eq!(b.probe("probability", 0), rises / 256.0, "held at {held_ms} ms");
    }
}

/// On a slow line four packets may wait; the target alone counts with mtu = 0B.
#[test]
fn a_slow_line_has_a_longer_target() {
    for (mtu, quiet) in [("1514B", true), ("0B", false)] {
        let mut b = bench(&[("mtu", mtu), ("buffer", "unlimited")]);
        b.rate = BitRate(1_000_000); // four packets take 48 ms
        for id in 0..200 {
            b.arrive(TestPacket::new(id, 0, 1000));
            b.pass(ms(40));
            b.serve();
        }
        assert_eq!(b.log.dropped.is_empty(), quiet, "{mtu}");
    }
}

#[test]
fn one_packet_is_marked_once() {
    let with = [("ce_threshold", "1ms"), ("ecn", "true"), ("buffer", "unlimited")];
    let mut b = bench(&with);
    fill(&mut b, 1000, true);
    b.pass(ms(6));
    offsets(&mut b, ms(1), 300);
    assert!(!b.log.marks(MarkReason::Sojourn).is_empty() && !b.log.marks(MarkReason::Step).is_empty());
    let mut ids: Vec<u64> = b.log.marked.iter().map(|m| m.0.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), b.log.marked.len());
    assert!(b.log.marked.iter().all(|m| m.0.ecn == Ecn::Ce));
}

#[test]
fn a_target_above_the_interval_is_refused() {
    let s = Settings::defaults(&MODEL).with("target", "200ms");
    assert!(
        Cobalt::configured(&s, context())
            .unwrap_err()
            .remedy
            .contains("interval")
    );
}
