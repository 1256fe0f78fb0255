//! Tests of what each reading of the thesis has to do.

use super::alone::Alone;
use super::*;
use crate::aqm::red::{self, Red};
use crate::contract::build_context::BuildContext;
use crate::contract::discipline::OnWire;
use crate::contract::testing::{Bench, ClosedLoop, TestPacket};
use crate::contract::view::{Handle, QueueView};
use crate::entry::Configured;
use crate::fifo::Fifo;
use tailback_base::{Duration, FlowId, Settings};

type Queue = Alone<TestPacket>;

fn queue(with: &[(&str, &str)]) -> Queue {
    let base = Settings::defaults(&MODEL);
    let settings = with.iter().fold(base, |s, (name, text)| s.with(name, text));
    let settings = settings.with_profile(&[]).unwrap();
    Alone::new(Config::from_settings(&settings).unwrap(), Stream::new(1, "test"))
}

/// A queue behind a line that a test never frees.
fn bench(with: &[(&str, &str)]) -> Bench<Queue> {
    let mut b = Bench::new(queue(with));
    b.busy = Some(OnWire {
        until: Time::NEVER,
        flow: FlowId(0),
        pair: 0,
        bytes: 500,
    });
    b
}

/// The same with its average held.
fn held(average: &str, with: &[(&str, &str)]) -> Bench<Queue> {
    let all = [&[("weight", "0"), ("initial_average", average)], with].concat();
    bench(&all)
}

fn plain(id: u64) -> TestPacket {
    TestPacket::new(id, 0, 500)
}

#[test]
fn a_calm_queue_leaves_everything_alone() {
    let mut b = bench(&[]);
    let mut pattern = Stream::new(7, "pattern");
    for id in 0..20_000 {
        b.arrive(if id % 2 == 0 { plain(id) } else { plain(id).capable() });
        while pattern.chance(0.8) || b.backlog().packets > 20 {
            b.serve();
        }
        b.pass(Duration::from_millis(1));
        assert!(b.probe("average", 0) < 5.0);
    }
    assert!(b.log.dropped.is_empty() && b.log.marked.is_empty() && b.log.requests.is_empty());
}

/// A ramp of the average in steps of 100 B, which are smaller than a level.
fn ramp(b: &mut Bench<Queue>, from: u64, to: u64) {
    for id in from / 100..to / 100 {
        b.arrive(TestPacket::new(id, 0, 100).capable());
    }
}

#[test]
fn each_level_is_asked_for_once_on_the_way_up() {
    let of_mean = [
        ("buffer", "50kB"),
        ("weight", "1"),
        ("max_probability", "0"),
        ("token_use", "none"),
    ];
    let shares = [("min_threshold", "20%"), ("max_threshold", "80%")];
    for (overrides, top, below, levels) in [
        (of_mean.to_vec(), 7_500, 5_500, 15),
        ([&of_mean[..], &shares[..]].concat(), 40_000, 29_900, 20),
    ] {
        let mut b = bench(&overrides);
        ramp(&mut b, 0, top);
        assert_eq!(b.log.marks(MarkReason::Request).len(), levels);
        while b.backlog().bytes > below {
            b.serve();
        }
        ramp(&mut b, below, top);
        assert_eq!(b.log.marks(MarkReason::Request).len(), 2 * levels);
        assert_eq!(b.log.marked.len(), 2 * levels, "nothing is picked");
    }
}

/// A step down re-arms the levels above it only under the rule that says so.
#[test]
fn levels_follow_the_average_down_if_they_are_to() {
    for (rearm, rearmed) in [("leave", 0), ("step", 6)] {
        let settings = [
            ("buffer", "50kB"),
            ("weight", "1"),
            ("max_probability", "0"),
            ("token_use", "none"),
        ];
        let mut b = bench(&[&settings[..], &[("rearm", rearm)]].concat());
        ramp(&mut b, 0, 7_500);
        // From level 14 down to 6600 B, which is level 7: the highest is 8 then, and 9 to 14 are asked for again.
        while b.backlog().bytes > 6_600 {
            b.serve();
        }
        ramp(&mut b, 6_600, 7_500);
        assert_eq!(b.log.marks(MarkReason::Request).len(), 15 + rearmed, "{rearm}");
    }
}

