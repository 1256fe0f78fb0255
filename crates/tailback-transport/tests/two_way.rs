//! The two-way connection of RFC 9293: opened, used in both directions, half closed, closed, refused, and with each
//! of its control segments lost.

mod common;

use common::config;
use common::two_way::{A, B, Fate, TwoWay};
use std::sync::Arc;
use tailback_base::{Duration, Time};
use tailback_transport::tcp::Config;
use tailback_transport::tcp::connection::{ConnectionEnd, Opening, State};
use tailback_transport::{Amount, AppEvent, Endpoint, Flags, Segment};

fn two_way(values: &[(&str, &str)]) -> Arc<Config> {
    let all: Vec<_> = [("connection", "two-way")].iter().chain(values).copied().collect();
    config(&all)
}

/// A client that writes `bytes` and closes; the server closes when it learns of this.
fn client(values: &[(&str, &str)], bytes: u64) -> TwoWay {
    let mut net = TwoWay::new(&two_way(values), 50);
    net.ends[A].write(Amount::Bytes(bytes), net.now);
    net.ends[A].close(net.now);
    net
}

/// RFC 9293 figure 6, then data, then figure 12, where the second FIN carries the ACK.
#[test]
fn a_connection_is_opened_by_three_segments_and_closed_by_three() {
    let mut net = client(&[], 2500);
    net.run(10.0);
    assert_eq!(
        net.dialogue(),
        [
            "A SYN",
            "B SYN+ACK",
            "A ACK",
            "A ACK 1000",
            "A ACK 1000",
            "A FIN+ACK 500",
            "B ACK",
            "B ACK",
            "B FIN+ACK",
            "A ACK"
        ]
    );
    assert_eq!(net.delivered(B), 2500);
    assert_eq!(net.states(), [State::Closed, State::Closed]);
    // The client was the first to close, so it waits for twice the maximum segment lifetime.
    assert_eq!(net.when(B, AppEvent::Closed), Some(0.25));
    assert_eq!(net.when(A, AppEvent::Closed), Some(0.2 + 2.0));
    assert_eq!(net.when(B, AppEvent::PeerClosed), Some(0.15));
}

/// RFC 9293 figure 12: FIN, ACK, FIN, ACK if the second end still has something to do.
#[test]
fn a_half_closed_connection_carries_data_the_other_way() {
    let mut net = TwoWay::new(&two_way(&[]), 50);
    net.ends[B].stay_open();
    net.ends[A].write(Amount::Bytes(1000), net.now);
    net.ends[A].close(net.now);
    net.run(1.0);
    assert_eq!(net.states(), [State::FinWait2, State::CloseWait]);
    net.ends[B].write(Amount::Bytes(3000), net.now);
    net.run(2.0);
    assert_eq!(net.delivered(A), 3000);
    net.ends[B].close(net.now);
    net.run(10.0);
    assert_eq!(net.states(), [State::Closed, State::Closed]);
    let with_fin = |s: &&(Time, usize, Segment)| s.2.flags.has(Flags::FIN);
    assert_eq!(net.sent.iter().filter(with_fin).count(), 2);
    assert_eq!(net.dialogue()[net.sent.len() - 2..], ["B FIN+ACK", "A ACK"]);
    // An end that has closed takes no more from its application.
    net.ends[A].write(Amount::Bytes(1), net.now);
    net.run(20.0);
    assert_eq!(net.delivered(B), 1000);
}

#[test]
fn both_may_close_at_once() {
    let mut net = TwoWay::new(&two_way(&[]), 50);
    net.ends[A].write(Amount::Bytes(0), net.now);
    net.run(1.0);
    assert_eq!(net.states(), [State::Established, State::Established]);
    net.ends[A].close(net.now);
    net.ends[B].close(net.now);
    net.run(1.06);
    assert!(matches!(net.states()[A], State::TimeWait { .. } | State::Closing));
    net.run(1.09);
    assert_eq!(net.states(), [State::Closing, State::Closing]);
    net.run(10.0);
    assert_eq!(net.states(), [State::Closed, State::Closed]);
    assert_eq!(net.when(A, AppEvent::Closed), net.when(B, AppEvent::Closed));
}

