//! Stabilised RED: estimates the number of flows from random matches, and signals as often as this number requires.
//!
//! The signal probability that stabilises the queue depends on the number of flows that share it. SRED counts flows
//! without a table of flows. It keeps a list of recently seen packets ("zombies") and compares each arrival with a
//! random zombie. A hit means that both belong to the same flow. So the filtered frequency of hits P is the sum of the
//! squared shares of the flows, and 1/P is the number of flows if their shares are equal. Measure: the backlog, in
//! three steps, and P. Function: the rules below. Action: a drop (early), or with `ecn` a mark.
//!
//! ```text
//! list not full:  add (flow, no hits);  hit = 0
//! else:           z = drawn from the list;  hit = z is of this flow
//!                 hit: count it;  no hit: with probability overwrite, z = (flow, no hits)
//! P += (overwrite / list) (hit - P)
//! ps = max_probability from a third of the buffer on, a quarter of it from a sixth on, else 0
//! simple:  ps min(1, 1 / (256 P)^2)         full:  the same times (1 + hit / P)         detector:  nothing
//! ```
//!
//! As a detector SRED does not signal but counts the hits of each flow. An arrival of a flow with a share s of the
//! arrivals is a hit with probability s. So the share of this flow in the hits is s^2 divided by the sum of all
//! squares, and the share of a heavy flow is large.
//!
//! From: Ott, Lakshman, Wong, "SRED: stabilized RED", INFOCOM 1999, sections II to IV, with both forms of the paper.
//!
//! State: the list; for the detector, a count for each flow; P, initially 1/256; with `use_average` an average like
//! RED's.
//!
//! Departures. The paper stores a time with each zombie, but no form of SRED uses it. P begins at 1/256, so that the
//! signal probability is not too low while the list is empty. The list is updated even if the packet is dropped.
//! `use_average` uses RED's average instead of the backlog.
//!
//! Cost of a packet: a random draw from the list, one for the overwriting and one for the signal; O(1).

use crate::aqm::average::Average;
use crate::aqm::red::params::{MEAN_PACKET, PROBABILITY, WEIGHT};
use crate::contract::admission::{Admission, Decision, Waiting};
use crate::contract::build_context::BuildContext;
use crate::contract::discipline::{DropReason, Line, MarkReason, Out, ProbeId, signal, unchanged};
use crate::entry::{Configured, Entry, Facts};
use crate::params::{self, BEFORE, BUFFER, COUNT_IN_SERVICE, ECN, FLOW_KEY};
use tailback_base::model::Probe;
use tailback_base::quantity::Refusal;
use tailback_base::work::counted;
use tailback_base::{FlowId, Key, KeyField, Kind, Model, Packet, ProbeDef, Settings, Size, params};

const SOURCE: &str = "Ott, Lakshman, Wong 1999";

tailback_base::choice! {
    /// The form of SRED, which determines which packets are signalled.
    enum Form {
        Full = "full",
        Simple = "simple",
        Detector = "detector",
    }
}

/// Values that can be recorded.
const READ: [Probe<Sred>; 4] = [
    Probe::new(
        "hit_frequency",
        "",
        "P, the frequency with which an arrival meets its own flow. With equal flows, P is one over their number",
        |q, _| q.hits,
    ),
    Probe::new("probability", "", "Signal probability of the last arrival", |q, _| {
        q.probability
    }),
    Probe::new(
        "most_hits",
        "packets",
        "Hits of the zombie with the most hits, which indicates a flow that sends more than its share",
        |q, _| counted(&q.zombies).map(|z| z.hits).max().map_or(0.0, f64::from),
    ),
    Probe::new(
        "flow_hits",
        "packets",
        "Hits of a flow since the start, only with form = \"detector\"",
        |q: &Sred, i| q.by_flow.get(i as usize).map_or(f64::NAN, |n| f64::from(*n)),
    )
    .per("flow"),
];

pub static MODEL: Model = Model {
    name: "sred",
    family: "queue",
    title: "Stabilised RED",
    summary: "The signal probability depends on the length of the queue and on an estimate of the number of flows. \
              Measure: the backlog in three steps, and how often an arrival meets its own flow in a list of earlier \
              arrivals. Function: the product of both. Action: drop (early); with ecn, mark ECN-capable packets \
              instead.",
    source: SOURCE,
    params: PARAMS,
    probes: &Probe::defs(&READ),
};

