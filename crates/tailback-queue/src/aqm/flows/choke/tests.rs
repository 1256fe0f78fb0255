use super::*;
use crate::contract::discipline::{MarkReason, Place};
use crate::contract::testing::{Bench, Queue, TestPacket};
use crate::fifo::Fifo;
use tailback_base::{BitRate, Duration, Stream};

type Chokes = Bench<Fifo<TestPacket, Choke>>;

fn settings(with: &[(&str, &str)]) -> Settings {
    let base = Settings::defaults(&MODEL)
        .with("min_threshold", "20 packets")
        .with("max_threshold", "80 packets")
        .with("weight", "0");
    with.iter().fold(base, |s, (name, text)| s.with(name, text))
}

fn context() -> BuildContext {
    BuildContext {
        stream: Stream::new(1, "test"),
        rate: BitRate(1_000_000),
        delay: Duration::ZERO,
    }
}

fn bench(with: &[(&str, &str)]) -> Chokes {
    let settings = settings(with);
    let choke = Choke::configured(&settings.with_profile(&[]).unwrap(), context()).unwrap();
    Bench::new(Fifo::from_settings(&settings, choke))
}

/// Empty the queue, put these packets of flow 0 and then these of flow 1 into it, and hold the average.
fn refill(b: &mut Chokes, of_0: u64, of_1: u64, average: f64) {
    b.drain();
    b.queue.admission.average = Average::new(0.0, 0.0, 500);
    for id in 0..of_0 + of_1 {
        b.arrive(TestPacket::new(id, u32::from(id >= of_0), 500));
    }
    b.log.dropped.clear();
    b.log.marked.clear();
    b.queue.admission.average = Average::new(average, 0.0, 500);
}

/// What an arrival of flow 0 did: how many packets matched, itself among them.
fn matched(b: &mut Chokes) -> usize {
    b.arrive(TestPacket::new(1000, 0, 500));
    let matched_drops = b.log.drops(DropReason::Match);
    assert!(
        matched_drops.is_empty() || matched_drops.last() == Some(&1000),
        "itself goes last"
    );
    matched_drops.len()
}

/// A flow that holds the fraction f of the buffer is matched with probability f, and each match removes two packets.
#[test]
fn a_flow_is_matched_in_proportion_to_what_it_holds() {
    for (of_0, of_1) in [(10, 90), (30, 70), (75, 25)] {
        let mut b = bench(&[("max_probability", "0"), ("buffer", "200 packets")]);
        let runs = 20_000;
        let mut matches = 0;
        for _ in 0..runs {
            refill(&mut b, of_0, of_1, 50.0);
            let matched_count = matched(&mut b);
            assert!(matched_count == 0 || matched_count == 2, "{matched_count}");
            assert_eq!(b.backlog().packets, of_0 + of_1 + 1 - matched_count as u64);
            matches += u32::from(matched_count == 2);
        }
        let (share, f) = (f64::from(matches) / f64::from(runs), of_0 as f64 / (of_0 + of_1) as f64);
        // Four standard deviations.
        assert!(
            (share - f).abs() < 4.0 * (f * (1.0 - f) / f64::from(runs)).sqrt(),
            "{share} for {f}"
        );
    }
}

/// Nothing is drawn, and nothing matches, up to the lower threshold or with nothing waiting.
#[test]
fn up_to_the_lower_threshold_nothing_is_compared() {
    let mut b = bench(&[("max_probability", "0")]);
    for (of_0, average) in [(50, 20.0), (50, 5.0), (0, 50.0), (0, 1000.0)] {
        refill(&mut b, of_0, 0, average);
        let before = b.queue.admission.context.stream.clone().bits();
        assert_eq!(matched(&mut b), 0, "{average}");
        assert_eq!(b.queue.admission.context.stream.clone().bits(), before);
    }
    refill(&mut b, 50, 0, 20.1);
    assert_eq!(matched(&mut b), 2);
}

/// The comparison comes before RED's forced drop and before the test of the buffer, and removes the twin there too.
#[test]
fn the_comparison_comes_first() {
    for (buffer, average) in [("200 packets", 1000.0), ("60 packets", 50.0)] {
        let mut b = bench(&[("buffer", buffer), ("gentle", "false"), ("max_probability", "0")]);
        refill(&mut b, 60, 0, average);
        assert_eq!(matched(&mut b), 2, "{buffer}");
        assert_eq!(b.backlog().packets, 59);
        refill(&mut b, 0, 60, average);
        assert_eq!(matched(&mut b), 0);
        let why = if average > 100.0 {
            DropReason::Forced
        } else {
            DropReason::Overflow
        };
        assert_eq!(b.log.drops(why), [1000]);
    }
}

