//! The driver: virtual time, and the calls every object of the network gets.
//!
//! One event is taken at a time, in the order of [`crate::event`]. What an object does in a call takes effect at once
//! (a packet enters the next queue) or as an event of its own. Objects never see each other, only what the driver hands
//! them.

use crate::app::{AppInput, Application, Ends, Net, NodeId, Side, TransportId};
use crate::event::{EventKind, EventList};
use crate::flow::{Carrier, Flow, FlowStats, NO_APP, NO_FOLLOWER, Snapshot};
use crate::packet::{Extras, Keys, SimPacket, WirePacket};
use crate::port::{NO_EDGE, Port, PortStats, Queue};
use crate::record::{Fate, LogRow, Recorder, Source};
use std::rc::Rc;
use tailback_base::{BitRate, Duration, Ecn, FlowId, Packet, Request, Stream, Time};
use tailback_conditioner::{Conditioner, EdgeId, EdgeMessage, EdgeOut};
use tailback_queue::{DropReason, MarkReason, Out, Place, ProbeId, Service};
use tailback_transport::{Amount, AppEvent, AppEvents, Transmit};

/// Bytes of a control packet on the wire (an ICMP message).
const CONTROL_BYTES: u32 = 56;

/// What the engine did, for `engine` in the results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineCounters {
    /// Packets, data or ACK, fully received at the far end of a link.
    pub packet_hops: u64,
    pub events: u64,
}

pub(crate) struct AppSlot {
    pub app: Option<Box<dyn Application>>,
    pub rng: Stream,
    pub own_flow: Option<FlowId>,
    pub start: Time,
    pub stop: Option<Time>,
    pub wake_at: Time,
    pub started: bool,
    pub stopped: bool,
    /// Group of the flows it opens.
    pub group: u32,
}

pub(crate) struct EdgeSlot {
    pub conditioner: Box<dyn Conditioner<SimPacket>>,
    pub port: u32,
    pub timer_at: Time,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    pub from: EdgeId,
    pub to: EdgeId,
    pub what: EdgeMessage,
}

pub(crate) enum Tick {
    Warmup,
    /// Flows by interval: period, end of the first.
    Interval(Duration),
    /// Sample these series.
    Sample { period: Duration, series: Vec<u32> },
}

/// Totals of the connections an application opened and closed, by group.
#[derive(Clone, Copy, Debug, Default)]
pub struct Retired {
    pub connections: u64,
    pub delivered: u64,
    pub sent_packets: u64,
    pub retransmitted_packets: u64,
    pub timeouts: u64,
    pub dropped: u64,
    pub marked: u64,
    /// Sum of the lifetimes, seconds.
    pub lifetime: f64,
}

pub(crate) type TransportMaker = Rc<dyn Fn() -> Ends>;

/// A run in progress.
pub struct Sim {
    pub(crate) now: Time,
    pub(crate) events: EventList,
    pub(crate) ports: Vec<Port>,
    /// Pairs of opposite directions: `peer[p]`.
    pub(crate) peer: Vec<u32>,
    pub(crate) rate_changes: Vec<Vec<(Time, BitRate)>>,
    pub(crate) routes: Vec<u32>,
    pub(crate) flows: Vec<Flow>,
    /// Totals at the start of statistics, when that is not the start of the run.
    pub(crate) baseline: Vec<Snapshot>,
    pub(crate) apps: Vec<AppSlot>,
    pub(crate) edges: Vec<EdgeSlot>,
    /// Propagation delay between edges, by (from, to).
    pub(crate) edge_delay: Vec<Vec<Duration>>,
    pub(crate) messages: Vec<Option<Message>>,
    pub(crate) ticks: Vec<Tick>,
    pub(crate) intervals: Vec<(Time, Vec<Snapshot>)>,
    pub(crate) extras: Extras,
    pub(crate) recorder: Option<Box<Recorder>>,
    pub(crate) counters: EngineCounters,
    pub(crate) transports: Vec<TransportMaker>,
    pub(crate) router: crate::route::Router,
    pub(crate) free_flows: Vec<u32>,
    pub(crate) retired: Vec<Retired>,
    /// News for applications, delivered when the call that caused it is over.
    news: Vec<(u32, AppInput)>,
    /// Control packets to send, with the port they come from.
    requests: Vec<(u32, WirePacket, Request)>,
    forwarded: Vec<SimPacket>,
    /// News is being delivered further up the stack.
    telling: bool,
}

