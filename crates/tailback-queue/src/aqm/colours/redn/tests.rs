use super::*;
use crate::aqm::red::{self, Red};
use crate::contract::discipline::{DropReason, MarkReason};
use crate::contract::testing::{Bench, TestPacket};
use crate::entry::Configured;
use crate::fifo::Fifo;
use tailback_base::{BitRate, Stream};

const GREEN: u8 = 10;
const YELLOW: u8 = 12;
const RED: u8 = 14;

/// 1000 B at 8 Mb/s: a packet a millisecond.
const RATE: BitRate = BitRate(8_000_000);

fn place(rate: u64) -> BuildContext {
    BuildContext {
        stream: Stream::new(1, "test"),
        rate: BitRate(rate),
        delay: Duration::ZERO,
    }
}

fn settings(with: &[(&str, &str)]) -> Settings {
    with.iter()
        .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text))
}

fn at(rate: u64, with: &[(&str, &str)]) -> Bench<Fifo<TestPacket, Redn>> {
    let s = settings(with);
    let redn = Redn::configured(&s, place(rate)).unwrap_or_else(|e| panic!("{e}"));
    let mut bench = Bench::new(Fifo::from_settings(&s, redn));
    bench.rate = BitRate(rate);
    bench
}

fn bench(with: &[(&str, &str)]) -> Bench<Fifo<TestPacket, Redn>> {
    at(RATE.0, with)
}

fn packet(id: u64, dscp: u8) -> TestPacket {
    TestPacket {
        dscp,
        ..TestPacket::new(id, u32::from(dscp), 1000)
    }
}

/// The set P1 of the source's single bottleneck.
const P1: &[(&str, &str)] = &[
    ("min_threshold", "189 packets"),
    ("middle_threshold", "378 packets"),
    ("max_threshold", "2520 packets"),
];

/// Offer these packets and let the queue run empty now and then, as drawn; what was dropped and marked, and the bits of
/// the average after each arrival.
fn history<A: Admission<TestPacket>>(b: &mut Bench<Fifo<TestPacket, A>>, dscp: u8, index: u32) -> Vec<u64> {
    let mut script = Stream::new(5, "script");
    let mut averages = vec![];
    let mut load = 0.5;
    for id in 0..100_000 {
        if script.chance(0.002) {
            load = 0.3 + 0.5 * script.uniform();
        }
        let p = packet(id, dscp);
        b.arrive(if script.chance(0.5) { p.capable() } else { p });
        averages.push(b.probe("average", index).to_bits());
        while script.chance(1.0 - load) {
            b.serve();
            b.pass(Duration(script.below(1_000_000)));
        }
        if script.chance(0.001) {
            b.drain();
            b.pass(Duration(script.below(200_000_000)));
        }
    }
    averages
}

/// With one colour, whichever, the coupled REDs are one RED, if that measures as they do.
#[test]
fn one_colour_is_red_packet_for_packet() {
    for ecn in ["false", "true"] {
        let common = [
            ("buffer", "30 packets"),
            ("min_threshold", "5 packets"),
            ("max_threshold", "12 packets"),
            ("max_probability", "0.1"),
            ("weight", "0.02"),
            ("ecn", ecn),
        ];
        let single = [
            ("mean_packet", "1000B"),
            ("wait", "false"),
            ("first_count", "0"),
            ("idle_start", "last-departure"),
            ("idle_end", "enqueue"),
            ("mark_cap", "0.1"),
        ];
        let s = common
            .iter()
            .chain(&single)
            .fold(Settings::defaults(&red::MODEL), |s, (name, text)| s.with(name, text));
        let mut lone_red = Bench::new(Fifo::from_settings(&s, Red::configured(&s, place(RATE.0)).unwrap()));
        lone_red.rate = RATE;
        let averages = history(&mut lone_red, GREEN, 0);
        let why = [DropReason::Early, DropReason::Forced, DropReason::Overflow].map(|r| lone_red.log.drops(r).len());
        assert!(why.iter().all(|n| *n > 100), "{why:?}");
        assert!(ecn == "false" || lone_red.log.marks(MarkReason::Early).len() > 500);
        for (index, dscp) in [(0, GREEN), (1, YELLOW), (2, RED)] {
            let mut b = bench(&common);
            assert!(averages == history(&mut b, dscp, index), "averages of colour {index}");
            let of = |b: &crate::contract::testing::Log<TestPacket>| -> Vec<_> {
                b.dropped.iter().map(|(p, place, why)| (p.id, *place, *why)).collect()
            };
            assert!(of(&lone_red.log) == of(&b.log), "drops of colour {index}");
            assert!(lone_red.log.marks(MarkReason::Early) == b.log.marks(MarkReason::Early));
        }
    }
}

