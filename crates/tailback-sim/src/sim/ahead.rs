//! Running ahead: a packet is handed on as soon as its arrival time is known, and not when that time has come.
//!
//! A packet's arrival at the far end of a line is known as soon as its transmission has been decided. If nothing else
//! can happen to the receiving object until then, that object may be called at once, as of the arrival. This saves the
//! event and the place on the wire, and the packet is still in the processor's registers. The rules:
//!
//! 1. A port may take a packet ahead if it is arithmetic ([`Queue::Fused`]), nothing but a tap stands before its queue,
//!    and everything that enters it comes from one port, or from destinations behind one port.
//! 2. An end may be called ahead if its answers enter such a port or a port that it alone uses. Its application must
//!    get no events of it and must not call it until then (for a destination this always holds). Timers that are due
//!    before, of this end and of the ends that share the port of its answers, run first, as of their times and in their
//!    order.
//! 3. Objects that are observed during a run never run ahead: those that a series or a log reads, that a conditioner
//!    sees, or that a tap sees at a far end. A tap that looks only at queues sees their packets ahead of time, and
//!    sorts those of several queues ([`crate::wire::tap`]).
//! 4. Nothing runs past the horizon, which is the earliest of three instants: the end of what may be run now, the next
//!    change of flows, and the next tick that looks at everything (the end of the warm-up or of an interval). The end
//!    of a run that ends with its sessions is not known before, so nothing runs ahead in such a run.
//! 5. The first port of a source never hands on ahead. Each round of packets and answers ends there, and the event list
//!    gets its next turn. Datagrams that are not answered make no rounds, so a port that only their sources send into
//!    hands on ahead.
//! 6. Ends that applications open while the run goes on may do anything at any time. They are called by events, except
//!    clients in the middle of a transfer (`sim/clients.rs`), and the first port of such an end has several feeders.
//!    The pairs of nodes between which applications open connections have to be known; otherwise nothing runs ahead.
//!    The number of a closed connection is used again when its last packet has left the network, so a port on its path
//!    that may lose packets takes none ahead.
//! 7. A discipline that sends requests to sources sends them into the reverse path, at the near end of its port. The
//!    port that the requests enter there has several feeders. A discipline that sends requests has to declare it. At
//!    the first port of a path the source may get the request between two segments of a burst. In such a network
//!    nothing runs ahead, and no segment is predicted.
//! 8. If the path of a packet has a choice among equal paths (`sim/equal.rs`), an event makes the choice when the
//!    packet has arrived. All ports of such a path have several feeders, and its ends are called by events.
//!
//! By these rules every queue that several ports share gets its packets in the order of events, and every other object
//! gets its calls in the order of time. Results therefore do not show whether a run ran ahead. In a dumbbell of plain
//! TCP each data packet needs one event, its arrival at the bottleneck, instead of four, and is stored once a round
//! trip. The benefit is a quarter to a third of the time.
//!
//! The loop in `sim/travel.rs` follows a packet by these rules.
//!
//! State: two flags for each port (whether it hands packets on ahead, and whether it takes them ahead), three for each
//! flow (one for each end, and whether its destination is called in the order of time), the horizon, and the armed
//! timers of destinations that share the port of their answers, by the port in front of these destinations.

use super::equal::CHOICE;
use super::{Sim, Tick};
use crate::sim::flow::{Carrier, Echo, Hears, NO_APP, Route};
use crate::sim::recorder::{Recorder, Source};
use crate::traffic::application::Side;
use crate::wire::event::EventKind;
use crate::wire::port::{Before, NO_EDGE, Queue};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tailback_base::Time;
use tailback_base::work::counted_as;

/// The state of running ahead.
#[derive(Default)]
pub(crate) struct Ahead {
    /// Whether the rules have been applied to the network. They are applied when the first event runs, because until
    /// then parts are added to the network.
    known: bool,
    /// No packet may run ahead and no segment is predicted, in any network. This is for tests that compare both.
    pub never: bool,
    /// Nothing may be done as of a later time.
    pub horizon: Time,
    /// The times at which the ticks that look at everything are due, by the number of the tick; never for other ticks.
    pub ticks: Vec<Time>,
    /// The time of the next change of flows, if there is one.
    pub change: Option<Time>,
    /// Whether each port takes packets before they have arrived.
    pub takes: Vec<bool>,
    /// Armed timers of the destinations behind each port, if they share the port of their answers: time and entity of
    /// the event.
    timers: Vec<BinaryHeap<Reverse<(Time, u32)>>>,
    /// The lazy ports (see `sim/lazy.rs`).
    pub lazy: Vec<u32>,
    /// The number of calls as of another time that are in progress.
    pub deep: u32,
}

