use super::*;
use crate::contract::discipline::{DropReason, MarkReason};
use crate::contract::testing::{Bench, TestPacket};
use crate::fifo::Fifo;
use tailback_base::{BitRate, Duration, Ecn, Stream, Time};

fn settings(with: &[(&str, &str)]) -> Settings {
    with.iter()
        .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text))
}

fn place() -> BuildContext {
    BuildContext {
        stream: Stream::new(1, "test"),
        rate: BitRate(1_000_000),
        delay: Duration::ZERO,
    }
}

fn bench(with: &[(&str, &str)]) -> Bench<Fifo<TestPacket, Red>> {
    let settings = settings(with);
    let red = Red::configured(&settings, place()).unwrap();
    Bench::new(Fifo::from_settings(&settings, red))
}

/// RED with its average held where the base probability is `pb` (min 0, max 100, so the average is 1000 pb).
fn held(pb: f64, with: &[(&str, &str)]) -> Bench<Fifo<TestPacket, Red>> {
    let average = format!("{} packets", 1000.0 * pb);
    let mut all = vec![
        ("weight", "0"),
        ("initial_average", average.as_str()),
        ("min_threshold", "0 packets"),
        ("max_threshold", "100 packets"),
        ("max_probability", "0.1"),
        ("buffer", "1000 packets"),
    ];
    all.extend_from_slice(with);
    bench(&all)
}

/// Offer `n` packets, keeping the queue short; the gaps between signals (1 = adjacent packets).
fn gaps(b: &mut Bench<Fifo<TestPacket, Red>>, n: u64) -> Vec<u64> {
    for id in 0..n {
        b.arrive(TestPacket::new(id, 0, 500));
        b.serve();
    }
    let dropped = b.log.drops(DropReason::Early);
    assert_eq!(dropped.len(), b.log.dropped.len(), "nothing but early drops");
    dropped.windows(2).map(|w| w[1] - w[0]).collect()
}

/// Chi-square of `gaps` against the uniform distribution on `from..=to`, divided by its degrees of freedom.
fn uniformity(gaps: &[u64], from: u64, to: u64) -> f64 {
    assert!(
        gaps.iter().all(|g| (from..=to).contains(g)),
        "outside {from}..={to}: {:?}",
        gaps.iter().max()
    );
    let expected = gaps.len() as f64 / (to - from + 1) as f64;
    let chi2: f64 = (from..=to)
        .map(|v| gaps.iter().filter(|g| **g == v).count() as f64 - expected)
        .map(|d| d * d / expected)
        .sum();
    chi2 / (to - from) as f64
}

#[test]
fn without_wait_gaps_are_uniform_and_twice_the_base_is_signalled() {
    for pb in [0.1, 0.02] {
        let mut b = held(pb, &[("wait", "false")]);
        let n = 400_000;
        let gaps = gaps(&mut b, n);
        let fraction = (gaps.len() + 1) as f64 / n as f64;
        assert!((fraction / (2.0 * pb) - 1.0).abs() < 0.01, "pb {pb}: {fraction}");
        let chi = uniformity(&gaps, 1, (1.0 / pb).round() as u64 - 1);
        assert!(chi < 2.5, "{chi}");
    }
}

#[test]
fn with_wait_gaps_begin_at_the_inverse_of_the_base() {
    for (pb, expected) in [(0.1, 0.0690), (0.02, 0.01342)] {
        let mut b = held(pb, &[]);
        let n = 800_000;
        let gaps = gaps(&mut b, n);
        let fraction = (gaps.len() + 1) as f64 / n as f64;
        assert!((fraction / expected - 1.0).abs() < 0.01, "pb {pb}: {fraction}");
        assert!((expected - 1.0 / (1.5 / pb - 0.5)).abs() < 1e-4);
        let inverse = (1.0 / pb).round() as u64;
        // n pb < 1 in floating point may hold or not at n = 1/pb exactly: both ends may move by one.
        let chi = uniformity(&gaps, inverse, 2 * inverse - 1);
        assert!(chi < 2.5, "{chi}");
    }
}

#[test]
fn first_count_zero_gives_gaps_from_one_to_the_inverse() {
    let mut b = held(0.1, &[("wait", "false"), ("first_count", "0")]);
    let n = 400_000;
    let gaps = gaps(&mut b, n);
    assert!(uniformity(&gaps, 1, 10) < 2.5);
    let fraction = (gaps.len() + 1) as f64 / n as f64;
    assert!((fraction * 5.5 - 1.0).abs() < 0.01, "mean gap 0.5/pb + 0.5: {fraction}");
}

