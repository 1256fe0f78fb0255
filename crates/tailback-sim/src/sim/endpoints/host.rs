//! The data that connections have in the queues of their own hosts, for connections that limit it
//! ([`Endpoint::limits_host`]).
//!
//! The host's queue is the first port of a packet's way. Such an end gets a notice of each segment as soon as the time
//! at which the line has sent the segment is known. A port that is arithmetic gives the notice when it takes the
//! segment. Any other port gives it when the line begins to send the segment, or when the segment is lost there. The
//! end waits for that time with its timer, so nothing else is called.
//!
//! A lazy port would give the notice too late, so events serve it from the first such packet on. Segments of such ends
//! are not predicted, because these ends check their host's queue before each segment. If a source chooses among
//! several ports of its own, its segments count as sent at once.
//!
//! A run without such ends only costs a flag for each flow and each explicit port, and a comparison for each service
//! and drop.
//!
//! [`Endpoint::limits_host`]: tailback_transport::Endpoint::limits_host

use crate::sim::flow::Carrier;
use crate::sim::outlet::Outlet;
use crate::sim::{Flows, Sim};
use crate::traffic::application::Side;
use crate::wire::event::EventKind;
use crate::wire::packet::WirePacket;
use crate::wire::port::Queue;
use tailback_base::{FlowId, Time};

impl Flows {
    /// Notify the end that sent a packet of the time at which the packet leaves the host.
    #[cold]
    pub(in crate::sim) fn tell_sender(&mut self, p: &WirePacket, at: Time) {
        if p.hop() > 0 || p.payload() == 0 {
            return;
        }
        let side = match p.is_backward() {
            false => Side::Source,
            true => Side::Destination,
        };
        if let Carrier::Connection(ends) = &mut self.all[p.flow_id().0 as usize].carrier {
            ends[side as usize].leaves_host(p.payload(), at);
            self.told.push((p.flow_id(), side));
        }
    }
}

impl Outlet<'_> {
    /// The line of a port that gives such notices sends a packet until this time.
    #[cold]
    pub(in crate::sim) fn sent_until(&mut self, p: &WirePacket, at: Time) {
        if self.flows.all[p.flow_id().0 as usize].limits_host {
            self.flows.tell_sender(p, at);
        }
    }
}

impl Sim {
    /// An end has sent this number of bytes of payload into the first port of its way.
    #[cold]
    pub(in crate::sim) fn note_in_host(&mut self, (id, side): (FlowId, Side), first: u32, payload: u32) {
        // The packet was lost there, and the end has already been notified. A packet leaves the host only once.
        if self.flows.told.last() == Some(&(id, side)) {
            self.flows.told.pop();
            return;
        }
        let leaves_at = match self.net.ports.get(first as usize) {
            Some(port) if matches!(port.queue, Queue::Explicit(_)) => return,
            Some(port) => port.free_at().max(self.now),
            None => self.now,
        };
        if let Carrier::Connection(ends) = &mut self.flows.all[id.0 as usize].carrier {
            ends[side as usize].leaves_host(payload, leaves_at);
        }
    }

    /// A packet of an end that limits its data in the host arrives at a port with a discipline. From now on the port
    /// gives notices.
    #[cold]
    pub(in crate::sim) fn let_port_tell(&mut self, number: u32) {
        let port = &mut self.net.ports[number as usize];
        let Queue::Explicit(e) = &mut port.queue else { return };
        e.tells = true;
        if !std::mem::take(&mut port.lazy) {
            return;
        }
        for (kind, at) in [
            (EventKind::Service, e.server.service_at()),
            (EventKind::QueueTimer, e.server.timer_at()),
        ] {
            if at != Time::NEVER {
                self.events.push(at, kind, number);
            }
        }
        self.ahead.lazy.retain(|p| *p != number);
    }

    /// Arm the timers of ends that have been notified.
    #[cold]
    pub(in crate::sim) fn look_at_told(&mut self) {
        while let Some((id, side)) = self.flows.told.pop() {
            let flow = &mut self.flows.all[id.0 as usize];
            let Carrier::Connection(ends) = &flow.carrier else {
                continue;
            };
            let want = ends[side as usize].next_timeout().unwrap_or(Time::NEVER);
            let armed = &mut flow.timers[side as usize];
            if want < *armed {
                *armed = want.max(self.now);
                let due = *armed;
                self.arm_endpoint(id.0, side, due);
            }
        }
    }
}
