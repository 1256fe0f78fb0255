//! Scouts prefetch what the next events will need.
//!
//! With thousands of flows the state of a network is larger than the near caches, and every event belongs to another
//! flow. The event list contains the next events. Four scouts read the list ahead of its turn, each some slots behind
//! the one before. The first fetches the port, the next the packet at the head of its wire, the next the flow of that
//! packet, and the last the ends that the packet will meet. For an application that wakes, the first scout fetches its
//! slot, the next its state, and the next its flow. Scouts change nothing but the computing time. Without scouts a run
//! with 10,000 flows takes a quarter longer; below [`MANY`] they cost more than they save. Not the size of the network
//! counts, but how much of it is busy: of a thousand people who browse, only few wait for data.

use super::{Sim, Topology};
use crate::sim::flow::Carrier;
use crate::wire::event::EventKind;
use crate::wire::port::prefetch::prefetch;

/// The number of busy wires whose state no longer fits into the near caches. A wire is busy if an event on it is due
/// soon.
pub(super) const MANY: usize = 750;

impl Sim {
    /// Prefetch what the next events will need: first the port, then the packet at the head of its wire, then the
    /// packet's flow, then the ends.
    #[inline(never)]
    pub(super) fn scout(&mut self) {
        let (events, flows, apps) = (&mut self.events, &self.flows.all, &self.apps.all);
        let Topology {
            ports, ways, routes, ..
        } = &self.net;
        events.scout(|stage, kind, entity| {
            if kind == EventKind::Application {
                let slot = &apps[entity as usize];
                return match stage {
                    0 => prefetch(slot),
                    1 => slot.app.iter().for_each(|app| prefetch(&**app)),
                    2 => slot.own_flow.iter().for_each(|flow| prefetch(&flows[flow.0 as usize])),
                    _ => {}
                };
            }
            if kind != EventKind::Delivery {
                return;
            }
            let port = &ports[entity as usize];
            if stage == 0 {
                return prefetch(port);
            }
            if stage == 1 {
                return port.wire.prefetch_head();
            }
            let Some(f) = port.wire.front() else { return };
            let (id, is_back) = (f.packet.flow_id().0 as usize, f.packet.is_backward());
            if stage == 2 {
                prefetch(&ways[id]);
                return prefetch(&flows[id]);
            }
            if let Carrier::Connection(ends) = &flows[id].carrier {
                if f.packet.hop() + 1 < usize::from(ways[id][usize::from(is_back)].len) {
                    // The next packet may go ahead to both ends and on the way back.
                    let out = ways[id][usize::from(!is_back)];
                    if out.len > 1 {
                        prefetch(&*ends[0]);
                        prefetch(&*ends[1]);
                        prefetch(&ports[routes[out.start as usize + usize::from(out.len) - 1] as usize]);
                    }
                    return;
                }
                prefetch(&*ends[usize::from(!is_back)]);
                let out = ways[id][usize::from(!is_back)];
                prefetch(&ports[routes[out.start as usize] as usize]);
            }
        });
    }
}
