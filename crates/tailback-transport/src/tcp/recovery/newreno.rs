//! NewReno: recovery lasts until all that was outstanding at its start is acknowledged (RFC 6582).
//!
//! ```text
//!            third duplicate, ACK beyond `recover`: as Reno, recover = max_sent
//!    Open ----------------------------------------------------------------------> Recovery { first_partial }
//!         <----------------------------------------------------------------------
//!            ACK of `recover`: deflate        timeout: deflate, window one, go back
//! ```
//!
//! A new ACK short of `recover` (a partial ACK) says that the next segment is lost as well: it is resent at once and the
//! window is deflated by what was acknowledged. One loss is repaired a round trip. The *impatient* form restarts the
//! retransmission timer at the first partial ACK only, so that a window with many losses ends in a timeout; the *slow but
//! steady* form restarts it at each (RFC 6582 section 4).

use super::reno::enter;
use super::{Duplicate, LossRecovery, before_threshold};
use crate::tcp::state::{ControlBlock, NewAck, Piece};
use tailback_base::Time;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NewRenoRecovery {
    #[default]
    Open,
    Recovery {
        /// A partial ACK was seen.
        partial: bool,
    },
}

impl LossRecovery for NewRenoRecovery {
    fn on_ack(&mut self, c: &mut ControlBlock, a: &NewAck, _sack: &[(u64, u64)]) {
        match self {
            NewRenoRecovery::Open => {
                c.forget_duplicates();
                c.grow(a);
                c.timer_after_ack(a.now);
            }
            NewRenoRecovery::Recovery { partial } if c.una < c.recover => {
                let segment = i64::from(c.cfg.payload);
                // RFC 6582 section 3.2 step 3: "Deflate the congestion window by the amount of new data acknowledged by
                // the Cumulative Acknowledgment field. If the partial ACK acknowledges at least one SMSS of new data,
                // then add back SMSS bytes to the congestion window."
                let bytes = a.bytes as i64;
                c.inflation -= bytes - if bytes >= segment { segment } else { 0 };
                // Not below one segment: what the window itself allows has been paid for by the halving.
                c.inflation = c.inflation.max(segment);
                c.resend_first();
                if !c.cfg.impatient || !*partial {
                    c.restart_timer(a.now);
                }
                *partial = true;
            }
            NewRenoRecovery::Recovery { .. } => {
                *self = NewRenoRecovery::Open;
                c.inflation = 0;
                c.forget_duplicates();
                if c.cfg.exit_to_flight {
                    // Step 3, option 1: "min (ssthresh, max(FlightSize, SMSS) + SMSS)".
                    let segment = c.cfg.segment();
                    let flight = (c.flight() as f64).max(segment) + segment;
                    let window = c.cc.ssthresh().min(flight);
                    c.cc.set_cwnd(window);
                }
                if c.cfg.grow_on_exit {
                    c.grow(a);
                }
                c.timer_after_ack(a.now);
            }
        }
    }

    fn on_duplicate(&mut self, c: &mut ControlBlock, d: &Duplicate) {
        if !d.classic {
            return;
        }
        c.dup += 1;
        match self {
            NewRenoRecovery::Recovery { .. } => c.inflation += i64::from(c.cfg.payload),
            NewRenoRecovery::Open if c.dup < c.cfg.dupack_threshold => before_threshold(c),
            // Step 2: "the Cumulative Acknowledgment field covers more than recover".
            NewRenoRecovery::Open if c.dup == c.cfg.dupack_threshold && c.una > c.recover => {
                enter(c, d.now);
                c.recover = c.max_sent;
                *self = NewRenoRecovery::Recovery { partial: false };
            }
            NewRenoRecovery::Open => {}
        }
    }

    fn on_timeout(&mut self, c: &mut ControlBlock, now: Time) {
        *self = NewRenoRecovery::Open;
        c.timed_out(now);
    }

    #[inline]
    fn next(&mut self, c: &mut ControlBlock) -> Option<Piece> {
        c.next_in_order()
    }

    fn in_recovery(&self) -> bool {
        matches!(self, NewRenoRecovery::Recovery { .. })
    }
}
