//! Members: applications that open connections during the run, with their counts. A member has its own row among the
//! declared flows, without ends ([`Carrier::Member`]). Each connection that it opens takes a free slot behind those
//! rows. When the connection is over, its counts are added to the member's row and the slot is given back. Memory
//! therefore depends on the connections that are open at one time. The end of the warm-up and the intervals apply to a
//! member as to any flow, because its totals are those of the connections that are over and of those still open.

use super::{Broken, Sim, Topology};
use crate::declare::paths::Paths;
use crate::sim::flow::{Carrier, Closed, Coming, DataStats, Flow, FlowStats, NOTHING_AWAITED, Route, Snapshot};
use crate::traffic::application::{Ends, NodeId, Side, TransportId};
use crate::wire::keys::Keys;
use std::rc::Rc;
use tailback_base::counters::Counter;
use tailback_base::rng::mixed;
use tailback_base::work::{counted_as, done};
use tailback_base::{FlowId, Stream, Time};
use tailback_transport::path::Path;

/// Makes both ends of a connection. It may ask for the path, and draws its random numbers from the stream.
pub(crate) type MakeEnds = Rc<dyn Fn(&mut dyn FnMut() -> Path, &mut Stream) -> Ends>;

/// A registered way to make connections.
pub(crate) struct TransportMaker {
    pub make: MakeEnds,
    pub stream: Stream,
    /// Sources and destinations of all connections that will be made with it; `None` if any pair is possible.
    pub between: Option<Vec<[NodeId; 2]>>,
    pub paths: Paths,
    /// The ends are code from outside.
    pub from_outside: bool,
    /// The hash input of its connections for the choice of paths; it changes after each connection.
    pub bits: u64,
}

/// Totals of the connections that the applications of a group opened and closed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Retired {
    pub connections: u64,
    /// New payload that arrived, bytes.
    pub arrived: u64,
    pub sent_packets: u64,
    pub retransmitted_packets: u64,
    pub timeouts: u64,
    /// Sum of the lifetimes, seconds.
    pub lifetime: f64,
}

impl Sim {
    /// The number of rows of the results: the flows and members that the scenario made. They come before all other
    /// slots.
    pub(crate) fn declared(&self) -> usize {
        self.flows.all.partition_point(|f| f.declared)
    }

    /// The totals of every row at this instant.
    pub(crate) fn snapshots(&self, now: Time) -> Vec<Snapshot> {
        let (rows, open) = self.flows.all.split_at(self.declared());
        let mut totals: Vec<Snapshot> = counted_as(32, rows).map(|f| f.snapshot(now)).collect();
        for f in counted_as(32, open).filter(|f| matches!(f.carrier, Carrier::Connection(_))) {
            if let Some(member) = self.apps.all[f.app as usize].own_flow {
                totals[member.0 as usize].add(&f.snapshot(now));
            }
        }
        totals
    }

    /// Totals of the connections that were opened and closed, for the group of that index.
    pub fn retired(&self, group: usize) -> Retired {
        let mut sum = Retired::default();
        let rows = self.flows.all.iter().filter(|f| f.group as usize == group);
        for c in rows.filter_map(Flow::closed) {
            sum.connections += c.connections;
            sum.arrived += c.arrived[0];
            sum.sent_packets += c.senders[0].sent_packets;
            sum.retransmitted_packets += c.senders[0].retransmitted_packets;
            sum.timeouts += c.senders[0].timeouts;
            sum.lifetime += c.lifetime;
        }
        sum
    }

    /// The number of slots for connections, in use or free. It does not grow while new connections replace closed ones.
    pub fn flow_slots(&self) -> usize {
        self.flows.all.len() - self.declared()
    }

    /// The routes of a connection that an application opens.
    pub(super) fn ways_between(&mut self, from: NodeId, to: NodeId, paths: Paths, bits: u64) -> (Route, Route) {
        let Topology {
            router, routes, peer, ..
        } = &mut self.net;
        match paths {
            Paths::First => router.routes(from, to, routes, peer),
            paths => router.spread([from, to], paths, bits, routes, peer),
        }
    }

