//! Conditioners in front of ports (an edge is a port with one), and the messages between edges.

use super::{Message, Sim};
use crate::event::EventKind;
use crate::packet::{SimPacket, WirePacket};
use tailback_base::Time;
use tailback_conditioner::{Conditioner, EdgeId, EdgeMessage, EdgeOut};
use tailback_queue::{DropReason, Place};

/// Collects what a conditioner lets through.
struct EdgeOutlet<'a> {
    forwarded: &'a mut Vec<SimPacket>,
    dropped: Vec<SimPacket>,
    messages: Vec<(EdgeId, EdgeMessage)>,
}

impl EdgeOut<SimPacket> for EdgeOutlet<'_> {
    fn send(&mut self, p: SimPacket) {
        self.forwarded.push(p);
    }
    fn dropped(&mut self, p: SimPacket) {
        self.dropped.push(p);
    }
    fn message(&mut self, to: EdgeId, m: EdgeMessage) {
        self.messages.push((to, m));
    }
}

impl Sim {
    pub(super) fn condition(&mut self, port: u32, p: WirePacket) {
        let edge = self.ports[port as usize].edge;
        let packet = SimPacket {
            wire: p,
            keys: self.flows[p.flow_id().0 as usize].keys,
        };
        self.edge_call(edge, |c, now, out| c.forward(packet, now, out));
    }

    pub(super) fn show_reverse(&mut self, edge: u32, p: WirePacket) {
        let packet = SimPacket {
            wire: p,
            keys: self.flows[p.flow_id().0 as usize].keys,
        };
        self.edge_call(edge, |c, now, _| c.reverse(&packet, now));
    }

    pub(super) fn edge_call(
        &mut self,
        edge: u32,
        call: impl FnOnce(&mut dyn Conditioner<SimPacket>, Time, &mut dyn EdgeOut<SimPacket>),
    ) {
        let now = self.now;
        let mut forwarded = std::mem::take(&mut self.forwarded);
        let slot = &mut self.edges[edge as usize];
        let port = slot.port;
        let mut out = EdgeOutlet {
            forwarded: &mut forwarded,
            dropped: Vec::new(),
            messages: Vec::new(),
        };
        call(&mut *slot.conditioner, now, &mut out);
        let EdgeOutlet { dropped, messages, .. } = out;
        if let Some(t) = slot.conditioner.next_timer() {
            let t = t.max(now);
            if t < slot.timer_at || slot.timer_at <= now {
                slot.timer_at = t;
                self.events.push(t, EventKind::EdgeTimer, edge);
            }
        }
        for p in dropped {
            let mut out = self.outlet(port);
            out.stats.arrived_packets += 1;
            out.stats.arrived_bytes += u64::from(p.wire.size());
            out.drop_wire(&p.wire, Place::Arriving, DropReason::Penalty);
        }
        for (to, what) in messages {
            let Some(delay) = self.edge_delay.get(edge as usize).and_then(|d| d.get(to.0 as usize)) else {
                continue;
            };
            let at = now + *delay;
            let m = Some(Message {
                from: EdgeId(edge),
                to,
                what,
            });
            let slot = match self.messages.iter().position(Option::is_none) {
                Some(i) => {
                    self.messages[i] = m;
                    i
                }
                None => {
                    self.messages.push(m);
                    self.messages.len() - 1
                }
            };
            self.events.push(at, EventKind::Message, slot as u32);
        }
        for p in forwarded.drain(..) {
            self.offer_impaired(port, p.wire);
        }
        self.forwarded = forwarded;
    }

    pub(super) fn on_edge_timer(&mut self, edge: u32) {
        if self.edges[edge as usize].timer_at != self.now {
            return;
        }
        self.edges[edge as usize].timer_at = Time::NEVER;
        self.edge_call(edge, |c, now, out| {
            // It may have been put off, or given up, since.
            if c.next_timer().is_some_and(|t| t <= now) {
                c.on_timer(now, out);
            }
        });
    }

    pub(super) fn on_message(&mut self, slot: u32) {
        if let Some(m) = self.messages[slot as usize].take() {
            self.edge_call(m.to.0, |c, now, _| c.message(m.from, m.what, now));
        }
    }
}