impl Ahead {
    /// Whether anything may have run ahead.
    pub fn has_any(&self) -> bool {
        !self.timers.is_empty() || !self.lazy.is_empty()
    }
}

/// The packets that enter a port.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Feeder {
    #[default]
    Nothing,
    /// Packets of this port only, or of ends that only it drives.
    Port(u32),
    Several,
}

impl Feeder {
    fn and(self, other: Feeder) -> Feeder {
        match self {
            Feeder::Nothing => other,
            _ if self == other => self,
            _ => Feeder::Several,
        }
    }
}

/// The users of a port.
#[derive(Clone, Copy, Default)]
pub(super) struct Use {
    feeder: Feeder,
    /// A source sends into it.
    first: bool,
    /// The number of directions of flows, and of connections that may be opened, that use the port.
    pub ways: u32,
    /// Some of these connections may be opened during the run.
    opened: bool,
}

/// The parts of a network that are read during the run.
pub(super) struct Looks {
    /// Ports whose queue is read, and ports whose deliveries are read.
    pub queue: Vec<bool>,
    exit: Vec<bool>,
    pub flow: Vec<bool>,
    /// Every loss is logged, in the order of time.
    pub losses: bool,
}

impl Looks {
    fn of(recorder: Option<&Recorder>, ports: usize, flows: usize) -> Looks {
        let mut looks = Looks {
            queue: vec![false; ports],
            exit: vec![false; ports],
            flow: vec![false; flows],
            losses: recorder.is_some_and(|r| r.log.is_some()),
        };
        for s in counted_as(4, recorder.iter().flat_map(|r| &r.series)) {
            match s.source {
                Source::Queue(p) | Source::QueueBytes(p) => looks.queue[p as usize] = true,
                Source::Sojourn { port, .. } | Source::Discipline { port, .. } => looks.queue[port as usize] = true,
                Source::PortDelivered(p) => looks.exit[p as usize] = true,
                Source::Endpoint { flow, .. } | Source::Payload { flow, .. } | Source::Arrival { flow, .. } => {
                    looks.flow[flow as usize] = true;
                }
                Source::Edge { .. } | Source::EdgeSent { .. } | Source::Outside => {}
            }
        }
        looks
    }
}

impl Sim {
    /// Events up to `until` may be run: set how far anything may run ahead.
    pub(super) fn look_to(&mut self, until: Time) {
        if !self.ahead.known {
            self.ahead.known = true;
            if !self.ahead.never {
                self.find_lazy_ports();
                self.find_what_runs_ahead();
            }
        }
        let Ahead { ticks, change, .. } = &self.ahead;
        self.ahead.horizon = ticks.iter().chain(change).fold(until, |a, b| a.min(*b));
    }

    pub(super) fn looks(&self) -> Looks {
        let recorder = self.watch.recorder.as_deref();
        Looks::of(recorder, self.net.ports.len(), self.flows.all.len())
    }

