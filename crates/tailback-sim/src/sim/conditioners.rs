//! Conditioners in front of ports (an edge is a port with one), and the messages between edges.

use super::{Message, Sim};
use crate::sim::flow::Carrier;
use crate::traffic::application::Side;
use crate::wire::event::EventKind;
use crate::wire::packet::{SimPacket, WirePacket};
use crate::wire::port::Tally;
use std::cmp::Reverse;
use tailback_base::work::counted_as;
use tailback_base::{Dscp, Duration, FlowId, Packet, Request, Time};
use tailback_conditioner::{Conditioner, EdgeId, EdgeMessage, EdgeOut, PathDelay, SenderState};
use tailback_queue::DropReason;

/// A conditioner at its port.
pub(crate) struct EdgeSlot {
    pub conditioner: Box<dyn Conditioner<SimPacket>>,
    pub port: u32,
    /// Time of the pending timer event.
    pub timer_at: Time,
    /// Whether it gets the state of every sender whose packets pass.
    pub hears: bool,
    /// Some probe of it is recorded at every change.
    pub watched: bool,
    /// The packets that it let through since the start of statistics, by colour.
    pub sent: Vec<(Dscp, Tally)>,
}

impl EdgeSlot {
    pub fn new(conditioner: Box<dyn Conditioner<SimPacket>>, port: u32) -> EdgeSlot {
        EdgeSlot {
            conditioner,
            port,
            timer_at: Time::NEVER,
            hears: false,
            watched: false,
            sent: Vec::new(),
        }
    }

    /// Packets it let through in this colour.
    pub fn sent(&self, colour: Dscp) -> Tally {
        let tally = self.sent.iter().find(|s| s.0 == colour);
        tally.map_or(Tally::default(), |s| s.1)
    }

    fn count(&mut self, p: &SimPacket) {
        let colour = p.dscp();
        let i = match self.sent.iter().position(|s| s.0 == colour) {
            Some(i) => i,
            None => {
                self.sent.push((colour, Tally::default()));
                self.sent.len() - 1
            }
        };
        self.sent[i].1.add(p.bytes());
    }
}

/// Collects the packets that a conditioner lets through.
struct EdgeOutlet<'a> {
    forwarded: &'a mut Vec<SimPacket>,
    dropped: Vec<(SimPacket, DropReason)>,
    messages: Vec<(EdgeId, EdgeMessage)>,
    requests: Vec<(SimPacket, Request)>,
}

impl EdgeOut<SimPacket> for EdgeOutlet<'_> {
    fn send(&mut self, p: SimPacket) {
        self.forwarded.push(p);
    }
    fn dropped(&mut self, p: SimPacket, why: DropReason) {
        self.dropped.push((p, why));
    }
    fn message(&mut self, to: EdgeId, m: EdgeMessage) {
        self.messages.push((to, m));
    }
    fn request(&mut self, about: &SimPacket, r: Request) {
        self.requests.push((*about, r));
    }
}

impl Sim {
    /// The packet in the form that disciplines and conditioners use.
    fn with_keys(&self, wire: WirePacket) -> SimPacket {
        let keys = self.flows.all[wire.flow_id().0 as usize].keys;
        SimPacket { wire, keys }
    }

    pub(super) fn condition(&mut self, port: u32, p: WirePacket) {
        let edge = self.net.ports[port as usize].edge;
        let (packet, seen) = (self.with_keys(p), p.header(&self.extras));
        self.edge_call(edge, |c, now, out| c.forward(packet, &seen, now, out));
    }

    pub(super) fn show_reverse(&mut self, edge: u32, p: WirePacket) {
        let (packet, seen) = (self.with_keys(p), p.header(&self.extras));
        self.edge_call(edge, |c, now, _| c.reverse(&packet, &seen, now));
    }

    /// Let a conditioner follow the sender at one side of a flow.
    pub(crate) fn follow(&mut self, flow: FlowId, side: Side, edge: u32) {
        let i = flow.0 as usize;
        self.flows.all[i].followed = true;
        if self.edges.followers.len() <= i {
            self.edges.followers.resize(i + 1, Default::default());
        }
        let list = &mut self.edges.followers[i][side as usize];
        if !list.contains(&edge) {
            list.push(edge);
        }
    }

    /// Give the state of a sender to the conditioners that follow it, before it sends.
    #[cold]
    pub(super) fn show_sender(&mut self, flow: FlowId, side: Side) {
        let Carrier::Connection(ends) = &self.flows.all[flow.0 as usize].carrier else {
            return;
        };
        let end = &ends[side as usize];
        let Some(srtt) = end.srtt() else { return };
        let slow_start = end.in_slow_start();
        let state = SenderState { srtt, slow_start };
        for i in 0..self.edges.followers[flow.0 as usize][side as usize].len() {
            let edge = self.edges.followers[flow.0 as usize][side as usize][i];
            self.edge_call(edge, |c, now, _| c.sender(flow, state, now));
        }
    }

