//! Colours: the protection of a packet from drops. Meters set them and queues read them.
//!
//! RFC 2697 and RFC 2698 call the drop precedences of an assured forwarding class (RFC 2597 section 6) green, yellow
//! and red.

use crate::code_point::Dscp;
use crate::model::Choice;

/// The drop precedence of a packet; green is dropped last.
///
/// ```
/// use tailback_base::{Colour, Dscp};
///
/// let af12 = Colour::Yellow.in_class(1);
/// assert_eq!(af12.name(), "AF12");
/// assert_eq!(Colour::of(af12), Some(Colour::Yellow));
/// assert_eq!(Colour::of(Dscp(46)), None); // EF has no colour.
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum Colour {
    #[default]
    Green = 0,
    Yellow = 1,
    Red = 2,
}

impl Choice for Colour {
    const WORDS: &'static [&'static str] = &["green", "yellow", "red"];
    const MEANINGS: &'static [Colour] = &Colour::ALL;
}

impl Colour {
    /// All colours, the best protected first.
    pub const ALL: [Colour; 3] = [Colour::Green, Colour::Yellow, Colour::Red];

    /// The colour of an assured forwarding code point, whatever its class; `None` for any other code point.
    pub const fn of(code: Dscp) -> Option<Colour> {
        match (code.0 >> 3, code.0 & 0b111) {
            (1..=4, 2) => Some(Colour::Green),
            (1..=4, 4) => Some(Colour::Yellow),
            (1..=4, 6) => Some(Colour::Red),
            _ => None,
        }
    }

    /// The code point of this colour in a class, 1 to 4: in class 1 AF11, AF12, AF13.
    pub const fn in_class(self, class: u8) -> Dscp {
        Dscp((class << 3) | ((self as u8 + 1) << 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_points_are_those_of_rfc_2597() {
        let codes = |class| Colour::ALL.map(|c| c.in_class(class).0);
        assert_eq!((codes(1), codes(4)), ([10, 12, 14], [34, 36, 38]));
        for class in 1..=4 {
            for c in Colour::ALL {
                assert_eq!(Colour::of(c.in_class(class)), Some(c));
            }
        }
        for none in [0, 2, 8, 11, 42, 46, 48] {
            assert_eq!(Colour::of(Dscp(none)), None, "{none}");
        }
    }
}
