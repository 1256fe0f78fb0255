//! RED's parameters, checked, with missing ones derived from the buffer and the line.

use super::params::{IDLE_END, IDLE_START, INITIAL_AVERAGE, WeightRule};
use super::signals::{Ramp, RampShape, SignalRules};
use crate::aqm::average::{Average, IdleEnds, weight_for_rate, weight_for_round_trip};
use crate::aqm::red::params::{
    DELAY_TARGET, GENTLE, MAX_PROBABILITY, MAX_THRESHOLD, MEAN_PACKET, MIN_THRESHOLD, WEIGHT, WEIGHT_RULE,
};
use crate::contract::build_context::BuildContext;
use crate::contract::capacity;
use crate::params::BUFFER;
use tailback_base::model::Choice;
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Settings, Size};

/// RED's checked parameters. The thresholds are in the unit of the buffer.
#[derive(Clone, Debug)]
pub struct Config {
    pub ramp: Ramp,
    pub rules: SignalRules,
    /// Weight of a new sample in the average.
    pub weight: f64,
    pub initial_average: f64,
    pub idle_starts: IdleStarts,
    pub idle_ends: IdleEnds,
}

tailback_base::choice! {
    /// The event that begins an idle period.
    pub enum IdleStarts {
        /// A dequeue finds an empty queue.
        LineIdle = "line-idle",
        /// The transmission of the last packet of the queue begins.
        LastDeparture = "last-departure",
    }
}

impl Config {
    /// Read the settings of a model that declares RED's parameters, for the line of `context`.
    ///
    /// # Errors
    /// Thresholds or derived values that contradict each other.
    pub fn from_settings(s: &Settings, context: &BuildContext) -> Result<Config, Refusal> {
        let (buffer, rules) = (s.get(&BUFFER), SignalRules::from_settings(s));
        let (min, max) = thresholds(s, buffer, rules.mean_packet, context.rate)?;
        if min > max {
            return Err(Refusal::new(
                format!("min_threshold ({min}) is above max_threshold ({max})"),
                "give a max_threshold of at least min_threshold; two to three times is advised",
            ));
        }
        Ok(Config {
            ramp: Ramp {
                min_threshold: min,
                max_threshold: max,
                max_probability: s.get(&MAX_PROBABILITY),
                gentle: s.get(&GENTLE),
                shape: RampShape::Line,
            },
            weight: weight(s, context)?,
            initial_average: capacity::threshold(s, &INITIAL_AVERAGE, buffer, rules.mean_packet)?,
            idle_starts: s.find_key(&IDLE_START).unwrap_or(IdleStarts::LineIdle),
            idle_ends: s.find_key(&IDLE_END).unwrap_or(IdleEnds::AtArrival),
            rules,
        })
    }

    /// The average that these parameters describe.
    pub fn average(&self) -> Average {
        Average::new(self.initial_average, self.weight, self.rules.mean_packet).with_idle_ending(self.idle_ends)
    }
}

/// The given weight, or the one that `weight_rule` derives. If the user gives a weight, it overrides the rule of a
/// profile.
///
/// # Errors
/// The user gives both the weight and the rule.
pub fn weight(s: &Settings, context: &BuildContext) -> Result<f64, Refusal> {
    let (rule, gives_weight) = (s.get(&WEIGHT_RULE), s.gives(&WEIGHT));
    let mean_packet = s.get(&MEAN_PACKET);
    let derived = match rule {
        WeightRule::ByRate => weight_for_rate(context.rate.bits_per_second(), mean_packet),
        WeightRule::ByRoundTrip => weight_for_round_trip(context.rate, context.delay, mean_packet),
        WeightRule::Given => return Ok(s.get(&WEIGHT)),
    };
    match (gives_weight, s.gives(&WEIGHT_RULE)) {
        (false, _) => Ok(derived),
        (true, false) => Ok(s.get(&WEIGHT)),
        (true, true) => Err(Refusal::new(
            format!(
                "weight_rule = \"{}\" derives the weight, but weight is given as well",
                rule.word()
            ),
            "give one of the two",
        )),
    }
}

/// Both thresholds, in the unit of the buffer.
///
/// A threshold that is not given depends on the rate. min_th is half the number of packets that the line sends in a
/// target delay, but at least five, and max_th is three times min_th (ns-2's automatic setting, from Floyd, Gummadi and
/// Shenker, "Adaptive RED", 2001). The ramp must fit into the buffer, because otherwise the buffer overflows before RED
/// has signalled. So, unless the settings give a delay, min_th is limited so that the gentle part of the ramp ends
/// within the buffer. If a min_th of five packets is too large for this limit, the first part of the ramp ends within
/// the buffer.
fn thresholds(s: &Settings, buffer: Size, mean_packet: u64, rate: BitRate) -> Result<(f64, f64), Refusal> {
    let set = |key| capacity::threshold_if_given(s, key, buffer, mean_packet);
    let (min, max) = (set(&MIN_THRESHOLD)?, set(&MAX_THRESHOLD)?);
    let has_threshold = s.gives(&MIN_THRESHOLD) || s.gives(&MAX_THRESHOLD);
    let unit = capacity::packet(buffer, mean_packet);
    let half_of = |delay: f64| delay * rate.bits_per_second() / (8.0 * mean_packet as f64) / 2.0;
    // `delay_target` and the thresholds exclude each other. If the profile gives one of them and the user the other,
    // the value of the user is used.
    let target = s
        .get(&DELAY_TARGET)
        .filter(|_| s.gives(&DELAY_TARGET) || !has_threshold);
    if let Some(target) = target {
        if has_threshold {
            return Err(Refusal::new(
                "delay_target derives both thresholds, but a threshold is given as well",
                "give either delay_target, or min_threshold and max_threshold",
            ));
        }
        let min = unit * half_of(target.seconds()).max(5.0);
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

/// The target delay from which the thresholds are derived if the settings give none, seconds. It is ns-2's
/// `targetdelay_`.
const TARGET_DELAY: f64 = 0.005;