#[test]
fn without_spreading_the_fraction_is_the_base() {
    let mut b = held(0.1, &[("spread", "false")]);
    let n = 400_000;
    let fraction = gaps(&mut b, n).len() as f64 / n as f64;
    assert!((fraction - 0.1).abs() < 0.002, "{fraction}");
}

#[test]
fn a_held_backlog_crosses_the_threshold_after_53_arrivals() {
    let mut b = bench(&[]);
    for id in 0..50 {
        b.queue.ring.push(TestPacket::new(id, 0, 500), Time::ZERO);
    }
    let mut arrivals = 0;
    while b.probe("average", 0) < 5.0 {
        b.arrive(TestPacket::new(100 + arrivals, 0, 500));
        b.serve();
        arrivals += 1;
    }
    assert_eq!(arrivals, 53);
}

#[test]
fn gentle_climbs_to_one_at_twice_the_upper_threshold() {
    assert!((base(22.5, 5.0, 15.0, 0.1, true) - 0.55).abs() < 1e-12);
    assert_eq!(base(22.5, 5.0, 15.0, 0.1, false), 1.0);
    assert!((base(15.0, 5.0, 15.0, 0.1, true) - 0.1).abs() < 1e-12);
    assert_eq!(base(30.0, 5.0, 15.0, 0.1, true), 1.0);
    let mut b = bench(&[("weight", "0"), ("initial_average", "30 packets")]);
    for id in 0..20 {
        b.arrive(TestPacket::new(id, 0, 500).capable());
    }
    assert_eq!(
        b.log.drops(DropReason::Forced).len(),
        20,
        "every packet, capable or not"
    );
}

#[test]
fn equal_thresholds_make_a_step() {
    assert_eq!(base(9.9, 10.0, 10.0, 0.1, false), 0.0);
    assert_eq!(base(10.0, 10.0, 10.0, 0.1, false), 1.0);
    let mut b = bench(&[
        ("weight", "1"),
        ("min_threshold", "3 packets"),
        ("max_threshold", "3 packets"),
        ("gentle", "false"),
        ("ecn", "true"),
        ("mark_above_max", "true"),
    ]);
    for id in 0..6 {
        b.arrive(TestPacket::new(id, 0, 500).capable());
    }
    assert_eq!(b.log.marks(MarkReason::Forced), [3, 4, 5]);
    assert_eq!(b.backlog().packets, 6);
}

#[test]
fn ecn_marks_capable_packets_and_drops_the_others() {
    let mut b = held(0.05, &[("ecn", "true")]);
    for id in 0..2000 {
        let p = TestPacket::new(id, 0, 500);
        b.arrive(if id % 2 == 0 { p.capable() } else { p });
        if let Some(p) = b.take() {
            assert_eq!(p.ecn == Ecn::Ce, b.log.marks(MarkReason::Early).contains(&p.id));
        }
    }
    let (marks, drops) = (b.log.marks(MarkReason::Early), b.log.drops(DropReason::Early));
    assert!(marks.len() > 20 && drops.len() > 20);
    assert!(marks.iter().all(|id| id % 2 == 0) && drops.iter().all(|id| id % 2 == 1));
}

#[test]
fn above_the_mark_cap_a_capable_packet_is_dropped() {
    let mut b = held(0.05, &[("ecn", "true"), ("mark_cap", "0.04")]);
    for id in 0..1000 {
        b.arrive(TestPacket::new(id, 0, 500).capable());
        b.serve();
    }
    assert!(b.log.marked.is_empty() && b.log.dropped.len() > 10);
}

#[test]
fn a_full_buffer_drops_and_restarts_the_count() {
    let mut b = held(0.01, &[("buffer", "3 packets"), ("ecn", "true")]);
    for id in 0..4 {
        b.arrive(TestPacket::new(id, 0, 500).capable());
    }
    assert_eq!(b.log.drops(DropReason::Overflow), [3]);
    assert_eq!(b.probe("since", 0), 0.0);
}

#[test]
fn below_the_lower_threshold_the_count_is_inactive_and_nothing_is_drawn() {
    let mut b = bench(&[]);
    for id in 0..100 {
        b.arrive(TestPacket::new(id, 0, 500));
    }
    // The average has passed 5 by now (backlog up to 99, weight 0.002), so look at a fresh one as well.
    assert!(b.probe("since", 0) >= 0.0);
    let mut fresh = bench(&[]);
    fresh.arrive(TestPacket::new(0, 0, 500));
    assert_eq!(fresh.probe("since", 0), -1.0);
    assert_eq!(fresh.queue.admission.context.stream.bits(), place().stream.bits());
}

