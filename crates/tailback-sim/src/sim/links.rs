//! Links: a packet meets conditioner, impairments, queue, line and wire, in this order.

use super::equal::{CHOICE, Next};
use super::outlet::{Outlet, WorkingPort};
use super::{Broken, Sim};
use crate::sim::flow::Carrier;
use crate::wire::event::EventKind;
use crate::wire::packet::{SimPacket, WirePacket};
use crate::wire::port::prefetch::prefetch;
use crate::wire::port::{Before, NO_EDGE, Offer, Queue};
use tailback_base::{Ecn, Packet, Time};
use tailback_queue::server::{Sent, Stuck};
use tailback_queue::{DropReason, MarkReason, Place, Server};

/// Wires shorter than this, in slots, belong to small networks, whose state fits in the processor's cache: nothing is
/// fetched ahead.
const LONG_WIRE: usize = 8192;
/// The distances, in slots, at which a flow's own state and the data that it points to are fetched.
const AHEAD_FAR: usize = 8;
const AHEAD_NEAR: usize = 4;

impl Sim {
    /// A packet reaches the head of a port that has something before its queue: conditioner, impairments, tap. Returns
    /// its arrival at the far end if the port knows that now; otherwise the rest is for later events.
    #[inline(never)]
    pub(super) fn take_before(&mut self, port: u32, mut p: WirePacket) -> (Option<Time>, WirePacket) {
        if self.net.ports[port as usize].before & Before::DOWN != 0 {
            self.outlet(port).drop_before(&p, DropReason::Impairment);
            return (None, p);
        }
        if self.net.ports[port as usize].before & Before::CONDITIONER != 0 {
            self.condition(port, p);
            return (None, p);
        }
        (self.take_impaired(port, &mut p), p)
    }

    /// A conditioner lets a packet through.
    pub(super) fn offer_impaired(&mut self, port: u32, mut p: WirePacket) {
        if let Some(arrives) = self.take_impaired(port, &mut p) {
            self.depart(port, p, arrives);
        }
    }

    fn take_impaired(&mut self, port: u32, p: &mut WirePacket) -> Option<Time> {
        if self.net.ports[port as usize].impair.is_none() {
            return self.take_shown(port, p);
        }
        if let Some(again) = self.impair(port, *p, false) {
            self.impair(port, again, true);
        }
        None
    }

    /// A packet, or the second of two copies, meets the impairments of a port. Returns a further copy, which meets them
    /// again.
    fn impair(&mut self, port: u32, mut p: WirePacket, is_copy: bool) -> Option<WirePacket> {
        let (now, capable) = (self.now, p.ecn_bits() != Ecn::NotEct);
        let i = self.net.ports[port as usize].impair.as_mut()?;
        let treatment = i.judge(now, p.size(), capable, is_copy);
        let copied = treatment.again.map(|again| {
            let mut copy = self.copy(p);
            if again.marked && capable {
                copy.mark_ce();
                self.outlet(port).mark_wire(&copy, MarkReason::Impairment);
            }
            copy
        });
        if treatment.drop {
            self.outlet(port).drop_before(&p, DropReason::Impairment);
            return copied;
        }
        if treatment.mark && capable {
            p.mark_ce();
            let mut out = self.outlet(port);
            out.mark_wire(&p, MarkReason::Impairment);
        }
        let copy = treatment.copy.then(|| self.copy(p));
        for p in [Some(p), copy].into_iter().flatten() {
            match treatment.hold_until {
                None => self.enter(port, p),
                Some(t) => {
                    if let Some(i) = &mut self.net.ports[port as usize].impair {
                        i.hold(p, t);
                    }
                    self.schedule_release(port);
                }
            }
        }
        copied
    }

    /// A copy of a packet on its way.
    fn copy(&mut self, p: WirePacket) -> WirePacket {
        self.flows.all[p.flow_id().0 as usize].in_flight += 1;
        self.extras.duplicate(p)
    }

    /// A packet has passed the stages before a queue.
    fn enter(&mut self, port: u32, mut p: WirePacket) {
        if let Some(arrives) = self.take_shown(port, &mut p) {
            self.depart(port, p, arrives);
        }
    }

    /// The queue takes a packet, and a tap sees it.
    fn take_shown(&mut self, port: u32, p: &mut WirePacket) -> Option<Time> {
        self.show(port, p, |tap, at| tap.arrived(at));
        let arrives = match self.net.ports[port as usize].offer_fused(p, self.now) {
            Offer::Taken(arrives) => arrives,
            Offer::Marked(arrives) => {
                *p = self.mark_by_step(port, *p);
                arrives
            }
            Offer::Refused(why) => {
                self.refuse(port, p, why);
                return None;
            }
            Offer::Explicit => {
                self.enqueue_explicit(port, p);
                return None;
            }
        };
        self.show(port, p, |tap, at| tap.sent(at));
        Some(arrives)
    }

