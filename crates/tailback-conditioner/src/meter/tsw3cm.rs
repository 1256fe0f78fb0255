//! Time sliding window three colour marker: above a committed rate, random packets are yellow, and above a peak rate,
//! random packets are red.
//!
//! ```text
//! rate <= committed:   green
//! rate <= peak:        yellow with probability (rate - committed) / rate, else green
//! rate > peak:         red with probability (rate - peak) / rate, yellow with (peak - committed) / rate, else green
//! ```
//!
//! In other words: a number is drawn uniformly between zero and the rate. If the number is above the peak rate, the
//! packet is red. If not, but if the number is above the committed rate, the packet is yellow; otherwise it is green.
//!
//! From: RFC 2859 sections 3 and 4.
//!
//! In the aware mode a packet keeps a colour that is worse than the drawn one. This rule is our choice, after RFC 2697.
//!
//! State: a [`SlidingWindow`]. A random number is drawn for every packet.
//!
//! Cost of a packet: a division and a random draw.

use super::params::{CLASS, ColourMode, MODE, PER, POLICE, RATE, WINDOW, two_rates};
use super::sliding_window::SlidingWindow;
use super::tsw2cm::RATE_PROBE;
use super::{Meter, MeterRow};
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Colour, Key, Model, Settings, Stream, Time, params};

pub static MODEL: Model = Model {
    name: "tsw3cm",
    family: "conditioner",
    title: "Time sliding window three colour marker",
    summary: "Averages the rate over a window. A random share of the packets, as large as the excess over a peak rate, \
              is marked AF13; the rest of the excess over a committed rate is marked AF12; the other packets are \
              marked AF11.",
    source: "RFC 2859",
    params: PARAMS,
    probes: &[RATE_PROBE],
};

params! {
    const PARAMS;

    COMMITTED_RATE: BitRate = Key::new("committed_rate", RATE, "",
        "Traffic up to this rate is green. The rate includes headers.", "RFC 2859 section 2 (CTR)");
    PEAK_RATE: BitRate = Key::new("peak_rate", RATE, "",
        "The rate above which packets are red. Give at least the committed rate.", "RFC 2859 section 2 (PTR)");
    WINDOW;
    MODE;
    PER;
    CLASS;
    POLICE;
}

pub const ROW: MeterRow = MeterRow { model: &MODEL, build };

/// The meter.
pub struct ThreeColour {
    /// The committed rate, bit/s.
    committed: f64,
    peak: f64,
    rate: SlidingWindow,
    mode: ColourMode,
    draws: Stream,
}

fn build(s: &Settings, draws: Stream) -> Result<Box<dyn Meter>, Refusal> {
    let (committed, peak) = two_rates(s.get(&COMMITTED_RATE), s.get(&PEAK_RATE))?;
    Ok(Box::new(ThreeColour {
        committed: committed.bits_per_second(),
        peak: peak.bits_per_second(),
        rate: SlidingWindow::new(committed, s.get(&WINDOW)),
        mode: s.get(&MODE),
        draws,
    }))
}

impl Meter for ThreeColour {
    fn colour(&mut self, bytes: u32, came: Colour, now: Time) -> Colour {
        let drawn_rate = self.rate.count(bytes, now) * (1.0 - self.draws.uniform());
        let colour = if drawn_rate > self.peak {
            Colour::Red
        } else if drawn_rate > self.committed {
            Colour::Yellow
        } else {
            Colour::Green
        };
        self.mode.of(came, colour)
    }

    fn read(&self, _probe: usize, _now: Time) -> f64 {
        self.rate.bits_per_second()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shares of the colours, and the share of packets whose colour differs from the previous one, at a constant 4
    /// Mb/s.
    fn shares(committed: &str, peak: &str) -> ([f64; 3], f64) {
        let s = Settings::defaults(&MODEL)
            .with("committed_rate", committed)
            .with("peak_rate", peak);
        let mut m = build(&s, Stream::new(1, "test")).unwrap();
        let colours = (0..22_000).map(|i| m.colour(1000, Colour::Green, Time(i * 2_000_000)));
        let late_colours: Vec<Colour> = colours.skip(2_000).collect();
        let share = |n: usize| n as f64 / late_colours.len() as f64;
        let count = |colour| share(late_colours.iter().filter(|c| **c == colour).count());
        let changes = late_colours.windows(2).filter(|w| w[0] != w[1]).count();
        (Colour::ALL.map(count), share(changes))
    }

    /// 20,000 draws have a standard deviation of at most 0.0036.
    #[test]
    fn each_rate_has_its_colour() {
        let near = |a: f64, b: f64| (a - b).abs() < 0.015;
        let ([green, yellow, red], changes) = shares("1Mbps", "2Mbps");
        assert!(
            near(green, 0.25) && near(yellow, 0.25) && near(red, 0.5),
            "{green} {yellow} {red}"
        );
        // Colours are drawn independently, so 1 - (1/16 + 1/16 + 1/4) of the packets differ from the one before.
        assert!(near(changes, 0.625), "{changes}");
        let ([green, yellow, red], _) = shares("3Mbps", "6Mbps");
        assert!(
            near(green, 0.75) && near(yellow, 0.25) && red == 0.0,
            "{green} {yellow} {red}"
        );
        assert_eq!(shares("4.1Mbps", "5Mbps").0, [1.0, 0.0, 0.0]);
    }

    /// Behind another marker, red packets stay red, and a quarter of the packets that arrive green stays green.
    #[test]
    fn aware_never_gives_a_better_colour() {
        let s = Settings::defaults(&MODEL)
            .with("committed_rate", "1Mbps")
            .with("peak_rate", "2Mbps")
            .with("mode", "aware");
        let mut tsw3cm = build(&s, Stream::new(1, "test")).unwrap();
        let mut colours = [[0_u32; 3]; 3];
        for i in 0..30_000_u64 {
            let came = Colour::ALL[i as usize % 3];
            let colour = tsw3cm.colour(1000, came, Time(i * 2_000_000));
            colours[came as usize][colour as usize] += u32::from(i >= 3_000);
        }
        assert_eq!((colours[2], colours[1][0]), ([0, 0, 9_000], 0));
        assert!(
            colours[0][0].abs_diff(2_250) < 200 && colours[1][1].abs_diff(4_500) < 200,
            "{colours:?}"
        );
    }

    #[test]
    fn a_peak_below_the_committed_rate_is_refused() {
        let s = Settings::defaults(&MODEL)
            .with("committed_rate", "2Mbps")
            .with("peak_rate", "1Mbps");
        let e = build(&s, Stream::new(1, "test")).err().expect("refused");
        assert!(format!("{e:?}").contains("below committed_rate"));
    }
}
