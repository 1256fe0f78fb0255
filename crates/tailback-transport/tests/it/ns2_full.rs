//! Differences of the profile `ns2-full` from the RFCs and from one-way connections of the profile `ns2`: a packet
//! dialogue for each parameter. Its own packets show that ns-2 does so (`tailback-scenario`, `finite_transfers`).

use crate::common::config;
use crate::common::two_way::{A, B, Fate, TwoWay};
use tailback_base::{Ecn, Time};
use tailback_transport::{Amount, Endpoint, Flags, Segment};

/// Segments of 1000 B, 50 ms in each direction; the client writes this much.
fn client(values: &[(&str, &str)], bytes: u64) -> TwoWay {
    let all: Vec<_> = [("profile", "ns2-full"), ("clock_phase", "0s")]
        .iter()
        .chain(values)
        .copied()
        .collect();
    let mut net = TwoWay::new(&config(&all), 50);
    net.ends[A].write(Amount::Bytes(bytes), net.now);
    net
}

fn closing(values: &[(&str, &str)], bytes: u64) -> TwoWay {
    let mut net = client(values, bytes);
    net.ends[A].close(net.now);
    net
}

/// The data that an end sent between `from` and `to`, s.
fn data_between(net: &TwoWay, end: usize, from: f64, to: f64) -> usize {
    let inside = |s: &&(Time, usize, Segment)| s.1 == end && s.2.payload > 0 && (from..to).contains(&s.0.seconds());
    net.sent.iter().filter(inside).count()
}

#[test]
fn the_first_two_duplicates_release_nothing() {
    // Ten segments at 0.1 s, the first of them lost, then two duplicates: their ACKs come at 0.2 s.
    let sent_at_duplicates = |values: &[(&str, &str)]| {
        let all: Vec<_> = [("initial_window", "4 packets"), ("window_cap", "64 packets")]
            .iter()
            .chain(values)
            .copied()
            .collect();
        let mut net = client(&all, 100_000);
        let mut data = 0;
        net.run_with(0.25, &mut |_, s, _| {
            data += u32::from(s.payload > 0);
            // Of four, one is lost and one is not: two duplicates in all.
            if s.payload > 0 && (data == 1 || data == 4) {
                Fate::Drop
            } else {
                Fate::Pass
            }
        });
        data_between(&net, A, 0.19, 0.25)
    };
    assert_eq!(sent_at_duplicates(&[]), 0);
    assert_eq!(sent_at_duplicates(&[("limited_transmit", "true")]), 2);
}

#[test]
fn a_lost_syn_keeps_the_initial_window_and_lowers_the_threshold() {
    let after_lost_syn = |values: &[(&str, &str)]| {
        let mut net = client(values, 100_000);
        net.run_with(3.12, &mut |_, _, i| if i == 0 { Fate::Drop } else { Fate::Pass });
        let sender = net.ends[A].sender();
        (data_between(&net, A, 3.0, 3.12), sender.cwnd(), sender.ssthresh())
    };
    let four = ("initial_window", "4 packets");
    assert_eq!(after_lost_syn(&[four]), (4, 4000.0, 2000.0));
    assert_eq!(
        after_lost_syn(&[four, ("syn_loss_window", "segment")]),
        (1, 1000.0, 2000.0)
    );
}

/// When the other end acknowledges, s.
fn acks(net: &TwoWay) -> Vec<f64> {
    let pure = |s: &&(Time, usize, Segment)| s.1 == B && !s.2.occupies();
    net.sent.iter().filter(pure).map(|s| s.0.seconds()).collect()
}

#[test]
fn a_delayed_ack_waits_for_the_tick_of_the_clock() {
    let one_segment = |clock: &str, written: f64| {
        let mut net = client(&[("delayed_ack", "2"), ("delayed_ack_clock", clock)], 0);
        net.run(written);
        let now = net.now;
        net.ends[A].write(Amount::Bytes(1000), now);
        net.run(3.0);
        acks(&net)
    };
    // It arrives 50 ms after it was written.
    assert_eq!(one_segment("grid", 1.03), [1.1]);
    assert_eq!(one_segment("grid", 1.07), [1.2]);
    assert_eq!(one_segment("segment", 1.03), [1.18]);
    assert_eq!(one_segment("segment", 1.07), [1.22]);
}

