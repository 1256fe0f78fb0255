//! Connection, retransmission timer and receiver, as packet dialogues: the normal course and common errors.

mod common;

use common::{Fate, Heard, PAYLOAD, Path, config, lose, number, pass};
use tailback_base::{Duration, Ecn, Time};
use tailback_transport::{Amount, AppEvent, Endpoint, Flags, SackBlocks, Segment, Transmit};

/// An ACK that is not an answer.
fn ack(n: u64) -> Segment {
    Segment {
        seq: 1,
        payload: 0,
        ack: n,
        flags: Flags::ACK,
        ecn: Ecn::NotEct,
        bytes: 40,
        sack: SackBlocks::new(),
        timestamps: None,
        window: None,
    }
}

fn data(n: u64) -> Segment {
    Segment {
        seq: 1 + (n - 1) * PAYLOAD,
        payload: PAYLOAD as u32,
        ack: 1,
        ..ack(1)
    }
}

#[test]
fn syn_then_syn_ack_then_data() {
    let mut p = Path::new(&config(&[("initial_window", "2 packets")]), 10);
    p.sender.write(Amount::Bytes(3000), Time::ZERO);
    p.run(2.0, &mut pass);
    let kinds: Vec<(bool, u32)> = p
        .sent
        .iter()
        .map(|(_, s)| (s.flags.has(Flags::SYN), s.payload))
        .collect();
    assert_eq!(kinds, [(true, 0), (false, 1000), (false, 1000), (false, 1000)]);
    assert!(p.acks[0].1.flags.has(Flags::SYN) && p.acks[0].1.ack == 1 && p.acks[0].1.bytes == 40);
    assert_eq!(p.sent[1].0, Time(20_000_000), "data leave one round trip after the SYN");
    assert_eq!(p.at_sender.0, [AppEvent::Connected, AppEvent::AllAcknowledged]);
    let delivered: u64 = p
        .at_receiver
        .0
        .iter()
        .map(|e| if let AppEvent::Delivered(n) = e { *n } else { 0 })
        .sum();
    assert_eq!((delivered, p.receiver.received_bytes()), (3000, 3000));
}

/// Shorter than the initial window, exactly one segment, and no data at all.
#[test]
fn tiny_transfers_end() {
    for (bytes, segments) in [(1, 1), (1000, 1), (2500, 3), (0, 0)] {
        for syn in ["true", "false"] {
            let mut p = Path::new(&config(&[("syn", syn)]), 10);
            p.sender.write(Amount::Bytes(bytes), Time::ZERO);
            p.sender.close(Time::ZERO);
            p.run(5.0, &mut pass);
            let data = p.sent.iter().filter(|(_, s)| s.payload > 0).count();
            assert_eq!(data, segments, "{bytes} bytes, syn {syn}");
            assert_eq!(
                p.at_sender.0,
                [AppEvent::Connected, AppEvent::AllAcknowledged, AppEvent::Closed]
            );
            assert!(p.sender.is_closed() && p.sender.next_timeout().is_none());
            assert_eq!(p.receiver.received_bytes(), bytes);
        }
    }
}

/// Three consecutive expiries are rto, 2 rto, 4 rto apart; a lost SYN costs the initial window (RFC 5681) and 3 s
/// (RFC 6298).
#[test]
fn a_lost_syn_is_repeated_with_backoff() {
    let mut p = Path::new(&config(&[]), 10);
    p.sender.write(Amount::Unlimited, Time::ZERO);
    p.run(7.5, &mut |_, _| Fate::Drop);
    let times: Vec<f64> = p.sent.iter().map(|(t, _)| t.seconds()).collect();
    assert_eq!(times, [0.0, 1.0, 3.0, 7.0]);
    let mut p = Path::new(&config(&[]), 10);
    p.sender.write(Amount::Unlimited, Time::ZERO);
    p.run(1.03, &mut |_, i| if i == 0 { Fate::Drop } else { Fate::Pass });
    assert_eq!(p.cwnd(), 1.0);
    assert_eq!(p.sender.read(4), 3.0);
}

