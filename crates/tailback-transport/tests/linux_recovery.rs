//! Loss recovery as Linux has it, where it is not that of the RFCs: with SACK and without.

mod common;

use common::{PAYLOAD, config, number};
use tailback_base::{Ecn, Time};
use tailback_transport::tcp::{Sender, new_pair};
use tailback_transport::{Amount, Endpoint, Flags, SackBlocks, Segment, Transmit};

fn ms(t: u64) -> Time {
    Time(t * 1_000_000)
}

/// An ACK of `acked` segments that reports these segments, first and last.
fn ack(acked: u64, blocks: &[(u64, u64)]) -> Segment {
    Segment {
        seq: 1,
        payload: 0,
        ack: 1 + acked * PAYLOAD,
        flags: Flags::ACK,
        ecn: Ecn::NotEct,
        bytes: 40,
        sack: blocks
            .iter()
            .map(|(a, b)| (1 + (a - 1) * PAYLOAD, 1 + b * PAYLOAD))
            .collect::<SackBlocks>(),
        timestamps: None,
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

fn answer(s: &mut Sender, a: &Segment, now: u64) -> Vec<u64> {
    s.on_segment(a, ms(now), &mut ());
    sent(s, ms(now))
}

/// A sender of the profile `linux` with Reno that has sent segments 1 to 10 at 0 and has 90 more.
fn sender(variant: &str) -> Sender {
    let cfg = config(&[
        ("profile", "linux"),
        ("congestion", "reno"),
        ("variant", variant),
        ("syn", "false"),
        ("timestamps", "false"),
        ("payload", "1000B"),
    ]);
    let (mut s, _) = new_pair(&cfg);
    s.write(Amount::Bytes(100 * PAYLOAD), ms(0));
    assert_eq!(sent(&mut s, ms(0)), (1..=10).collect::<Vec<_>>());
    s
}

/// One ACK covers 1 and reports 3 to 5. News below news of the same ACK is no reordering, so three reports end the
/// wait.
#[test]
fn an_ack_may_report_above_what_it_acknowledges() {
    let mut s = sender("sack");
    assert!(answer(&mut s, &ack(1, &[(3, 5)]), 40).contains(&2));
}

/// The ACK of 4 segments overtakes that of 3, which reports 6 to 8.
#[test]
fn an_overtaken_ack_still_reports() {
    let mut s = sender("sack");
    answer(&mut s, &ack(4, &[]), 40);
    assert!(answer(&mut s, &ack(3, &[(6, 8)]), 41).contains(&5));
}

/// 1 is lost. The third duplicate repairs it, and each further two make room for one (half of ten).
#[test]
fn without_sack_duplicates_are_reports() {
    let mut s = sender("newreno");
    assert_eq!(answer(&mut s, &ack(0, &[]), 40), [11], "room for one more");
    assert_eq!(answer(&mut s, &ack(0, &[]), 40), [12]);
    assert_eq!(answer(&mut s, &ack(0, &[]), 40), [1]);
    let rest: Vec<u64> = (0..6).flat_map(|_| answer(&mut s, &ack(0, &[]), 40)).collect();
    assert_eq!(rest, [13, 14]);
}

/// The ACK of all that was outstanding ends nothing: duplicates after it begin no second repair, until more is
/// acknowledged.
#[test]
fn without_sack_a_repair_lasts_until_something_above_is_acknowledged() {
    let mut s = sender("newreno");
    for _ in 0..3 {
        answer(&mut s, &ack(0, &[]), 40);
    }
    let window = s.ssthresh();
    answer(&mut s, &ack(12, &[]), 80);
    assert!(s.in_recovery());
    for _ in 0..4 {
        answer(&mut s, &ack(12, &[]), 81);
    }
    assert_eq!(s.ssthresh(), window, "no second reduction");
    answer(&mut s, &ack(13, &[]), 120);
    assert!(!s.in_recovery());
}

/// A timeout in fast recovery goes on with the same repair: the threshold stays.
#[test]
fn a_timeout_in_fast_recovery_reduces_no_further() {
    let mut s = sender("sack");
    answer(&mut s, &ack(0, &[(2, 4)]), 40);
    let threshold = s.ssthresh();
    let due = s.next_timeout().expect("a timer is set");
    s.on_timeout(due, &mut ());
    sent(&mut s, due);
    while s.in_recovery() {
        let due = s.next_timeout().expect("a timer is set");
        s.on_timeout(due, &mut ());
        sent(&mut s, due);
    }
    assert_eq!(s.ssthresh(), threshold);
}
