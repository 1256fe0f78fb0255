//! The length of a packet on the link, from its size, the bytes that the link adds, and the framing.

use tailback_base::{Key, Kind, Settings, params};

params! {
    /// The bytes that the link adds to a packet.
    pub OVERHEAD: u64 = Key::new("overhead", Kind::Bytes { min: 0, max: 1000 }, "0B",
        "How many bytes the link adds to each packet.", "tc-cake(8), tc-stab(8)");
    /// The smallest length of a packet.
    pub MPU: u64 = Key::new("mpu", Kind::Bytes { min: 0, max: 1000 }, "0B",
        "The least length of a packet on the link.", "tc-cake(8), tc-stab(8)");
    /// The framing.
    pub FRAMING: Framing = Key::choice("framing", "plain",
        "How the link frames packets: it adds nothing, it uses cells of 53 B that carry 48 B, or it adds a byte for \
         each 64.", "tc-cake(8)");
}

tailback_base::choice! {
    /// How a link frames packets.
    pub enum Framing {
        Plain = "plain",
        /// Cells of 53 B that carry 48 B each.
        Atm = "atm",
        /// 64 B of a packet take 65 B.
        Ptm = "ptm",
    }
}

/// The rule of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Length {
    /// The bytes that the link adds to a packet.
    pub overhead: u64,
    pub mpu: u64,
    pub framing: Framing,
}

impl Length {
    /// The rule in the settings of a model with these three parameters.
    pub fn from_settings(s: &Settings) -> Length {
        Length {
            overhead: s.get(&OVERHEAD),
            mpu: s.get(&MPU),
            framing: s.get(&FRAMING),
        }
    }

    /// The bytes on the link for a packet of this size.
    pub fn of(&self, bytes: u32) -> u64 {
        let length = (u64::from(bytes) + self.overhead).max(self.mpu);
        match self.framing {
            Framing::Plain => length,
            Framing::Atm => 53 * length.div_ceil(48),
            Framing::Ptm => length + length.div_ceil(64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_frames_take_more() {
        let length = |framing, overhead, mpu, bytes| Length { overhead, mpu, framing }.of(bytes);
        assert_eq!(length(Framing::Atm, 40, 0, 1500), 1749);
        assert_eq!(length(Framing::Ptm, 30, 0, 1500), 1554);
        assert_eq!(length(Framing::Atm, 40, 0, 40), 106);
        assert_eq!(length(Framing::Plain, 18, 64, 40), 64);
        assert_eq!(length(Framing::Plain, 18, 64, 100), 118);
        assert_eq!(
            length(Framing::Atm, 0, 64, 10),
            106,
            "the least counts before the cells"
        );
    }
}