#[test]
fn a_syn_nobody_answers_is_given_up() {
    let mut p = Path::new(&config(&[("syn_retries", "2")]), 10);
    p.sender.write(Amount::Unlimited, Time::ZERO);
    p.run(100.0, &mut |_, _| Fate::Drop);
    assert_eq!(p.sent.len(), 3);
    assert_eq!(p.at_sender.0, [AppEvent::Closed]);
}

/// Tail loss and the segment lost again: three expiries, doubling, and Karn's rule on the samples.
#[test]
fn expiries_double_and_repeats_are_not_timed() {
    let cfg = config(&[("initial_window", "1 packets"), ("min_rto", "200ms")]);
    let mut p = Path::new(&cfg, 50);
    p.sender.write(Amount::Bytes(1000), Time::ZERO);
    let mut copies = 0;
    p.run(20.0, &mut |s, _| {
        copies += usize::from(s.payload > 0);
        if s.payload > 0 && copies <= 3 {
            Fate::Drop
        } else {
            Fate::Pass
        }
    });
    let sent: Vec<f64> = p
        .sent
        .iter()
        .filter(|(_, s)| s.payload > 0)
        .map(|(t, _)| t.seconds())
        .collect();
    // One sample of 100 ms: rto = 100 + 4 * 50 = 300 ms.
    let gaps: Vec<f64> = sent.windows(2).map(|w| w[1] - w[0]).collect();
    for (gap, expected) in gaps.iter().zip([0.3, 0.6, 1.2]) {
        assert!((gap - expected).abs() < 1e-9, "{gaps:?}");
    }
    assert_eq!(p.sender.report(p.now).rtt_samples, 1, "only the SYN was timed");
    assert_eq!(p.sender.read(5), 8.0, "the backoff outlives the ACK of a repeat");
    assert_eq!(p.sender.report(p.now).timeouts, 3);
    // New data, timed, ends the backoff.
    p.sender.write(Amount::Bytes(1000), p.now);
    p.run(25.0, &mut pass);
    assert_eq!(p.sender.read(5), 1.0);
}

#[test]
fn with_timestamps_every_ack_is_a_sample() {
    let mut p = Path::new(&config(&[("timestamps", "true"), ("delayed_ack", "1")]), 50);
    p.sender.write(Amount::Bytes(50_000), Time::ZERO);
    p.run(20.0, &mut lose(&[30]));
    let r = p.sender.report(p.now);
    assert!(r.rtt_samples > 25, "{}", r.rtt_samples);
    assert!((r.rtt.least - 0.1).abs() < 1e-9 && r.rtt_sum > 0.0);
}

/// ACKs that cannot be valid are counted and have no effect.
#[test]
fn foreign_acks_are_ignored() {
    let mut p = Path::new(&config(&[("initial_window", "4 packets")]), 10);
    p.sender.write(Amount::Unlimited, Time::ZERO);
    p.run(0.05, &mut pass);
    let (cwnd, sent) = (p.cwnd(), p.sent.len());
    for n in [1_000_000, u64::MAX, 0] {
        p.sender.on_segment(&ack(n), p.now, &mut Heard::default());
        assert_eq!(p.sender.poll_transmit(p.now), Transmit::Idle);
    }
    assert_eq!((p.cwnd(), p.sent.len(), p.sender.ignored_acks()), (cwnd, sent, 3));
    // An ACK with data is no duplicate (RFC 5681 section 2).
    let una = p.receiver.next_expected().min(3001);
    for _ in 0..5 {
        p.sender.on_segment(
            &Segment {
                payload: 10,
                ..ack(una)
            },
            p.now,
            &mut Heard::default(),
        );
    }
    assert_eq!(p.sender.read(7), 0.0);
}

