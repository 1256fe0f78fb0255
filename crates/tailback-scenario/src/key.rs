//! The key under which a run is stored. It depends on everything that determines the results of the run.

use std::fmt;

/// A hash, written as 32 hexadecimal digits. It takes only sixteen bytes, so that a plan of many runs needs little
/// memory.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key([u8; 16]);

impl Key {
    /// FNV-1a of 128 bits.
    pub fn of(bytes: impl IntoIterator<Item = u8>) -> Key {
        let mut h: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
        for b in bytes {
            h = (h ^ u128::from(b)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
        Key(h.to_be_bytes())
    }

    /// A key for several keys in this order.
    pub fn of_all<'a>(keys: impl IntoIterator<Item = &'a Key>) -> Key {
        Key::of(keys.into_iter().flat_map(|k| k.0))
    }

    /// Read a key from its digits.
    pub fn parse(text: &str) -> Option<Key> {
        let digits = text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let number = u128::from_str_radix(text, 16).ok().filter(|_| digits)?;
        Some(Key(number.to_be_bytes()))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_read_back_and_keep_their_order() {
        let mut keys: Vec<Key> = (0..100u8).map(|n| Key::of([n])).collect();
        keys.push(Key::default());
        let mut sorted_keys: Vec<String> = keys.iter().map(Key::to_string).collect();
        assert_eq!(
            keys.iter().map(|k| Key::parse(&k.to_string())).collect::<Vec<_>>(),
            keys.iter().copied().map(Some).collect::<Vec<_>>()
        );
        keys.sort();
        sorted_keys.sort();
        assert_eq!(keys.iter().map(Key::to_string).collect::<Vec<_>>(), sorted_keys);
        let bad = [
            "",
            "1",
            &"g".repeat(32),
            &"A".repeat(32),
            &format!("+{}", "1".repeat(31)),
        ];
        assert!(bad.iter().all(|t| Key::parse(t).is_none()));
    }
}