/// RFC 9293 figure 7.
#[test]
fn both_may_open_at_once() {
    let cfg = two_way(&[("ecn", "on")]);
    let end = || ConnectionEnd::new(cfg.clone(), cfg.build_controller(), Opening::Active);
    let mut net = TwoWay::between([end(), end()], 50);
    for end in [A, B] {
        net.ends[end].write(Amount::Bytes(3000), net.now);
        net.ends[end].close(net.now);
    }
    net.run(10.0);
    assert_eq!(net.dialogue()[..4], ["A SYN", "B SYN", "B SYN+ACK", "A SYN+ACK"]);
    assert_eq!((net.delivered(A), net.delivered(B)), (3000, 3000));
    assert_eq!(net.states(), [State::Closed, State::Closed]);
}

/// RFC 9293 section 3.8.6.3 and RFC 1122 section 4.2.3.2: while data flows in both directions, it carries the ACKs.
#[test]
fn acknowledgements_ride_on_data() {
    let cfg = two_way(&[("delayed_ack", "2"), ("initial_window", "4 packets")]);
    let mut net = TwoWay::new(&cfg, 50);
    net.ends[A].write(Amount::Bytes(0), net.now);
    net.run(1.0);
    let before = net.sent.len();
    net.ends[A].write(Amount::Bytes(1000), net.now);
    net.run(1.06);
    // The answer is written before the delayed ACK is due.
    net.ends[B].write(Amount::Bytes(1000), net.now);
    net.run(2.0);
    assert_eq!(net.dialogue()[before..], ["A ACK 1000", "B ACK 1000", "A ACK"]);
    assert_eq!(net.sent[before + 1].2.ack, 1001);
    // Without an answer the ACK is sent separately, when its timer expires.
    net.ends[A].write(Amount::Bytes(1000), net.now);
    net.run(3.0);
    assert_eq!(net.dialogue()[before + 3..], ["A ACK 1000", "B ACK"]);
    assert_eq!(net.sent.last().unwrap().0, Time::from_seconds(2.0 + 0.05 + 0.2));
}

/// The ACK of a segment out of order is sent separately, so that the other side may count it as a duplicate; with
/// data in both directions duplicates still find a loss.
#[test]
fn duplicates_go_alone() {
    for variant in ["reno", "newreno", "sack"] {
        let cfg = two_way(&[("variant", variant), ("initial_window", "20 packets")]);
        let mut net = TwoWay::new(&cfg, 50);
        for end in [A, B] {
            net.ends[end].stay_open();
            net.ends[end].write(Amount::Bytes(60_000), net.now);
        }
        let mut lost = false;
        net.run_with(20.0, &mut |from, s, _| {
            if from == A && s.seq == 5001 && !std::mem::replace(&mut lost, true) {
                Fate::Drop
            } else {
                Fate::Pass
            }
        });
        assert_eq!((net.delivered(A), net.delivered(B)), (60_000, 60_000));
        let report = net.ends[A].report(net.now);
        assert_eq!((report.timeouts, report.fast_retransmits), (0, 1), "{variant}");
        assert_eq!(report.retransmitted_packets, 1);
    }
}

/// Each control segment is lost once: the connection still opens and closes, later by one retransmission timeout.
#[test]
fn any_control_segment_may_be_lost() {
    let mut whole = client(&[], 1000);
    whole.run(60.0);
    let ends = |net: &TwoWay| [A, B].map(|e| net.when(e, AppEvent::Closed).unwrap());
    let plain = ends(&whole);
    for (n, name) in whole.dialogue().iter().enumerate() {
        let mut net = client(&[], 1000);
        net.run_with(60.0, &mut |_, _, i| if i == n { Fate::Drop } else { Fate::Pass });
        assert_eq!(net.states(), [State::Closed, State::Closed], "{name} lost");
        assert_eq!(net.delivered(B), 1000, "{name} lost");
        let later = ends(&net)[B] - plain[B];
        // The SYN and the SYN+ACK are each repaired by their own sender, after the initial timeout of one second.
        let expected = match n {
            0 | 1 => 1.0..=1.0,
            // The first data segment acknowledges the SYN+ACK as well.
            2 => 0.0..=0.0,
            _ => 0.0..=1.2,
        };
        assert!(
            expected.contains(&((later * 1e6).round() / 1e6)),
            "{name} lost: {later} s later"
        );
        let repaired_by = net
            .sent
            .iter()
            .filter(|s| s.2.flags.has(Flags::RETRANSMISSION))
            .map(|s| s.1);
        match n {
            0 => assert_eq!(repaired_by.collect::<Vec<_>>()[0], A),
            1 => assert!(
                repaired_by.collect::<Vec<_>>().contains(&B),
                "the SYN+ACK is its sender's to repair"
            ),
            _ => {}
        }
    }
}

