//! Tahoe: a lost segment restarts slow start and sends all data after it again (Jacobson 1988).
//!
//! The third duplicate causes a retransmission without waiting for the timer. The window is then one segment, and
//! everything outstanding is sent again in slow start. Duplicates that these repeats cause must not start a second fast
//! retransmit. A fast retransmit therefore needs an acknowledgement beyond everything sent before the last fast
//! retransmit (the "careful" rule of RFC 6582 section 6, ns-2's `bugFix_`). There is no recovery state at all.

use super::{Duplicate, LossRecovery, without_reports};
use crate::tcp::state::{Ack, ControlBlock, Judged, Piece};
use tailback_base::Time;

#[derive(Clone, Copy, Debug, Default)]
pub struct TahoeRecovery;

impl LossRecovery for TahoeRecovery {
    #[inline]
    fn on_ack(&mut self, c: &mut ControlBlock, a: &Ack, _sack: &[(u64, u64)]) -> Judged {
        c.forget_duplicates();
        c.timer_after_ack(a.now);
        without_reports(c, false)
    }

    fn on_duplicate(&mut self, c: &mut ControlBlock, d: &Duplicate<'_>) -> Judged {
        if d.classic {
            let duplicates = c.count_duplicate();
            if duplicates < c.cfg().dupack_threshold {
                c.limited_transmit();
            } else if duplicates == c.cfg().dupack_threshold && c.may_retransmit_fast() {
                if c.reduce(d.now) {
                    c.remember_recover();
                }
                c.collapse();
                c.lose_first();
                c.go_back();
                c.restart_timer(d.now);
            }
        }
        without_reports(c, false)
    }

    fn on_timeout(&mut self, c: &mut ControlBlock, now: Time) {
        c.timed_out(c.outstanding(), now);
        if !c.cfg().timeout_keeps_duplicates {
            c.forget_duplicates();
        }
    }

    #[inline]
    fn next(&mut self, c: &mut ControlBlock) -> Option<Piece> {
        c.next_in_order()
    }

    fn undone(&mut self, _c: &mut ControlBlock, _within: bool) {}

    #[inline]
    fn sends_in_order(&self) -> bool {
        true
    }

    fn in_recovery(&self) -> bool {
        false
    }
}
