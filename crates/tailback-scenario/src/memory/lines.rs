//! The lines of a scenario and their load: the path of each group, how many packets are on their way at one time, and
//! how many pass each port in the whole run.
//!
//! A sender's window grows with acknowledgements, so the outstanding data is at most the initial window plus the data
//! that the slowest line has carried since. If losses or marks limit windows, it is also at most twice the data that
//! this line, its buffer and the delays hold.

use super::session_load;
use super::traffic::Brings;
use crate::read::routes::nodes_over;
use std::collections::HashMap;
use tailback_base::{BitRate, Duration, Settings, Size};
use tailback_queue::params::{AQM, BEFORE};
use tailback_queue::pieces::params::BUFFER;
use tailback_queue::shaped;
use tailback_sim::change::Values;
use tailback_sim::declare::impairments::Impairment;
use tailback_sim::declare::paths::Paths;
use tailback_sim::library::Library;
use tailback_sim::sim::route::{Arc, Router};
use tailback_sim::spec::{AccessSpec, DirectionSpec, Spec};
use tailback_sim::traffic::application::NodeId;

/// Bytes of a packet without data.
const SMALL_PACKET: f64 = 40.0;
/// Once it has acted, an AQM keeps the queue below this many seconds of its line.
const AQM_SECONDS: f64 = 1.0;
/// Outstanding data as a multiple of the data on the path, because a window doubles before the first sign that it is
/// too large.
const OVERSHOOT: f64 = 2.0;
/// Sent packets as a multiple of delivered ones: a third is lost if windows are as small as possible.
const RESENT: f64 = 1.5;
/// The share of outstanding data that waits as acknowledgements, if the way back is not much slower.
const ACKS: f64 = 0.25;
const FEW: f64 = 10.0;
/// The most packets that a connection sends before its first loss, as a multiple of the mean.
const FIRST_LOSS: f64 = 10.0;

/// One direction of a declared link.
pub struct Line<'a> {
    pub name: String,
    pub spec: &'a DirectionSpec,
    /// Largest rate of the run, bit/s.
    pub rate: f64,
    /// Data packets that arrive in the whole run, and acknowledgements.
    pub data: f64,
    pub acks: f64,
    /// Packets that may wait at one time.
    pub waiting: f64,
    /// Packets on the wire at one time.
    pub flying: f64,
    /// The number of flows whose packets pass.
    pub flows: f64,
    /// Mean bytes of a data packet.
    pub packet: f64,
}

/// The load of a group of flows, or of a session.
pub struct Use {
    pub brings: Brings,
    /// Ports on the path of the data, by their index in [`Lines::all`].
    pub way: Vec<usize>,
    /// The other ports of equal paths, if packets take those too.
    pub beside: Vec<usize>,
    /// Round trip without queues, seconds.
    pub round_trip: f64,
    /// The sum of the private lines, bit/s.
    pub private: f64,
    /// Data packets delivered in the whole run.
    pub carried: f64,
    /// Packets sent, including those that are lost and sent again.
    pub sent: f64,
    /// Packets that wait for private lines slower than their sources.
    pub private_waiting: f64,
    /// Packets that are on their way or unacknowledged at one time.
    pub outstanding: f64,
}

pub struct Lines<'a> {
    /// The two directions of each link, in the order of the scenario.
    pub all: Vec<Line<'a>>,
    /// The groups of flows, in the order of the scenario.
    pub flows: Vec<Use>,
    pub sessions: Vec<Use>,
}

