//! __Title__: say in one sentence what it does to packets, and where it stands.
//!
//! From: the paper or RFC, with its section.
//!
//! State: how many packets have passed. Cost of a packet: a division.

use crate::conditioner::{Conditioner, EdgeOut, Header};
use crate::entry::{BuildContext, Entry, Facts, Stands};
use tailback_base::quantity::Refusal;
use tailback_base::{Colour, Key, Kind, Model, Packet, Settings, Time, params};

pub static MODEL: Model = Model {
    name: "__name__",
    family: "conditioner",
    title: "__Title__",
    summary: "Colours every n-th packet yellow (AF12), the others green (AF11).",
    source: "the paper or RFC, with its section",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    EVERY: u64 = Key::new("every", Kind::Count { min: 1, max: 1_000_000 }, "10",
        "Which packet becomes yellow: the n-th of n.", "");
}

/// The row of the list.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: build::<P>,
        facts: Facts {
            stands: Stands::Anywhere,
        },
    }
}

fn build<P: Packet + 'static>(s: &Settings, _context: BuildContext<'_>) -> Result<Box<dyn Conditioner<P>>, Refusal> {
    Ok(Box::new(__Type__ {
        every: s.get(&EVERY),
        passed: 0,
    }))
}

struct __Type__ {
    every: u64,
    passed: u64,
}

impl<P: Packet> Conditioner<P> for __Type__ {
    fn forward(&mut self, mut p: P, _seen: &Header, _now: Time, out: &mut dyn EdgeOut<P>) {
        self.passed += 1;
        let colour = match self.passed.is_multiple_of(self.every) {
            true => Colour::Yellow,
            false => Colour::Green,
        };
        p.set_dscp(colour.in_class(1));
        out.send(p);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Plain, Seen, built};
    use tailback_base::Dscp;

    #[test]
    fn every_third_packet_is_yellow() {
        let mut conditioner = built(&Settings::defaults(&MODEL).with("every", "3")).unwrap();
        let mut out = Seen::default();
        for _ in 0..6 {
            conditioner.forward(Plain::new(1000, Dscp(0)), &Header::default(), Time::ZERO, &mut out);
        }
        let names: Vec<String> = out.colours.iter().map(|c| c.name()).collect();
        assert_eq!(names, ["AF11", "AF11", "AF12", "AF11", "AF11", "AF12"]);
    }
}
