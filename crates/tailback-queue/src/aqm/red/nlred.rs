//! Nonlinear RED: signals gently at light load and strongly at heavy load.
//!
//! RED's probability is a straight line. It signals as soon as the average passes `min_threshold`, although a slightly
//! longer queue does no harm, and it grows no faster near `max_threshold`. In nonlinear RED the probability grows with
//! the square, `1.5 max_probability x^2` with `x = (average - min_threshold) / (max_threshold - min_threshold)`. The
//! factor 1.5 makes the area below this curve equal to that below RED's line. The curve meets the line at x = 2/3.
//! Measure, action and all other rules are those of RED.
//!
//! From: Zhou, Yeung, Li, "Nonlinear RED: a simple yet efficient active queue management scheme", Computer Networks 50
//! (2006).
//!
//! State: the same as in RED.
//!
//! Departures. Above `max_threshold` the probability is the same as in RED. With `gentle` it falls at max_threshold
//! from 1.5 max_probability to max_probability (as in ns-3), and then rises to 1 at twice max_threshold. Without
//! `gentle` it is 1. A max_probability above 2/3 is out of range, because the curve would exceed 1.
//!
//! Cost of a packet: the same as in RED, and two multiplications.

use crate::aqm::red::params::{
    BYTES, DELAY_TARGET, FIRST_COUNT, GENTLE, INITIAL_AVERAGE, MARK_ABOVE_MAX, MARK_CAP, MAX_THRESHOLD, MEAN_PACKET,
    MIN_THRESHOLD, NS2_GUARDS, SPREAD, WAIT, WEIGHT, WEIGHT_RULE,
};
use crate::aqm::red::signals::RampShape;
use crate::aqm::red::{AVERAGE, BASE, Config, Red, SHARE_HOT, SINCE};
use crate::contract::build_context::BuildContext;
use crate::contract::discipline::QueueDiscipline;
use crate::entry::{Build, Entry, Facts};
use crate::fifo::Fifo;
use crate::params::{BEFORE, BUFFER, COUNT_IN_SERVICE, ECN};
use tailback_base::quantity::Refusal;
use tailback_base::{Key, Kind, Model, Packet, Settings, params};

pub static MODEL: Model = Model {
    name: "nlred",
    family: "queue",
    title: "Nonlinear RED",
    summary: "RED with a probability that grows with the square of x, the average's position between the thresholds \
              from 0 to 1. Measure: the filtered backlog. Function: 1.5 max_probability x^2. Action: as RED.",
    source: "Zhou, Yeung, Li 2006",
    params: PARAMS,
    probes: &[AVERAGE, BASE, SINCE, SHARE_HOT],
};

params! {
    const PARAMS;

    BUFFER;
    MIN_THRESHOLD;
    MAX_THRESHOLD;
    DELAY_TARGET;
    WEIGHT;
    WEIGHT_RULE;
    MAX_PROBABILITY: f64 = Key::new("max_probability", Kind::Real { min: 0.0, max: 2.0 / 3.0 }, "0.02",
        "Two thirds of the signal probability as the average reaches max_threshold. A linear ramp of the same area \
         would reach this value at max_threshold.", "ns-3 LInterm 50");
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
    Entry {
        model: &MODEL,
        build: Build::Whole(build),
        admission: Some(|s, context| Ok(Box::new(admission(s, context)?))),
        facts: Facts::WITH_ECN,
    }
}

fn build<P: Packet + 'static>(s: &Settings, context: BuildContext) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    Ok(Box::new(Fifo::from_settings(s, admission(s, context)?)))
}

/// The decision alone, without a queue.
///
/// # Errors
/// RED's errors.
pub fn admission(s: &Settings, context: BuildContext) -> Result<Red, Refusal> {
    let mut config = Config::from_settings(s, &context)?;
    config.ramp.shape = RampShape::Square;
    Ok(Red::new(config, context))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::red::base;
    use crate::contract::testing::{Bench, TestPacket};
    use tailback_base::model::Raw;
    use tailback_base::{BitRate, Duration, Stream};

    fn held(average: f64, with: &[(&str, &str)]) -> Bench<Fifo<TestPacket, Red>> {
        let s = Settings::defaults(&MODEL)
            .with("max_probability", "0.1")
            .with("weight", "0")
            .with("initial_average", &format!("{average} packets"));
        let s = with.iter().fold(s, |s, (name, text)| s.with(name, text));
        let context = BuildContext {
            stream: Stream::new(1, "test"),
            rate: BitRate(1_000_000),
            delay: Duration::ZERO,
        };
        let mut b = Bench::new(Fifo::from_settings(&s, admission(&s, context).unwrap()));
        b.arrive(TestPacket::new(0, 0, 500));
        b.serve();
        b
    }

    fn at(average: f64, with: &[(&str, &str)]) -> f64 {
        held(average, with).probe("probability", 0)
    }

    #[test]
    fn the_curve_at_five_and_fifteen() {
        for (average, expected) in [(5.0, 0.0), (7.5, 0.009375), (10.0, 0.0375), (12.5, 0.084375)] {
            assert!((at(average, &[]) - expected).abs() < 1e-12, "{average}");
        }
        let linear_red = |average| base(average, 5.0, 15.0, 0.1, true);
        let meet = 5.0 + 20.0 / 3.0;
        assert!((at(meet, &[]) - linear_red(meet)).abs() < 1e-12 && (linear_red(meet) - 0.0667).abs() < 1e-4);
        assert!(at(11.6, &[]) < linear_red(11.6) && at(11.7, &[]) > linear_red(11.7));
        assert!((at(15.0, &[]) - 0.1).abs() < 1e-12, "gentle: down to max_probability");
        assert!(at(14.999, &[]) > 0.149);
        assert_eq!(at(15.0, &[("gentle", "false")]), 1.0);
        assert!((at(22.5, &[]) - 0.55).abs() < 1e-12, "as RED above");
    }

    /// If signals are independent, the share of signalled packets is the probability of the curve.
    #[test]
    fn packets_are_signalled_by_the_curve() {
        let mut b = held(10.0, &[("spread", "false")]);
        for id in 0..200_000 {
            b.arrive(TestPacket::new(id, 0, 500));
            b.serve();
        }
        let share = b.log.dropped.len() as f64 / 200_000.0;
        assert!((share - 0.0375).abs() < 0.002, "{share}");
    }

    #[test]
    fn a_curve_that_would_pass_one_is_out_of_range() {
        let mut s = Settings::defaults(&MODEL);
        assert!(s.set("max_probability", &Raw::Real(0.66)).is_ok());
        assert!(s.set("max_probability", &Raw::Real(0.67)).is_err());
    }
}