impl<'a> Lines<'a> {
    pub fn of(spec: &'a Spec, library: &Library) -> Lines<'a> {
        let mut all = Vec::with_capacity(2 * spec.links.len());
        for l in &spec.links {
            for (d, suffix) in [(&l.forward, ""), (&l.reverse, ".reverse")] {
                all.push(Line::new(format!("{}{suffix}", l.name), d));
            }
        }
        let mut ways = Ways::of(spec);
        let mut flows = Vec::with_capacity(spec.flows.len());
        for g in &spec.flows {
            let way = ways.over(&g.from, &g.via, &g.to);
            let beside = ways.beside(&g.from, &g.to, g.paths, &way);
            let brings = Brings::of(spec, g, library);
            flows.push(Use::new(brings, (way, beside), &all, [&g.access, &g.exit]));
        }
        let mut sessions = Vec::with_capacity(spec.sessions.len());
        for s in &spec.sessions {
            let way = ways.between(&s.from, &s.to);
            let slowest = way.iter().map(|p| all[*p].rate).fold(f64::INFINITY, f64::min);
            let delay: f64 = way.iter().map(|p| all[*p].spec.longest_delay().seconds()).sum();
            let brings = session_load::brings(spec, s, library, slowest, 2.0 * delay);
            let beside = ways.beside(&s.from, &s.to, s.paths, &way);
            sessions.push(Use::new(brings, (way, beside), &all, [&s.access, &s.exit]));
        }
        let mut lines = Lines { all, flows, sessions };
        lines.share(library);
        lines.load();
        lines
    }

    fn uses(&self) -> impl Iterator<Item = &Use> {
        self.flows.iter().chain(&self.sessions)
    }

    /// Compute the data that are outstanding at one time, from the line that limits them.
    fn share(&mut self, library: &Library) {
        let mut by_line: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
        let uses: Vec<&Use> = self.uses().collect();
        for (i, line_use) in uses
            .iter()
            .enumerate()
            .filter(|(_, line_use)| line_use.brings.connection)
        {
            let slowest = line_use
                .way
                .iter()
                .copied()
                .min_by(|a, b| self.all[*a].rate.total_cmp(&self.all[*b].rate));
            by_line.entry(slowest).or_default().push(i);
        }
        let mut outstanding_of = vec![0.0; uses.len()];
        for (line, members) in by_line {
            let members: Vec<(usize, &Use)> = members.into_iter().map(|i| (i, uses[i])).collect();
            let sum_of = |f: &dyn Fn(&Use) -> f64| members.iter().map(|m| f(m.1)).sum::<f64>();
            // All flows on a line fill it, even those that another line limits.
            let filled = |line_index: usize| {
                uses.iter()
                    .filter(|u| u.way.contains(&line_index))
                    .map(|u| u.private)
                    .sum::<f64>()
            };
            let held_packets = line.map_or(f64::INFINITY, |l| held(&self.all[l], &members, filled(l), library));
            let flows = sum_of(&|u| u.brings.flows);
            for (i, line_use) in &members {
                let b = &line_use.brings;
                let own_packets = (b.flows * b.first + line_use.carried)
                    .min(b.flows * b.cap)
                    .min(b.packets);
                let paths = 1.0 + line_use.beside.len() as f64;
                let part = b.flows * b.first + OVERSHOOT * held_packets * paths * (b.flows / flows).clamp(0.25, 1.0);
                let struck: f64 = line_use
                    .way
                    .iter()
                    .map(|p| struck(&self.all[*p])[0])
                    .fold(0.0, f64::max);
                let until_loss = b.flows * (b.first + FIRST_LOSS / struck);
                outstanding_of[*i] = own_packets.min(part).min(until_loss);
            }
        }
        for (u, outstanding) in self.flows.iter_mut().chain(&mut self.sessions).zip(outstanding_of) {
            if u.brings.connection {
                u.outstanding = outstanding;
            }
        }
    }

    /// Compute the packets that pass each line, and those that wait there.
    fn load(&mut self) {
        let Lines { all, flows, sessions } = self;
        for l in all.iter_mut() {
            l.packet = f64::INFINITY;
        }
        let (mut excess, mut bursts) = (vec![0.0; all.len()], vec![0.0; all.len()]);
        let mut carried = vec![0.0; all.len()];
        let (mut windows, mut seconds) = (vec![0.0; all.len()], vec![0.0_f64; all.len()]);
        let mut of_datagrams = vec![0.0; all.len()];
        for u in flows.iter().chain(sessions.iter()) {
            let b = &u.brings;
            for &p in u.way.iter().chain(&u.beside) {
                all[p].flows += b.flows;
                all[p].packet = all[p].packet.min(b.packet);
                seconds[p] = seconds[p].max(b.seconds);
                if b.connection {
                    all[p].data += u.sent;
                    // Together, all flows on a line deliver no more than it carries.
                    carried[p] += RESENT * u.carried;
                    windows[p] += u.outstanding;
                    // Lines `p` and `p ^ 1` are the two directions of one link.
                    windows[p ^ 1] += u.outstanding * if all[p ^ 1].rate * FEW < all[p].rate { 1.0 } else { ACKS };
                    seconds[p ^ 1] = seconds[p ^ 1].max(b.seconds);
                } else {
                    let brought = b.packets.min(u.private * b.seconds / 8.0 / b.packet);
                    let answers = b.answer.map(|bytes| (p ^ 1, bytes));
                    for (p, bytes) in [(p, b.packet)].into_iter().chain(answers) {
                        all[p].data += brought;
                        all[p].packet = all[p].packet.min(bytes);
                        seconds[p] = seconds[p].max(b.seconds);
                        excess[p] += b.rate.min(u.private) * bytes / b.packet;
                        of_datagrams[p] += b.flows;
                        // Several sources may happen to be on at once, but only few.
                        bursts[p] += b.at_once * (4.0 + 2.0 * b.flows.sqrt()) + 4.0 * brought.sqrt();
                    }
                    all[p ^ 1].flows += if b.answer.is_some() { b.flows } else { 0.0 };
                }
            }
        }
        for p in 0..all.len() {
            let most = RESENT * all[p].rate * seconds[p] / 8.0 / all[p].packet;
            all[p].data -= (carried[p] - most).max(0.0);
            all[p ^ 1].acks = carried[p].min(most).min(all[p].data);
        }
        for (i, line) in all.iter_mut().enumerate() {
            if line.packet.is_infinite() {
                line.packet = SMALL_PACKET;
            }
            let least_packet = if line.acks > 0.0 { SMALL_PACKET } else { line.packet };
            // If both connections and datagrams pass, both wait. One queue serves packets in the order of arrival;
            // several queues give each flow its share.
            let several = line.spec.fused_limit().is_none() && line.flows > of_datagrams[i];
            let left_rate = if several {
                line.rate * of_datagrams[i] / line.flows
            } else {
                line.rate
            };
            let over = (excess[i] - left_rate).max(0.0) * seconds[i] / 8.0 / line.packet;
            let behind_windows = windows[i] * excess[i] / (line.rate - excess[i]).max(0.01 * line.rate);
            let waiting = windows[i] + (over + behind_windows + bursts[i]).min(line.data);
            line.waiting = waiting.min(buffer(line.spec, least_packet)).min(line.data + line.acks);
            let on_the_wire = line.rate * line.spec.longest_delay().seconds() / 8.0 / line.packet + 1.0;
            line.flying = on_the_wire.min(line.data + line.acks);
        }
    }
}

/// The largest rate of the run: that of the line, or of a slower shaper, including the fastest rate that a change sets.
fn most(d: &DirectionSpec) -> BitRate {
    let line_rate = d.rates()[1];
    let changed = d.changes.iter().filter_map(|c| match &c.to {
        Values::Queue(queues) => queues.iter().map(|q| shaped::rate(q, line_rate)).max(),
        _ => None,
    });
    changed.fold(shaped::rate(&d.queue, line_rate), BitRate::max)
}

impl<'a> Line<'a> {
    fn new(name: String, spec: &'a DirectionSpec) -> Line<'a> {
        Line {
            name,
            spec,
            rate: most(spec).bits_per_second(),
            data: 0.0,
            acks: 0.0,
            waiting: 0.0,
            flying: 0.0,
            flows: 0.0,
            packet: 1500.0,
        }
    }
}

impl Use {
    fn new(
        brings: Brings,
        (way, beside): (Vec<usize>, Vec<usize>),
        all: &[Line],
        private: [&Option<AccessSpec>; 2],
    ) -> Use {
        let rates = |ports: &[usize]| ports.iter().map(|p| all[*p].rate).collect::<Vec<f64>>();
        let slowest = match beside.is_empty() {
            true => rates(&way).into_iter().fold(f64::INFINITY, f64::min),
            // At most the sum of what all of them carry.
            false => rates(&way).into_iter().chain(rates(&beside)).sum(),
        };
        let delay: f64 = way.iter().map(|p| all[*p].spec.longest_delay().seconds()).sum();
        let (mut own_rate, mut extra) = (f64::INFINITY, 0.0);
        for a in private.into_iter().flatten() {
            let rates: f64 = a.rate.iter().map(|r| r.bits_per_second()).sum();
            own_rate = own_rate.min(brings.flows * rates / a.rate.len().max(1) as f64);
            extra += a.delay.iter().max().map_or(0.0, |d| d.seconds());
        }
        let round_trip = 2.0 * (delay + extra);
        let packets_per_second = slowest.min(own_rate) / 8.0 / brings.packet;
        let windows = brings.flows * brings.cap * (brings.seconds / round_trip + 1.0);
        let most = packets_per_second * brings.seconds + brings.flows;
        let carried = most.min(brings.packets).min(windows);
        let repeated = brings.flows * brings.again;
        let excess_packets = (brings.rate - own_rate).max(0.0) * brings.seconds / 8.0 / brings.packet;
        Use {
            carried,
            sent: match brings.connection {
                true => RESENT * carried + brings.flows * brings.first + repeated,
                false => carried,
            },
            private_waiting: if excess_packets.is_finite() {
                excess_packets
            } else {
                0.0
            },
            outstanding: 0.0,
            round_trip,
            private: own_rate,
            way,
            beside,
            brings,
        }
    }
}

/// The packets that a line, its buffer and the delays of these connections hold; infinite if nothing limits windows.
fn held(line: &Line, members: &[(usize, &Use)], private: f64, library: &Library) -> f64 {
    let packet = members.iter().map(|m| m.1.brings.packet).fold(f64::INFINITY, f64::min);
    let round_trip = members.iter().map(|m| m.1.round_trip).fold(0.0, f64::max);
    let per_second = line.rate / 8.0 / packet;
    let limit = match acts_early(line.spec, library) {
        true => buffer(line.spec, packet).min(AQM_SECONDS * per_second),
        false => buffer(line.spec, packet),
    };
    // This line limits windows only if the connections' own lines carry more than it does.
    let beyond = (private - line.rate) / line.rate;
    let most = (limit + per_second * round_trip) * (1.0 + 0.25 / beyond);
    if beyond > 0.0 { most } else { f64::INFINITY }
}

/// The number of packets of at least this many bytes that fit into a buffer, plus what a discipline holds outside it.
pub fn buffer(d: &DirectionSpec, packet: f64) -> f64 {
    let beside_buffer = |s: &Settings| {
        let facts = tailback_queue::registry::facts(s.model.name);
        facts.and_then(|f| f.beside).map_or(0.0, |beside| beside(s) as f64)
    };
    let packets = |size: Option<Size>| match size {
        Some(Size::Packets(n)) => n as f64,
        Some(Size::Bytes(n)) => n as f64 / packet,
        Some(Size::Unlimited) | None => f64::INFINITY,
    };
    let holders = shaped::holders(&d.queue).into_iter();
    let held: f64 = holders.map(|s| packets(s.find_key(&BUFFER)) + beside_buffer(s)).sum();
    held.min(packets(d.switch.map(|port| port.memory)))
}

/// Whether drops or marks limit the queue before the buffer is full.
fn acts_early(d: &DirectionSpec, library: &Library) -> bool {
    shaped::holders(&d.queue).into_iter().all(|s| {
        let before = s.models().len() > 1 && (s.find(AQM.name).is_some() || s.find(BEFORE.name).is_some());
        let row = library.queues.entries().iter().find(|e| std::ptr::eq(e.model, s.model));
        let own = row.is_some_and(|e| e.facts.acts_early || (e.admission.is_some() && e.facts.unlimited.is_none()));
        before || own
    })
}

/// Routes between nodes, as the engine will find them.
struct Ways<'a> {
    nodes: HashMap<&'a str, u32>,
    router: Router,
    peer: Vec<u32>,
    found: HashMap<(u32, u32), Vec<usize>>,
}

impl<'a> Ways<'a> {
    fn of(spec: &'a Spec) -> Ways<'a> {
        let mut nodes: HashMap<&str, u32> = HashMap::new();
        for l in &spec.links {
            for name in [&l.from, &l.to] {
                let next = nodes.len() as u32;
                nodes.entry(name).or_insert(next);
            }
        }
        let leaving = spec.links.iter().enumerate().flat_map(|(i, link)| {
            let (from, to) = (nodes[link.from.as_str()], nodes[link.to.as_str()]);
            let arc = |port: u32, to: u32, delay: Duration| Arc { port, to, delay };
            [
                (NodeId(from), arc(2 * i as u32, to, link.forward.delay)),
                (NodeId(to), arc(2 * i as u32 + 1, from, link.reverse.delay)),
            ]
        });
        let router = Router::new(nodes.len(), leaving);
        let peer = (0..2 * spec.links.len() as u32).map(|p| p ^ 1).collect();
        Ways {
            nodes,
            router,
            peer,
            found: HashMap::new(),
        }
    }

    /// The ports of a way over given nodes.
    fn over(&mut self, from: &str, via: &[String], to: &str) -> Vec<usize> {
        nodes_over(from, via, to)
            .windows(2)
            .flat_map(|pair| self.between(pair[0], pair[1]))
            .collect()
    }

    /// The ports of equal paths that are not on this way, if packets take those.
    fn beside(&mut self, from: &str, to: &str, paths: Paths, way: &[usize]) -> Vec<usize> {
        let (Some(&from), Some(&to)) = (self.nodes.get(from), self.nodes.get(to)) else {
            return vec![];
        };
        if paths == Paths::First {
            return vec![];
        }
        let all = self.router.equal_ports(NodeId(from), NodeId(to), &self.peer);
        all.into_iter()
            .map(|p| p as usize)
            .filter(|p| !way.contains(p))
            .collect()
    }

    /// The ports from one node to another; empty if there is no route.
    fn between(&mut self, from: &str, to: &str) -> Vec<usize> {
        let (Some(&from), Some(&to)) = (self.nodes.get(from), self.nodes.get(to)) else {
            return vec![];
        };
        if let Some(way) = self.found.get(&(from, to)) {
            return way.clone();
        }
        let way = self
            .router
            .path(NodeId(from), NodeId(to), &self.peer)
            .unwrap_or_default();
        let way: Vec<usize> = way.iter().map(|a| a.port as usize).collect();
        self.found.insert((from, to), way.clone());
        way
    }
}

/// The share of packets that the impairments of a link affect, at least and at most.
pub fn struck(l: &Line) -> [f64; 2] {
    let share = |i: &Impairment| match i {
        Impairment::Random { probability, .. } => [*probability; 2],
        Impairment::EveryNth { n, .. } => [1.0 / *n as f64; 2],
        Impairment::Gilbert {
            to_bad,
            to_good,
            loss_good,
            loss_bad,
            ..
        } => {
            let bad = to_bad / (to_bad + to_good).max(1e-9);
            [1.5 * (bad * loss_bad + (1.0 - bad) * loss_good); 2]
        }
        Impairment::Netem(of) => of.struck(),
        // All or nothing, by the sizes of packets.
        Impairment::BlackHole { .. } => [0.0, 1.0],
        Impairment::ByIndex { .. }
        | Impairment::Duplicate { .. }
        | Impairment::Reorder { .. }
        | Impairment::SendDelay { .. } => [0.0; 2],
    };
    let shares = l.spec.impairments.iter().map(share);
    shares.fold([0.0; 2], |a, b| [a[0] + b[0], a[1] + b[1]])
}