    pub(super) fn schedule_release(&mut self, port: u32) {
        let Some(i) = &mut self.net.ports[port as usize].impair else {
            return;
        };
        if let Some(t) = i.next_release()
            && t < i.release_at
        {
            i.release_at = t;
            self.events.push(t, EventKind::Release, port);
        }
    }

    pub(super) fn on_release(&mut self, port: u32) {
        let now = self.now;
        let Some(i) = &mut self.net.ports[port as usize].impair else {
            return;
        };
        if i.release_at != now {
            return;
        }
        i.release_at = Time::NEVER;
        while let Some(p) = self.net.ports[port as usize]
            .impair
            .as_mut()
            .and_then(|i| i.release(now))
        {
            self.enter(port, p);
        }
        self.schedule_release(port);
    }

    #[cold]
    pub(super) fn refuse(&mut self, port: u32, p: &WirePacket, why: DropReason) {
        self.outlet(port).drop_wire(p, Place::Arriving, why);
    }

    #[inline(never)]
    pub(super) fn mark_by_step(&mut self, port: u32, mut p: WirePacket) -> WirePacket {
        p.mark_ce();
        self.outlet(port).mark_wire(&p, MarkReason::Forced);
        p
    }

    #[inline(never)]
    pub(super) fn enqueue_explicit(&mut self, port: u32, p: &WirePacket) {
        let now = self.now;
        self.catch_up(port);
        let mut packet = SimPacket {
            wire: *p,
            keys: self.flows.all[p.flow_id().0 as usize].keys,
        };
        packet.set_stamp(now);
        if self.flows.all[p.flow_id().0 as usize].limits_host && p.hop() == 0 {
            self.let_port_tell(port);
        }
        self.work(port, None, |server, out| {
            out.stats.arrived_packets += 1;
            out.stats.arrived_bytes += u64::from(p.size());
            server.arrive(packet, now, out)
        });
    }

    pub(super) fn on_service(&mut self, port: u32) {
        let now = self.now;
        if self.on_lazy_service(port) {
            return;
        }
        if self.is_due(port, Server::service_at) {
            self.work(port, Some(EventKind::Service), |server, out| server.serve(now, out));
        }
    }

    pub(super) fn on_queue_timer(&mut self, port: u32) {
        let now = self.now;
        if self.is_due(port, Server::timer_at) {
            self.work(port, Some(EventKind::QueueTimer), |server, out| {
                server.run_timer(now, out)
            });
        }
    }

    /// Whether an event is still valid. A server whose time has changed leaves the old event in the list, and a lazy
    /// port has an event of its own.
    fn is_due(&self, port: u32, at: impl FnOnce(&Server<SimPacket>) -> Time) -> bool {
        let port = &self.net.ports[port as usize];
        matches!(&port.queue, Queue::Explicit(e) if !port.lazy && at(&e.server) == self.now)
    }

    /// Call an explicit port's server because of an event, if one was due. Then handle the packet that begins its
    /// transmission, new events, statistics, requests and recording.
    #[inline]
    pub(super) fn work(
        &mut self,
        port: u32,
        due: Option<EventKind>,
        call: impl FnOnce(&mut Server<SimPacket>, &mut Outlet) -> Option<Sent<SimPacket>>,
    ) {
        let now = self.now;
        let WorkingPort {
            queue,
            mut out,
            watched,
            delay,
            lazy,
        } = self.at(port);
        let Queue::Explicit(e) = queue else { return };
        // The due event has left the list, so another one is needed for the same instant.
        let listed = |kind, at| if due == Some(kind) { Time::NEVER } else { at };
        let service_at = listed(EventKind::Service, e.server.service_at());
        let timer_at = listed(EventKind::QueueTimer, e.server.timer_at());
        let transmission = call(&mut e.server, &mut out);
        let (service, timer) = (e.server.service_at(), e.server.timer_at());
        let stuck = if transmission.is_none() { e.server.stuck() } else { None };
        e.settle(out.stats, now);
        if let Some(transmission) = &transmission {
            out.stats.transmit(transmission);
            out.show_sent(&transmission.packet.wire);
            if e.tells {
                out.sent_until(&transmission.packet.wire, transmission.end);
            }
        }
        let not_before = e.not_before;
        if !lazy {
            if service != service_at && service != Time::NEVER {
                self.events.push(service, EventKind::Service, port);
            }
            if timer != timer_at && timer != Time::NEVER {
                self.events.push(timer, EventKind::QueueTimer, port);
            }
        }
        if !self.flows.told.is_empty() {
            self.look_at_told();
        }
        if let Some(stuck) = stuck {
            return self.stuck(port, stuck);
        }
        if watched {
            self.record_port(port);
        }
        if !self.requests.is_empty() {
            let mut requests = std::mem::take(&mut self.requests);
            for (port, about, r) in requests.drain(..) {
                self.send_request(port, &about, r);
            }
            self.requests = requests;
        }
        if let Some(transmission) = transmission {
            let arrives = (transmission.end + delay).max(not_before);
            self.depart(port, transmission.packet.wire.without_stamp(), arrives);
        }
        // After a service that was late, more may be due, so the event is set when everything is done.
        if lazy && due.is_none() {
            self.await_service(port);
        }
    }

