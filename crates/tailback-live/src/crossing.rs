//! The box between two hosts, without its sockets and its clock: real packets go in with the instant at which they
//! came, and come out when the network of a scenario lets them.
//!
//! The network is the simulator itself, whose flows have their ends outside. It is served lazily: a call lets
//! everything happen that was due until then, at its own instants, so that a late call moves the emission of packets
//! and nothing else.
//!
//! State: the simulator; the bytes of the packets inside; the headers seen last of each flow.
//! A packet costs a look-up of its conversation, one of its bytes, and what the simulator spends on its hops.

use crate::conversations::Conversations;
use crate::recording::{Arrival, Exit, Recording, readable};
use crate::stream::Connection;
use crate::watch::{Event, Fate, Line, Shared, Stretch, Watch};
use crate::wire::{self, Headers};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Ecn, FlowId, Time};
use tailback_capture::pcapng::Frames;
use tailback_engine::build::hooks::{FlowEnds, Hooks};
use tailback_engine::build::{Prepared, prepare};
use tailback_engine::declare::impairments::Impairment;
use tailback_engine::results::Outcome;
use tailback_engine::run::read;
use tailback_engine::sim::injected::{Emitted, Injected};
use tailback_engine::spec::Spec;
use tailback_engine::wire::tap::Names;
use tailback_engine::wire::tap::Tap;

/// The two sides of the box: that of the flows' sources, and that of their destinations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    Near,
    Far,
}

impl Side {
    pub fn other(self) -> Side {
        match self {
            Side::Near => Side::Far,
            Side::Far => Side::Near,
        }
    }
}

/// A packet's bytes while it is inside.
struct Parcel {
    bytes: Vec<u8>,
    /// Where the headers of IP begin: an interface's frames have others before.
    ip: usize,
    headers: Headers,
}

/// The bytes of the packets inside, by instant of birth.
#[derive(Default)]
struct Parcels {
    held: HashMap<Time, Parcel>,
    /// Buffers to use again.
    spare: Vec<Vec<u8>>,
    /// A link may send a packet twice: then bytes stay a while after the first copy has left.
    twice: bool,
    left: std::collections::VecDeque<(Time, Time)>,
}

/// Beyond so many places where packets come out, each event is waited for: looking at all of them takes longer.
const MOST_LAST_PORTS: usize = 1024;

/// As much of a packet is stored in a capture: all headers.
const SHOWN: usize = 128;

/// How long the bytes of a packet stay that may come a second time.
const SECOND_COPY: Duration = Duration::from_millis(2_000);

