//! SACK recovery by the scoreboard (RFC 6675).
//!
//! ```text
//!            three duplicates or lost(una), una >= recover: halve, resend the first, recover = max_sent
//!    Open --------------------------------------------------------------------------------> Recovery { rescue }
//!         <--------------------------------------------------------------------------------
//!            ACK of `recover`                            timeout: window one, go back, reports forgotten
//! ```
//!
//! What is in the network (`pipe`) is computed from the reports, and while the window has room for a segment beyond it
//! the next one goes: a lost one first, then new data, then one that may be lost, and once an episode the last one
//! unreported (the rescue), so that a loss at the end of the window need not wait for the timer.
//! The repair mark is `HighRxt`: a repair that is lost again waits for the timeout.

use super::{Duplicate, LossRecovery, before_threshold};
use crate::tcp::recovery::scoreboard::Scoreboard;
use crate::tcp::state::{ControlBlock, NewAck, Piece, real};
use tailback_base::Time;

#[derive(Clone, Debug, Default)]
pub struct SackRecovery {
    board: Scoreboard,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Phase {
    #[default]
    Open,
    Recovery {
        /// RFC 6675 `RescueRxt`.
        rescue: u64,
    },
}

impl SackRecovery {
    fn enter(&mut self, c: &mut ControlBlock, now: Time) {
        c.reduce(now);
        c.recover = c.max_sent;
        c.resend_first();
        c.restart_timer(now);
        // Step 4.3: "Set HighRxt to the highest sequence number in the retransmitted segment", and RescueRxt too.
        let end = c.piece(c.una).map_or(c.una, |p| p.seq + u64::from(p.len));
        self.board.reset_mark(c.una);
        self.board.set_mark(end);
        self.phase = Phase::Recovery { rescue: end };
    }
}

impl LossRecovery for SackRecovery {
    fn on_ack(&mut self, c: &mut ControlBlock, a: &NewAck, sack: &[(u64, u64)]) {
        if !sack.is_empty() || !self.board.is_empty() {
            self.board.update(c.una, c.max_sent, sack);
        }
        match self.phase {
            Phase::Recovery { .. } if c.una < c.recover => {}
            Phase::Recovery { .. } => {
                self.phase = Phase::Open;
                c.forget_duplicates();
            }
            Phase::Open => {
                c.forget_duplicates();
                c.grow(a);
            }
        }
        c.timer_after_ack(a.now);
    }

    fn on_duplicate(&mut self, c: &mut ControlBlock, d: &Duplicate) {
        // Section 2: a duplicate is an ACK that "contains a SACK block identifying previously unacknowledged and
        // un-SACKed octets".
        let new = if d.sack.is_empty() {
            0
        } else {
            self.board.update(c.una, c.max_sent, d.sack)
        };
        if new == 0 {
            return;
        }
        c.dup += 1;
        if self.in_recovery() {
            return;
        }
        // Step (2): "If DupAcks < DupThresh but IsLost (HighACK + 1) returns true".
        let (threshold, segment) = (c.cfg.dupack_threshold, c.cfg.payload);
        if c.dup >= threshold || self.board.lost_below(threshold, segment) > c.una {
            // After a timeout no new episode before all that was outstanding then is acknowledged (section 5.1).
            if c.una >= c.recover {
                self.enter(c, d.now);
            }
        } else {
            before_threshold(c);
        }
    }

    fn on_timeout(&mut self, c: &mut ControlBlock, now: Time) {
        self.phase = Phase::Open;
        // RFC 2018 section 8: "After a retransmit timeout the data sender SHOULD turn off all of the SACKed bits".
        self.board.clear();
        c.timed_out(now);
    }

    fn next(&mut self, c: &mut ControlBlock) -> Option<Piece> {
        let Phase::Recovery { rescue } = &mut self.phase else {
            // Going back after a timeout, what has been reported since need not be repeated.
            if c.nxt < c.max_sent && !self.board.is_empty() {
                c.nxt = self.board.skip(c.nxt);
            }
            return c.next_in_order();
        };
        let first = c.resend.take().and_then(|seq| c.piece(seq));
        if first.is_some() {
            return first;
        }
        let (segment, board) = (c.cfg.payload, &mut self.board);
        let lost_below = board.lost_below(c.cfg.dupack_threshold, segment);
        let pipe = board.pipe(c.una, c.max_sent, lost_below);
        // Step C: "If cwnd - pipe >= 1 SMSS".
        if c.burst == 0 || c.cc.cwnd() - real(pipe) < f64::from(segment) {
            return None;
        }
        let cut = |(from, to): (u64, u64)| Piece {
            seq: from,
            len: (to - from).min(u64::from(segment)) as u32,
        };
        let hole = board.hole(board.mark().max(c.una)).map(cut);
        // NextSeg rules 1 to 4.
        let piece = if let Some(p) = hole.filter(|p| p.seq < lost_below) {
            board.set_mark(p.seq + u64::from(p.len));
            p
        } else if let Some(p) = c
            .piece(c.nxt)
            .filter(|p| real(p.seq + u64::from(p.len) - c.una) <= c.limit())
        {
            p
        } else if let Some(p) = hole {
            board.set_mark(p.seq + u64::from(p.len));
            p
        } else if c.una > *rescue
            && let Some(last) = board.last_unreported(c.una, c.max_sent, segment)
        {
            // Rule 4: "RescueRxt MUST be set to RecoveryPoint. HighRxt MUST NOT be updated."
            *rescue = c.recover;
            cut(last)
        } else {
            return None;
        };
        c.burst -= 1;
        Some(piece)
    }

    fn in_recovery(&self) -> bool {
        matches!(self.phase, Phase::Recovery { .. })
    }
}
