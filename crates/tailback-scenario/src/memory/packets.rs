//! Packets: those in queues and on wires, and the data about them at senders and receivers.

use super::lines::Lines;
use super::traffic::Brings;
use super::{Parts, of};
use tailback_sim::spec::Spec;
use tailback_sim::wire::packet::{Extra, SimPacket};
use tailback_sim::wire::port::WAITING_BYTES;
use tailback_sim::wire::port::wire::MOST_BYTES;

/// A packet on a wire.
const FLYING: f64 = MOST_BYTES as f64;
/// A ring grows by a half, and is copied at that time.
const RING: f64 = 2.0;
/// A slot of a discipline in addition to its packet: times, links, tags.
const SLOT: f64 = 40.0;
/// The record of a sent segment, and its place in the order of sending.
const RECORD: f64 = 80.0 + 16.0;
/// The time at which a segment leaves its host, in a ring that doubles.
const LEAVING: f64 = 2.0 * 16.0;
/// Other data about it at sender and receiver: a reported range, a range out of order.
const RANGE: f64 = 16.0;

/// Add the packets of lines and of connections.
pub fn add(parts: &mut Parts, spec: &Spec, lines: &Lines) {
    for l in &lines.all {
        let slot = match l.spec.fused_limit() {
            Some(_) => WAITING_BYTES as f64 + FLYING,
            None => of::<SimPacket>() + SLOT,
        };
        let bytes = RING * (l.waiting * slot + l.flying * FLYING);
        parts.add(&format!("link.{}.queue", l.name), bytes, 0.0);
    }
    let flows = spec.flows.iter().map(|g| format!("flows.{}", g.name));
    for (key, used) in flows.zip(&lines.flows) {
        let waiting = used.private_waiting * RING * (WAITING_BYTES as f64 + FLYING);
        let bytes = used.outstanding * remembered(&used.brings) + waiting;
        // An answer to a datagram that was sent long ago stores that time beside the packet.
        let answers = match used.brings.answer {
            Some(_) => used
                .way
                .iter()
                .map(|p| lines.all[p ^ 1].waiting + lines.all[p ^ 1].flying)
                .sum(),
            None => 0.0,
        };
        let bytes = bytes + RING * of::<Extra>() * answers.min(used.carried);
        parts.add(&key, bytes, 0.0);
    }
    let sessions = spec.sessions.iter().map(|s| format!("sessions.{}", s.name));
    for (key, used) in sessions.zip(&lines.sessions) {
        parts.add(&key, used.outstanding * remembered(&used.brings), 0.0);
    }
}

/// The memory for an outstanding packet, in addition to queue and wire of declared links: its place on a private link,
/// the record of its sender, the options of its acknowledgement.
fn remembered(brings: &Brings) -> f64 {
    if !brings.connection {
        return 0.0;
    }
    let records = if brings.control.records { RING * RECORD } else { 0.0 };
    let leaving = if brings.control.limits_host { LEAVING } else { 0.0 };
    FLYING + RANGE + of::<Extra>() + records + leaving
}
