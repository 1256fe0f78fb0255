//! The time of a transfer on an empty path: by the ideal of the papers, and with the same sender alone.
//!
//! The ideal has no handshake and no window: the source sends its packets back to back at the rate of its line from the
//! first byte on, each link stores a packet before it sends it on, and the last byte arrives after the delays of all
//! links. The ideal time is therefore the time of the slowest link for all packets, plus the time of each other link
//! for one packet.
//!
//! The same sender runs alone once for each kind of path (`build/lone.rs`), with the largest transfer on that path. The
//! behaviour of a sender does not depend on how much data will follow, so a smaller transfer is done when this transfer
//! has delivered as many bytes.
//!
//! State: the kinds of paths that transfers have taken, each with the bytes that the lone sender had delivered at each
//! instant. Cost: a look-up for each transfer of a workload; nothing for others.

use super::{Sim, Topology};
use crate::sim::flow::Carrier;
use crate::traffic::application::{NodeId, Side, TransferId, TransportId};
use std::collections::BTreeMap;
use tailback_base::{BitRate, Duration, FlowId, Time};

/// The kind of path of a transfer that is not compared.
pub const NO_PATH: u32 = u32::MAX;

/// A kind of path: rates and delays there and back, in order of travel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathKind {
    pub there: Vec<(BitRate, Duration)>,
    pub back: Vec<(BitRate, Duration)>,
    /// The number of the transport.
    pub transport: u32,
}

/// A kind of path, and the deliveries of a lone sender on it.
#[derive(Debug)]
pub struct LoneSender {
    pub kind: PathKind,
    /// The largest transfer on it, bytes.
    pub most: u64,
    /// Bytes of a full packet, and of its header.
    pub packet: u64,
    pub header: u64,
    /// The bytes that had been delivered at each instant, in order.
    pub delivered: Vec<(u64, Time)>,
}

/// One for each kind of path that transfers took.
#[derive(Default, Debug)]
pub struct LoneSenders {
    pub all: Vec<LoneSender>,
    by_kind: BTreeMap<PathKind, u32>,
}

/// The time at which the last of this number of bytes arrives, if they leave back to back in packets of `packet` bytes
/// with a header of `header` bytes.
pub fn ideal(bytes: u64, [packet, header]: [u64; 2], links: &[(BitRate, Duration)]) -> Duration {
    let full = bytes.div_ceil(packet).saturating_sub(1);
    let last_bits = (bytes - full * packet + header) as f64 * 8.0;
    let full_bits = (packet + header) as f64 * 8.0;
    // The times at which each link has sent the packet before the last and the last packet, in seconds without delays.
    let (mut first_s, mut slowest, mut end) = (0.0, 0.0_f64, 0.0_f64);
    let mut delay = Duration::ZERO;
    for (rate, link_delay) in links {
        let rate = rate.bits_per_second();
        first_s += full_bits / rate;
        slowest = slowest.max(full_bits / rate);
        let last_but_one_s = if full > 0 {
            first_s + (full - 1) as f64 * slowest
        } else {
            0.0
        };
        end = end.max(last_but_one_s) + last_bits / rate;
        delay += *link_delay;
    }
    delay + Duration::from_seconds(end)
}

impl LoneSender {
    /// The time of the lone sender for this number of bytes; `None` if it did not deliver them all.
    pub fn time(&self, bytes: u64) -> Option<Duration> {
        let later_index = self.delivered.partition_point(|d| d.0 < bytes);
        let (delivered, at) = *self.delivered.get(later_index)?;
        let missing = delivered - bytes;
        let rates = self.kind.there.iter().map(|l| l.0.bits_per_second());
        // The last packet is shorter. It is sent right behind the packet before it, or it comes earlier by the time
        // that each link saves.
        let saved: f64 = rates.clone().map(|r| missing as f64 * 8.0 / r).sum();
        let earlier = at.seconds() - saved;
        let behind = match later_index.checked_sub(1).map(|i| self.delivered[i]) {
            Some((before, then)) => {
                let slowest = rates.fold(f64::INFINITY, f64::min);
                then.seconds() + (bytes - before + self.header) as f64 * 8.0 / slowest
            }
            None => 0.0,
        };
        Some(Duration::from_seconds(earlier.max(behind).min(at.seconds())))
    }
}

