//! Random Early Detection: signals early, in proportion to the filtered backlog.
//!
//! A full buffer signals to senders too late, and to all at once. RED filters the backlog, so that bursts pass without
//! signals. Above a lower threshold it signals arriving packets at random, with a probability that grows with the
//! average. So a flow is signalled in proportion to what it sends. Measure: the average backlog. Function: the ramp
//! [`base`], spread by the number of packets since the last signal ([`spread`]), so that signals are evenly spaced
//! instead of clustered. Action: a drop, or with `ecn` a mark below the upper threshold. With `gentle` the ramp
//! continues from `max_probability` at `max_threshold` to 1 at twice this threshold. Without it, the probability jumps
//! to 1 at `max_threshold`.
//!
//! From: Floyd and Jacobson 1993 ("Random early detection gateways for congestion avoidance"); Floyd's note of 2000 for
//! `gentle`; ns-2's `red` for `wait`, `mark_cap` and the guards, according to descriptions of its behaviour.
//!
//! State: `average` (packets or bytes, like the buffer); `since`, arrivals since the last signal (in packets, or in
//! mean packets with `bytes`), absent while the average is below `min_threshold`; the time when the line became idle.
//!
//! Departures and choices. The overflow test comes after the update of the average and before the early decision; an
//! overflow resets `since`. `first_count` says whether an arrival is counted before its own test (1, ns-2) or only
//! after it was accepted (0, REDn). With `wait` = true there is a pause of 1/pb packets after each signal (ns-2); with
//! false the spacing is that of the paper. With `ns2_guards`, which is off by default, there are two exceptions of
//! ns-2: no signal while fewer than two packets wait, and none for the arrival at which the average crosses the
//! threshold. If both thresholds are equal, the ramp is a step.
//!
//! Cost of a packet: one filter step, a few comparisons, and one random draw while the probability is between 0 and 1.

pub mod ared;
pub mod config;
pub mod dred;
pub mod feng_red;
pub mod nlred;
pub mod params;
pub mod signals;
pub mod sred;
pub mod steered;

use crate::aqm::average::Average;
use crate::contract::admission::{Admission, Congestion, Decision, Waiting};
use crate::contract::build_context::BuildContext;
use crate::contract::discipline::{Backlog, Line, Out, ProbeId};
use crate::contract::view::Exit;
use crate::entry::{Arithmetic, Configured, Entry, Facts, Law, StepRule};
use crate::linux::{self, Linux};
use crate::params::{BEFORE, BUFFER, COUNT_IN_SERVICE, ECN, profile};
use config::IdleStarts;
use params::{
    BYTES, DELAY_TARGET, FIRST_COUNT, GENTLE, IDLE_END, IDLE_START, INITIAL_AVERAGE, MARK_ABOVE_MAX, MARK_CAP,
    MAX_PROBABILITY, MAX_THRESHOLD, MEAN_PACKET, MIN_THRESHOLD, NS2_GUARDS, SPREAD, WAIT, WEIGHT, WEIGHT_RULE,
    WeightRule,
};
use signals::{Arrival, Ramp, RedClass, SignalRules};
use tailback_base::model::{Alias, Probe, Profile};
use tailback_base::quantity::Refusal;
use tailback_base::{Level, Model, Packet, ProbeDef, Settings, Size};

pub use config::Config;
pub use signals::{base, spread};

/// The settings of RED's authors, of a study and of a simulator.
const PROFILES: &[Profile] = &[
    Profile {
        name: "default",
        doc: "the defaults below",
        values: &[],
    },
    Profile {
        name: "jiang-2006",
        doc: "the values of the thesis on AAQM: thresholds of 5 and 15 packets, the paper's spacing, not gentle, no \
              cap on marks below max_threshold",
        values: &[
            ("min_threshold", "5 packets"),
            ("max_threshold", "15 packets"),
            ("max_probability", "0.1"),
            ("wait", "false"),
            ("gentle", "false"),
            ("bytes", "false"),
            ("mark_cap", "1"),
        ],
    },
    Profile {
        name: "ns2-2006",
        doc: "ns-2 from 10/2004 on: byte mode, gentle, wait, its guards, thresholds for 5 ms, weight for ten round \
              trips",
        values: &[
            ("delay_target", "5ms"),
            ("weight_rule", "round-trip"),
            ("max_probability", "0.1"),
            ("wait", "true"),
            ("gentle", "true"),
            ("bytes", "true"),
            ("mean_packet", "500B"),
            ("mark_cap", "0.1"),
            ("ns2_guards", "true"),
        ],
    },
    Profile {
        name: "step",
        doc: "a switch for DCTCP: marks every packet that finds 65 or more other packets, which is the threshold for \
              10 Gb/s; give both thresholds to change this number",
        values: &[
            ("min_threshold", "65 packets"),
            ("max_threshold", "65 packets"),
            ("weight", "1"),
            ("max_probability", "1"),
            ("gentle", "false"),
            ("mark_cap", "1"),
            ("mark_above_max", "true"),
            ("wait", "false"),
        ],
    },
];

