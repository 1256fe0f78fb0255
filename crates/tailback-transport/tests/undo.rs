//! Spurious repairs: how they are detected (Eifel, D-SACK, F-RTO), and what is restored.

mod common;

use common::{Fate, PAYLOAD, Path, config, lose, number};
use tailback_base::{Duration, Ecn, Time};
use tailback_transport::tcp::{Sender, new_pair};
use tailback_transport::{Amount, Endpoint, Flags, SackBlocks, Segment, Transmit};

fn ms(t: u64) -> Time {
    Time(t * 1_000_000)
}

fn seq(n: u64) -> u64 {
    1 + (n - 1) * PAYLOAD
}

/// An ACK of all up to segment `n`, with reports of whole segments `from..=to`; `echoed` if there are time stamps.
fn ack(n: u64, reports: &[(u64, u64)], echoed: Option<u64>) -> Segment {
    Segment {
        seq: 1,
        payload: 0,
        ack: seq(n + 1),
        flags: Flags::ACK,
        ecn: Ecn::NotEct,
        bytes: 40,
        sack: reports
            .iter()
            .map(|(from, to)| (seq(*from), seq(to + 1)))
            .collect::<SackBlocks>(),
        timestamps: echoed.map(|t| (Time::ZERO, ms(t))),
        window: None,
    }
}

fn sent(s: &mut Sender, now: Time) -> Vec<u64> {
    let mut out = Vec::new();
    while let Transmit::Segment(x) = s.poll_transmit(now) {
        out.push(number(&x));
    }
    out
}

fn answer(s: &mut Sender, a: &Segment, now: Time) -> Vec<u64> {
    s.on_segment(a, now, &mut ());
    sent(s, now)
}

/// Ten segments out at time 0, unlimited data; without probes, which would be sent before the timer expires.
fn ten_out(values: &[(&str, &str)]) -> Sender {
    let base = [
        ("variant", "sack"),
        ("syn", "false"),
        ("ecn", "off"),
        ("tlp", "false"),
        ("undo", "full"),
        ("frto", "true"),
        ("initial_window", "10 packets"),
    ];
    let all: Vec<(&str, &str)> = base.iter().chain(values).copied().collect();
    let (mut s, _) = new_pair(&config(&all));
    s.write(Amount::Unlimited, ms(0));
    assert_eq!(sent(&mut s, ms(0)).len(), 10);
    s
}

const FORMS: [&[(&str, &str)]; 3] = [
    &[("loss", "dupthresh")],
    &[("loss", "rack")],
    &[("loss", "rack"), ("rack_form", "linux")],
];

/// The path stands still past one timeout, then ten ACKs arrive. With time stamps the first one shows that the
/// original arrived; without them, the second one covers data that was never sent again. In total one segment is sent
/// again.
#[test]
fn a_spurious_timeout_is_taken_back() {
    for form in FORMS {
        for stamps in [true, false] {
            let with_stamps = [form, &[("timestamps", if stamps { "true" } else { "false" })]].concat();
            let mut s = ten_out(&with_stamps);
            s.on_timeout(ms(1000), &mut ());
            assert_eq!(sent(&mut s, ms(1000)), [1], "{form:?}");
            assert_eq!((s.cwnd(), s.ssthresh()), (1000.0, 5000.0));
            let mut again = 0;
            for n in 1..=10 {
                let echoed = stamps.then_some(0);
                let out = answer(&mut s, &ack(n, &[], echoed), ms(1010 + n));
                again += out.iter().filter(|m| **m <= 10).count();
                let undone = s.ssthresh().is_infinite();
                assert_eq!(undone, n > u64::from(!stamps), "{form:?}, stamps {stamps}, ACK {n}");
                if n == 1 && !stamps {
                    assert_eq!(out, [11, 12], "two new segments for the test");
                }
                if n == 1 + u64::from(!stamps) {
                    // Ten, plus what this ACK itself opens.
                    assert_eq!(s.cwnd(), 11_000.0, "{form:?}");
                }
            }
            assert_eq!((again, s.report(ms(1020)).timeouts), (0, 1));
            assert_eq!(s.report(ms(1020)).retransmitted_packets, 1, "{form:?}");
            // By now the backoff is gone: no more than a second after the last ACK.
            assert!(s.next_timeout().unwrap() < ms(1020) + Duration::from_millis(3100));
        }
    }
}

/// Two timeouts for the same segment: the test is made again, and what the first timeout took is restored.
#[test]
fn a_second_timeout_is_tested_too() {
    for form in FORMS {
        let mut s = ten_out(form);
        s.on_timeout(ms(1000), &mut ());
        assert_eq!(sent(&mut s, ms(1000)), [1]);
        s.on_timeout(ms(3000), &mut ());
        assert_eq!(sent(&mut s, ms(3000)), [1]);
        assert_eq!(answer(&mut s, &ack(1, &[], None), ms(3010)), [11, 12], "{form:?}");
        answer(&mut s, &ack(2, &[], None), ms(3011));
        assert_eq!((s.cwnd(), s.ssthresh()), (11_000.0, f64::INFINITY), "{form:?}");
    }
}

