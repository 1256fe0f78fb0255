//! Flow RED: RED with a small record for every flow that has packets in the queue.
//!
//! RED signals all flows with the same probability, so a flow that does not respond keeps its share, and a flow that
//! has only one packet in the queue may lose this packet. FRED counts the packets of each active flow in the queue. A
//! flow with few packets is not signalled. A flow above the fair share may be signalled. The packets of a flow above a
//! cap are dropped. A flow that reached the cap twice (two strikes) is limited to the fair share until it has left the
//! queue. Measure: the filtered backlog, and the backlog of each flow. Function: RED's ramp above the fair share, and
//! caps. Action: a drop (early, forced, or percap), or with `ecn` a mark instead of the random drop.
//!
//! ```text
//! fair = max(1, average / active flows)
//! a flow that holds min_threshold or more, or more than 2 fair while average >= max_threshold,
//!     or fair or more after two strikes:                       a strike, dropped
//! min_threshold <= average < max_threshold, and the flow holds max(minq, fair) or more:   RED
//! average >= max_threshold:                                    dropped
//! ```
//!
//! From: Lin and Morris, "Dynamics of random early detection", SIGCOMM 1997, section 5 and its appendix.
//!
//! State: the average; for each flow in the queue its backlog and its strikes, deleted when its last packet leaves; the
//! count since the last signal. The average takes a sample when a packet is stored and when a packet leaves, but not
//! when a packet is dropped.
//!
//! Departures. If the buffer is in bytes, the backlogs of flows are in bytes too, and a number of packets in the rules
//! is a multiple of `mean_packet`. If FRED runs before another discipline, that discipline may evict a packet. An
//! evicted packet is subtracted from the backlog of its flow like a served one, but the average takes no sample.
//!
//! Cost of a packet: a lookup at arrival and one at departure, with a filter step each; memory for the flows in the
//! queue.

use crate::aqm::average::Average;
use crate::aqm::red::params::{MEAN_PACKET, PROBABILITY, WEIGHT};
use crate::aqm::red::{AVERAGE, BASE, base, spread};
use crate::contract::admission::{Admission, Congestion, Decision, Waiting};
use crate::contract::build_context::BuildContext;
use crate::contract::capacity;
use crate::contract::discipline::{Backlog, DropReason, Line, MarkReason, Out, ProbeId, signal, unchanged};
use crate::contract::view::Exit;
use crate::entry::{Configured, Entry, Facts};
use crate::params::{self, BEFORE, BUFFER, ECN, FLOW_KEY};
use std::collections::HashMap;
use tailback_base::model::Probe;
use tailback_base::quantity::Refusal;
use tailback_base::{Key, KeyField, Kind, Level, Model, Packet, ProbeDef, Settings, Size, params};

const SOURCE: &str = "Lin and Morris 1997";

/// Values that can be recorded.
const READ: [Probe<Fred>; 3] = [
    Probe::of(AVERAGE, |q, _| q.average.value()),
    Probe::of(BASE, |q, _| q.probability),
    Probe::new(
        "active",
        "flows",
        "Flows with packets in the queue, the only flows with state in FRED",
        |q, _| q.flows.len() as f64,
    ),
];

pub static MODEL: Model = Model {
    name: "fred",
    family: "queue",
    title: "Flow RED",
    summary: "RED that counts the packets of every flow in the queue. A flow with few packets is safe; a flow with \
              many packets is not. Measure: the filtered backlog, and each flow's own. Function: RED's ramp above the \
              fair share, a cap on each flow, and a count of how often a flow exceeded the cap. Action: drop (early, \
              percap, forced); with ecn, mark in place of an early drop.",
    source: SOURCE,
    params: PARAMS,
    probes: &Probe::defs(&READ),
};

params! {
    const PARAMS;

    BUFFER;
    MIN_THRESHOLD: Level = Key::new("min_threshold", Kind::Level, "25%",
        "Average backlog from which flows above their share are signalled; also the most that one flow may have in the \
         queue. The paper uses the packets that are sent in a round trip if these are fewer.", SOURCE);
    MAX_THRESHOLD: Option<Level> = Key::new("max_threshold", Kind::Level, "none",
        "Average backlog at which everything is dropped. Default: twice min_threshold.", SOURCE);
    WEIGHT;
    MAX_PROBABILITY: f64 = Key::new("max_probability", PROBABILITY, "0.02",
        "Signal probability as the average reaches max_threshold.", SOURCE);
    MINQ: u64 = Key::new("minq", Kind::Count { min: 1, max: 1_000_000 }, "2",
        "A flow with fewer packets than this is not signalled below max_threshold; 2 for small buffers, otherwise 4.",
        SOURCE);
    MANY_FLOWS: bool = Key::new("many_flows", Kind::Bool, "false",
        "Let each flow have two packets while the average is above max_threshold. This is made for more flows than \
         the buffer has room for.", "Lin and Morris 1997 section 7");
    FLOW_KEY;
    ECN;
    MEAN_PACKET;
    BEFORE;
}

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry::aqm::<Fred>(&MODEL, Facts::WITH_ECN)
}

