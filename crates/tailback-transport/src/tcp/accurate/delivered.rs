//! What the other end's counts say of the packets that were sent: how many of those that an ACK shows to have arrived
//! were marked.
//!
//! ```text
//!   nothing newly acknowledged, and no newer time stamp    nothing is read: an old ACK would count backwards
//!   d = (ACE - s.cep) mod 8, n newly acknowledged packets
//!   n <= 7                       d
//!   n > 7                        d, or the most that fits: safe = n - ((n - d) mod 8)
//!     option, c its bytes of CE more than before
//!       c = 0                    d
//!       n >= 16                  min(safe, d + the multiple of 8 below c n / bytes)
//!       c > d segments           safe
//!       c < safe / 2 segments    d
//!     no option, Linux, n > 4 on average        d: ACKs are thinned on the path, not by marks that hold them up
//!     otherwise                  safe
//! ```
//!
//! From: RFC 9768 section 3.2.2.5 and appendix A.2; net/ipv4/tcp_input.c of Linux 7.0, whose average of packets per ACK
//! (weight 1/64, the first as it is) the RFC does not have.
//!
//! Departure: packets are newly acknowledged bytes in full segments, so n is too small where an application sends
//! shorter ones. State: four counters, an average, the last time stamp. Cost of an ACK: some additions.

use super::{FIRST_ACE, FIRST_BYTES, MASK};
use crate::segment::Segment;
use crate::tcp::config::AccurateForm;
use tailback_base::Time;

/// The average number of packets an ACK shows is kept in parts of so many bits, and takes a new one by this weight,
/// bits.
const PARTS: u32 = 6;
const WEIGHT: u32 = 6;
/// From this average on, ACKs are thinned on the path.
const THINNED: u32 = 4 << PARTS;
/// From here on what eight more would be can be seen.
const MANY: u32 = 16;
/// The largest difference of two ACE.
const MOST: u32 = 7;

/// The segments that an ACK shows to have arrived, by number or report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Arrivals {
    pub packets: u32,
    pub bytes: u64,
    /// Reports are complete: SACK, or no repair in progress.
    pub told_apart: bool,
}

/// Marked, of what an ACK shows: bytes and packets.
pub type Marked = (u64, u32);

/// What is known of the packets that were sent.
#[derive(Clone, Debug)]
pub struct Delivered {
    form: AccurateForm,
    /// Payload of a full segment.
    segment: u32,
    /// Packets that arrived marked.
    marked: u32,
    /// Bytes that arrived with each codepoint, as the option says.
    ect1: u32,
    ce: u32,
    ect0: u32,
    /// Packets that an ACK shows on average, in parts; 0: none has come.
    mean: u32,
    stamp: Time,
    /// The next segment is the last of the handshake, which says how the SYN-ACK arrived.
    opens: bool,
    /// No segment has come since the SYNs.
    fresh: bool,
    /// Not yet passed on.
    unheard: Marked,
}

impl Delivered {
    /// `opens`: the next segment is the last of the handshake.
    pub fn new(form: AccurateForm, segment: u32, opens: bool) -> Delivered {
        Delivered {
            form,
            segment,
            marked: 0,
            ect1: 0,
            ce: 0,
            ect0: 0,
            mean: 0,
            stamp: Time::ZERO,
            opens,
            fresh: true,
            unheard: (0, 0),
        }
    }

    /// Packets that arrived marked.
    pub fn marked(&self) -> u32 {
        self.marked
    }

    /// Bytes that arrived with ECT(1), CE and ECT(0), as the option said.
    pub fn bytes(&self) -> [u32; 3] {
        [self.ect1, self.ce, self.ect0]
    }

    /// Some that are marked have not been passed on.
    pub fn has_unheard(&self) -> bool {
        self.unheard.1 > 0
    }

    /// Pass on what is marked.
    pub fn hear(&mut self) -> Marked {
        std::mem::take(&mut self.unheard)
    }

    /// A segment of the other end, and what it shows to have arrived. Returns false if it shows that something on the
    /// path clears the flags: the first ACE is 0 (RFC 9768 section 3.2.2.4).
    pub fn take(&mut self, s: &Segment, new: Arrivals) -> bool {
        let newer = s.timestamps.is_some_and(|(value, _)| value > self.stamp);
        if let Some((value, _)) = s.timestamps.filter(|_| newer) {
            self.stamp = value;
        }
        let fresh = std::mem::take(&mut self.fresh);
        let kept = !fresh || s.flags.ace() != 0;
        if std::mem::take(&mut self.opens) {
            // Table 3; data say the counter at once, where the last segment of the handshake was lost.
            self.marked += u32::from(s.payload == 0 && s.flags.ace() == 0b110);
        } else if kept && (new.packets > 0 || newer) {
            self.count(s, new);
        }
        kept
    }

    fn count(&mut self, s: &Segment, new: Arrivals) {
        let grown = self.read_option(s);
        if new.packets > 0 {
            self.mean = match self.mean {
                0 => new.packets << PARTS,
                mean => ((mean << WEIGHT) - mean + (new.packets << PARTS)) >> WEIGHT,
            }
            .min(0xffff);
        }
        let said = u32::from(s.flags.ace().wrapping_sub(FIRST_ACE) & 7);
        let d = said.wrapping_sub(self.marked) & MOST;
        let packets = self.judge(d, new, grown);
        self.marked += packets;
        let bytes = match grown {
            Some(bytes) => u64::from(bytes),
            None => (u64::from(packets) * u64::from(self.segment)).min(new.bytes),
        };
        self.unheard.0 += bytes;
        self.unheard.1 += packets;
    }

    /// How many of the new arrivals were marked, where the flags say `d` modulo 8.
    fn judge(&self, d: u32, new: Arrivals, grown: Option<u32>) -> u32 {
        let n = new.packets;
        if n <= MOST {
            return d;
        }
        let safe = n - ((n - d) & MOST);
        let Some(c) = grown else {
            let thinned = self.form == AccurateForm::Linux && self.mean > THINNED;
            return if thinned { d } else { safe };
        };
        if c == 0 {
            return d;
        }
        if n >= MANY && new.told_apart {
            if new.bytes <= u64::from(c) {
                return safe;
            }
            let about = (u64::from(c) * u64::from(n)).div_ceil(new.bytes) as u32;
            return safe.min(d + (about & !MOST));
        }
        let [said, bytes] = [d, safe].map(|packets| u64::from(packets) * u64::from(self.segment));
        let c = u64::from(c);
        if c > said {
            safe
        } else if c < bytes / 2 {
            d
        } else {
            safe
        }
    }

    /// The increase of the bytes with CE; `None` without the option.
    fn read_option(&mut self, s: &Segment) -> Option<u32> {
        let c = s.counts.as_deref()?;
        let before = self.ce;
        let fields = [
            (&mut self.ect1, c.ect1, FIRST_BYTES),
            (&mut self.ce, c.ce, 0),
            (&mut self.ect0, c.ect0, FIRST_BYTES),
        ];
        for (known, said, first) in fields.into_iter().take(usize::from(c.fields)) {
            let change = said.wrapping_sub(first).wrapping_sub(*known) & MASK;
            // The upper half are steps backwards: an ACK that was overtaken.
            if change <= MASK >> 1 {
                *known = known.wrapping_add(change);
            }
        }
        Some(self.ce.wrapping_sub(before))
    }
}

#[cfg(test)]
mod tests;
