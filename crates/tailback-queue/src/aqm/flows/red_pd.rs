//! RED with preferential dropping: flows that lose packets often are fast flows, and a filter drops some of their
//! packets before RED.
//!
//! RED signals flows in proportion to what they send, so its drops show which flows send much, without a table of all
//! flows. RED-PD keeps the drops of the last intervals in lists. A flow that is in most of the lists sends more than a
//! TCP with a given round trip would send at this loss rate. Such a flow is monitored, and its packets are dropped with
//! a probability of its own before they reach RED. Measure: RED's average, and the drop history. Function: a drop
//! probability for each monitored flow, then RED's ramp. Action: a drop (penalty), then RED's action.
//!
//! From: Mahajan and Floyd, "Controlling high-bandwidth flows at the congested router", ACIRI 2001, sections 3 and 4;
//! its ns-2 scripts for the points that the paper leaves open. The history and the rules are in [`monitor`].
//!
//! State: RED's state; the [`Monitor`].
//!
//! Departures. A mark by RED counts in the history like a drop; otherwise a fast flow with ECN would not be found. When
//! a drop probability is halved, it falls by at most `largest_step` (ns-2 uses other thresholds for this). With
//! `profile` = ns2-2006 the drops of a monitored flow are spread like those of RED without `wait`, which nearly doubles
//! their number. With this profile, flows that do not respond are filtered even when the queue is short, as in ns-2.
//!
//! Cost of a packet: the same as in RED, and a lookup among the monitored flows; a drop is recorded in O(log n). Cost
//! of the end of a list: proportional to the number of flows in the lists.

pub mod monitor;

use crate::aqm::red::params::{
    BYTES, DELAY_TARGET, FIRST_COUNT, GENTLE, INITIAL_AVERAGE, MARK_ABOVE_MAX, MARK_CAP, MAX_PROBABILITY,
    MAX_THRESHOLD, MEAN_PACKET, MIN_THRESHOLD, NS2_GUARDS, SPREAD, WAIT, WEIGHT, WEIGHT_RULE,
};
use crate::aqm::red::{AVERAGE, BASE, Config, Red};
use crate::contract::admission::{Admission, Congestion, Decision, Waiting};
use crate::contract::build_context::BuildContext;
use crate::contract::discipline::{DropReason, Line, Out, ProbeId};
use crate::entry::{Configured, Entry, Facts};
use crate::params::{BEFORE, BUFFER, COUNT_IN_SERVICE, ECN, FLOW_KEY, profile};
use monitor::{Monitor, MonitorRules};
use tailback_base::model::{Alias, Profile};
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Ecn, Key, KeyField, Kind, Model, Packet, ProbeDef, Settings, Stream, Time, params};

const SOURCE: &str = "Mahajan and Floyd 2001";
const NS2: &str = "ns-2 red-pd";

const PROFILES: &[Profile] = &[
    Profile {
        name: "default",
        doc: "the defaults below",
        values: &[],
    },
    Profile {
        name: "ns2-2006",
        doc: "the filter as in ns-2: drops of monitored flows are spread, and flows that do not respond are always \
              held back",
        values: &[("filter_spread", "true"), ("hold_back", "always")],
    },
];

tailback_base::choice! {
    /// The lists that are samples of a flow, to test whether it responds.
    enum Samples {
        Changes = "changes",
        Lists = "lists",
    }
}

tailback_base::choice! {
    /// Which drops of a flow count.
    enum DropsOf {
        History = "history",
        List = "list",
    }
}

tailback_base::choice! {
    /// When monitored flows are filtered.
    enum HoldBack {
        Congested = "congested",
        Always = "always",
    }
}

pub static MODEL: Model = Model {
    name: "red-pd",
    family: "queue",
    title: "RED with preferential dropping",
    summary: "Before RED decides, drops a part of the packets of those flows that lose packets most often. Measure: \
              RED's average and its drop history. Function: a drop probability for each flow that is in most of the \
              last lists of drops, then RED's ramp. Action: drop (penalty), then as RED.",
    source: "Mahajan and Floyd 2001; ns-2 red-pd",
    params: PARAMS,
    probes: &[
        AVERAGE,
        BASE,
        ProbeDef {
            name: "monitored",
            unit: "flows",
            doc: "Monitored flows, whose packets are dropped with a probability of their own before RED",
            per: "",
        },
        ProbeDef {
            name: "unresponsive",
            unit: "flows",
            doc: "Monitored flows that do not send less after more losses",
            per: "",
        },
        ProbeDef {
            name: "strictest",
            unit: "",
            doc: "The largest drop probability of a monitored flow",
            per: "",
        },
    ],
};

