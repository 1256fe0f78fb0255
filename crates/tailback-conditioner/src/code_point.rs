//! Code point: every packet that passes gets the same one, whatever it had before and however many pass.
//!
//! An operator configures this for a host or a link that belongs to one class: calls are expedited forwarding,
//! backups are lower effort. Nothing is metered; a queue that serves a class first must police it on entry.
//!
//! From: RFC 2475 section 2.3.3.2 (marker). Names: RFC 2474, RFC 2597, RFC 3246, RFC 8622.
//!
//! Cost of a packet: one store.

use crate::conditioner::{Conditioner, EdgeOut, Header};
use crate::entry::{BuildContext, Entry, Facts, Stands};
use tailback_base::model::with_nearest;
use tailback_base::quantity::Refusal;
use tailback_base::{Dscp, Key, Kind, Model, Packet, Settings, Time, params};

/// Lower effort as in RFC 8622; [`Dscp::name`] shows it as a number.
const LOWER_EFFORT: (&str, u8) = ("LE", 1);
const BEST_EFFORT: (&str, u8) = ("BE", 0);

pub static MODEL: Model = Model {
    name: "code-point",
    family: "conditioner",
    title: "Code point marker",
    summary: "Gives every packet one DiffServ code point, such as EF.",
    source: "RFC 2475 section 2.3.3.2",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    CODE: String = Key::new("code", Kind::Text, "",
        "The code point: EF, AF11 to AF43, CS1 to CS7, LE, BE, or a number from 0 to 63.",
        "RFC 2474, RFC 2597, RFC 3246, RFC 8622");
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
    let code = named(&s.get(&CODE)).map_err(|e| e.within(CODE.name))?;
    Ok(Box::new(CodePoint(code)))
}

/// The code point for a name or a number.
fn named(word: &str) -> Result<Dscp, Refusal> {
    let known: Vec<(String, u8)> = (0..64)
        .map(|code| (Dscp(code).name(), code))
        .chain([LOWER_EFFORT, BEST_EFFORT].map(|(name, code)| (name.into(), code)))
        .filter(|(name, _)| !name.is_empty())
        .collect();
    let number = word.parse::<u8>().ok().filter(|code| *code < 64);
    let found = known.iter().find(|(name, _)| name == word).map(|k| k.1).or(number);
    found.map(Dscp).ok_or_else(|| {
        let names = known
            .iter()
            .map(|k| k.0.as_str())
            .filter(|n| !n.starts_with(char::is_numeric));
        let all = "EF, AF11 to AF43, CS1 to CS7, LE, BE, or a number from 0 to 63";
        Refusal::new(format!("\"{word}\" is no code point"), with_nearest(word, names, all))
    })
}

/// Sets its code point on all packets.
struct CodePoint(Dscp);

impl<P: Packet> Conditioner<P> for CodePoint {
    fn forward(&mut self, mut p: P, _seen: &Header, _now: Time, out: &mut dyn EdgeOut<P>) {
        p.set_dscp(self.0);
        out.send(p);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Plain, Seen};

    #[test]
    fn names_and_numbers() {
        for (word, code) in [
            ("EF", 46),
            ("AF11", 10),
            ("AF43", 38),
            ("CS6", 48),
            ("LE", 1),
            ("BE", 0),
            ("44", 44),
        ] {
            assert_eq!(named(word), Ok(Dscp(code)), "{word}");
        }
        for (wrong, nearest) in [("EFF", "\"EF\""), ("AF14", "AF1"), ("64", "0 to 63"), ("", "EF, AF11")] {
            let e = named(wrong).unwrap_err();
            assert!(e.remedy.contains(nearest), "{wrong}: {e}");
        }
    }

    #[test]
    fn all_packets_get_it() {
        let mut out = Seen::default();
        for came in [0, 10, 46] {
            CodePoint(Dscp(46)).forward(Plain::new(200, Dscp(came)), &Header::default(), Time::ZERO, &mut out);
        }
        assert_eq!(out.colours, [Dscp(46); 3]);
    }
}
