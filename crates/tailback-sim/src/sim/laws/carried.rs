//! A law of goodput: data that arrive at the ends have come over their links.
//!
//! * The data that the far end of a link received are, in bytes, at most what the link carried. Over each link of a
//!   route they are, in packets, at most what the link carried plus what was under way when counting began. A copy that
//!   a later link makes has not passed the links before it, so links before a copying one are left out.
//! * Goodput counts each byte once: it is at most the payload that arrived.
//!
//! State for each flow: what had arrived and what was under way when counting began. The law costs nothing during the
//! run.

use crate::sim::Sim;
use crate::sim::flow::{Carrier, Flow, Snapshot};
use tailback_base::work::counted_as;

/// A flow when counting began.
#[derive(Clone, Copy, Default)]
pub struct FlowBefore {
    /// The data packets that had arrived, and their bytes, by direction.
    received: [(u64, u64); 2],
    under_way: u64,
}

/// The data that the flows of a port have received over it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Got {
    packets: u64,
    under_way: u64,
    /// Data of the flows that end at its far end.
    bytes: u64,
}

impl Got {
    /// The broken law of a port that delivered these packets and bytes.
    fn check(self, packets: u64, bytes: u64, copies: bool) -> Result<(), String> {
        if self.bytes > bytes {
            return Err(format!(
                "carried {bytes} B, while its flows received {} B of data from it",
                self.bytes
            ));
        }
        match copies || self.packets <= packets + self.under_way {
            true => Ok(()),
            false => Err(format!(
                "carried {packets} packets and {} were under way when counting began, while its flows received {}",
                self.under_way, self.packets
            )),
        }
    }
}

fn received(f: &Flow) -> [(u64, u64); 2] {
    let of = |d: &crate::sim::flow::DataStats| (d.data.received_packets, d.data.received_wire_bytes);
    [of(&f.stats.forward), f.stats.reverse.as_deref().map_or((0, 0), of)]
}

/// Whether a flow got more new data than arrived, in words.
fn goodput(of: &Snapshot) -> Option<String> {
    let (new, all) = (of.arrived, of.data.received_payload_bytes);
    (new > all).then(|| format!("has a goodput of {new} B of the {all} B of payload that arrived"))
}

impl Sim {
    /// The counts of each flow when counting begins.
    pub(super) fn flows_before(&self) -> Vec<FlowBefore> {
        let before = |f: &Flow| FlowBefore {
            received: received(f),
            under_way: u64::from(f.in_flight),
        };
        counted_as(8, &self.flows.all).map(before).collect()
    }

    /// The first port, or flow, that breaks the law, and how.
    pub(super) fn check_carried(&self, before: &[FlowBefore]) -> Result<(), (u32, String)> {
        let mut by_port = vec![Got::default(); self.net.ports.len()];
        for (id, f) in counted_as(16, &self.flows.all).enumerate() {
            let b = before.get(id).copied().unwrap_or_default();
            for (now, (then, way)) in received(f)
                .into_iter()
                .zip(b.received.into_iter().zip(self.net.ways[id]))
            {
                let entries = self.net.entries(way);
                for (hops_left, &port) in (0..entries.len()).rev().zip(entries) {
                    // Each port of a choice may have carried any part of the data.
                    let Some(g) = by_port.get_mut(port as usize) else {
                        continue;
                    };
                    // The count begins anew if a later connection has taken the slot.
                    g.packets += now.0.saturating_sub(then.0);
                    g.under_way += b.under_way;
                    if hops_left == 0 {
                        g.bytes += now.1.saturating_sub(then.1);
                    }
                }
            }
        }
        let copies = self
            .net
            .ports
            .iter()
            .any(|p| p.impair.as_ref().is_some_and(|i| i.copies()));
        for (port, (g, p)) in (0..).zip(by_port.into_iter().zip(&self.net.ports)) {
            g.check(p.stats.delivered_packets, p.stats.delivered_bytes, copies)
                .map_err(|does| (port, does))?;
        }
        let rows = &self.flows.all[..self.declared()];
        for (id, f) in counted_as(32, rows).enumerate() {
            // The data that a session's connections received are counted in the connections' slots, until later
            // connections take the slots.
            if matches!(f.carrier, Carrier::Member(_)) {
                continue;
            }
            let mut counted = f.snapshot(self.now);
            if let Some(then) = self.watch.baseline.get(id) {
                counted = tailback_base::counters::Counter::since(&counted, then);
            }
            if let Some(does) = goodput(&counted) {
                let last = self.net.ways[id][0];
                let port = self.net.one_path(last).last().copied().unwrap_or(0);
                return Err((port, format!("ends at a flow that {does}")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mutant_of_a_port_breaks_its_law() {
        let port_counts = Got {
            packets: 10,
            under_way: 2,
            bytes: 8000,
        };
        assert_eq!(port_counts.check(8, 8000, false), Ok(()));
        let few = port_counts.check(7, 8000, false).unwrap_err();
        assert!(few.contains("carried 7 packets and 2 were under way"), "{few}");
        assert_eq!(port_counts.check(7, 8000, true), Ok(()), "a later link has made copies");
        let short = port_counts.check(8, 7999, false).unwrap_err();
        assert!(short.contains("carried 7999 B"), "{short}");
    }

    #[test]
    fn goodput_above_what_arrived_breaks_its_law() {
        let mut s = Snapshot {
            arrived: 3000,
            ..Snapshot::default()
        };
        s.data.received_payload_bytes = 3000;
        assert_eq!(goodput(&s), None);
        s.arrived = 3001;
        assert!(goodput(&s).unwrap().contains("a goodput of 3001 B of the 3000 B"));
    }
}
