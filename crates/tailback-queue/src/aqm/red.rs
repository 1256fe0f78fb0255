//! Random Early Detection: signal early, in proportion to the filtered backlog.
//!
//! A full buffer tells senders too late, and all at once. RED filters the backlog, so that bursts pass, and from a
//! lower threshold on signals arriving packets at random, with a probability that grows with the average; a flow is
//! signalled in proportion to what it sends. Measure: the average backlog. Function: the ramp [`base`], spread by the
//! number of packets since the last signal ([`spread`]), so that signals come evenly instead of in clumps. Action: a
//! drop, or with `ecn` a mark below the upper threshold. With `gentle` the ramp goes on from `max_probability` at
//! `max_threshold` to 1 at twice that, instead of jumping.
//!
//! From: Floyd and Jacobson 1993 ("Random early detection gateways for congestion avoidance"); Floyd's note of 2000
//! for `gentle`; ns-2's `red` for `wait`, `mark_cap` and the guards, from descriptions of its behaviour.
//!
//! State: `average` (packets or bytes, as the buffer is); `since`, arrivals since the last signal (in packets, or in
//! mean packets when `bytes`), absent while the average is below `min_threshold`; the time the line fell idle.
//!
//! Departures and choices. The overflow test comes after the average is updated and before the early decision; an
//! overflow resets `since`. `first_count` says whether the arrival is counted before its own test (1, ns-2) or only
//! after it was accepted (0, REDn). `wait` = true holds back for 1/pb packets after each signal (ns-2); false is the
//! paper's spacing. ns-2 does nothing while fewer than two packets wait, and spares the very arrival that crosses the
//! threshold: `ns2_guards`, off by default. Equal thresholds make a step.
//!
//! Cost of a packet: one filter step, a few comparisons, one draw while the probability is between 0 and 1.

use crate::admission::{Admission, Congestion, Decision, Waiting};
use crate::aqm::average::{Average, weight_for_rate};
use crate::build_context::BuildContext;
use crate::capacity;
use crate::discipline::QueueDiscipline;
use crate::discipline::{DropReason, Line, MarkReason, Out, ProbeId, signal};
use crate::entry::{Build, Entry, Facts, Marks};
use crate::fifo::Fifo;
use crate::params::BEFORE;
use crate::params::COUNT_IN_SERVICE;
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Kind, Model, Packet, Param, ProbeDef, Settings, Size, Stream};

const PROBABILITY: Kind = Kind::Real { min: 0.0, max: 1.0 };