#[test]
fn every_second_segment_is_acknowledged_and_the_last_within_the_timer() {
    let mut p = Path::new(
        &config(&[
            ("delayed_ack", "2"),
            ("delayed_ack_timeout", "100ms"),
            ("initial_window", "5 packets"),
        ]),
        10,
    );
    p.sender.write(Amount::Bytes(5000), Time::ZERO);
    p.run(2.0, &mut pass);
    let acks: Vec<(f64, u64)> = p
        .acks
        .iter()
        .skip(1)
        .map(|(t, s)| (t.seconds(), (s.ack - 1) / PAYLOAD))
        .collect();
    assert_eq!(acks, [(0.03, 2), (0.03, 4), (0.13, 5)]);
}

#[test]
fn what_is_out_of_order_or_fills_a_gap_is_acknowledged_at_once() {
    let cfg = config(&[
        ("delayed_ack", "2"),
        ("syn", "false"),
        ("variant", "sack"),
        ("ecn", "off"),
    ]);
    let mut r = tailback_transport::tcp::Receiver::new(cfg);
    let mut give = |n: u64| {
        r.on_segment(&data(n), Time::ZERO, &mut ());
        match r.poll_transmit(Time::ZERO) {
            Transmit::Segment(s) => Some(((s.ack - 1) / PAYLOAD, s.sack.len())),
            _ => None,
        }
    };
    assert_eq!(give(1), None, "the first waits for the second");
    assert_eq!(give(2), Some((2, 0)));
    assert_eq!(give(4), Some((2, 1)), "a gap");
    assert_eq!(give(6), Some((2, 2)));
    assert_eq!(give(3), Some((4, 1)), "part of the gap filled");
    assert_eq!(give(5), Some((6, 0)), "all of it");
    assert_eq!(give(5), Some((6, 0)), "a duplicate");
    assert_eq!(give(7), None);
}

/// RFC 2018: newest block first, at most three with timestamps. RFC 2883: the duplicate first.
#[test]
fn sack_blocks_are_newest_first_and_duplicates_are_reported() {
    let cfg = config(&[
        ("syn", "false"),
        ("dsack", "true"),
        ("sack_blocks", "3"),
        ("option_bytes", "sack8"),
    ]);
    let mut r = tailback_transport::tcp::Receiver::new(cfg);
    let mut give = |n: u64| {
        r.on_segment(&data(n), Time::ZERO, &mut ());
        match r.poll_transmit(Time::ZERO) {
            Transmit::Segment(s) => (
                s.sack
                    .iter()
                    .map(|b| (b.0 / PAYLOAD + 1, b.1 / PAYLOAD))
                    .collect::<Vec<_>>(),
                s.bytes,
            ),
            _ => (vec![], 0),
        }
    };
    give(3);
    give(5);
    give(7);
    assert_eq!(give(9), (vec![(9, 9), (7, 7), (5, 5)], 64));
    assert_eq!(
        give(5),
        (vec![(5, 5), (5, 5), (9, 9)], 64),
        "D-SACK, then the block that holds it"
    );
    assert_eq!(give(1), (vec![(5, 5), (9, 9), (7, 7)], 64));
    assert_eq!(give(1), (vec![(1, 1), (5, 5), (9, 9)], 64));
}

/// Lost ACKs are covered by later ones.
#[test]
fn lost_acks_cost_no_repeats() {
    let mut p = Path::new(&config(&[("initial_window", "10 packets")]), 10);
    p.sender.write(Amount::Bytes(60_000), Time::ZERO);
    p.run_with(Time::from_seconds(5.0), &mut pass, &mut |_, i| {
        if i % 3 == 1 { Fate::Drop } else { Fate::Pass }
    });
    assert_eq!(p.repeated(), [] as [u64; 0]);
    assert!(p.at_sender.0.contains(&AppEvent::AllAcknowledged));
}

