//! Applications: the delivery of events to them, and the calls that they may make.

use super::Sim;
use crate::measure::frames::Fate;
use crate::measure::playout::CompleteFrame;
use crate::sim::flow::{Carrier, Coming, Echo, Hears};
use crate::traffic::application::{AppInput, Net, NodeId, PageId, Part, Side, Transfer, TransferId, TransportId};
use crate::wire::event::EventKind;
use crate::wire::keys::Keys;
use crate::wire::packet::{SimPacket, WirePacket};
use crate::wire::port::Queue;
use crate::wire::port::prefetch::prefetch;
use tailback_base::{Duration, FlowId, Stream, Time};
use tailback_transport::{Amount, AppEvent, Endpoint};

impl Sim {
    /// Deliver pending events, including those that they cause.
    pub(super) fn tell(&mut self) {
        if self.apps.telling {
            return;
        }
        self.apps.telling = true;
        let mut i = 0;
        while i < self.apps.news.len() {
            let (app, event) = self.apps.news[i];
            i += 1;
            if let AppInput::Transport {
                flow,
                event: AppEvent::Closed,
                ..
            } = event
            {
                // A transfer that has been given up is not counted any more.
                self.flows.all[flow.0 as usize].coming = Coming::NOTHING;
            }
            let Some(mut a) = self.apps.all[app as usize].app.take() else {
                continue;
            };
            a.on(event, &mut View { sim: self, app });
            self.apps.all[app as usize].app = Some(a);
            if let AppInput::Transport {
                flow,
                event: AppEvent::Closed,
                ..
            } = event
            {
                // Flows that a scenario declared keep their slot and their row in the results. Another connection is
                // kept as long as one of its ends still has something to send, or to answer (TIME-WAIT).
                if self.apps.all[app as usize].own_flow != Some(flow)
                    && let Carrier::Connection(ends) = &self.flows.all[flow.0 as usize].carrier
                    && ends.iter().all(|e| e.is_closed())
                {
                    self.retire(flow);
                }
            }
        }
        self.apps.news.clear();
        self.apps.telling = false;
    }

    pub(super) fn on_application(&mut self, app: u32) {
        let now = self.now;
        let application = &mut self.apps.all[app as usize];
        let mut calls: [Option<AppInput>; 3] = [None; 3];
        let (mut join, mut leave) = (None, None);
        if !application.started && application.start <= now {
            application.started = true;
            calls[0] = Some(AppInput::Start);
            // A flow whose stop came first never sends.
            join = application.own_flow.filter(|_| !application.stopped);
        }
        if application.armed <= now {
            application.armed = Time::NEVER;
        }
        if application.wake_at <= now {
            application.wake_at = Time::NEVER;
            calls[1] = Some(AppInput::Wake);
        }
        if !application.stopped && application.stop.is_some_and(|t| t <= now) {
            application.stopped = true;
            calls[2] = Some(AppInput::Stop);
            leave = application.own_flow;
        }
        if let Some(flow) = join {
            self.announce(flow, true);
        }
        for c in calls.into_iter().flatten() {
            self.apps.news.push((app, c));
        }
        self.tell();
        if let Some(flow) = leave {
            self.announce(flow, false);
        }
        // This wake was postponed after its event had been made.
        let at = self.apps.all[app as usize].wake_at;
        self.arm_application(app, at);
        let application = &self.apps.all[app as usize];
        if let Some(flow) = application.own_flow
            && self.flows.all[flow.0 as usize].hears == Hears::Nothing
            && application.started
        {
            self.flows.all[flow.0 as usize].free_until = application.armed.min(application.next_stop());
        }
    }

    /// Change the classification keys of a flow's packets from now on.
    pub(super) fn alter_keys(&mut self, flow: FlowId, alter: impl FnOnce(&mut Keys)) {
        let present = self.flows.all[flow.0 as usize].present;
        if present {
            self.announce(flow, false);
        }
        alter(&mut self.flows.all[flow.0 as usize].keys);
        if present {
            self.announce(flow, true);
        }
    }