/// Values that can be recorded.
const READ: [Probe<Red>; 4] = [
    Probe::of(AVERAGE, |q, _| q.average.value()),
    Probe::of(BASE, |q, _| q.class.probability()),
    Probe::of(SINCE, |q, _| q.class.since()),
    Probe::of(SHARE_HOT, |q, _| q.hot.share()),
];

pub static MODEL: Model = Model {
    name: "red",
    family: "queue",
    title: "Random Early Detection",
    summary: "Signals arriving packets at random before the buffer is full. Measure: the filtered backlog. Function: a \
              ramp from min_threshold to max_threshold, spread evenly over packets. Action: drop (early, beyond the \
              ramp forced); with ecn, mark ECN-capable packets instead of early drops.",
    source: "Floyd and Jacobson 1993; Floyd 2000 (gentle); ns-2 red",
    params: &[
        profile(PROFILES),
        BUFFER.param,
        MIN_THRESHOLD.param,
        MAX_THRESHOLD.param,
        DELAY_TARGET.param,
        WEIGHT.param,
        WEIGHT_RULE.param,
        MAX_PROBABILITY.param,
        GENTLE.param,
        ECN.param,
        MARK_CAP.param,
        MARK_ABOVE_MAX.param,
        BYTES.param,
        MEAN_PACKET.param,
        SPREAD.param,
        WAIT.param,
        FIRST_COUNT.param,
        NS2_GUARDS.param,
        IDLE_START.param,
        IDLE_END.param,
        INITIAL_AVERAGE.param,
        COUNT_IN_SERVICE.param,
        BEFORE,
    ],
    probes: PROBES,
};

/// The probes of all disciplines that share RED's decision.
pub const AVERAGE: ProbeDef = ProbeDef {
    name: "average",
    unit: "unit of the buffer",
    doc: "Filtered backlog at the last arrival",
    per: "",
};
pub const BASE: ProbeDef = ProbeDef {
    name: "probability",
    unit: "",
    doc: "Base signal probability at the last arrival",
    per: "",
};
pub const SINCE: ProbeDef = ProbeDef {
    name: "since",
    unit: "packets",
    doc: "Arrivals since the last signal; -1 while the average is below min_threshold",
    per: "",
};

pub const SHARE_HOT: ProbeDef = ProbeDef {
    name: "share_hot",
    unit: "",
    doc: "Share of the arrivals since the start at which the average was at max_threshold or above",
    per: "",
};

const PROBES: &[ProbeDef] = &Probe::defs(&READ);

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry::aqm::<Red>(
        &MODEL,
        Facts::WITH_ECN
            .also(const { &[Alias::ns2("RED"), Alias::ns3("RedQueueDisc")] })
            .law(Law::Average)
            .linux(&LINUX)
            .fused(step),
    )
}

/// The step rule on the present queue length, if RED equals such a rule: without a filter, and with both thresholds at
/// the same number of packets.
fn step(s: &Settings) -> Option<Arithmetic> {
    let limit = s.get(&BUFFER);
    let (Some(Level::Packets(low)), Some(Level::Packets(high))) = (s.get(&MIN_THRESHOLD), s.get(&MAX_THRESHOLD)) else {
        return None;
    };
    let by_itself = s.get(&WEIGHT_RULE) == WeightRule::Given && s.get(&DELAY_TARGET).is_none();
    let guarded = s.get(&NS2_GUARDS) || s.get(&COUNT_IN_SERVICE) || s.nested_list(BEFORE.name).next().is_some();
    let steep = low == high && low >= 1.0 && s.get(&WEIGHT) == 1.0 && !s.get(&GENTLE);
    let from_zero = s.get(&INITIAL_AVERAGE) == Level::Packets(0.0);
    let counts_packets = !matches!(limit, Size::Bytes(_));
    let rules = SignalRules::from_settings(s);
    (by_itself && steep && from_zero && counts_packets && !guarded).then(|| Arithmetic {
        limit,
        step: Some(StepRule {
            threshold: libm::ceil(low) as u64,
            marks: rules.ecn && rules.mark_above_max,
        }),
    })
}