/// All ten lost: the ACK of the first releases 11 and 12, the report of 11 ends the test, and 2 to 10 are sent again.
#[test]
fn a_real_timeout_is_repaired_after_the_test() {
    for form in FORMS {
        let mut s = ten_out(form);
        s.on_timeout(ms(1000), &mut ());
        assert_eq!(sent(&mut s, ms(1000)), [1]);
        assert_eq!(answer(&mut s, &ack(1, &[], None), ms(1100)), [11, 12], "{form:?}");
        let mut again = answer(&mut s, &ack(1, &[(11, 11)], None), ms(1200));
        assert!(!again.is_empty() && again[0] == 2, "{form:?}: {again:?}");
        assert!(s.cwnd() <= 3000.0, "{form:?}");
        let mut now = 1200;
        for n in 2..=10 {
            now += 20;
            again.extend(answer(&mut s, &ack(n, &[(11, 12)], None), ms(now)));
        }
        let old: Vec<u64> = again.iter().copied().filter(|n| *n <= 10).collect();
        assert_eq!(old, (2..=10).collect::<Vec<u64>>(), "{form:?}");
        assert_eq!((s.ssthresh(), s.report(ms(now)).timeouts), (5000.0, 1), "{form:?}");
    }
}

/// Without SACK the answer to the repeat covers what had arrived behind it, and proves nothing; a duplicate ends the
/// test.
#[test]
fn without_sack_only_the_second_ack_proves_something() {
    let started = || {
        let mut s = ten_out(&[("variant", "newreno")]);
        s.on_timeout(ms(1000), &mut ());
        assert_eq!(sent(&mut s, ms(1000)), [1]);
        s
    };
    let mut s = started();
    assert_eq!(answer(&mut s, &ack(5, &[], None), ms(1100)), [11, 12]);
    assert_eq!(s.ssthresh(), 5000.0);
    assert_eq!(
        answer(&mut s, &ack(5, &[], None), ms(1200)),
        [6, 7],
        "a duplicate: the rest was lost"
    );
    assert_eq!(s.ssthresh(), 5000.0);
    let mut s = started();
    answer(&mut s, &ack(1, &[], None), ms(1100));
    answer(&mut s, &ack(2, &[], None), ms(1101));
    assert!(s.ssthresh().is_infinite());
    let mut s = started();
    assert_eq!(answer(&mut s, &ack(0, &[], None), ms(1100)), Vec::<u64>::new());
    assert_eq!(
        answer(&mut s, &ack(3, &[], None), ms(1101)),
        [4, 5],
        "the test ended with the duplicate"
    );
}

fn delayed_by_five(values: &[(&str, &str)], marked: Option<u64>) -> Path {
    let base = [
        ("variant", "sack"),
        ("dsack", "true"),
        ("undo", "full"),
        ("ecn", "on"),
        ("initial_window", "20 packets"),
        ("initial_ssthresh", "20 packets"),
        ("limited_transmit", "false"),
        ("syn", "false"),
    ];
    let all: Vec<(&str, &str)> = base.iter().chain(values).copied().collect();
    let mut p = Path::new(&config(&all), 50);
    p.sender.write(Amount::Unlimited, Time::ZERO);
    let mut windows = Vec::new();
    for step in 1..250 {
        p.run(f64::from(step) * 0.001, &mut |s, i| match number(s) {
            1 if i == 0 => Fate::Late(Duration::from_micros(5500)),
            n if marked == Some(n) => Fate::Mark,
            _ if i < 20 => Fate::Late(Duration::from_millis(i as u64)),
            _ => Fate::Pass,
        });
        windows.push(p.cwnd());
    }
    assert!(windows.contains(&10.0), "{windows:?}");
    p
}

/// A segment that five others overtake, a window of 20 and no time stamps: it is sent again spuriously and the window
/// is halved; the D-SACK a round trip later restores it. With a mark of congestion in between the window stays
/// halved.
#[test]
fn a_duplicate_report_takes_back_a_spurious_repair() {
    let p = delayed_by_five(&[], None);
    assert_eq!(p.repeated(), [1]);
    assert_eq!(p.ssthresh(), 20.0);
    assert!(p.cwnd() >= 20.0 && p.cwnd() < 24.0, "{}", p.cwnd());
    let p = delayed_by_five(&[], Some(21));
    assert_eq!((p.repeated(), p.ssthresh()), (vec![1], 10.0));
    let p = delayed_by_five(&[("undo", "off")], None);
    assert_eq!(p.ssthresh(), 10.0);
    // Nothing reports it.
    let p = delayed_by_five(&[("dsack", "false")], None);
    assert_eq!(p.ssthresh(), 10.0);
    // Time stamps show it with the ACK of the original, before the D-SACK.
    let p = delayed_by_five(&[("timestamps", "true"), ("dsack", "false")], None);
    assert_eq!(p.ssthresh(), 20.0);
}