/// `self_redn` treats one colour like any other; `adaptive_redn` does not, since green has no middle threshold.
#[test]
fn which_colour_it_is_matters_to_the_middle_threshold_alone() {
    let averages = |mode, dscp, index| {
        let mut b = bench(&[
            ("mode", mode),
            ("buffer", "200 packets"),
            ("min_threshold", "5 packets"),
            ("middle_threshold", "10 packets"),
            ("max_threshold", "40 packets"),
            ("weight", "0.02"),
        ]);
        let averages = history(&mut b, dscp, index);
        (averages, b.probe("dynamic", index))
    };
    let [green, yellow, red] = [(GREEN, 0), (YELLOW, 1), (RED, 2)].map(|(c, i)| averages("self_redn", c, i));
    assert!(green == yellow && yellow == red);
    assert!(green.1 < 0.1, "it has moved: {}", green.1);
    let [green, yellow, red] = [(GREEN, 0), (YELLOW, 1), (RED, 2)].map(|(c, i)| averages("adaptive_redn", c, i));
    assert!(green != yellow && yellow == red);
}

/// A line of 201.6 Mb/s that fell idle a millisecond ago: 25 mean packets; with RED's own size of 500 B it would be 50.
#[test]
fn idle_time_by_the_numbers() {
    let mut b = at(201_600_000, &[("initial_average", "100 packets")]);
    b.arrive(packet(0, GREEN));
    let before = b.probe("average", 0);
    b.serve();
    b.pass(Duration::from_millis(1));
    b.arrive(packet(1, GREEN));
    let factor = b.probe("average", 0) / before;
    assert!((factor / 0.998_f64.powi(26) - 1.0).abs() < 1e-12, "{factor}");
    assert!((factor / 0.998 - 0.9512).abs() < 5e-5);
}

/// A refused arrival lets the average decay up to its instant; the packets that follow find the line idle still.
#[test]
fn a_refused_arrival_does_not_end_the_idle_time() {
    let mut b = bench(&[
        ("min_threshold", "1 packets"),
        ("max_threshold", "2 packets"),
        ("weight", "0.01"),
        ("initial_average", "100 packets"),
    ]);
    for (id, steps) in [(0, 10), (1, 21), (2, 32)] {
        b.pass(Duration::from_millis(10));
        b.arrive(packet(id, RED));
        let expected = 100.0 * 0.99_f64.powi(steps + 1);
        assert!(
            (b.probe("average", 2) - expected).abs() < 1e-9,
            "{}",
            b.probe("average", 2)
        );
    }
    assert_eq!(b.log.drops(DropReason::Forced), [0, 1, 2]);
}

#[test]
fn an_arrival_moves_the_averages_of_its_population() {
    let mut b = bench(&[("weight", "0.5")]);
    let averages = |b: &Bench<_>| [0, 1, 2].map(|k| b.probe("average", k));
    b.arrive(packet(0, GREEN));
    b.arrive(packet(1, RED));
    assert_eq!(averages(&b), [0.0, 0.0, 0.5], "red found green");
    b.arrive(packet(2, YELLOW));
    assert_eq!(averages(&b), [0.0, 0.5, 1.25], "yellow found green, and green and red");
    b.arrive(packet(3, GREEN));
    assert_eq!(averages(&b), [0.5, 1.25, 2.125]);
    assert_eq!([0, 1, 2].map(|c| b.probe("backlog", c)), [2.0, 1.0, 1.0]);
    b.serve();
    assert_eq!([0, 1, 2].map(|c| b.probe("backlog", c)), [1.0, 1.0, 1.0]);
    assert!(b.probe("backlog", 3).is_nan());
}

#[test]
fn with_equal_thresholds_red_suffers_first_and_green_last() {
    let mut b = bench(&[
        ("min_threshold", "5 packets"),
        ("max_threshold", "60 packets"),
        ("weight", "0.02"),
    ]);
    let mut script = Stream::new(2, "script");
    for id in 0..60_000 {
        b.arrive(packet(id, [GREEN, YELLOW, RED][id as usize % 3]));
        while script.chance(0.5) {
            b.serve();
        }
    }
    let dropped = |dscp: u8| b.log.dropped.iter().filter(|d| d.0.dscp == dscp).count();
    let [green, yellow, red] = [GREEN, YELLOW, RED].map(dropped);
    assert!(2 * red > 3 * yellow && yellow > 3 * green, "{green} {yellow} {red}");
}