    /// Tell the queues and conditioners on a flow's way that it joins or leaves, unless they have been told already.
    pub(crate) fn announce(&mut self, flow: FlowId, joins: bool) {
        let now = self.now;
        let f = &mut self.flows.all[flow.0 as usize];
        // A member's connections join one by one.
        if matches!(f.carrier, Carrier::Member(_)) || std::mem::replace(&mut f.present, joins) == joins {
            return;
        }
        let directions = match f.carrier {
            Carrier::Datagrams {
                echo: Echo::Nothing, ..
            } => 1,
            _ => 2,
        };
        let keys = f.keys;
        for (way, backward) in self.net.ways[flow.0 as usize]
            .into_iter()
            .zip([false, true])
            .take(directions)
        {
            for hop in 0..self.net.ports_within(way).len() {
                let port = self.net.ports_within(way)[hop];
                self.catch_up(port);
                let wire = WirePacket::look(flow, backward).with_tos(way.tos);
                let look = SimPacket { wire, keys };
                if let Queue::Explicit(e) = &mut self.net.ports[port as usize].queue {
                    match joins {
                        true => e.server.queue.flow_joined(&look, now),
                        false => e.server.queue.flow_left(&look, now),
                    }
                }
                self.announce_to_edge(port, &look, joins);
            }
        }
    }

    /// Each wake has one pending event. A request for a later wake does not move the event; the event checks the time
    /// of the wake when it comes.
    fn arm_application(&mut self, app: u32, at: Time) {
        let application = &mut self.apps.all[app as usize];
        if at < application.armed {
            application.armed = at;
            self.events.push(at, EventKind::Application, app);
        }
    }
}

/// The network, as one application sees it.
struct View<'a> {
    sim: &'a mut Sim,
    app: u32,
}

impl View<'_> {
    fn shut(&mut self, flow: FlowId, side: Side, how: fn(&mut dyn Endpoint, Time)) {
        let now = self.sim.now;
        if let Carrier::Connection(ends) = &mut self.sim.flows.all[flow.0 as usize].carrier {
            let end = &mut ends[side as usize];
            let was_closed = end.is_closed();
            how(end.as_mut(), now);
            if !was_closed && end.is_closed() {
                // Nothing was ever written, so no acknowledgement will report the end.
                let event = AppEvent::Closed;
                self.sim
                    .apps
                    .news
                    .push((self.app, AppInput::Transport { flow, side, event }));
            }
            self.sim.pump(flow, side);
        }
    }
}