/// RFC 4015: the window is what is outstanding plus what the ACK has acknowledged, so that there is no burst.
#[test]
fn the_gentle_form_keeps_to_what_is_outstanding() {
    for (undo, window) in [("full", 11_000.0), ("rfc4015", 10_000.0)] {
        let mut s = ten_out(&[("undo", undo), ("timestamps", "true")]);
        // Three ACKs before the path stands still: a window of 13.
        for n in 1..=3 {
            answer(&mut s, &ack(n, &[], Some(0)), ms(40 + n));
        }
        let (before, out) = (s.cwnd(), s.outstanding());
        let at = s.next_timeout().unwrap();
        s.on_timeout(at, &mut ());
        sent(&mut s, at);
        let rto = s.read(4);
        answer(&mut s, &ack(4, &[], Some(41)), at + Duration::from_millis(10));
        let expected = if undo == "full" {
            before + 1000.0
        } else {
            out as f64 + 1000.0
        };
        assert_eq!(s.cwnd(), expected, "{undo}, {window}");
        assert!(s.ssthresh().is_infinite());
        // The round trip that timed out counts fully: srtt is at least that long, more than a second.
        assert_eq!(s.read(2) > 0.9, undo == "rfc4015", "{undo}: {} s, {rto}", s.read(2));
    }
}

/// The same for CUBIC: the curve continues as if nothing had happened.
#[test]
fn the_curve_of_cubic_comes_back() {
    let run = |undo: &str| {
        let values = [
            ("congestion", "cubic"),
            ("undo", undo),
            ("dsack", "true"),
            ("variant", "sack"),
            ("initial_ssthresh", "20 packets"),
            ("initial_window", "20 packets"),
            ("syn", "false"),
        ];
        let mut p = Path::new(&config(&values), 50);
        p.sender.write(Amount::Unlimited, Time::ZERO);
        p.run(0.45, &mut |s, i| match number(s) {
            1 if i == 0 => Fate::Late(Duration::from_micros(5500)),
            _ if i < 20 => Fate::Late(Duration::from_millis(i as u64)),
            _ => Fate::Pass,
        });
        (p.cwnd(), p.sender.read(9))
    };
    let ((window, most), (reduced, _)) = (run("full"), run("off"));
    assert!(window >= 20.0 && reduced < 18.0, "{window}, {reduced}");
    // No maximum is remembered, because none was reached.
    assert!(most >= 20.0 && most <= window, "{most}");
}

/// Contradictions are refused, with what to write instead.
#[test]
fn a_test_without_an_undo_is_refused() {
    use tailback_base::Settings;
    use tailback_transport::tcp::{Config, MODEL};
    let refused = |values: &[(&str, &str)]| {
        let s = values.iter().fold(Settings::defaults(&MODEL), |s, (n, v)| s.with(n, v));
        Config::resolve(&s, &[]).unwrap_err()
    };
    assert!(refused(&[("frto", "true")]).remedy.contains("undo = \"full\""));
    assert!(
        refused(&[("frto", "true"), ("undo", "full"), ("timeout_reaction", "halve")])
            .problem
            .contains("goes back")
    );
    assert!(
        refused(&[("prr", "losses"), ("variant", "tahoe")])
            .problem
            .contains("tahoe")
    );
}

/// A whole transfer over a path that sometimes stands still: with the test fewer segments are sent again, and it ends
/// earlier.
#[test]
fn a_path_that_stands_still_costs_less() {
    let run = |values: &[(&str, &str)]| {
        let base = [("variant", "sack"), ("min_rto", "200ms"), ("ecn", "off")];
        let all: Vec<(&str, &str)> = base.iter().chain(values).copied().collect();
        let mut p = Path::new(&config(&all), 25);
        p.sender.write(Amount::Bytes(400 * PAYLOAD), Time::ZERO);
        let mut hand = lose(&[]);
        let mut arrives = Time::ZERO;
        for step in 1..4000 {
            let now = f64::from(step) * 0.001;
            p.run(now, &mut |s, i| {
                // Nothing moves from 0.2 s to 0.7 s; what was sent then arrives in order after it.
                let leaves = ms(step as u64);
                if hand(s, i) == Fate::Pass && leaves >= ms(200) && leaves < ms(700) {
                    arrives = arrives.max(ms(700)) + Duration::from_micros(100);
                    return Fate::Late(arrives.since(leaves));
                }
                Fate::Pass
            });
        }
        assert_eq!(p.receiver.received_bytes(), 400 * PAYLOAD);
        (p.repeated().len(), p.acks.last().unwrap().0.seconds())
    };
    let plain = run(&[]);
    for values in [
        &[("undo", "full"), ("frto", "true")][..],
        &[("undo", "full"), ("frto", "true"), ("loss", "rack")],
        &[("undo", "full"), ("timestamps", "true")],
    ] {
        let tested = run(values);
        println!("{values:?}: {tested:?} against {plain:?}");
        assert!(
            tested.0 + 5 < plain.0 && tested.1 < plain.1,
            "{values:?}: {tested:?}, {plain:?}"
        );
    }
}
