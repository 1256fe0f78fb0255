//! Adaptive token bucket conditioner: two rates, with bucket depths proportional to the sender's round trip.
//!
//! A TCP window is sent in bursts, one per round trip. A bucket of fixed depth marks the end of a long burst red
//! although the flow is within its rate over the round trip. So both buckets of a two rate marker hold the bytes that
//! arrive at their rates in one smoothed round trip of the client, and each colour forms one cluster in each round
//! trip.
//!
//! ```text
//! new round-trip time:   depth = max(min_depth, rate srtt)
//!                        the first one fills the bucket, a later one only takes what is too much
//! data packet:           as trtcm, blind;  with colours = 2: green if the committed bucket has its size, else red
//! ```
//!
//! From: Liu, "Adaptive REDn and adaptive token bucket conditioning for assured service", M.A.Sc. thesis, University of
//! British Columbia, 2001, chapter 4; the marker is RFC 2698's.
//!
//! State: a `Client` for each sender, or for each aggregate; reports of senders that have not arrived yet.
//!
//! Departures. In the thesis the conditioner is in the sender's host. On a link, the conditioner gets reports from
//! every sender whose packets pass, `report_delay` late, or it measures round trips from their time stamps
//! (`snoop.rs`). An aggregate uses the largest round trip of its flows. Pure acknowledgements pass unchanged. The
//! thesis names `retransmit_green`, `colours` and `slowstart_police` but gives no rules for them. Here a green
//! retransmission takes the tokens that are available, and the policer drops the first red packet of each slow start.
//!
//! Cost per packet: a few integer operations and, on links, a search among the clients.

mod client;
mod params;
mod snoop;

use crate::conditioner::{Conditioner, EdgeOut, Header, SenderState};
use crate::entry::{BuildContext, Entry, Facts, Stands};
use crate::meter::meters::Scope;
use crate::meter::params::{CLASS, PER};
use client::{Client, Profile};
use params::{PROBES, REPORT_DELAY, SLOWSTART_POLICE, SRTT_SOURCE, SrttSource};
use snoop::Snooper;
use std::collections::{BTreeMap, VecDeque};
use tailback_base::model::Probe;
use tailback_base::quantity::Refusal;
use tailback_base::{Colour, DropReason, Duration, FlowId, Packet, ProbeDef, Settings, Time};

pub use params::MODEL;

pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: build::<P>,
        facts: Facts {
            stands: Stands::WithSenders,
        },
    }
}

/// A sender's state on its way to a conditioner on another host.
struct OnItsWay {
    due: Time,
    flow: FlowId,
    state: SenderState,
}

/// The conditioner.
pub struct Atbtc {
    profile: Profile,
    scope: Scope,
    class: u8,
    report_delay: Duration,
    reports: VecDeque<OnItsWay>,
    /// One for each flow, if senders do not report.
    snooped: Option<BTreeMap<FlowId, Snooper>>,
    clients: Vec<Client>,
    /// The client of each key.
    of: BTreeMap<u64, usize>,
    /// The key of each flow that passes.
    keys: BTreeMap<FlowId, u64>,
    free: Vec<usize>,
    probes: Vec<ProbeDef>,
}

fn build<P: Packet + 'static>(s: &Settings, _: BuildContext<'_>) -> Result<Box<dyn Conditioner<P>>, Refusal> {
    let scope = s.get(&PER);
    let probes = PROBES.iter().map(|p| ProbeDef {
        per: scope.counts(),
        ..*p
    });
    Ok(Box::new(Atbtc {
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
        probes: probes.collect(),
    }))
}

/// Whether the conditioner measures round trips from passing packets.
fn snoops(s: &Settings) -> Result<bool, Refusal> {
    let snoops = s.get(&SRTT_SOURCE) == SrttSource::Snoop;
    if snoops && s.get(&SLOWSTART_POLICE) {
        let e = Refusal::new(
            "slowstart_police needs the sender's phase, and time stamps do not show it",
            "leave out one of slowstart_police = true and srtt_source = \"snoop\"",
        );
        return Err(e.within(SLOWSTART_POLICE.name));
    }
    Ok(snoops)
}

impl Atbtc {
    /// The client of a packet; a new one if the packet's key is new.
    fn client<P: Packet>(&mut self, p: &P, now: Time) -> &mut Client {
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
        &mut self.clients[i]
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

    /// Take what a passing packet shows about a flow's round trip.
    fn snoop(&mut self, flow: FlowId, now: Time, look: impl FnOnce(&mut Snooper)) {
        let Some(all) = &mut self.snooped else { return };
        let snooper = all.entry(flow).or_default();
        look(snooper);
        let known = self.keys.get(&flow).and_then(|key| self.of.get(key));
        if let (Some(srtt), Some(i)) = (snooper.round_trip(), known) {
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
            let known = self.keys.get(&r.flow).and_then(|key| self.of.get(key));
            if let Some(i) = known {
                // Depths depend on the time at which the report arrived, not on when the next packet comes.
                self.clients[*i].report(r.flow, r.state, r.due);
            }
        }
    }
}

impl<P: Packet> Conditioner<P> for Atbtc {
    fn forward(&mut self, mut p: P, seen: &Header, now: Time, out: &mut dyn EdgeOut<P>) {
        self.listen(now);
        if !p.is_data() {
            return out.send(p);
        }
        if let Some(stamps) = seen.stamps {
            self.snoop(p.flow(), now, |s| s.data(stamps, now));
        }
        let client = self.client(&p, now);
        let colour = client.colour(p.bytes(), p.is_retransmission(), now);
        if colour == Colour::Red && client.polices(p.flow()) {
            return out.dropped(p, DropReason::Profile);
        }
        p.set_dscp(colour.in_class(self.class));
        out.send(p);
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
            self.free.push(i);
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
