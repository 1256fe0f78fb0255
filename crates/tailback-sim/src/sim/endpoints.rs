//! Endpoints: the packets that arrive at them, the packets that they send, their timers, and control packets on the way
//! to them.

mod host;

use super::{Broken, Sim};
use crate::sim::flow::{Carrier, Coming, Hears, NO_APP, NOTHING_AWAITED};
use crate::sim::injected::Emitted;
use crate::sim::transfers::TransferRow;
use crate::traffic::application::{AppInput, Side};
use crate::wire::packet::WirePacket;
use tailback_base::work::done;
use tailback_base::{Duration, FlowId, Request, Time};
use tailback_transport::{AppEvent, AppEvents, Flags, Transmit, Wake};

/// Bytes of a control packet on the wire: two headers of 20 bytes, as a segment without data.
const CONTROL_BYTES: u32 = 40;

/// The number of an endpoint's packets in one event that count as a unit of work, about a tenth of a millisecond.
const LONG_BURST: u32 = 1 << 10;

/// Collects those events of an endpoint that its application gets.
struct Listener<'a> {
    news: &'a mut Vec<(u32, AppInput)>,
    hears: Hears,
    app: u32,
    flow: FlowId,
    side: Side,
    now: Time,
    /// As [`Flow::awaits`](crate::sim::flow::Flow::awaits): 0 if the end keeps no count and only reports when
    /// everything is acknowledged.
    awaits: u64,
    coming: &'a mut Coming,
    transfers: &'a mut [TransferRow],
}

impl Listener<'_> {
    /// Whether an application that waits for transfers need not get this event. The bytes of transfers are counted
    /// here, except the last one.
    fn is_quiet(&mut self, event: AppEvent) -> bool {
        match event {
            AppEvent::Connected | AppEvent::PeerClosed | AppEvent::Packet(_) => true,
            AppEvent::AllAcknowledged => self.awaits > 0,
            AppEvent::Delivered(n) if n < self.coming.bytes_to(self.side) => {
                self.transfers[self.coming.take(n)].deliver(n, self.now);
                true
            }
            AppEvent::Delivered(_) => {
                if self.coming.bytes_to(self.side) > 0 {
                    *self.coming = Coming::NOTHING;
                }
                false
            }
            AppEvent::Closed => {
                *self.coming = Coming::NOTHING;
                false
            }
        }
    }
}

impl AppEvents for Listener<'_> {
    fn event(&mut self, event: AppEvent) {
        let is_heard = match self.hears {
            Hears::Nothing => false,
            Hears::Transfers => !self.is_quiet(event),
            Hears::Everything => true,
        };
        if is_heard {
            let (flow, side) = (self.flow, self.side);
            self.news.push((self.app, AppInput::Transport { flow, side, event }));
        }
    }
}

impl Sim {
    /// A packet is at its destination.
    pub(super) fn arrive(&mut self, p: WirePacket) {
        if let Some((first, answer)) = self.meet(&p) {
            self.offer(first, answer);
        }
    }

    /// A packet meets its end. If the end then sends packets, the last one may be returned with the first port of its
    /// way. The caller then offers the packet to that port.
    pub(super) fn meet(&mut self, p: &WirePacket) -> Option<(u32, WirePacket)> {
        let now = self.now;
        let id = p.flow_id();
        let flow = &mut self.flows.all[id.0 as usize];
        flow.in_flight -= 1;
        let side = if p.is_backward() {
            Side::Source
        } else {
            Side::Destination
        };
        if p.is_control() {
            self.arrive_control(id, side, p);
            return None;
        }
        if p.payload() > 0 {
            let s = flow.stats.of(p);
            s.data.received_packets += 1;
            s.data.received_wire_bytes += u64::from(p.size());
            s.data.received_payload_bytes += u64::from(p.payload());
            s.delay.add(now - p.born());
            if p.flags().has(Flags::RETRANSMISSION) {
                s.data.repeats += 1;
            }
            if let (Some(meter), false) = (&mut flow.stats.meter, p.is_backward()) {
                meter.deliver(now, p.size());
            }
        }
        let is_predicted = flow.may_be_predicted(side, p) && !self.ahead.never;
        match &mut flow.carrier {
            Carrier::Connection(ends) => {
                if is_predicted && let Some(plain) = p.to_plain(&self.extras) {
                    let first_out = self.flows.outbox.len();
                    if let Some(wake) = ends[side as usize].predict(&plain, now, &mut self.flows.outbox) {
                        self.extras.release(p);
                        if flow.hears == Hears::Transfers && plain.payload > 0 {
                            self.count_quietly(id, plain.payload);
                        }
                        return self.send_plain(id, side, first_out, wake);
                    }
                }
                let segment = p.into_segment(&mut self.extras);
                let end = &mut ends[side as usize];
                let mut listener = Listener {
                    news: &mut self.apps.news,
                    hears: flow.hears,
                    app: flow.app,
                    flow: id,
                    side,
                    now,
                    awaits: flow.awaits[side as usize],
                    coming: &mut flow.coming,
                    transfers: &mut self.apps.transfers,
                };
                end.on_segment(&segment, now, &mut listener);
                let awaits = flow.awaits[side as usize];
                if awaits != NOTHING_AWAITED && end.progress().is_none_or(|p| p.acknowledged >= awaits) {
                    self.look_for_acknowledged(id, side);
                }
                self.pump(id, side);
            }
            Carrier::Datagrams { .. } => return self.arrive_datagram(p),
            Carrier::Injected(ends) => {
                let ack = p.header(&self.extras).ack;
                self.extras.release(p);
                ends.arrive(p, ack);
                if !p.is_backward()
                    && !ends.measured
                    && let Some(quality) = flow.stats.quality()
                {
                    quality.deliver(p.seq(), p.born(), now - p.born());
                }
                if flow.watched {
                    self.record_injected(p);
                }
                self.flows.emitted.push(Emitted::new(p, now));
            }
            Carrier::Member(_) | Carrier::Closed => {
                self.extras.release(p);
                self.flows.reuse_if_done(id, self.now);
            }
        }
        None
    }

