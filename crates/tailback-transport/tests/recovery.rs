//! Loss recovery, ECN and the growth of the window: dialogues that distinguish the variants.

mod common;

use common::{Fate, PAYLOAD, Path, config, lose, number, pass};
use std::sync::Arc;
use tailback_base::{Ecn, Time};
use tailback_transport::tcp::Config;
use tailback_transport::{Amount, AppEvent, Endpoint, Flags, Segment};

fn window(variant: &str, segments: &str) -> Arc<Config> {
    config(&[
        ("variant", variant),
        ("initial_window", segments),
        ("min_rto", "200ms"),
        ("ecn", "off"),
    ])
}

/// Lose k segments of one window. Reno usually times out for three or more, NewReno leaves after k round trips
/// without a timeout, SACK after about one.
#[test]
fn several_losses_in_a_window() {
    const LOST: [&[u64]; 5] = [&[5], &[5, 8], &[5, 8, 11], &[5, 7, 9, 11], &[5, 7, 9, 11, 13]];
    for lost in LOST {
        let k = lost.len();
        let mut reports = Vec::new();
        for variant in ["reno", "newreno", "sack"] {
            let cfg = config(&[
                ("variant", variant),
                ("initial_window", "20 packets"),
                ("partial_ack_timer", "slow_but_steady"),
                ("min_rto", "400ms"),
                ("syn", "false"),
            ]);
            let mut p = Path::new(&cfg, 50);
            p.sender.write(Amount::Unlimited, Time::ZERO);
            let mut hand = lose(lost);
            // The time until recovery is over, in round trips of 0.1 s, since the loss was found at 0.1 s.
            let mut round_trips = 0.0;
            for step in 1..200 {
                p.run(0.1 + f64::from(step) * 0.01, &mut hand);
                if p.receiver.received_bytes() >= 20 * PAYLOAD && !p.sender.in_recovery() {
                    round_trips = f64::from(step) * 0.1;
                    break;
                }
            }
            reports.push((p.sender.report(p.now).timeouts, round_trips, p.repeated()));
        }
        let [reno, newreno, sack] = &reports[..] else {
            unreachable!()
        };
        if k >= 3 {
            assert!(reno.0 > 0, "Reno, {k} losses: no timeout");
        }
        assert_eq!(newreno.0, 0, "NewReno, {k} losses");
        assert!(
            (newreno.1 - k as f64).abs() <= 0.2,
            "NewReno, {k} losses: {} round trips",
            newreno.1
        );
        assert_eq!(sack.0, 0, "SACK, {k} losses");
        assert!(sack.1 <= 2.1, "SACK, {k} losses: {} round trips", sack.1);
        assert_eq!(
            (&newreno.2[..], &sack.2[..]),
            (lost, lost),
            "none repeated but the lost"
        );
    }
}

/// Segments 10, 12, 14 of a window of 20: three repeats within a round trip after the third duplicate, none of them
/// spurious, and the window halved once. Both forms.
#[test]
fn sack_repairs_three_losses_in_a_round_trip() {
    for form in ["rfc6675", "pipe"] {
        let cfg = config(&[
            ("variant", "sack"),
            ("sack_form", form),
            ("initial_window", "20 packets"),
            ("initial_ssthresh", "20 packets"),
            ("syn", "false"),
        ]);
        let mut p = Path::new(&cfg, 50);
        p.sender.write(Amount::Unlimited, Time::ZERO);
        // Segments arrive 1 ms apart, so that duplicates come one by one.
        let mut hand = lose(&[10, 12, 14]);
        let mut late = |s: &Segment, i: usize| match hand(s, i) {
            Fate::Pass if i < 20 => Fate::Late(tailback_base::Duration::from_millis(i as u64)),
            f => f,
        };
        let mut smallest: f64 = f64::INFINITY;
        for step in 1..400 {
            p.run(f64::from(step) * 0.001, &mut late);
            smallest = smallest.min(p.cwnd());
        }
        assert_eq!(p.repeated(), [10, 12, 14], "{form}");
        let again: Vec<f64> = p
            .sent
            .iter()
            .filter(|(_, s)| s.flags.has(Flags::RETRANSMISSION))
            .map(|(t, _)| t.seconds())
            .collect();
        assert!(again[2] - again[0] < 0.1, "{form}: {again:?}");
        let r = p.sender.report(p.now);
        assert_eq!((r.fast_retransmits, r.timeouts), (1, 0), "{form}");
        // 20 segments outstanding, and slightly more because of the nine ACKs before the loss.
        assert!((smallest - 10.2).abs() < 0.3, "{form}: {smallest}");
    }
}