    /// Apply the rules to the present network.
    fn find_what_runs_ahead(&mut self) {
        let opened = self.ways_to_be_opened();
        self.ahead.never = self.hears_within_bursts(opened.as_deref()) || self.net.router.equal.may_fail;
        if self.ahead.never || self.end_tick.is_some() {
            return;
        }
        let Some(opened) = opened else { return };
        let looks = self.looks();
        let used = self.what_enters(&opened);
        self.ahead.takes = vec![false; self.net.ports.len()];
        for port in counted_as(8, 0..self.net.ports.len()) {
            let Use {
                feeder, first, opened, ..
            } = used[port];
            let is_fed_by_port = matches!(feeder, Feeder::Port(p) if !self.net.ports[p as usize].watched_exit);
            let loses_none_of_opened = !opened || !self.may_lose(port);
            self.ahead.takes[port] = is_fed_by_port && loses_none_of_opened && self.is_open(port, &looks);
            self.net.ports[port].hands_ahead = !first && !self.net.ports[port].watched_exit && !looks.exit[port];
        }
        // A conditioner that follows senders also follows those that join during the run.
        let edges_hear = self.edges.all.iter().any(|e| e.hears);
        for flow in counted_as(8, 0..self.flows.all.len()) {
            let f = &self.flows.all[flow];
            let unobserved = !edges_hear && f.hears == Hears::Nothing && !f.followed && !f.watched && !looks.flow[flow];
            let answers_only = self.destination_only_answers(flow);
            let [there, back] = self.net.ways[flow];
            if self.net.is_spread(there) || self.net.is_spread(back) {
                continue;
            }
            self.flows.all[flow].runs_ahead = match f.carrier {
                Carrier::Datagrams {
                    echo: Echo::Nothing, ..
                } => [false, unobserved],
                // A source only counts answers.
                Carrier::Datagrams { .. } => {
                    let answer_port = self.ports_of(back)[0] as usize;
                    let has_one_way = used[answer_port].ways == 1 && self.is_open(answer_port, &looks);
                    let destination_may = answers_only && (has_one_way || self.ahead.takes[answer_port]);
                    [unobserved, unobserved && destination_may]
                }
                Carrier::Connection(_) => {
                    let (data_port, answer_port) = (self.ports_of(there)[0] as usize, self.ports_of(back)[0] as usize);
                    let has_one_way = |port: usize| used[port].ways == 1 && self.is_open(port, &looks);
                    let source_may = has_one_way(data_port);
                    let destination_may = answers_only && (has_one_way(answer_port) || self.ahead.takes[answer_port]);
                    let last_port = self.ports_of(there)[usize::from(there.len) - 1] as usize;
                    self.flows.all[flow].in_order = destination_may && self.net.ports[last_port].hands_ahead;
                    [unobserved && source_may, unobserved && destination_may]
                }
                _ => [false; 2],
            };
        }
        // If all ends run ahead, nearly every port has a receiver behind it that takes packets ahead.
        if opened.is_empty() && self.flows.all.iter().all(|f| f.runs_ahead == [true; 2]) {
            self.ahead.timers.resize_with(self.net.ports.len(), BinaryHeap::new);
            return;
        }
        let clients = if edges_hear {
            Vec::new()
        } else {
            self.find_clients(&used, &looks)
        };
        self.leave_the_rest_to_events(&opened, &clients);
        self.ahead.timers.resize_with(self.net.ports.len(), BinaryHeap::new);
    }

    /// A port need not check each packet if no receiver behind it takes packets ahead. That is the case for most ports
    /// where connections are opened. `clients`: the last ports before those that may be called ahead.
    fn leave_the_rest_to_events(&mut self, opened: &[[Route; 2]], clients: &[u32]) {
        let mut waited_for = vec![false; self.net.ports.len()];
        for port in clients {
            waited_for[*port as usize] = true;
        }
        let ends = counted_as(16, &self.flows.all).map(|f| f.runs_ahead);
        let flows = self.net.ways.iter().zip(ends);
        for (ways, ends) in flows.chain(counted_as(16, opened).map(|ways| (ways, [false; 2]))) {
            for (way, end) in ways.iter().zip([ends[1], ends[0]]) {
                if self.net.is_spread(*way) {
                    // No port of this route takes packets ahead.
                    continue;
                }
                let ports = self.ports_of(*way);
                for hop in ports.windows(2) {
                    waited_for[hop[0] as usize] |= self.ahead.takes[hop[1] as usize];
                }
                if let (Some(last), true) = (ports.last(), end) {
                    waited_for[*last as usize] = true;
                }
            }
        }
        for (port, waited_for) in self.net.ports.iter_mut().zip(waited_for) {
            port.hands_ahead &= waited_for;
        }
    }

    /// The routes of all connections that applications may open; `None` if applications may open any.
    fn ways_to_be_opened(&mut self) -> Option<Vec<[Route; 2]>> {
        let mut ways = Vec::new();
        for number in counted_as(16, 0..self.apps.transports.len()) {
            let transport = &self.apps.transports[number];
            let paths = transport.paths.any();
            for [from, to] in transport.between.clone()? {
                let (there, back) = self.ways_between(from, to, paths, 0);
                ways.push([there, back]);
            }
        }
        Some(ways)
    }

