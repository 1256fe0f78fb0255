//! Single rate three colour marker: packets of a committed burst are green, those of an excess burst yellow, and the
//! others red.
//!
//! One rate fills a bucket of `committed_burst`. The tokens that do not fit into this bucket fill another bucket of
//! `excess_burst`. So the tokens for yellow packets are those that were saved while less than the rate arrived. The
//! meter limits only the length of bursts, and has no second rate.
//!
//! ```text
//! blind   size <= committed tokens: green, pays there
//!         else size <= excess tokens: yellow, pays there;   else red
//! aware   green came and size <= committed tokens: green, pays there
//!         else not red came and size <= excess tokens: yellow, pays there;   else red
//! ```
//!
//! From: RFC 2697 sections 2 and 3.
//!
//! State: two exact [`Bucket`]s, which start full. Departures: tokens arrive continuously and not one at a time. In the
//! aware mode a packet without a colour counts as green.
//!
//! Cost of a packet: a few integer operations.

use super::params::{BURST, CLASS, ColourMode, MODE, PER, POLICE, RATE};
use super::{Meter, MeterRow};
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Bucket, Colour, Key, Kind, Model, ProbeDef, Settings, Stream, Time, params};

pub static MODEL: Model = Model {
    name: "srtcm",
    family: "conditioner",
    title: "Single rate three colour marker",
    summary: "Packets within a rate and a committed burst are marked AF11, packets within an excess burst AF12, and \
              the others AF13.",
    source: "RFC 2697",
    params: PARAMS,
    probes: &[
        ProbeDef {
            name: "committed_tokens",
            unit: "bytes",
            doc: "The largest burst that would be green now.",
            per: "",
        },
        ProbeDef {
            name: "excess_tokens",
            unit: "bytes",
            doc: "The largest burst that would be yellow now.",
            per: "",
        },
    ],
};

params! {
    const PARAMS;

    COMMITTED_RATE: BitRate = Key::new("committed_rate", RATE, "",
        "The rate at which tokens arrive. The rate includes headers.", "RFC 2697 section 2 (CIR)");
    COMMITTED_BURST: u64 = Key::new("committed_burst", OR_ZERO, "",
        "How many bytes may arrive at once and be green. Give at least the size of the largest packet, or 0B if no \
         packet should be green.",
        "RFC 2697 section 2 (CBS)");
    EXCESS_BURST: u64 = Key::new("excess_burst", OR_ZERO, "",
        "How many bytes may arrive at once and be yellow. Give at least the size of the largest packet, or 0B if no \
         packet should be yellow.",
        "RFC 2697 section 2 (EBS)");
    MODE;
    PER;
    CLASS;
    POLICE;
}

const OR_ZERO: Kind = match BURST {
    Kind::Bytes { max, .. } => Kind::Bytes { min: 0, max },
    _ => BURST,
};

pub const ROW: MeterRow = MeterRow { model: &MODEL, build };

/// The meter.
#[derive(Clone, Copy, Debug)]
pub struct SingleRate {
    rate: BitRate,
    committed: Bucket,
    excess: Bucket,
    aware: bool,
}

fn build(s: &Settings, _: Stream) -> Result<Box<dyn Meter>, Refusal> {
    let (committed, excess) = (s.get(&COMMITTED_BURST), s.get(&EXCESS_BURST));
    if committed == 0 && excess == 0 {
        return Err(Refusal::new(
            "committed_burst and excess_burst are both 0B, so that every packet is red",
            "give at least one of them the size of the largest packet",
        ));
    }
    Ok(Box::new(SingleRate {
        rate: s.get(&COMMITTED_RATE),
        committed: Bucket::full(committed),
        excess: Bucket::full(excess),
        aware: s.get(&MODE) == ColourMode::Aware,
    }))
}

