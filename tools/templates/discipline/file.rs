//! __Title__: say in one sentence what it holds, and how.
//!
//! Measure: the backlog. Function: a fixed probability above a threshold. Action: a drop (early), or with `ecn` a mark.
//!
//! From: the paper or RFC, with its section.
//!
//! State: none. Cost of a packet: one draw while the backlog is above the threshold.

use crate::contract::admission::{Admission, Decision, Waiting, early};
use crate::contract::build_context::BuildContext;
use crate::contract::capacity;
use crate::contract::discipline::{DropReason, Line, Out};
use crate::entry::{Configured, Entry, Facts};
use crate::params::{self, BEFORE, COUNT_IN_SERVICE, ECN};
use tailback_base::quantity::Refusal;
use tailback_base::{Key, Kind, Level, Model, Packet, Settings, Size, Stream, params};

/// What a packet counts where the threshold is in packets and the buffer in bytes.
const MEAN_PACKET: u64 = 1500;

pub static MODEL: Model = Model {
    name: "__name__",
    family: "queue",
    title: "__Title__",
    summary: "Measure: the backlog. Function: a fixed probability above a threshold. Action: drop (early); with ecn, \
              mark ECN-capable packets instead.",
    source: "the paper or RFC, with its section",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    BUFFER: Size = params::BUFFER.with_default("1000 packets", "");
    THRESHOLD: Level = Key::new("threshold", Kind::Level, "20%",
        "The backlog above which it signals.", "");
    PROBABILITY: f64 = Key::new("probability", Kind::Real { min: 0.0, max: 1.0 }, "0.05",
        "Share of arriving packets that get a signal above the threshold.", "");
    ECN;
    COUNT_IN_SERVICE;
    BEFORE;
}

/// The row of the list.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry::aqm::<__Type__>(&MODEL, Facts::WITH_ECN)
}

/// The decision about a packet that arrives.
#[derive(Clone, Debug)]
pub struct __Type__ {
    /// In the unit of the buffer.
    threshold: f64,
    probability: f64,
    ecn: bool,
    stream: Stream,
}

impl Configured for __Type__ {
    /// # Errors
    /// A share of a buffer without limit.
    fn configured(s: &Settings, context: BuildContext) -> Result<Self, Refusal> {
        Ok(__Type__ {
            threshold: capacity::threshold(s, &THRESHOLD, s.get(&BUFFER), MEAN_PACKET)?,
            probability: s.get(&PROBABILITY),
            ecn: params::ecn(s),
            stream: context.stream,
        })
    }
}

impl<P: Packet> Admission<P> for __Type__ {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, _line: &Line, out: &mut dyn Out<P>) -> Decision {
        if !queue.fits(p.bytes()) {
            return Decision::Drop(DropReason::Overflow);
        }
        let signals = queue.level() > self.threshold && self.stream.chance(self.probability);
        early(signals, p, self.ecn, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::testing::{Bench, TestPacket};
    use crate::fifo::Fifo;
    use tailback_base::{BitRate, Duration};

    fn bench(with: &[(&str, &str)]) -> Bench<Fifo<TestPacket, __Type__>> {
        let settings = with.iter().fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text));
        let context = BuildContext {
            stream: Stream::new(1, "test"),
            rate: BitRate(10_000_000),
            delay: Duration::ZERO,
        };
        let own = __Type__::configured(&settings, context).unwrap_or_else(|e| panic!("{e:?}"));
        Bench::new(Fifo::from_settings(&settings, own))
    }

    #[test]
    fn it_signals_above_the_threshold_only() {
        let mut b = bench(&[("threshold", "10 packets"), ("probability", "1")]);
        for id in 0..13 {
            b.arrive(TestPacket::new(id, 0, 1500));
        }
        assert_eq!(b.log.drops(DropReason::Early), [11, 12]);
    }

    #[test]
    fn a_full_buffer_drops() {
        let mut b = bench(&[("buffer", "5 packets"), ("threshold", "100%")]);
        for id in 0..6 {
            b.arrive(TestPacket::new(id, 0, 1500));
        }
        assert_eq!(b.log.drops(DropReason::Overflow), [5]);
    }
}