    /// Count data of a transfer that arrived in a predicted segment, of which the application gets no event.
    fn count_quietly(&mut self, id: FlowId, bytes: u32) {
        let bytes = u64::from(bytes);
        let row = self.flows.all[id.0 as usize].coming.take(bytes);
        self.apps.transfers[row].deliver(bytes, self.now);
    }

    /// A request of a router is at its destination.
    #[cold]
    fn arrive_control(&mut self, id: FlowId, side: Side, p: &WirePacket) {
        let now = self.now;
        let request = p.request(&self.extras);
        self.extras.release(p);
        let flow = &mut self.flows.all[id.0 as usize];
        match (&mut flow.carrier, request) {
            (Carrier::Connection(ends), Some(r)) => {
                ends[side as usize].on_request(r, now);
                self.pump(id, side);
            }
            (Carrier::Datagrams { .. }, Some(request)) if flow.app != NO_APP => {
                self.apps.news.push((flow.app, AppInput::Request { flow: id, request }));
                self.tell();
            }
            _ => self.flows.reuse_if_done(id, self.now),
        }
    }

    /// Like [`Sim::pump`], after a predicted segment: arm the timer, and send the packets of the outbox from `from` on.
    /// The last one is returned, as by [`Sim::meet`].
    #[inline]
    fn send_plain(&mut self, id: FlowId, side: Side, from: usize, wake: Wake) -> Option<(u32, WirePacket)> {
        let now = self.now;
        let backward = side == Side::Destination;
        let sent_packets = self.flows.outbox.len() - from;
        let flow = &mut self.flows.all[id.0 as usize];
        flow.in_flight += sent_packets as u32;
        let not_before = match wake.not_before {
            Time::NEVER => Time::NEVER,
            t => t.max(now + Duration(1)),
        };
        let want = wake.timeout.min(not_before);
        let armed = &mut flow.timers[side as usize];
        if want < *armed {
            *armed = want.max(now);
            let due = *armed;
            self.arm_endpoint(id.0, side, due);
        }
        if sent_packets == 0 {
            return None;
        }
        self.sent += sent_packets as u32;
        let route = self.net.ways[id.0 as usize][usize::from(backward)];
        let first_port = self.net.routes[route.start as usize];
        for i in from..from + sent_packets - 1 {
            let p = WirePacket::from_plain(&self.flows.outbox[i], id, backward, &mut self.extras);
            self.offer(first_port, p.with_tos(route.tos));
        }
        let last_packet = WirePacket::from_plain(self.flows.outbox.last()?, id, backward, &mut self.extras);
        self.flows.outbox.truncate(from);
        Some((first_port, last_packet.with_tos(route.tos)))
    }

