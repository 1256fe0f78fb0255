use super::*;
use crate::contract::discipline::QueueDiscipline;
use crate::contract::testing::{Bench, TestPacket};
use crate::fifo::Fifo;
use proptest::prelude::*;
use tailback_base::{BitRate, Ecn};

fn settings(with: &[(&str, &str)]) -> Settings {
    with.iter()
        .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text))
}

fn context() -> BuildContext {
    BuildContext {
        stream: Stream::new(1, "pie"),
        rate: BitRate(10_000_000),
        delay: Duration::ZERO,
    }
}

type PieBench = Bench<Fifo<TestPacket, Pie>>;

fn bench(with: &[(&str, &str)]) -> PieBench {
    let s = settings(with);
    Bench::new(Fifo::from_settings(&s, Pie::configured(&s, context()).unwrap()))
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A controller that stands at this probability, with this delay at its last update.
fn standing(p: f64, delay: f64, with: &[(&str, &str)]) -> Pie {
    let mut pie = Pie::configured(&settings(with), context()).unwrap();
    (pie.probability, pie.delay_before, pie.burst) = (p, delay, Duration::ZERO);
    pie
}

/// RFC 8033 section 4.2: the step is scaled down with the probability.
#[test]
fn a_held_delay_moves_the_probability_by_the_scaled_gain() {
    let mut pie = standing(0.05, 0.020, &[]);
    pie.update(0.020);
    assert!((pie.probability - 0.05 - 3.125e-4).abs() < 1e-15, "{}", pie.probability);
    for (p, scale) in [
        (5e-7, 2048.0),
        (5e-6, 512.0),
        (5e-5, 128.0),
        (5e-4, 32.0),
        (5e-3, 8.0),
        (0.05, 2.0),
        (0.5, 1.0),
    ] {
        let mut pie = standing(p, 0.020, &[]);
        pie.update(0.020);
        assert!((pie.probability - p - 0.125 * 0.005 / scale).abs() < 1e-12, "at {p}");
        // The change counts ten times as much.
        let mut pie = standing(p, 0.019, &[]);
        pie.update(0.020);
        let x = 0.125 * 0.005 + 1.25 * 0.001;
        assert!((pie.probability - p - x / scale).abs() < 1e-12, "at {p}");
    }
}

/// Section 5.5: from 0.1 on it rises by 0.02 at the most; it falls as fast as the law says.
#[test]
fn a_high_probability_rises_slowly() {
    let mut pie = standing(0.1, 0.0, &[]);
    pie.update(1.0);
    assert!((pie.probability - 0.12).abs() < 1e-12);
    let mut pie = standing(0.9, 1.0, &[]);
    pie.update(0.0);
    assert_eq!(pie.probability, 0.0, "0.9 - 0.125 * 0.015 - 1.25 is below zero");
    let mut pie = standing(0.5, 0.0, &[]);
    pie.update(0.0);
    let fallen = (0.5 - 0.125 * 0.015) * 0.98;
    assert!(
        (pie.probability - fallen).abs() < 1e-12,
        "two idle updates in a row decay it"
    );
}

#[test]
fn a_spike_adds_only_with_the_option_and_above_a_quarter_of_a_second() {
    for (option, delay_s, more) in [("false", 0.3, 0.0), ("true", 0.3, 0.02), ("true", 0.25, 0.0)] {
        let mut pie = standing(0.05, delay_s, &[("spike", option)]);
        pie.update(delay_s);
        let law = 0.125 * (delay_s - 0.015) / 2.0;
        assert!(
            (pie.probability - 0.05 - law - more).abs() < 1e-12,
            "{option} {delay_s}"
        );
    }
}

/// The allowance of 150 ms is gone at the tenth update, 135 to 150 ms after the first packet by the phase of the timer.
#[test]
fn a_burst_passes_until_the_tenth_update() {
    for phase in [0, 1, 7, 14] {
        let mut b = bench(&[("buffer", "unlimited"), ("derandomise", "false")]);
        b.pass(ms(150 + phase));
        let start = b.now;
        let mut id = 0;
        // A long queue at once, and 10 packets a ms behind it, of which one is served.
        for _ in 0..500 {
            b.arrive(TestPacket::new(id, 0, 1000));
            id += 1;
        }
        while b.log.dropped.is_empty() && b.now < start + ms(1000) {
            b.pass(Duration::from_micros(100));
            b.arrive(TestPacket::new(id, 0, 1000));
            id += 1;
            if id % 10 == 0 {
                b.serve();
            }
            // Certain to be chosen as soon as it may be.
            b.queue.admission.probability = 1.0;
        }
        let first = (b.now - start).seconds() * 1e3;
        let tenth = 150.0 - phase as f64;
        assert!(
            (tenth..=tenth + 0.1).contains(&first) && (135.0..=150.1).contains(&first),
            "phase {phase} ms: {first} ms"
        );
    }
}

/// After a quiet time the allowance is whole again, whatever has happened before.
#[test]
fn a_quiet_time_restores_the_allowance() {
    let mut b = bench(&[]);
    for id in 0..1000 {
        b.arrive(TestPacket::new(id, 0, 1000));
        b.pass(Duration::from_micros(500));
        if id % 3 == 0 {
            b.serve();
        }
    }
    assert_eq!(b.probe("burst", 0), 0.0);
    assert!(b.probe("probability", 0) > 0.0);
    b.drain();
    // Below 1e-6 it falls by 0.125 * 0.015 / 2048 an update: at most 30 s to zero.
    b.pass(ms(30_000));
    assert_eq!(b.probe("probability", 0), 0.0);
    assert_eq!(b.probe("burst", 0), 0.15);
    assert_eq!(b.queue.next_timer(), None, "nothing is left to update");
    b.arrive(TestPacket::new(9999, 0, 1000));
    let next = b.queue.next_timer().map(|t| t.0);
    assert_eq!(next, Some((b.now.0 / 15_000_000 + 1) * 15_000_000), "on the same grid");
}

/// Section 5.4: at least ceil(0.85 / p) arrivals from one signal to the next, at most ceil(8.5 / p), or one more where
/// the sum of so many p is rounded down.
#[test]
fn derandomised_signals_keep_their_distance() {
    for p in [0.013, 0.05, 0.3, 0.9] {
        let mut pie = standing(p, 0.1, &[]);
        let (mut last, mut gaps) = (0, vec![]);
        for arrival in 1..200_000 {
            if pie.chooses() {
                gaps.push(arrival - last);
                last = arrival;
            }
        }
        let least = libm::ceil(0.85 / p) as i64;
        let most = libm::ceil(8.5 / p) as i64;
        let gap_range = (*gaps.iter().min().unwrap(), *gaps.iter().max().unwrap());
        assert_eq!(gap_range.0, least, "p = {p}");
        assert!(gap_range.1 <= most + 1, "p = {p}: {gap_range:?}");
        // Chance alone also signals neighbours.
        let mut pie = standing(p, 0.1, &[("derandomise", "false")]);
        let hits: Vec<bool> = (0..100_000).map(|_| pie.chooses()).collect();
        assert!(hits.windows(2).any(|w| w[0] && w[1]));
        let share = hits.iter().filter(|h| **h).count() as f64 / 1e5;
        assert!((share - p).abs() < 0.01, "{share} for {p}");
    }
}

/// It never waits longer than 8.5 / p, were chance never to choose.
#[test]
fn without_luck_the_sum_decides() {
    let mut pie = standing(0.5, 0.1, &[]);
    pie.credit = 8.0;
    assert!(pie.chooses());
    assert_eq!(pie.credit, 0.0);
}

#[test]
fn it_marks_while_the_probability_is_small_and_drops_above() {
    for (p, ecn, marks) in [(0.1, "true", true), (0.11, "true", false), (0.1, "false", false)] {
        let mut b = bench(&[("ecn", ecn), ("buffer", "unlimited")]);
        for id in 0..100 {
            b.arrive(TestPacket::new(id, 0, 1000).capable());
        }
        b.queue.admission = standing(p, 0.1, &[("ecn", ecn)]);
        for id in 100..1100 {
            b.arrive(TestPacket::new(id, 0, 1000).capable());
        }
        assert_eq!(b.log.marked.is_empty(), !marks, "p = {p}, ecn = {ecn}");
        assert_eq!(b.log.dropped.is_empty(), marks, "p = {p}, ecn = {ecn}");
        assert!(
            b.log
                .marked
                .iter()
                .all(|m| m.0.ecn == Ecn::Ce && m.1 == MarkReason::Early)
        );
        assert!(b.log.dropped.iter().all(|d| d.2 == DropReason::Early));
    }
}

/// Section 4.1: with two mean packets waiting, or a short delay and a probability below 0.2, all pass.
#[test]
fn a_light_load_passes() {
    for (p, delay, waiting, passes) in [
        (0.19, 0.007, 100, true),
        (0.2, 0.007, 100, false),
        (0.19, 0.0075, 100, false),
        (0.9, 0.1, 2, true),
        (0.9, 0.1, 3, false),
    ] {
        let mut b = bench(&[("derandomise", "false"), ("buffer", "unlimited")]);
        for id in 0..waiting {
            b.arrive(TestPacket::new(id, 0, 1000));
        }
        b.queue.admission = standing(p, delay, &[("derandomise", "false")]);
        for id in 0..200 {
            b.arrive(TestPacket::new(1000 + id, 0, 1000));
            let kept = b.backlog().packets > waiting;
            if kept {
                // What came last goes, so that as many wait as before.
                let last = b.queue.ring.backlog().packets as usize - 1;
                b.queue.ring.remove(last);
            }
        }
        assert_eq!(
            b.log.dropped.is_empty(),
            passes,
            "p = {p}, delay = {delay}, {waiting} waiting"
        );
    }
}

#[test]
fn an_overflow_clears_what_has_been_saved_up_for_a_signal() {
    let mut b = bench(&[("buffer", "10 packets"), ("ecn", "true")]);
    for id in 0..10 {
        b.arrive(TestPacket::new(id, 0, 1000).capable());
    }
    b.queue.admission.credit = 0.8;
    b.arrive(TestPacket::new(10, 0, 1000).capable());
    assert_eq!(b.log.drops(DropReason::Overflow), [10]);
    assert_eq!(b.queue.admission.credit, 0.0);
}

/// The delay is what the last packet had waited; a queue left empty has none.
#[test]
fn the_delay_is_that_of_the_last_packet_to_leave() {
    let mut b = bench(&[]);
    for id in 0..3 {
        b.arrive(TestPacket::new(id, 0, 1000));
    }
    b.pass(ms(40));
    b.serve();
    b.pass(ms(10));
    assert_eq!(b.probe("delay", 0), 0.040);
    b.drain();
    b.pass(ms(15));
    assert_eq!(b.probe("delay", 0), 0.0);
}

/// Section 5.2: a measurement takes 17 packets of 1000 B, from the departure of the first to that of the last.
#[test]
fn the_delay_by_departures_is_the_backlog_over_the_measured_rate() {
    let mut b = bench(&[("delay", "departure_rate"), ("buffer", "unlimited")]);
    for id in 0..100 {
        b.arrive(TestPacket::new(id, 0, 1000));
    }
    assert_eq!(b.probe("delay", 0), 0.0, "no rate is known yet");
    for _ in 0..17 {
        b.pass(ms(1));
        b.serve();
    }
    let mean = 0.016 / 16384.0;
    b.until(Time(30_000_000));
    assert!(
        (b.probe("delay", 0) - 83_000.0 * mean).abs() < 1e-9,
        "{}",
        b.probe("delay", 0)
    );
    // The next measurement is at half the rate, and counts one half.
    for _ in 0..17 {
        b.pass(ms(2));
        b.serve();
    }
    let mean = (0.016 + 0.032) / 2.0 / 16384.0;
    b.pass(ms(15));
    assert!(
        (b.probe("delay", 0) - 66_000.0 * mean).abs() < 1e-9,
        "{}",
        b.probe("delay", 0)
    );
}

#[test]
fn a_measurement_that_is_not_made_has_no_size() {
    let s = settings(&[("rate_threshold", "8000B")]);
    let e = Pie::configured(&s, context()).unwrap_err();
    assert!(e.remedy.contains("departure_rate"), "{e}");
    assert!(Pie::configured(&s.with("delay", "departure_rate"), context()).is_ok());
}

proptest! {
    /// Leaving out the updates of a controller at rest changes nothing: one that is updated for ever says the same.
    #[test]
    fn updates_that_are_left_out_would_change_nothing(
        steps in prop::collection::vec((0u64..400_000_000, 0u8..4), 1..200),
    ) {
        let mut b = bench(&[("max_burst", "40ms")]);
        let mut always = Pie::configured(&settings(&[("max_burst", "40ms")]), context()).unwrap();
        let mut updated = Time::ZERO;
        for (id, (gap, act)) in steps.into_iter().enumerate() {
            let arrival = b.now + Duration(gap);
            loop {
                let next_update = updated + Duration::from_millis(15);
                if next_update > arrival {
                    break;
                }
                b.until(next_update);
                always.update(b.queue.admission.sojourn);
                updated = next_update;
            }
            b.until(arrival);
            prop_assert_eq!(b.queue.admission.probability, always.probability);
            prop_assert_eq!(b.queue.admission.burst, always.burst);
            match act {
                0 => { b.serve(); }
                n => (0..20 * u64::from(n)).for_each(|i| b.arrive(TestPacket::new(id as u64 * 100 + i, 0, 1000))),
            }
        }
    }
}