impl Sim {
    /// Compare a transfer of the source of a flow with an empty path.
    pub(super) fn compare_alone(&mut self, id: TransferId, flow: FlowId, transport: TransportId, bytes: u64) {
        let Carrier::Connection(ends) = &self.flows.all[flow.0 as usize].carrier else {
            return;
        };
        let end = &ends[Side::Source as usize];
        let header = end.wire_bytes(1) - 1;
        // A number of bytes that fills packets.
        const MANY: u64 = 1 << 40;
        let packets = (end.wire_bytes(MANY) - MANY) / header.max(1);
        let packet = MANY.div_ceil(packets.max(1));
        let [there, back] = self.compared_path(flow).map(|numbers| {
            let ports = numbers.iter().map(|p| &self.net.ports[*p as usize]);
            ports.map(|p| (p.rate(), p.delay)).collect::<Vec<_>>()
        });
        let transport = transport.0;
        let kind = PathKind { there, back, transport };
        let row = &mut self.apps.transfers[id.0 as usize];
        row.ideal = ideal(bytes, [packet, header], &kind.there);
        let senders = &mut self.apps.alone;
        let sender_number = *senders.by_kind.entry(kind).or_insert_with_key(|kind| {
            senders.all.push(LoneSender {
                kind: kind.clone(),
                most: 0,
                packet,
                header,
                delivered: vec![],
            });
            (senders.all.len() - 1) as u32
        });
        let alone = &mut senders.all[sender_number as usize];
        alone.most = alone.most.max(bytes);
        row.path = sender_number;
    }

    /// The ports of data and of ACKs on one path of a flow. Where links may fail it is the first path of the whole
    /// network, because a flow may begin while no path is left.
    fn compared_path(&mut self, flow: FlowId) -> [Vec<u32>; 2] {
        if !self.net.router.equal.may_fail {
            return self.net.ways[flow.0 as usize].map(|way| self.net.one_path(way).into_owned());
        }
        let keys = &self.flows.all[flow.0 as usize].keys;
        let (from, to) = (NodeId(keys.source), NodeId(keys.destination));
        let Topology { router, peer, .. } = &mut self.net;
        let arcs = router.path(from, to, peer).unwrap_or_default();
        let forward_ports: Vec<u32> = arcs.iter().map(|a| a.port).collect();
        let back = forward_ports.iter().rev().map(|p| peer[*p as usize]).collect();
        [forward_ports, back]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(rates: &[u64]) -> Vec<(BitRate, Duration)> {
        rates.iter().map(|r| (BitRate(*r), Duration(1000))).collect()
    }

    /// Calculated by hand: each link stores one packet; many packets take the time of the slowest link for all but one.
    #[test]
    fn the_ideal_is_that_of_store_and_forward() {
        let ten = links(&[10_000_000_000; 4]);
        // 1500 B take 1200 ns a link.
        assert_eq!(ideal(1460, [1460, 40], &ten), Duration(4 * 1200 + 4000));
        assert_eq!(ideal(14_600, [1460, 40], &ten), Duration(4 * 1200 + 9 * 1200 + 4000));
        // With one byte more, a packet of 41 B follows the others on the last link and takes 33 ns there.
        assert_eq!(ideal(14_601, [1460, 40], &ten), Duration(13 * 1200 + 33 + 4000));
        let slow = links(&[10_000_000_000, 1_000_000_000, 10_000_000_000]);
        assert_eq!(ideal(14_600, [1460, 40], &slow), Duration(1200 + 120_000 + 1200 + 3000));
        // The 61 B take 49 ns, 488 ns and 49 ns on the links.
        assert_eq!(ideal(21, [1460, 40], &slow), Duration(586 + 3000));
    }
}
