//! What the other end's counts say about the packets that this end sent: how many of the packets that an ACK shows to
//! have arrived were marked.
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
//! The sources are RFC 9768 section 3.2.2.5 and appendix A.2, and net/ipv4/tcp_input.c of Linux 7.0. Linux has an
//! average of packets per ACK, which the RFC does not have. The first sample sets this average, and later samples have
//! a weight of 1/64.
//!
//! Departure: the number of packets n is that of newly acknowledged bytes in full segments, so n is too small if an
//! application sends shorter segments. The state is four counters, an average, and the last time stamp. An ACK costs
//! some additions.

use super::{FIRST_ACE, FIRST_BYTES, MASK};
use crate::segment::Segment;
use crate::tcp::config::AccurateForm;
use tailback_base::Time;

/// The average number of packets per ACK is kept with this many fractional bits. A new sample has a weight of two to
/// the power of minus `WEIGHT`.
const PARTS: u32 = 6;
const WEIGHT: u32 = 6;
/// If the average exceeds this, ACKs are taken to be thinned on the path.
const THINNED: u32 = 4 << PARTS;
/// With this many packets or more, the option shows whether eight more packets were marked.
const MANY: u32 = 16;
/// The largest difference of two ACE values.
const MOST: u32 = 7;

/// The segments that an ACK shows to have arrived, by its number or by its SACK blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Arrivals {
    pub packets: u32,
    pub bytes: u64,
    /// The reports are complete, because SACK is used or no repair is in progress.
    pub told_apart: bool,
}

/// The marked part of the data that an ACK shows to have arrived, in bytes and packets.
pub type Marked = (u64, u32);

/// The counts of marks among the packets that this end sent.
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
    /// The average number of packets per ACK, with `PARTS` fractional bits; 0: no ACK has arrived.
    mean: u32,
    stamp: Time,
    /// The next segment is the last of the handshake, and its flags say with which code point the SYN-ACK arrived.
    opens: bool,
    /// No segment has arrived since the SYNs.
    fresh: bool,
    /// The marked data that have not been passed on yet.
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

    /// Whether some marks have not been passed on yet.
    pub fn has_unheard(&self) -> bool {
        self.unheard.1 > 0
    }

    /// Pass on the marked data since the last call.
    pub fn hear(&mut self) -> Marked {
        std::mem::take(&mut self.unheard)
    }

    /// Take a segment of the other end. `new` is the data that this segment shows to have arrived. Returns false if the
    /// segment shows that something on the path clears the flags, because the first ACE is 0 (RFC 9768 section
    /// 3.2.2.4).
    pub fn take(&mut self, s: &Segment, new: Arrivals) -> bool {
        let newer = s.timestamps.is_some_and(|(value, _)| value > self.stamp);
        if let Some((value, _)) = s.timestamps.filter(|_| newer) {
            self.stamp = value;
        }
        let fresh = std::mem::take(&mut self.fresh);
        let is_kept = !fresh || s.flags.ace() != 0;
        if std::mem::take(&mut self.opens) {
            // Table 3. If the last segment of the handshake was lost, the first data segment has the counter instead.
            self.marked += u32::from(s.payload == 0 && s.flags.ace() == 0b110);
        } else if is_kept && (new.packets > 0 || newer) {
            self.count(s, new);
        }
        is_kept
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

    /// How many of the new arrivals were marked, if the flags give `d` modulo 8.
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
        let ce_before = self.ce;
        let fields = [
            (&mut self.ect1, c.ect1, FIRST_BYTES),
            (&mut self.ce, c.ce, 0),
            (&mut self.ect0, c.ect0, FIRST_BYTES),
        ];
        for (known, field, initial) in fields.into_iter().take(usize::from(c.fields)) {
            let change = field.wrapping_sub(initial).wrapping_sub(*known) & MASK;
            // A difference in the upper half is a step backwards, which comes from an overtaken ACK.
            if change <= MASK >> 1 {
                *known = known.wrapping_add(change);
            }
        }
        Some(self.ce.wrapping_sub(ce_before))
    }
}

#[cfg(test)]
mod tests;