#[test]
fn a_source_is_asked_by_level() {
    let settings = [
        ("buffer", "50kB"),
        ("weight", "1"),
        ("max_probability", "0"),
        ("token_use", "none"),
        ("request", "explicit"),
    ];
    let mut b = bench(&settings);
    ramp(&mut b, 0, 7_500);
    let levels: Vec<Request> = b.log.requests.iter().map(|r| r.1).collect();
    let expected: Vec<Request> = (0..15).map(|level| Request::SlowDown { level, of: 15 }).collect();
    assert_eq!(levels, expected);
    assert!(b.log.marked.is_empty());
    let mut both = bench(&[&settings[..4], &[("request", "both")]].concat());
    ramp(&mut both, 0, 7_500);
    assert_eq!((both.log.requests.len(), both.log.marked.len()), (15, 15));
}

#[test]
fn a_request_waits_for_a_packet_that_can_carry_it() {
    let mut b = held("12 packets", &[("max_probability", "0"), ("token_use", "none")]);
    for id in 0..3 {
        b.arrive(plain(id));
    }
    for id in 3..6 {
        b.arrive(plain(id).capable());
    }
    assert_eq!(b.log.marks(MarkReason::Request), [3]);
}

#[test]
fn tokens_come_at_the_rate_of_the_zone() {
    for (average, slope, hot) in [
        ("2 packets", 8000.0, "false"),
        ("8 packets", 8000.0, "false"),
        ("12 packets", 16000.0, "false"),
        ("20 packets", 8000.0, "false"),
        ("20 packets", 16000.0, "true"),
    ] {
        let mut b = held(
            average,
            &[("token_use", "none"), ("start_full", "false"), ("boost_hot", hot)],
        );
        for (second, id) in (0..5).zip(0..) {
            b.arrive(plain(id));
            assert_eq!(
                b.probe("tokens", 0),
                (slope * f64::from(second)).min(30_000.0),
                "{average}"
            );
            b.pass(Duration::from_seconds(1.0));
        }
    }
}

/// Picked packets that cannot be marked, far more than the tokens of 16,000 B/s pay for.
#[test]
fn what_tokens_pay_for_is_bounded_by_them() {
    for (short, seconds) in [("keep", 20), ("fluid", 200)] {
        let mut b = held("14 packets", &[("token_use", "rescue"), ("short", short)]);
        for ms in 0..1000 * seconds {
            b.arrive(plain(ms));
            b.serve();
            let allowed = 30_000.0 + 16.0 * ms as f64;
            let funded = 500.0 * b.probe("funded", 0);
            assert!(
                short == "fluid" || funded <= allowed,
                "{funded} of {allowed} B after {ms} ms"
            );
            b.pass(Duration::from_millis(1));
        }
        let allowed = 30_000.0 + 16_000.0 * seconds as f64;
        let share = 500.0 * b.probe("funded", 0) / allowed;
        assert!((share - 1.0).abs() < 0.02, "{short}: {share} of what tokens allow");
        assert!(!b.log.drops(DropReason::Early).is_empty());
    }
}

/// Without its own two courses it is RED, decision for decision.
#[test]
fn without_requests_and_tokens_it_is_red() {
    let buffer = ("buffer", "18 packets");
    let own_settings = [("token_use", "none"), ("request", "none"), ("weight", "0.05"), buffer];
    let red_has = [
        buffer,
        ("weight", "0.05"),
        ("ecn", "true"),
        ("mark_cap", "1"),
        ("wait", "false"),
        ("gentle", "false"),
        ("min_threshold", "5 packets"),
        ("max_threshold", "15 packets"),
    ];
    let settings = red_has
        .iter()
        .fold(Settings::defaults(&red::MODEL), |s, (name, text)| s.with(name, text));
    let context = BuildContext {
        stream: Stream::new(1, "test"),
        rate: BitRate(1_000_000),
        delay: Duration::ZERO,
    };
    let red = Red::configured(&settings, context).unwrap();
    let (mut ours, mut theirs) = (
        Bench::new(queue(&own_settings)),
        Bench::new(Fifo::from_settings(&settings, red)),
    );
    let mut pattern = Stream::new(3, "pattern");
    for id in 0..200_000 {
        let p = if pattern.chance(0.5) {
            plain(id).capable()
        } else {
            plain(id)
        };
        ours.arrive(p);
        theirs.arrive(p);
        let (load, gap) = (0.3 + 0.6 * ((id / 5000) % 2) as f64, pattern.below(4_000_000));
        if pattern.chance(load) {
            assert_eq!(ours.serve(), theirs.serve());
        }
        ours.pass(Duration(gap));
        theirs.pass(Duration(gap));
    }
    assert_eq!(ours.log.dropped, theirs.log.dropped);
    assert_eq!(ours.log.marked, theirs.log.marked);
    for why in [DropReason::Early, DropReason::Forced, DropReason::Overflow] {
        assert!(!ours.log.drops(why).is_empty(), "{why:?} was not met");
    }
}

