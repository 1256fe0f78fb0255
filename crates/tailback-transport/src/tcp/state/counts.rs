//! The other end's counts of congestion marks, if accurate ECN is agreed on (RFC 9768).

use super::ControlBlock;
use crate::segment::{Flags, Segment};
use crate::tcp::accurate::{Arrivals, Delivered, FIRST_ACE};
use crate::tcp::config::EcnMode;
use crate::tcp::handshake::Agreed;

impl ControlBlock {
    /// The options that the SYN requested, which its answer may grant.
    pub fn asked_for_ecn(&self) -> Agreed {
        self.ecn.asked
    }

    /// Set the use of marks on which both ends agreed. `opens` says whether the next segment is the last of the
    /// handshake.
    pub(super) fn agree(&mut self, agreed: Agreed, opens: bool) {
        let by_counts = self.cfg.capable_by_counts(agreed);
        self.ecn.agreed = agreed.is_ecn() && !(agreed == Agreed::Accurate && self.ecn.withheld);
        self.ecn.echoed = agreed == Agreed::Classic;
        self.ecn.capable_again |= by_counts;
        self.ecn.on_acks = self.cfg.ect_on_acks || by_counts;
        if let Some(accurate) = self.cfg.accurate.filter(|_| agreed == Agreed::Accurate) {
            self.counts = Some(Box::new(Delivered::new(accurate.form, self.cfg.payload, opens)));
            if !self.cfg.two_way {
                self.ecn.ace = Flags::of_ace(FIRST_ACE);
            }
            self.look_whether_more();
        }
    }

    /// RFC 9768 section 3.1.5: after a SYN or SYN-ACK without ECN flags an end with accurate ECN still counts marks,
    /// but sends no ECN-capable packets.
    pub fn withhold_ect(&mut self) {
        self.ecn.withheld = true;
    }

    #[inline]
    pub fn counts_marks(&self) -> bool {
        self.counts.is_some()
    }

    /// Whether there are counted marks that the controller has not got yet.
    pub fn has_unheard_marks(&self) -> bool {
        self.counts.as_ref().is_some_and(|c| c.has_unheard())
    }

    pub fn seen_counts(&self) -> Option<&Delivered> {
        self.counts.as_deref()
    }

    /// Count the marks of a segment that acknowledges nothing new.
    pub fn count_marks(&mut self, s: &Segment) {
        self.count(s, Arrivals::default());
    }

    /// Count the marks of an acknowledgement, after the records were updated. Returns whether it shows marks that need
    /// a response.
    #[inline(never)]
    pub fn count_new_marks(&mut self, s: &Segment, in_recovery: bool) -> bool {
        let bytes = self.sent.as_ref().map_or(0, |list| list.newly());
        let new = Arrivals {
            packets: bytes.div_ceil(u64::from(self.cfg.payload)) as u32,
            bytes,
            told_apart: self.cfg.sack || !in_recovery,
        };
        self.count(s, new);
        let unheard = self.has_unheard_marks();
        if unheard && self.cfg.ecn == EcnMode::Ignore {
            if let Some(counts) = &mut self.counts {
                counts.hear();
            }
            return false;
        }
        unheard
    }

    fn count(&mut self, s: &Segment, new: Arrivals) {
        if let Some(counts) = &mut self.counts
            && !counts.take(s, new)
        {
            self.ecn.agreed = false;
        }
    }
}
