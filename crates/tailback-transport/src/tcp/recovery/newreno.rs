//! NewReno: recovery lasts until all that was outstanding at its start is acknowledged (RFC 6582).
//!
//! ```text
//!            third duplicate, ACK beyond `recover`: as Reno, recover = max_sent
//!    Open ----------------------------------------------------------------------> Recovery { first_partial }
//!         <----------------------------------------------------------------------
//!            ACK of `recover`: deflate        timeout: deflate, window one, go back
//! ```
//!
//! A new ACK below `recover` (a partial ACK) shows that the next segment is lost as well. This segment is sent again at
//! once, and the window is deflated by the acknowledged bytes. One loss is repaired per round trip. The *impatient*
//! form restarts the retransmission timer only at the first partial ACK, so a window with many losses ends in a
//! timeout. The *slow but steady* form restarts it at each partial ACK (RFC 6582 section 4).

use super::reno::enter;
use super::{Duplicate, LossRecovery, without_reports};
use crate::tcp::state::{Ack, ControlBlock, Judged, Piece};
use tailback_base::Time;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NewRenoRecovery {
    #[default]
    Open,
    Recovery {
        /// Whether a partial ACK has arrived.
        partial: bool,
    },
}

impl LossRecovery for NewRenoRecovery {
    #[inline]
    fn on_ack(&mut self, c: &mut ControlBlock, a: &Ack, _sack: &[(u64, u64)]) -> Judged {
        match self {
            NewRenoRecovery::Open => {
                c.keep_inflation();
                c.forget_duplicates();
                c.timer_after_ack(a.now);
                without_reports(c, false)
            }
            NewRenoRecovery::Recovery { partial } if c.una() < c.recover() && c.repairs_on() => {
                c.deflate(a.bytes);
                c.lose_first();
                c.resend_first();
                if !c.cfg().impatient || !*partial {
                    c.restart_timer(a.now);
                }
                *partial = true;
                without_reports(c, true)
            }
            NewRenoRecovery::Recovery { .. } => {
                *self = NewRenoRecovery::Open;
                c.end_inflation();
                c.forget_duplicates();
                c.end_recovery(c.cfg().exit_to_flight);
                c.timer_after_ack(a.now);
                without_reports(c, !c.cfg().grow_on_exit)
            }
        }
    }

    fn on_duplicate(&mut self, c: &mut ControlBlock, d: &Duplicate<'_>) -> Judged {
        if d.classic {
            let duplicates = c.count_duplicate();
            let threshold = c.cfg().dupack_threshold;
            match self {
                NewRenoRecovery::Recovery { .. } => c.inflate(1),
                NewRenoRecovery::Open if duplicates < threshold => c.limited_transmit(),
                NewRenoRecovery::Open if duplicates == threshold && c.may_retransmit_fast() => {
                    if enter(c, d.now) {
                        c.remember_recover();
                    }
                    *self = NewRenoRecovery::Recovery { partial: false };
                }
                // With `inflates_window`, data that were outstanding at a timeout are repaired as in a separate
                // episode.
                NewRenoRecovery::Open if duplicates == threshold && c.cfg().inflates_window => {
                    *self = NewRenoRecovery::Recovery { partial: true };
                }
                NewRenoRecovery::Open => {}
            }
        }
        without_reports(c, self.in_recovery())
    }

    fn on_timeout(&mut self, c: &mut ControlBlock, now: Time) {
        *self = NewRenoRecovery::Open;
        c.timed_out(c.outstanding(), now);
        c.forget_duplicates();
    }

    fn burst(&self, c: &ControlBlock) -> u32 {
        let cfg = c.cfg();
        if *self == (NewRenoRecovery::Recovery { partial: false }) && cfg.inflates_window && c.resend_is_due() {
            0
        } else if self.in_recovery() {
            cfg.recovery_burst.min(cfg.max_burst)
        } else {
            cfg.max_burst
        }
    }

    #[inline]
    fn next(&mut self, c: &mut ControlBlock) -> Option<Piece> {
        c.next_in_order()
    }

    fn undone(&mut self, _c: &mut ControlBlock, _within: bool) {
        *self = NewRenoRecovery::Open;
    }

    #[inline]
    fn sends_in_order(&self) -> bool {
        true
    }

    #[inline]
    fn in_recovery(&self) -> bool {
        matches!(self, NewRenoRecovery::Recovery { .. })
    }
}