/// 64 kb/s are 16 packets a second, twice that before congestion, and the bucket once; 4.27 and 8.53 % of the line.
#[test]
fn a_shaper_sends_as_fast_as_its_tokens_come() {
    for (average, packets) in [("2 packets", 1660), ("12 packets", 3260)] {
        let settings = [
            ("profile", "shape"),
            ("weight", "0"),
            ("initial_average", average),
            ("max_probability", "0"),
        ];
        let mut l = ClosedLoop::new(Box::new(queue(&settings)), BitRate(1_500_000));
        let flow = l.constant(500, Duration::from_millis(2), Duration::ZERO);
        l.run(Duration::from_seconds(100.0));
        let sent = l.delays[flow as usize].len();
        assert!(sent.abs_diff(packets) <= 1, "{average}: {sent}");
    }
}

/// The worked start: packets back to back at an idle port; the first is in service.
#[test]
fn a_burst_goes_ahead_while_tokens_last() {
    for (n, inside, ahead, tokens) in [
        (12, 11.0, 0.0, 30_000.0),
        (13, 11.0, 1.0, 29_500.0),
        (72, 11.0, 60.0, 0.0),
        (73, 12.0, 60.0, 0.0),
        (80, 19.0, 60.0, 0.0),
    ] {
        let mut b = bench(&[]);
        let busy = b.busy.take();
        b.arrive(plain(0));
        assert_eq!(b.serve(), Some(0));
        b.busy = busy;
        for id in 1..n {
            b.arrive(plain(id));
        }
        let seen = ["inside", "ahead", "tokens"].map(|name| b.probe(name, 0));
        assert_eq!(seen, [inside, ahead, tokens], "after {n}");
        if n == 80 {
            assert!((b.probe("average", 0) - 1.551).abs() < 0.0005);
        }
        assert_eq!(b.drain(), (1..n).collect::<Vec<_>>(), "in order of arrival");
    }
}

#[test]
fn without_room_ahead_or_without_tokens_nothing_goes_ahead() {
    for (overrides, rescues) in [(("ahead_buffer", "0"), true), (("bucket", "0"), false)] {
        let mut b = held("14 packets", &[overrides, ("max_probability", "1")]);
        for id in 0..50 {
            b.arrive(plain(id));
        }
        assert_eq!(b.probe("ahead", 0), 0.0);
        assert_eq!(b.probe("funded", 0) > 0.0, rescues, "{overrides:?}");
    }
}

/// Marks are rare, then frequent, then there are none: above the upper threshold signals are drops.
#[test]
fn marks_grow_with_the_average_and_end_above_it() {
    let with = [("buffer", "50kB"), ("weight", "1"), ("token_use", "none")];
    let mut b = bench(&with);
    let mut share = [(0, 0); 4];
    for id in 0..15_000 {
        let before = b.log.marked.len();
        b.arrive(TestPacket::new(id, 0, 1).capable());
        let zone = &mut share[b.queue.aaqm.zone() as usize];
        *zone = (zone.0 + b.log.marked.len() - before, zone.1 + 1);
    }
    let [calm, early, pre, hot] = share.map(|(marks, all)| marks as f64 / f64::from(all));
    assert_eq!((calm, hot), (0.0, 0.0));
    // Twice the mean base probability, and one in 125 asked for.
    assert!(
        (early - 0.0625).abs() < 0.02 && (pre - 0.175 - 0.008).abs() < 0.03,
        "{early} {pre}"
    );
}

