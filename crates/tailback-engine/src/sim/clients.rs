//! Clients that are called ahead: data of a transfer reach the client that waits for them before their time.
//!
//! Ends that applications open may do anything at any time, so they are called by events (rule 6 of `sim/ahead.rs`). A
//! client in the middle of a transfer does nothing except acknowledge: its application hears of the last byte, not of
//! the others ([`Application::waits_for_transfers`]). So it may be called as of the arrival of a segment if
//!
//! 1. the segment is the next in order, has less than the bytes that are to come, and neither opens nor closes. The end
//!    is open, holds nothing ([`Endpoint::expects_next`]), and no transfer of its own waits for an acknowledgement. Then
//!    the application hears nothing of the segment;
//! 2. nothing else calls the client until then: its application has no other connection, and its next wake and its stop
//!    are not before. Nor is the timer of the source, which may give the connection up;
//! 3. what the client sends enters a port that its application's connections alone use, as the last port before the
//!    client, and which takes all that comes: a loss may free the number of a connection, and is seen in its order. No
//!    conditioner hears of the senders, and neither the member nor its connections are recorded or followed;
//! 4. the client's own timers before then have run as of their times. They do if it has nothing outstanding: then they
//!    only send ACKs.
//!
//! The last byte is news. It waits on the wire for its event, and what comes behind it waits too, so an application is
//! called in the order of events as before.
//!
//! What would be lost without: a web page costs one event more for each of its packets.
//!
//! State: whether an application may be answered so ([`AppSlot::alone`]), and how many connections it has open.
//!
//! [`Application::waits_for_transfers`]: crate::traffic::application::Application::waits_for_transfers
//! [`AppSlot::alone`]: super::AppSlot::alone
//! [`Endpoint::expects_next`]: tailback_transport::Endpoint::expects_next

use super::Sim;
use super::ahead::{Looks, Use};
use crate::sim::flow::{Carrier, Hears, NOTHING_AWAITED};
use crate::traffic::application::{NodeId, Side};
use crate::wire::packet::WirePacket;
use tailback_base::Time;
use tailback_base::work::counted_as;
use tailback_transport::Flags;

/// A segment with one of these is news.
const OPENS_OR_CLOSES: Flags = Flags(Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0);

impl Sim {
    /// Rule 3, for the network as it stands. The last ports before the clients that may be called ahead.
    pub(super) fn find_clients(&mut self, used: &[Use], looks: &Looks) -> Vec<u32> {
        let mut last_ports = Vec::new();
        for app in counted_as(16, 0..self.apps.all.len()) {
            let slot = &self.apps.all[app];
            let Some(transport) = slot.transport.filter(|_| slot.hears == Hears::Transfers) else {
                continue;
            };
            let member = slot.own_flow.map(|f| f.0 as usize);
            if member.is_some_and(|m| self.flows.all[m].watched || self.flows.all[m].followed || looks.flow[m]) {
                continue;
            }
            let Some(pairs) = self.apps.transports[transport.0 as usize].between.clone() else {
                continue;
            };
            let Some((last, first)) = self.ports_of_client(&pairs) else {
                continue;
            };
            let alone = [last, first]
                .iter()
                .all(|p| used[*p as usize].ways == pairs.len() as u32);
            let takes_all = self.is_open(first as usize, looks) && !self.may_lose(first as usize);
            if alone && takes_all && self.net.ports[last as usize].hands_ahead {
                self.apps.all[app].alone = true;
                last_ports.push(last);
            }
        }
        last_ports
    }

    /// The last port of all ways to a client, and the first of all ways back, if they are the same.
    fn ports_of_client(&mut self, pairs: &[[NodeId; 2]]) -> Option<(u32, u32)> {
        let mut found = None;
        for [from, to] in pairs {
            let (there, back) = self.net.router.routes(*from, *to, &mut self.net.routes, &self.net.peer);
            let ends = (*self.ports_of(there).last()?, *self.ports_of(back).first()?);
            if *found.get_or_insert(ends) != ends {
                return None;
            }
        }
        found
    }

    /// Whether a packet of a connection that will reach its end at `t` may meet it now, if its application waits for
    /// transfers.
    #[inline(never)]
    pub(super) fn may_meet_client(&mut self, id: usize, p: &WirePacket, t: Time) -> bool {
        const CLIENT: usize = Side::Destination as usize;
        let f = &self.flows.all[id];
        let a = &self.apps.all[f.app as usize];
        let data = !p.is_backward() && p.payload() > 0 && !p.is_control() && !p.flags().has(OPENS_OR_CLOSES);
        let quiet = data
            && u64::from(p.payload()) < f.coming.bytes_to(Side::Destination)
            && f.awaits[CLIENT] == NOTHING_AWAITED;
        // At one instant arrivals come before timers and wakes.
        let until = a.armed.min(a.next_stop()).min(f.timers[Side::Source as usize]);
        if !(quiet && a.alone && a.open == 1 && t <= until) {
            return false;
        }
        if f.timers[CLIENT] < t && !self.run_quiet_timers(id as u32, t) {
            return false;
        }
        match &self.flows.all[id].carrier {
            Carrier::Connection(ends) if ends[CLIENT].expects_next() == Some(p.seq()) => {
                self.counters.clients_ahead += 1;
                true
            }
            _ => false,
        }
    }

    /// Run the client's timers that are due before `t`, if they only send ACKs.
    fn run_quiet_timers(&mut self, id: u32, t: Time) -> bool {
        let client = Side::Destination as usize;
        let Carrier::Connection(ends) = &self.flows.all[id as usize].carrier else {
            return false;
        };
        let at_rest = ends[client].progress().is_some_and(|p| p.written == p.acknowledged);
        if !at_rest || ends[client].expects_next().is_none() {
            return false;
        }
        let now = self.now;
        self.ahead.deep += 1;
        while self.flows.all[id as usize].timers[client] < t {
            self.now = self.flows.all[id as usize].timers[client];
            self.on_endpoint_timer(2 * id + 1);
        }
        self.ahead.deep -= 1;
        self.now = now;
        true
    }
}
