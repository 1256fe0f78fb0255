//! CHOKe: an arriving packet is compared with a waiting packet. If both belong to the same flow, both are dropped.
//!
//! A flow that occupies much of the buffer is drawn often, and a flow that sends much is compared often. So a flow that
//! does not respond to signals loses many packets, although there is no state for flows. Below RED's lower threshold no
//! packets are compared. Above it, packets without a match go through RED. Measure: the filtered backlog. Function: a
//! random draw and a comparison, then RED's ramp. Action: at a match both packets are dropped (match), also if they are
//! ECN-capable; otherwise RED's action, a drop (early, forced), or with `ecn` a mark.
//!
//! ```text
//! arrival:   average <= min_threshold: let in
//!            draw a waiting packet; of the same flow: drop both        (`draws` times)
//!            RED
//! ```
//!
//! From: Pan, Prabhakar, Psounis, "CHOKe: a stateless active queue management scheme for approximating fair bandwidth
//! allocation", INFOCOM 2000, for the draw, several draws, draws by region, and the front and the back of the queue.
//! The comparison comes first even if RED would drop the packet in any case, because the comparison also removes the
//! matching packet. The paper and Linux do the same.
//!
//! State: RED's average and count. A match is not a signal of RED, so the count continues.
//!
//! Departures: with several draws, each packet is drawn from the packets that remain. So a packet that matched is not
//! drawn twice, but a packet that did not match may be. The comparison comes before the test whether the packet fits.
//!
//! Cost of a packet: above the threshold, a random draw and a read of a packet for each of `draws`, and for each match
//! a move of up to half the backlog of a FIFO. If there are several queues, finding the first or the last packet costs
//! a read of each queue.

use crate::aqm::average::Average;
use crate::aqm::red::config::Config;
use crate::aqm::red::params::{
    BYTES, DELAY_TARGET, FIRST_COUNT, GENTLE, INITIAL_AVERAGE, MARK_ABOVE_MAX, MARK_CAP, MAX_PROBABILITY,
    MAX_THRESHOLD, MEAN_PACKET, MIN_THRESHOLD, NS2_GUARDS, SPREAD, WAIT, WEIGHT, WEIGHT_RULE,
};
use crate::aqm::red::signals::{Arrival, RedClass, SignalRules};
use crate::aqm::red::{AVERAGE, BASE, SINCE};
use crate::contract::admission::{Admission, Decision, Waiting};
use crate::contract::build_context::BuildContext;
use crate::contract::discipline::{DropReason, Line, Out, ProbeId};
use crate::contract::view::Congestion;
use crate::entry::{Configured, Entry, Facts, Law};
use crate::linux::{self, BuiltIn, Linux, Value};
use crate::params::{BEFORE, BUFFER, COUNT_IN_SERVICE, ECN, FLOW_KEY, profile};
use tailback_base::model::{Probe, Profile};
use tailback_base::quantity::Refusal;
use tailback_base::{Key, KeyField, Kind, Model, Packet, ProbeDef, Settings, params};

const PROFILES: &[Profile] = &[
    Profile {
        name: "default",
        doc: "the declared defaults",
        values: &[],
    },
    Profile {
        name: "linux",
        doc: "RED as in Linux, after the comparison: not gentle, no waiting, and marks also above the upper threshold",
        values: &[
            ("gentle", "false"),
            ("wait", "false"),
            ("mark_cap", "1"),
            ("mark_above_max", "true"),
        ],
    },
];

tailback_base::choice! {
    /// The waiting packet with which an arrival is compared.
    enum Draw {
        Random = "random",
        Front = "front",
        Back = "back",
    }
}

/// Values that can be recorded.
const READ: [Probe<Choke>; 3] = [
    Probe::of(AVERAGE, |q, _| q.average.value()),
    Probe::of(BASE, |q, _| q.class.probability()),
    Probe::of(SINCE, |q, _| q.class.since()),
];

pub static MODEL: Model = Model {
    name: "choke",
    family: "queue",
    title: "CHOKe",
    summary: "Compares an arriving packet with one that waits, and drops both if they are of one flow. Measure: the \
              filtered backlog. Function: above the lower threshold, a packet is drawn and compared; then RED's ramp. \
              Action: drop both packets (match), which are never marked instead; then as RED: drop (early, forced); \
              with ecn, mark instead.",
    source: "Pan, Prabhakar, Psounis, INFOCOM 2000",
    params: PARAMS,
    probes: &Probe::defs(&READ),
};

params! {
    const PARAMS;

    PROFILE = profile(PROFILES);
    BUFFER;
    DRAW: Draw = Key::choice("draw", "random",
        "What an arrival is compared with: a packet drawn from all waiting packets, the first one, or the last one, \
         in whichever queue it waits.", "Pan et al. 2000, section 2");
    DRAWS: u64 = Key::new("draws", Kind::Count { min: 1, max: 10_000 }, "1",
        "How many drawn packets an arrival is compared with. Those that belong to the flow of the arrival are dropped.",
        "Pan et al. 2000, section 2 (m)");
    REGIONS: Option<u64> = Key::new("regions", Kind::Count { min: 1, max: 1000 }, "none",
        "Let the average decide how many packets are drawn: the range between the thresholds is divided into this many \
         regions, and twice the number of the region (1, 2, ...) is drawn.", "Pan et al. 2000, section 4 (k)");
    FLOW_KEY;
    MIN_THRESHOLD;
    MAX_THRESHOLD;
    DELAY_TARGET;
    WEIGHT;
    WEIGHT_RULE;
    MAX_PROBABILITY;
    GENTLE;
    ECN;
    MARK_CAP;
    MARK_ABOVE_MAX;
    BYTES;
    MEAN_PACKET;
    SPREAD;
    WAIT;
    FIRST_COUNT;
    NS2_GUARDS;
    INITIAL_AVERAGE;
    COUNT_IN_SERVICE;
    BEFORE;
}

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry::aqm::<Choke>(&MODEL, Facts::WITH_ECN.law(Law::Average).linux(&LINUX))
}