params! {
    const PARAMS;

    PROFILE = profile(PROFILES);
    BUFFER;
    TARGET_RTT: Duration = Key::new("target_rtt", Kind::Time { min: 1e-4, max: 100.0 }, "40ms",
        "A flow is held back if it sends more than a TCP flow with this round trip would send (R of the paper).",
        SOURCE);
    LISTS: u64 = Key::new("lists", Kind::Count { min: 1, max: 100 }, "5",
        "How many lists of drops are kept (M).", SOURCE);
    APPEARANCES: u64 = Key::new("appearances", Kind::Count { min: 1, max: 100 }, "3",
        "A flow is monitored if it is in at least this many of the lists (K).", SOURCE);
    SHORTEST_LIST: Option<Duration> = Key::new("shortest_list", Kind::Time { min: 1e-4, max: 100.0 }, "none",
        "The shortest time that a list covers. Default: twice target_rtt.", NS2);
    LONGEST_LIST: Option<Duration> = Key::new("longest_list", Kind::Time { min: 1e-4, max: 100.0 }, "none",
        "The longest time that a list covers. Default: ten times target_rtt.", NS2);
    FIRST_LIST: Option<Duration> = Key::new("first_list", Kind::Time { min: 1e-4, max: 1e6 }, "none",
        "When the first list ends. This list has all drops until then. Default: after longest_list.", NS2);
    LEAST_LOSS: f64 = Key::new("least_loss", Kind::Real { min: 0.0, max: 1.0 }, "0.001",
        "If the loss rate of a list is above this, flows may become monitored or be held back more at the end of the \
         list.", NS2);
    LARGEST_STEP: f64 = Key::new("largest_step", Kind::Real { min: 0.0, max: 1.0 }, "0.05",
        "The most by which the drop probability of a flow that has no further drops falls in one step.", NS2);
    TEST_RESPONSE: bool = Key::new("test_response", Kind::Bool, "true",
        "Judge whether a monitored flow sends less when it loses more. If it does not, hold it back faster.",
        "Mahajan and Floyd 2001 section 4");
    SAMPLES: Samples = Key::choice("samples", "changes",
        "When rate and loss of a monitored flow are sampled, to judge whether the flow responds. With changes, this is \
         after each list at whose end the flow was held back more, and the judgement holds until the flow is no longer \
         monitored. With lists, this is after every `lists` lists, and the flow is judged anew each time.",
        "ns-2 red-pd (changes)");
    DROPS_OF: DropsOf = Key::choice("drops_of", "history",
        "Which drops of a flow are compared with a mean. With history, these are the drops in all kept lists, compared \
         with the mean over all flows that are in at least `appearances` of the lists. With list, these are the drops \
         in the list that ends, compared with the mean over the flows whose drop probability changes.",
        "ns-2 red-pd (history)");
    FILTER_SPREAD: bool = Key::new("filter_spread", Kind::Bool, "false",
        "Spread the drops of a monitored flow evenly, which nearly doubles their number.", NS2);
    HOLD_BACK: HoldBack = Key::choice("hold_back", "congested",
        "When monitored flows are held back: only while RED's average is at min_threshold or above and more than one \
         packet waits; or, if a flow does not respond, at all times.", "always: ns-2 red-pd");
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
    Entry::aqm::<RedPd>(&MODEL, Facts::WITH_ECN.also(const { &[Alias::ns2("RED/PD")] }))
}

