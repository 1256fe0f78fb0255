//! Counters of received packets (RFC 9768 section 3.2), and the times at which they are sent.
//!
//! The state is the number of packets with CE, the bytes by codepoint, and the codepoint of the last segment of data.

use super::{FIRST_ACE, FIRST_BYTES, MASK};
use crate::segment::EcnCounts;
use crate::tcp::config::AccurateForm;
use tailback_base::Ecn;

/// The option space of a segment, B. A TCP header has at most 60 B, and 20 B of these are fixed.
const ROOM: u32 = 40;
/// The size of time stamps with their padding, and of the SACK option without its blocks, B.
const STAMPS: u32 = 12;
const SACK: u32 = 4;
const BLOCK: u32 = 8;
/// The number of marked packets after which an acknowledgement is sent at once (section 3.2.2.5.1), with new data and
/// without new data.
const MARKS_WITH_DATA: u8 = 2;
const MARKS_WITHOUT: u8 = 3;

/// The counters of one end.
#[derive(Clone, Debug)]
pub struct Received {
    form: AccurateForm,
    /// Packets that were marked, acknowledgements included.
    marked: u32,
    ect1: u32,
    ce: u32,
    ect0: u32,
    /// The number of marked packets that no segment has reported yet.
    unsaid: u8,
    /// The code point of the last segment of data.
    last: Ecn,
    /// The number of fields of the option up to the last field that has changed.
    changed: u8,
    /// Whether this end sends the option if the other end supports it.
    may_say_bytes: bool,
    says_bytes: bool,
    /// The flags of the next acknowledgement. They do not have the counter but say with which code point the other
    /// end's SYN-ACK arrived (table 3).
    reflects: Option<u8>,
}

impl Received {
    /// `option` says whether this end sends the option.
    pub fn new(form: AccurateForm, option: bool) -> Received {
        Received {
            form,
            marked: 0,
            ect1: FIRST_BYTES,
            ce: 0,
            ect0: FIRST_BYTES,
            unsaid: 0,
            last: Ecn::NotEct,
            changed: 0,
            may_say_bytes: option,
            says_bytes: false,
            reflects: None,
        }
    }

    /// The number of packets that arrived marked.
    pub fn marked(&self) -> u32 {
        self.marked
    }

    /// Send the option from now on. The other end has sent it, or there is no handshake that shows whether it does.
    pub fn hears_option(&mut self) {
        self.says_bytes = self.may_say_bytes;
    }

    /// The other end's SYN-ACK arrived with this code point. A mark on it counts.
    pub fn reflect(&mut self, arrived: Ecn) {
        self.reflects = Some(crate::tcp::handshake::reflected(arrived));
    }

    /// A packet of the other end. Returns whether the packet is acknowledged at once. This is so for a mark after
    /// packets without a mark (in Linux for every change), or if enough marks are not reported yet.
    pub fn arrives(&mut self, ecn: Ecn, payload: u32) -> bool {
        let marked = ecn == Ecn::Ce;
        if marked {
            self.marked += 1;
            self.unsaid = self.unsaid.saturating_add(1);
        }
        if payload == 0 {
            return marked && self.unsaid >= MARKS_WITHOUT;
        }
        let (counter, field) = match ecn {
            Ecn::NotEct => (None, 0),
            Ecn::Ect1 => (Some(&mut self.ect1), 1),
            Ecn::Ce => (Some(&mut self.ce), 2),
            Ecn::Ect0 => (Some(&mut self.ect0), 3),
        };
        if let Some(bytes) = counter {
            *bytes = bytes.wrapping_add(payload) & MASK;
        }
        self.changed = self.changed.max(field);
        let changes = match self.form {
            AccurateForm::Rfc9768 => marked && self.last != Ecn::Ce,
            AccurateForm::Linux => ecn != self.last,
        };
        self.last = ecn;
        changes || (marked && self.unsaid >= MARKS_WITH_DATA)
    }

    /// The ACE number for the flags of the next segment.
    pub fn ace(&mut self) -> u8 {
        self.unsaid = 0;
        self.reflects
            .take()
            .unwrap_or((FIRST_ACE + (self.marked & 7) as u8) & 7)
    }

