//! The cases of the kernel's own scripts (tools/testing/selftests/net/packetdrill/tcp_accecn_delivered_*.pkt and
//! others), with the counts that these scripts expect.

use super::*;
use crate::segment::{EcnCounts, Flags, SackBlocks};
use tailback_base::Ecn;

const SEGMENT: u32 = 1460;

/// An ACK that shows the arrival of this many packets of 1460 B.
fn ack(ace: u8, packets: u32) -> (Segment, Arrivals) {
    let s = Segment {
        seq: 1,
        payload: 0,
        ack: 1,
        flags: Flags::ACK.with(Flags::of_ace(ace)),
        ecn: Ecn::Ect0,
        bytes: 40,
        sack: SackBlocks::new(),
        timestamps: None,
        window: None,
        counts: None,
    };
    let new = Arrivals {
        packets,
        bytes: u64::from(packets * SEGMENT),
        told_apart: true,
    };
    (s, new)
}

fn with_option((mut s, new): (Segment, Arrivals), ce: u32) -> (Segment, Arrivals) {
    s.counts = Some(Box::new(EcnCounts {
        ect1: 1,
        ce,
        ect0: 1,
        fields: 3,
    }));
    (s, new)
}

fn linux() -> Delivered {
    Delivered::new(AccurateForm::Linux, SEGMENT, false)
}

/// The number of marked packets that a connection counts after these ACKs.
fn counted(mut d: Delivered, acks: impl IntoIterator<Item = (Segment, Arrivals)>) -> u32 {
    for (s, new) in acks {
        assert!(d.take(&s, new));
    }
    d.marked()
}

#[test]
fn an_ack_a_packet_counts_through_the_wrap() {
    let mut delivered = linux();
    let answers = [6, 6, 7, 7, 0, 1].map(|ace| {
        let (s, new) = ack(ace, 1);
        delivered.take(&s, new);
        (delivered.marked(), delivered.hear())
    });
    assert_eq!(answers.map(|s| s.0), [1, 1, 2, 2, 3, 4]);
    assert_eq!(answers.map(|s| s.1.0), [1460, 0, 1460, 0, 1460, 1460]);
}

/// `delivered_largeack`, `delivered_largeack2`, `delivered_maxack`, `delivered_2ndlargeack`.
#[test]
fn an_ack_of_ten_packets_without_the_option() {
    for (ace, marked) in [(5, 0), (6, 1), (4, 7)] {
        assert_eq!(counted(linux(), [ack(ace, 10)]), marked, "ACE {ace}");
    }
    assert_eq!(counted(linux(), [ack(5, 1), ack(5, 9)]), 8);
    // The RFC has no average, so the largest count that the flags may mean is counted.
    let rfc = || Delivered::new(AccurateForm::Rfc9768, SEGMENT, false);
    assert_eq!(counted(rfc(), [ack(5, 10)]), 8);
    assert_eq!(counted(rfc(), [ack(6, 10)]), 9);
    assert_eq!(counted(rfc(), [ack(5, 7)]), 0);
}

/// `delivered_falseoverflow_detect`.
#[test]
fn the_option_rules_out_eight_more() {
    assert_eq!(counted(linux(), [ack(5, 1), with_option(ack(5, 9), 0)]), 0);
}

/// `noprogress`, `tsnoprogress`, `tsprogress`: an ACK of no new data counts only if it has a newer time stamp.
#[test]
fn an_ack_without_progress_is_not_read() {
    let ack_at = |ms: u64, (mut s, new): (Segment, Arrivals)| {
        s.timestamps = Some((Time(ms), Time::ZERO));
        (s, new)
    };
    assert_eq!(counted(linux(), [ack(5, 1), with_option(ack(6, 0), 1000)]), 0);
    assert_eq!(counted(linux(), [ack_at(2, ack(5, 1)), ack_at(2, ack(6, 0))]), 0);
    assert_eq!(counted(linux(), [ack_at(2, ack(5, 1)), ack_at(3, ack(6, 0))]), 1);
}

/// All packets are marked, and one ACK of 16 arrives. The flags alone are the same as before.
#[test]
fn thinned_acks_of_marked_packets() {
    let thinned = |n: u32| (1..=n).map(|k| ack(((5 + 16 * k) & 7) as u8, 16));
    // Thinned ACKs come first in one case. In the other case they follow normal ACKs, which still count in the average.
    assert_eq!(counted(linux(), thinned(1)), 0);
    assert_eq!(counted(linux(), (0..9).map(|_| ack(5, 1)).chain(thinned(1))), 16);
    let with = |n: u32| (1..=n).map(|k| with_option(ack(((5 + 16 * k) & 7) as u8, 16), 16 * k * SEGMENT));
    assert_eq!(counted(linux(), with(10)), 160);
    let rfc = Delivered::new(AccurateForm::Rfc9768, SEGMENT, false);
    assert_eq!(counted(rfc, thinned(10)), 160);
}

/// Section 3.2.2.4: the first ACE is never 0 unless something clears the flags.
#[test]
fn a_first_ace_of_zero_is_cleared_on_the_path() {
    let (s, new) = ack(0, 1);
    let mut delivered = linux();
    assert!(!delivered.take(&s, new));
    assert_eq!(delivered.marked(), 0);
    let (s, new) = ack(5, 1);
    let mut delivered = linux();
    assert!(delivered.take(&s, new));
    // Later 0 is a count like any other.
    let (s, new) = ack(0, 3);
    assert!(delivered.take(&s, new));
    assert_eq!(delivered.marked(), 3);
}

/// Table 3: the last segment of the handshake says whether the SYN-ACK was marked.
#[test]
fn a_marked_syn_ack_counts_one() {
    for (ace, marked) in [(0b010, 0), (0b100, 0), (0b011, 0), (0b110, 1)] {
        let delivered = Delivered::new(AccurateForm::Linux, SEGMENT, true);
        assert_eq!(counted(delivered, [ack(ace, 0)]), marked);
    }
}
