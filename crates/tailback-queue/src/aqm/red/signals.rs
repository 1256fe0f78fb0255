//! RED's decision about one packet, independent of how its average is computed.
//!
//! A class of packets has a [`Ramp`], which maps the average to a probability, and a count since its last signal.
//! [`SignalRules`] are the rules that all classes of a queue share. RED has one class. RIO has two classes and WRED
//! many in one queue.

use crate::aqm::red::params::{BYTES, FIRST_COUNT, MARK_ABOVE_MAX, MARK_CAP, MEAN_PACKET, NS2_GUARDS, SPREAD, WAIT};
use crate::contract::admission::Decision;
use crate::contract::discipline::{DropReason, MarkReason, Out, signal};
use crate::params;
use tailback_base::{Packet, Settings, Stream};

/// RED's ramp: the signal probability at this average, before spreading (`pb` of the paper).
#[inline]
pub fn base(average: f64, min: f64, max: f64, max_probability: f64, gentle: bool) -> f64 {
    let ramp = Ramp {
        min_threshold: min,
        max_threshold: max,
        max_probability,
        gentle,
        shape: RampShape::Line,
    };
    ramp.base(average)
}

/// The probability for the n-th packet since the last signal (`pa` of the paper). If the first packet counts as n = 1,
/// the gaps are uniform from 1 to 1/pb - 1 without `wait`, and from 1/pb to 2/pb - 1 with `wait`.
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

/// How the probability grows between the thresholds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RampShape {
    Line,
    /// With the square, up to 1.5 max_probability at the end, so that the area below the curve equals that below the
    /// straight line (nonlinear RED).
    Square,
    /// In three equal regions with a straight line each, which end at 1/4, 1/2 and 1 of max_probability (stepped RED).
    Regions,
}

/// Maps the average to the probability. The thresholds are in the unit of the buffer.
#[derive(Clone, Copy, Debug)]
pub struct Ramp {
    pub min_threshold: f64,
    pub max_threshold: f64,
    pub max_probability: f64,
    pub gentle: bool,
    pub shape: RampShape,
}

impl Ramp {
    /// The signal probability at this average, before spreading.
    #[inline]
    pub fn base(&self, average: f64) -> f64 {
        let (min, max, top) = (self.min_threshold, self.max_threshold, self.max_probability);
        if average < min {
            0.0
        } else if average < max {
            let along = top * (average - min) / (max - min);
            match self.shape {
                RampShape::Line => along,
                RampShape::Square => 1.5 * along * (average - min) / (max - min),
                RampShape::Regions => top * regions((average - min) / (max - min)),
            }
        } else if self.gentle && average < 2.0 * max {
            top + (1.0 - top) * (average - max) / max
        } else {
            1.0
        }
    }
}

/// The probability as a share of max_probability, for an average at this share of the distance between the thresholds.
fn regions(way: f64) -> f64 {
    let thirds = 3.0 * way;
    if thirds < 2.0 {
        0.25 * thirds
    } else {
        0.5 * (thirds - 1.0)
    }
}

/// The rules that all classes of a queue share.
#[derive(Clone, Debug)]
pub struct SignalRules {
    pub ecn: bool,
    pub mark_cap: f64,
    pub mark_above_max: bool,
    /// Whether the probability is multiplied by the packet size over the mean packet size.
    pub bytes: bool,
    /// The mean packet size, bytes.
    pub mean_packet: u64,
    pub spread: bool,
    pub wait: bool,
    pub first_count: bool,
    pub ns2_guards: bool,
}

impl SignalRules {
    /// Reads the settings of a model that declares RED's parameters.
    pub fn from_settings(s: &Settings) -> SignalRules {
        SignalRules {
            ecn: params::ecn(s),
            mark_cap: s.get(&MARK_CAP),
            mark_above_max: s.get(&MARK_ABOVE_MAX),
            bytes: s.get(&BYTES),
            mean_packet: s.get(&MEAN_PACKET),
            spread: s.get(&SPREAD),
            wait: s.get(&WAIT),
            first_count: s.get(&FIRST_COUNT) == 1,
            ns2_guards: s.get(&NS2_GUARDS),
        }
    }
}