static LINUX: Linux = Linux {
    built_in: &[linux::NOT_GENTLE, linux::AS_GIVEN],
    differs: linux::LARGE_BURST,
    note: linux::LIMIT_NEEDED,
    ..Linux::new("red", &linux::OF_RED)
};

impl Configured for Red {
    /// # Errors
    /// Thresholds or derived values that contradict each other.
    fn configured(s: &Settings, context: BuildContext) -> Result<Self, Refusal> {
        Ok(Red::new(Config::from_settings(s, &context)?, context))
    }
}

/// RED's decision.
#[derive(Clone, Debug)]
pub struct Red {
    rules: SignalRules,
    average: Average,
    idle_starts: IdleStarts,
    class: RedClass,
    hot: Hot,
    /// The context in which the discipline was built, with its random stream.
    context: BuildContext,
}

/// The number of arrivals, and how many of these found the average at or above the upper threshold.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hot {
    arrivals: u64,
    hot: u64,
}

impl Hot {
    pub fn arrival(&mut self, hot: bool) {
        self.arrivals += 1;
        self.hot += u64::from(hot);
    }

    /// The share of arrivals that found the average at or above the upper threshold, 0 to 1.
    pub fn share(&self) -> f64 {
        match self.arrivals {
            0 => 0.0,
            n => self.hot as f64 / n as f64,
        }
    }
}

impl Red {
    pub fn new(config: Config, context: BuildContext) -> Red {
        Red {
            average: config.average(),
            idle_starts: config.idle_starts,
            class: RedClass::new(config.ramp),
            hot: Hot::default(),
            rules: config.rules,
            context,
        }
    }

    pub fn average(&self) -> f64 {
        self.average.value()
    }

    /// Update the average for the arrival of `p`, and return the values that it finds.
    pub fn find<P: Packet>(&mut self, p: &P, queue: &Waiting<'_, P>, line: &Line) -> Arrival {
        let average = self.average.arrival(queue.level(), line);
        self.hot.arrival(average >= self.class.ramp.max_threshold);
        Arrival {
            average,
            waiting: queue.level() as u64,
            fits: queue.fits(p.bytes()),
        }
    }

    /// Decide about an arrival that found these values.
    pub fn decide<P: Packet>(&mut self, p: &mut P, found: Arrival, out: &mut dyn Out<P>) -> Decision {
        let decision = self.class.decide(p, found, &self.rules, &mut self.context.stream, out);
        if decision == Decision::Store {
            self.average.stored();
        }
        decision
    }

    /// The ramp, for algorithms that change it during a run.
    pub fn ramp_mut(&mut self) -> &mut Ramp {
        &mut self.class.ramp
    }

    pub fn ramp(&self) -> &Ramp {
        &self.class.ramp
    }
}

impl<P: Packet> Admission<P> for Red {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, line: &Line, out: &mut dyn Out<P>) -> Decision {
        let arrival = self.find(p, queue, line);
        self.decide(p, arrival, out)
    }

    fn left(&mut self, _p: &P, _how: Exit, rest: Backlog, line: &Line) {
        if self.idle_starts == IdleStarts::LastDeparture && rest.packets == 0 {
            self.average.idle(line.now);
        }
    }

    fn idle(&mut self, line: &Line) {
        if self.idle_starts == IdleStarts::LineIdle {
            self.average.idle(line.now);
        }
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

    /// The average and the count since the last signal stay. Values that depend on the line rate are computed with the
    /// rate at the start.
    fn reconfigure(&mut self, s: &Settings) -> Result<(), Refusal> {
        let mut config = Config::from_settings(s, &self.context)?;
        // The model determines the shape of the ramp, so the shape stays.
        config.ramp.shape = self.class.ramp.shape;
        let mut average = config.average();
        average.follow(&self.average, INITIAL_AVERAGE.name)?;
        self.average = average;
        self.idle_starts = config.idle_starts;
        self.class.ramp = config.ramp;
        self.rules = config.rules;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