/// Reordering by one or two places causes no repeat, by three places one segment; D-SACK reports it.
#[test]
fn reordering_by_three_repeats_one_segment() {
    for (later, repeats) in [(1, 0), (2, 0), (3, 1)] {
        for variant in ["reno", "newreno", "sack"] {
            let cfg = config(&[
                ("variant", variant),
                ("dsack", "true"),
                ("initial_window", "10 packets"),
                ("limited_transmit", "false"),
            ]);
            // Segments leave 1 us apart, so that "late by n places" means something.
            let mut p = Path::new(&cfg, 10);
            p.sender.write(Amount::Bytes(40_000), Time::ZERO);
            let mut k = 0;
            p.run(5.0, &mut |s, _| {
                let extra = if number(s) == 4 && k < 11 {
                    later * 1000 + 500
                } else {
                    0
                };
                k += 1;
                Fate::Late(Duration(k * 1000 + extra))
            });
            // NewReno takes each of the following ACKs for a partial one and repeats the next segment as well.
            let repeated = if variant == "newreno" {
                p.repeated().len().min(1)
            } else {
                p.repeated().len()
            };
            assert_eq!(repeated, repeats, "{variant}, later by {later}");
            let dsack = p.acks.iter().any(|(_, s)| s.sack.first().is_some_and(|b| b.0 < s.ack));
            assert_eq!(dsack, repeats == 1, "{variant}, later by {later}");
        }
    }
}

/// The data ends during recovery; what is outstanding is still repaired.
#[test]
fn abort_inside_recovery_repairs_and_sends_nothing_new() {
    for variant in ["tahoe", "reno", "newreno", "sack"] {
        let mut p = Path::new(&config(&[("variant", variant), ("initial_window", "20 packets")]), 50);
        p.sender.write(Amount::Unlimited, Time::ZERO);
        let mut hand = lose(&[3, 6, 9, 12]);
        p.run(0.21, &mut hand);
        let highest = p.sent.iter().map(|(_, s)| s.end()).max().unwrap();
        p.sender.abort(p.now);
        p.run(30.0, &mut hand);
        assert_eq!(p.sent.iter().map(|(_, s)| s.end()).max().unwrap(), highest, "{variant}");
        assert_eq!(p.receiver.received_bytes(), highest - 1, "{variant}");
        assert!(p.sender.is_closed());
        assert_eq!(p.at_sender.0.last(), Some(&AppEvent::Closed));
    }
}

#[test]
fn after_an_idle_time_the_window_starts_small_again() {
    for (restart, window) in [("true", 2.0), ("false", 34.0)] {
        let cfg = config(&[
            ("initial_window", "2 packets"),
            ("idle_restart", restart),
            ("min_rto", "200ms"),
        ]);
        let mut p = Path::new(&cfg, 50);
        p.sender.write(Amount::Bytes(62_000), Time::ZERO);
        p.run(5.0, &mut pass);
        let before = p.sent.len();
        p.sender.write(Amount::Bytes(100_000), p.now);
        p.pump(&mut pass, &mut pass);
        let burst = (p.sent.len() - before) as f64;
        assert!((burst - window).abs() <= 2.0, "restart {restart}: {burst}");
    }
}

/// `idle_after` counts from the last acknowledgement of all written data, and ssthresh stays. The RTO here is 200 ms
/// or more.
#[test]
fn a_given_idle_time_replaces_the_rto() {
    for (after, rest_ms, first) in [("0s", 1, 1), ("50ms", 40, 34), ("50ms", 60, 1)] {
        let cfg = config(&[
            ("initial_window", "1 packets"),
            ("initial_ssthresh", "20 packets"),
            ("idle_after", after),
            ("min_rto", "200ms"),
            ("delayed_ack", "1"),
        ]);
        let mut p = Path::new(&cfg, 50);
        p.sender.write(Amount::Bytes(200_000), Time::ZERO);
        while p.at_sender.0.last() != Some(&AppEvent::AllAcknowledged) {
            p.run(p.now.seconds() + 0.001, &mut pass);
        }
        let threshold = p.ssthresh();
        p.run(p.now.seconds() + f64::from(rest_ms) * 1e-3, &mut pass);
        let before = p.sent.len();
        p.sender.write(Amount::Bytes(100_000), p.now);
        p.pump(&mut pass, &mut pass);
        let burst = p.sent.len() - before;
        if first == 1 {
            assert_eq!(burst, 1, "{after}, {rest_ms} ms");
        } else {
            assert!(burst > 20, "{after}, {rest_ms} ms: {burst}");
        }
        assert_eq!(p.ssthresh(), threshold);
    }
}

