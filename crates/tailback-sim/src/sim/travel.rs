//! One loop follows a packet over ports and through ends, as long as its next arrival may be handled now. The file
//! `sim/ahead.rs` has the rules for what may be handled now.
//!
//! A port takes the packet and says when it arrives at the far end. If nothing else can happen there before, the packet
//! enters the next port, or meets its end, at once and as of that time. Otherwise it is put on the wire, and an event
//! brings it on. From an end the loop goes on with the last packet that the end sends. If the end sends several, each
//! of the others has a loop of its own before that. These loops stop at the first port of a source. The stack therefore
//! does not grow with the length of the route.
//!
//! The loop saves a dozen nested calls for a data packet and its ACK, and 5 % of the instructions of plain TCP.

use super::Sim;
use super::equal::Next;
use crate::sim::flow::{Hears, Route};
use crate::wire::packet::WirePacket;
use crate::wire::port::{Before, Offer};
use tailback_base::Time;
use tailback_base::work::done;

/// The number of packets handed on in one event that count as a unit of work.
const LONG_RUN: usize = 256;

impl Sim {
    /// Offer a packet to a port, and follow it from there.
    #[inline]
    pub(super) fn offer(&mut self, port: u32, p: WirePacket) {
        self.travel(port, p, None);
    }

    /// Follow a packet that a port has taken and that arrives at the far end at `arrives`.
    pub(super) fn depart(&mut self, port: u32, p: WirePacket, arrives: Time) {
        self.travel(port, p, Some(arrives));
    }

    /// Follow a packet from a port on. `taken` is its arrival at the far end, if the port has taken it.
    fn travel(&mut self, mut port: u32, mut p: WirePacket, mut taken: Option<Time>) {
        let now = self.now;
        let mut way = self.way_of(&p);
        let waits = loop {
            let Some(at) = self.net.ports.get_mut(port as usize) else {
                // This is no port, but a choice at the source.
                match self.choose(port, None, &mut p) {
                    Next::Port(first) => port = first,
                    Next::End | Next::Lost => {
                        self.lose_at_source(&p);
                        break None;
                    }
                }
                continue;
            };
            let arrives = match taken.take() {
                Some(arrives) => arrives,
                None if at.before != Before::NOTHING => {
                    (taken, p) = self.take_before(port, p);
                    match taken {
                        Some(_) => continue,
                        None => break None,
                    }
                }
                None => match at.offer_fused(&p, self.now) {
                    Offer::Taken(arrives) => arrives,
                    Offer::Marked(arrives) => {
                        // The packet goes on like one that the port has taken.
                        p = self.mark_by_step(port, p);
                        taken = Some(arrives);
                        continue;
                    }
                    Offer::Refused(why) => {
                        self.refuse(port, &p, why);
                        break None;
                    }
                    Offer::Explicit => {
                        self.enqueue_explicit(port, &p);
                        break None;
                    }
                },
            };
            if !(at.hands_ahead && at.wire.is_empty() && arrives <= self.ahead.horizon) {
                break Some(arrives);
            }
            let hop = p.hop() + 1;
            if hop < usize::from(way.len) {
                let next_port = self.net.routes[way.start as usize + hop];
                // A port takes no packets ahead where the route has a choice.
                if !self.ahead.takes.get(next_port as usize).is_some_and(|takes| *takes) {
                    break Some(arrives);
                }
                at.count_delivered(&p);
                self.counters.hand_ahead();
                p.next_hop();
                self.now = arrives;
                port = next_port;
                continue;
            }
            if !self.may_meet(port, &p, arrives) {
                break Some(arrives);
            }
            match self.meet_ahead(port, p, arrives) {
                Some(answer) => (port, p) = answer,
                None => break None,
            }
            way = self.way_of(&p);
        };
        if let Some(arrives) = waits {
            let wire = &mut self.net.ports[port as usize].wire;
            let was_empty = wire.is_empty();
            wire.push(p, arrives);
            if was_empty {
                self.events.push_delivery(arrives, port, p.born());
            }
        }
        self.now = now;
    }

    #[inline(always)]
    fn way_of(&self, p: &WirePacket) -> Route {
        self.net.ways[p.flow_id().0 as usize][usize::from(p.is_backward())]
    }

    /// The event of a port's wire has been run. Packets that wait behind are handed on now, or the first gets an event.
    pub(super) fn hand_on_waiting(&mut self, port: u32) {
        let mut handed = 0;
        while let Some(f) = self.net.ports[port as usize].wire.front() {
            let (mut p, arrives) = (f.packet, f.arrives);
            let way = self.way_of(&p);
            let hop = p.hop() + 1;
            let next_port = (hop < usize::from(way.len)).then(|| self.net.routes[way.start as usize + hop]);
            let may = arrives <= self.ahead.horizon
                && match next_port {
                    Some(next_port) => self.ahead.takes.get(next_port as usize).is_some_and(|takes| *takes),
                    None => self.may_meet(port, &p, arrives),
                };
            if !may {
                return self.events.push_delivery(arrives, port, p.born());
            }
            self.net.ports[port as usize].wire.pop();
            let now = self.now;
            let onward = match next_port {
                Some(next_port) => {
                    self.net.ports[port as usize].count_delivered(&p);
                    self.counters.hand_ahead();
                    p.next_hop();
                    self.now = arrives;
                    Some((next_port, p))
                }
                None => self.meet_ahead(port, p, arrives),
            };
            if let Some((next_port, p)) = onward {
                self.offer(next_port, p);
            }
            self.now = now;
            handed += 1;
            if handed % LONG_RUN == 0 {
                done(64 * LONG_RUN);
            }
        }
        if self.net.ports[port as usize].lazy {
            self.look_behind(port);
        }
    }

    /// Whether a packet that arrives at `t` may meet its end now. If so, the timers that are due before have run.
    #[inline(always)]
    fn may_meet(&mut self, port: u32, p: &WirePacket, t: Time) -> bool {
        let id = p.flow_id().0 as usize;
        let flow = &self.flows.all[id];
        if flow.hears == Hears::Transfers {
            return self.may_meet_client(id, p, t);
        }
        let may = match p.is_backward() {
            true => flow.runs_ahead[0] && t <= flow.free_until,
            false => flow.runs_ahead[1],
        };
        may && self.run_timers_before(t, port, id as u32, p.is_backward())
    }

    /// A packet meets its end as of `t`. Returns what [`Sim::meet`] returns.
    #[inline(always)]
    fn meet_ahead(&mut self, port: u32, p: WirePacket, t: Time) -> Option<(u32, WirePacket)> {
        self.net.ports[port as usize].count_delivered(&p);
        self.counters.hand_ahead();
        self.now = t;
        self.ahead.deep += 1;
        let answer = self.meet(&p);
        self.ahead.deep -= 1;
        answer
    }
}
