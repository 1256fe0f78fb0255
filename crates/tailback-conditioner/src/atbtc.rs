//! Adaptive token bucket conditioner: a meter with two rates, whose bucket depths are proportional to the sender's
//! round trip.
//!
//! A TCP window is sent in bursts, one per round trip. A bucket of fixed depth marks the end of a long burst red,
//! although the mean rate of the flow in the round trip is within its limit. So here the depth of each of the two
//! buckets is its rate times the smoothed round trip of the client. Each colour then forms one cluster in each round
//! trip.
//!
//! ```text
//! new round-trip time:   depth = max(min_depth, rate srtt)
//!                        the first one fills the bucket, a later one only takes what is too much
//! data packet:           as trtcm;  with colours = 2: green if the committed bucket has its size, else red
//! ```
//!
//! At the border of another domain, the conditioner can follow that of a host. With `mode = "aware"` it never gives a
//! packet a better colour than before, and with `srtt_source = "snoop"` the depths depend on round trips that it
//! measures itself.
//!
//! From: Liu, "Adaptive REDn and adaptive token bucket conditioning for assured service", M.A.Sc. thesis, University of
//! British Columbia, 2001, chapter 4. The marker is that of RFC 2698.
//!
//! State: a `Client` for each sender, or for each aggregate; reports of senders that are still on their way; packets
//! that wait (`hold.rs`).
//!
//! Departures. In the thesis the conditioner is in the sender's host. On a link, the conditioner gets reports from
//! every sender whose packets pass, after a delay of `report_delay`, or it measures round trips from the time stamps of
//! packets (`snoop.rs`). An aggregate uses the largest round trip of its flows. Pure acknowledgements pass unchanged.
//! The thesis names `retransmit_green`, `colours`, policing and shaping in slow start, and a border, but gives no rules
//! for these. Here a green retransmission takes the tokens that are available, and the policer drops the first red
//! packet of each slow start. The shaper delays red packets of slow starts, and drops one packet in each slow start
//! when it is full.
//!
//! Cost of a packet: a few integer operations and, on links, a search among the clients.

mod client;
mod hold;
mod params;
mod snoop;

use crate::conditioner::{Conditioner, EdgeOut, Header, SenderState};
use crate::entry::{BuildContext, Entry, Facts, Stands};
use crate::meter::meters::Scope;
use crate::meter::params::{CLASS, PER};
use client::{Client, Profile};
use hold::{Hold, HoldAnswer};
use params::{PARAMS, REPORT_DELAY, SLOWSTART_POLICE, SLOWSTART_SHAPE, SRTT_SOURCE, SrttSource};
use snoop::Snooper;
use std::collections::{BTreeMap, VecDeque};
use tailback_base::model::Probe;
use tailback_base::quantity::Refusal;
use tailback_base::{Colour, DropReason, Duration, FlowId, Model, Packet, ProbeDef, Settings, Time};

pub static MODEL: Model = Model {
    name: "atbtc",
    family: "conditioner",
    title: "Adaptive token bucket conditioner",
    summary: "A two-rate three-colour marker. The depth of each token bucket is its rate times the sender's smoothed \
              round-trip time, so that a window of TCP that arrives in one burst is within the rates.",
    source: "Liu 2001 chapter 4; RFC 2698",
    params: PARAMS,
    probes: PROBES,
};

const PROBES: &[ProbeDef] = &Probe::defs(&Client::READ);

pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: build::<P>,
        facts: Facts {
            stands: Stands::WithSenders,
        },
    }
}

/// A report of a sender's state that is on its way to a conditioner on another host.
struct OnItsWay {
    due: Time,
    flow: FlowId,
    state: SenderState,
}

/// The conditioner.
pub struct Atbtc<P> {
    profile: Profile,
    scope: Scope,
    class: u8,
    report_delay: Duration,
    reports: VecDeque<OnItsWay>,
    /// The measurement of the round trip of each flow, if senders do not report.
    snooped: Option<BTreeMap<FlowId, Snooper>>,
    clients: Vec<Client>,
    /// The client of each key.
    of: BTreeMap<u64, usize>,
    /// The key of each flow that passes.
    keys: BTreeMap<FlowId, u64>,
    free: Vec<usize>,
    hold: Hold<P>,
    probes: Vec<ProbeDef>,
}