pub static MODEL: Model = Model {
    name: "red",
    family: "queue",
    title: "Random Early Detection",
    summary: "Signals arriving packets at random before the buffer is full. Measure: the filtered backlog. Function: a \
              ramp from min_threshold to max_threshold, spread evenly over packets. Action: drop (early, beyond the \
              ramp forced), or with ecn mark capable packets instead of early drops.",
    source: "Floyd and Jacobson 1993; Floyd 2000 (gentle); ns-2 red",
    params: &[
        Param::new(
            "buffer",
            Kind::Size,
            "100 packets",
            "How much may wait, in packets or bytes.",
            "tailback",
        ),
        Param::new(
            "min_threshold",
            Kind::Level,
            "none",
            "Average backlog from which packets are signalled; packets on a buffer in bytes count mean_packet each. Without it \
             half of what the line sends in 5 ms, at least 5 packets, and at most a sixth of the buffer.",
            "ns-2 automatic setting; Floyd, Gummadi, Shenker 2001",
        ),
        Param::new(
            "max_threshold",
            Kind::Level,
            "none",
            "Average backlog at which the probability reaches max_probability. Without it three times min_threshold.",
            "Floyd 1997",
        ),
        Param::new(
            "delay_target",
            Kind::Time { min: 1e-6, max: 100.0 },
            "none",
            "Derive both thresholds from this delay and the line's rate: min = max(5 packets, half of it), max = 3 min.",
            "ns-2 automatic setting, there 5 ms; Floyd, Gummadi, Shenker 2001",
        ),
        Param::new(
            "weight",
            PROBABILITY,
            "0.002",
            "Weight of a new sample in the average; 0 holds the average at initial_average.",
            "Floyd and Jacobson 1993 section 6",
        ),
        Param::new(
            "weight_for_rate",
            Kind::Bool,
            "false",
            "Derive the weight from the line's rate, as 1 - exp(-1 / packets per second).",
            "ns-2 automatic setting",
        ),
        Param::new(
            "max_probability",
            PROBABILITY,
            "0.1",
            "Signal probability as the average reaches max_threshold.",
            "ns-2 linterm 10; the paper used 0.02",
        ),
        Param::new(
            "gentle",
            Kind::Bool,
            "true",
            "Let the probability climb from max_probability to 1 between max_threshold and twice that.",
            "Floyd 2000; ns-2 since 4/2001",
        ),
        Param::new(
            "ecn",
            Kind::Bool,
            "false",
            "Mark capable packets instead of dropping them early.",
            "RFC 3168",
        ),
        Param::new(
            "mark_cap",
            PROBABILITY,
            "0.1",
            "Where the base probability is above this, an early signal drops even a capable packet.",
            "ns-2 mark_p_ since 12/2005",
        ),
        Param::new(
            "mark_above_max",
            Kind::Bool,
            "false",
            "With ecn, mark capable packets also where the probability is 1, instead of a forced drop.",
            "Listing in Jiang 2006",
        ),
        Param::new(
            "bytes",
            Kind::Bool,
            "false",
            "Weigh the probability by size / mean_packet, and count since in mean packets.",
            "Floyd and Jacobson 1993 section 7; ns-2 default since 10/2004",
        ),
        Param::new(
            "mean_packet",
            Kind::Bytes { min: 1, max: 65_535 },
            "500B",
            "Mean packet size S, for idle time, byte mode and thresholds in packets on a buffer in bytes.",
            "ns-2 mean_pktsize_",
        ),
        Param::new(
            "spread",
            Kind::Bool,
            "true",
            "Spread signals evenly by the count since the last; false gives independent (geometric) signals.",
            "Floyd and Jacobson 1993 section 7",
        ),
        Param::new(
            "wait",
            Kind::Bool,
            "true",
            "Hold back for 1/pb packets after each signal.",
            "ns-2 wait_",
        ),
        Param::new(
            "first_count",
            Kind::Count { min: 0, max: 1 },
            "1",
            "1: an arrival counts before its own test; 0: only after it was accepted.",
            "ns-2 (1); REDn (0)",
        ),
        Param::new(
            "ns2_guards",
            Kind::Bool,
            "false",
            "Do nothing while fewer than two packets wait, and spare the arrival that crosses min_threshold.",
            "ns-2 red",
        ),
        Param::new(
            "initial_average",
            Kind::Level,
            "0 packets",
            "The average before the first arrival.",
            "tailback, for tests with weight = 0",
        ),
        COUNT_IN_SERVICE,
        BEFORE,
    ],
    probes: &[
        ProbeDef {
            name: "average",
            unit: "unit of the buffer",
            doc: "Filtered backlog at the last arrival",
            per: "",
        },
        ProbeDef {
            name: "probability",
            unit: "",
            doc: "Base signal probability at the last arrival",
            per: "",
        },
        ProbeDef {
            name: "since",
            unit: "packets",
            doc: "Arrivals since the last signal; -1 while the average is below min_threshold",
            per: "",
        },
    ],
};

/// The row of the list.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: Build::Whole(build),
        admission: Some(|s, context| Ok(Box::new(admission(s, context)?))),
        facts: Facts {
            marks: Marks::WithEcn,
            ..Facts::ONE_QUEUE
        },
    }
}

fn build<P: Packet + 'static>(s: &Settings, context: BuildContext) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    Ok(Box::new(Fifo::from_settings(s, admission(s, context)?)))
}

/// RED's decision alone.
///
/// # Errors
/// Thresholds or derived values that contradict each other.
pub fn admission(s: &Settings, context: BuildContext) -> Result<Red, Refusal> {
    Ok(Red::new(Config::from_settings(s, context.rate)?, context.stream))
}

/// RED's parameters, checked. Thresholds in the unit of the buffer.
#[derive(Clone, Debug)]
pub struct Config {
    pub min_threshold: f64,
    pub max_threshold: f64,
    pub weight: f64,
    pub max_probability: f64,
    pub gentle: bool,
    pub ecn: bool,
    pub mark_cap: f64,
    pub mark_above_max: bool,
    pub bytes: bool,
    /// Bytes.
    pub mean_packet: u64,
    pub spread: bool,
    pub wait: bool,
    pub first_count: bool,
    pub ns2_guards: bool,
    pub initial_average: f64,
}

