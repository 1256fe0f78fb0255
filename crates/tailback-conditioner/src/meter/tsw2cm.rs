//! Time sliding window marker with two colours: above the committed rate a random share of the packets is yellow.
//!
//! ```text
//! rate > committed:  yellow with probability 1 - committed / rate;   else green
//! ```
//!
//! So the green rate equals the committed rate whatever arrives. The colours are mixed, while with a bucket a burst is
//! first green and then yellow.
//!
//! From: Clark and Fang, "Explicit allocation of best-effort packet delivery service", 1998, section III (the tagger of
//! RIO).
//!
//! In the aware mode a packet keeps a colour that is worse than the drawn one. This rule is our choice, after RFC 2697.
//!
//! State: a [`SlidingWindow`]. A random number is drawn only above the committed rate.
//!
//! Cost of a packet: two divisions and at most one random draw.

use super::params::{CLASS, ColourMode, MODE, PER, POLICE, RATE, WINDOW};
use super::sliding_window::SlidingWindow;
use super::{Meter, MeterRow};
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Colour, Key, Model, ProbeDef, Settings, Stream, Time, params};

pub static MODEL: Model = Model {
    name: "tsw2cm",
    family: "conditioner",
    title: "Time sliding window two colour marker",
    summary: "Averages the rate over a window. Above the committed rate a random share of the packets, as large as the \
              excess, is marked AF12; the others are marked AF11.",
    source: "Clark and Fang 1998, section III",
    params: PARAMS,
    probes: &[RATE_PROBE],
};

params! {
    const PARAMS;

    COMMITTED_RATE: BitRate = Key::new("committed_rate", RATE, "",
        "Traffic up to this rate is green. The rate includes headers.", "Clark and Fang 1998 section III");
    WINDOW;
    MODE;
    PER;
    CLASS;
    POLICE;
}

/// The probe of every meter with a sliding window.
pub(super) const RATE_PROBE: ProbeDef = ProbeDef {
    name: "rate",
    unit: "bit/s",
    doc: "The estimated rate at the last packet.",
    per: "",
};

pub const ROW: MeterRow = MeterRow { model: &MODEL, build };

/// The meter.
pub struct TwoColour {
    /// The committed rate, bit/s.
    committed: f64,
    rate: SlidingWindow,
    mode: ColourMode,
    draws: Stream,
}

fn build(s: &Settings, draws: Stream) -> Result<Box<dyn Meter>, Refusal> {
    let committed = s.get(&COMMITTED_RATE);
    Ok(Box::new(TwoColour {
        committed: committed.bits_per_second(),
        rate: SlidingWindow::new(committed, s.get(&WINDOW)),
        mode: s.get(&MODE),
        draws,
    }))
}

impl Meter for TwoColour {
    fn colour(&mut self, bytes: u32, came: Colour, now: Time) -> Colour {
        let rate = self.rate.count(bytes, now);
        // Below the committed rate the probability is negative, and no random number is drawn.
        let drawn = match self.draws.chance(1.0 - self.committed / rate) {
            true => Colour::Yellow,
            false => Colour::Green,
        };
        self.mode.of(came, drawn)
    }

    fn read(&self, _probe: usize, _now: Time) -> f64 {
        self.rate.bits_per_second()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share_of_green(committed: &str) -> f64 {
        let s = Settings::defaults(&MODEL).with("committed_rate", committed);
        let mut m = build(&s, Stream::new(1, "test")).unwrap();
        // 4 Mb/s arrive for 20 s. The estimate settles in the first few seconds.
        let colours = (0..10_000).map(|i| m.colour(1000, Colour::Green, Time(i * 2_000_000)));
        let late: Vec<Colour> = colours.skip(2_000).collect();
        late.iter().filter(|c| **c == Colour::Green).count() as f64 / late.len() as f64
    }

    #[test]
    fn the_committed_rate_is_green() {
        assert_eq!(share_of_green("4.1Mbps"), 1.0);
        let share = share_of_green("1Mbps");
        // 8000 draws of probability 0.25 have a standard deviation of 0.005.
        assert!((share - 0.25).abs() < 0.02, "{share}");
    }
}