/// Or the threshold is reset as well, as with a new connection for each burst.
#[test]
fn a_restart_may_forget_the_threshold_too() {
    for (forgets, threshold) in [("window", 4.5), ("all", 20.0)] {
        let cfg = config(&[
            ("initial_window", "9 packets"),
            ("initial_ssthresh", "20 packets"),
            ("variant", "reno"),
            ("halve", "cwnd"),
            ("idle_after", "0s"),
            ("idle_forgets", forgets),
            ("limited_transmit", "false"),
        ]);
        let mut p = Path::new(&cfg, 50);
        p.sender.write(Amount::Bytes(9_000), Time::ZERO);
        p.run(1.0, &mut lose(&[2]));
        assert_eq!(p.at_sender.0.last(), Some(&AppEvent::AllAcknowledged));
        p.sender.write(Amount::Bytes(1_000), p.now);
        p.pump(&mut pass, &mut pass);
        assert!((p.ssthresh() - threshold).abs() < 1.0, "{forgets}: {}", p.ssthresh());
    }
}

/// A window of one segment empties the network at each ACK; that is not an idle period, and slow start continues.
#[test]
fn a_sender_that_has_more_to_send_does_not_rest() {
    let cfg = config(&[
        ("initial_window", "1 packets"),
        ("idle_after", "0s"),
        ("delayed_ack", "1"),
    ]);
    let mut p = Path::new(&cfg, 50);
    p.sender.write(Amount::Unlimited, Time::ZERO);
    p.run(1.05, &mut pass);
    assert!(p.cwnd() > 100.0, "{}", p.cwnd());
}

#[test]
fn a_burst_may_be_limited() {
    let mut p = Path::new(&config(&[("initial_window", "10 packets"), ("max_burst", "4")]), 50);
    p.sender.write(Amount::Unlimited, Time::ZERO);
    p.run(3.0, &mut lose(&[20]));
    let mut at = std::collections::HashMap::new();
    for (t, s) in &p.sent {
        if s.payload > 0 {
            *at.entry((*t, 0)).or_insert(0usize) += 1;
        }
    }
    // Several ACKs may arrive at one instant; the first answer, to the SYN-ACK, is one event.
    assert_eq!(at[&(Time(100_000_000), 0)], 4);
}

/// The time since the first transmission is divided among the reasons that limited the sender.
#[test]
fn the_sender_knows_what_limits_it() {
    let mut p = Path::new(
        &config(&[("initial_window", "2 packets"), ("window_cap", "8 packets")]),
        50,
    );
    p.sender.write(Amount::Bytes(200_000), Time::from_seconds(0.0));
    p.run(10.0, &mut pass);
    let r = p.sender.report(p.now);
    let (network, cap, app) = (
        r.limited_by_network.seconds(),
        r.limited_by_window_cap.seconds(),
        r.limited_by_application.seconds(),
    );
    assert!((network + cap + app - 10.0).abs() < 1e-9);
    // SYN, then 2, 4 and 8 segments a round trip of 0.1 s; 186 more at 8 a round trip; the rest is silence.
    assert!((network - 0.3).abs() < 0.11, "{network}");
    assert!((cap - 2.3).abs() < 0.2, "{cap}");
    assert!(app > 7.0, "{app}");
    assert_eq!(
        (r.sent_packets, r.sent_payload_bytes, r.retransmitted_packets),
        (200, 200_000, 0)
    );
}