/// RFC 6675 rule 4: the last segment lost after others, repaired without waiting for the timer.
#[test]
fn sack_rescues_the_tail() {
    let cfg = config(&[("variant", "sack"), ("initial_window", "20 packets"), ("syn", "false")]);
    let mut p = Path::new(&cfg, 50);
    p.sender.write(Amount::Bytes(20_000), Time::ZERO);
    p.run(10.0, &mut lose(&[5, 12, 20]));
    assert_eq!(p.sender.report(p.now).timeouts, 0);
    assert_eq!(p.receiver.received_bytes(), 20_000);
    assert_eq!(p.repeated(), [5, 12, 20]);
}

/// A repair lost again waits for the timer, in NewReno and by RFC 6675.
#[test]
fn a_repair_lost_again_waits_for_the_timer() {
    for variant in ["reno", "newreno", "sack"] {
        let mut p = Path::new(&window(variant, "20 packets"), 50);
        p.sender.write(Amount::Bytes(60_000), Time::ZERO);
        p.run(20.0, &mut lose(&[7, 7]));
        assert_eq!(p.sender.report(p.now).timeouts, 1, "{variant}");
        assert_eq!(p.receiver.received_bytes(), 60_000, "{variant}");
    }
}

/// Fewer than three duplicates; limited transmit raises enough of them.
#[test]
fn limited_transmit_finds_a_loss_in_a_small_window() {
    for variant in ["tahoe", "reno", "newreno", "sack"] {
        for (limited, timeouts) in [("true", 0), ("false", 1)] {
            let cfg = config(&[
                ("variant", variant),
                ("initial_window", "3 packets"),
                ("initial_ssthresh", "2 packets"),
                ("limited_transmit", limited),
            ]);
            let mut p = Path::new(&cfg, 50);
            p.sender.write(Amount::Bytes(30_000), Time::ZERO);
            p.run(30.0, &mut lose(&[1]));
            assert_eq!(
                p.sender.report(p.now).timeouts,
                timeouts,
                "{variant}, limited transmit {limited}"
            );
            assert_eq!(p.receiver.received_bytes(), 30_000);
        }
    }
}

/// A loss at the end with nothing behind it: only the timer finds it.
#[test]
fn a_lost_tail_waits_for_the_timer() {
    for variant in ["tahoe", "reno", "newreno", "sack"] {
        let mut p = Path::new(&window(variant, "10 packets"), 50);
        p.sender.write(Amount::Bytes(10_000), Time::ZERO);
        p.run(20.0, &mut lose(&[9, 10]));
        assert_eq!(p.sender.report(p.now).timeouts, 1, "{variant}");
        assert_eq!(p.at_sender.0.last(), Some(&AppEvent::AllAcknowledged));
    }
}

/// The impatient form lets the timer run from the first partial ACK, so a window full of holes ends in a timeout.
#[test]
fn impatient_and_slow_but_steady_differ() {
    let timeouts = |form| {
        let cfg = config(&[
            ("variant", "newreno"),
            ("partial_ack_timer", form),
            ("initial_window", "30 packets"),
            ("min_rto", "400ms"),
        ]);
        let mut p = Path::new(&cfg, 50);
        p.sender.write(Amount::Bytes(60_000), Time::ZERO);
        p.run(20.0, &mut lose(&[2, 4, 6, 8, 10, 12, 14, 16, 18]));
        assert_eq!(p.receiver.received_bytes(), 60_000);
        p.sender.report(p.now).timeouts
    };
    assert_eq!((timeouts("impatient"), timeouts("slow_but_steady")), (1, 0));
}

