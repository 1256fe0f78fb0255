//! RED with a `max_probability` that changes with the average, because one value does not suit every load.
//!
//! [`Steered`] is RED's decision with a [`Steering`]. The steering receives every average before the decision and may
//! change the ramp.

use super::params::MAX_PROBABILITY;
use super::signals::Ramp;
use super::{AVERAGE, BASE, Red, SINCE};
use crate::contract::admission::{Admission, Congestion, Decision, Waiting};
use crate::contract::discipline::{Line, Out, ProbeId, unchanged};
use tailback_base::model::Probe;
use tailback_base::quantity::Refusal;
use tailback_base::{Packet, ProbeDef, Settings, Time};

/// A rule that changes a ramp.
pub trait Steering {
    /// An arrival found this average. The decision about this arrival follows.
    fn arrival(&mut self, _average: f64, _ramp: &mut Ramp, _now: Time) {}
    fn next_timer(&self) -> Option<Time> {
        None
    }
    fn on_timer(&mut self, _average: f64, _ramp: &mut Ramp, _now: Time) {}
    /// Use these settings from now on.
    ///
    /// # Errors
    /// Values that contradict each other.
    fn reconfigure(&mut self, settings: &Settings) -> Result<(), Refusal>;
}

/// The probes of all disciplines that are made of [`Steered`].
pub const PROBES: &[ProbeDef] = &Probe::defs(&READ);

/// The probes of the RED inside.
const READ: [Probe<Red>; 4] = [
    Probe::of(AVERAGE, |q, _| q.average.value()),
    Probe::of(BASE, |q, _| q.class.probability()),
    Probe::of(SINCE, |q, _| q.class.since()),
    Probe::new(
        "max_probability",
        "",
        "The present probability at max_threshold",
        |q, _| q.ramp().max_probability,
    ),
];

/// RED with a ramp that changes.
#[derive(Clone, Debug)]
pub struct Steered<S> {
    red: Red,
    steering: S,
    /// The first value of max_probability.
    first: f64,
}

impl<S: Steering> Steered<S> {
    pub fn new(red: Red, steering: S) -> Steered<S> {
        let first = red.ramp().max_probability;
        Steered { red, steering, first }
    }
}

impl<P: Packet, S: Steering> Admission<P> for Steered<S> {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, line: &Line, out: &mut dyn Out<P>) -> Decision {
        let arrival = self.red.find(p, queue, line);
        self.steering.arrival(arrival.average, self.red.ramp_mut(), line.now);
        self.red.decide(p, arrival, out)
    }

    fn idle(&mut self, line: &Line) {
        Admission::<P>::idle(&mut self.red, line);
    }

    fn next_timer(&self) -> Option<Time> {
        self.steering.next_timer()
    }

    fn on_timer(&mut self, _queue: &mut Waiting<'_, P>, line: &Line, _out: &mut dyn Out<P>) {
        let average = self.red.average();
        self.steering.on_timer(average, self.red.ramp_mut(), line.now);
    }

    fn congestion(&self) -> Option<Congestion> {
        Admission::<P>::congestion(&self.red)
    }

    fn probes(&self) -> &[ProbeDef] {
        PROBES
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        Probe::read(&READ, &self.red, usize::from(probe.0), index)
    }

    /// The present max_probability stays until the rule changes it.
    fn reconfigure(&mut self, s: &Settings) -> Result<(), Refusal> {
        unchanged(MAX_PROBABILITY.name, &self.first, &s.get(&MAX_PROBABILITY))?;
        let present = self.red.ramp().max_probability;
        self.steering.reconfigure(s)?;
        Admission::<P>::reconfigure(&mut self.red, s)?;
        self.red.ramp_mut().max_probability = present;
        Ok(())
    }
}