/// RFC 3168 section 6.1.1.1: if ECN-setup SYNs are lost, the next SYN does not ask for ECN, if the parameters say so.
/// The connection then has no ECN; a connection that continues to ask has it.
#[test]
fn a_syn_may_give_up_asking_for_ecn() {
    for (syns, asks, capable) in [
        ("0", [true, true, true], true),
        ("2", [true, true, false], false),
        ("3", [true; 3], true),
    ] {
        let cfg = config(&[("ecn", "on"), ("ecn_syns", syns)]);
        let mut p = Path::new(&cfg, 50);
        p.sender.write(Amount::Bytes(3 * PAYLOAD), Time::ZERO);
        let mut lost = 0;
        p.run(30.0, &mut |s, _| {
            if s.flags.has(Flags::SYN) && lost < 2 {
                lost += 1;
                return Fate::Drop;
            }
            Fate::Pass
        });
        let syns: Vec<bool> = p
            .sent
            .iter()
            .filter(|(_, s)| s.flags.has(Flags::SYN))
            .map(|(_, s)| s.flags.has(Flags::ECE))
            .collect();
        assert_eq!(syns, asks);
        let data = p.sent.iter().filter(|(_, s)| s.payload > 0);
        assert!(
            data.clone().count() == 3 && data.clone().all(|(_, s)| (s.ecn == Ecn::Ect0) == capable),
            "{syns:?}"
        );
        assert_eq!(p.receiver.received_bytes(), 3 * PAYLOAD);
    }
}

/// Which packets are ECN-capable: SYN, SYN-ACK, the first data segment, its repeat, a pure ACK.
fn codepoints(values: &[(&str, &str)]) -> [Ecn; 5] {
    let all = [&[("payload", "1000B"), ("min_rto", "200ms")][..], values].concat();
    let mut p = Path::new(&config(&all), 20);
    p.sender.write(Amount::Bytes(10 * PAYLOAD), Time::ZERO);
    p.run(2.0, &mut lose(&[1]));
    let of = |n: u64| p.sent.iter().filter(move |(_, s)| number(s) == n).map(|(_, s)| s.ecn);
    let syn_ack = p.acks.iter().find(|(_, s)| s.flags.has(Flags::SYN)).unwrap().1.ecn;
    let ack = p.acks.iter().find(|(_, s)| !s.flags.has(Flags::SYN)).unwrap().1.ecn;
    let mut copies = of(1);
    [
        of(0).next().unwrap(),
        syn_ack,
        copies.next().unwrap(),
        copies.next().unwrap(),
        ack,
    ]
}

/// A control whose signal is the mark sends SYN and SYN-ACK as data (RFC 8257 section 3.5), and in Linux everything.
/// One that answers marks sends only new data so (RFC 3168 section 6.1), and one that ignores them nothing.
#[test]
fn a_control_decides_which_packets_are_capable() {
    use Ecn::{Ect0, Ect1, NotEct};
    let linux = ("profile", "linux");
    for (values, wanted) in [
        (&[("congestion", "cubic")][..], [NotEct, NotEct, Ect0, NotEct, NotEct]),
        (&[("congestion", "bbr")], [NotEct; 5]),
        (&[("congestion", "dctcp")], [Ect0, Ect0, Ect0, NotEct, NotEct]),
        // RFC 9331 section 4.1: repeats too.
        (&[("congestion", "prague")], [Ect1, Ect1, Ect1, Ect1, NotEct]),
        (&[linux, ("congestion", "dctcp")], [Ect0; 5]),
        (&[linux, ("congestion", "prague")], [Ect1; 5]),
        (&[linux, ("congestion", "cubic")], [NotEct; 5]),
        (
            &[linux, ("congestion", "cubic"), ("ecn", "on")],
            [NotEct, NotEct, Ect0, NotEct, NotEct],
        ),
        (&[("congestion", "dctcp"), ("ecn", "off")], [NotEct; 5]),
        (
            &[("congestion", "dctcp"), ("ect_on_control", "off")],
            [NotEct, NotEct, Ect0, NotEct, NotEct],
        ),
        (&[("congestion", "reno"), ("ect_on_control", "all")], [Ect0; 5]),
    ] {
        assert_eq!(codepoints(values), wanted, "{values:?}");
    }
}