/// After a timeout, duplicates of what was outstanding start no fast retransmit.
#[test]
fn duplicates_after_a_timeout_start_nothing() {
    for variant in ["tahoe", "reno", "newreno", "sack"] {
        let mut p = Path::new(&window(variant, "12 packets"), 50);
        p.sender.write(Amount::Bytes(40_000), Time::ZERO);
        // All twelve are late by half a second: the timer expires, then their ACKs and those of the repeats arrive
        // mixed.
        let late = tailback_base::Duration::from_millis(500);
        p.run(30.0, &mut |s, i| {
            if s.payload > 0 && i < 13 {
                Fate::Late(late)
            } else {
                Fate::Pass
            }
        });
        let r = p.sender.report(p.now);
        assert!(r.timeouts >= 1, "{variant}");
        assert_eq!(r.fast_retransmits, 0, "{variant}");
        assert_eq!(p.receiver.received_bytes(), 40_000, "{variant}");
    }
}

/// Kantawala 2005, the timeout reaction called W-DUP: "ssthresh = cwnd/2, cwnd = ssthresh, resend the missing packet,
/// no slow start". Ten segments, the last ones lost, so that only the timer detects it; each of the earlier ACKs has
/// opened the window by one.
#[test]
fn a_timeout_may_halve_instead() {
    let run = |reaction: &str, lost: &'static [u64]| {
        let cfg = config(&[
            ("variant", "reno"),
            ("timeout_reaction", reaction),
            ("initial_window", "10 packets"),
            ("halve", "cwnd"),
            ("limited_transmit", "false"),
            ("grow_when_unused", "true"),
            ("delayed_ack", "1"),
        ]);
        let mut p = Path::new(&cfg, 50);
        p.sender.write(Amount::Bytes(10_000), Time::ZERO);
        p.run(60.0, &mut lose(lost));
        assert_eq!(p.receiver.received_bytes(), 10_000);
        let timeouts = p.sender.report(p.now).timeouts;
        (p.repeated(), timeouts, p.ssthresh(), p.cwnd())
    };
    // One lost: the window of 10 + 9 is halved, and the ACK of the repeat counts in congestion avoidance.
    let (repeated, timeouts, threshold, window) = run("halve", &[10]);
    assert_eq!((repeated, timeouts, threshold), (vec![10], 1, 9.5));
    assert!((window - (9.5 + 1.0 / 9.5)).abs() < 1e-9, "{window}");
    // Standard Reno: one segment, and slow start again.
    let (repeated, timeouts, threshold, window) = run("slow-start", &[10]);
    assert_eq!((repeated, timeouts, threshold, window), (vec![10], 1, 9.5, 2.0));
    // Three lost: each timeout resends one and halves again, while standard Reno goes back and resends the rest at
    // once.
    let (repeated, timeouts, threshold, _) = run("halve", &[8, 9, 10]);
    assert_eq!((repeated, timeouts), (vec![8, 9, 10], 3));
    assert!((threshold - 17.0 / 8.0).abs() < 0.2, "{threshold}");
    let (repeated, timeouts, ..) = run("slow-start", &[8, 9, 10]);
    assert_eq!((repeated, timeouts), (vec![8, 9, 10], 1));
}

/// Segments per round trip of 0.1 s if every n-th packet is lost, over this many round trips.
fn rate_under_periodic_loss(variant: &str, n: u64, round_trips: u64) -> f64 {
    let cfg = config(&[
        ("variant", variant),
        ("initial_window", "2 packets"),
        ("initial_ssthresh", "12 packets"),
        ("ecn", "off"),
    ]);
    let mut p = Path::new(&cfg, 50);
    p.sender.write(Amount::Unlimited, Time::ZERO);
    let mut count = 0u64;
    let mut hand = |s: &Segment, _: usize| {
        count += u64::from(s.payload > 0);
        if s.payload > 0 && count.is_multiple_of(n) {
            Fate::Drop
        } else {
            Fate::Pass
        }
    };
    p.run(50.0, &mut hand);
    let before = p.receiver.received_bytes();
    p.run(50.0 + 0.1 * round_trips as f64, &mut hand);
    assert_eq!(p.sender.report(p.now).timeouts, 0, "{variant}, every {n}th lost");
    (p.receiver.received_bytes() - before) as f64 / PAYLOAD as f64 / round_trips as f64
}

