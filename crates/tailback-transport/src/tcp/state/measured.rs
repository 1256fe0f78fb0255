//! Facts from the records of sent segments: the round trip of an ACK, the reported segments, and whether the rate is
//! not that of the path.

use super::{ControlBlock, real};
use crate::tcp::config::{Config, RackForm};
use crate::tcp::recovery::sent::{Keep, SentList};
use tailback_base::Time;

impl ControlBlock {
    pub(super) fn records_keeping(cfg: &Config, keep: Keep) -> SentList {
        let linux = cfg.repair.rack_form == RackForm::Linux;
        SentList::keeping(keep)
            .counting_duplicates(linux)
            .telling_losses(cfg.asked.losses)
    }

    /// The sending time of the segment whose round trip this ACK measures, from the records. In Linux this may also be
    /// a segment that is only reported. Without time stamps there is one segment for each ACK in Linux.
    #[inline]
    pub(super) fn measured(&self) -> Option<Time> {
        let each = self.measures_each();
        self.sent.as_ref().filter(|_| each).and_then(|list| list.measured())
    }

    /// Whether the records of sent segments give the round trip that each ACK measures. If so, no single segment has to
    /// be timed.
    #[inline]
    pub(super) fn measures_each(&self) -> bool {
        self.more && self.sent.is_some() && self.cfg.repair.rack_form == RackForm::Linux
    }

    pub fn seen_records(&self) -> Option<&SentList> {
        self.sent.as_deref()
    }

    /// Bytes reported above the ACK number, from the records.
    pub fn sacked_bytes(&self) -> u64 {
        self.sent.as_ref().map_or(0, |list| list.sacked_bytes())
    }

    /// Bytes above the ACK number for which duplicates stand, from the records.
    pub fn counted_bytes(&self) -> u64 {
        self.sent.as_ref().map_or(0, |list| list.counted_bytes())
    }

    /// Mark rates as not showing the path's capacity while the controller deliberately sends less.
    pub fn note_own_limit(&mut self) {
        if let Some(list) = &mut self.sent
            && self.control.limits_itself()
        {
            list.application_limited();
        }
    }

    /// There is nothing to send. If the window has room, the application limits the rate.
    pub fn application_limited(&mut self) {
        if let Some(list) = &mut self.sent
            && real(list.in_flight()) + self.cfg.segment() <= self.window.cwnd
        {
            list.application_limited();
        }
    }
}