#[test]
fn an_ack_is_due_after_whole_segments_of_bytes() {
    let half_segments = |count: &str| {
        let values = [
            ("delayed_ack_count", count),
            ("nagle", "false"),
            ("initial_window", "10 packets"),
        ];
        let mut net = client(&values, 0);
        net.run(1.0);
        for i in 0..4 {
            net.run(1.0 + 0.001 * f64::from(i));
            let now = net.now;
            net.ends[A].write(Amount::Bytes(500), now);
        }
        net.run(1.08);
        acks(&net).len()
    };
    assert_eq!(half_segments("bytes"), 2);
    assert_eq!(half_segments("segments"), 4);
}

#[test]
fn a_fin_comes_alone_when_all_data_are_acknowledged() {
    let dialogue = |values: &[(&str, &str)], bytes| {
        let mut net = closing(values, bytes);
        net.run(9.0);
        net.dialogue()[3..].to_vec()
    };
    let two = dialogue(&[], 2000);
    assert_eq!(
        two,
        [
            "A ACK 1000",
            "A ACK 1000",
            "B ACK",
            "B ACK",
            "A FIN+ACK",
            "B ACK",
            "B FIN+ACK",
            "A ACK"
        ]
    );
    // Nothing else is outstanding: it travels with the data.
    assert_eq!(dialogue(&[], 1000), ["A FIN+ACK 1000", "B ACK", "B FIN+ACK", "A ACK"]);
    let early = dialogue(&[("fin", "with_data")], 2000);
    assert_eq!(early, ["A ACK 1000", "A FIN+ACK 1000", "B ACK", "B FIN+ACK", "A ACK"]);
    // A lost one is repeated by the timer; the same holds for the other end's.
    for lost in ["A FIN+ACK", "B FIN+ACK"] {
        let mut net = closing(&[], 2000);
        let mut hit = false;
        net.run_with(9.0, &mut |from, s, _| {
            let this = s.flags.has(Flags::FIN) && ["A FIN+ACK", "B FIN+ACK"][from] == lost && !hit;
            hit |= this;
            if this { Fate::Drop } else { Fate::Pass }
        });
        let times = net.dialogue().iter().filter(|w| *w == lost).count();
        assert_eq!((hit, times), (true, 2));
    }
}

#[test]
fn only_data_are_ecn_capable() {
    let mut net = closing(&[("ecn", "on")], 2000);
    net.run(9.0);
    for (_, _, s) in &net.sent {
        let expected = if s.payload > 0 { Ecn::Ect0 } else { Ecn::NotEct };
        assert_eq!(s.ecn, expected, "{s:?}");
    }
    // A segment that is sent again is ECN-capable.
    let mut net = client(&[("ecn", "on")], 5000);
    net.run_with(2.0, &mut |_, s, i| {
        if s.payload > 0 && i == 3 {
            Fate::Drop
        } else {
            Fate::Pass
        }
    });
    let again = net.sent.iter().find(|s| s.2.flags.has(Flags::RETRANSMISSION));
    assert_eq!(again.map(|s| s.2.ecn), Some(Ecn::Ect0));
}

#[test]
fn what_nagles_rule_holds_leaves_with_an_ack() {
    let first_writes = |rides: &str| {
        let mut net = client(&[("nagle_rides", rides)], 0);
        net.run(1.0);
        for _ in 0..2 {
            let now = net.now;
            net.ends[A].write(Amount::Bytes(100), now);
            net.run(now.seconds() + 0.001);
        }
        // Full segments from the other side need an ACK each.
        let now = net.now;
        net.ends[B].write(Amount::Bytes(1000), now);
        net.run(1.06);
        data_between(&net, A, 1.0, 1.06)
    };
    assert_eq!(first_writes("true"), 2);
    assert_eq!(first_writes("false"), 1);
}

#[test]
fn sack_blocks_take_two_bytes_and_eight_each() {
    let values = [("initial_window", "8 packets"), ("window_cap", "64 packets")];
    let mut net = client(&values, 8000);
    let mut data = 0;
    net.run_with(0.18, &mut |_, s, _| {
        data += u32::from(s.payload > 0);
        if s.payload > 0 && [2, 4, 6].contains(&data) {
            Fate::Drop
        } else {
            Fate::Pass
        }
    });
    let of_acks: Vec<u32> = net
        .sent
        .iter()
        .filter(|s| s.1 == B && !s.2.occupies())
        .map(|s| s.2.bytes)
        .collect();
    // After 1 nothing is missing; 3, 5 and 7 are a block each, 8 belongs to the last.
    assert_eq!(of_acks, [40, 50, 58, 66, 66]);
}

