//! The box between two hosts, without sockets and clock: real packets enter with their arrival time, and leave when
//! the network of a scenario delivers them.
//!
//! The network is the simulator itself; the ends of its flows are outside. It is advanced on demand: a call processes
//! every event that was due by then, each at its own time. A late call therefore delays only the emission of packets.
//!
//! State: the simulator; the bytes of the packets inside; the last headers of each flow. A packet costs a look-up of
//! its conversation, one of its bytes, and the simulator's cost of its hops.

use crate::conversations::Conversations;
use crate::recording::{ArrivedPacket, Exit, Recording, readable};
use crate::stream::Connection;
use crate::watch::{Event, Line, PacketFate, Stretch, Watch, WatchTap};
use crate::wire::{self, Headers, Tuple};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Ecn, FlowId, Time};
use tailback_capture::pcapng::Frames;
use tailback_sim::build::hooks::{FlowEnds, Hooks};
use tailback_sim::build::{Prepared, prepare};
use tailback_sim::declare::impairments::Impairment;
use tailback_sim::results::Outcome;
use tailback_sim::run::read;
use tailback_sim::sim::injected::{Emitted, Injected};
use tailback_sim::spec::Spec;
use tailback_sim::wire::tap::Names;
use tailback_sim::wire::tap::Tap;
use tailback_transport::Segment;

/// The two sides of the box. By default, sources are on the near side and destinations on the far side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BoxSide {
    Near,
    Far,
}

impl BoxSide {
    pub fn other(self) -> BoxSide {
        match self {
            BoxSide::Near => BoxSide::Far,
            BoxSide::Far => BoxSide::Near,
        }
    }
}

/// A packet's bytes while it is inside.
struct Parcel {
    bytes: Vec<u8>,
    /// The device by which it leaves; it came by the other device.
    to: BoxSide,
    /// The position of the IP header; frames of an interface have other headers before it.
    ip: usize,
    headers: Headers,
}

/// The bytes of the packets inside, by their time of entry.
#[derive(Default)]
struct Parcels {
    held: HashMap<Time, Parcel>,
    /// Buffers to use again.
    spare: Vec<Vec<u8>>,
    /// Whether a link may duplicate packets. Then the bytes are kept for a while after the first copy has left.
    twice: bool,
    left: std::collections::VecDeque<(Time, Time)>,
}

/// If packets can come out at more places than this, every event is waited for, because searching all of them takes
/// longer.
const MOST_LAST_PORTS: usize = 1024;

/// The number of bytes of a packet stored in a capture: all headers.
const SHOWN: usize = 128;

/// The time for which the bytes of a packet are kept if a second copy may come.
const SECOND_COPY: Duration = Duration::from_millis(2_000);

impl Parcels {
    fn hold(&mut self, born: Time, to: BoxSide, (packet, ip): (&[u8], usize), headers: Headers) {
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(packet);
        let parcel = Parcel { bytes, to, ip, headers };
        self.held.insert(born, parcel);
    }

    fn forget(&mut self, born: Time) {
        if let Some(p) = self.held.remove(&born)
            && self.spare.len() < 4096
        {
            self.spare.push(p.bytes);
        }
    }

    /// One copy of a packet has left.
    fn leave(&mut self, born: Time, now: Time) {
        if !self.twice {
            return self.forget(born);
        }
        self.left.push_back((now + SECOND_COPY, born));
        while let Some((until, born)) = self.left.front().copied()
            && until <= now
        {
            self.left.pop_front();
            self.forget(born);
        }
    }
}

/// The counts of the packets that have passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    pub entered: u64,
    pub emitted: u64,
    /// Marks that were set on packets that were emitted.
    pub emitted_marked: u64,
    /// Bytes of IP packets that were emitted, to the near and the far side.
    pub emitted_bytes: [u64; 2],
    /// Packets that are not IP, or belong to no flow; they are not forwarded.
    pub strangers: u64,
}

pub struct Crossing {
    spec: Spec,
    prepared: Prepared,
    conversations: Conversations,
    connections: Vec<Connection>,
    /// Whether each flow has datagrams with numbers.
    numbered: Vec<bool>,
    parcels: Rc<RefCell<Parcels>>,
    watch: Rc<RefCell<Watch>>,
    /// Entry time of the last packet.
    newest: Time,
    /// The ports where packets come out, and the shortest delay there.
    last: (Vec<u32>, Duration),
    out: Vec<Emitted>,
    pub passed: Passed,
    pub recording: Option<Recording>,
}

/// Whether any link of the scenario duplicates packets.
fn duplicates(spec: &Spec) -> bool {
    let links = spec.links.iter().flat_map(|l| [&l.forward, &l.reverse]);
    let private = spec.flows.iter().flat_map(|g| [&g.access, &g.exit]).flatten();
    let all = links
        .flat_map(|d| &d.impairments)
        .chain(private.flat_map(|a| &a.impairments));
    all.into_iter().any(|i: &Impairment| i.copied() > 0.0)
}

