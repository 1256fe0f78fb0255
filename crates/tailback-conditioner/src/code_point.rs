//! Code point: every packet gets the same code point, independent of its old code point and of the rate.
//!
//! An operator configures this for a host or a link whose traffic belongs to one class, such as expedited forwarding
//! for calls or lower effort for backups. The rate is not metered. A queue that serves a class first must police this
//! class on entry.
//!
//! From: RFC 2475 section 2.3.3.2 (marker). Names: RFC 2474, RFC 2597, RFC 3246, RFC 8622.
//!
//! Cost of a packet: one store.

use crate::conditioner::{Conditioner, EdgeOut, Header};
use crate::entry::{BuildContext, Entry, Facts, Stands};
use tailback_base::quantity::Refusal;
use tailback_base::{Dscp, Key, Kind, Model, Packet, Settings, Time, params};

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

    CODE: Dscp = Key::new("code", Kind::CodePoint, "",
        "The code point.", "RFC 2474, RFC 2597, RFC 3246, RFC 5865, RFC 8622");
}

/// The registry entry of this model.
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
    Ok(Box::new(CodePoint(s.get(&CODE))))
}

/// The conditioner that sets its code point on all packets.
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
    fn all_packets_get_it() {
        let mut out = Seen::default();
        for came in [0, 10, 46] {
            CodePoint(Dscp(46)).forward(Plain::new(200, Dscp(came)), &Header::default(), Time::ZERO, &mut out);
        }
        assert_eq!(out.colours, [Dscp(46); 3]);
    }
}
