//! The receiver of reports from a port's queue and from the stages before it: counters of the port and the flow, the
//! log, the tap.

use super::{Carrier, Flows, Sim};
use crate::sim::recorder::{ALL, LogRow, PacketFate, Recorder, Source};
use crate::wire::event::EventList;
use crate::wire::packet::{Extras, SimPacket, WirePacket};
use crate::wire::port::{Before, PortStats, Queue};
use crate::wire::tap::{Sight, Tap};
use tailback_base::{Duration, Request, Time};
use tailback_queue::{DropReason, MarkReason, Out, Place, ProbeId};

/// The tap, if it looks at a port.
pub(super) struct Shown<'a> {
    pub(super) tap: &'a mut Box<dyn Tap>,
    reached: Time,
}

impl<'a> Shown<'a> {
    #[inline(always)]
    pub(super) fn of(tap: &'a mut Option<Box<dyn Tap>>, before: u8, events: &EventList) -> Option<Shown<'a>> {
        let tap = tap.as_mut().filter(|_| before & Before::TAP != 0)?;
        let reached = events.now();
        Some(Shown { tap, reached })
    }

    pub(super) fn sight<'p>(&self, now: Time, port: u32, packet: &'p WirePacket, extras: &'p Extras) -> Sight<'p> {
        Sight {
            now,
            reached: self.reached,
            port,
            packet,
            extras,
        }
    }
}

/// The receiver of a discipline's reports at one port.
pub(super) struct Outlet<'a> {
    port: u32,
    now: Time,
    pub(super) stats: &'a mut PortStats,
    pub(super) flows: &'a mut Flows,
    extras: &'a mut Extras,
    recorder: &'a mut Option<Box<Recorder>>,
    shown: Option<Shown<'a>>,
    requests: &'a mut Vec<(u32, WirePacket, Request)>,
}

impl Outlet<'_> {
    pub(super) fn log(&mut self, p: &WirePacket, fate: PacketFate) {
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
        self.stats.count_drop(place, why, p);
        let f = &mut self.flows.all[p.flow_id().0 as usize];
        f.in_flight -= 1;
        if p.is_counted() {
            f.stats.of(p).data.dropped += 1;
            // The packets of a call over a connection have numbers of their own.
            if !matches!(f.carrier, Carrier::Connection(_))
                && let Some(quality) = f.stats.quality()
            {
                match p.is_backward() {
                    false => quality.lose(p.seq()),
                    true => quality.lose_answer(p.seq()),
                }
            }
        }
        let limits = f.limits_host;
        if f.is_reusable() {
            self.flows.reuse(p.flow_id(), self.now);
        }
        if limits {
            self.flows.tell_sender(p, self.now);
        }
        self.log(p, PacketFate::Dropped(place, why));
        if let Some(shown) = &mut self.shown {
            let sight = shown.sight(self.now, self.port, p, self.extras);
            shown.tap.dropped(&sight, place, why);
        }
        self.extras.release(p);
    }

    pub(super) fn mark_wire(&mut self, p: &WirePacket, why: MarkReason) {
        self.stats.count_mark(why, p);
        if p.is_counted() {
            self.flows.all[p.flow_id().0 as usize].stats.of(p).data.marked += 1;
        }
        self.log(p, PacketFate::Marked(why));
        if let Some(shown) = &mut self.shown {
            let sight = shown.sight(self.now, self.port, p, self.extras);
            shown.tap.marked(&sight, why);
        }
    }

    /// The line takes a packet.
    pub(super) fn show_sent(&mut self, p: &WirePacket) {
        if let Some(shown) = &mut self.shown {
            let sight = shown.sight(self.now, self.port, p, self.extras);
            shown.tap.sent(&sight);
        }
    }

    /// A packet that a stage before the queue drops.
    pub(super) fn drop_before(&mut self, p: &WirePacket, why: DropReason) {
        self.stats.arrived_packets += 1;
        self.stats.arrived_bytes += u64::from(p.size());
        self.drop_wire(p, Place::Arriving, why);
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
            let source = Source::Discipline {
                port: self.port,
                probe: probe.0,
                index: ALL,
            };
            if s.source == source {
                s.told = true;
                s.point(self.now, index, value);
            }
        }
    }
}

/// A port that is about to work.
pub(super) struct WorkingPort<'a> {
    pub queue: &'a mut Queue,
    pub out: Outlet<'a>,
    /// A probe of it is recorded at every change.
    pub watched: bool,
    pub delay: Duration,
    pub lazy: bool,
}

impl Sim {
    /// A port, and the receivers of its reports.
    #[inline(always)]
    pub(super) fn at(&mut self, port: u32) -> WorkingPort<'_> {
        let port_state = &mut self.net.ports[port as usize];
        let out = Outlet {
            port,
            now: self.now,
            stats: &mut port_state.stats,
            flows: &mut self.flows,
            extras: &mut self.extras,
            recorder: &mut self.watch.recorder,
            shown: Shown::of(&mut self.watch.tap, port_state.before, &self.events),
            requests: &mut self.requests,
        };
        WorkingPort {
            queue: &mut port_state.queue,
            out,
            watched: port_state.watched,
            delay: port_state.delay,
            lazy: port_state.lazy,
        }
    }

    /// The receiver of a port's reports.
    pub(super) fn outlet(&mut self, port: u32) -> Outlet<'_> {
        self.at(port).out
    }

    /// Show a packet to the tap, if it looks at this port.
    #[inline(always)]
    pub(super) fn show(&mut self, port: u32, p: &WirePacket, what: impl FnOnce(&mut dyn Tap, &Sight<'_>)) {
        let before = self.net.ports[port as usize].before;
        if let Some(shown) = Shown::of(&mut self.watch.tap, before, &self.events) {
            let sight = shown.sight(self.now, port, p, &self.extras);
            what(&mut **shown.tap, &sight);
        }
    }
}