impl Crossing {
    /// The network of a scenario, at time zero. The real service rate of its first link is measured.
    ///
    /// # Errors
    /// The errors are those of [`tailback_sim::run::run`].
    pub fn new(spec: &Spec, seed: u64, conversations: Conversations) -> Result<Crossing, Refusal> {
        let hooks = Hooks {
            ends: FlowEnds::Injected,
            ..Hooks::default()
        };
        let spec = &readable(spec);
        let mut prepared = prepare(spec, seed, &hooks)?;
        let line = spec.links.first().and_then(|link| {
            let port = prepared.built.port_names.find(&link.name)?;
            Some(Line {
                port,
                rate: link.forward.rate,
                delay: link.forward.delay,
            })
        });
        let watch = Watch::new(line);
        prepared.built.tap(Box::new(WatchTap(watch.clone())));
        let flows = prepared.built.flow_ids.len();
        let last = prepared.built.sim.last_ports();
        Ok(Crossing {
            spec: spec.clone(),
            prepared,
            conversations,
            connections: vec![Connection::default(); flows],
            numbered: vec![false; flows],
            parcels: Rc::new(RefCell::new(Parcels {
                twice: duplicates(spec),
                ..Parcels::default()
            })),
            watch,
            newest: Time::ZERO,
            last,
            out: vec![],
            passed: Passed::default(),
            recording: None,
        })
    }

    /// The flows and ports by name.
    pub fn names(&self) -> Names {
        self.prepared.built.names()
    }

    /// For each flow that had a recorded conversation: the first conversation, as its source sends, and the number of
    /// conversations.
    pub fn had(&self) -> Vec<(FlowId, Tuple, u64)> {
        match &self.conversations {
            Conversations::Declared(_) => vec![],
            Conversations::Learned(learned) => learned.had().collect(),
        }
    }

    /// The start of a flow, and the time at which it stops producing data if that is before the end.
    pub fn schedule(&self, flow: FlowId) -> (Time, Option<Time>) {
        self.prepared.built.sim.schedule(flow)
    }

    /// Let a capture see the packets with their bytes.
    pub fn capture(&mut self, make: impl FnOnce(&Names, Frames) -> Box<dyn Tap>) {
        let parcels = self.parcels.clone();
        let frames: Frames = Box::new(move |id| {
            let parcels = parcels.borrow();
            let parcel = parcels.held.get(&id.born)?;
            let bytes = &parcel.bytes[parcel.ip..];
            Some((bytes[..bytes.len().min(SHOWN)].to_vec(), bytes.len() as u32))
        });
        let tap = make(&self.names(), frames);
        self.watch.borrow_mut().show_also(tap);
    }

    /// A packet arrives from one side now; its IP header begins at `ip`. Returns false if it belongs to no flow.
    pub fn enter(&mut self, now: Time, side: BoxSide, packet: &[u8], ip: usize) -> bool {
        let parsed = wire::parse(&packet[ip..]).and_then(|h| Some((self.flow_of(now, side, &h)?, h)));
        let Some(((flow, backward, one), headers)) = parsed else {
            self.passed.strangers += 1;
            return false;
        };
        let born = now.max(self.newest + Duration(1));
        self.newest = born;
        self.prepared.built.sim.run_until(born);
        let (connection, bytes) = (&mut self.connections[flow.0 as usize], (packet.len() - ip) as u32);
        let segment = match one {
            true => connection.segment(backward, &headers, bytes),
            false => connection.datagram(backward, &headers, bytes),
        };
        let packet_number = self.numbered[flow.0 as usize].then(|| wire::number(packet, &headers));
        let segment = Segment {
            seq: packet_number.flatten().unwrap_or(segment.seq),
            ..segment
        };
        self.parcels
            .borrow_mut()
            .hold(born, side.other(), (packet, ip), headers);
        self.passed.entered += 1;
        if let Some(r) = &mut self.recording {
            r.arrivals
                .push(ArrivedPacket::new(born, flow, backward, &segment, headers.dscp));
        }
        self.prepared.built.sim.inject(flow, backward, &segment, headers.dscp);
        self.settle();
        true
    }

    /// Datagrams of this flow, and their answers, have a number at the beginning of their payload.
    pub fn expect_numbers(&mut self, flow: FlowId) {
        self.numbered[flow.0 as usize] = true;
    }

    /// The ends of this flow measure its datagrams themselves; see [`Injected::measured`].
    pub fn expect_measures(&mut self, flow: FlowId) {
        if let Some(ends) = self.ends_mut(flow) {
            ends.measured = true;
        }
    }

    /// The measurements at the ends of a flow of datagrams.
    pub fn measures(&mut self, flow: FlowId, there: &[(u64, Duration)], back: &[(u64, Duration)]) {
        self.prepared.built.sim.measures(flow, there, back);
    }

