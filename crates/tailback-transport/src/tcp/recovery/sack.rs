//! SACK recovery by the scoreboard (RFC 6675).
//!
//! ```text
//!            three duplicates or lost(una), una >= recover: halve, resend the first, recover = max_sent
//!    Open --------------------------------------------------------------------------------> Recovery { rescue }
//!         <--------------------------------------------------------------------------------
//!            ACK of `recover`                            timeout: window one, go back, reports forgotten
//! ```
//!
//! `pipe`, the amount in the network, is computed from the reports. While the window has room for a segment beyond
//! `pipe`, the next segment is sent. Lost segments come first, then new data, and then segments that may be lost. Once
//! per episode the last unreported segment is also sent (the rescue), so that a loss at the end of the window need not
//! wait for the timer. The repair mark is `HighRxt`. A repair that is lost again waits for the timeout.

use super::scoreboard::Scoreboard;
use super::{Duplicate, Known, LossRecovery, without_reports};
use crate::tcp::state::{Ack, ControlBlock, Judged, Piece};
use tailback_base::Time;

#[derive(Clone, Debug, Default)]
pub struct SackRecovery {
    board: Scoreboard,
    phase: SackPhase,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum SackPhase {
    #[default]
    Open,
    Recovery {
        /// RFC 6675 `RescueRxt`.
        rescue: u64,
        /// The unit below which unreported data have been counted as lost.
        lost_below: u64,
    },
}

impl SackRecovery {
    fn enter(&mut self, c: &mut ControlBlock, now: Time) {
        if c.reduce(now) {
            c.remember_recover();
        }
        c.lose_first();
        c.resend_first();
        c.restart_timer(now);
        // Step 4.3: "Set HighRxt to the highest sequence number in the retransmitted segment", and RescueRxt too.
        let end = c.piece(c.una()).map_or(c.una(), |p| p.end());
        self.board.reset_mark(c.una());
        self.board.set_mark(end);
        self.phase = SackPhase::Recovery {
            rescue: end,
            lost_below: end,
        };
    }

    /// An ACK "carrying a SACK block that identifies previously unacknowledged and un-SACKed octets" (section 2): steps
    /// (1) to (3) of section 5.
    fn on_report(&mut self, c: &mut ControlBlock, now: Time) {
        let duplicates = c.count_duplicate();
        // Step (2): "If DupAcks < DupThresh but IsLost (HighACK + 1) returns true".
        let (threshold, segment) = (c.cfg().dupack_threshold, c.cfg().payload);
        if self.in_recovery() {
        } else if duplicates >= threshold || self.board.lost_below(threshold, segment) > c.una() {
            // After a timeout no new episode starts until everything that was outstanding at the timeout is
            // acknowledged (section 5.1).
            if c.una() >= c.recover() {
                self.enter(c, now);
            }
        } else {
            c.limited_transmit();
        }
    }

    /// Count the data that the reports newly show to be lost, and the data in the network.
    fn judge(&mut self, c: &mut ControlBlock, in_recovery: bool) -> Judged {
        if self.board.is_empty() {
            return without_reports(c, in_recovery);
        }
        let edge = self.board.lost_below(c.cfg().dupack_threshold, c.cfg().payload);
        if let SackPhase::Recovery { lost_below, .. } = &mut self.phase
            && edge > *lost_below
        {
            let bytes = self.board.unreported((*lost_below).max(c.una()), edge);
            *lost_below = edge;
            c.note_lost(bytes, edge);
        }
        Judged {
            pipe: self.board.pipe(c.una(), c.max_sent(), edge),
            ..without_reports(c, in_recovery)
        }
    }
}

impl LossRecovery for SackRecovery {
    #[inline]
    fn on_ack(&mut self, c: &mut ControlBlock, a: &Ack, sack: &[(u64, u64)]) -> Judged {
        let mut new = 0;
        if !sack.is_empty() || !self.board.is_empty() {
            new = self.board.update(c.una(), c.max_sent(), sack);
            c.note_sacked(new);
        }
        let mut in_recovery = self.in_recovery();
        if !in_recovery {
            c.forget_duplicates();
        } else if c.una() >= c.recover() {
            self.phase = SackPhase::Open;
            c.forget_duplicates();
            c.end_recovery(false);
            in_recovery = !c.cfg().grow_on_exit;
        }
        c.timer_after_ack(a.now);
        if new > 0 {
            // An ACK that moves the cumulative point may also contain new reports. It then also counts as a duplicate.
            self.on_report(c, a.now);
        }
        self.judge(c, in_recovery || self.in_recovery())
    }