    /// After any call of an endpoint: send its packets, arm its timer, pass its events on.
    pub(super) fn pump(&mut self, id: FlowId, side: Side) {
        let now = self.now;
        let backward = side == Side::Destination;
        if self.flows.all[id.0 as usize].followed {
            self.show_sender(id, side);
        }
        let mut burst = 0;
        loop {
            let flow = &mut self.flows.all[id.0 as usize];
            let Carrier::Connection(ends) = &mut flow.carrier else {
                break;
            };
            let end = &mut ends[side as usize];
            // The segment is read in place, because it has nine words.
            let mut transmit = end.poll_transmit(now);
            let not_before = match &mut transmit {
                Transmit::Segment(s) => {
                    let route = self.net.ways[id.0 as usize][usize::from(backward)];
                    let own_dscp = if flow.colours && s.payload > 0 {
                        end.code_point()
                    } else {
                        None
                    };
                    let (limits, payload) = (flow.limits_host && s.payload > 0, s.payload);
                    flow.in_flight += 1;
                    burst += 1;
                    if burst == LONG_BURST {
                        self.count_burst(&mut burst);
                    }
                    let p = WirePacket::from_segment(s, id, backward, now, &mut self.extras);
                    let first_port = self.net.routes[route.start as usize];
                    self.offer(first_port, p.with_tos(own_dscp.map_or(route.tos, |d| d.0 << 2)));
                    if limits {
                        self.note_in_host((id, side), first_port, payload);
                    }
                    continue;
                }
                Transmit::NotBefore(t) => (*t).max(now + Duration(1)),
                Transmit::Idle => Time::NEVER,
            };
            let want = end.next_timeout().unwrap_or(Time::NEVER).min(not_before);
            let armed = &mut flow.timers[side as usize];
            // There is one deferred event. A request for a later time does not move this event; it checks the time when
            // it comes.
            if want < *armed {
                *armed = want.max(now);
                let due = *armed;
                self.arm_endpoint(id.0, side, due);
            }
            break;
        }
        self.sent += burst;
        if self.flows.all[id.0 as usize].watched {
            self.record_flow(id.0);
        }
        // A call as of another time causes no events for applications. Events that wait here belong to a call that is
        // in progress.
        if !self.apps.news.is_empty() && self.ahead.deep == 0 {
            self.tell();
        }
    }

    /// A whole window may leave in one event.
    #[cold]
    fn count_burst(&mut self, burst: &mut u32) {
        self.sent += std::mem::take(burst);
        done(64 * LONG_BURST as usize);
    }

    pub(super) fn on_endpoint_timer(&mut self, entity: u32) {
        let now = self.now;
        let (id, side) = (
            FlowId(entity / 2),
            if entity.is_multiple_of(2) {
                Side::Source
            } else {
                Side::Destination
            },
        );
        let flow = &mut self.flows.all[id.0 as usize];
        if flow.timers[side as usize] != now {
            // The timer has run ahead, or was rescheduled to an earlier time.
            return;
        }
        flow.timers[side as usize] = Time::NEVER;
        if side == Side::Destination {
            self.forget_timers(id.0);
        }
        let flow = &mut self.flows.all[id.0 as usize];
        let Carrier::Connection(ends) = &mut flow.carrier else {
            return;
        };
        let end = &mut ends[side as usize];
        if end.next_timeout().is_some_and(|t| t <= now) {
            let mut listener = Listener {
                news: &mut self.apps.news,
                hears: flow.hears,
                app: flow.app,
                flow: id,
                side,
                now,
                awaits: flow.awaits[side as usize],
                coming: &mut flow.coming,
                transfers: &mut self.apps.transfers,
            };
            end.on_timeout(now, &mut listener);
        }
        self.pump(id, side);
    }

    /// Send a request from the near end of `port` back to the source of `about`, along the links that this packet took.
    pub(super) fn send_request(&mut self, port: u32, about: &WirePacket, r: Request) {
        if self.ahead.has_any() && !self.net.ports[port as usize].sends_requests() {
            // Work that was done ahead of time did not take the request into account.
            return self.give_up(Broken {
                port,
                does: "sends a request to a source and had not said that it would".into(),
                remedy: "let its `sends_requests` answer true".into(),
            });
        }
        let flow_id = about.flow_id();
        let flow = &mut self.flows.all[flow_id.0 as usize];
        if matches!(flow.carrier, Carrier::Closed) {
            // The end that would get the request is closed, and its slot may be free already.
            return;
        }
        let [came, back] = {
            let [there, back] = self.net.ways[flow_id.0 as usize];
            if about.is_backward() {
                [back, there]
            } else {
                [there, back]
            }
        };
        flow.in_flight += 1;
        let mut p = WirePacket::control(
            r,
            CONTROL_BYTES,
            flow_id,
            !about.is_backward(),
            self.now,
            &mut self.extras,
        );
        let way = self.net.entries(came);
        let links_behind = way.iter().position(|x| *x == port).unwrap_or(0);
        if links_behind == 0 {
            // The queue is in the source itself.
            return self.arrive(p);
        }
        let hop = usize::from(back.len) - links_behind;
        p.set_hop(hop);
        let first = self.net.routes[back.start as usize + hop];
        self.offer(first, p);
    }
}