#[test]
fn byte_mode_weighs_large_packets_more() {
    let mut b = held(0.02, &[("bytes", "true"), ("spread", "false")]);
    for id in 0..400_000 {
        b.arrive(TestPacket::new(
            id,
            (id % 2) as u32,
            if id % 2 == 0 { 250 } else { 1500 },
        ));
        b.serve();
    }
    let drop_share_of = |flow| b.log.dropped.iter().filter(|d| d.0.flow == flow).count() as f64 / 200_000.0;
    assert!(
        (drop_share_of(0) - 0.01).abs() < 0.001 && (drop_share_of(1) - 0.06).abs() < 0.002,
        "{} {}",
        drop_share_of(0),
        drop_share_of(1)
    );
}

#[test]
fn drops_fall_on_flows_in_proportion_to_their_rates() {
    let mut b = held(0.05, &[]);
    let mut pick = Stream::new(3, "flows");
    for id in 0..400_000 {
        b.arrive(TestPacket::new(id, u32::from(pick.chance(0.25)), 500));
        b.serve();
    }
    let n = b.log.dropped.len() as f64;
    let light = b.log.dropped.iter().filter(|d| d.0.flow == 1).count() as f64;
    let chi2 = (light - n / 4.0).powi(2) / (n / 4.0) + (light - n / 4.0).powi(2) / (3.0 * n / 4.0);
    assert!(chi2 < 6.63, "{light} of {n}");
}

#[test]
fn the_guards_spare_a_short_queue_and_the_crossing() {
    let high: &[(&str, &str)] = &[("weight", "0"), ("initial_average", "50 packets")];
    let guarded = |more: &[(&str, &str)]| {
        let mut b = bench(&[high, more].concat());
        for id in 0..4 {
            b.arrive(TestPacket::new(id, 0, 500));
        }
        b.log.drops(DropReason::Forced)
    };
    assert_eq!(guarded(&[]), [0, 1, 2, 3]);
    assert_eq!(
        guarded(&[("ns2_guards", "true")]),
        [2, 3],
        "two packets wait from the third arrival on"
    );

    // ns-2 with its queue in bytes, bursts of 1000 B and thresholds of 500 B: the fourth packet of a burst is the first
    // that is dropped; with thresholds of one packet it is the fifth. The one before crosses.
    assert_eq!(
        guarded(&[
            ("ns2_guards", "true"),
            ("buffer", "50000B"),
            ("initial_average", "25000B"),
            ("min_threshold", "5000B"),
            ("max_threshold", "10000B"),
        ]),
        [1, 2, 3],
        "one packet is more than two bytes"
    );

    // Geometric signals with probability just below 1: the crossing is spared, the next are not.
    let mut b = held(
        0.05,
        &[("max_probability", "1"), ("spread", "false"), ("ns2_guards", "true")],
    );
    b.queue.admission.class.ramp.max_threshold = 50.0 / 0.999_999;
    for id in 0..5 {
        b.arrive(TestPacket::new(id, 0, 500));
    }
    assert_eq!(
        b.log.drops(DropReason::Early),
        [3, 4],
        "0 and 1 find a short queue, 2 crosses"
    );
}

#[test]
fn an_idle_line_lets_the_average_decay() {
    let mut b = bench(&[("weight", "0.1"), ("initial_average", "10 packets")]);
    assert_eq!(b.serve(), None); // idle from 0
    b.pass(Duration::from_millis(40)); // ten packet times of 500 B at 1 Mbit/s
    b.arrive(TestPacket::new(0, 0, 500));
    assert!((b.probe("average", 0) - 10.0 * 0.9_f64.powi(11)).abs() < 1e-9);
}

