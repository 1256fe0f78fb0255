//! Reno: fast retransmit and fast recovery (RFC 5681 section 3.2).
//!
//! ```text
//!            third duplicate: halve, resend the first, inflate by three
//!    Open --------------------------------------------------------------> Recovery (each further duplicate inflates)
//!         <--------------------------------------------------------------
//!            any new ACK: deflate          timeout: deflate, window one, go back
//! ```
//!
//! The inflation is stored separately from the window (by [`ControlBlock::inflate`]). It stands for segments that have
//! left the network, and deflating means dropping the inflation. One loss per window is repaired without a timeout. If
//! there are several losses, the first new ACK ends recovery. Each further loss then needs three new duplicates, which
//! often do not arrive. After a timeout, duplicates of the data that were outstanding at the timeout start no recovery.

use super::{Duplicate, LossRecovery, without_reports};
use crate::tcp::state::{Ack, ControlBlock, Judged, Piece};
use tailback_base::Time;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RenoRecovery {
    #[default]
    Open,
    Recovery,
}

impl LossRecovery for RenoRecovery {
    #[inline]
    fn on_ack(&mut self, c: &mut ControlBlock, a: &Ack, _sack: &[(u64, u64)]) -> Judged {
        c.forget_duplicates();
        let ended = std::mem::take(self) == RenoRecovery::Recovery;
        // RFC 5681 section 3.2 step 6: "cwnd = ssthresh". The window has had this value since the loss.
        if !ended {
            c.keep_inflation();
        }
        c.end_inflation();
        if ended {
            c.end_recovery(false);
        }
        c.timer_after_ack(a.now);
        without_reports(c, ended && !c.cfg().grow_on_exit)
    }

    fn on_duplicate(&mut self, c: &mut ControlBlock, d: &Duplicate<'_>) -> Judged {
        if d.classic {
            let duplicates = c.count_duplicate();
            if duplicates < c.cfg().dupack_threshold {
                c.limited_transmit();
            } else if duplicates == c.cfg().dupack_threshold {
                if c.may_retransmit_fast() {
                    if enter(c, d.now) && c.cfg().careful {
                        c.remember_recover();
                    }
                    *self = RenoRecovery::Recovery;
                }
            } else if *self == RenoRecovery::Recovery || c.cfg().inflates_window {
                // Step 4: "For each additional duplicate ACK received [...] cwnd MUST be incremented by SMSS."
                c.inflate(1);
            }
        }
        without_reports(c, self.in_recovery())
    }

    fn on_timeout(&mut self, c: &mut ControlBlock, now: Time) {
        *self = RenoRecovery::Open;
        c.timed_out(c.outstanding(), now);
        c.forget_duplicates();
    }

    fn burst(&self, c: &ControlBlock) -> u32 {
        let cfg = c.cfg();
        if self.in_recovery() && cfg.inflates_window && c.resend_is_due() {
            0
        } else {
            cfg.max_burst
        }
    }

    #[inline]
    fn next(&mut self, c: &mut ControlBlock) -> Option<Piece> {
        c.next_in_order()
    }

    fn undone(&mut self, _c: &mut ControlBlock, _within: bool) {
        *self = RenoRecovery::Open;
    }

    #[inline]
    fn sends_in_order(&self) -> bool {
        true
    }

    #[inline]
    fn in_recovery(&self) -> bool {
        *self == RenoRecovery::Recovery
    }
}

/// Steps 2 and 3 of RFC 5681 section 3.2: halve, send the first segment again, "cwnd [...] set to ssthresh plus
/// 3*SMSS". Returns whether an episode begins, see [`ControlBlock::reduce`].
pub(super) fn enter(c: &mut ControlBlock, now: Time) -> bool {
    let begins = c.reduce(now);
    c.lose_first();
    c.resend_first();
    c.end_inflation();
    c.inflate(c.cfg().dupack_threshold);
    c.restart_timer(now);
    begins
}