params! {
    const PARAMS;

    BUFFER;
    FORM: Form = Key::choice("form", "full",
        "With simple, all flows are signalled alike. With full, a flow is signalled more if it had more hits. With \
         detector, no flow is signalled and the hits of each flow are counted, which needs no buffer.",
        "Ott, Lakshman, Wong 1999 sections III and IV (the list)");
    LIST: u64 = Key::new("list", Kind::Count { min: 1, max: 10_000_000 }, "1000",
        "How many zombies, which are records of earlier arrivals, the list holds (M).", SOURCE);
    OVERWRITE: f64 = Key::new("overwrite", PROBABILITY, "0.25",
        "Probability that an arrival without a hit takes the place of the zombie it met. This probability divided by \
         `list` is the weight of a new sample in the hit frequency P.", SOURCE);
    MAX_PROBABILITY: f64 = Key::new("max_probability", PROBABILITY, "0.15",
        "Signal probability at backlogs from a third of the buffer on, with 256 flows or more.", SOURCE);
    USE_AVERAGE: bool = Key::new("use_average", Kind::Bool, "false",
        "Use the filtered backlog instead of the backlog.", "Jiang 2006");
    WEIGHT;
    FLOW_KEY;
    ECN;
    MEAN_PACKET;
    COUNT_IN_SERVICE;
    BEFORE;
}

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry::aqm::<Sred>(&MODEL, Facts::WITH_ECN)
}

impl Configured for Sred {
    /// # Errors
    /// An unlimited buffer, or a weight that is not used.
    fn configured(s: &Settings, context: BuildContext) -> Result<Self, Refusal> {
        let form = s.get(&FORM);
        let buffer = match s.get(&BUFFER) {
            Size::Packets(n) | Size::Bytes(n) => n as f64,
            Size::Unlimited if form == Form::Detector => f64::INFINITY,
            Size::Unlimited => {
                let e = Refusal::new(
                    "the steps are shares of the buffer, which is unlimited",
                    "give a buffer",
                );
                return Err(e.within("buffer"));
            }
        };
        let average = s.get(&USE_AVERAGE).then_some(());
        if average.is_none() && s.gives(&WEIGHT) {
            let e = Refusal::new(
                "weight is given, but the average to which it belongs is not used",
                "leave weight out, or give use_average = true",
            );
            return Err(e.within("weight"));
        }
        let (list, overwrite) = (s.get(&LIST) as usize, s.get(&OVERWRITE));
        Ok(Sred {
            buffer,
            form,
            by_flow: Vec::new(),
            size: list,
            zombies: Vec::new(),
            overwrite,
            filter: overwrite / list as f64,
            hits: 1.0 / 256.0,
            max_probability: s.get(&MAX_PROBABILITY),
            average: average.map(|()| Average::new(0.0, s.get(&WEIGHT), s.get(&MEAN_PACKET))),
            key: s.get(&FLOW_KEY),
            ecn: params::ecn(s),
            probability: 0.0,
            context,
        })
    }
}

/// An entry of the list: a packet that arrived earlier.
#[derive(Clone, Copy, Debug)]
struct Zombie {
    flow: u64,
    hits: u32,
}

/// SRED's decision.
#[derive(Clone, Debug)]
pub struct Sred {
    /// The size of the buffer, in its unit.
    buffer: f64,
    form: Form,
    size: usize,
    zombies: Vec<Zombie>,
    /// The hits of each flow, by the number of the flow; for the detector.
    by_flow: Vec<u32>,
    overwrite: f64,
    /// The weight of a new sample in `hits`.
    filter: f64,
    /// P, the filtered frequency of hits.
    hits: f64,
    max_probability: f64,
    average: Option<Average>,
    key: KeyField,
    ecn: bool,
    probability: f64,
    /// The context in which the discipline was built, with its random stream.
    context: BuildContext,
}

impl Sred {
    /// Compare this flow with a random zombie. Returns whether the zombie belongs to this flow.
    fn meet(&mut self, flow: u64) -> bool {
        if self.zombies.len() < self.size {
            self.zombies.push(Zombie { flow, hits: 0 });
            return false;
        }
        let i = self.context.stream.below(self.size as u64) as usize;
        let zombie = &mut self.zombies[i];
        if zombie.flow == flow {
            zombie.hits = zombie.hits.saturating_add(1);
            return true;
        }
        if self.context.stream.chance(self.overwrite) {
            *zombie = Zombie { flow, hits: 0 };
        }
        false
    }

    /// The signal probability at this backlog, for a packet with or without a hit.
    fn signal_probability(&self, q: f64, hit: bool) -> f64 {
        if self.form == Form::Detector {
            return 0.0;
        }
        let step = if q >= self.buffer / 3.0 {
            self.max_probability
        } else if q >= self.buffer / 6.0 {
            self.max_probability / 4.0
        } else {
            0.0
        };
        let few = 256.0 * self.hits;
        let simple = if few > 1.0 { step / (few * few) } else { step };
        match self.form {
            Form::Full if hit && self.hits > 0.0 => (simple * (1.0 + 1.0 / self.hits)).min(1.0),
            Form::Full | Form::Simple => simple,
            Form::Detector => 0.0,
        }
    }

