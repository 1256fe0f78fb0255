//! Sentences about a receiver: of RFC 9000 on acknowledgements and on the limit before a client's address is validated,
//! and of draft-ietf-quic-ack-frequency-12, which lets the sender ask for fewer acknowledgements.

use crate::line::{Asked, Line, Needs, check, dropped, nothing};
use crate::seen::Treated;

/// One acknowledgement for ten packets.
pub const TENTH: Asked = Asked { threshold: 9, delay_ms: 38, reordering: 5 };

pub const LINES: [Line; 7] = [
    Line {
        section: "RFC 9000 13.2.2",
        name: "every-second",
        sentence: "A receiver SHOULD send an ACK frame after receiving at least two ack-eliciting packets",
        datagrams: 300,
        treated: nothing,
        needs: Needs::Nothing,
        judge: |v| check(v.answers.len() >= 140, || format!("{} answers to 300 datagrams", v.answers.len())),
    },
    Line {
        section: "RFC 9000 13.2.1",
        name: "max-ack-delay",
        sentence: "ack-eliciting packets MUST be acknowledged at least once within the maximum delay an endpoint \
                   communicated using the max_ack_delay transport parameter",
        datagrams: 301,
        treated: nothing,
        needs: Needs::Nothing,
        judge: |v| {
            let (last, _) = *v.arrived.last().ok_or("no data")?;
            let after = v.answered_after(last)?;
            check(after <= 26.0, || format!("{after:.1} ms after the last"))
        },
    },
    Line {
        section: "RFC 9000 13.2.1",
        name: "gap-at-once",
        sentence: "an endpoint SHOULD generate and send an ACK frame without delay when it receives an ack-eliciting packet \
                   [...] when the packet has a packet number larger than the highest-numbered ack-eliciting packet that \
                   has been received and there are missing packets between that packet and this packet",
        datagrams: 300,
        treated: || dropped(&[4]),
        needs: Needs::Nothing,
        judge: |v| {
            let after = v.answered_after(5)?;
            check(after < 0.01, || format!("{after:.1} ms after the first behind the gap"))
        },
    },
    Line {
        section: "ack-frequency 4",
        name: "asked-threshold",
        sentence: "A receiving endpoint SHOULD send at least one ACK frame after receiving more than this many ack-eliciting \
                   packets",
        datagrams: 300,
        treated: nothing,
        needs: Needs::Asked(TENTH),
        judge: |v| {
            let n = v.answers.len();
            check((27..=45).contains(&n), || format!("{n} answers to 300 datagrams, and one in ten was asked for"))
        },
    },
    Line {
        section: "ack-frequency 5",
        name: "asked-delay",
        sentence: "max_ack_delay amount of time has passed and at least one ack-eliciting packet has been received",
        datagrams: 15,
        treated: nothing,
        needs: Needs::Asked(TENTH),
        judge: |v| {
            let (last, at) = *v.arrived.last().ok_or("no data")?;
            let (after, before) = (v.answered_after(last)?, v.answers.iter().rev().find(|a| **a < at));
            let first = v.arrived.iter().find(|(_, t)| before.is_none_or(|b| t > b)).map_or(at, |a| a.1);
            let waited = at - first + after;
            check((37.0..=40.0).contains(&waited), || {
                format!("{waited:.1} ms after the first that was not acknowledged")
            })
        },
    },
    Line {
        section: "ack-frequency 6.2",
        name: "asked-reordering",
        sentence: "An endpoint that receives an ACK_FREQUENCY frame with a non-zero Reordering Threshold value SHOULD send an \
                   immediate ACK whenever [...] the difference between the smallest Unreported Missing packet and the \
                   Largest Unacked packet is greater than or equal to the Reordering Threshold value",
        datagrams: 300,
        treated: || dropped(&[12]),
        needs: Needs::Asked(Asked { threshold: 100, ..TENTH }),
        judge: |v| {
            // A stack may skip one number, to find peers that acknowledge what was not sent: the fourth is right too.
            let first = v.answered_after(13)?;
            let [fourth, fifth] = [v.arrived_at(16)?, v.arrived_at(17)?].map(|at| at - v.arrived_at(13).unwrap_or(at));
            check(first > fourth - 0.01 && first < fifth + 0.01, || {
                format!(
                    "{first:.2} ms after the first behind the gap; the fourth came after {fourth:.2}, the fifth after {fifth:.2}"
                )
            })
        },
    },
    Line {
        section: "RFC 9000 8.1",
        name: "three-times",
        sentence: "Prior to validating the client address, servers MUST NOT send more than three times as many bytes as the \
                   number of bytes they have received",
        datagrams: 10,
        treated: || Treated { only_first: true, ..Treated::default() },
        needs: Needs::Handshake,
        judge: |v| {
            let [received, sent] = v.bytes;
            check(received >= 1200 && sent > received && sent <= 3 * received, || format!("{sent} B for {received}"))
        },
    },
];