    /// The option of the next segment with time stamps and this many SACK blocks, and the number of blocks that stay.
    /// If there are more than two blocks, one or two of them may be left out to make room for the option. The option
    /// has all fields that fit, but at least those that have ever changed.
    pub fn option(&self, stamps: bool, blocks: usize) -> (Option<EcnCounts>, usize) {
        if !self.says_bytes {
            return (None, blocks);
        }
        let least = blocks.min(2);
        for kept in (least..=blocks).rev() {
            let sack = if kept > 0 { SACK + BLOCK * kept as u32 } else { 0 };
            let room = ROOM - if stamps { STAMPS } else { 0 } - sack;
            for fields in (self.changed..=3).rev() {
                if padded(fields, kept) <= room {
                    return (Some(self.counts(fields)), kept);
                }
            }
        }
        (None, blocks)
    }

    /// The option of a SYN-ACK, which is sent before the other end has shown that it supports the option.
    pub fn first_option(&self) -> Option<EcnCounts> {
        self.may_say_bytes.then(|| self.counts(3))
    }

    /// All counts, with this number of fields.
    pub fn counts(&self, fields: u8) -> EcnCounts {
        EcnCounts {
            ect1: self.ect1,
            ce: self.ce,
            ect0: self.ect0,
            fields,
        }
    }
}

/// The bytes of an option with this many fields, padded to whole words. If there are SACK blocks, the option may take
/// the place of their padding of two bytes.
pub fn padded(fields: u8, blocks: usize) -> u32 {
    match (fields, blocks) {
        (3, _) => 12,
        (2, _) => 8,
        (1, 0) => 8,
        (1, _) => 4,
        (_, 0) => 4,
        (_, _) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends() -> [Received; 2] {
        [AccurateForm::Rfc9768, AccurateForm::Linux].map(|form| {
            let mut r = Received::new(form, true);
            r.hears_option();
            r
        })
    }

    /// Packets of 1000 B arrive with CE, ECT(0), CE, ECT(1) and CE. ACE is then 6, 6, 7, 7 and 0.
    #[test]
    fn counters_say_what_came() {
        for mut r in ends() {
            let came = [Ecn::Ce, Ecn::Ect0, Ecn::Ce, Ecn::Ect1, Ecn::Ce];
            let counters = came.map(|ecn| {
                r.arrives(ecn, 1000);
                let c = r.counts(3);
                (r.ace(), c.ce, c.ect0, c.ect1)
            });
            assert_eq!(counters.map(|s| s.0), [6, 6, 7, 7, 0]);
            assert_eq!(counters.map(|s| s.1), [1000, 1000, 2000, 2000, 3000]);
            assert_eq!(counters.map(|s| s.2), [1, 1001, 1001, 1001, 1001]);
            assert_eq!(counters.map(|s| s.3), [1, 1, 1, 1001, 1001]);
        }
    }

    /// When an ACK reports marks: in the RFC at the first and at every second mark, in Linux at each change.
    #[test]
    fn changes_are_said_at_once() {
        let codepoints = [Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::Ect0, Ecn::Ect0, Ecn::Ce];
        let [mut rfc, mut linux] = ends();
        assert_eq!(
            codepoints.map(|e| rfc.arrives(e, 1000)),
            [false, true, true, false, false, true]
        );
        assert_eq!(
            codepoints.map(|e| linux.arrives(e, 1000)),
            [true, true, true, true, false, true]
        );
        // Marked acknowledgements count as packets, not as bytes, and only the third one is answered.
        let [mut rfc, _] = ends();
        assert_eq!([(); 3].map(|()| rfc.arrives(Ecn::Ce, 0)), [false, false, true]);
        assert_eq!((rfc.ace(), rfc.counts(3).ce), (0, 0));
    }

    /// With time stamps and SACK blocks there is room for some fields. Blocks are left out to make room for the fields
    /// that changed.
    #[test]
    fn the_option_takes_the_room_there_is() {
        let [mut r, _] = ends();
        let fields = |r: &Received, stamps, blocks| {
            let (counts, kept) = r.option(stamps, blocks);
            (counts.map(|c| c.fields), kept)
        };
        assert_eq!(fields(&r, true, 1), (Some(3), 1));
        assert_eq!(fields(&r, true, 2), (Some(2), 2));
        r.arrives(Ecn::Ce, 1000);
        assert_eq!(fields(&r, true, 3), (Some(2), 2));
        assert_eq!(fields(&r, false, 4), (Some(3), 3));
        r.arrives(Ecn::Ect0, 1000);
        assert_eq!(fields(&r, true, 3), (None, 3));
        assert_eq!(fields(&r, false, 3), (Some(3), 3));
    }
}
