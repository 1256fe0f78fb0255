use super::*;
use crate::aqm::race::Race;
use crate::contract::testing::{Bench, TestPacket};
use crate::fifo::Fifo;
use tailback_base::{BitRate, Duration};

fn build(with: &[(&str, &str)]) -> Result<(Settings, RedPd), Refusal> {
    let s = with
        .iter()
        .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text));
    let s = s.with_profile(&[]).unwrap();
    let context = BuildContext {
        stream: Stream::new(1, "test"),
        rate: BitRate(10_000_000),
        delay: Duration::ZERO,
    };
    let pd = RedPd::configured(&s, context)?;
    Ok((s, pd))
}

fn queue(with: &[(&str, &str)]) -> Fifo<TestPacket, RedPd> {
    let (s, pd) = build(with).unwrap_or_else(|e| panic!("{e}"));
    Fifo::from_settings(&s, pd)
}

const RED: [(&str, &str); 2] = [("min_threshold", "5 packets"), ("max_threshold", "15 packets")];

/// What a race of a constant flow and nine that answer tells about its last 40 of 60 seconds.
struct Seen {
    /// The constant flow's share of what it offers that is sent.
    passes: f64,
    /// How often it was monitored, and each of the others.
    constant: f64,
    others: f64,
    /// Its share of what the filter dropped.
    of_penalties: f64,
}

/// Ten flows on 10 Mb/s, one of which sends three times its share and does not answer.
fn race(with: &[(&str, &str)]) -> Seen {
    let mut race = Race::new(queue(&[&RED[..], with].concat()));
    race.constant(0.3);
    for _ in 0..9 {
        race.tcp(100);
    }
    race.run(Time::from_seconds(20.0));
    let sent_before = race.sent[0];
    let (mut constant, mut other_flows) = (0, 0);
    for second in 21..=60 {
        race.run(Time::from_seconds(f64::from(second)));
        let monitor = &race.bench.queue.admission.monitor;
        constant += monitor.flows().filter(|f| *f.0 == 0).count();
        other_flows += monitor.flows().filter(|f| *f.0 != 0).count();
    }
    let penalties = race.bench.log.dropped.iter().filter(|d| d.2 == DropReason::Penalty);
    let (own, all) = penalties.fold((0, 0), |(own, all), d| (own + u32::from(d.0.flow == 0), all + 1));
    assert!(race.bench.probe("unresponsive", 0) >= 1.0);
    Seen {
        passes: (race.sent[0] - sent_before) as f64 / (40.0 * 750.0),
        constant: constant as f64 / 40.0,
        others: other_flows as f64 / 360.0,
        of_penalties: f64::from(own) / f64::from(all),
    }
}

#[test]
fn a_constant_flow_at_three_times_its_share_is_monitored_always() {
    let monitored = race(&[]);
    assert_eq!(monitored.constant, 1.0);
    assert!(
        monitored.others < 0.3,
        "their round trip is above the target's: {}",
        monitored.others
    );
    assert!(monitored.of_penalties > 0.9, "{}", monitored.of_penalties);
    assert!(monitored.passes < 0.97, "{}", monitored.passes);
    let ns2 = race(&[("profile", "ns2-2006")]);
    assert!(ns2.constant == 1.0 && ns2.others < 0.3);
    let (passes, less) = (monitored.passes, ns2.passes);
    assert!(
        less < passes - 0.03,
        "always held back, by nearly twice as much: {less}, {passes}"
    );
}

/// Monitored flows with a probability of a half.
fn monitored(q: &mut Fifo<TestPacket, RedPd>) {
    let monitor = &mut q.admission.monitor;
    for _ in 0..3 {
        monitor.passed(100);
        monitor.signalled(7, 60);
        monitor.end_list(monitor.ends());
    }
    assert_eq!(monitor.flows().next().map(|(k, f)| (*k, f.probability)), Some((7, 0.5)));
}

/// How many of a hundred packets of flow 7 and of flow 8 the filter drops.
fn dropped(mut b: Bench<Fifo<TestPacket, RedPd>>) -> (usize, usize) {
    for id in 0..200 {
        b.arrive(TestPacket::new(id, 7 + (id % 2) as u32, 500));
        if b.backlog().packets > 3 {
            b.serve();
        }
    }
    let of = |flow| {
        let penalties = b.log.dropped.iter().filter(|d| d.2 == DropReason::Penalty);
        penalties.filter(|d| d.0.flow == flow).count()
    };
    (of(7), of(8))
}

