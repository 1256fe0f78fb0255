//! What dialogues cannot say of a two-way connection (RFC 9293); those are `tests/dialogues/two_way.toml`.

use crate::common::config;
use crate::common::two_way::{A, B, Fate, TwoWay};
use std::sync::Arc;
use tailback_base::Time;
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