fn build<P: Packet + 'static>(s: &Settings, _: BuildContext<'_>) -> Result<Box<dyn Conditioner<P>>, Refusal> {
    let scope = s.get(&PER);
    let probes = PROBES.iter().map(|p| ProbeDef {
        per: scope.counts(),
        ..*p
    });
    Ok(Box::new(Atbtc::<P> {
        profile: Profile::from_settings(s)?,
        scope,
        class: s.get(&CLASS) as u8,
        report_delay: s.get(&REPORT_DELAY),
        reports: VecDeque::new(),
        snooped: snoops(s)?.then(BTreeMap::new),
        clients: vec![],
        of: BTreeMap::new(),
        keys: BTreeMap::new(),
        free: vec![],
        hold: Hold::new(s.get(&SLOWSTART_SHAPE)),
        probes: probes.collect(),
    }))
}

/// Whether the conditioner measures round trips from passing packets.
fn snoops(s: &Settings) -> Result<bool, Refusal> {
    let snoops = s.get(&SRTT_SOURCE) == SrttSource::Snoop;
    let (polices, shapes) = (s.get(&SLOWSTART_POLICE), s.get(&SLOWSTART_SHAPE) > 0);
    let refuse = |name: &str, problem: String, remedy: String| Err(Refusal::new(problem, remedy).within(name));
    if polices && shapes {
        return refuse(
            SLOWSTART_SHAPE.name,
            "slowstart_shape and slowstart_police are both given: one holds the packet that the other drops".into(),
            "leave out one of them".into(),
        );
    }
    if snoops && (polices || shapes) {
        let name = if polices {
            SLOWSTART_POLICE.name
        } else {
            SLOWSTART_SHAPE.name
        };
        return refuse(
            name,
            format!("{name} needs the sender's phase, and time stamps do not show it"),
            format!("leave out one of {name} and srtt_source = \"snoop\""),
        );
    }
    Ok(snoops)
}

impl<P: Packet> Atbtc<P> {
    /// The number of the client of a packet. If the packet's key is new, a new client is made.
    fn client(&mut self, p: &P, now: Time) -> usize {
        let key = match self.scope {
            Scope::Port => 0,
            Scope::Each(field) => p.key(field),
        };
        let i = match self.of.get(&key) {
            Some(i) => *i,
            None => self.add(key),
        };
        if self.keys.insert(p.flow(), key).is_none() {
            self.clients[i].join(p.flow(), p.weight(), now);
        }
        i
    }

    /// Send waiting packets that may leave now.
    fn release(&mut self, client: usize, now: Time, out: &mut dyn EdgeOut<P>) {
        let class = self.class;
        let c = &mut self.clients[client];
        self.hold
            .release(client, c, now, &mut |c, p| send(class, c, p, now, out));
    }

    /// Delay a data packet of a client if it must wait. Returns the packet if it can leave now.
    fn shape(&mut self, i: usize, p: P, now: Time, out: &mut dyn EdgeOut<P>) -> Option<P> {
        self.release(i, now, out);
        let (c, came) = (&mut self.clients[i], came(&p));
        let leaves = !self.hold.holds(i) && c.is_within_peak(p.bytes(), now);
        if leaves || !c.in_slow_start(p.flow()) || !c.may_improve(came) {
            return Some(p);
        }
        match self.hold.take(i, c, p) {
            HoldAnswer::Waits => {}
            HoldAnswer::Dropped(p) => out.dropped(p, DropReason::Profile),
            HoldAnswer::Pushes(head) => send(self.class, c, head, now, out),
        }
        self.release(i, now, out);
        None
    }

    fn add(&mut self, key: u64) -> usize {
        let client = Client::new(&self.profile);
        let i = match self.free.pop() {
            Some(i) => {
                self.clients[i] = client;
                i
            }
            None => {
                self.clients.push(client);
                self.clients.len() - 1
            }
        };
        self.of.insert(key, i);
        i
    }