/// The law rate = sqrt(3 N / 2) (Mathis et al. 1997) counts only the rounds in which the window grows from h = W/2 to
/// W. The round in which the loss is found (h + 2 segments with limited transmit) and the round of recovery (h) also
/// belong to the cycle: N = 3 h (h + 1) / 2 + 2 h + 2 segments in h + 3 rounds, which holds within 0.5 %. At N = 100
/// that is 9.9, not 12.2; the law holds within 5 % once the window is large, from N = 3060 on.
#[test]
fn periodic_loss_gives_the_square_root_law() {
    for variant in ["reno", "newreno", "sack"] {
        for h in [8, 20, 45] {
            let n = 3 * h * (h + 1) / 2 + 2 * h + 2;
            let rate = rate_under_periodic_loss(variant, n, (h + 3) * 30);
            let cycle = (n - 1) as f64 / (h + 3) as f64;
            let law = (1.5 * n as f64).sqrt();
            println!("{variant}, N = {n}: {rate:.3} a round trip; whole cycle {cycle:.3}, law {law:.2}");
            assert!(
                (rate / cycle - 1.0).abs() < 0.005,
                "{variant}, N = {n}: {rate} against {cycle}"
            );
            assert!(
                n < 3060 || (rate / law - 1.0).abs() < 0.05,
                "{variant}, N = {n}: {rate} against {law}"
            );
        }
    }
}

fn ecn_path(values: &[(&str, &str)]) -> Path {
    let base = [
        ("initial_window", "10 packets"),
        ("initial_ssthresh", "10 packets"),
        ("ecn", "on"),
        ("limited_transmit", "false"),
    ];
    let all: Vec<(&str, &str)> = base.iter().chain(values).copied().collect();
    let mut p = Path::new(&config(&all), 50);
    p.sender.write(Amount::Unlimited, Time::ZERO);
    p
}

/// RFC 3168 section 6.1: one mark in a window causes exactly one halving, the echo is on all ACKs until CWR arrives,
/// and nothing is repeated.
#[test]
fn one_mark_halves_once() {
    let mut p = ecn_path(&[]);
    p.run(1.0, &mut |s, i| {
        if s.payload > 0 && i == 5 {
            Fate::Mark
        } else {
            Fate::Pass
        }
    });
    let r = p.sender.report(p.now);
    assert_eq!((r.ecn_reductions, r.retransmitted_packets, r.timeouts), (1, 0, 0));
    let syn = &p.sent[0].1;
    assert!(syn.flags.has(Flags::ECE) && syn.flags.has(Flags::CWR) && syn.ecn == Ecn::NotEct);
    assert!(p.acks[0].1.flags.has(Flags::ECE) && !p.acks[0].1.flags.has(Flags::CWR));
    assert!(p.sent.iter().skip(1).all(|(_, s)| s.ecn == Ecn::Ect0) && p.acks.iter().all(|(_, s)| s.ecn == Ecn::NotEct));
    assert_eq!(
        p.sent.iter().skip(1).filter(|(_, s)| s.flags.has(Flags::CWR)).count(),
        1
    );
    let cwr = p
        .sent
        .iter()
        .skip(1)
        .find(|(_, s)| s.flags.has(Flags::CWR))
        .map(|(_, s)| s.end())
        .unwrap();
    let echoing: Vec<u64> = p
        .acks
        .iter()
        .skip(1)
        .filter(|(_, s)| s.flags.has(Flags::ECE))
        .map(|(_, s)| s.ack)
        .collect();
    assert_eq!(echoing.first(), Some(&(1 + 5 * PAYLOAD)));
    assert_eq!(echoing.last(), Some(&(cwr - PAYLOAD)), "all ACKs before CWR's echo");
    // Half of the ten outstanding; later ACKs grow it again.
    assert_eq!(p.ssthresh(), 5.0);
}