    /// Tell the conditioner before a port, if there is one, that a flow joins or leaves.
    pub(super) fn announce_to_edge(&mut self, port: u32, look: &SimPacket, joins: bool) {
        let edge = self.net.ports[port as usize].edge;
        if edge == crate::wire::port::NO_EDGE {
            return;
        }
        let path = self.path_by(port, look);
        self.edge_call(edge, |conditioner, now, _| match joins {
            true => {
                conditioner.flow_path(look, path, now);
                conditioner.flow_joined(look, now);
            }
            false => conditioner.flow_left(look, now),
        });
        if !self.edges.all[edge as usize].hears {
            return;
        }
        let side = match look.wire.is_backward() {
            true => Side::Destination,
            false => Side::Source,
        };
        if joins {
            self.follow(look.flow(), side, edge);
        } else if let Some(f) = self.edges.followers.get_mut(look.flow().0 as usize) {
            f[side as usize].retain(|e| *e != edge);
        }
    }

    /// The delays of the path of packets that look like this one, as seen from a port on it.
    fn path_by(&self, port: u32, look: &SimPacket) -> PathDelay {
        let ways = self.net.ways[look.wire.flow_id().0 as usize];
        let backward = usize::from(look.wire.is_backward());
        let ports = |way: usize| self.net.one_path(ways[way]);
        let delay = |ports: &[u32]| {
            let sum = ports.iter().map(|p| self.net.ports[*p as usize].delay.0).sum();
            Duration(sum)
        };
        let (forward_ports, backward_ports) = (ports(backward), ports(1 - backward));
        let before = forward_ports.iter().take_while(|p| **p != port).count();
        // Returning packets reach the host behind the link that leads to this edge.
        let returned = backward_ports.iter().position(|p| *p == self.net.peer[port as usize]);
        let to_edge = delay(&forward_ports[..before]);
        let from_edge = returned.map_or(to_edge, |i| delay(&backward_ports[i + 1..]));
        PathDelay {
            round_trip: delay(&forward_ports) + delay(&backward_ports),
            outside: to_edge + from_edge,
        }
    }

    /// Arm the event for the next timer of a conditioner.
    pub(crate) fn arm_edge(&mut self, edge: u32) {
        let now = self.now;
        let slot = &mut self.edges.all[edge as usize];
        if let Some(t) = slot.conditioner.next_timer() {
            let t = t.max(now);
            if t < slot.timer_at || slot.timer_at <= now {
                slot.timer_at = t;
                self.events.push(t, EventKind::EdgeTimer, edge);
            }
        }
    }

    /// Call a conditioner, and carry out its decisions.
    fn edge_call(
        &mut self,
        edge: u32,
        call: impl FnOnce(&mut dyn Conditioner<SimPacket>, Time, &mut dyn EdgeOut<SimPacket>),
    ) {
        let now = self.now;
        let mut forwarded = std::mem::take(&mut self.edges.forwarded);
        let slot = &mut self.edges.all[edge as usize];
        let port = slot.port;
        let mut out = EdgeOutlet {
            forwarded: &mut forwarded,
            dropped: Vec::new(),
            messages: Vec::new(),
            requests: Vec::new(),
        };
        call(&mut *slot.conditioner, now, &mut out);
        let EdgeOutlet {
            dropped,
            messages,
            requests,
            ..
        } = out;
        forwarded.iter().for_each(|p| slot.count(p));
        self.arm_edge(edge);
        for (p, why) in dropped {
            self.outlet(port).drop_before(&p.wire, why);
        }
        for (to, what) in counted_as(16, messages) {
            self.send_message(edge, to, what);
        }
        if self.edges.all[edge as usize].watched {
            self.record_edge(edge);
        }
        for p in forwarded.drain(..) {
            self.offer_impaired(port, p.wire);
        }
        self.edges.forwarded = forwarded;
        for (about, r) in requests {
            self.send_request(port, &about.wire, r);
        }
    }

    /// A message arrives after the propagation delay between the edges. A message to an edge that does not exist is
    /// lost.
    fn send_message(&mut self, from: u32, to: EdgeId, what: EdgeMessage) {
        let Some(delay) = self.edges.delay.get(from as usize).and_then(|d| d.get(to.0 as usize)) else {
            return;
        };
        let arrives_at = self.now + *delay;
        let from = EdgeId(from);
        let message = Some(Message { from, to, what });
        let slot = match self.edges.free_messages.pop() {
            Some(Reverse(i)) => {
                self.edges.messages[i as usize] = message;
                i as usize
            }
            None => {
                self.edges.messages.push(message);
                self.edges.messages.len() - 1
            }
        };
        self.events.push(arrives_at, EventKind::Message, slot as u32);
    }

    pub(super) fn on_edge_timer(&mut self, edge: u32) {
        if self.edges.all[edge as usize].timer_at != self.now {
            return;
        }
        self.edges.all[edge as usize].timer_at = Time::NEVER;
        self.edge_call(edge, |conditioner, now, out| {
            // The timer may have been postponed or cancelled after its event was made.
            if conditioner.next_timer().is_some_and(|t| t <= now) {
                conditioner.on_timer(now, out);
            }
        });
    }

    pub(super) fn on_message(&mut self, slot: u32) {
        if let Some(m) = self.edges.messages[slot as usize].take() {
            self.edges.free_messages.push(Reverse(slot));
            self.edge_call(m.to.0, |c, now, _| c.message(m.from, m.what, now));
        }
    }
}
