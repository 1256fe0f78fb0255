//! Packets from outside: a gateway gives the simulator the packets of real senders, and forwards the packets that come
//! out.
//!
//! A flow whose ends are outside ([`Carrier::Injected`]) has a way through the network like any other flow, and its
//! packets meet the same conditioners, impairments, queues and lines. The program that drives the simulator hands a
//! packet in at the instant of its arrival ([`Sim::inject`]), lets time go on ([`Sim::run_until`]), and takes the
//! packets that have arrived ([`Sim::take_emitted`]). A packet's bytes stay outside. Its instant of birth, which no two
//! injected packets share, identifies the packet.
//!
//! State: the packets that have arrived and have not been taken.

use super::{Emitted, Injected, side};
use crate::sim::flow::{Carrier, NO_APP, Route};
use crate::sim::recorder::{Series, Source};
use crate::sim::{AppSlot, Sim};
use crate::wire::packet::WirePacket;
use tailback_base::{Dscp, Duration, FlowId, Time};
use tailback_transport::Segment;

impl Sim {
    /// The time of the next event if no packet comes from outside.
    pub fn next_event(&mut self) -> Option<Time> {
        self.events.next_time()
    }

    /// The ports at the ends of the ways of all flows, and the shortest delay of one of these ports. A packet that an
    /// event inside the network lets go comes out at least this much later.
    pub fn last_ports(&self) -> (Vec<u32>, Duration) {
        let ways = self.net.ways.iter().flatten().filter(|r| r.len > 0);
        let last = |r: &Route| match self.net.is_spread(*r) {
            true => self.net.ports_within(*r),
            false => &self.net.entries(*r)[usize::from(r.len) - 1..],
        };
        let mut ports: Vec<u32> = ways.flat_map(last).copied().collect();
        ports.sort_unstable();
        ports.dedup();
        let delays = ports.iter().map(|p| self.net.ports[*p as usize].delay);
        let shortest = delays.min().unwrap_or(Duration(0));
        (ports, shortest)
    }

    /// The time at which the first packet comes out of those that are already on these wires.
    pub fn next_out(&self, ports: &[u32]) -> Option<Time> {
        let heads = ports.iter().filter_map(|p| self.net.ports[*p as usize].wire.front());
        heads.map(|f| f.arrives).min()
    }

    /// Inject a packet from one end of an injected flow now. Its headers are given as a segment, together with its code
    /// point.
    pub fn inject(&mut self, flow: FlowId, backward: bool, s: &Segment, dscp: Dscp) {
        let f = &mut self.flows.all[flow.0 as usize];
        let Carrier::Injected(ends) = &mut f.carrier else {
            debug_assert!(false, "the ends of flow {} are simulated", flow.0);
            return;
        };
        ends.send(side(backward), s);
        f.in_flight += 1;
        if !backward && f.stats.quality().is_some() {
            f.stats.datagrams = s.seq + 1;
        }
        let p = WirePacket::from_segment(&mut s.clone(), flow, backward, self.now, &mut self.extras);
        let p = p.with_dscp(dscp);
        let way = self.net.ways[flow.0 as usize][usize::from(backward)];
        let first = self.net.routes[way.start as usize];
        self.offer(first, p);
    }

    /// The packets that have arrived since the last call, in order; `into` is emptied first.
    pub fn take_emitted(&mut self, into: &mut Vec<Emitted>) {
        into.clear();
        std::mem::swap(into, &mut self.flows.emitted);
    }

    /// The state of the ends of an injected flow.
    pub fn ends_mut(&mut self, flow: FlowId) -> Option<&mut Injected> {
        match &mut self.flows.all[flow.0 as usize].carrier {
            Carrier::Injected(ends) => Some(ends),
            _ => None,
        }
    }

    /// Take over the measurements of the ends of an injected flow of datagrams, in the order of arrival: the number and
    /// the delay of each datagram that arrived, and the number and the round trip of each datagram whose answer is
    /// back. A flow's packets do not overtake one another, so a packet that has not come before a later one is lost.
    pub fn measures(&mut self, flow: FlowId, there: &[(u64, Duration)], back: &[(u64, Duration)]) {
        let f = &mut self.flows.all[flow.0 as usize];
        let Some(quality) = f.stats.quality() else { return };
        let mut next_number = 0;
        for (packet_number, delay) in there {
            (next_number..*packet_number).for_each(|n| quality.lose(n));
            next_number = packet_number + 1;
            // The sending time is not given, so all datagrams of a flow belong to one talk.
            quality.deliver(*packet_number, Time::ZERO, *delay);
        }
        next_number = 0;
        for (packet_number, round_trip) in back {
            for n in next_number..*packet_number {
                if quality.has_arrived(n) {
                    quality.lose_answer(n);
                }
            }
            next_number = packet_number + 1;
            quality.hear(*packet_number, *round_trip);
        }
    }

    /// The time at which a flow starts, and the time at which it stops producing data if that is before the end.
    pub fn schedule(&self, flow: FlowId) -> (Time, Option<Time>) {
        let app = |a: &AppSlot| (a.start, a.stop);
        match self.flows.all[flow.0 as usize].app {
            NO_APP => (Time::ZERO, None),
            a => app(&self.apps.all[a as usize]),
        }
    }

    /// Add a series that was recorded outside.
    pub fn add_series(&mut self, what: &str, probe: &str, unit: &'static str, points: &[(Time, f64)]) {
        let recorder = self.watch.recorder.get_or_insert_default();
        let mut series = Series::new(what.into(), probe.into(), unit, Source::Outside, false);
        for (time, value) in points {
            series.point(*time, 0, *value);
        }
        recorder.series.push(series);
    }

    /// The hosts at the ends of a flow, for queues that distinguish hosts.
    pub fn set_hosts(&mut self, flow: FlowId, source: u32, destination: u32) {
        let keys = &mut self.flows.all[flow.0 as usize].keys;
        (keys.source, keys.destination, keys.label) = (source, destination, destination);
    }
}