impl Parcels {
    fn hold(&mut self, born: Time, packet: &[u8], ip: usize, headers: Headers) {
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(packet);
        self.held.insert(born, Parcel { bytes, ip, headers });
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

/// What has passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    pub entered: u64,
    pub emitted: u64,
    /// Marks that were set on packets that were emitted.
    pub emitted_marked: u64,
    /// Not IP, or of no flow: not forwarded.
    pub strangers: u64,
}

pub struct Crossing {
    spec: Spec,
    prepared: Prepared,
    conversations: Conversations,
    connections: Vec<Connection>,
    parcels: Rc<RefCell<Parcels>>,
    watch: Rc<RefCell<Watch>>,
    /// Birth of the last packet.
    newest: Time,
    /// Where packets come out, and the shortest delay there.
    last: (Vec<u32>, Duration),
    out: Vec<Emitted>,
    pub passed: Passed,
    pub recording: Option<Recording>,
}

/// Whether any link of the scenario sends packets twice.
fn duplicates(spec: &Spec) -> bool {
    let links = spec.links.iter().flat_map(|l| [&l.forward, &l.reverse]);
    let private = spec.flows.iter().flat_map(|g| [&g.access, &g.exit]).flatten();
    let all = links
        .flat_map(|d| &d.impairments)
        .chain(private.flat_map(|a| &a.impairments));
    all.into_iter().any(|i| matches!(i, Impairment::Duplicate { .. }))
}

impl Crossing {
    /// The network of a scenario, at time zero. The rate that its first link really serves is measured.
    ///
    /// # Errors
    /// As [`tailback_engine::run::run`].
    pub fn new(spec: &Spec, seed: u64, conversations: Conversations) -> Result<Crossing, Refusal> {
        let hooks = Hooks {
            ends: FlowEnds::Injected,
            ..Hooks::default()
        };
        let spec = &readable(spec);
        let mut prepared = prepare(spec, seed, &hooks)?;
        let line = spec.links.first().and_then(|l| {
            let port = prepared.built.port_names.find(&l.name)?;
            Some(Line {
                port,
                rate: l.forward.rate,
                delay: l.forward.delay,
            })
        });
        let watch = Watch::new(line);
        prepared.built.tap(Box::new(Shared(watch.clone())));
        let flows = prepared.built.flow_ids.len();
        let last = prepared.built.sim.last_ports();
        Ok(Crossing {
            spec: spec.clone(),
            prepared,
            conversations,
            connections: vec![Connection::default(); flows],
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

    /// When a flow starts, and when it stops producing data if that is before the end.
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

    /// A packet comes from one side, now, whose IP headers begin at `ip`. False if it belongs to no flow.
    pub fn enter(&mut self, now: Time, side: Side, packet: &[u8], ip: usize) -> bool {
        let found = wire::parse(&packet[ip..]).and_then(|h| Some((self.flow_of(now, side, &h)?, h)));
        let Some(((flow, backward, one), headers)) = found else {
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
        self.parcels.borrow_mut().hold(born, packet, ip, headers);
        self.passed.entered += 1;
        if let Some(r) = &mut self.recording {
            r.arrivals
                .push(Arrival::new(born, flow, backward, &segment, headers.dscp));
        }
        self.prepared.built.sim.inject(flow, backward, &segment, headers.dscp);
        self.settle();
        true
    }

    /// The flow, whether it is its way back, and whether the numbers in its headers are those of one connection.
    fn flow_of(&mut self, now: Time, side: Side, h: &Headers) -> Option<(FlowId, bool, bool)> {
        let backward = side == Side::Far;
        let tuple = if backward { h.tuple.turned() } else { h.tuple };
        let learned = match &mut self.conversations {
            Conversations::Declared(flows) => {
                let mut any = tuple;
                any.ports[0] = 0;
                let named = flows.get(&tuple).map(|f| (*f, backward, true));
                return named.or_else(|| flows.get(&any).map(|f| (*f, backward, false)));
            }
            Conversations::Learned(learned) => learned,
        };
        let found = learned.flow_of(tuple, h, now);
        let (flow, sim) = (found.flow, &mut self.prepared.built.sim);
        if let Some([source, destination]) = found.new {
            // For queues that go by hosts.
            sim.set_hosts(flow, source, destination);
            self.connections[flow.0 as usize] = Connection::default();
            if let Some(ends) = sim.ends_mut(flow) {
                ends.begin_again();
            }
        }
        Some((flow, backward, found.alone))
    }

    /// What the network said of packets since the last time: forget the bytes of those that were dropped.
    fn settle(&mut self) {
        let mut w = self.watch.borrow_mut();
        let mut parcels = self.parcels.borrow_mut();
        for e in w.events.drain(..) {
            if let Some(r) = &mut self.recording {
                r.events.push(e);
            }
            if let Event {
                fate: Fate::Dropped(..),
                born,
                ..
            } = e
            {
                parcels.leave(born, e.at);
            }
        }
    }

    /// When the box is to be looked after if no packet comes: when one comes out, or what happens inside can no longer
    /// wait. What an event inside lets go comes out only after the delay of the last line, so half of that is time
    /// enough.
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

    /// Let everything happen until `now`, and hand out what comes out: the side it leaves by, its bytes, when it was
    /// due. `write` answers when it was written.
    pub fn advance(&mut self, now: Time, write: &mut dyn FnMut(Side, &[u8], Time) -> Time) {
        self.prepared.built.sim.run_until(now.max(self.newest));
        self.settle();
        let mut out = std::mem::take(&mut self.out);
        self.prepared.built.sim.take_emitted(&mut out);
        for e in &out {
            self.emit(e, write);
        }
        self.out = out;
    }

    fn emit(&mut self, e: &Emitted, write: &mut dyn FnMut(Side, &[u8], Time) -> Time) {
        let mut parcels = self.parcels.borrow_mut();
        let Some(p) = parcels.held.get_mut(&e.born) else {
            return;
        };
        if (p.headers.ecn, p.headers.dscp) != (e.ecn, e.dscp) {
            wire::set_class(&mut p.bytes[p.ip..], e.dscp, e.ecn);
            self.passed.emitted_marked += u64::from(e.ecn == Ecn::Ce && p.headers.ecn != Ecn::Ce);
            (p.headers.ecn, p.headers.dscp) = (e.ecn, e.dscp);
        }
        let side = if e.backward { Side::Near } else { Side::Far };
        let at = write(side, &p.bytes, e.at);
        self.passed.emitted += 1;
        self.watch.borrow_mut().written(e.born, at.since(e.at));
        if let Some(r) = &mut self.recording {
            r.exits.push(Exit {
                born: e.born,
                at: e.at,
                ecn: e.ecn,
            });
        }
        parcels.leave(e.born, e.at);
    }

    /// Packets inside.
    pub fn inside(&self) -> usize {
        self.parcels.borrow().held.len()
    }

    /// The longest time the first link's line was not idle, as it was really served.
    pub fn longest_stretch(&self) -> Option<Stretch> {
        self.watch.borrow().longest()
    }

    /// What is known of the ends of a flow beside their packets.
    pub fn ends_mut(&mut self, flow: FlowId) -> Option<&mut Injected> {
        self.prepared.built.sim.ends_mut(flow)
    }

    /// Add a series that was recorded outside: what a sender's kernel told.
    pub fn add_series(&mut self, what: &str, probe: &str, unit: &'static str, points: &[(Time, f64)]) {
        self.prepared.built.sim.add_series(what, probe, unit, points);
    }

    /// The tables of the run until `to`.
    ///
    /// # Errors
    /// A discipline broke its contract.
    pub fn finish(mut self, to: Time) -> Result<(Outcome, Option<Recording>), Refusal> {
        self.prepared.built.sim.run_until(to);
        self.settle();
        let recording = self.recording.take();
        let outcome = read(&self.spec, &Hooks::default(), self.prepared)?;
        Ok((outcome, recording))
    }
}