impl Net for View<'_> {
    fn now(&self) -> Time {
        self.sim.now
    }

    fn rng(&mut self) -> &mut Stream {
        &mut self.sim.apps.all[self.app as usize].rng
    }

    fn own_flow(&self) -> Option<FlowId> {
        self.sim.apps.all[self.app as usize].own_flow
    }

    fn open(&mut self, from: NodeId, to: NodeId, transport: TransportId) -> FlowId {
        self.sim.open_connection(self.app, from, to, transport, Side::Source)
    }

    fn open_from_destination(&mut self, from: NodeId, to: NodeId, transport: TransportId) -> FlowId {
        self.sim
            .open_connection(self.app, from, to, transport, Side::Destination)
    }

    fn stay_open(&mut self, flow: FlowId, side: Side) {
        if let Carrier::Connection(ends) = &mut self.sim.flows.all[flow.0 as usize].carrier {
            ends[side as usize].stay_open();
        }
    }

    fn set_reading(&mut self, flow: FlowId, side: Side, on: bool) {
        let now = self.sim.now;
        if let Carrier::Connection(ends) = &mut self.sim.flows.all[flow.0 as usize].carrier {
            ends[side as usize].set_reading(on, now);
            self.sim.pump(flow, side);
        }
    }

    fn write(&mut self, flow: FlowId, side: Side, n: Amount) {
        let now = self.sim.now;
        if let Carrier::Connection(ends) = &mut self.sim.flows.all[flow.0 as usize].carrier {
            ends[side as usize].write(n, now);
            self.sim.pump(flow, side);
        }
    }

    fn close(&mut self, flow: FlowId, side: Side) {
        self.shut(flow, side, |end, now| end.close(now));
    }

    fn abort(&mut self, flow: FlowId, side: Side) {
        self.shut(flow, side, |end, now| end.abort(now));
    }

    fn ask(&mut self, bytes: u64) -> TransferId {
        self.sim.ask(self.app, bytes)
    }

    fn send(&mut self, transfer: TransferId, flow: FlowId, side: Side, bytes: u64, part: Part) {
        self.sim.send(transfer, flow, side, bytes, part);
    }

    fn compare_alone(&mut self, transfer: TransferId, flow: FlowId, transport: TransportId, bytes: u64) {
        self.sim.compare_alone(transfer, flow, transport, bytes);
    }

    fn arrived(&mut self, transfer: TransferId, bytes: u64) -> Option<Transfer> {
        self.sim.arrived(transfer, bytes)
    }

    fn begin_page(&mut self, objects: u64, bytes: u64) -> PageId {
        self.sim.begin_page(self.app, objects, bytes)
    }

    fn end_page(&mut self, page: PageId) {
        self.sim.end_page(page);
    }

    fn finished(&mut self) {
        self.sim.member_finished(self.app);
    }

    fn datagram(&mut self, flow: FlowId, bytes: u32, header: u32) {
        self.sim.send_datagram(flow, bytes, header);
    }

    fn next_datagram(&self, flow: FlowId) -> u64 {
        match &self.sim.flows.all[flow.0 as usize].carrier {
            Carrier::Datagrams { next_seq, .. } => *next_seq,
            _ => 0,
        }
    }

    fn unsent(&self, flow: FlowId, side: Side) -> u64 {
        match &self.sim.flows.all[flow.0 as usize].carrier {
            Carrier::Connection(ends) => ends[side as usize].progress().map_or(0, |p| p.written - p.sent),
            _ => 0,
        }
    }

    fn target(&self, flow: FlowId) -> Option<f64> {
        match &self.sim.flows.all[flow.0 as usize].carrier {
            Carrier::Connection(ends) => ends[Side::Source as usize].target(),
            _ => None,
        }
    }

    fn write_packet(&mut self, flow: FlowId, payload: u64) {
        self.sim.flows.all[flow.0 as usize].stats.datagrams += 1;
        self.write(flow, Side::Source, Amount::Bytes(payload));
    }

    fn packet_arrived(&mut self, flow: FlowId, number: u64, made: Time) {
        let now = self.sim.now;
        if let Some(quality) = self.sim.flows.all[flow.0 as usize].stats.quality() {
            quality.deliver(number, made, now - made);
        }
    }

    fn packet_lost(&mut self, flow: FlowId, number: u64) {
        if let Some(quality) = self.sim.flows.all[flow.0 as usize].stats.quality() {
            quality.lose(number);
        }
    }

    fn withdraw(&mut self, flow: FlowId, side: Side, bytes: u64) {
        if let Carrier::Connection(ends) = &mut self.sim.flows.all[flow.0 as usize].carrier {
            ends[side as usize].withdraw(bytes);
        }
    }

    fn frame_whole(&mut self, flow: FlowId, frame: CompleteFrame) {
        let now = self.sim.now;
        if let Some(frames) = self.sim.flows.all[flow.0 as usize].stats.frames() {
            frames.whole(frame, now);
        }
    }

    fn frame_judged(&mut self, flow: FlowId, made: Time, bytes: u64, fate: Fate) {
        let now = self.sim.now;
        if let Some(frames) = self.sim.flows.all[flow.0 as usize].stats.frames() {
            frames.judge((made, now), bytes, fate);
        }
    }

    fn burst_over(&mut self, flow: FlowId, payload: u64, took: Duration) {
        let s = &mut self.sim.flows.all[flow.0 as usize].stats;
        s.bursts.get_or_insert_default().add(payload, took);
    }

    fn relabel(&mut self, flow: FlowId, label: u32) {
        self.sim.alter_keys(flow, |keys| keys.label = label);
    }

    fn expect(&self, flow: FlowId) {
        prefetch(&self.sim.flows.all[flow.0 as usize]);
        prefetch(&self.sim.net.ways[flow.0 as usize]);
    }

    fn wake(&mut self, at: Time) {
        let wake_at = at.max(self.sim.now);
        self.sim.apps.all[self.app as usize].wake_at = wake_at;
        self.sim.arm_application(self.app, wake_at);
    }
}