    #[cold]
    fn stuck(&mut self, port: u32, why: Stuck) {
        let (does, remedy) = why.words();
        self.give_up(Broken {
            port,
            does: does.into(),
            remedy: remedy.into(),
        });
    }

    /// The packet at the head of a wire reaches the far end.
    #[inline]
    pub(super) fn deliver(&mut self, port: u32) {
        let p = &mut self.net.ports[port as usize];
        let hands_ahead = p.hands_ahead;
        // If packets may be handed on, this packet keeps its place until that is done. Packets that it brings to the
        // port wait behind it.
        let head = if hands_ahead { p.wire.front() } else { p.wire.pop() };
        let Some(f) = head else { return };
        let mut packet = f.packet;
        p.count_delivered(&packet);
        self.counters.packet_hops += 1;
        let (is_long, is_watched, is_lazy) = (p.wire.slots() > LONG_WIRE, p.watched_exit, p.lazy);
        if !hands_ahead && let Some((arrives, born)) = p.wire.next_arrival() {
            self.events.push_delivery(arrives, port, born);
        } else if is_lazy && !hands_ahead {
            self.look_behind(port);
        }
        if is_long {
            self.look_ahead(port);
        }
        if is_watched && !self.show_exit(port, packet) {
            return self.lose_at_far_end(port, &packet);
        }
        packet.next_hop();
        let route = self.net.ways[packet.flow_id().0 as usize][usize::from(packet.is_backward())];
        if packet.hop() < usize::from(route.len) {
            let mut next_port = self.net.routes[route.start as usize + packet.hop()];
            if next_port >= CHOICE {
                next_port = match self.choose(next_port, Some(port), &mut packet) {
                    Next::Port(next_port) => next_port,
                    Next::End => return self.arrive(packet),
                    Next::Lost => return self.lose_at_far_end(port, &packet),
                };
            }
            self.offer(next_port, packet);
        } else {
            self.arrive(packet);
        }
        if hands_ahead {
            self.net.ports[port as usize].wire.pop();
            self.hand_on_waiting(port);
        }
    }

    /// A packet has reached the far end of a port that something watches. Returns false if it is lost there, since the
    /// link has failed while it was on the way.
    #[cold]
    fn show_exit(&mut self, port: u32, p: WirePacket) -> bool {
        if self.net.ports[port as usize].before & Before::LOSES != 0 {
            return false;
        }
        if self.net.ports[port as usize].before & Before::TAP_AT_EXIT != 0 {
            self.show(port, &p, |tap, at| tap.delivered(at));
        }
        // The conditioner of the opposite port sees the packets that this port delivers.
        let edge = self.net.ports[self.net.peer[port as usize] as usize].edge;
        if edge != NO_EDGE {
            self.show_reverse(edge, p);
        }
        true
    }

    /// Prefetch what the next packets of a long wire will need.
    fn look_ahead(&self, port: u32) {
        let wire = &self.net.ports[port as usize].wire;
        if let Some((id, ..)) = wire.peek(AHEAD_FAR) {
            prefetch(&self.net.ways[id.0 as usize]);
            prefetch(&self.flows.all[id.0 as usize]);
        }
        if let Some((id, is_back, hop)) = wire.peek(AHEAD_NEAR) {
            let id = id.0 as usize;
            let route = self.net.ways[id][usize::from(is_back)];
            if hop + 1 < usize::from(route.len) {
                let next = self.net.routes[route.start as usize + hop + 1];
                if let Some(next) = self.net.ports.get(next as usize) {
                    prefetch(next);
                }
            } else if let Carrier::Connection(ends) = &self.flows.all[id].carrier {
                prefetch(&*ends[usize::from(!is_back)]);
            }
        }
    }
}
