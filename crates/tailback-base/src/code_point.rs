//! DiffServ code points: their names and numbers.

use crate::nearest::with_nearest;
use crate::quantity::Refusal;

/// The six DiffServ bits (RFC 2474); they contain the drop precedence of assured forwarding.
///
/// ```
/// use tailback_base::Dscp;
///
/// assert_eq!(Dscp(46).name(), "EF");
/// assert_eq!(Dscp(10).name(), "AF11");
/// assert_eq!(Dscp(0).name(), "");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Dscp(pub u8);

impl Dscp {
    /// `AF12` (RFC 2597), `EF` (RFC 3246), `CS1` (RFC 2474), or the number; empty for best effort.
    pub fn name(self) -> String {
        let (class, low) = (self.0 >> 3, self.0 & 0b111);
        match (class, low) {
            (0, 0) => String::new(),
            (_, 0) => format!("CS{class}"),
            (5, 6) => "EF".into(),
            (1..=4, 2 | 4 | 6) => format!("AF{class}{}", low / 2),
            _ => self.0.to_string(),
        }
    }

    /// The forms of a code point that [`Dscp::parse`] reads, for messages.
    pub const WORDS: &'static str = "EF, VA, AF11 to AF43, CS0 to CS7, LE, BE, or a number from 0 to 63";

    /// The code point of a name, or of a number as text.
    ///
    /// # Errors
    /// There is no such code point.
    ///
    /// ```
    /// use tailback_base::Dscp;
    ///
    /// assert_eq!(Dscp::parse("EF"), Ok(Dscp(46)));
    /// assert_eq!(Dscp::parse("44"), Ok(Dscp(44)));
    /// assert!(Dscp::parse("AF14").is_err());
    /// ```
    pub fn parse(word: &str) -> Result<Dscp, Refusal> {
        // Lower effort (RFC 8622), voice admit (RFC 5865), and two names of best effort, which tables leave empty.
        const MORE: [(&str, u8); 4] = [("LE", 1), ("VA", 44), ("BE", 0), ("CS0", 0)];
        let named = (0..64).map(|code| (Dscp(code).name(), code));
        let named_codes: Vec<(String, u8)> = named
            .chain(MORE.map(|(name, code)| (name.into(), code)))
            .filter(|(name, _)| !name.is_empty())
            .collect();
        let numeric = word.parse::<u8>().ok().filter(|code| *code < 64);
        let code = named_codes
            .iter()
            .find(|(name, _)| name == word)
            .map(|k| k.1)
            .or(numeric);
        code.map(Dscp).ok_or_else(|| {
            let names = named_codes.iter().map(|k| k.0.as_str());
            let names = names.filter(|n| !n.starts_with(char::is_numeric));
            Refusal::new(
                format!("\"{word}\" is no code point"),
                with_nearest(word, names, Dscp::WORDS),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        for (word, code) in [
            ("EF", 46),
            ("AF11", 10),
            ("AF43", 38),
            ("CS6", 48),
            ("LE", 1),
            ("BE", 0),
            ("CS0", 0),
            ("VA", 44),
            ("44", 44),
        ] {
            assert_eq!(Dscp::parse(word), Ok(Dscp(code)), "{word}");
        }
        for (wrong, nearest) in [
            ("EFF", "\"EF\""),
            ("AF14", "AF1"),
            ("64", "0 to 63"),
            ("", "EF, VA, AF11"),
        ] {
            let e = Dscp::parse(wrong).unwrap_err();
            assert!(e.remedy.contains(nearest), "{wrong}: {e}");
        }
    }
}
