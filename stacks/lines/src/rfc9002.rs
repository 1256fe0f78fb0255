//! Sentences of RFC 9002 about a sender.

use crate::line::{Line, Needs, check, dropped, nothing};
use crate::seen::Treated;
use tailback_path::Ecn;

pub const LINES: [Line; 11] = [
    Line {
        section: "7.2",
        name: "initial-window",
        sentence: "Endpoints SHOULD use an initial congestion window of ten times the maximum datagram size",
        datagrams: 100,
        treated: nothing,
        needs: Needs::Nothing,
        judge: |v| {
            let first = v.looks.first().ok_or("it did not connect")?.window;
            check((11_000..=14_720).contains(&first), || format!("{first} B"))
        },
    },
    Line {
        section: "7.3.1",
        name: "slow-start",
        sentence: "While a sender is in slow start, the congestion window increases by the number of bytes acknowledged",
        datagrams: 300,
        treated: nothing,
        needs: Needs::Nothing,
        judge: |v| {
            let begins = v.sent.first().ok_or("it sent nothing")?.0;
            let [first, later] = [1.0, 79.0].map(|after| {
                let before = v.looks.iter().rev().find(|l| l.at <= begins + after);
                before.map_or(0, |l| l.window)
            });
            check(later as f64 >= 1.8 * first as f64, || format!("{first}, then {later} B after a round trip"))
        },
    },
    Line {
        section: "6.1.1",
        name: "three-later",
        sentence: "The RECOMMENDED initial value for the packet reordering threshold (kPacketThreshold) is 3",
        datagrams: 300,
        treated: || dropped(&[4]),
        needs: Needs::Nothing,
        judge: |v| {
            // Not before the acknowledgement of a later one, and not after that of the third.
            let [own, third] = [v.lost_after(4)?, v.lost_after(7)?];
            check(own > 39.0 && third < 43.0, || format!("lost {own:.1} ms after it, {third:.1} after the third later"))
        },
    },
    Line {
        section: "6.1.2",
        name: "time-threshold",
        sentence: "The RECOMMENDED time threshold (kTimeThreshold), expressed as an RTT multiplier, is 9/8",
        datagrams: 10,
        treated: || dropped(&[8]),
        needs: Needs::Nothing,
        judge: |v| {
            let after = v.lost_after(8)?;
            check((44.0..60.0).contains(&after), || format!("lost {after:.1} ms after it left"))
        },
    },
    Line {
        section: "6.2.1",
        name: "probe-timeout",
        sentence: "PTO = smoothed_rtt + max(4*rttvar, kGranularity) + max_ack_delay",
        datagrams: 300,
        treated: || Treated { dark: 130.0..5000.0, ..Treated::default() },
        needs: Needs::Nothing,
        judge: |v| {
            let wait = v.waits().first().copied().ok_or("no probe")?;
            check((65.0..180.0).contains(&wait), || format!("{wait:.0} ms after what was sent before"))
        },
    },
    Line {
        section: "6.2.1",
        name: "backoff",
        sentence: "When a PTO timer expires, the PTO backoff MUST be increased, resulting in the PTO period being set to \
                   twice its current value",
        datagrams: 300,
        treated: || Treated { dark: 130.0..5000.0, ..Treated::default() },
        needs: Needs::Nothing,
        judge: |v| {
            let waits = v.waits();
            let [_, a, b, ..] = waits[..] else { return Err(format!("{} probes", waits.len())) };
            check((1.8..2.2).contains(&(b / a)), || format!("{a:.0} ms, then {b:.0}"))
        },
    },
    Line {
        section: "7.3.2",
        name: "half",
        sentence: "a sender MUST set the slow start threshold to half the value of the congestion window when loss is \
                   detected",
        datagrams: 300,
        treated: || dropped(&[4]),
        needs: Needs::Nothing,
        judge: |v| {
            let (before, after) = *v.falls.first().ok_or("the window did not fall")?;
            check(after as f64 <= 0.6 * before as f64 && after >= 2400, || format!("from {before} to {after} B"))
        },
    },
    Line {
        section: "7.3.2",
        name: "once",
        sentence: "This limits congestion window reduction to once per round trip",
        datagrams: 300,
        treated: || dropped(&[12, 16, 20]),
        needs: Needs::Nothing,
        judge: |v| check(v.falls.len() == 1, || format!("{} reductions", v.falls.len())),
    },
    Line {
        section: "7.6.2",
        name: "persistent-congestion",
        sentence: "When persistent congestion is declared, the sender's congestion window MUST be reduced to the minimum \
                   congestion window",
        datagrams: 600,
        treated: || Treated { dark: 130.0..1500.0, ..Treated::default() },
        needs: Needs::Nothing,
        judge: |v| {
            let least = v.looks.iter().map(|l| l.window).min().unwrap_or(0);
            check((2000..=3000).contains(&least), || format!("{least} B at the least"))
        },
    },
    Line {
        section: "7.1",
        name: "marks",
        sentence: "If a path has been validated to support ECN [RFC3168], QUIC treats a Congestion Experienced (CE) \
                   codepoint as a signal of congestion",
        datagrams: 400,
        treated: || Treated { marked: vec![60], ..Treated::default() },
        needs: Needs::Nothing,
        judge: |v| {
            let lost = v.looks.last().map_or(0, |l| l.lost);
            check(!v.falls.is_empty() && lost == 0, || format!("{} falls, {lost} lost", v.falls.len()))
        },
    },
    Line {
        section: "RFC 9000 13.4.2.2",
        name: "validation",
        sentence: "If validation fails, then the endpoint MUST disable ECN. It stops setting the ECT codepoint in IP \
                   packets that it sends",
        datagrams: 400,
        treated: || Treated { bleached: true, ..Treated::default() },
        needs: Needs::Nothing,
        judge: |v| {
            let (first, last) = (v.first, v.sent.last().map(|s| s.1));
            check(first == Some(Ecn::Ect0) && last == Some(Ecn::NotEct), || format!("first {first:?}, last {last:?}"))
        },
    },
];
