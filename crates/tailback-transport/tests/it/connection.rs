//! What dialogues of one sender cannot say of a connection; those are `tests/dialogues/connection.toml`.

use crate::common::{Fate, Heard, PAYLOAD, Path, config, lose, number, pass};
use tailback_base::{Duration, Ecn, Time};
use tailback_transport::{Amount, Endpoint, Flags, SackBlocks, Segment, Transmit};

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
        counts: None,
    }
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