/// Held averages: the mean gap of each spacing, at probability 0.1.
#[test]
fn gaps_of_each_spacing() {
    for (spacing, expected) in [("uniform", 5.5), ("geometric", 10.0), ("wait", 15.5)] {
        let mut b = bench(&[
            ("weight", "0"),
            ("initial_average", "50 packets"),
            ("min_threshold", "0 packets"),
            ("max_threshold", "100 packets"),
            ("max_probability", "0.2"),
            ("spacing", spacing),
        ]);
        let n = 400_000;
        for id in 0..n {
            b.arrive(packet(id, YELLOW));
            b.serve();
        }
        let dropped = b.log.drops(DropReason::Early);
        let gap = n as f64 / dropped.len() as f64;
        assert!((gap / expected - 1.0).abs() < 0.01, "{spacing}: {gap}");
        if spacing == "uniform" {
            assert!(dropped.windows(2).all(|w| (1..=10).contains(&(w[1] - w[0]))));
            assert!((dropped.len() as f64 / n as f64 - 0.182).abs() < 0.002);
        }
    }
}

/// The ramp of the second phase in both its forms.
#[test]
fn the_second_phase() {
    let b = bench(P1);
    let ramp = b.queue.admission.classes[2].ramp;
    assert_eq!((ramp.base(2520.0), ramp.base(5040.0)), (0.1, 1.0));
    for a in [2600.0, 3000.0, 4444.0, 5039.0] {
        let closed = a / 2520.0 * 0.9 + 2.0 * 0.1 - 1.0;
        assert!((ramp.base(a) - closed).abs() < 1e-12);
    }
}

/// Marks in the first phase, drops in the second and beyond, also of capable packets.
#[test]
fn marks_end_at_the_upper_threshold() {
    for (average, marks, drops) in [
        ("99 packets", true, false),
        ("120 packets", false, true),
        ("200 packets", false, true),
    ] {
        let mut b = bench(&[
            ("weight", "0"),
            ("initial_average", average),
            ("min_threshold", "10 packets"),
            ("max_threshold", "100 packets"),
            ("ecn", "true"),
        ]);
        for id in 0..2000 {
            b.arrive(packet(id, RED).capable());
            b.serve();
        }
        assert_eq!(
            (!b.log.marked.is_empty(), !b.log.dropped.is_empty()),
            (marks, drops),
            "{average}"
        );
        b.arrive(packet(2000, RED));
        b.log.dropped.clear();
        for id in 2001..3000 {
            b.arrive(packet(id, RED));
            b.serve();
        }
        assert!(!b.log.dropped.is_empty(), "what cannot be marked is dropped");
    }
}

/// The backlog has drained below K, the average has not: nothing is signalled. The other modes signal.
#[test]
fn the_gate_is_the_backlog_of_the_population() {
    let held_settings = |mode: &'static str| {
        vec![
            ("mode", mode),
            ("weight", "0"),
            ("initial_average", "300 packets"),
            ("min_threshold", "10 packets"),
            ("middle_threshold", "20 packets"),
            ("max_threshold", "100 packets"),
        ]
    };
    let offered = |b: &mut Bench<Fifo<TestPacket, Redn>>, from: u64, colours: [u8; 2]| {
        for id in from..from + 200 {
            b.arrive(packet(id, colours[id as usize % 2]));
        }
        b.log.drops(DropReason::Forced).len()
    };
    let mut b = bench(&held_settings("adaptive_redn"));
    assert_eq!(
        offered(&mut b, 0, [GREEN, YELLOW]),
        185,
        "ten of both wait, and then five more of green"
    );
    assert_eq!([0, 1].map(|c| b.probe("backlog", c)), [10.0, 5.0]);
    let mut b = bench(&held_settings("self_redn"));
    assert_eq!(offered(&mut b, 0, [GREEN, YELLOW]), 200);
    let mut open = held_settings("adaptive_redn");
    open.push(("queue_threshold", "0 packets"));
    assert_eq!(offered(&mut bench(&open), 0, [GREEN, YELLOW]), 200);
}