#[test]
fn thresholds_follow_the_buffer_or_the_delay() {
    let context_of = |rate| BuildContext {
        rate: BitRate(rate),
        ..place()
    };
    let config = |with: &[(&str, &str)]| Config::from_settings(&settings(with), &context_of(10_000_000));
    let c = config(&[
        ("buffer", "200 packets"),
        ("min_threshold", "20%"),
        ("max_threshold", "100%"),
    ])
    .unwrap();
    assert_eq!((c.ramp.min_threshold, c.ramp.max_threshold), (40.0, 200.0));
    let c = config(&[("buffer", "64KB")]).unwrap();
    assert_eq!(
        (c.ramp.min_threshold, c.ramp.max_threshold),
        (3125.0, 9375.0),
        "6.25 packets of 500 B each"
    );
    let thresholds_at = |rate, buffer| {
        let c = Config::from_settings(&settings(&[("buffer", buffer)]), &context_of(rate)).unwrap();
        (c.ramp.min_threshold, c.ramp.max_threshold)
    };
    assert_eq!(
        thresholds_at(100_000_000, "1000 packets"),
        (62.5, 187.5),
        "half of 5 ms"
    );
    assert_eq!(
        thresholds_at(100_000_000, "120 packets"),
        (20.0, 60.0),
        "the gentle ramp ends with the buffer"
    );
    assert_eq!(thresholds_at(1_000_000, "100 packets"), (5.0, 15.0));
    assert_eq!(thresholds_at(100_000_000, "unlimited"), (62.5, 187.5));
    assert_eq!(thresholds_at(100_000_000, "9 packets"), (3.0, 9.0));
    let c = config(&[("max_threshold", "60 packets")]).unwrap();
    assert_eq!(
        c.ramp.min_threshold, 20.0,
        "what is given stays, and the other follows it"
    );
    let c = config(&[("delay_target", "20ms")]).unwrap();
    assert_eq!(
        (c.ramp.min_threshold, c.ramp.max_threshold),
        (25.0, 75.0),
        "2500 packets a second"
    );
    let c = config(&[("weight_rule", "rate")]).unwrap();
    assert!((c.weight - 0.0004).abs() < 1e-6);

    for contradiction in [
        &[("min_threshold", "20 packets"), ("max_threshold", "10 packets")][..],
        &[("delay_target", "20ms"), ("min_threshold", "5 packets")],
        &[("min_threshold", "3KB")],
        &[("buffer", "unlimited"), ("max_threshold", "50%")],
        &[("weight_rule", "rate"), ("weight", "0.1")],
    ] {
        let refusal = config(contradiction).unwrap_err();
        assert!(!refusal.problem.is_empty() && !refusal.remedy.is_empty());
    }
}

#[test]
fn a_profile_lies_under_what_is_given() {
    let config_of = |with: &[(&str, &str)]| {
        let s = settings(with).with_profile(&[]).unwrap();
        Config::from_settings(&s, &place())
    };
    let ns2 = config_of(&[("profile", "ns2-2006"), ("buffer", "60KB")]).unwrap();
    assert_eq!((ns2.ramp.min_threshold, ns2.ramp.max_threshold), (2500.0, 7500.0));
    assert!(ns2.rules.bytes && ns2.rules.ns2_guards && ns2.rules.wait && ns2.ramp.gentle);
    assert!((ns2.weight - (1.0 - (-1.0 / 250.0_f64).exp())).abs() < 1e-12);
    // What the profile derives gives way to what is given.
    let own = [
        ("profile", "ns2-2006"),
        ("min_threshold", "7 packets"),
        ("weight", "0.01"),
    ];
    let own = config_of(&own).unwrap();
    assert_eq!(
        (own.ramp.min_threshold, own.ramp.max_threshold, own.weight),
        (7.0, 21.0, 0.01)
    );
    let jiang = config_of(&[("profile", "jiang-2006")]).unwrap();
    assert_eq!((jiang.ramp.min_threshold, jiang.ramp.max_threshold), (5.0, 15.0));
    assert!(!jiang.rules.wait && !jiang.ramp.gentle && jiang.rules.mark_cap == 1.0);
    let both = [("delay_target", "9ms"), ("profile", "jiang-2006")];
    assert_eq!(
        config_of(&both).unwrap().ramp.min_threshold,
        5.0,
        "250 packets a second"
    );
}

#[test]
fn the_registry_lays_profiles_under_a_discipline_and_what_stands_in_it() {
    let registry = crate::Registry::<TestPacket>::standard();
    let drops = |s: Settings| {
        let mut b = Bench::new(registry.build(&s, place()).unwrap());
        for id in 0..60 {
            b.arrive(TestPacket::new(id, 0, 500));
        }
        b.log.drops(DropReason::Forced).len()
    };
    // Not gentle from 15 packets on, an average that is the backlog: nothing more is stored.
    let jiang = |s: Settings| s.with("profile", "jiang-2006").with("weight", "1");
    let gentle = drops(settings(&[("weight", "1")]));
    assert!(gentle <= 30, "30 packets wait before: {gentle}");
    let alone = drops(jiang(settings(&[])));
    assert!(alone >= 40, "{alone}");
    let red = tailback_base::Value::Model(Box::new(jiang(settings(&[]))));
    let mut drr = Settings::defaults(crate::registry::find("drr").unwrap()).with("buffer", "100 packets");
    drr.set_models("aqm", red.clone());
    assert!(drops(drr.clone()) >= 40);
    drr.set_models("before", tailback_base::Value::List(vec![red]));
    assert!(drops(drr) >= 40);
    let e = registry
        .build(&settings(&[("profile", "jang-2006")]), place())
        .err()
        .unwrap();
    assert!(e.path == "profile" && e.remedy.contains("\"jiang-2006\""), "{e:?}");
}
