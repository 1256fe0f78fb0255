//! Packet marking engine: the probabilities of green and yellow packets depend on the differences between the rate and
//! two targets.
//!
//! ```text
//! every step, for both targets:   step = gain |1 - rate / target|
//!                                 p = p + step if rate < target, else p - step;  0 <= p <= 1
//! packet:                         green with probability p of the committed rate,
//!                                 else yellow with that of the peak, else red
//! ```
//!
//! So a flow below its target gets more and more green packets until it reaches the target or all its packets are
//! green. A flow above its target gets fewer green packets. The target is a rate through the network. A marker of RFC
//! 2859 instead measures the rate at the sender.
//!
//! From: Feng, Kandlur, Saha, Shin, "Adaptive packet marking for maintaining end-to-end throughput in a
//! differentiated-services Internet", IEEE/ACM Transactions on Networking 7(5), 1999, section III.
//!
//! State: a [`SlidingWindow`], two probabilities, which are 0 at the start, and the time of the next step.
//!
//! Departures: the paper has one target and two colours. The second target, the colour yellow and the defaults are our
//! choice. The rate is that of a sliding window. Steps in a time without packets are computed when the next packet
//! arrives, with the rate that the window had at each step.
//!
//! Cost of a packet: a division and up to two random draws. Cost of a step: two divisions.

use super::params::{CLASS, PER, POLICE, RATE, WINDOW, two_rates};
use super::sliding_window::SlidingWindow;
use super::tsw2cm::RATE_PROBE;
use super::{Meter, MeterRow};
use tailback_base::model::Probe;
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Colour, Duration, Key, Kind, Model, Settings, Stream, Time, params};

const SOURCE: &str = "Feng, Kandlur, Saha, Shin 1999 section III";

pub static MODEL: Model = Model {
    name: "marking-engine",
    family: "conditioner",
    title: "Packet marking engine",
    summary: "Marks a packet AF11 with a probability that rises while the rate is below a committed rate and falls \
              while it is above. Marks the other packets AF12 by the same rule with a peak rate, and the rest AF13.",
    source: SOURCE,
    params: PARAMS,
    probes: &Probe::defs(&READ),
};

/// Values that can be recorded.
const READ: [Probe<MarkingEngine>; 3] = [
    Probe::of(RATE_PROBE, |m, _| m.rate.bits_per_second()),
    Probe::new("green_probability", "1", "The probability of green.", |m, _| {
        m.targets[0].probability
    }),
    Probe::new(
        "yellow_probability",
        "1",
        "The probability of yellow for a packet that is not green.",
        |m, _| m.targets[1].probability,
    ),
];

params! {
    const PARAMS;

    COMMITTED_RATE: BitRate = Key::new("committed_rate", RATE, "",
        "The rate that green packets should reach. The rate includes headers.", SOURCE);
    PEAK_RATE: BitRate = Key::new("peak_rate", RATE, "",
        "The rate that yellow packets should reach. Give at least the committed rate.", "");
    WINDOW;
    STEP: Duration = Key::new("step", Kind::Time { min: 1e-3, max: 1e3 }, "100ms",
        "How often the probabilities change.", SOURCE);
    GAIN: f64 = Key::new("gain", Kind::Real { min: 0.0, max: 1.0 }, "0.1",
        "How much the probabilities change in a step without arrivals.", "");
    PER;
    CLASS;
    POLICE;
}

pub const ROW: MeterRow = MeterRow { model: &MODEL, build };

/// A target rate, bit/s, and the probability of its colour.
#[derive(Clone, Copy, Debug)]
struct Target {
    rate: f64,
    probability: f64,
}

impl Target {
    fn step(&mut self, rate: f64, gain: f64) {
        let off = 1.0 - rate / self.rate;
        self.probability = (self.probability + gain * off).clamp(0.0, 1.0);
    }
}

/// The meter.
pub struct MarkingEngine {
    targets: [Target; 2],
    rate: SlidingWindow,
    step: Duration,
    next: Time,
    gain: f64,
    draws: Stream,
}