    /// Update the round trip of a flow with a passing packet.
    fn snoop(&mut self, flow: FlowId, now: Time, look: impl FnOnce(&mut Snooper)) {
        let Some(all) = &mut self.snooped else { return };
        let snooper = all.entry(flow).or_default();
        look(snooper);
        let client = self.keys.get(&flow).and_then(|key| self.of.get(key));
        if let (Some(srtt), Some(i)) = (snooper.round_trip(), client) {
            let state = SenderState {
                srtt,
                slow_start: false,
            };
            self.clients[*i].report(flow, state, now);
        }
    }

    /// Apply the reports that have arrived.
    fn listen(&mut self, now: Time) {
        while self.reports.front().is_some_and(|r| r.due <= now) {
            let Some(r) = self.reports.pop_front() else { return };
            let client = self.keys.get(&r.flow).and_then(|key| self.of.get(key));
            if let Some(i) = client {
                // Depths change at the time at which the report arrived, and not when the next packet arrives.
                self.clients[*i].report(r.flow, r.state, r.due);
            }
        }
    }
}

/// The colour of an arriving packet. A packet without a colour counts as green.
fn came<P: Packet>(p: &P) -> Colour {
    Colour::of(p.dscp()).unwrap_or(Colour::Green)
}

/// Send a packet of this client, or drop it if slow start is policed.
fn send<P: Packet>(class: u8, c: &mut Client, mut p: P, now: Time, out: &mut dyn EdgeOut<P>) {
    let colour = c.colour(p.bytes(), came(&p), p.is_retransmission(), now);
    if colour == Colour::Red && c.polices(p.flow()) {
        return out.dropped(p, DropReason::Profile);
    }
    p.set_dscp(colour.in_class(class));
    out.send(p);
}

impl<P: Packet> Conditioner<P> for Atbtc<P> {
    fn forward(&mut self, p: P, seen: &Header, now: Time, out: &mut dyn EdgeOut<P>) {
        self.listen(now);
        if !p.is_data() {
            return out.send(p);
        }
        if let Some(stamps) = seen.stamps {
            self.snoop(p.flow(), now, |s| s.data(stamps, now));
        }
        let i = self.client(&p, now);
        let p = match self.hold.is_used() {
            true => self.shape(i, p, now, out),
            false => Some(p),
        };
        if let Some(p) = p {
            send(self.class, &mut self.clients[i], p, now, out);
        }
    }

    fn reverse(&mut self, p: &P, seen: &Header, now: Time) {
        if let Some(stamps) = seen.stamps {
            self.snoop(p.flow(), now, |s| s.acknowledgement(stamps, now));
        }
    }

    fn sender(&mut self, flow: FlowId, state: SenderState, now: Time) {
        if self.snooped.is_some() {
            return;
        }
        let due = now + self.report_delay;
        self.reports.push_back(OnItsWay { due, flow, state });
        self.listen(now);
    }

    fn flow_joined(&mut self, p: &P, now: Time) {
        self.listen(now);
        self.client(p, now);
    }

    fn flow_left(&mut self, p: &P, now: Time) {
        self.listen(now);
        if let Some(all) = &mut self.snooped {
            all.remove(&p.flow());
        }
        let Some(key) = self.keys.remove(&p.flow()) else { return };
        let Some(i) = self.of.get(&key).copied() else { return };
        if self.clients[i].leave(p.flow(), now) {
            self.of.remove(&key);
            // The waiting packets of a flow that has ended leave at the next timer, with the buckets of its client.
            if !self.hold.holds(i) {
                self.free.push(i);
            }
        }
    }

    fn held(&self) -> u64 {
        self.hold.packets()
    }

    fn next_timer(&self) -> Option<Time> {
        self.hold.next()
    }

    fn on_timer(&mut self, now: Time, out: &mut dyn EdgeOut<P>) {
        self.listen(now);
        for i in self.hold.clients() {
            self.release(i, now, out);
        }
    }

    fn probes(&self) -> &[ProbeDef] {
        &self.probes
    }

    fn read(&self, probe: usize, index: u32, now: Time) -> f64 {
        self.clients
            .get(index as usize)
            .map_or(f64::NAN, |c| Probe::read(&Client::READ, c, probe, now))
    }
}

#[cfg(test)]
mod tests;