    /// Count a hit, or a packet without one.
    fn count(&mut self, flow: FlowId, hit: bool) {
        let i = flow.0 as usize;
        if self.by_flow.len() <= i {
            self.by_flow.resize(i + 1, 0);
        }
        self.by_flow[i] += u32::from(hit);
    }
}

impl<P: Packet> Admission<P> for Sred {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, line: &Line, out: &mut dyn Out<P>) -> Decision {
        let hit = self.meet(p.key(self.key));
        if self.form == Form::Detector {
            self.count(p.flow(), hit);
        }
        self.hits += self.filter * (f64::from(u8::from(hit)) - self.hits);
        let q = match &mut self.average {
            Some(average) => average.arrival(queue.level(), line),
            None => queue.level(),
        };
        self.probability = self.signal_probability(q, hit);
        if !queue.fits(p.bytes()) {
            return Decision::Drop(DropReason::Overflow);
        }
        if self.context.stream.chance(self.probability) && !signal(p, self.ecn, MarkReason::Early, out) {
            return Decision::Drop(DropReason::Early);
        }
        Decision::Store
    }

    fn idle(&mut self, line: &Line) {
        if let Some(average) = &mut self.average {
            average.idle(line.now);
        }
    }

    fn probes(&self) -> &[ProbeDef] {
        MODEL.probes
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        Probe::read(&READ, self, usize::from(probe.0), index)
    }

    /// The list stays, so its size and the definition of a flow must not change.
    fn reconfigure(&mut self, s: &Settings) -> Result<(), Refusal> {
        let mut new = Sred::configured(s, self.context.clone())?;
        unchanged(LIST.name, &self.size, &new.size)?;
        unchanged(FLOW_KEY.name, &self.key, &new.key)?;
        unchanged(USE_AVERAGE.name, &self.average.is_some(), &new.average.is_some())?;
        if let (Some(average), Some(before)) = (&mut new.average, &self.average) {
            average.follow(before, WEIGHT.name)?;
        }
        (new.hits, new.probability) = (self.hits, self.probability);
        new.zombies = std::mem::take(&mut self.zombies);
        new.by_flow = std::mem::take(&mut self.by_flow);
        *self = new;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::testing::{Bench, TestPacket};
    use crate::fifo::Fifo;
    use tailback_base::{BitRate, Duration, Stream, Time};

    fn build(with: &[(&str, &str)]) -> Result<(Settings, Sred), Refusal> {
        let s = with
            .iter()
            .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text));
        let context = BuildContext {
            stream: Stream::new(1, "test"),
            rate: BitRate(1_000_000),
            delay: Duration::ZERO,
        };
        let sred = Sred::configured(&s, context)?;
        Ok((s, sred))
    }

    fn bench(with: &[(&str, &str)]) -> Bench<Fifo<TestPacket, Sred>> {
        let (s, sred) = build(with).unwrap_or_else(|e| panic!("{e}"));
        Bench::new(Fifo::from_settings(&s, sred))
    }

    /// One flow has half of the arrivals, and fifty flows have a hundredth each. The share of the heavy flow in the
    /// hits is 0.25 / (0.25 + 50 / 10^4).
    #[test]
    fn as_a_detector_it_counts_hits_by_the_square_of_the_share() {
        let (mut b, mut pick) = (
            bench(&[("form", "detector"), ("buffer", "unlimited")]),
            Stream::new(7, "flows"),
        );
        for id in 0..300_000 {
            let flow = if pick.chance(0.5) { 0 } else { 1 + pick.below(50) };
            b.arrive(TestPacket::new(id, flow as u32, 500));
        }
        assert!(b.log.dropped.is_empty() && b.probe("probability", 0) == 0.0);
        let hits: Vec<f64> = (0..51).map(|f| b.probe("flow_hits", f)).collect();
        let share = hits[0] / hits.iter().sum::<f64>();
        assert!((share - 0.9804).abs() < 0.001, "{share}");
        assert!((hits[0] / 300_000.0 - 0.25).abs() < 0.005);
        assert!(b.probe("flow_hits", 51).is_nan());
    }

    #[test]
    fn fifty_equal_flows_meet_themselves_one_time_in_fifty() {
        let (mut b, mut pick) = (bench(&[]), Stream::new(7, "flows"));
        let (mut sum, mut n) = (0.0, 0.0);
        for id in 0..500_000 {
            b.arrive(TestPacket::new(id, pick.below(50) as u32, 500));
            b.serve();
            if id >= 100_000 {
                sum += b.probe("hit_frequency", 0);
                n += 1.0;
            }
        }
        assert!((sum / n / 0.02 - 1.0).abs() < 0.05, "{}", sum / n);
        assert!(b.log.dropped.is_empty(), "the queue is short");
    }

    /// P is the sum of the squared shares. So 5 flows of rate 1 and 50 flows of rate 0.1 count as 18 flows, not 55.
    #[test]
    fn unequal_flows_look_fewer() {
        let (mut b, mut pick) = (bench(&[]), Stream::new(7, "flows"));
        let (mut sum, mut n) = (0.0, 0.0);
        for id in 0..400_000 {
            let of = pick.below(100);
            let flow = if of < 50 { of / 10 } else { of };
            b.arrive(TestPacket::new(id, flow as u32, 500));
            b.serve();
            if id >= 100_000 {
                sum += b.probe("hit_frequency", 0);
                n += 1.0;
            }
        }
        let shares: f64 = 5.0 * 0.01 + 50.0 * 0.0001;
        assert!((sum / n / shares - 1.0).abs() < 0.06, "{} for {shares}", sum / n);
        assert!((1.0 / shares - 18.18).abs() < 0.01);
    }

    #[test]
    fn the_steps_and_the_number_of_flows() {
        let (_, mut sred) = build(&[("form", "simple")]).unwrap();
        sred.hits = 1.0 / 64.0;
        let probability_of = |sred: &Sred, q| sred.signal_probability(q, false);
        assert_eq!(probability_of(&sred, 50.0), 0.15 / 16.0, "64 flows");
        assert_eq!(probability_of(&sred, 16.0), 0.0, "below a sixth of 100");
        assert_eq!(probability_of(&sred, 17.0), 0.15 / 64.0);
        assert_eq!(probability_of(&sred, 33.0), 0.15 / 64.0);
        assert_eq!(probability_of(&sred, 34.0), 0.15 / 16.0);
        for flows in [256.0, 1000.0] {
            sred.hits = 1.0 / flows;
            assert_eq!(probability_of(&sred, 50.0), 0.15);
        }
        sred.hits = 0.0;
        assert_eq!(probability_of(&sred, 50.0), 0.15);
    }

    #[test]
    fn in_the_full_form_a_hit_costs() {
        let (_, mut sred) = build(&[]).unwrap();
        sred.hits = 1.0 / 64.0;
        let (miss, hit) = (
            sred.signal_probability(50.0, false),
            sred.signal_probability(50.0, true),
        );
        assert_eq!((miss, hit), (0.15 / 16.0, 0.15 / 16.0 * 65.0));
        sred.hits = 1.0 / 256.0;
        assert_eq!(sred.signal_probability(50.0, true), 1.0, "and no probability above 1");
        sred.hits = 0.0;
        assert_eq!(sred.signal_probability(50.0, true), 0.15);
    }

    #[test]
    fn the_list_is_kept_even_when_the_packet_is_lost() {
        let mut b = bench(&[("list", "2"), ("buffer", "1 packets"), ("max_probability", "0")]);
        for id in 0..6 {
            b.arrive(TestPacket::new(id, 0, 500));
        }
        assert_eq!(b.log.drops(DropReason::Overflow), [1, 2, 3, 4, 5]);
        let p = (0..4).fold((1.0 - 0.125_f64).powi(2) / 256.0, |p, _| p + 0.125 * (1.0 - p));
        assert!(
            (b.probe("hit_frequency", 0) - p).abs() < 1e-12,
            "two that fill, four hits"
        );
        assert!(b.probe("most_hits", 0) >= 2.0);
    }

    #[test]
    fn with_an_average_a_burst_passes() {
        let drops = |overrides: &[(&str, &str)]| {
            let mut b = bench(&[overrides, &[("max_probability", "1"), ("list", "1")]].concat());
            for _ in 0..60 {
                b.queue.ring.push(TestPacket::new(0, 0, 500), Time::ZERO);
            }
            for id in 0..20 {
                b.arrive(TestPacket::new(id, id as u32, 500));
            }
            b.log.dropped.len()
        };
        assert_eq!(drops(&[("use_average", "true")]), 0);
        assert!(drops(&[]) > 0);
    }

    #[test]
    fn ecn_marks_capable_packets() {
        let mut b = bench(&[("ecn", "true"), ("max_probability", "1"), ("buffer", "12 packets")]);
        for id in 0..10 {
            b.arrive(TestPacket::new(id, id as u32, 500).capable());
        }
        // P is about 1/256. So above a third of the buffer each packet is signalled, and below that a quarter of the
        // packets.
        assert!(b.log.marks(MarkReason::Early).ends_with(&[4, 5, 6, 7, 8, 9]));
        assert!(b.log.dropped.is_empty());
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        assert_eq!(build(&[("buffer", "unlimited")]).unwrap_err().path, "buffer");
        assert_eq!(build(&[("weight", "0.1")]).unwrap_err().path, "weight");
        assert!(build(&[("weight", "0.1"), ("use_average", "true")]).is_ok());
    }
}