/// Three equal regions that end at 0.05, 0.1 and 0.2, then the second phase.
#[test]
fn stepped_red() {
    let b = bench(&[P1, &[("mode", "stepped_red")]].concat());
    let ramp = b.queue.admission.classes[1].ramp;
    for (average, p) in [
        (189.0, 0.0),
        (966.0, 0.05),
        (1354.5, 0.075),
        (1743.0, 0.1),
        (2131.5, 0.15),
        (2520.0, 0.2),
        (3780.0, 0.6),
    ] {
        assert!(
            (ramp.base(average) - p).abs() < 1e-12,
            "{average}: {}",
            ramp.base(average)
        );
    }
}

#[test]
fn without_thresholds_they_follow_the_guidelines() {
    let thresholds_of = |rate, overrides: &[(&str, &str)]| {
        let c = Config::from_settings(&settings(overrides), &place(rate)).unwrap();
        (
            c.ramps[0].max_threshold,
            c.limits[1].middle,
            c.ramps[2].min_threshold,
            c.gates[1],
        )
    };
    let adaptive = ("mode", "adaptive_redn");
    assert_eq!(
        thresholds_of(201_600_000, &[adaptive]),
        (2520.0, Some(378.0), 189.0, 189.0)
    );
    assert_eq!(
        thresholds_of(273_600_000, &[adaptive]),
        (3420.0, Some(513.0), 256.0, 256.0)
    );
    assert_eq!(
        thresholds_of(403_200_000, &[adaptive]),
        (5040.0, Some(756.0), 378.0, 378.0)
    );
    assert_eq!(
        thresholds_of(201_600_000, &[("mode", "stepped_red")]),
        (2520.0, None, 189.0, 0.0)
    );
    // In bytes, of mean packets; a short buffer and a slow line have bounds.
    assert_eq!(thresholds_of(201_600_000, &[adaptive, ("buffer", "9MB")]).2, 189_000.0);
    assert_eq!(
        thresholds_of(201_600_000, &[adaptive, ("buffer", "100 packets")]),
        (50.0, Some(25.0), 12.0, 12.0)
    );
    assert_eq!(thresholds_of(1_000_000, &[adaptive]), (20.0, Some(10.0), 5.0, 5.0));
}

#[test]
fn any_parameter_may_differ_by_colour() {
    let c = |with: &[(&str, &str)]| Config::from_settings(&settings(with), &place(RATE.0)).unwrap();
    let config = c(&[
        ("mode", "adaptive_redn"),
        ("max_threshold", "[40 packets, 30 packets, 20 packets]"),
        ("max_probability", "[0.02, 0.05, 0.1]"),
        ("increase", "[2, 3, 4]"),
        ("use_middle", "true"),
        ("gentle", "[true, false, false]"),
        ("ecn", "[false, false, true]"),
        ("spacing", "[uniform, wait, geometric]"),
    ]);
    assert_eq!(config.ramps.map(|r| r.max_threshold), [40.0, 30.0, 20.0]);
    assert_eq!(
        config.limits.map(|l| (l.fixed, l.initial, l.increase)),
        [(0.02, 0.02, 2.0), (0.05, 0.05, 3.0), (0.1, 0.1, 4.0)]
    );
    assert!(config.limits.iter().all(|l| l.middle.is_some()));
    assert_eq!(config.ramps.map(|r| r.gentle), [true, false, false]);
    assert_eq!(
        config.rules.clone().map(|r| (r.ecn, r.spread, r.wait)),
        [(false, true, false), (false, true, true), (true, false, false)]
    );
    assert!(
        entry::<TestPacket>()
            .facts
            .marks(&settings(&[("ecn", "[false, false, true]")]))
    );
    assert!(!entry::<TestPacket>().facts.marks(&settings(&[])));
    for contradiction in [
        &[("min_threshold", "30 packets"), ("max_threshold", "20 packets")][..],
        &[
            ("mode", "adaptive_redn"),
            ("min_threshold", "8 packets"),
            ("middle_threshold", "7 packets"),
        ],
        &[("min_threshold", "3KB")],
    ] {
        let e = Config::from_settings(&settings(contradiction), &place(RATE.0)).unwrap_err();
        assert!(!e.remedy.is_empty(), "{e}");
    }
}

/// With `moves = "all"` red packets move the average of green too.
#[test]
fn an_arrival_can_move_all_averages() {
    let green_after = |moves: &str| {
        let mut b = bench(&[
            ("moves", moves),
            ("weight", "0.5"),
            ("initial_average", "[64 packets, 0 packets, 0 packets]"),
        ]);
        b.arrive(packet(0, GREEN));
        (1..4).for_each(|id| b.arrive(packet(id, RED)));
        b.probe("average", 0)
    };
    // By the green one to 32; three red ones find one green packet or none.
    assert_eq!(green_after("population"), 32.0);
    let all = green_after("all");
    assert!((4.0..5.0).contains(&all), "{all}");
}

