//! Painter: a meter gives a packet a colour, and the packet gets the code point of this colour. Packets with a worse
//! colour than allowed are dropped.
//!
//! In this way every meter that a scenario can name is also a conditioner by itself. All packets are metered, including
//! pure acknowledgements.
//!
//! From: RFC 2475 section 2.3.3 (marker, dropper). Code points: RFC 2597 section 6.
//!
//! Cost of a packet: the cost of the meter.

use crate::conditioner::{Conditioner, EdgeOut, Header, SenderState};
use crate::entry::{BuildContext, Entry, Facts, Stands};
use crate::meter::params::{CLASS, POLICE, Police};
use crate::meter::token_bucket::{EXCESS, OutOfProfile};
use crate::meter::{MeterRow, Meters};
use tailback_base::quantity::Refusal;
use tailback_base::{Colour, DropReason, FlowId, Packet, ProbeDef, Settings, Time};

/// The registry entry of a meter as a conditioner.
pub fn entry<P: Packet + 'static>(row: &MeterRow) -> Entry<P> {
    Entry {
        model: row.model,
        build: build::<P>,
        facts: Facts {
            stands: Stands::Anywhere,
        },
    }
}

/// The conditioner that sets the code point of its colour on each packet.
pub struct Painter {
    meters: Meters,
    class: u8,
    /// The best colour that is dropped.
    dropped: Option<Colour>,
}

fn build<P: Packet + 'static>(s: &Settings, context: BuildContext<'_>) -> Result<Box<dyn Conditioner<P>>, Refusal> {
    Ok(Box::new(Painter {
        meters: context.meters.build(s, context.stream)?,
        class: s.get(&CLASS) as u8,
        dropped: dropped(s),
    }))
}

fn dropped(s: &Settings) -> Option<Colour> {
    match s.find_key(&POLICE) {
        Some(police) => police.map(Police::colour),
        None => (s.get(&EXCESS) == OutOfProfile::Drop).then_some(Colour::Yellow),
    }
}

impl<P: Packet> Conditioner<P> for Painter {
    fn forward(&mut self, mut p: P, _seen: &Header, now: Time, out: &mut dyn EdgeOut<P>) {
        let colour = self.meters.colour(&p, now);
        if self.dropped.is_some_and(|best| colour >= best) {
            return out.dropped(p, DropReason::Profile);
        }
        p.set_dscp(colour.in_class(self.class));
        out.send(p);
    }

    fn sender(&mut self, _flow: FlowId, state: SenderState, now: Time) {
        self.meters.all().for_each(|m| m.sender(state, now));
    }

    fn flow_left(&mut self, p: &P, _now: Time) {
        self.meters.left(p);
    }

    fn probes(&self) -> &[ProbeDef] {
        self.meters.probes()
    }

    fn read(&self, probe: usize, index: u32, now: Time) -> f64 {
        self.meters.read(probe, index, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::srtcm::MODEL;
    use crate::testing::{Plain, Seen, built};
    use tailback_base::Dscp;

    /// The result for a burst that the meter would colour as two green, one yellow and one red packet.
    fn burst(with: &[(&str, &str)]) -> Seen {
        let base = [
            ("committed_rate", "8Mbps"),
            ("committed_burst", "3000B"),
            ("excess_burst", "1500B"),
        ];
        let base = base
            .iter()
            .chain(with)
            .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text));
        let (mut c, mut out) = (built(&base).unwrap_or_else(|e| panic!("{e}")), Seen::default());
        for _ in 0..4 {
            c.forward(Plain::new(1500, Dscp(0)), &Header::default(), Time::ZERO, &mut out);
        }
        out
    }

    #[test]
    fn colours_get_the_code_points_of_the_class() {
        let codes = |out: Seen| out.colours.iter().map(|c| c.0).collect::<Vec<_>>();
        assert_eq!(codes(burst(&[])), [10, 10, 12, 14]);
        assert_eq!(codes(burst(&[("class", "3")])), [26, 26, 28, 30]);
    }

    #[test]
    fn a_policer_lets_through_what_is_better() {
        let out = burst(&[("police", "red")]);
        assert_eq!(
            (out.colours.len(), out.dropped.as_slice()),
            (3, &[DropReason::Profile; 1][..])
        );
        let out = burst(&[("police", "yellow")]);
        assert_eq!((out.colours.len(), out.dropped.len()), (2, 2));
    }
}