/// A mark and a loss in one window: one halving, whichever comes first. An echo on the ACK that ends recovery belongs
/// to the same window, too.
#[test]
fn a_mark_and_a_loss_of_one_window_halve_once() {
    for variant in ["reno", "newreno", "sack"] {
        for (marked, lost) in [(2, 5), (7, 3), (3, 3)] {
            let mut p = ecn_path(&[("variant", variant)]);
            let mut first = true;
            p.run(0.39, &mut |s, i| match number(s) {
                _ if s.payload == 0 => Fate::Pass,
                n if n == lost && first => {
                    first = false;
                    Fate::Drop
                }
                n if n == marked && i <= 10 => Fate::Mark,
                _ => Fate::Pass,
            });
            assert!(
                p.ssthresh() >= 4.5 && p.ssthresh() <= 5.5,
                "{variant} mark {marked} loss {lost}: {}",
                p.ssthresh()
            );
            assert!(p.cwnd() >= 4.5, "{variant} mark {marked} loss {lost}: {}", p.cwnd());
            assert_eq!(p.sender.report(p.now).timeouts, 0);
        }
    }
}

#[test]
fn test_hosts_ignore_or_hide_marks() {
    let mark_all = |p: &mut Path| p.run(2.0, &mut |s, _| if s.payload > 0 { Fate::Mark } else { Fate::Pass });
    let mut p = ecn_path(&[("ecn", "ignore"), ("window_cap", "30 packets")]);
    mark_all(&mut p);
    assert_eq!(p.sender.report(p.now).ecn_reductions, 0);
    assert!(
        p.cwnd() >= 25.0,
        "its window grows as if nothing was marked: {}",
        p.cwnd()
    );
    assert!(p.acks.iter().skip(1).all(|(_, s)| s.flags.has(Flags::ECE)));
    let mut p = ecn_path(&[("ecn", "no_echo"), ("window_cap", "30 packets")]);
    mark_all(&mut p);
    assert_eq!(p.sender.report(p.now).ecn_reductions, 0);
    assert!(p.acks.iter().skip(1).all(|(_, s)| !s.flags.has(Flags::ECE)));
    let mut p = ecn_path(&[("ecn", "off")]);
    p.run(1.0, &mut pass);
    assert!(
        p.sent
            .iter()
            .all(|(_, s)| s.ecn == Ecn::NotEct && !s.flags.has(Flags::ECE))
    );
}

/// RFC 3168 section 6.1.2: at one segment the window stays and sending waits for the timer; it does not starve
/// permanently.
#[test]
fn marks_at_a_window_of_one_wait_for_the_timer() {
    let mut p = ecn_path(&[("min_rto", "300ms")]);
    p.run(20.0, &mut |s, _| if s.payload > 0 { Fate::Mark } else { Fate::Pass });
    assert_eq!(p.cwnd(), 1.0);
    let late: Vec<f64> = p
        .sent
        .iter()
        .filter(|(t, _)| t.seconds() > 5.0)
        .map(|(t, _)| t.seconds())
        .collect();
    assert!(late.len() > 20, "{}", late.len());
    assert!(
        late.windows(2).all(|w| w[1] - w[0] > 0.2),
        "one segment a timer, not one a round trip"
    );
    assert_eq!(p.sender.report(p.now).retransmitted_packets, 0);
}

#[test]
fn retransmissions_are_capable_only_by_choice() {
    for (choice, ecn) in [("false", Ecn::NotEct), ("true", Ecn::Ect0)] {
        let mut p = ecn_path(&[("ect_on_retransmissions", choice)]);
        p.run(1.0, &mut lose(&[4]));
        let again = p.sent.iter().find(|(_, s)| s.flags.has(Flags::RETRANSMISSION)).unwrap();
        assert_eq!(again.1.ecn, ecn);
        assert!(!again.1.flags.has(Flags::CWR), "CWR stands on new data");
    }
}