fn build(s: &Settings, draws: Stream) -> Result<Box<dyn Meter>, Refusal> {
    let (committed, peak) = two_rates(s.get(&COMMITTED_RATE), s.get(&PEAK_RATE))?;
    let target = |rate: tailback_base::BitRate| Target {
        rate: rate.bits_per_second(),
        probability: 0.0,
    };
    let step = s.get(&STEP);
    Ok(Box::new(MarkingEngine {
        targets: [target(committed), target(peak)],
        rate: SlidingWindow::new(committed, s.get(&WINDOW)),
        step,
        next: Time::ZERO + step,
        gain: s.get(&GAIN),
        draws,
    }))
}

impl Meter for MarkingEngine {
    fn colour(&mut self, bytes: u32, _came: Colour, now: Time) -> Colour {
        while self.next <= now {
            let rate = self.rate.at(self.next);
            for t in &mut self.targets {
                t.step(rate, self.gain);
            }
            self.next += self.step;
            // In a long time without packets both probabilities become 1. The remaining steps have no effect and are
            // skipped.
            if self.targets.iter().all(|t| t.probability == 1.0) {
                let behind = now.since(self.next).0 / self.step.0;
                self.next += Duration(behind * self.step.0);
            }
        }
        self.rate.count(bytes, now);
        let [green, yellow] = self.targets;
        if self.draws.chance(green.probability) {
            Colour::Green
        } else if self.draws.chance(yellow.probability) {
            Colour::Yellow
        } else {
            Colour::Red
        }
    }

    fn read(&self, probe: usize, _now: Time) -> f64 {
        Probe::read(&READ, self, probe, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine() -> Box<dyn Meter> {
        let s = Settings::defaults(&MODEL)
            .with("committed_rate", "4Mbps")
            .with("peak_rate", "8Mbps")
            .with("window", "100s");
        build(&s, Stream::new(1, "test")).unwrap_or_else(|e| panic!("{e}"))
    }

    /// Send packets of 1000 bytes from `from` to `to` ms, one every `gap` ms. Returns the shares of the colours.
    fn send(m: &mut dyn Meter, (from, to): (u64, u64), gap: u64) -> [f64; 3] {
        let times: Vec<u64> = (from..to).step_by(gap as usize).collect();
        let colours: Vec<Colour> = times
            .iter()
            .map(|t| m.colour(1000, Colour::Green, Time(t * 1_000_000)))
            .collect();
        Colour::ALL.map(|c| colours.iter().filter(|x| **x == c).count() as f64 / colours.len() as f64)
    }

    /// With such a long window, the estimate keeps its initial value of 4 Mb/s, which is the committed rate and half of
    /// the peak rate.
    #[test]
    fn a_probability_rises_with_what_is_missing() {
        let mut meter = engine();
        for steps in 1..=20 {
            send(&mut *meter, (100 * (steps - 1), 100 * steps + 1), 2);
            let (green, yellow) = (meter.read(1, Time::ZERO), meter.read(2, Time::ZERO));
            assert!(green.abs() < 1e-3, "{green}");
            assert!((yellow - 0.05 * steps as f64).abs() < 2e-3, "{yellow} after {steps}");
        }
        let [green, yellow, red] = send(&mut *meter, (2001, 2021), 2);
        assert!(green == 0.0 && yellow == 1.0 && red == 0.0, "{green} {yellow} {red}");
    }

    #[test]
    fn a_flow_below_its_rate_turns_green_and_one_above_does_not() {
        let s = Settings::defaults(&MODEL)
            .with("committed_rate", "4Mbps")
            .with("peak_rate", "8Mbps");
        let mut meter = build(&s, Stream::new(1, "test")).unwrap_or_else(|e| panic!("{e}"));
        send(&mut *meter, (0, 20_000), 4);
        assert_eq!(send(&mut *meter, (20_000, 22_000), 4), [1.0, 0.0, 0.0], "2 Mb/s");
        send(&mut *meter, (22_000, 42_000), 1);
        let [green, yellow, red] = send(&mut *meter, (42_000, 44_000), 1);
        assert!(
            green == 0.0 && (yellow == 0.0 || red < 1.0),
            "8 Mb/s: {green} {yellow} {red}"
        );
        // All steps of an hour without packets are computed at once.
        meter.colour(1000, Colour::Green, Time(3_600_000_000_000));
        assert_eq!((meter.read(1, Time::ZERO), meter.read(2, Time::ZERO)), (1.0, 1.0));
    }
}