impl Config {
    /// Read the settings of a model that declares RED's parameters; `rate` is the line's.
    pub fn from_settings(settings: &Settings, rate: BitRate) -> Result<Config, Refusal> {
        let buffer = settings.size("buffer");
        let mean_packet = settings.count("mean_packet");
        let (min_threshold, max_threshold) = thresholds(settings, buffer, mean_packet, rate)?;
        if min_threshold > max_threshold {
            return Err(Refusal::new(
                format!("min_threshold ({min_threshold}) is above max_threshold ({max_threshold})"),
                "give a max_threshold of at least min_threshold; two to three times is advised",
            ));
        }
        let weight = if settings.flag("weight_for_rate") {
            if settings.is_given("weight") {
                return Err(Refusal::new(
                    "weight_for_rate derives the weight, but weight is given as well",
                    "give one of the two",
                ));
            }
            weight_for_rate(rate.bits_per_second(), mean_packet)
        } else {
            settings.real("weight")
        };
        Ok(Config {
            min_threshold,
            max_threshold,
            weight,
            max_probability: settings.real("max_probability"),
            gentle: settings.flag("gentle"),
            ecn: settings.flag("ecn"),
            mark_cap: settings.real("mark_cap"),
            mark_above_max: settings.flag("mark_above_max"),
            bytes: settings.flag("bytes"),
            mean_packet,
            spread: settings.flag("spread"),
            wait: settings.flag("wait"),
            first_count: settings.count("first_count") == 1,
            ns2_guards: settings.flag("ns2_guards"),
            initial_average: capacity::threshold(settings, "initial_average", buffer, mean_packet)?,
        })
    }
}

/// Both thresholds, in the unit of the buffer.
///
/// What is not given follows the rate: min_th is half the packets that the line sends in a target delay, at least five, and
/// max_th three times min_th (ns-2's automatic setting, of Floyd, Gummadi and Shenker, "Adaptive RED", 2001). The ramp
/// must fit in the buffer, or the buffer overflows before RED has said anything: unless a delay is asked for, the gentle
/// part of the ramp ends with the buffer, and where five packets are too many for that, the first part does.
fn thresholds(settings: &Settings, buffer: Size, mean_packet: u64, rate: BitRate) -> Result<(f64, f64), Refusal> {
    let given = |name: &'static str| match settings.is_none(name) {
        true => Ok(None),
        false => capacity::threshold(settings, name, buffer, mean_packet).map(Some),
    };
    let (min, max) = (given("min_threshold")?, given("max_threshold")?);
    let unit = if capacity::cost(buffer, 2) == 1 {
        1.0
    } else {
        mean_packet as f64
    };
    let half_of = |delay: f64| delay * rate.bits_per_second() / (8.0 * mean_packet as f64) / 2.0;
    if !settings.is_none("delay_target") {
        if min.is_some() || max.is_some() {
            return Err(Refusal::new(
                "delay_target derives both thresholds, but a threshold is given as well",
                "give either delay_target, or min_threshold and max_threshold",
            ));
        }
        let min = unit * half_of(settings.time("delay_target").seconds()).max(5.0);
        return Ok((min, 3.0 * min));
    }
    let room = match buffer {
        Size::Packets(n) | Size::Bytes(n) => n as f64 / unit,
        Size::Unlimited => f64::INFINITY,
    };
    Ok(match (min, max) {
        (Some(min), Some(max)) => (min, max),
        (Some(min), None) => (min, 3.0 * min),
        (None, Some(max)) => (max / 3.0, max),
        (None, None) => {
            let min = unit * half_of(TARGET_DELAY).min(room / 6.0).max(5.0).min(room / 3.0);
            (min, 3.0 * min)
        }
    })
}

/// The delay that thresholds aim at unless one is given, seconds: ns-2's `targetdelay_`.
const TARGET_DELAY: f64 = 0.005;