/// With m draws at least one of two flows' packets matches with 1 - (1 - f)^m, nearly: drawn packets that do not match
/// may be drawn again, and all that match go.
#[test]
fn several_draws_may_match_several() {
    let mut b = bench(&[("max_probability", "0"), ("draws", "3")]);
    let (runs, mut any, mut all) = (20_000, 0, 0);
    for _ in 0..runs {
        refill(&mut b, 30, 30, 50.0);
        let matched_count = matched(&mut b);
        any += u32::from(matched_count > 0);
        all += u32::from(matched_count == 4);
    }
    let share = |n: u32| f64::from(n) / f64::from(runs);
    assert!((share(any) - 0.875).abs() < 0.01, "{}", share(any));
    // 30/60, then 29/59, then 28/58.
    assert!(
        (share(all) - 0.5 * 29.0 / 59.0 * 28.0 / 58.0).abs() < 0.01,
        "{}",
        share(all)
    );
}

/// Thirty regions between 20 and 80: two packets in the first, sixty in the last and beyond it.
#[test]
fn regions_set_the_number_of_draws() {
    let b = bench(&[("regions", "30")]);
    let choke = &b.queue.admission;
    let draws = [20.1, 21.9, 22.1, 50.0, 79.9, 80.0, 1000.0].map(|average| choke.comparisons(average));
    assert_eq!(draws, [2, 2, 4, 32, 60, 60, 60]);
}

#[test]
fn the_front_and_the_back_are_compared() {
    for (draw, of_0_first, twin) in [("front", true, 0), ("back", false, 59)] {
        let mut b = bench(&[("max_probability", "0"), ("draw", draw)]);
        refill(&mut b, 30, 30, 50.0);
        b.arrive(TestPacket::new(1000, u32::from(!of_0_first), 500));
        assert_eq!(b.log.drops(DropReason::Match), [twin, 1000], "{draw}");
        b.arrive(TestPacket::new(1001, u32::from(of_0_first), 500));
        assert_eq!(b.log.drops(DropReason::Match).len(), 2, "{draw}");
    }
}

/// ECN never replaces a match; what does not match is RED's, and marked.
#[test]
fn a_match_is_never_marked() {
    let mut b = bench(&[
        ("ecn", "true"),
        ("max_probability", "1"),
        ("mark_cap", "1"),
        ("spread", "false"),
    ]);
    refill(&mut b, 60, 0, 79.99);
    b.arrive(TestPacket::new(1000, 0, 500).capable());
    assert_eq!((b.log.drops(DropReason::Match).len(), b.log.marked.len()), (2, 0));
    let mut marks = 0;
    for _ in 0..1000 {
        refill(&mut b, 0, 60, 50.0);
        b.arrive(TestPacket::new(1000, 0, 500).capable());
        assert!(b.log.dropped.is_empty());
        marks += b.log.marks(MarkReason::Early).len();
    }
    assert!((marks as f64 / 1000.0 - 0.5).abs() < 0.07, "{marks}");
}

/// Before a port of several queues it draws from all of them.
#[test]
fn before_several_queues_it_draws_from_all() {
    let red = settings(&[
        ("weight", "1"),
        ("min_threshold", "10 packets"),
        ("max_probability", "0"),
    ]);
    let list = tailback_base::Value::List(vec![tailback_base::Value::Model(Box::new(red))]);
    let mut drr = Settings::defaults(crate::registry::find("drr").unwrap());
    drr.set_models("before", list);
    let queue: Queue = crate::registry::build(&drr, context()).unwrap();
    let mut b = Bench::new(queue);
    for id in 0..200 {
        b.arrive(TestPacket::new(id, 0, 500));
    }
    let twins = b.log.dropped.iter().filter(|d| d.1 == Place::Queued).count();
    assert!(twins > 50 && b.log.drops(DropReason::Match).len() == 2 * twins);
    assert!(b.backlog().packets <= 12);
}

#[test]
fn what_contradicts_itself_is_refused() {
    for (overrides, says) in [
        (&[("draw", "front"), ("draws", "2")][..], "draws and draw"),
        (&[("draw", "back"), ("regions", "2")], "regions and draw"),
        (&[("draws", "3"), ("regions", "2")], "draws and regions"),
        (&[("min_threshold", "90 packets")], "above max_threshold"),
    ] {
        let e = Choke::configured(&settings(overrides), context()).unwrap_err();
        assert!(e.problem.contains(says) && !e.remedy.is_empty(), "{e}");
    }
}
