//! Classes of packets by their DiffServ code points, for queues that treat some classes better than others.

use tailback_base::quantity::Refusal;
use tailback_base::{Colour, Dscp, Key, Settings};

/// The number of colours.
pub const COLOURS: usize = Colour::ALL.len();

/// The parameter of queues that distinguish three colours.
pub const UNCOLOURED: Key<Colour> = Key::choice(
    "uncoloured",
    "green",
    "The colour of a packet whose code point is not one of assured forwarding, such as an acknowledgement.",
    "tailback; no meter has compared such a packet with a profile",
);

/// The colour of each code point.
#[derive(Clone, Copy, Debug)]
pub struct Colours {
    uncoloured: Colour,
}

impl Colours {
    /// Reads the parameter [`UNCOLOURED`].
    ///
    /// # Errors
    /// A word that is not a colour.
    pub fn from_settings(s: &Settings) -> Result<Colours, Refusal> {
        Ok(Colours {
            uncoloured: s.get(&UNCOLOURED),
        })
    }

    #[inline]
    pub fn of(self, p: Dscp) -> Colour {
        Colour::of(p).unwrap_or(self.uncoloured)
    }
}

/// One value for each colour, from a list of one value for all or of three ([`Kind::Each`](tailback_base::Kind::Each)
/// allows no other number).
pub fn each_colour<T: Copy>(values: &[T]) -> [T; COLOURS] {
    std::array::from_fn(|c| values[c.min(values.len() - 1)])
}

/// The class selector, 0 to 7: the old IP precedence (RFC 2474 section 4.2.2).
pub fn class_selector(p: Dscp) -> u8 {
    (p.0 >> 3) & 0b111
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_precedence_has_the_colour_it_is_given() {
        let colours = Colours {
            uncoloured: Colour::Yellow,
        };
        let of = [10, 20, 30, 38, 0, 46].map(|code| colours.of(Dscp(code)));
        use Colour::{Green, Red, Yellow};
        assert_eq!(of, [Green, Yellow, Red, Red, Yellow, Yellow]);
        assert_eq!((each_colour(&[7]), each_colour(&[1, 2, 3])), ([7; 3], [1, 2, 3]));
    }

    #[test]
    fn class_selectors() {
        assert_eq!((class_selector(Dscp(46)), class_selector(Dscp(7))), (5, 0));
    }
}
