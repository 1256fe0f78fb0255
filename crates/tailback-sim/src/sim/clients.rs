//! Clients that run ahead: a client in the middle of a transfer gets segments before their arrival time.
//!
//! Ends that applications open may do anything at any time, so they are called by events (rule 6 of `sim/ahead.rs`).
//! There is one exception. In the middle of a transfer a client only acknowledges: its application gets an event for
//! the last byte and none for the others ([`Application::waits_for_transfers`]). The client may therefore be called as
//! of the arrival of a segment if
//!
//! 1. the segment is the next one in order, has fewer bytes than the client still waits for, and has no SYN, FIN or
//!    RST. The client's end is open and stores no data ([`Endpoint::expects_next`]), and it has sent no transfer that
//!    waits for an acknowledgement. Then the application gets no event of the segment;
//! 2. nothing else calls the client before. Its application has no other open connection, and its next wake and its
//!    stop are not earlier. The timer of the server's end is not earlier either, because it may give the connection up;
//! 3. only connections of this application use the last port before the client and the first port of the way back. The
//!    latter has an unlimited buffer, because a loss may free the number of a connection. No conditioner gets the state
//!    of senders, and nothing records or follows the client;
//! 4. the client's own timers that are due before have run, as of their times. They run early only if the client has
//!    nothing outstanding, because then they only send ACKs.
//!
//! The last byte of a transfer waits on the wire for its event, and the packets behind it wait too. Applications are
//! therefore still called in the order of events. This saves one event for most packets of a web page.
//!
//! State: whether rule 3 holds for an application ([`AppSlot::alone`]), and the number of its open connections.
//!
//! [`Application::waits_for_transfers`]: crate::traffic::application::Application::waits_for_transfers
//! [`AppSlot::alone`]: super::AppSlot::alone
//! [`Endpoint::expects_next`]: tailback_transport::Endpoint::expects_next

use super::Sim;
use super::ahead::{Looks, Use};
use super::equal::CHOICE;
use crate::declare::paths::Paths;
use crate::sim::flow::{Carrier, Hears, NOTHING_AWAITED};
use crate::traffic::application::{NodeId, Side};
use crate::wire::packet::WirePacket;
use tailback_base::Time;
use tailback_base::work::counted_as;
use tailback_transport::Flags;

impl Sim {
    /// Find the applications for which rule 3 holds. Returns the last ports before their clients.
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
            let maker = &self.apps.transports[transport.0 as usize];
            let paths = maker.paths;
            let Some(pairs) = maker.between.clone() else {
                continue;
            };
            let Some((last, first)) = self.ports_of_client(&pairs, paths) else {
                continue;
            };
            let is_alone = [last, first]
                .iter()
                .all(|p| used[*p as usize].ways == pairs.len() as u32);
            let takes_all = self.is_open(first as usize, looks) && !self.may_lose(first as usize);
            if is_alone && takes_all && self.net.ports[last as usize].hands_ahead {
                self.apps.all[app].alone = true;
                last_ports.push(last);
            }
        }
        last_ports
    }

    /// The last port before a client and the first port of the way back. `None` if they depend on the pair of nodes.
    fn ports_of_client(&mut self, pairs: &[[NodeId; 2]], paths: Paths) -> Option<(u32, u32)> {
        let mut ports = None;
        for [from, to] in pairs {
            let (there, back) = self.ways_between(*from, *to, paths.any(), 0);
            let ends = (*self.net.entries(there).last()?, *self.net.entries(back).first()?);
            if ends.0.max(ends.1) >= CHOICE || *ports.get_or_insert(ends) != ends {
                return None;
            }
        }
        ports
    }

    /// Whether a packet that arrives at `t` may meet its end now, if the end's application waits for transfers.
    #[inline(never)]
    pub(super) fn may_meet_client(&mut self, id: usize, p: &WirePacket, t: Time) -> bool {
        const CLIENT: usize = Side::Destination as usize;
        let f = &self.flows.all[id];
        let application = &self.apps.all[f.app as usize];
        let data = !p.is_backward() && p.payload() > 0 && !p.is_control() && !p.flags().has(Flags::OPENS_OR_CLOSES);
        let quiet = data
            && u64::from(p.payload()) < f.coming.bytes_to(Side::Destination)
            && f.awaits[CLIENT] == NOTHING_AWAITED;
        // At one instant arrivals come before timers and wakes.
        let until = application
            .armed
            .min(application.next_stop())
            .min(f.timers[Side::Source as usize]);
        if !(quiet && application.alone && application.open == 1 && t <= until) {
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

    /// Rule 4: run the client's timers that are due before `t`. Returns false if they may do more than send ACKs.
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