impl Configured for Fred {
    /// # Errors
    /// Thresholds that contradict each other or the buffer's unit.
    fn configured(s: &Settings, context: BuildContext) -> Result<Self, Refusal> {
        let (limit, mean_packet) = (s.get(&BUFFER), s.get(&MEAN_PACKET));
        let min = capacity::threshold(s, &MIN_THRESHOLD, limit, mean_packet)?;
        let max = capacity::threshold_if_given(s, &MAX_THRESHOLD, limit, mean_packet)?.unwrap_or(2.0 * min);
        if min > max {
            return Err(Refusal::new(
                format!("min_threshold ({min}) is above max_threshold ({max})"),
                "give a max_threshold of at least min_threshold; twice that is advised",
            ));
        }
        let packet = capacity::packet(limit, mean_packet);
        Ok(Fred {
            limit,
            packet,
            min,
            max,
            max_probability: s.get(&MAX_PROBABILITY),
            minq: s.get(&MINQ) as f64 * packet,
            many_flows: s.get(&MANY_FLOWS),
            key: s.get(&FLOW_KEY),
            ecn: params::ecn(s),
            average: Average::new(0.0, s.get(&WEIGHT), mean_packet),
            since: None,
            probability: 0.0,
            flows: HashMap::new(),
            context,
        })
    }
}

/// The record of a flow in the queue.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    held: Backlog,
    strikes: u32,
}

/// FRED's decision. All levels are in the unit of the buffer.
#[derive(Clone, Debug)]
pub struct Fred {
    limit: Size,
    /// The amount that stands for one packet in the rules: 1, or `mean_packet` bytes.
    packet: f64,
    min: f64,
    max: f64,
    max_probability: f64,
    minq: f64,
    many_flows: bool,
    key: KeyField,
    ecn: bool,
    average: Average,
    /// Arrivals since the last signal; `None` while the average is below `min`.
    since: Option<f64>,
    probability: f64,
    /// The flows in the queue. The map is never iterated, so its order does not matter.
    flows: HashMap<u64, Account>,
    /// The context in which the discipline was built, with its random stream.
    context: BuildContext,
}

impl Fred {
    /// Whether a flow with this backlog may store no more packets.
    fn caps(&self, holds: f64, strikes: u32, fair: f64) -> bool {
        let full = self.average.value() >= self.max;
        let most_held = match self.many_flows && full {
            true => 2.0 * self.packet,
            false => self.min,
        };
        holds >= most_held || (full && holds > 2.0 * fair) || (holds >= fair && strikes > 1)
    }

    fn fair(&self) -> f64 {
        let active = self.flows.len().max(1) as f64;
        (self.average.value() / active).max(self.packet)
    }
}

impl<P: Packet> Admission<P> for Fred {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, line: &Line, out: &mut dyn Out<P>) -> Decision {
        let (key, q) = (p.key(self.key), queue.level());
        if q == 0.0 {
            self.average.wake(line);
        }
        let account = self.flows.get(&key).copied().unwrap_or_default();
        let (holds, fair) = (capacity::level(self.limit, account.held) as f64, self.fair());
        let average = self.average.value();
        self.probability = base(average, self.min, self.max, self.max_probability, false);
        if self.caps(holds, account.strikes, fair) {
            if let Some(account) = self.flows.get_mut(&key) {
                account.strikes = account.strikes.saturating_add(1);
            }
            return Decision::Drop(DropReason::Percap);
        }
        if average >= self.max {
            self.since = Some(0.0);
            return Decision::Drop(DropReason::Forced);
        }
        self.since = match average < self.min {
            true => None,
            false => Some(self.since.map_or(0.0, |n| n + 1.0)),
        };
        if let Some(n) = self.since
            && holds >= fair.max(self.minq)
            && self.context.stream.chance(spread(self.probability, n, false))
        {
            self.since = Some(0.0);
            if !signal(p, self.ecn, MarkReason::Early, out) {
                return Decision::Drop(DropReason::Early);
            }
        }
        if !queue.fits(p.bytes()) {
            return Decision::Drop(DropReason::Overflow);
        }
        let account = self.flows.entry(key).or_default();
        account.held.packets += 1;
        account.held.bytes += u64::from(p.bytes());
        self.average.sample(q);
        Decision::Store
    }

    fn left(&mut self, p: &P, how: Exit, rest: Backlog, _line: &Line) {
        if how == Exit::Served {
            self.average.sample(capacity::level(self.limit, rest) as f64);
        }
        let key = p.key(self.key);
        if let Some(account) = self.flows.get_mut(&key) {
            account.held.packets -= 1;
            account.held.bytes -= u64::from(p.bytes());
            if account.held.packets == 0 {
                self.flows.remove(&key);
            }
        }
    }

    fn idle(&mut self, line: &Line) {
        self.average.idle(line.now);
    }

    fn congestion(&self) -> Option<Congestion> {
        Some(Congestion {
            average: self.average.value(),
            threshold: self.min,
        })
    }

    fn probes(&self) -> &[ProbeDef] {
        MODEL.probes
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        Probe::read(&READ, self, usize::from(probe.0), index)
    }

    /// The average and the records of the flows stay.
    fn reconfigure(&mut self, s: &Settings) -> Result<(), Refusal> {
        let mut new = Fred::configured(s, self.context.clone())?;
        // The records belong to flows by the old classification key.
        unchanged(FLOW_KEY.name, &self.key, &new.key)?;
        new.average.follow(&self.average, WEIGHT.name)?;
        (new.since, new.probability) = (self.since, self.probability);
        new.flows = std::mem::take(&mut self.flows);
        *self = new;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