static LINUX: Linux = Linux {
    built_in: &[
        linux::NOT_GENTLE,
        linux::AS_GIVEN,
        BuiltIn {
            parameter: "mark_above_max",
            value: "true",
            differs: "With ECN, Linux's choke marks above `max` too; the simulator drops there.",
        },
    ],
    differs: linux::LARGE_BURST,
    note: linux::LIMIT_NEEDED,
    ..Linux::new("choke", linux::red(Value::Packets).split_at(8).0)
};

impl Configured for Choke {
    /// # Errors
    /// RED's errors, and draws that contradict each other.
    fn configured(s: &Settings, context: BuildContext) -> Result<Self, Refusal> {
        let regions = s.get(&REGIONS);
        let compared = match (s.get(&DRAW), regions) {
            (Draw::Front, _) => Compared::Front,
            (Draw::Back, _) => Compared::Back,
            (Draw::Random, None) => Compared::Drawn(s.get(&DRAWS) as u32),
            (Draw::Random, Some(regions)) => Compared::ByRegion(regions as u32),
        };
        let by_region = regions.is_some();
        let unused = match compared {
            Compared::Front | Compared::Back if by_region => Some("regions"),
            Compared::Front | Compared::Back | Compared::ByRegion(_) if s.gives(&DRAWS) => Some("draws"),
            _ => None,
        };
        if let Some(unused) = unused {
            let used = if by_region && unused == "draws" {
                "regions"
            } else {
                "draw"
            };
            return Err(Refusal::new(
                format!("{unused} and {used} both say which packets an arrival is compared with"),
                format!("leave out {unused} or {used}"),
            ));
        }
        let config = Config::from_settings(s, &context)?;
        Ok(Choke {
            key: s.get(&FLOW_KEY),
            compared,
            average: config.average(),
            class: RedClass::new(config.ramp),
            rules: config.rules,
            context,
        })
    }
}

/// The packets with which an arrival is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Compared {
    /// This number of random packets.
    Drawn(u32),
    /// Twice as many packets as the number of the region in which the average lies, with this number of regions.
    ByRegion(u32),
    Front,
    Back,
}

/// CHOKe's decision.
#[derive(Clone, Debug)]
pub struct Choke {
    key: KeyField,
    compared: Compared,
    average: Average,
    class: RedClass,
    rules: SignalRules,
    /// The context in which the discipline was built, with its random stream.
    context: BuildContext,
}

impl Choke {
    /// The number of comparisons at this average.
    fn comparisons(&self, average: f64) -> u32 {
        match self.compared {
            Compared::Drawn(draws) => draws,
            Compared::Front | Compared::Back => 1,
            Compared::ByRegion(regions) => {
                let (min, max) = (self.class.ramp.min_threshold, self.class.ramp.max_threshold);
                let along = f64::from(regions) * (average - min) / (max - min);
                // The last region continues above the upper threshold. With equal thresholds there is only one region.
                2 * (1 + (along as u32).min(regions - 1))
            }
        }
    }

    /// Whether a compared packet belongs to the flow of the arrival. All packets that belong to it are dropped.
    fn matches<P: Packet>(&mut self, p: &P, average: f64, queue: &mut Waiting<'_, P>) -> bool {
        let own_key = p.key(self.key);
        let mut matched = false;
        for _ in 0..self.comparisons(average) {
            let compared_slot = match self.compared {
                Compared::Front => queue.oldest(),
                Compared::Back => queue.newest(),
                Compared::Drawn(_) | Compared::ByRegion(_) => queue.draw(&mut self.context.stream),
            };
            let Some(compared_slot) = compared_slot else { break };
            if queue
                .get(compared_slot)
                .is_some_and(|twin| twin.key(self.key) == own_key)
            {
                matched |= queue.evict(compared_slot, DropReason::Match);
            }
        }
        matched
    }
}

impl<P: Packet> Admission<P> for Choke {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, line: &Line, out: &mut dyn Out<P>) -> Decision {
        let average = self.average.arrival(queue.level(), line);
        if average > self.class.ramp.min_threshold && self.matches(p, average, queue) {
            self.class.finds(average);
            return Decision::Drop(DropReason::Match);
        }
        let arrival = Arrival {
            average,
            waiting: queue.backlog().packets,
            fits: queue.fits(p.bytes()),
        };
        self.class
            .decide(p, arrival, &self.rules, &mut self.context.stream, out)
    }

    fn idle(&mut self, line: &Line) {
        self.average.idle(line.now);
    }

    fn congestion(&self) -> Option<Congestion> {
        Some(Congestion {
            average: self.average.value(),
            threshold: self.class.ramp.min_threshold,
        })
    }

    fn probes(&self) -> &[ProbeDef] {
        MODEL.probes
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        Probe::read(&READ, self, usize::from(probe.0), index)
    }

    /// The same rules as in RED's `reconfigure`.
    fn reconfigure(&mut self, s: &Settings) -> Result<(), Refusal> {
        let mut new = Choke::configured(s, self.context.clone())?;
        new.average.follow(&self.average, INITIAL_AVERAGE.name)?;
        new.class.follow(&self.class);
        *self = new;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
