//! The memory of sessions.

use super::flows::{connection_bytes, member_bytes, private_link_bytes};
use super::lines::Lines;
use super::{BLOCK, Parts, of, tables};
use tailback_sim::sim::transfers::{PageRow, TransferRow};
use tailback_sim::spec::Spec;

/// The size and times of a transfer in the classes of the table of completions: it is in four classes, with three times
/// in each.
pub const TIMES: f64 = 13.0 * 8.0;

/// Add the memory of sessions: members, hosts, open connections, rows of transfers and pages.
pub fn add(parts: &mut Parts, spec: &Spec, lines: &Lines) {
    for (s, used) in spec.sessions.iter().zip(&lines.sessions) {
        let clients = f64::from(s.clients);
        let servers = f64::from(s.servers_used());
        let mut bytes = clients * member_bytes();
        bytes += private_link_bytes() * s.access.as_ref().map_or(0.0, |_| servers);
        bytes += private_link_bytes() * s.exit.as_ref().map_or(0.0, |_| clients);
        bytes += used.brings.flows * connection_bytes(&s.transport, used.brings.control);
        let transfers = used.brings.portions;
        let (row_bytes, kept_bytes) = tables::rows("transfers", transfers);
        bytes += row_bytes + transfers * (of::<TransferRow>() + TIMES);
        if ["web", "incast"].contains(&s.kind.model.name) {
            let (pages, _) = tables::rows("pages", transfers);
            bytes += pages / 2.0 + transfers * (of::<PageRow>() + BLOCK);
        }
        parts.add(&format!("sessions.{}", s.name), bytes, kept_bytes);
    }
}