/// Data segments that A has sent by 0.29 s: ten at 0.1 s, the first of which is lost, and what its recovery releases
/// from 0.2 s on. B sends this many segments, which arrive at 0.22 s.
fn sent_in_recovery(values: &[(&str, &str)], other_way: u64) -> usize {
    let all: Vec<_> = [("initial_window", "10 packets"), ("window_cap", "64 packets")]
        .iter()
        .chain(values)
        .copied()
        .collect();
    let mut net = client(&all, 100_000);
    let mut lost = false;
    let mut hand = |from, s: &Segment, _| {
        let this = from == A && s.payload > 0 && !lost;
        lost |= this;
        if this { Fate::Drop } else { Fate::Pass }
    };
    net.run_with(0.17, &mut hand);
    let now = net.now;
    net.ends[B].write(Amount::Bytes(1000 * other_way), now);
    net.run_with(0.29, &mut hand);
    assert!(net.ends[A].sender().in_recovery());
    data_between(&net, A, 0.0, 0.29)
}

#[test]
fn data_of_the_other_side_say_nothing_of_what_has_left_the_network() {
    let in_order = [("acks_ride", "in_order")];
    let quiet = sent_in_recovery(&in_order, 0);
    assert!(quiet > 11, "{quiet}");
    assert_eq!(sent_in_recovery(&in_order, 3), quiet);
}

#[test]
fn an_ack_that_is_due_takes_a_segment_along_while_a_loss_is_repaired() {
    assert_eq!(sent_in_recovery(&[], 3), sent_in_recovery(&[], 0) + 3);
}

#[test]
fn an_ack_of_a_segment_out_of_order_rides_on_data() {
    let answers = |acks_ride: &str| {
        let mut net = client(&[("acks_ride", acks_ride)], 0);
        net.run(1.0);
        let before = net.sent.len();
        // The first of two segments is lost, the second arrives at 1.05 s. Nagle's rule holds the second write of B.
        let now = net.now;
        net.ends[A].write(Amount::Bytes(2000), now);
        net.ends[B].write(Amount::Bytes(100), now);
        net.run_with(1.01, &mut |_, s, _| {
            if s.payload == 1000 && s.seq == 1 {
                Fate::Drop
            } else {
                Fate::Pass
            }
        });
        let now = net.now;
        net.ends[B].write(Amount::Bytes(50), now);
        net.run(1.06);
        let mut said = net.dialogue().split_off(before);
        said.retain(|w| w.starts_with('B'));
        said
    };
    assert_eq!(answers("always"), ["B ACK 100", "B ACK 50"]);
    assert_eq!(answers("in_order"), ["B ACK 100", "B ACK"]);
}

#[test]
fn the_eager_pipe_sends_with_the_first_repair_and_grows_at_the_end() {
    let repairs = |form: &str| {
        let mut net = client(
            &[
                ("initial_window", "20 packets"),
                ("window_cap", "64 packets"),
                ("sack_form", form),
            ],
            6000,
        );
        let mut data = 0;
        net.run_with(0.29, &mut |_, s, _| {
            data += u32::from(s.payload > 0);
            if s.payload > 0 && [1, 3, 6].contains(&data) {
                Fate::Drop
            } else {
                Fate::Pass
            }
        });
        data_between(&net, A, 0.19, 0.29)
    };
    // Three are in the network at the third duplicate and the window is ten: the second hole could go too.
    assert_eq!((repairs("pipe"), repairs("pipe-eager")), (1, 2));
    let end = |form: &str| {
        let values = [
            ("initial_window", "10 packets"),
            ("window_cap", "64 packets"),
            ("sack_form", form),
        ];
        let mut net = client(&values, 12_000);
        let mut lost = false;
        net.run_with(1.0, &mut |_, s, _| {
            let this = s.payload > 0 && !lost;
            lost |= this;
            if this { Fate::Drop } else { Fate::Pass }
        });
        assert!(!net.ends[A].sender().in_recovery());
        net.ends[A].sender().cwnd()
    };
    // The window of ten is halved. The ACK that ends recovery grows it by a fifth of a segment, and so do later ones.
    assert!((end("pipe-eager") - end("pipe") - 200.0).abs() < 30.0);
}