/// RFC 9293 section 3.10.7.1: a segment for a connection that does not exist is answered with a reset, which ends the
/// other side's half.
#[test]
fn a_closed_end_answers_with_a_reset() {
    let cfg = two_way(&[]);
    let mut net = TwoWay::new(&cfg, 50);
    net.ends[B].abort(net.now);
    net.ends[A].write(Amount::Bytes(1000), net.now);
    net.run(10.0);
    assert_eq!(net.dialogue(), ["A SYN", "B RST+ACK"]);
    assert_eq!(net.states(), [State::Closed, State::Closed]);
    assert_eq!(net.when(A, AppEvent::Closed), Some(0.1));
    assert_eq!(net.when(A, AppEvent::Connected), None);
}

/// A reset elsewhere in the sequence space is not valid (RFC 9293 section 3.10.7.4), and a passive end that is reset
/// before it is open listens again.
#[test]
fn resets_are_checked() {
    let cfg = two_way(&[]);
    let mut net = TwoWay::new(&cfg, 50);
    net.ends[A].write(Amount::Bytes(0), net.now);
    net.run(1.0);
    let reset = |seq: u64| Segment {
        seq,
        flags: Flags::RST,
        ..net.sent[0].2.clone()
    };
    let (early, exact) = (reset(77), reset(1));
    net.ends[B].on_segment(&early, net.now, &mut ());
    assert_eq!(net.states()[B], State::Established);
    net.ends[B].on_segment(&exact, net.now, &mut ());
    assert_eq!(net.states()[B], State::Closed);

    let mut net = TwoWay::new(&cfg, 50);
    net.ends[A].write(Amount::Bytes(0), net.now);
    net.run(0.06);
    assert!(matches!(net.states()[B], State::SynReceived { .. }));
    net.ends[B].on_segment(&exact, net.now, &mut ());
    assert_eq!(net.states()[B], State::Listen);
}

#[test]
fn a_syn_that_nobody_answers_is_given_up() {
    let mut net = client(&[("syn_retries", "2")], 1000);
    net.run_with(100.0, &mut |_, _, _| Fate::Drop);
    assert_eq!(net.dialogue(), ["A SYN", "A SYN", "A SYN"]);
    let at: Vec<f64> = net.sent.iter().map(|s| s.0.seconds()).collect();
    assert_eq!(at, [0.0, 1.0, 3.0]);
    assert_eq!(net.states()[A], State::Closed);
    assert_eq!(net.when(A, AppEvent::Closed), Some(7.0));
}

/// In TIME-WAIT a repeated FIN is acknowledged again and restarts the wait.
#[test]
fn a_lost_last_ack_is_sent_again() {
    let mut net = client(&[], 1000);
    let mut last = None;
    net.run_with(60.0, &mut |from, s, i| {
        let ack_of_fin = from == A && !s.occupies() && s.ack == 2;
        if ack_of_fin && last.is_none() {
            last = Some(i);
            return Fate::Drop;
        }
        Fate::Pass
    });
    assert!(last.is_some());
    assert_eq!(net.states(), [State::Closed, State::Closed]);
    let fins: Vec<f64> = net
        .sent
        .iter()
        .filter(|s| s.1 == B && s.2.flags.has(Flags::FIN))
        .map(|s| s.0.seconds())
        .collect();
    assert_eq!(fins.len(), 2);
    // 50 ms to the client, then twice one second again.
    assert!((net.when(A, AppEvent::Closed).unwrap() - (fins[1] + 0.05 + 2.0)).abs() < 1e-9);
}