/// Collects an endpoint's news.
struct Listener<'a> {
    news: &'a mut Vec<(u32, AppInput)>,
    app: u32,
    flow: FlowId,
    side: Side,
}

impl AppEvents for Listener<'_> {
    fn event(&mut self, event: AppEvent) {
        self.news.push((self.app, AppInput::Transport { flow: self.flow, side: self.side, event }));
    }
}

/// What a discipline reports to, at one port.
struct Outlet<'a> {
    port: u32,
    now: Time,
    stats: &'a mut PortStats,
    flows: &'a mut [Flow],
    extras: &'a mut Extras,
    recorder: &'a mut Option<Box<Recorder>>,
    requests: &'a mut Vec<(u32, WirePacket, Request)>,
}

impl Outlet<'_> {
    fn log(&mut self, p: &WirePacket, fate: Fate) {
        if let Some(log) = self.recorder.as_mut().and_then(|r| r.log.as_mut()) {
            let flow = p.flow_id().0;
            log.push(LogRow { time: self.now, port: self.port, flow, sequence: p.seq(), bytes: p.size(), fate });
        }
    }

    fn drop_wire(&mut self, p: &WirePacket, place: Place, why: DropReason) {
        self.stats.count_drop(place, why);
        let f = &mut self.flows[p.flow_id().0 as usize];
        f.in_flight -= 1;
        if !p.is_backward() {
            f.stats.dropped += 1;
        }
        self.extras.release(p);
        self.log(p, Fate::Dropped(place, why));
    }

    fn mark_wire(&mut self, p: &WirePacket, why: MarkReason) {
        self.stats.count_mark(why);
        if !p.is_backward() {
            self.flows[p.flow_id().0 as usize].stats.marked += 1;
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
            if s.source == (Source::Pushed { port: self.port, probe: probe.0 }) {
                s.point(self.now, index, value);
            }
        }
    }
}

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
    pub(crate) fn new(router: crate::route::Router) -> Sim {
        Sim {
            now: Time::ZERO,
            events: EventList::new(),
            ports: Vec::new(),
            peer: Vec::new(),
            rate_changes: Vec::new(),
            routes: Vec::new(),
            flows: Vec::new(),
            baseline: Vec::new(),
            apps: Vec::new(),
            edges: Vec::new(),
            edge_delay: Vec::new(),
            messages: Vec::new(),
            ticks: Vec::new(),
            intervals: Vec::new(),
            extras: Extras::default(),
            recorder: None,
            counters: EngineCounters::default(),
            transports: Vec::new(),
            router,
            free_flows: Vec::new(),
            retired: Vec::new(),
            news: Vec::new(),
            requests: Vec::new(),
            forwarded: Vec::new(),
            telling: false,
        }
    }

    pub fn now(&self) -> Time {
        self.now
    }

    pub fn counters(&self) -> EngineCounters {
        self.counters
    }

    /// Totals of the connections that applications opened and that are over, for the group of that index.
    pub fn retired(&self, group: usize) -> Retired {
        self.retired.get(group).copied().unwrap_or_default()
    }

    /// Number of flow slots in use or free: does not grow while closed connections are replaced by new ones.
    pub fn flow_slots(&self) -> usize {
        self.flows.len()
    }

    /// Run every event up to and including `until`.
    pub fn run_until(&mut self, until: Time) {
        while let Some((t, kind, entity)) = self.events.pop_until(until) {
            self.now = t;
            self.counters.events += 1;
            match kind {
                EventKind::Delivery => self.deliver(entity),
                EventKind::Service => self.on_service(entity),
                EventKind::QueueTimer => self.on_queue_timer(entity),
                EventKind::Endpoint => self.on_endpoint_timer(entity),
                EventKind::Application => self.on_application(entity),
                EventKind::Release => self.on_release(entity),
                EventKind::EdgeTimer => self.on_edge_timer(entity),
                EventKind::Message => self.on_message(entity),
                EventKind::RateChange => self.on_rate_change(entity),
                EventKind::Tick => self.on_tick(entity),
            }
        }
        self.now = until;
    }

    // ---- links -----------------------------------------------------------------------------------------------------

    /// A packet reaches the head of a port: conditioner, impairments, queue.
    #[inline]
    fn offer(&mut self, port: u32, p: WirePacket) {
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
    fn offer_impaired(&mut self, port: u32, mut p: WirePacket) {
        let now = self.now;
        if let Some(i) = &mut self.ports[port as usize].impair {
            let v = i.judge(now);
            if v.drop {
                let (stats, mut out) = self.outlet(port);
                stats(&mut out).arrived_packets += 1;
                out.drop_wire(&p, Place::Arriving, DropReason::Impairment);
                return;
            }
            if v.mark && p.ecn_bits() != Ecn::NotEct {
                p.mark_ce();
                let (_, mut out) = self.outlet(port);
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

    /// The reporting object of a port; the first part reaches its counters.
    #[allow(clippy::type_complexity)]
    fn outlet(&mut self, port: u32) -> (for<'b> fn(&'b mut Outlet<'_>) -> &'b mut PortStats, Outlet<'_>) {
        let out = Outlet {
            port,
            now: self.now,
            stats: &mut self.ports[port as usize].stats,
            flows: &mut self.flows,
            extras: &mut self.extras,
            recorder: &mut self.recorder,
            requests: &mut self.requests,
        };
        (|o| o.stats, out)
    }

    fn schedule_release(&mut self, port: u32) {
        let Some(i) = &mut self.ports[port as usize].impair else { return };
        if let Some(t) = i.next_release() {
            if t < i.release_at {
                i.release_at = t;
                self.events.push(t, EventKind::Release, port);
            }
        }
    }

    fn on_release(&mut self, port: u32) {
        let now = self.now;
        let Some(i) = &mut self.ports[port as usize].impair else { return };
        if i.release_at != now {
            return;
        }
        i.release_at = Time::NEVER;
        while let Some(p) = self.ports[port as usize].impair.as_mut().and_then(|i| i.release(now)) {
            self.enqueue(port, p);
        }
        self.schedule_release(port);
    }

    fn enqueue(&mut self, port: u32, p: WirePacket) {
        let now = self.now;
        let Port { clock, delay, free_at, wire, queue, stats, .. } = &mut self.ports[port as usize];
        match queue {
            Queue::Fused(f) => match Port::offer_fused(f, clock, free_at, wire, stats, *delay, p, now) {
                Some(true) => {
                    let arrives = *free_at + *delay;
                    self.events.push_delivery(arrives, port, p.born());
                }
                Some(false) => {}
                None => {
                    let (_, mut out) = self.outlet(port);
                    out.drop_wire(&p, Place::Arriving, DropReason::Overflow);
                }
            },
            Queue::Explicit(_) => self.enqueue_explicit(port, p),
        }
    }

    fn enqueue_explicit(&mut self, port: u32, p: WirePacket) {
        let now = self.now;
        let Port { clock, free_at, queue, stats, .. } = &mut self.ports[port as usize];
        let Queue::Explicit(e) = queue else { return };
        stats.arrived_packets += 1;
        stats.arrived_bytes += u64::from(p.size());
        let mut sp = SimPacket { wire: p, keys: self.flows[p.flow_id().0 as usize].keys };
        sp.set_stamp(now);
        let line = Port::line(clock, e.on_wire, now);
        let mut out = Outlet {
            port,
            now,
            stats,
            flows: &mut self.flows,
            extras: &mut self.extras,
            recorder: &mut self.recorder,
            requests: &mut self.requests,
        };
        e.queue.enqueue(sp, &line, &mut out);
        if *free_at <= now && (e.service_at == Time::NEVER || e.service_at > now) {
            self.serve(port);
        } else {
            self.after_queue_call(port);
        }
    }

    /// The line is free: ask the discipline.
    fn serve(&mut self, port: u32) {
        let now = self.now;
        let Port { clock, delay, free_at, wire, queue, stats, .. } = &mut self.ports[port as usize];
        let Queue::Explicit(e) = queue else { return };
        e.on_wire = None;
        let line = Port::line(clock, None, now);
        let mut out = Outlet {
            port,
            now,
            stats,
            flows: &mut self.flows,
            extras: &mut self.extras,
            recorder: &mut self.recorder,
            requests: &mut self.requests,
        };
        match e.queue.dequeue(&line, &mut out) {
            Service::Send(p) => {
                let born = p.wire.born();
                let was_empty = Port::transmit(e, clock, free_at, wire, out.stats, *delay, p, now);
                e.service_at = *free_at;
                self.events.push(*free_at, EventKind::Service, port);
                if was_empty {
                    self.events.push_delivery(*free_at + *delay, port, born);
                }
            }
            Service::Wait(t) => {
                // A discipline that says "not before now" would be asked for ever: a nanosecond makes it progress.
                let t = t.max(now + Duration(1));
                e.service_at = t;
                self.events.push(t, EventKind::Service, port);
            }
            Service::Empty => e.service_at = Time::NEVER,
        }
        self.after_queue_call(port);
    }

    fn on_service(&mut self, port: u32) {
        let Queue::Explicit(e) = &self.ports[port as usize].queue else { return };
        if e.service_at == self.now {
            self.serve(port);
        }
    }

    fn on_queue_timer(&mut self, port: u32) {
        let now = self.now;
        let Port { clock, queue, stats, .. } = &mut self.ports[port as usize];
        let Queue::Explicit(e) = queue else { return };
        if e.timer_at != now {
            return;
        }
        e.timer_at = Time::NEVER;
        let line = Port::line(clock, e.on_wire, now);
        let mut out = Outlet {
            port,
            now,
            stats,
            flows: &mut self.flows,
            extras: &mut self.extras,
            recorder: &mut self.recorder,
            requests: &mut self.requests,
        };
        e.queue.on_timer(&line, &mut out);
        // A timer may have opened a gate.
        if self.ports[port as usize].free_at <= now && matches!(&self.ports[port as usize].queue, Queue::Explicit(e) if e.queue.backlog().packets > 0) {
            self.serve(port);
        } else {
            self.after_queue_call(port);
        }
    }

    /// Statistics, timer, requests and recording after any call of a discipline.
    #[inline]
    fn after_queue_call(&mut self, port: u32) {
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
        while let Some((port, about, r)) = self.requests.pop() {
            self.send_request(port, &about, r);
        }
    }

    /// The packet at the head of a wire reaches the far end.
    #[inline]
    fn deliver(&mut self, port: u32) {
        let p = &mut self.ports[port as usize];
        let Some(f) = p.wire.pop() else { return };
        if let Some(next) = p.wire.front() {
            self.events.push_delivery(next.arrives, port, next.packet.born());
        }
        let mut packet = f.packet;
        p.stats.delivered_packets += 1;
        p.stats.delivered_bytes += u64::from(packet.size());
        self.counters.packet_hops += 1;
        if p.peer_edge != NO_EDGE {
            let edge = p.peer_edge;
            self.show_reverse(edge, packet);
        }
        packet.next_hop();
        let flow = &self.flows[packet.flow_id().0 as usize];
        let route = if packet.is_backward() { flow.backward } else { flow.forward };
        if packet.hop() < usize::from(route.len) {
            let next = self.routes[route.start as usize + packet.hop()];
            self.offer(next, packet);
        } else {
            self.arrive(packet);
        }
    }

    fn on_rate_change(&mut self, port: u32) {
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

    // ---- edges -----------------------------------------------------------------------------------------------------

    fn condition(&mut self, port: u32, p: WirePacket) {
        let edge = self.ports[port as usize].edge;
        let packet = SimPacket { wire: p, keys: self.flows[p.flow_id().0 as usize].keys };
        self.edge_call(edge, |c, now, out| c.forward(packet, now, out));
    }

    fn show_reverse(&mut self, edge: u32, p: WirePacket) {
        let packet = SimPacket { wire: p, keys: self.flows[p.flow_id().0 as usize].keys };
        self.edge_call(edge, |c, now, _| c.reverse(&packet, now));
    }

    fn edge_call(&mut self, edge: u32, call: impl FnOnce(&mut dyn Conditioner<SimPacket>, Time, &mut dyn EdgeOut<SimPacket>)) {
        let now = self.now;
        let mut forwarded = std::mem::take(&mut self.forwarded);
        let slot = &mut self.edges[edge as usize];
        let port = slot.port;
        let mut out = EdgeOutlet { forwarded: &mut forwarded, dropped: Vec::new(), messages: Vec::new() };
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
            let (_, mut out) = self.outlet(port);
            out.drop_wire(&p.wire, Place::Arriving, DropReason::Penalty);
        }
        for (to, what) in messages {
            let Some(delay) = self.edge_delay.get(edge as usize).and_then(|d| d.get(to.0 as usize)) else { continue };
            let at = now + *delay;
            let m = Some(Message { from: EdgeId(edge), to, what });
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

    fn on_edge_timer(&mut self, edge: u32) {
        if self.edges[edge as usize].timer_at != self.now {
            return;
        }
        self.edges[edge as usize].timer_at = Time::NEVER;
        self.edge_call(edge, |c, now, out| c.on_timer(now, out));
    }

    fn on_message(&mut self, slot: u32) {
        if let Some(m) = self.messages[slot as usize].take() {
            self.edge_call(m.to.0, |c, now, _| c.message(m.from, m.what, now));
        }
    }

    // ---- control packets -------------------------------------------------------------------------------------------

    /// Send a request from the near end of `port` back to where `about` came from, along the links it took.
    fn send_request(&mut self, port: u32, about: &WirePacket, r: Request) {
        let flow_id = about.flow_id();
        let flow = &mut self.flows[flow_id.0 as usize];
        let (came, back) = if about.is_backward() { (flow.backward, flow.forward) } else { (flow.forward, flow.backward) };
        flow.in_flight += 1;
        let mut p = WirePacket::control(r, CONTROL_BYTES, flow_id, !about.is_backward(), self.now, &mut self.extras);
        let way = &self.routes[came.start as usize..came.start as usize + usize::from(came.len)];
        let links_behind = way.iter().position(|x| *x == port).unwrap_or(0);
        if links_behind == 0 {
            // The queue stands in the source itself.
            return self.arrive(p);
        }
        let hop = usize::from(back.len) - links_behind;
        p.set_hop(hop);
        let first = self.routes[back.start as usize + hop];
        self.offer(first, p);
    }

    // ---- flows -----------------------------------------------------------------------------------------------------

    /// A packet is at its destination.
    fn arrive(&mut self, p: WirePacket) {
        let now = self.now;
        let id = p.flow_id();
        let flow = &mut self.flows[id.0 as usize];
        flow.in_flight -= 1;
        let side = if p.is_backward() { Side::Source } else { Side::Destination };
        if p.is_control() {
            let request = p.request(&self.extras);
            self.extras.release(&p);
            match (&mut flow.carrier, request) {
                (Carrier::Connection(ends), Some(r)) => {
                    ends[side as usize].on_request(r, now);
                    self.pump(id, side);
                }
                (Carrier::Datagrams { .. }, Some(_)) if flow.app != NO_APP => {
                    self.news.push((flow.app, AppInput::Request { flow: id }));
                    self.tell();
                }
                _ => {}
            }
            return;
        }
        if !p.is_backward() && p.payload() > 0 {
            let s = &mut flow.stats;
            s.received_packets += 1;
            s.received_wire_bytes += u64::from(p.size());
            s.received_payload_bytes += u64::from(p.payload());
            s.delay.add(now - p.born());
        }
        match &mut flow.carrier {
            Carrier::Connection(ends) => {
                let segment = p.to_segment(&self.extras);
                self.extras.release(&p);
                let end = &mut ends[side as usize];
                if flow.listens {
                    end.on_segment(&segment, now, &mut Listener { news: &mut self.news, app: flow.app, flow: id, side });
                } else {
                    end.on_segment(&segment, now, &mut ());
                }
                self.pump(id, side);
            }
            Carrier::Datagrams { .. } => {
                self.extras.release(&p);
                if flow.listens {
                    self.news.push((flow.app, AppInput::Datagram { flow: id, bytes: p.size() }));
                    self.tell();
                }
            }
            Carrier::Closed => {
                self.extras.release(&p);
                self.reuse_if_done(id);
            }
        }
    }

    /// After any call of an endpoint: send what it has, arm its timer, pass its news on.
    fn pump(&mut self, id: FlowId, side: Side) {
        let now = self.now;
        let backward = side == Side::Destination;
        let mut not_before = Time::NEVER;
        loop {
            let flow = &mut self.flows[id.0 as usize];
            let Carrier::Connection(ends) = &mut flow.carrier else { break };
            match ends[side as usize].poll_transmit(now) {
                Transmit::Segment(s) => {
                    let route = if backward { flow.backward } else { flow.forward };
                    flow.in_flight += 1;
                    let p = WirePacket::from_segment(&s, id, backward, now, &mut self.extras);
                    let first = self.routes[route.start as usize];
                    self.offer(first, p);
                }
                Transmit::NotBefore(t) => {
                    not_before = t.max(now + Duration(1));
                    break;
                }
                Transmit::Idle => break,
            }
        }
        let flow = &mut self.flows[id.0 as usize];
        if let Carrier::Connection(ends) = &flow.carrier {
            let end = &ends[side as usize];
            let want = end.next_timeout().unwrap_or(Time::NEVER).min(not_before);
            let armed = &mut flow.timers[side as usize];
            // One deferred event: a later wish leaves the armed event alone, which looks again when it comes.
            if want < *armed {
                *armed = want.max(now);
                self.events.push(*armed, EventKind::Endpoint, 2 * id.0 + side as u32);
            }
            if flow.srtt_follower != NO_FOLLOWER && side == Side::Source {
                if let Some(srtt) = end.srtt() {
                    let edge = flow.srtt_follower;
                    self.edge_call(edge, |c, now, _| c.srtt(id, srtt, now));
                }
            }
        }
        if self.flows[id.0 as usize].watched {
            self.record_flow(id.0);
        }
        if !self.news.is_empty() {
            self.tell();
        }
    }

    fn on_endpoint_timer(&mut self, entity: u32) {
        let now = self.now;
        let (id, side) = (FlowId(entity / 2), if entity % 2 == 0 { Side::Source } else { Side::Destination });
        let flow = &mut self.flows[id.0 as usize];
        if flow.timers[side as usize] != now {
            return;
        }
        flow.timers[side as usize] = Time::NEVER;
        let Carrier::Connection(ends) = &mut flow.carrier else { return };
        let end = &mut ends[side as usize];
        if end.next_timeout().is_some_and(|t| t <= now) {
            if flow.listens {
                end.on_timeout(now, &mut Listener { news: &mut self.news, app: flow.app, flow: id, side });
            } else {
                end.on_timeout(now, &mut ());
            }
        }
        self.pump(id, side);
    }

    /// Give a slot back once its connection is over and nothing of it is in flight.
    fn reuse_if_done(&mut self, id: FlowId) {
        let f = &self.flows[id.0 as usize];
        if matches!(f.carrier, Carrier::Closed) && f.in_flight == 0 {
            self.free_flows.push(id.0);
        }
    }

    fn retire(&mut self, id: FlowId) {
        let now = self.now;
        let f = &mut self.flows[id.0 as usize];
        let s = f.snapshot(now);
        f.carrier = Carrier::Closed;
        f.timers = [Time::NEVER; 2];
        let (group, lifetime) = (f.group as usize, (now - f.opened).seconds());
        f.stats = FlowStats::default();
        if self.retired.len() <= group {
            self.retired.resize_with(group + 1, Retired::default);
        }
        let r = &mut self.retired[group];
        r.connections += 1;
        r.delivered += s.delivered;
        r.sent_packets += s.sender.sent_packets;
        r.retransmitted_packets += s.sender.retransmitted_packets;
        r.timeouts += s.sender.timeouts;
        r.dropped += s.dropped;
        r.marked += s.marked;
        r.lifetime += lifetime;
        self.reuse_if_done(id);
    }

    // ---- applications ----------------------------------------------------------------------------------------------

    /// Deliver pending news, including what it causes.
    fn tell(&mut self) {
        if self.telling {
            return;
        }
        self.telling = true;
        let mut i = 0;
        while i < self.news.len() {
            let (app, what) = self.news[i];
            i += 1;
            let Some(mut a) = self.apps[app as usize].app.take() else { continue };
            a.on(what, &mut View { sim: self, app });
            self.apps[app as usize].app = Some(a);
            if let AppInput::Transport { flow, event: AppEvent::Closed, .. } = what {
                // Flows a scenario declared keep their slot and their row in the results.
                if self.apps[app as usize].own_flow != Some(flow) && matches!(self.flows[flow.0 as usize].carrier, Carrier::Connection(_)) {
                    self.retire(flow);
                }
            }
        }
        self.news.clear();
        self.telling = false;
    }

    fn on_application(&mut self, app: u32) {
        let now = self.now;
        let a = &mut self.apps[app as usize];
        let mut calls: [Option<AppInput>; 3] = [None; 3];
        if !a.started && a.start <= now {
            a.started = true;
            calls[0] = Some(AppInput::Start);
        }
        if a.wake_at <= now {
            a.wake_at = Time::NEVER;
            calls[1] = Some(AppInput::Wake);
        }
        if !a.stopped && a.stop.is_some_and(|t| t <= now) {
            a.stopped = true;
            calls[2] = Some(AppInput::Stop);
        }
        for c in calls.into_iter().flatten() {
            self.news.push((app, c));
        }
        self.tell();
    }

    /// The propagation delay of the shortest path between two ports' near ends is prepared by the network builder.
    fn open_connection(&mut self, app: u32, from: NodeId, to: NodeId, transport: TransportId) -> FlowId {
        let now = self.now;
        let (forward, backward) = self.router.routes(from, to, &mut self.routes, &self.peer);
        let ends = self.transports[transport.0 as usize]();
        let flow = Flow {
            group: self.apps[app as usize].group,
            index: 0,
            carrier: Carrier::Connection(ends),
            timers: [Time::NEVER; 2],
            forward,
            backward,
            keys: Keys { source: from.0, destination: to.0, label: to.0, aggregate: 0 },
            app,
            listens: true,
            srtt_follower: NO_FOLLOWER,
            in_flight: 0,
            watched: false,
            declared: false,
            opened: now,
            stats: FlowStats::default(),
        };
        match self.free_flows.pop() {
            Some(i) => {
                self.flows[i as usize] = flow;
                FlowId(i)
            }
            None => {
                self.flows.push(flow);
                FlowId((self.flows.len() - 1) as u32)
            }
        }
    }

    // ---- recording -------------------------------------------------------------------------------------------------

    pub(crate) fn read(&mut self, source: Source) -> f64 {
        let now = self.now;
        match source {
            Source::Queue(p) => self.ports[p as usize].waiting(now).0 as f64,
            Source::QueueBytes(p) => self.ports[p as usize].waiting(now).1 as f64,
            Source::Delivered(p) => self.ports[p as usize].stats.delivered_bytes as f64,
            Source::Discipline { port, probe, index } => match &self.ports[port as usize].queue {
                Queue::Explicit(e) => e.queue.read(ProbeId(probe), index),
                Queue::Fused(_) => f64::NAN,
            },
            Source::Pushed { .. } => f64::NAN,
            Source::Sender { flow, probe } => match &self.flows[flow as usize].carrier {
                Carrier::Connection(ends) => ends[0].read(usize::from(probe)),
                _ => f64::NAN,
            },
            Source::Goodput(f) => self.flows[f as usize].snapshot(now).delivered as f64,
        }
    }

    fn record_changes(&mut self, series: &[u32]) {
        for &i in series {
            let Some(r) = &self.recorder else { return };
            let source = r.series[i as usize].source;
            if matches!(source, Source::Pushed { .. }) {
                continue;
            }
            let value = self.read(source);
            let now = self.now;
            if let Some(r) = &mut self.recorder {
                r.series[i as usize].change(now, value);
            }
        }
    }

    #[cold]
    fn record_port(&mut self, port: u32) {
        let Some(r) = &mut self.recorder else { return };
        let list = std::mem::take(&mut r.port_series[port as usize]);
        self.record_changes(&list);
        if let Some(r) = &mut self.recorder {
            r.port_series[port as usize] = list;
        }
    }

    #[cold]
    fn record_flow(&mut self, flow: u32) {
        let Some(r) = &mut self.recorder else { return };
        let Some(slot) = r.flow_series.get_mut(flow as usize) else { return };
        let list = std::mem::take(slot);
        self.record_changes(&list);
        if let Some(r) = &mut self.recorder {
            r.flow_series[flow as usize] = list;
        }
    }

    /// The value every on-change series starts with.
    pub(crate) fn record_start(&mut self) {
        let all: Vec<u32> = self.recorder.iter().flat_map(|r| (0..r.series.len() as u32).filter(|i| r.series[*i as usize].on_change)).collect();
        self.record_changes(&all);
    }

    fn on_tick(&mut self, tick: u32) {
        let now = self.now;
        match &mut self.ticks[tick as usize] {
            Tick::Warmup => {
                for p in &mut self.ports {
                    p.restart_statistics(now);
                }
                self.baseline = self.flows.iter().map(|f| f.snapshot(now)).collect();
                for (f, b) in self.flows.iter_mut().zip(&mut self.baseline) {
                    f.stats.delay.clear();
                    b.delay_count = 0;
                    b.delay_sum = 0.0;
                }
                self.intervals.clear();
                self.intervals.push((now, self.baseline.clone()));
            }
            Tick::Interval(period) => {
                let next = now + *period;
                let rows = self.flows.iter().map(|f| f.snapshot(now)).collect();
                if self.intervals.last().is_none_or(|(t, _)| *t < now) {
                    self.intervals.push((now, rows));
                }
                self.events.push(next, EventKind::Tick, tick);
            }
            Tick::Sample { period, series } => {
                let next = now + *period;
                let list = std::mem::take(series);
                for &i in &list {
                    let Some(source) = self.recorder.as_ref().map(|r| r.series[i as usize].source) else { continue };
                    let (indices, all) = match source {
                        Source::Discipline { index: u32::MAX, .. } => (0..u32::MAX, true),
                        _ => (0..1, false),
                    };
                    for index in indices {
                        let value = match source {
                            Source::Discipline { port, probe, .. } if all => self.read(Source::Discipline { port, probe, index }),
                            _ => self.read(source),
                        };
                        // An indexed probe ends where it has no value.
                        if all && value.is_nan() {
                            break;
                        }
                        if let Some(r) = &mut self.recorder {
                            r.series[i as usize].point(now, index, value);
                        }
                    }
                }
                if let Tick::Sample { series, .. } = &mut self.ticks[tick as usize] {
                    *series = list;
                }
                self.events.push(next, EventKind::Tick, tick);
            }
        }
    }
}

/// The network, as one application sees it.
struct View<'a> {
    sim: &'a mut Sim,
    app: u32,
}

impl Net for View<'_> {
    fn now(&self) -> Time {
        self.sim.now
    }

    fn rng(&mut self) -> &mut Stream {
        &mut self.sim.apps[self.app as usize].rng
    }

    fn own_flow(&self) -> Option<FlowId> {
        self.sim.apps[self.app as usize].own_flow
    }

    fn open(&mut self, from: NodeId, to: NodeId, transport: TransportId) -> FlowId {
        self.sim.open_connection(self.app, from, to, transport)
    }

    fn write(&mut self, flow: FlowId, side: Side, n: Amount) {
        let now = self.sim.now;
        if let Carrier::Connection(ends) = &mut self.sim.flows[flow.0 as usize].carrier {
            ends[side as usize].write(n, now);
            self.sim.pump(flow, side);
        }
    }

    fn close(&mut self, flow: FlowId, side: Side) {
        let now = self.sim.now;
        if let Carrier::Connection(ends) = &mut self.sim.flows[flow.0 as usize].carrier {
            ends[side as usize].close(now);
            self.sim.pump(flow, side);
        }
    }

    fn datagram(&mut self, flow: FlowId, bytes: u32, header: u32) {
        let now = self.sim.now;
        let f = &mut self.sim.flows[flow.0 as usize];
        let Carrier::Datagrams { ecn, next_seq } = &mut f.carrier else { return };
        let p = WirePacket::datagram(*next_seq, bytes, header, *ecn, flow, now);
        *next_seq += 1;
        f.stats.datagrams += 1;
        f.in_flight += 1;
        let first = self.sim.routes[f.forward.start as usize];
        self.sim.offer(first, p);
    }

    fn relabel(&mut self, flow: FlowId, label: u32) {
        self.sim.flows[flow.0 as usize].keys.label = label;
    }

    fn wake(&mut self, at: Time) {
        let at = at.max(self.sim.now);
        self.sim.apps[self.app as usize].wake_at = at;
        self.sim.events.push(at, EventKind::Application, self.app);
    }
}
