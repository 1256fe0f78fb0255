//! Tahoe: a lost segment starts everything anew (Jacobson 1988).
//!
//! The third duplicate retransmits without waiting for the timer, but then the window is one segment and all that was
//! outstanding is sent again in slow start. Duplicates that those repeats cause must not start it a second time, so a
//! fast retransmit needs an acknowledgement beyond everything sent before the last one (the "careful" rule of RFC 6582
//! section 6, ns-2's `bugFix_`). There is no recovery state at all.

use super::{Duplicate, LossRecovery, before_threshold};
use crate::tcp::state::{ControlBlock, NewAck, Piece};
use tailback_base::Time;

#[derive(Clone, Copy, Debug)]
pub struct TahoeRecovery;

impl LossRecovery for TahoeRecovery {
    fn on_ack(&mut self, c: &mut ControlBlock, a: &NewAck, _sack: &[(u64, u64)]) {
        c.forget_duplicates();
        c.grow(a);
        c.timer_after_ack(a.now);
    }

    fn on_duplicate(&mut self, c: &mut ControlBlock, d: &Duplicate) {
        if !d.classic {
            return;
        }
        c.dup += 1;
        if c.dup < c.cfg.dupack_threshold {
            before_threshold(c);
        } else if c.dup == c.cfg.dupack_threshold && c.una > c.recover {
            c.reduce(d.now);
            c.cc.set_cwnd(c.cfg.segment());
            c.recover = c.max_sent;
            c.go_back();
            c.restart_timer(d.now);
        }
    }

    fn on_timeout(&mut self, c: &mut ControlBlock, now: Time) {
        c.timed_out(now);
    }

    #[inline]
    fn next(&mut self, c: &mut ControlBlock) -> Option<Piece> {
        c.next_in_order()
    }

    fn in_recovery(&self) -> bool {
        false
    }
}