#[test]
fn the_buffer_may_be_no_larger_than_that_of_red() {
    for (profile, stored) in [("parity", 100), ("default", 160)] {
        let mut b = held("0 packets", &[("profile", profile)]);
        for id in 0..200 {
            b.arrive(plain(id));
        }
        assert_eq!(b.backlog().packets, stored);
        assert_eq!(b.log.drops(DropReason::Overflow).len(), 200 - stored as usize);
    }
}

/// Every packet that leaves at the pace of the line is charged, as far as there are tokens.
#[test]
fn the_literal_reading_empties_the_bucket_at_once() {
    let mut b = bench(&[("profile", "literal"), ("ahead_buffer", "0")]);
    for id in 0..80 {
        b.arrive(plain(id));
    }
    for sent in 0..70 {
        assert_eq!(b.probe("tokens", 0), (30_000.0 - 500.0 * f64::from(sent)).max(0.0));
        b.serve();
    }
}

#[test]
fn above_the_upper_threshold_only_the_asked_for_readings_keep_a_packet() {
    for (overrides, kept_packets) in [
        (vec![], 0),
        (vec![("above_max", "mark")], 10),
        (vec![("rescue_hot", "true")], 20),
    ] {
        let mut b = held("20 packets", &overrides);
        for id in 0..20 {
            b.arrive(if id < 10 { plain(id).capable() } else { plain(id) });
        }
        assert_eq!(b.backlog().packets, kept_packets, "{overrides:?}");
        assert_eq!(b.log.drops(DropReason::Forced).len(), 20 - kept_packets as usize);
    }
}

#[test]
fn nothing_need_happen_below_the_pre_congestion_threshold() {
    let mut b = held("11 packets", &[("early_zone", "none"), ("max_probability", "1")]);
    for id in 0..90 {
        b.arrive(plain(id));
    }
    assert!(b.log.dropped.is_empty());
}

#[test]
fn the_average_may_be_of_all_that_waits() {
    let bench_with = |of| {
        bench(&[
            ("weight", "1"),
            ("average_of", of),
            ("max_threshold", "200 packets"),
            ("pre_fraction", "0.05"),
        ])
    };
    // What stands at the threshold of 10 goes ahead at once.
    for (of, average) in [("in", 9.0), ("total", 39.0)] {
        let mut b = bench_with(of);
        for id in 0..40 {
            b.arrive(plain(id).capable());
        }
        assert_eq!(b.probe("average", 0), average, "{of}");
    }
}

#[test]
fn packets_are_seen_in_the_order_in_which_they_leave() {
    let mut b = bench(&[]);
    for id in 0..20 {
        b.arrive(plain(id));
    }
    let ids: Vec<u64> = (0..20).map(|i| b.queue.get(Handle(i)).unwrap().id).collect();
    assert_eq!(ids, (0..20).collect::<Vec<_>>());
    let line = b.line();
    for (at, id) in [(3, 3), (15, 16), (0, 0)] {
        assert_eq!(b.queue.remove(Handle(at), DropReason::Match, &line).unwrap().id, id);
    }
    assert_eq!((b.queue.oldest(), b.backlog().packets), (Some(Handle(0)), 17));
    assert_eq!(b.serve(), Some(1));
}

#[test]
fn what_contradicts_itself_is_refused() {
    for (overrides, says) in [
        (vec![("min_threshold", "12 packets")], "pre-congestion threshold"),
        (vec![("pre_fraction", "1")], "pre-congestion threshold"),
        (vec![("min_threshold", "0 packets")], "is zero"),
        (
            vec![("token_use", "shape"), ("bucket", "7"), ("bucket_unit", "bits")],
            "has to pay",
        ),
        (vec![("token_use", "shape"), ("boost", "0")], "no tokens come"),
    ] {
        let base = Settings::defaults(&MODEL);
        let settings = overrides.iter().fold(base, |s, (name, text)| s.with(name, text));
        let e = Config::from_settings(&settings).unwrap_err();
        assert!(format!("{e:?}").contains(says), "{e:?}");
    }
}