    /// `opener` is the side whose application sends the SYN.
    pub(super) fn open_connection(
        &mut self,
        app: u32,
        from: NodeId,
        to: NodeId,
        transport: TransportId,
        opener: Side,
    ) -> FlowId {
        if self.flows.closing > 0 {
            // Packets that lazy ports have yet to drop may free a slot.
            self.catch_up_all();
        }
        // One call of an application may open any number.
        done(128);
        let bits = mixed(self.apps.transports[transport.0 as usize].bits);
        self.apps.transports[transport.0 as usize].bits = bits;
        let (forward, backward) = self.ways_between(from, to, self.apps.transports[transport.0 as usize].paths, bits);
        let between = &self.apps.transports[transport.0 as usize].between;
        let was_declared = between.as_ref().is_none_or(|all| all.contains(&[from, to]))
            && self.apps.all[app as usize].transport.is_none_or(|own| own == transport);
        if !was_declared && self.ahead.has_any() {
            // Work that was done ahead of time did not take this connection into account.
            self.give_up(Broken {
                port: self.net.one_path(forward).first().copied().unwrap_or(0),
                does: "is on the way of a connection that an application opened and had not said that it would".into(),
                remedy: "let it open connections between the client and the servers of its context alone".into(),
            });
        }
        let make = self.apps.transports[transport.0 as usize].make.clone();
        let mut stream = self.apps.transports[transport.0 as usize].stream.clone();
        let mut ends = make(&mut || self.path(from, to), &mut stream);
        if opener == Side::Destination {
            ends.reverse();
        }
        self.apps.transports[transport.0 as usize].stream = stream;
        // The connection has the name, the weight and the code point of the application's row; its aggregate is that of
        // its ends.
        let member = self.apps.all[app as usize].own_flow;
        let [forward, backward] = match member {
            Some(member) => {
                let tos = self.net.ways[member.0 as usize][0].tos;
                [forward, backward].map(|way| Route { tos, ..way })
            }
            None => [forward, backward],
        };
        let (group, index, keys) = match member {
            Some(member) => {
                let f = &self.flows.all[member.0 as usize];
                let aggregate = [from, to].map(|n| self.apps.edge_numbers.get(&n.0).copied().unwrap_or(0));
                (f.group, f.index, Keys { aggregate, ..f.keys })
            }
            None => (self.apps.all[app as usize].group, 0, Keys::default()),
        };
        let [colours, limits_host] = Flow::wishes(&ends);
        let flow = Flow {
            group,
            index,
            carrier: Carrier::Connection(ends),
            timers: [Time::NEVER; 2],
            free_until: Time::ZERO,
            runs_ahead: [false; 2],
            in_order: false,
            keys: keys.between(from.0, to.0),
            app,
            hears: self.apps.all[app as usize].hears,
            followed: false,
            colours,
            limits_host,
            in_flight: 0,
            watched: false,
            awaits: [NOTHING_AWAITED; 2],
            coming: Coming::NOTHING,
            declared: false,
            present: false,
            opened: self.now,
            stats: FlowStats::default(),
        };
        let id = match self.flows.take_free() {
            Some(id) => {
                self.flows.all[id.0 as usize] = flow;
                self.net.ways[id.0 as usize] = [forward, backward];
                id
            }
            None => {
                self.flows.all.push(flow);
                self.net.ways.push([forward, backward]);
                FlowId((self.flows.all.len() - 1) as u32)
            }
        };
        self.net.router.equal.note_bits(id.0 as usize, bits);
        if self.apps.transports[transport.0 as usize].from_outside {
            self.ask_at(id.0, opener.other(), self.now);
        }
        self.apps.all[app as usize].open += 1;
        self.announce(id, true);
        if let (Some(tap), Some(member)) = (&mut self.watch.tap, member) {
            tap.opened(id, member);
        }
        id
    }

    /// A connection that an application opened is over.
    pub(super) fn retire(&mut self, id: FlowId) {
        self.apps.all[self.flows.all[id.0 as usize].app as usize].open -= 1;
        let lifetime = (self.now - self.flows.all[id.0 as usize].opened).seconds();
        if let Some(closed) = self.fold(id) {
            closed.connections += 1;
            closed.lifetime += lifetime;
        }
        self.flows.reuse_if_done(id, self.now);
    }

    /// Add the counts of a connection to the row of its member. The connection is over.
    fn fold(&mut self, id: FlowId) -> Option<&mut Closed> {
        for way in self.net.ways[id.0 as usize] {
            for hop in 0..self.net.ports_within(way).len() {
                self.catch_up(self.net.ports_within(way)[hop]);
            }
        }
        let total = self.flows.all[id.0 as usize].snapshot(self.now);
        self.announce(id, false);
        self.forget_awaited(id);
        self.flows.close(id);
        let f = &mut self.flows.all[id.0 as usize];
        f.timers = [Time::NEVER; 2];
        let stats = std::mem::take(&mut f.stats);
        let member = self.apps.all[f.app as usize].own_flow?;
        let member = &mut self.flows.all[member.0 as usize];
        // An application that feeds its own connection has no row for others.
        let Carrier::Member(closed) = &mut member.carrier else {
            return None;
        };
        closed.add(&total);
        member.stats.forward.merge(&stats.forward);
        if let Some(reverse) = stats.reverse {
            member.stats.reverse.get_or_insert_default().merge(&reverse);
        }
        Some(closed)
    }

    /// The run is over: add the counts of open connections to their members.
    pub(super) fn fold_open(&mut self) {
        for i in counted_as(32, self.declared()..self.flows.all.len()) {
            if matches!(self.flows.all[i].carrier, Carrier::Connection(_)) {
                self.fold(FlowId(i as u32));
            }
        }
    }

    /// A member has finished its requests. When all members have finished, a run that ends with its sessions ends after
    /// this instant.
    pub(super) fn member_finished(&mut self, app: u32) {
        let slot = &mut self.apps.all[app as usize];
        if std::mem::replace(&mut slot.finished, true) {
            return;
        }
        self.apps.unfinished -= 1;
        if let (0, Some(tick)) = (self.apps.unfinished, self.end_tick) {
            self.events.push(self.now, crate::wire::event::EventKind::Tick, tick);
        }
    }

    /// The time at which the run ended with its sessions, if that was before its duration was over.
    pub fn ended(&self) -> Option<Time> {
        self.ended
    }
}

impl DataStats {
    fn merge(&mut self, other: &DataStats) {
        self.data.add(&other.data);
        self.delay.merge(&other.delay);
    }
}