/// RFC 9293 section 3.8.6.1: while the application does not read, the window shuts and is probed at growing
/// intervals; reading opens it at once.
#[test]
fn a_shut_window_is_probed() {
    let cfg = two_way(&[("rwnd", "5000B"), ("min_rto", "1s")]);
    let mut net = TwoWay::new(&cfg, 50);
    net.ends[B].set_reading(false, net.now);
    net.ends[A].write(Amount::Bytes(20_000), net.now);
    net.ends[A].close(net.now);
    net.run(40.0);
    assert_eq!(net.delivered(B), 5000);
    let probes: Vec<f64> = net
        .sent
        .iter()
        .filter(|s| s.1 == A && s.2.payload == 1)
        .map(|s| s.0.seconds())
        .collect();
    let gaps: Vec<f64> = probes.windows(2).map(|w| ((w[1] - w[0]) * 1e6).round() / 1e6).collect();
    assert_eq!(gaps, [2.0, 4.0, 8.0, 16.0]);
    let report = net.ends[A].report(net.now);
    assert_eq!(
        (report.timeouts, report.retransmitted_packets),
        (0, 0),
        "the connection stays alive"
    );
    net.ends[B].set_reading(true, net.now);
    net.run(42.0);
    assert_eq!(net.delivered(B), 20_000);
    net.run(60.0);
    assert_eq!(net.states(), [State::Closed, State::Closed]);
}

/// In the profile of Linux a probe carries nothing and is one below the next byte, and it is answered all the same.
#[test]
fn a_probe_of_linux_carries_nothing() {
    let cfg = two_way(&[("profile", "linux"), ("rwnd", "5000B"), ("min_rto", "1s")]);
    let mut net = TwoWay::new(&cfg, 50);
    net.ends[B].set_reading(false, net.now);
    net.ends[A].write(Amount::Bytes(20_000), net.now);
    net.run(1.0);
    let cwnd = net.ends[A].sender().cwnd();
    net.run(20.0);
    let filled = net.delivered(B);
    let since = |who: usize, from: f64| {
        let of = move |s: &&(Time, usize, Segment)| s.1 == who && s.0.seconds() > from;
        net.sent
            .iter()
            .filter(of)
            .map(|s| (s.0, s.2.clone()))
            .collect::<Vec<_>>()
    };
    let (probes, answers) = (since(A, 2.5), since(B, 2.5));
    let at: Vec<_> = probes.iter().map(|p| p.0).collect();
    assert!(at.len() == 3 && (at[2] - at[1]).0 == 2 * (at[1] - at[0]).0, "{at:?}");
    assert!(probes.iter().all(|(_, s)| (s.seq, s.payload) == (filled, 0)));
    assert_eq!(answers.len(), probes.len());
    // Who waits for the receiver's window has not rested.
    assert_eq!(net.ends[A].sender().cwnd(), cwnd, "the window stays");
    net.ends[B].set_reading(true, net.now);
    net.run(22.0);
    assert_eq!(net.delivered(B), 20_000);
}

/// RFC 5681 section 2: an ACK with another window is not a duplicate; three with the same window are.
#[test]
fn a_window_update_is_no_duplicate() {
    let in_recovery = |step: u32| {
        let cfg = two_way(&[("variant", "newreno"), ("initial_window", "10 packets")]);
        let mut net = TwoWay::new(&cfg, 50);
        net.ends[A].write(Amount::Bytes(100_000), net.now);
        // The handshake is over, and the first window is on its way.
        net.run(0.12);
        assert!(net.sent.iter().filter(|s| s.1 == A && s.2.payload > 0).count() >= 10);
        let mut ack = net
            .sent
            .iter()
            .rfind(|s| s.1 == A && s.2.payload == 0)
            .unwrap()
            .2
            .clone();
        (ack.seq, ack.ack, ack.payload) = (1, 1, 0);
        for n in 0..4 {
            ack.window = Some(60_000 + n * step);
            net.ends[A].on_segment(&ack, net.now, &mut ());
        }
        net.ends[A].read(8) == 1.0
    };
    assert!(!in_recovery(1000) && in_recovery(0));
}

/// The update that opens the window may be lost: the next probe repairs it.
#[test]
fn a_lost_window_update_does_not_stall() {
    let cfg = two_way(&[("rwnd", "5000B")]);
    let mut net = TwoWay::new(&cfg, 50);
    net.ends[B].set_reading(false, net.now);
    net.ends[A].write(Amount::Bytes(12_345), net.now);
    net.ends[A].close(net.now);
    net.run(5.0);
    net.ends[B].set_reading(true, net.now);
    let from = net.sent.len();
    net.run_with(60.0, &mut |_, _, i| if i == from { Fate::Drop } else { Fate::Pass });
    assert_eq!(net.delivered(B), 12_345);
    assert_eq!(net.states(), [State::Closed, State::Closed]);
}