#[test]
fn the_filter_acts_on_monitored_flows_and_only_in_congestion() {
    let held_queue = |average, more: &[(&str, &str)]| {
        let held = [("weight", "0"), ("initial_average", average), ("max_probability", "0")];
        let mut q = queue(&[&RED[..], &held, more].concat());
        monitored(&mut q);
        q
    };
    let (own_drops, other) = dropped(Bench::new(held_queue("10 packets", &[])));
    assert!((35..=65).contains(&own_drops) && other == 0, "{own_drops} {other}");
    assert_eq!(
        dropped(Bench::new(held_queue("4.9 packets", &[]))),
        (0, 0),
        "below min_threshold"
    );
    // In ns-2 a flow that does not respond is held back all the same, and its drops are spread: 2 g / (1 + g).
    let mut q = held_queue("4.9 packets", &[("profile", "ns2-2006")]);
    assert_eq!(dropped(Bench::new(q)).0, 0, "one that responds is not");
    q = held_queue("4.9 packets", &[("profile", "ns2-2006")]);
    q.admission.monitor.arrival(7, 0).unwrap().unresponsive = true;
    let (own_drops, _) = dropped(Bench::new(q));
    assert!((62..=71).contains(&own_drops), "two thirds: {own_drops}");
}

#[test]
fn one_waiting_packet_is_no_congestion() {
    let mut q = queue(&[
        ("weight", "0"),
        ("initial_average", "10 packets"),
        ("max_probability", "0"),
    ]);
    monitored(&mut q);
    let mut b = Bench::new(q);
    for id in 0..50 {
        b.arrive(TestPacket::new(id, 7, 500));
        while b.backlog().packets > 1 {
            b.serve();
        }
    }
    assert!(b.log.dropped.is_empty());
}

#[test]
fn marks_enter_the_history_and_overflows_do_not() {
    let settings = [
        ("weight", "0"),
        ("initial_average", "14.9 packets"),
        ("ecn", "true"),
        ("max_probability", "0.1"),
    ];
    let mut b = Bench::new(queue(&[&RED[..], &settings].concat()));
    for id in 0..500 {
        b.arrive(TestPacket::new(id, 3, 500).capable());
        b.serve();
    }
    assert!(b.log.dropped.is_empty() && b.log.marked.len() > 20);
    for _ in 0..3 {
        for id in 0..200 {
            b.arrive(TestPacket::new(id, 3, 500).capable());
            b.serve();
        }
        let ends = b.queue.admission.monitor.ends();
        b.until(ends);
    }
    assert_eq!(b.probe("monitored", 0), 1.0);

    let mut b = Bench::new(queue(&[("buffer", "1 packets"), ("weight", "0")]));
    for id in 0..30 {
        b.arrive(TestPacket::new(id, 3, 500));
        let ends = b.queue.admission.monitor.ends();
        b.until(ends);
    }
    assert_eq!(
        (b.log.drops(DropReason::Overflow).len(), b.probe("monitored", 0)),
        (29, 0.0)
    );
}

#[test]
fn the_first_list_is_ten_round_trips_long_unless_it_is_told_when_to_end() {
    let ends = |with: &[(&str, &str)]| queue(with).admission.monitor.ends().seconds();
    assert_eq!(ends(&[]), 0.4);
    assert_eq!(ends(&[("longest_list", "1s")]), 1.0);
    assert_eq!(ends(&[("first_list", "10.1s")]), 10.1);
}

#[test]
fn what_contradicts_itself_is_refused() {
    for (overrides, says) in [
        (&[("appearances", "6")][..], "only 5 lists"),
        (&[("shortest_list", "1s")], "is longer than longest_list"),
        (
            &[("min_threshold", "20 packets"), ("max_threshold", "10 packets")],
            "is above max_threshold",
        ),
    ] {
        let e = build(overrides).unwrap_err();
        assert!(e.problem.contains(says) && !e.remedy.is_empty(), "{e}");
    }
}