/// The values that an arrival finds.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The average that the class of the packet uses.
    pub average: f64,
    /// Waiting packets. In RED the unit is that of the buffer, so if the buffer is in bytes, ns-2's guard acts below
    /// two bytes.
    pub waiting: u64,
    pub fits: bool,
}

/// Packets that are treated in the same way.
#[derive(Clone, Debug)]
pub struct RedClass {
    pub ramp: Ramp,
    /// Arrivals since the last signal; `None` while the average is below the ramp.
    since: Option<f64>,
    /// The base probability at the last arrival.
    probability: f64,
}

impl RedClass {
    pub fn new(ramp: Ramp) -> RedClass {
        RedClass {
            ramp,
            since: None,
            probability: 0.0,
        }
    }

    /// Take over the state of a class that had another ramp.
    pub fn follow(&mut self, before: &RedClass) {
        (self.since, self.probability) = (before.since, before.probability);
    }

    /// The base probability at the last arrival.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// Arrivals since the last signal; -1 while the average is below the ramp.
    pub fn since(&self) -> f64 {
        self.since.unwrap_or(-1.0)
    }

    /// Decide about an arrival.
    #[inline]
    pub fn decide<P: Packet>(
        &mut self,
        p: &mut P,
        found: Arrival,
        rules: &SignalRules,
        stream: &mut Stream,
        out: &mut dyn Out<P>,
    ) -> Decision {
        let pb = self.finds(found.average);
        if !found.fits {
            self.restart();
            return Decision::Drop(DropReason::Overflow);
        }
        if found.average < self.ramp.min_threshold || (rules.ns2_guards && found.waiting < 2) {
            self.rest();
            return Decision::Store;
        }
        if pb >= 1.0 {
            self.restart();
            return match signal(p, rules.ecn && rules.mark_above_max, MarkReason::Forced, out) {
                true => Decision::Store,
                false => Decision::Drop(DropReason::Forced),
            };
        }
        let markable = rules.ecn && pb <= rules.mark_cap;
        if self.selects(p.bytes(), rules, stream) && !signal(p, markable, MarkReason::Early, out) {
            return Decision::Drop(DropReason::Early);
        }
        Decision::Store
    }

    /// Update the base probability for an arrival that finds this average, and return it.
    #[inline]
    pub fn finds(&mut self, average: f64) -> f64 {
        self.probability = self.ramp.base(average);
        self.probability
    }

    /// Stop counting arrivals, because the average is below the ramp.
    #[inline]
    pub fn rest(&mut self) {
        self.since = None;
    }

    /// Restart the count, because a packet was signalled.
    #[inline]
    pub fn restart(&mut self) {
        self.since = Some(0.0);
    }

    /// Count this arrival. Returns whether it is to be signalled early.
    #[inline]
    pub fn selects(&mut self, bytes: u32, rules: &SignalRules, stream: &mut Stream) -> bool {
        let pb = self.probability;
        let share = f64::from(bytes) / rules.mean_packet as f64;
        let step = if rules.bytes { share } else { 1.0 };
        // The first arrival at which the average is on the ramp has number 0, as in the paper (count = -1, then + 1).
        let n = match self.since {
            None if rules.ns2_guards => {
                self.since = Some(step);
                return false;
            }
            Some(since) if rules.first_count => since + step,
            Some(since) => since,
            None => 0.0,
        };
        let mut pa = if rules.spread { spread(pb, n, rules.wait) } else { pb };
        if rules.bytes {
            pa = (pa * share).min(1.0);
        }
        if stream.chance(pa) {
            self.since = Some(0.0);
            return true;
        }
        self.since = Some(if rules.first_count { n } else { n + step });
        false
    }
}