    /// Whether an end may get a request from the port that it sends into, before it has sent all that it has to send.
    fn hears_within_bursts(&self, opened: Option<&[[Route; 2]]>) -> bool {
        let asks = |port: u32| self.net.ports[port as usize].sends_requests();
        if !counted_as(4, 0..self.net.ports.len() as u32).any(asks) {
            return false;
        }
        // Any port may be the first of a route that is not known.
        let Some(opened) = opened else { return true };
        let mut ways = counted_as(16, self.net.ways.iter().chain(opened)).flatten();
        ways.any(|way| self.net.one_path(*way).first().is_some_and(|port| asks(*port)))
    }

    /// The users of each port: flows, connections that applications may open, and requests of disciplines.
    fn what_enters(&self, opened: &[[Route; 2]]) -> Vec<Use> {
        let mut used = vec![Use::default(); self.net.ports.len()];
        for (flow, ways) in counted_as(16, &self.net.ways).enumerate() {
            let answers_only = self.destination_only_answers(flow);
            let [there, back] = *ways;
            // Sources send at any time; destinations answer the packets that arrive, in the order of arrival.
            self.enter_along(there, Feeder::Several, &mut used);
            let answers = match self.ports_of(there).last() {
                Some(&port) if answers_only => Feeder::Port(port),
                _ => Feeder::Several,
            };
            self.enter_along(back, answers, &mut used);
            // Datagrams without answers make no round.
            let answered = !matches!(
                self.flows.all[flow].carrier,
                Carrier::Datagrams {
                    echo: Echo::Nothing,
                    ..
                }
            );
            match self.ports_of(there).first() {
                Some(&port) if port < CHOICE => used[port as usize].first |= answered,
                Some(_) => {
                    for &port in self.net.ports_within(there) {
                        used[port as usize].first |= answered;
                    }
                }
                None => {}
            }
        }
        for ways in counted_as(16, opened) {
            for way in ways {
                self.enter_along(*way, Feeder::Several, &mut used);
                for port in self.net.ports_within(*way) {
                    used[*port as usize].opened = true;
                }
            }
        }
        for [there, back] in counted_as(16, self.net.ways.iter().chain(opened)) {
            self.enter_requests(*there, *back, &mut used);
            self.enter_requests(*back, *there, &mut used);
        }
        used
    }

    /// Each port of a route gets packets from the port before it, and the first port gets them from `from`.
    fn enter_along(&self, way: Route, from: Feeder, used: &mut [Use]) {
        if self.net.is_spread(way) {
            for &port in self.net.ports_within(way) {
                let to = &mut used[port as usize];
                to.feeder = Feeder::Several;
                to.ways += 1;
            }
            return;
        }
        let mut feeder = from;
        for &port in self.ports_of(way) {
            let to = &mut used[port as usize];
            to.feeder = to.feeder.and(feeder);
            to.ways += 1;
            feeder = Feeder::Port(port);
        }
    }

    /// A discipline that sends requests to sources sends them at any time, from the near end of its port.
    fn enter_requests(&self, way: Route, back: Route, used: &mut [Use]) {
        if self.net.is_spread(way) {
            // In this case no port sends requests (`build/assemble.rs`).
            return;
        }
        for (before, &port) in self.ports_of(way).iter().enumerate().skip(1) {
            if self.net.ports[port as usize].sends_requests() {
                let first = self.ports_of(back)[usize::from(back.len) - before];
                used[first as usize].feeder = Feeder::Several;
            }
        }
    }

    /// Whether a flow's destination acts only on arriving packets and on its timers.
    fn destination_only_answers(&self, flow: usize) -> bool {
        let app = self.flows.all[flow].app;
        app != NO_APP
            && self.apps.all[app as usize]
                .app
                .as_ref()
                .is_some_and(|a| a.keeps_to_source())
    }

    pub(super) fn ports_of(&self, way: Route) -> &[u32] {
        self.net.entries(way)
    }

    /// Whether a port takes packets by arithmetic only, and its queue is not observed.
    pub(super) fn is_open(&self, port: usize, looks: &Looks) -> bool {
        let p = &self.net.ports[port];
        let is_fused = matches!(p.queue, Queue::Fused(_));
        let logged = looks.losses && self.may_lose(port);
        let free = p.before & !Before::TAP == Before::NOTHING && p.edge == NO_EDGE;
        is_fused && free && !p.watched && !looks.queue[port] && !logged
    }