impl Meter for SingleRate {
    fn colour(&mut self, bytes: u32, came: Colour, now: Time) -> Colour {
        self.committed.fill_over(&mut self.excess, self.rate, now);
        let came = if self.aware { came } else { Colour::Green };
        if came == Colour::Green && self.committed.take(bytes) {
            Colour::Green
        } else if came != Colour::Red && self.excess.take(bytes) {
            Colour::Yellow
        } else {
            Colour::Red
        }
    }

    fn read(&self, probe: usize, now: Time) -> f64 {
        let (mut committed, mut excess) = (self.committed, self.excess);
        committed.fill_over(&mut excess, self.rate, now);
        if probe == 0 { committed.bytes() } else { excess.bytes() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Colour::{Green, Red, Yellow};

    fn settings(with: &[(&str, &str)]) -> Settings {
        let base = Settings::defaults(&MODEL)
            .with("committed_rate", "8Mbps")
            .with("committed_burst", "3000B")
            .with("excess_burst", "1500B");
        with.iter().fold(base, |s, (name, text)| s.with(name, text))
    }

    fn meter(with: &[(&str, &str)]) -> Result<Box<dyn Meter>, Refusal> {
        build(&settings(with), Stream::new(1, "test"))
    }

    fn colours(mode: &str, came: &[Colour]) -> Vec<Colour> {
        let mut m = meter(&[("mode", mode)]).unwrap();
        came.iter().map(|c| m.colour(1500, *c, Time::ZERO)).collect()
    }

    #[test]
    fn a_burst_is_green_then_yellow_then_red() {
        assert_eq!(colours("blind", &[Red; 4]), [Green, Green, Yellow, Red]);
    }

    #[test]
    fn aware_never_gives_a_better_colour() {
        let came = [Red, Yellow, Yellow, Green, Green, Green];
        assert_eq!(colours("aware", &came), [Red, Yellow, Red, Green, Green, Red]);
    }

    /// The excess bucket gets only the tokens that do not fit into the committed bucket.
    #[test]
    fn yellow_is_what_was_saved() {
        let mut srtcm = meter(&[]).unwrap();
        let mut colour_at = |ms: u64| srtcm.colour(1500, Green, Time(ms * 1_000_000));
        assert_eq!(
            [colour_at(0), colour_at(0), colour_at(0), colour_at(0)],
            [Green, Green, Yellow, Red]
        );
        // In 3 ms 3000 bytes of tokens arrive, and all are used for green packets. In 4 ms 1000 bytes more arrive,
        // which is too little for a yellow packet.
        assert_eq!([colour_at(3), colour_at(3), colour_at(3)], [Green, Green, Red]);
        assert_eq!([colour_at(7), colour_at(7), colour_at(7)], [Green, Green, Red]);
        assert_eq!(
            [colour_at(12), colour_at(12), colour_at(12), colour_at(12)],
            [Green, Green, Yellow, Red]
        );
        assert_eq!(
            (srtcm.read(0, Time(13_000_000)), srtcm.read(1, Time(13_000_000))),
            (1000.0, 0.0)
        );
        assert_eq!(
            (srtcm.read(0, Time(99_000_000)), srtcm.read(1, Time(99_000_000))),
            (3000.0, 1500.0)
        );
    }

    /// 12 Mb/s arrive for 10 s at a meter of 8 Mb/s. Packets within the rate are green, and the excess bucket is used
    /// for yellow only once.
    #[test]
    fn in_the_long_run_the_rate_is_green() {
        let mut m = meter(&[]).unwrap();
        let colours: Vec<Colour> = (0..10_000)
            .map(|i| m.colour(1500, Green, Time(i * 1_000_000)))
            .collect();
        let count = |colour| colours.iter().filter(|c| **c == colour).count();
        assert_eq!((count(Green), count(Yellow)), ((10_000_000 - 1000 + 3000) / 1500, 1));
    }

    #[test]
    fn a_meter_without_any_burst_is_refused() {
        let e = meter(&[("committed_burst", "0B"), ("excess_burst", "0B")])
            .err()
            .expect("refused");
        assert!(format!("{e:?}").contains("every packet is red"));
    }
}
