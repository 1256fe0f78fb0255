//! Links: a packet meets conditioner, impairments, queue, line and wire, in this order.

use super::Sim;
use crate::event::EventKind;
use crate::measure::recorder::{Fate, LogRow, Recorder, Source};
use crate::packet::{Extras, SimPacket, WirePacket};
use crate::port::{Explicit, NO_EDGE, Port, PortStats, Queue};
use crate::sim::flow::{Carrier, Flow};
use crate::sim::prefetch::prefetch;
use tailback_base::{Duration, Ecn, Packet, Request, Time};
use tailback_queue::{DropReason, Line, MarkReason, Out, Place, ProbeId, Service};

/// What a discipline reports to, at one port.
pub(super) struct Outlet<'a> {
    port: u32,
    now: Time,
    pub(super) stats: &'a mut PortStats,
    flows: &'a mut [Flow],
    extras: &'a mut Extras,
    recorder: &'a mut Option<Box<Recorder>>,
    requests: &'a mut Vec<(u32, WirePacket, Request)>,
    free_flows: &'a mut Vec<u32>,
}

impl Outlet<'_> {
    pub(super) fn log(&mut self, p: &WirePacket, fate: Fate) {
        if let Some(log) = self.recorder.as_mut().and_then(|r| r.log.as_mut()) {
            let flow = p.flow_id().0;
            log.push(LogRow {
                time: self.now,
                port: self.port,
                flow,
                sequence: p.seq(),
                bytes: p.size(),
                fate,
            });
        }
    }

    pub(super) fn drop_wire(&mut self, p: &WirePacket, place: Place, why: DropReason) {
        self.stats.count_drop(place, why, p.size());
        let f = &mut self.flows[p.flow_id().0 as usize];
        f.in_flight -= 1;
        if p.is_counted() {
            f.stats.of(p).dropped += 1;
        }
        if f.is_reusable() {
            self.free_flows.push(p.flow_id().0);
        }
        self.extras.release(p);
        self.log(p, Fate::Dropped(place, why));
    }

    pub(super) fn mark_wire(&mut self, p: &WirePacket, why: MarkReason) {
        self.stats.count_mark(why, p.size());
        if p.is_counted() {
            self.flows[p.flow_id().0 as usize].stats.of(p).marked += 1;
        }
        self.log(p, Fate::Marked(why));
    }
}

impl Out<SimPacket> for Outlet<'_> {
    fn dropped(&mut self, p: SimPacket, place: Place, why: DropReason) {
        self.drop_wire(&p.wire, place, why);
    }
    fn marked(&mut self, p: &SimPacket, why: MarkReason) {
        self.mark_wire(&p.wire, why);
    }
    fn request(&mut self, about: &SimPacket, r: Request) {
        self.requests.push((self.port, about.wire, r));
    }
    fn note(&mut self, probe: ProbeId, index: u32, value: f64) {
        let Some(r) = self.recorder else { return };
        for i in r.port_series.get(self.port as usize).into_iter().flatten() {
            let s = &mut r.series[*i as usize];
            if s.source
                == (Source::Pushed {
                    port: self.port,
                    probe: probe.0,
                })
            {
                s.point(self.now, index, value);
            }
        }
    }
}

/// Wires shorter than this belong to small networks, whose state is near anyway.
const LONG_WIRE: usize = 8192;
/// How many packets ahead a flow's own state is fetched, and what its state points to.
const AHEAD_FAR: usize = 8;
const AHEAD_NEAR: usize = 4;

impl Sim {
    /// A packet reaches the head of a port: conditioner, impairments, queue.
    #[inline]
    pub(super) fn offer(&mut self, port: u32, p: WirePacket) {
        let at = &self.ports[port as usize];
        if at.edge != NO_EDGE {
            self.condition(port, p);
        } else if at.impair.is_some() {
            self.offer_impaired(port, p);
        } else {
            self.enqueue(port, p);
        }
    }

    #[inline(never)]
    pub(super) fn offer_impaired(&mut self, port: u32, mut p: WirePacket) {
        let now = self.now;
        if let Some(i) = &mut self.ports[port as usize].impair {
            let v = i.judge(now);
            if v.drop {
                let mut out = self.outlet(port);
                out.stats.arrived_packets += 1;
                out.stats.arrived_bytes += u64::from(p.size());
                out.drop_wire(&p, Place::Arriving, DropReason::Impairment);
                return;
            }
            if v.mark && p.ecn_bits() != Ecn::NotEct {
                p.mark_ce();
                let mut out = self.outlet(port);
                out.mark_wire(&p, MarkReason::Impairment);
            }
            let copy = v.copy.then(|| {
                self.flows[p.flow_id().0 as usize].in_flight += 1;
                self.extras.duplicate(p)
            });
            for p in [Some(p), copy].into_iter().flatten() {
                match v.hold_until {
                    None => self.enqueue(port, p),
                    Some(t) => {
                        if let Some(i) = &mut self.ports[port as usize].impair {
                            i.hold(p, t);
                        }
                        self.schedule_release(port);
                    }
                }
            }
            return;
        }
        self.enqueue(port, p);
    }

