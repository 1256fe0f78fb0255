//! Two rate three colour marker: packets within a committed rate are green, packets within a peak rate yellow, and the
//! others red.
//!
//! Two buckets fill at `committed_rate` up to `committed_burst` and at `peak_rate` up to `peak_burst`. The colours are
//! the code points AF11, AF12 and AF13. A queue that distinguishes them drops AF13 first.
//!
//! ```text
//! blind   size > peak tokens: red
//!         else size > committed tokens: yellow, pays peak;   else green, pays both
//! aware   red came, or size > peak tokens: red
//!         else yellow came, or size > committed tokens: yellow, pays peak;   else green, pays both
//! ```
//!
//! From: RFC 2698 sections 3 and 4. Code points: RFC 2597 section 6.
//!
//! State: two exact [`Bucket`]s. Departures: tokens arrive continuously and not a byte at a time. In the aware mode a
//! packet without a colour counts as green. Both buckets start full.
//!
//! Cost of a packet: a few integer operations.

use super::params::{BURST, CLASS, ColourMode, MODE, PER, POLICE, RATE, two_rates};
use super::{Meter, MeterRow};
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Bucket, Colour, Key, Model, ProbeDef, Settings, Stream, Time, params};

pub static MODEL: Model = Model {
    name: "trtcm",
    family: "conditioner",
    title: "Two rate three colour marker",
    summary: "Packets within a committed rate are marked AF11, packets within a peak rate AF12, and the others AF13.",
    source: "RFC 2698",
    params: PARAMS,
    probes: &[
        ProbeDef {
            name: "committed_tokens",
            unit: "bytes",
            doc: "The largest burst that would be green now.",
            per: "",
        },
        ProbeDef {
            name: "peak_tokens",
            unit: "bytes",
            doc: "The largest burst that can arrive now before packets are red.",
            per: "",
        },
    ],
};

params! {
    const PARAMS;

    COMMITTED_RATE: BitRate = Key::new("committed_rate", RATE, "",
        "Packets within this rate are green. The rate includes headers.", "RFC 2698 section 2 (CIR)");
    COMMITTED_BURST: u64 = Key::new("committed_burst", BURST, "",
        "How many bytes may arrive at once and be green. Give at least the size of the largest packet.",
        "RFC 2698 section 2 (CBS)");
    PEAK_RATE: BitRate = Key::new("peak_rate", RATE, "",
        "The rate above which packets are red. Give at least the committed rate.", "RFC 2698 section 2 (PIR)");
    PEAK_BURST: u64 = Key::new("peak_burst", BURST, "",
        "How many bytes may arrive at once before packets are red. Give at least the size of the largest packet.",
        "RFC 2698 section 2 (PBS)");
    MODE;
    PER;
    CLASS;
    POLICE;
}

pub const ROW: MeterRow = MeterRow { model: &MODEL, build };

/// The meter.
#[derive(Clone, Copy, Debug)]
pub struct TwoRate {
    /// The two buckets, each with the rate at which it fills.
    pub(crate) committed: (BitRate, Bucket),
    pub(crate) peak: (BitRate, Bucket),
    aware: bool,
}

impl TwoRate {
    /// A meter with these rates. Both buckets have a depth of `burst` bytes and start full.
    pub fn new(committed: BitRate, peak: BitRate, burst: u64, mode: ColourMode) -> TwoRate {
        TwoRate {
            committed: (committed, Bucket::full(burst)),
            peak: (peak, Bucket::full(burst)),
            aware: mode == ColourMode::Aware,
        }
    }

    /// The colour that counts for a packet that arrived with this colour: in the blind mode every packet counts as
    /// green.
    pub fn known(&self, came: Colour) -> Colour {
        if self.aware { came } else { Colour::Green }
    }

    /// Add the tokens that have arrived until now.
    pub fn fill(&mut self, now: Time) {
        self.committed.1.fill(self.committed.0, now);
        self.peak.1.fill(self.peak.0, now);
    }
}