    fn on_duplicate(&mut self, c: &mut ControlBlock, d: &Duplicate<'_>) -> Judged {
        // Section 2: a duplicate is an ACK that "contains a SACK block identifying previously unacknowledged and
        // un-SACKed octets".
        let new = if d.sack.is_empty() {
            0
        } else {
            self.board.update(c.una(), c.max_sent(), d.sack)
        };
        if new > 0 {
            c.note_sacked(new);
            self.on_report(c, d.now);
        }
        self.judge(c, self.in_recovery())
    }

    fn on_timeout(&mut self, c: &mut ControlBlock, now: Time) {
        self.phase = SackPhase::Open;
        let edge = self.board.lost_below(c.cfg().dupack_threshold, c.cfg().payload);
        let pipe = self.board.pipe(c.una(), c.max_sent(), edge);
        // RFC 2018 section 8: "After a retransmit timeout the data sender SHOULD turn off all of the SACKed bits".
        self.board.clear();
        c.timed_out(pipe, now);
        c.forget_duplicates();
    }

    #[inline]
    fn next(&mut self, c: &mut ControlBlock) -> Option<Piece> {
        let SackPhase::Recovery { rescue, .. } = &mut self.phase else {
            // When the sender goes back after a timeout, data reported since the timeout need not be sent again.
            if c.nxt() < c.max_sent() && !self.board.is_empty() {
                c.skip_to(self.board.skip(c.nxt()));
            }
            return c.next_in_order();
        };
        next_in_recovery(&mut self.board, rescue, c)
    }

    fn undone(&mut self, c: &mut ControlBlock, _within: bool) {
        self.phase = SackPhase::Open;
        self.board.reset_mark(c.una());
    }

    fn known(&self) -> Known<'_> {
        Known {
            reported: self.board.reported(),
            lost: match self.phase {
                SackPhase::Recovery { lost_below, .. } => (self.board.mark(), lost_below),
                SackPhase::Open => (0, 0),
            },
        }
    }

    fn sacked(&self, _c: &ControlBlock) -> u64 {
        self.board.total()
    }

    #[inline]
    fn sends_in_order(&self) -> bool {
        !self.in_recovery() && self.board.is_empty()
    }

    #[inline]
    fn in_recovery(&self) -> bool {
        matches!(self.phase, SackPhase::Recovery { .. })
    }
}

/// The segments allowed by step C of RFC 6675 section 5: the first repair, and then the segments that the rules of
/// `NextSeg` give.
fn next_in_recovery(board: &mut Scoreboard, rescue: &mut u64, c: &mut ControlBlock) -> Option<Piece> {
    let resend = c.take_resend();
    if resend.is_some() {
        return resend;
    }
    let segment = c.cfg().payload;
    let lost_below = board.lost_below(c.cfg().dupack_threshold, segment);
    let pipe = board.pipe(c.una(), c.max_sent(), lost_below);
    if c.burst_is_spent() || !c.has_room(pipe) {
        return None;
    }
    let hole = board
        .hole(board.mark().max(c.una()))
        .map(|(from, to)| c.between(from, to));
    // NextSeg rules 1 to 4.
    let piece = if let Some(p) = hole.filter(|p| p.seq < lost_below) {
        board.set_mark(p.end());
        p
    } else if let Some(p) = c.next_within_limit() {
        p
    } else if let Some(p) = hole {
        board.set_mark(p.end());
        p
    } else if c.una() > *rescue
        && let Some((from, to)) = board.last_unreported(c.una(), c.max_sent(), segment)
    {
        // Rule 4: "RescueRxt MUST be set to RecoveryPoint. HighRxt MUST NOT be updated."
        *rescue = c.recover();
        c.between(from, to)
    } else {
        return None;
    };
    c.spend_burst();
    Some(piece)
}