/// RFC 1122 section 4.2.3.4.
#[test]
fn nagle_holds_a_short_segment_while_data_are_outstanding() {
    for (nagle, at) in [("true", [0.1, 0.2]), ("false", [0.1, 0.11])] {
        let mut net = TwoWay::new(&two_way(&[("nagle", nagle)]), 50);
        net.ends[A].write(Amount::Bytes(100), net.now);
        net.run(0.11);
        net.ends[A].write(Amount::Bytes(100), net.now);
        net.run(1.0);
        let data = net.sent.iter().filter(|s| s.2.payload > 0).map(|s| s.0.seconds());
        assert_eq!(data.collect::<Vec<_>>(), at, "nagle {nagle}");
    }
}

/// RFC 3168 section 6.1.1: asked for in the SYN, granted in the SYN+ACK, used in both directions.
#[test]
fn both_directions_use_ecn_where_both_agree() {
    let mut net = TwoWay::new(&two_way(&[("ecn", "on")]), 50);
    for end in [A, B] {
        net.ends[end].stay_open();
        net.ends[end].write(Amount::Bytes(30_000), net.now);
    }
    let mut marked = [false; 2];
    net.run_with(10.0, &mut |from, s, _| {
        if s.payload > 0 && s.seq == 3001 && !std::mem::replace(&mut marked[from], true) {
            assert_eq!(s.ecn, tailback_base::Ecn::Ect0);
            Fate::Mark
        } else {
            Fate::Pass
        }
    });
    assert!(net.sent[0].2.flags.has(Flags::ECE) && net.sent[0].2.flags.has(Flags::CWR));
    assert!(net.sent[1].2.flags.has(Flags::ECE) && !net.sent[1].2.flags.has(Flags::CWR));
    for end in [A, B] {
        assert_eq!(net.ends[end].report(net.now).ecn_reductions, 1);
    }
    assert_eq!((net.delivered(A), net.delivered(B)), (30_000, 30_000));
}

/// With a control that needs marks SYN, SYN-ACK and data are capable (RFC 8257 section 3.5); as Linux has it pure ACKs
/// and a FIN without data too.
#[test]
fn a_control_that_needs_marks_opens_with_capable_segments() {
    use tailback_base::Ecn::{Ect0, NotEct};
    for (control_packets, acks) in [("handshake_where_needed", NotEct), ("all_where_needed", Ect0)] {
        let values = [("congestion", "dctcp"), ("ect_on_control", control_packets)];
        let mut net = TwoWay::new(&two_way(&values), 50);
        net.ends[A].write(Amount::Bytes(5000), net.now);
        net.ends[A].close(net.now);
        net.run(10.0);
        assert_eq!(net.delivered(B), 5000);
        for (_, _, s) in &net.sent {
            let opens = s.flags.has(Flags::SYN);
            let wanted = if opens || s.payload > 0 { Ect0 } else { acks };
            assert_eq!(s.ecn, wanted, "{control_packets}: {s:?}");
        }
    }
}

/// Data that a server's application writes before the client has opened waits for the client.
#[test]
fn a_listening_end_may_be_written_to() {
    let mut net = TwoWay::new(&two_way(&[]), 50);
    net.ends[B].write(Amount::Bytes(5000), net.now);
    net.ends[B].close(net.now);
    net.run(1.0);
    assert!(net.sent.is_empty());
    net.ends[A].write(Amount::Bytes(0), net.now);
    net.run(10.0);
    assert_eq!(net.delivered(A), 5000);
    assert_eq!(net.states(), [State::Closed, State::Closed]);
}

/// Late, and therefore out of order: SYN, data and FIN are put in order.
#[test]
fn a_fin_that_overtakes_data_waits() {
    let mut net = client(&[], 3500);
    net.run_with(10.0, &mut |from, s, _| {
        if from == A && s.seq == 2001 && !s.flags.has(Flags::RETRANSMISSION) {
            Fate::Late(Duration::from_millis(30))
        } else {
            Fate::Pass
        }
    });
    assert_eq!(net.when(B, AppEvent::PeerClosed), Some(0.18));
    assert_eq!(net.delivered(B), 3500);
    assert_eq!(net.states(), [State::Closed, State::Closed]);
}