impl Configured for RedPd {
    /// # Errors
    /// RED's errors, and numbers of lists that contradict each other.
    fn configured(s: &Settings, context: BuildContext) -> Result<Self, Refusal> {
        let (lists, appearances) = (s.get(&LISTS), s.get(&APPEARANCES));
        if appearances > lists {
            return Err(Refusal::new(
                format!("appearances is {appearances}, but only {lists} lists are kept"),
                "lower appearances, or raise lists",
            )
            .within("appearances"));
        }
        let rtt = s.get(&TARGET_RTT).seconds();
        let seconds = |key: &Key<Option<Duration>>, otherwise: f64| s.get(key).map_or(otherwise, Duration::seconds);
        let (shortest, longest) = (seconds(&SHORTEST_LIST, 2.0 * rtt), seconds(&LONGEST_LIST, 10.0 * rtt));
        if shortest > longest {
            return Err(Refusal::new(
                format!("shortest_list ({shortest} s) is longer than longest_list ({longest} s)"),
                "raise longest_list, or lower shortest_list",
            ));
        }
        let rules = MonitorRules {
            rtt,
            lists: lists as usize,
            appearances: appearances as usize,
            shortest,
            longest,
            first: seconds(&FIRST_LIST, longest),
            least_loss: s.get(&LEAST_LOSS),
            largest_step: s.get(&LARGEST_STEP),
            test_response: s.get(&TEST_RESPONSE),
            sample_changes: s.get(&SAMPLES) == Samples::Changes,
            whole_history: s.get(&DROPS_OF) == DropsOf::History,
            spread: s.get(&FILTER_SPREAD),
        };
        let config = Config::from_settings(s, &context)?;
        let mut stream = context.stream;
        let of_red = BuildContext {
            stream: Stream::new(stream.bits(), "red"),
            ..context
        };
        Ok(RedPd {
            red: Red::new(config, of_red),
            monitor: Monitor::new(rules),
            always: s.get(&HOLD_BACK) == HoldBack::Always,
            key: s.get(&FLOW_KEY),
            stream,
        })
    }
}

/// The filter, then RED.
#[derive(Clone, Debug)]
pub struct RedPd {
    red: Red,
    monitor: Monitor,
    /// Whether flows that do not respond are filtered at any queue length.
    always: bool,
    key: KeyField,
    /// The random stream of the filter. RED has another stream, so that its decisions do not depend on which flows are
    /// filtered.
    stream: Stream,
}

impl<P: Packet> Admission<P> for RedPd {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, line: &Line, out: &mut dyn Out<P>) -> Decision {
        let (flow, bytes, spreads) = (p.key(self.key), p.bytes(), self.monitor.rules.spread);
        let congested = self.red.average() >= self.red.ramp().min_threshold && queue.backlog().packets > 1;
        if let Some(f) = self.monitor.arrival(flow, bytes)
            && (congested || (self.always && f.unresponsive))
            && f.picks(spreads, &mut self.stream)
        {
            f.lost(bytes);
            return Decision::Drop(DropReason::Penalty);
        }
        let was = p.ecn();
        let decision = {
            let arrival = self.red.find(p, queue, line);
            self.red.decide(p, arrival, out)
        };
        let signalled = match decision {
            Decision::Drop(why) => why != DropReason::Overflow,
            Decision::Store => was != Ecn::Ce && p.ecn() == Ecn::Ce,
        };
        self.monitor.passed(bytes);
        if signalled {
            self.monitor.signalled(flow, bytes);
        }
        decision
    }

    fn idle(&mut self, line: &Line) {
        Admission::<P>::idle(&mut self.red, line);
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.monitor.ends())
    }

    fn on_timer(&mut self, _queue: &mut Waiting<'_, P>, line: &Line, _out: &mut dyn Out<P>) {
        if line.now >= self.monitor.ends() {
            self.monitor.end_list(line.now);
        }
    }

    fn congestion(&self) -> Option<Congestion> {
        Admission::<P>::congestion(&self.red)
    }

    fn probes(&self) -> &[ProbeDef] {
        MODEL.probes
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        match probe.0 {
            0 | 1 => Admission::<P>::read(&self.red, probe, index),
            2 => self.monitor.flows().count() as f64,
            3 => self.monitor.flows().filter(|(_, f)| f.unresponsive).count() as f64,
            4 => self.monitor.flows().map(|(_, f)| f.probability).fold(0.0, f64::max),
            _ => f64::NAN,
        }
    }
}

#[cfg(test)]
mod tests;