    /// What a port reports to.
    pub(super) fn outlet(&mut self, port: u32) -> Outlet<'_> {
        Outlet {
            port,
            now: self.now,
            stats: &mut self.ports[port as usize].stats,
            flows: &mut self.flows,
            extras: &mut self.extras,
            recorder: &mut self.recorder,
            requests: &mut self.requests,
            free_flows: &mut self.free_flows,
        }
    }

    /// An explicit port's discipline, the line it sees, and what it reports to.
    fn discipline(&mut self, port: u32) -> Option<(&mut Explicit, Line, Outlet<'_>)> {
        let now = self.now;
        let Port {
            clock, queue, stats, ..
        } = &mut self.ports[port as usize];
        let Queue::Explicit(e) = queue else { return None };
        let line = Line {
            now,
            rate: clock.rate(),
            busy: e.on_wire.filter(|w| w.until > now),
        };
        let out = Outlet {
            port,
            now,
            stats,
            flows: &mut self.flows,
            extras: &mut self.extras,
            recorder: &mut self.recorder,
            requests: &mut self.requests,
            free_flows: &mut self.free_flows,
        };
        Some((e, line, out))
    }

    pub(super) fn schedule_release(&mut self, port: u32) {
        let Some(i) = &mut self.ports[port as usize].impair else {
            return;
        };
        if let Some(t) = i.next_release() {
            if t < i.release_at {
                i.release_at = t;
                self.events.push(t, EventKind::Release, port);
            }
        }
    }

    pub(super) fn on_release(&mut self, port: u32) {
        let now = self.now;
        let Some(i) = &mut self.ports[port as usize].impair else {
            return;
        };
        if i.release_at != now {
            return;
        }
        i.release_at = Time::NEVER;
        while let Some(p) = self.ports[port as usize].impair.as_mut().and_then(|i| i.release(now)) {
            self.enqueue(port, p);
        }
        self.schedule_release(port);
    }

    pub(super) fn enqueue(&mut self, port: u32, p: WirePacket) {
        let now = self.now;
        let Port {
            clock,
            delay,
            free_at,
            wire,
            queue,
            stats,
            ..
        } = &mut self.ports[port as usize];
        match queue {
            Queue::Fused(f) => match Port::offer_fused(f, clock, free_at, wire, stats, *delay, p, now) {
                Some(true) => {
                    let arrives = *free_at + *delay;
                    self.events.push_delivery(arrives, port, p.born());
                }
                Some(false) => {}
                None => self.overflow(port, p),
            },
            Queue::Explicit(_) => self.enqueue_explicit(port, p),
        }
    }

    #[cold]
    fn overflow(&mut self, port: u32, p: WirePacket) {
        self.outlet(port).drop_wire(&p, Place::Arriving, DropReason::Overflow);
    }

    #[inline(never)]
    fn enqueue_explicit(&mut self, port: u32, p: WirePacket) {
        let now = self.now;
        let mut packet = SimPacket {
            wire: p,
            keys: self.flows[p.flow_id().0 as usize].keys,
        };
        packet.set_stamp(now);
        let Some((e, line, mut out)) = self.discipline(port) else {
            return;
        };
        out.stats.arrived_packets += 1;
        out.stats.arrived_bytes += u64::from(p.size());
        e.queue.enqueue(packet, &line, &mut out);
        // A line that waits for a gate is free, too.
        let pending_now = e.service_at == now;
        if self.ports[port as usize].free_at <= now && !pending_now {
            self.serve(port);
        } else {
            self.after_queue_call(port);
        }
    }

    /// The line is free: ask the discipline.
    fn serve(&mut self, port: u32) {
        let now = self.now;
        let Some((e, line, mut out)) = self.discipline(port) else {
            return;
        };
        e.on_wire = None;
        let answer = e.queue.dequeue(&line, &mut out);
        let Port {
            clock,
            delay,
            free_at,
            wire,
            queue,
            stats,
            ..
        } = &mut self.ports[port as usize];
        let Queue::Explicit(e) = queue else { return };
        match answer {
            Service::Send(p) => {
                let was_empty = Port::transmit(e, clock, free_at, wire, stats, *delay, p, now);
                e.service_at = *free_at;
                self.events.push(*free_at, EventKind::Service, port);
                if was_empty {
                    self.events.push_delivery(*free_at + *delay, port, p.wire.born());
                }
            }
            Service::Wait(t) => {
                // A discipline that says "not before now" would be asked for ever: a nanosecond makes it progress.
                let t = t.max(now + Duration(1));
                if e.service_at != t {
                    e.service_at = t;
                    self.events.push(t, EventKind::Service, port);
                }
            }
            Service::Empty => e.service_at = Time::NEVER,
        }
        self.after_queue_call(port);
    }

    pub(super) fn on_service(&mut self, port: u32) {
        let Queue::Explicit(e) = &mut self.ports[port as usize].queue else {
            return;
        };
        if e.service_at == self.now {
            e.service_at = Time::NEVER;
            self.serve(port);
        }
    }

    pub(super) fn on_queue_timer(&mut self, port: u32) {
        let now = self.now;
        let Some((e, line, mut out)) = self.discipline(port) else {
            return;
        };
        if e.timer_at != now {
            return;
        }
        e.timer_at = Time::NEVER;
        if e.queue.next_timer().is_none_or(|t| t > now) {
            // It was put off, or given up, since.
            return self.after_queue_call(port);
        }
        e.queue.on_timer(&line, &mut out);
        // The timer may have opened a gate.
        let stored = e.queue.backlog().packets > 0;
        if stored && self.ports[port as usize].free_at <= now {
            self.serve(port);
        } else {
            self.after_queue_call(port);
        }
    }

    /// Statistics, timer, requests and recording after any call of a discipline.
    #[inline]
    pub(super) fn after_queue_call(&mut self, port: u32) {
        let now = self.now;
        let p = &mut self.ports[port as usize];
        let Queue::Explicit(e) = &mut p.queue else { return };
        Port::settle(e, &mut p.stats, now);
        if let Some(t) = e.queue.next_timer() {
            let t = t.max(now);
            if t < e.timer_at || e.timer_at <= now {
                e.timer_at = t;
                self.events.push(t, EventKind::QueueTimer, port);
            }
        }
        if p.watched {
            self.record_port(port);
        }
        if !self.requests.is_empty() {
            let mut requests = std::mem::take(&mut self.requests);
            for (port, about, r) in requests.drain(..) {
                self.send_request(port, &about, r);
            }
            self.requests = requests;
        }
    }

    /// The packet at the head of a wire reaches the far end.
    #[inline]
    pub(super) fn deliver(&mut self, port: u32) {
        let p = &mut self.ports[port as usize];
        let Some(f) = p.wire.pop() else { return };
        if let Some(next) = p.wire.front() {
            self.events.push_delivery(next.arrives, port, next.packet.born());
        }
        if p.wire.len() > LONG_WIRE {
            self.look_ahead(port);
        }
        let p = &mut self.ports[port as usize];
        let mut packet = f.packet;
        p.stats.delivered_packets += 1;
        p.stats.delivered_bytes += u64::from(packet.size());
        self.counters.packet_hops += 1;
        if p.peer_edge != NO_EDGE {
            let edge = p.peer_edge;
            self.show_reverse(edge, packet);
        }
        packet.next_hop();
        let route = self.ways[packet.flow_id().0 as usize][usize::from(packet.is_backward())];
        if packet.hop() < usize::from(route.len) {
            let next = self.routes[route.start as usize + packet.hop()];
            self.offer(next, packet);
        } else {
            self.arrive(packet);
        }
    }

    /// Bring near what the next packets of a long wire will need.
    fn look_ahead(&self, port: u32) {
        let wire = &self.ports[port as usize].wire;
        if let Some(f) = wire.peek(AHEAD_FAR) {
            let flow = f.packet.flow_id().0 as usize;
            prefetch(&self.ways[flow]);
            prefetch(&self.flows[flow]);
        }
        if let Some(f) = wire.peek(AHEAD_NEAR) {
            let (id, back) = (f.packet.flow_id().0 as usize, f.packet.is_backward());
            let route = self.ways[id][usize::from(back)];
            if f.packet.hop() + 1 < usize::from(route.len) {
                let next = self.routes[route.start as usize + f.packet.hop() + 1];
                prefetch(&self.ports[next as usize]);
            } else if let Carrier::Connection(ends) = &self.flows[id].carrier {
                prefetch(&*ends[usize::from(!back)]);
            }
        }
    }

    pub(super) fn on_rate_change(&mut self, port: u32) {
        let now = self.now;
        let changes = &mut self.rate_changes[port as usize];
        if changes.is_empty() {
            return;
        }
        let (_, rate) = changes.remove(0);
        // The packet on the wire keeps the rate it was sent with.
        self.ports[port as usize].clock.set_rate(rate);
        if let Some((t, _)) = self.rate_changes[port as usize].first() {
            self.events.push((*t).max(now), EventKind::RateChange, port);
        }
    }
}