fn build(s: &Settings, _: Stream) -> Result<Box<dyn Meter>, Refusal> {
    let (committed, peak) = two_rates(s.get(&COMMITTED_RATE), s.get(&PEAK_RATE))?;
    Ok(Box::new(TwoRate {
        committed: (committed, Bucket::full(s.get(&COMMITTED_BURST))),
        peak: (peak, Bucket::full(s.get(&PEAK_BURST))),
        aware: s.get(&MODE) == ColourMode::Aware,
    }))
}

impl Meter for TwoRate {
    fn colour(&mut self, bytes: u32, came: Colour, now: Time) -> Colour {
        self.fill(now);
        let known_colour = self.known(came);
        let (committed, peak) = (&mut self.committed, &mut self.peak);
        if known_colour == Colour::Red || !peak.1.take(bytes) {
            Colour::Red
        } else if known_colour == Colour::Yellow || !committed.1.take(bytes) {
            Colour::Yellow
        } else {
            Colour::Green
        }
    }

    fn read(&self, probe: usize, now: Time) -> f64 {
        let (rate, bucket) = if probe == 0 { &self.committed } else { &self.peak };
        bucket.bytes_at(*rate, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditioner::{Conditioner, Header};
    use crate::testing::{Plain, Seen, built};
    use tailback_base::Dscp;

    const GREEN: Dscp = Dscp(10);
    const YELLOW: Dscp = Dscp(12);
    const RED: Dscp = Dscp(14);

    fn settings(with: &[(&str, &str)]) -> Settings {
        let base = Settings::defaults(&MODEL)
            .with("committed_rate", "8Mbps")
            .with("committed_burst", "3000B")
            .with("peak_rate", "16Mbps")
            .with("peak_burst", "4500B");
        with.iter().fold(base, |s, (name, text)| s.with(name, text))
    }

    fn marker(with: &[(&str, &str)]) -> Result<Box<dyn Conditioner<Plain>>, Refusal> {
        built(&settings(with))
    }

    fn colours(mode: &str, came: &[Dscp]) -> Vec<Dscp> {
        let mut out = Seen::default();
        let mut c = marker(&[("mode", mode)]).unwrap();
        for colour in came {
            c.forward(Plain::new(1500, *colour), &Header::default(), Time::ZERO, &mut out);
        }
        out.colours
    }

    /// The peak bucket has tokens for three packets, and the committed bucket for two.
    #[test]
    fn a_burst_is_green_then_yellow_then_red() {
        assert_eq!(colours("blind", &[Dscp(0); 4]), [GREEN, GREEN, YELLOW, RED]);
        assert_eq!(colours("blind", &[RED; 4]), [GREEN, GREEN, YELLOW, RED]);
    }

    /// A packet that arrived yellow takes no committed tokens. A packet that arrived red takes no tokens at all.
    #[test]
    fn aware_never_gives_a_better_colour() {
        let came = [RED, YELLOW, GREEN, Dscp(0), GREEN];
        assert_eq!(colours("aware", &came), [RED, YELLOW, GREEN, GREEN, RED]);
    }

    /// 24 Mb/s arrive for 10 s at a meter of 8 and 16 Mb/s. A third of the packets has each colour, plus the depths of
    /// the buckets once.
    #[test]
    fn in_the_long_run_each_rate_has_its_colour() {
        let mut out = Seen::default();
        let mut c = marker(&[]).unwrap();
        for i in 0..20_000 {
            c.forward(
                Plain::new(1500, Dscp(0)),
                &Header::default(),
                Time(i * 500_000),
                &mut out,
            );
        }
        let count = |colour| out.colours.iter().filter(|c| **c == colour).count();
        assert_eq!(count(GREEN), (10_000_000 - 500 + 3000) / 1500);
        assert_eq!(count(GREEN) + count(YELLOW), (20_000_000 - 1000 + 4500) / 1500);
        assert_eq!(c.read(0, 0, Time(11_000_000_000)), 3000.0);
        assert_eq!(c.read(1, 0, Time(11_000_000_000)), 4500.0);
    }

    #[test]
    fn a_peak_below_the_committed_rate_is_refused() {
        let e = marker(&[("peak_rate", "1Mbps")]).err().expect("refused");
        assert!(format!("{e:?}").contains("below committed_rate"));
    }
}