    /// The flow, whether the packet is on the flow's way back, and whether its sequence numbers are those of one
    /// connection.
    fn flow_of(&mut self, now: Time, side: BoxSide, h: &Headers) -> Option<(FlowId, bool, bool)> {
        let backward = side == BoxSide::Far;
        let tuple = if backward { h.tuple.turned() } else { h.tuple };
        let learned = match &mut self.conversations {
            // Sources may be on either side.
            Conversations::Declared(flows) => {
                let ways = [(tuple, backward), (tuple.turned(), !backward)];
                return ways.into_iter().find_map(|(tuple, backward)| {
                    let mut any = tuple;
                    any.ports[0] = 0;
                    let named = flows.get(&tuple).map(|f| (*f, backward, true));
                    named.or_else(|| flows.get(&any).map(|f| (*f, backward, false)))
                });
            }
            Conversations::Learned(learned) => learned,
        };
        let learned_flow = learned.flow_of(tuple, h, now);
        let (flow, sim) = (learned_flow.flow, &mut self.prepared.built.sim);
        if let Some([source, destination]) = learned_flow.new {
            // Queues that classify by host need these numbers.
            sim.set_hosts(flow, source, destination);
            self.connections[flow.0 as usize] = Connection::default();
            if let Some(ends) = sim.ends_mut(flow) {
                ends.begin_again();
            }
        }
        Some((flow, backward, learned_flow.alone))
    }

    /// Take the network's reports since the last call, and release the bytes of dropped packets.
    fn settle(&mut self) {
        let mut w = self.watch.borrow_mut();
        let mut parcels = self.parcels.borrow_mut();
        for e in w.events.drain(..) {
            if let Some(r) = &mut self.recording {
                r.events.push(e);
            }
            if let Event {
                fate: PacketFate::Dropped(..),
                born,
                ..
            } = e
            {
                parcels.leave(born, e.at);
            }
        }
    }

    /// The time at which the box must be called again if no packet arrives, because a packet comes out or an event
    /// inside can wait no longer. A packet released by an event comes out only after the delay of the last line, so
    /// half of that delay is soon enough.
    pub fn due(&mut self) -> Option<Time> {
        let sim = &mut self.prepared.built.sim;
        let inside = sim.next_event()?;
        let (ports, delay) = &self.last;
        if ports.len() > MOST_LAST_PORTS {
            return Some(inside);
        }
        let inside = inside + Duration(delay.0 / 2);
        Some(sim.next_out(ports).map_or(inside, |out| out.min(inside)))
    }

    /// Process every event until `now`, and pass on each packet that comes out: its side, its bytes, and when it was
    /// due. `write` returns the time at which it was written.
    pub fn advance(&mut self, now: Time, write: &mut dyn FnMut(BoxSide, &[u8], Time) -> Time) {
        self.prepared.built.sim.run_until(now.max(self.newest));
        self.settle();
        let mut out = std::mem::take(&mut self.out);
        self.prepared.built.sim.take_emitted(&mut out);
        for e in &out {
            self.emit(e, write);
        }
        self.out = out;
    }

    fn emit(&mut self, e: &Emitted, write: &mut dyn FnMut(BoxSide, &[u8], Time) -> Time) {
        let mut parcels = self.parcels.borrow_mut();
        let Some(p) = parcels.held.get_mut(&e.born) else {
            return;
        };
        if (p.headers.ecn, p.headers.dscp) != (e.ecn, e.dscp) {
            wire::set_class(&mut p.bytes[p.ip..], e.dscp, e.ecn);
            self.passed.emitted_marked += u64::from(e.ecn == Ecn::Ce && p.headers.ecn != Ecn::Ce);
            (p.headers.ecn, p.headers.dscp) = (e.ecn, e.dscp);
        }
        let written_at = write(p.to, &p.bytes, e.at);
        self.passed.emitted += 1;
        self.passed.emitted_bytes[p.to as usize] += (p.bytes.len() - p.ip) as u64;
        self.watch.borrow_mut().written(e.born, written_at.since(e.at));
        if let Some(r) = &mut self.recording {
            r.exits.push(Exit {
                born: e.born,
                at: e.at,
                ecn: e.ecn,
            });
        }
        parcels.leave(e.born, e.at);
    }

    /// The number of packets inside.
    pub fn inside(&self) -> usize {
        self.parcels.borrow().held.len()
    }

    /// The longest time in which the first link's line was not idle, with its real service rate.
    pub fn longest_stretch(&self) -> Option<Stretch> {
        self.watch.borrow().longest()
    }

    /// The data about the ends of a flow, in addition to their packets.
    pub fn ends_mut(&mut self, flow: FlowId) -> Option<&mut Injected> {
        self.prepared.built.sim.ends_mut(flow)
    }

    /// Add a series that was recorded outside, such as one from a sender's kernel.
    pub fn add_series(&mut self, what: &str, probe: &str, unit: &'static str, points: &[(Time, f64)]) {
        self.prepared.built.sim.add_series(what, probe, unit, points);
    }

    /// The tables of the run until `to`.
    ///
    /// # Errors
    /// A discipline violated its contract.
    pub fn finish(mut self, to: Time) -> Result<(Outcome, Option<Recording>), Refusal> {
        self.prepared.built.sim.run_until(to);
        self.settle();
        let recording = self.recording.take();
        let outcome = read(&self.spec, &Hooks::default(), self.prepared)?;
        Ok((outcome, recording))
    }
}
