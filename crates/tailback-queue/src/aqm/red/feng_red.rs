//! Feng's self-configuring RED: changes the maximum probability when the average leaves the range between the
//! thresholds.
//!
//! This was the first rule that adapted RED to its load. An average below `min_threshold` means that there are too many
//! signals, and an average above `max_threshold` that there are too few. When the average crosses into one of these
//! ranges, `max_probability` is divided or multiplied once. Between the thresholds it does not change. Measure: RED's
//! average. Function: RED's ramp, adjusted. Action: the same as RED's.
//!
//! From: Feng, Kandlur, Saha, Shin, "A self-configuring RED gateway", INFOCOM 1999, section III.
//!
//! State: RED's state; `max_probability`; the range of the average at the last arrival, which is initially "below".
//!
//! Departures: `max_probability` stays within 0 and 1. The first range counts as "below", so an empty queue at the
//! start is not a crossing (ns-2 and ns-3 divide at the first arrival).
//!
//! Cost of a packet: the same as in RED, and two comparisons.

use crate::aqm::red::params::{
    BYTES, DELAY_TARGET, FIRST_COUNT, GENTLE, INITIAL_AVERAGE, MARK_ABOVE_MAX, MARK_CAP, MAX_PROBABILITY,
    MAX_THRESHOLD, MEAN_PACKET, MIN_THRESHOLD, NS2_GUARDS, SPREAD, WAIT, WEIGHT, WEIGHT_RULE,
};
use crate::aqm::red::signals::Ramp;
use crate::aqm::red::steered::{PROBES, Steered, Steering};
use crate::aqm::red::{Config, Red};
use crate::contract::build_context::BuildContext;
use crate::entry::{Configured, Entry, Facts};
use crate::params::{BEFORE, BUFFER, COUNT_IN_SERVICE, ECN};
use tailback_base::quantity::Refusal;
use tailback_base::{Key, Kind, Model, Packet, Settings, Time, params};

const SOURCE: &str = "Feng, Kandlur, Saha, Shin 1999";

pub static MODEL: Model = Model {
    name: "feng-red",
    family: "queue",
    title: "Self-configuring RED",
    summary: "RED whose signal becomes weaker when its average falls below min_threshold and stronger when it rises \
              above max_threshold, once at each crossing. Measure: the filtered backlog. Function: RED's ramp, with a \
              max_probability that changes. Action: as RED.",
    source: "Feng, Kandlur, Saha, Shin, INFOCOM 1999; ns-2 red feng_adaptive_",
    params: PARAMS,
    probes: PROBES,
};

params! {
    const PARAMS;

    BUFFER;
    MIN_THRESHOLD;
    MAX_THRESHOLD;
    DELAY_TARGET;
    WEIGHT;
    WEIGHT_RULE;
    MAX_PROBABILITY;
    DIVIDE: f64 = Key::new("divide", Kind::Real { min: 1.0, max: 1000.0 }, "3",
        "What max_probability is divided by as the average falls below min_threshold.", SOURCE);
    MULTIPLY: f64 = Key::new("multiply", Kind::Real { min: 1.0, max: 1000.0 }, "2",
        "What max_probability is multiplied by as the average rises above max_threshold.", SOURCE);
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
    Entry::aqm::<Steered<Crossings>>(&MODEL, Facts::WITH_ECN)
}

impl Configured for Steered<Crossings> {
    /// # Errors
    /// RED's errors.
    fn configured(s: &Settings, context: BuildContext) -> Result<Self, Refusal> {
        let crossings = Crossings {
            divide: s.get(&DIVIDE),
            multiply: s.get(&MULTIPLY),
            side: Region::Below,
        };
        let config = Config::from_settings(s, &context)?;
        Ok(Steered::new(Red::new(config, context), crossings))
    }
}

/// The rule that changes `max_probability` once per crossing.
#[derive(Clone, Debug)]
pub struct Crossings {
    divide: f64,
    multiply: f64,
    side: Region,
}

/// The range in which the average lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Region {
    Below,
    Between,
    Above,
}

impl Steering for Crossings {
    fn arrival(&mut self, average: f64, ramp: &mut Ramp, _now: Time) {
        let side = if average < ramp.min_threshold {
            Region::Below
        } else if average > ramp.max_threshold {
            Region::Above
        } else {
            Region::Between
        };
        if side == std::mem::replace(&mut self.side, side) {
            return;
        }
        match side {
            Region::Below => ramp.max_probability /= self.divide,
            Region::Above => ramp.max_probability = (ramp.max_probability * self.multiply).min(1.0),
            Region::Between => {}
        }
    }

    fn reconfigure(&mut self, s: &Settings) -> Result<(), Refusal> {
        (self.divide, self.multiply) = (s.get(&DIVIDE), s.get(&MULTIPLY));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::testing::{Bench, TestPacket};
    use crate::fifo::Fifo;
    use tailback_base::{BitRate, Duration, Stream};

    /// The thresholds are 5 and 15 packets. The average equals the backlog, which the test controls.
    #[test]
    fn once_a_crossing() {
        let settings = Settings::defaults(&MODEL)
            .with("weight", "1")
            .with("buffer", "1000 packets");
        let context = BuildContext {
            stream: Stream::new(1, "test"),
            rate: BitRate(1_000_000),
            delay: Duration::ZERO,
        };
        let mut b = Bench::new(Fifo::from_settings(
            &settings,
            Steered::<Crossings>::configured(&settings, context).unwrap(),
        ));
        let mut find = |q: usize| {
            while b.backlog().packets as usize > q {
                b.serve();
            }
            while (b.backlog().packets as usize) < q {
                b.queue.ring.push(TestPacket::new(0, 0, 500), Time::ZERO);
            }
            b.arrive(TestPacket::new(1, 0, 500));
            b.probe("max_probability", 0)
        };
        assert_eq!([0, 4].map(&mut find), [0.1, 0.1], "the start is no crossing");
        assert_eq!([10, 15, 16, 20].map(&mut find), [0.1, 0.1, 0.2, 0.2]);
        assert_eq!([15, 16].map(&mut find), [0.2, 0.4], "between, and up again");
        let third = 0.4 / 3.0;
        assert_eq!([4, 3, 5].map(&mut find), [third; 3]);
        assert_eq!(find(0), third / 3.0);
        let ups = (0..10).map(|_| [10, 16].map(&mut find)[1]).last();
        assert_eq!(ups, Some(1.0), "no probability above 1");
    }
}