/// Every change is told, with the colour; nothing else is.
#[test]
fn changes_are_told() {
    let settings = [
        P1,
        &[("mode", "adaptive_redn"), ("weight", "1"), ("buffer", "unlimited")],
    ]
    .concat();
    let mut b = bench(&settings);
    for id in 0..400 {
        b.arrive(packet(id, YELLOW));
    }
    assert!(b.log.notes.is_empty(), "it rose through the middle with Pd = Ps");
    b.drain();
    b.arrive(packet(400, YELLOW));
    let third = 0.1 / 3.0;
    let notes: Vec<(u16, u32, f64)> = b.log.notes.iter().map(|n| (n.0.0, n.1, n.2)).collect();
    let of = |k| [(3, k, third), (4, k, 0.1), (5, k, third), (6, k, 0.0)];
    assert_eq!(notes, [of(1), of(2)].concat());
    assert_eq!((b.probe("dynamic", 1), b.probe("effective", 0)), (third, 0.1));
}

#[test]
fn the_static_probability_is_adapted_each_second() {
    let mut b = bench(&[
        ("mode", "adaptive_redn"),
        ("adapt_static", "true"),
        ("weight", "0"),
        ("initial_average", "[0 packets, 2000 packets, 300 packets]"),
        ("min_threshold", "189 packets"),
        ("middle_threshold", "378 packets"),
        ("max_threshold", "2520 packets"),
    ]);
    b.pass(Duration::from_millis(3500));
    let fixed = [0, 1, 2].map(|c| b.probe("static", c));
    assert_eq!(fixed[0], 0.1, "green has no middle threshold");
    assert!((fixed[1] - 0.1 * 1.1_f64.powi(3)).abs() < 1e-12);
    assert!((fixed[2] - 0.101).abs() < 1e-12, "above the dynamic one");
    assert!(
        b.queue.admission.seconds.is_some() && bench(&[("adapt_static", "true")]).queue.admission.seconds.is_none()
    );
}

/// What another AQM drops of what waits is gone from the books of its colour; CHOKe goes by the average of all.
#[test]
fn pre_filters_stand_before_it() {
    use crate::registry;
    let settings_with = |before| {
        settings(&[
            ("before", before),
            ("min_threshold", "5 packets"),
            ("max_threshold", "200 packets"),
            ("weight", "0.02"),
        ])
        .with("buffer", "400 packets")
    };
    let mut b = Bench::new(registry::build(&settings_with("[choke]"), place(RATE.0)).unwrap());
    for id in 0..3000 {
        b.arrive(packet(id, [GREEN, YELLOW, RED][id as usize % 3]));
        if id % 2 == 0 {
            b.serve();
        }
    }
    assert!(b.log.drops(DropReason::Match).len() > 100);
    let held: f64 = (0..3).map(|c| b.probe("backlog", c)).sum();
    assert_eq!(held, b.backlog().packets as f64);
    let names: Vec<&str> = b.queue.probes().iter().map(|p| p.name).collect();
    assert!(
        names[..7]
            == [
                "average",
                "backlog",
                "probability",
                "dynamic",
                "static",
                "effective",
                "source"
            ]
    );
    assert!(registry::build::<TestPacket>(&settings_with("[red-pd]"), place(RATE.0)).is_ok());
    let e = registry::build::<TestPacket>(&settings_with("[red-pd, codel]"), place(RATE.0))
        .err()
        .unwrap();
    assert!(
        e.path == "before[1]" && e.problem.contains("codel decides when packets leave"),
        "{e:?}"
    );
    // A detector sees all arrivals and changes nothing.
    let run = |s: Settings| {
        let mut b = Bench::new(registry::build(&s, place(RATE.0)).unwrap());
        for id in 0..3000 {
            b.arrive(packet(id, [GREEN, YELLOW, RED][id as usize % 3]));
            if id % 2 == 0 {
                b.serve();
            }
        }
        (b.log.dropped.len(), b.probe("average", 2))
    };
    let mut detected = settings_with("none");
    let detector = Settings::defaults(&crate::aqm::red::sred::MODEL).with("form", "detector");
    let inner = tailback_base::Value::Model(Box::new(detector));
    detected.set_models("before", tailback_base::Value::List(vec![inner]));
    let (drops, average) = run(detected);
    assert!(drops > 0 && average > 5.0, "{drops} {average}");
}