    pub(super) fn may_lose(&self, port: usize) -> bool {
        !matches!(&self.net.ports[port].queue, Queue::Fused(queue) if queue.takes_all())
    }

    /// Run the timers that are due before a packet comes to an end. Returns false if one of them may not run ahead.
    #[inline(always)]
    pub(super) fn run_timers_before(&mut self, t: Time, port: u32, flow: u32, at_source: bool) -> bool {
        let due = match at_source {
            true => self.flows.all[flow as usize].timers[Side::Source as usize],
            false => self.ahead.timers[port as usize].peek().map_or(Time::NEVER, |e| e.0.0),
        };
        due >= t || self.run_timers_due(t, port, flow, at_source)
    }

    #[inline(never)]
    fn run_timers_due(&mut self, t: Time, port: u32, flow: u32, at_source: bool) -> bool {
        let now = self.now;
        self.ahead.deep += 1;
        let may = match at_source {
            true => {
                self.run_source_timers(t, flow);
                true
            }
            false => self.run_destination_timers(t, port),
        };
        self.ahead.deep -= 1;
        self.now = now;
        may
    }

    fn run_source_timers(&mut self, t: Time, flow: u32) {
        while self.flows.all[flow as usize].timers[Side::Source as usize] < t {
            self.now = self.flows.all[flow as usize].timers[Side::Source as usize];
            self.on_endpoint_timer(2 * flow);
        }
    }

    /// Run the timers of all destinations behind a port that share the port of their answers.
    fn run_destination_timers(&mut self, t: Time, port: u32) -> bool {
        while let Some(&Reverse((due, entity))) = self.ahead.timers[port as usize].peek()
            && due < t
        {
            let flow = &self.flows.all[entity as usize / 2];
            // A timer that has run as an event, or was moved to an earlier time, is no longer armed.
            let armed = flow.timers[Side::Destination as usize] == due;
            if armed && !flow.runs_ahead[Side::Destination as usize] {
                return false;
            }
            self.ahead.timers[port as usize].pop();
            if armed {
                self.now = due;
                self.on_endpoint_timer(entity);
            }
        }
        true
    }

    /// The timer of an end is armed.
    #[inline]
    pub(super) fn arm_endpoint(&mut self, flow: u32, side: Side, due: Time) {
        let entity = 2 * flow + side as u32;
        self.events.push(due, EventKind::Endpoint, entity);
        if side == Side::Destination && self.flows.all[flow as usize].in_order {
            let port = self.port_before_destination(flow);
            self.ahead.timers[port as usize].push(Reverse((due, entity)));
        }
    }

    /// Ask the passive end of a new connection at this instant what it has to send.
    pub(crate) fn ask_at(&mut self, flow: u32, side: Side, at: Time) {
        self.flows.all[flow as usize].timers[side as usize] = at;
        self.arm_endpoint(flow, side, at);
    }

    /// A destination's timer has come. All timers that were due before are over, whether they ran ahead or as events.
    /// Without this call, timers behind a port that seldom hands packets on would be kept for the rest of the run.
    pub(super) fn forget_timers(&mut self, flow: u32) {
        if self.flows.all[flow as usize].in_order {
            let (now, port) = (self.now, self.port_before_destination(flow));
            let timers = &mut self.ahead.timers[port as usize];
            while timers.peek().is_some_and(|Reverse((due, _))| *due < now) {
                timers.pop();
            }
        }
    }

    /// Timers that are kept in order, live and outdated.
    pub(crate) fn timers_in_order(&self) -> usize {
        self.ahead.timers.iter().map(BinaryHeap::len).sum()
    }

    fn port_before_destination(&self, flow: u32) -> u32 {
        let way = self.net.ways[flow as usize][0];
        self.net.routes[way.start as usize + usize::from(way.len) - 1]
    }
}

/// Whether a tick looks at the whole network.
pub(crate) fn looks_at_everything(tick: &Tick) -> bool {
    // A port that a sample reads never runs ahead.
    !matches!(tick, Tick::Sample { .. })
}
