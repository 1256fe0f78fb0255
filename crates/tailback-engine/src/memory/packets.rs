//! Packets: those that wait or fly, and what senders and receivers remember of them.

use super::flows;
use super::lines::Lines;
use super::{Parts, of};
use crate::spec::Spec;
use crate::wire::packet::{Extra, SimPacket};
use crate::wire::port::Waiting;
use crate::wire::port::wire::MOST_BYTES;
use tailback_base::Settings;

/// A packet on a wire.
const FLYING: f64 = MOST_BYTES as f64;
/// A ring grows by a half, and is copied then.
const RING: f64 = 2.0;
/// A slot of a discipline beside its packet: times, links, tags.
const SLOT: f64 = 40.0;
/// The record of a segment that was sent, its place in the order of sending.
const RECORD: f64 = 80.0 + 16.0;
/// What else a sender and a receiver may have of it: a range reported, a range out of order.
const RANGE: f64 = 16.0;

/// Add the packets of lines and of connections.
pub fn add(parts: &mut Parts, spec: &Spec, lines: &Lines) {
    for l in &lines.all {
        let slot = match tailback_queue::registry::fused_limit(&l.spec.queue) {
            Some(_) => of::<Waiting>() + FLYING,
            None => of::<SimPacket>() + SLOT,
        };
        let bytes = RING * (l.waiting * slot + l.flying * FLYING);
        parts.add(&format!("link.{}.queue", l.name), bytes, 0.0);
    }
    let flows = spec.flows.iter().map(|g| (format!("flows.{}", g.name), &g.transport));
    for ((key, transport), used) in flows.zip(&lines.flows) {
        let waiting = used.private_waiting * RING * (of::<Waiting>() + FLYING);
        let bytes = used.outstanding * remembered(transport, used.brings.connection) + waiting;
        parts.add(&key, bytes, 0.0);
    }
    let sessions = spec
        .sessions
        .iter()
        .map(|s| (format!("sessions.{}", s.name), &s.transport));
    for ((key, transport), used) in sessions.zip(&lines.sessions) {
        parts.add(&key, used.outstanding * remembered(transport, true), 0.0);
    }
}

/// What is kept of a packet that is outstanding, beside the queue and wire of declared links: its place on a private
/// link, the record of its sender, the options of its acknowledgement.
fn remembered(transport: &Settings, connection: bool) -> f64 {
    if !connection {
        return 0.0;
    }
    let records = flows::keeps_records(transport);
    FLYING + RANGE + of::<Extra>() + if records { RING * RECORD } else { 0.0 }
}
