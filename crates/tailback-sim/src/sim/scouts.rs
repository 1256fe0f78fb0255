//! Scouts: what the next events will need is brought near before their turn.
//!
//! With thousands of flows the state of a network is larger than the near caches, and every event goes to another flow.
//! The list of events knows who comes next. Four scouts walk ahead of it, each some slots behind the one before: the
//! first fetches the port, the next the packet at the head of its wire, the next the flow of that packet, the last the
//! ends that it will meet. Of an application that wakes, the first fetches its slot, the next what it remembers, the
//! next its flow. Changes nothing but time. Without it 10,000 flows take a quarter more; below [`MANY`] it
//! costs more than it gives. What counts is not how large the network is but how much of it is busy: of a thousand
//! people who browse few wait for data.

use super::{Sim, Topology};
use crate::sim::flow::Carrier;
use crate::wire::event::EventKind;
use crate::wire::port::prefetch::prefetch;

/// So many wires are busy that their state does not fit into the near caches: events that are due soon.
pub(super) const MANY: usize = 750;

impl Sim {
    /// Bring near what the next events will need: first the port, then its head, then whose that is, then the ends.
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
            let (id, back) = (f.packet.flow_id().0 as usize, f.packet.is_backward());
            if stage == 2 {
                prefetch(&ways[id]);
                return prefetch(&flows[id]);
            }
            if let Carrier::Connection(ends) = &flows[id].carrier {
                if f.packet.hop() + 1 < usize::from(ways[id][usize::from(back)].len) {
                    // What comes next may go ahead to both ends and the way back.
                    let out = ways[id][usize::from(!back)];
                    if out.len > 1 {
                        prefetch(&*ends[0]);
                        prefetch(&*ends[1]);
                        prefetch(&ports[routes[out.start as usize + usize::from(out.len) - 1] as usize]);
                    }
                    return;
                }
                prefetch(&*ends[usize::from(!back)]);
                let out = ways[id][usize::from(!back)];
                prefetch(&ports[routes[out.start as usize] as usize]);
            }
        });
    }
}