/// RED's ramp: the signal probability at this average, before spreading (`pb` of the paper).
#[inline]
pub fn base(average: f64, min: f64, max: f64, max_probability: f64, gentle: bool) -> f64 {
    if average < min {
        0.0
    } else if average < max {
        max_probability * (average - min) / (max - min)
    } else if gentle && average < 2.0 * max {
        max_probability + (1.0 - max_probability) * (average - max) / max
    } else {
        1.0
    }
}

/// The probability for the n-th packet since the last signal (`pa` of the paper). Without `wait` the gaps are uniform
/// on 1 to 1/pb - 1 when the first packet counts as n = 1; with `wait` on 1/pb to 2/pb - 1.
#[inline]
pub fn spread(pb: f64, n: f64, wait: bool) -> f64 {
    let passed = n * pb;
    let from = if wait { 1.0 } else { 0.0 };
    if passed < from {
        0.0
    } else if passed < from + 1.0 {
        pb / (from + 1.0 - passed)
    } else {
        1.0
    }
}

/// RED's decision.
#[derive(Clone, Debug)]
pub struct Red {
    config: Config,
    average: Average,
    /// Arrivals since the last signal; `None` while the average is below `min_threshold`.
    since: Option<f64>,
    /// The base probability at the last arrival.
    probability: f64,
    stream: Stream,
}

impl Red {
    pub fn new(config: Config, stream: Stream) -> Red {
        let average = Average::new(config.initial_average, config.weight, config.mean_packet);
        Red {
            config,
            average,
            since: None,
            probability: 0.0,
            stream,
        }
    }

    pub fn average(&self) -> f64 {
        self.average.value()
    }

    /// Count this arrival and say whether it is to be signalled early, at base probability `pb`.
    fn selects(&mut self, pb: f64, bytes: u32, crossing: bool) -> bool {
        let share = f64::from(bytes) / self.config.mean_packet as f64;
        let step = if self.config.bytes { share } else { 1.0 };
        if crossing && self.config.ns2_guards {
            self.since = Some(step);
            return false;
        }
        // The arrival that opens an active period counts as number 0, as in the paper (count = -1, then + 1).
        let n = match self.since {
            Some(since) if self.config.first_count => since + step,
            Some(since) => since,
            None => 0.0,
        };
        let mut pa = if self.config.spread {
            spread(pb, n, self.config.wait)
        } else {
            pb
        };
        if self.config.bytes {
            pa = (pa * share).min(1.0);
        }
        if self.stream.chance(pa) {
            self.since = Some(0.0);
            return true;
        }
        self.since = Some(if self.config.first_count { n } else { n + step });
        false
    }
}

impl<P: Packet> Admission<P> for Red {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, line: &Line, out: &mut dyn Out<P>) -> Decision {
        let c = &self.config;
        let average = self.average.arrival(queue.level(), line);
        let pb = base(average, c.min_threshold, c.max_threshold, c.max_probability, c.gentle);
        self.probability = pb;
        if !queue.fits(p.bytes()) {
            self.since = Some(0.0);
            return Decision::Drop(DropReason::Overflow);
        }
        if average < c.min_threshold || (c.ns2_guards && queue.backlog().packets < 2) {
            self.since = None;
            return Decision::Store;
        }
        if pb >= 1.0 {
            self.since = Some(0.0);
            return match signal(p, c.ecn && c.mark_above_max, MarkReason::Forced, out) {
                true => Decision::Store,
                false => Decision::Drop(DropReason::Forced),
            };
        }
        let (markable, crossing) = (c.ecn && pb <= c.mark_cap, self.since.is_none());
        if self.selects(pb, p.bytes(), crossing) && !signal(p, markable, MarkReason::Early, out) {
            return Decision::Drop(DropReason::Early);
        }
        Decision::Store
    }

    fn idle(&mut self, line: &Line) {
        self.average.idle(line.now);
    }

    fn congestion(&self) -> Option<Congestion> {
        Some(Congestion {
            average: self.average.value(),
            threshold: self.config.min_threshold,
        })
    }

    fn probes(&self) -> &[ProbeDef] {
        MODEL.probes
    }

    fn read(&self, probe: ProbeId, _index: u32) -> f64 {
        match probe.0 {
            0 => self.average.value(),
            1 => self.probability,
            2 => self.since.unwrap_or(-1.0),
            _ => f64::NAN,
        }
    }
}

#[cfg(test)]
mod tests;
