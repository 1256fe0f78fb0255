//! SACK recovery with a pipe counter: ns-2's Sack1 agent (Fall and Floyd 1996, section 3.4).
//!
//! ```text
//!            third duplicate, ACK beyond `recover`: halve, resend the first, recover = max_sent
//!    Open --------------------------------------------------------------------------> Recovery { pipe }
//!         <--------------------------------------------------------------------------
//!            ACK of `recover`                timeout: window one, go back, reports ignored until a new ACK
//! ```
//!
//! `pipe` counts the segments thought to be in the network: plus one for each segment sent, minus one for each
//! duplicate, minus two for a partial ACK (the repair and the lost segment). While `pipe` is below the window, holes
//! below the highest report are repaired. The first hole that was not yet repaired in this episode is sent again. If no
//! such hole is left, new data is sent. Any hole counts as lost, without a threshold. Before recovery, only duplicates
//! with new reports are counted.
//!
//! The eager form is that of ns-2's two-way agents. The third duplicate may release more than the first repair. The ACK
//! that ends recovery grows the window. A loss of the segment at `recover` waits for the timer.

use super::scoreboard::Scoreboard;
use super::{Duplicate, Known, LossRecovery, without_reports};
use crate::tcp::state::{Ack, ControlBlock, Judged, Piece};
use tailback_base::Time;

#[derive(Clone, Debug, Default)]
pub struct PipeRecovery {
    board: Scoreboard,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Phase {
    #[default]
    Open,
    Recovery {
        /// Segments in the network.
        pipe: i64,
        /// Whether recovery began with the present duplicate. This duplicate releases only the first repair.
        entered: bool,
    },
    /// A timeout occurred, and no new ACK has arrived since.
    Deaf,
}

impl PipeRecovery {
    fn enter(&mut self, c: &mut ControlBlock, now: Time) {
        let outstanding = c.outstanding().div_ceil(u64::from(c.cfg().payload)) as i64;
        self.phase = Phase::Recovery {
            pipe: outstanding - i64::from(c.cfg().dupack_threshold),
            entered: !c.cfg().eager_pipe(),
        };
        if c.reduce(now) {
            c.remember_recover();
        }
        c.restart_timer(now);
        c.lose_first();
        c.resend_first();
        self.board.reset_mark(c.una());
        self.board.set_mark(c.una() + u64::from(c.cfg().payload));
    }

    fn leave(&mut self, c: &mut ControlBlock, now: Time) {
        self.phase = Phase::Open;
        self.board.clear();
        // Two-way agents still require an ACK beyond `recover`, so a loss of the very next segment waits for the timer.
        if !c.cfg().eager_pipe() {
            c.forget_recover();
        }
        c.forget_duplicates();
        c.end_recovery(false);
        c.timer_after_ack(now);
    }

    fn report(&mut self, c: &mut ControlBlock, sack: &[(u64, u64)]) -> u64 {
        let new = self.board.update(c.una(), c.max_sent(), sack);
        c.note_sacked(new);
        new
    }

    fn judge(&self, c: &ControlBlock, in_recovery: bool) -> Judged {
        let in_recovery = in_recovery && (self.in_recovery() || !c.cfg().eager_pipe());
        let judged = without_reports(c, in_recovery);
        match self.phase {
            Phase::Recovery { pipe, .. } => Judged {
                pipe: pipe.max(0) as u64 * u64::from(c.cfg().payload),
                ..judged
            },
            Phase::Open | Phase::Deaf => judged,
        }
    }
}

impl LossRecovery for PipeRecovery {
    #[inline]
    fn on_ack(&mut self, c: &mut ControlBlock, a: &Ack, sack: &[(u64, u64)]) -> Judged {
        let in_recovery = self.in_recovery();
        match &mut self.phase {
            Phase::Recovery { pipe, entered } if c.una() < c.recover() => {
                *pipe -= 2;
                *entered = false;
                self.report(c, sack);
                c.end_backoff();
                c.restart_timer(a.now);
            }
            Phase::Recovery { .. } => self.leave(c, a.now),
            Phase::Open | Phase::Deaf => {
                self.phase = Phase::Open;
                self.board.clear();
                c.forget_duplicates();
                c.timer_after_ack(a.now);
            }
        }
        self.judge(c, in_recovery)
    }

    fn on_duplicate(&mut self, c: &mut ControlBlock, d: &Duplicate<'_>) -> Judged {
        let in_recovery = self.in_recovery();
        match &mut self.phase {
            // During a repair after a response to an echo, `recover` is that of the echo, and may already have been
            // reached.
            Phase::Recovery { .. } if c.una() >= c.recover() => self.leave(c, d.now),
            // A segment with data is not sent because another segment has arrived. It therefore does not show that a
            // segment left the network.
            _ if !d.classic => {
                self.report(c, d.sack);
            }
            Phase::Recovery { pipe, entered } => {
                *pipe -= 1;
                *entered = false;
                self.report(c, d.sack);
                c.count_duplicate();
            }
            Phase::Open => {
                if self.report(c, d.sack) > 0 {
                    let duplicates = c.count_duplicate();
                    if duplicates < c.cfg().dupack_threshold {
                        c.limited_transmit();
                    } else if duplicates == c.cfg().dupack_threshold && c.may_retransmit_fast() {
                        self.enter(c, d.now);
                    }
                }
            }
            Phase::Deaf => {}
        }
        self.judge(c, in_recovery || self.in_recovery())
    }

    fn on_timeout(&mut self, c: &mut ControlBlock, now: Time) {
        self.phase = Phase::Deaf;
        self.board.clear();
        c.timed_out(c.outstanding(), now);
        c.forget_duplicates();
    }

    /// ns-2 takes no round-trip sample before recovery ends.
    fn may_sample(&self, c: &ControlBlock, ack: u64) -> bool {
        !self.in_recovery() || ack >= c.recover()
    }

    #[inline]
    fn next(&mut self, c: &mut ControlBlock) -> Option<Piece> {
        let Phase::Recovery { pipe, entered } = &mut self.phase else {
            return c.next_in_order();
        };
        let resend = c.take_resend();
        if resend.is_some() {
            return resend;
        }
        let segment = c.cfg().segment();
        let full = *entered || *pipe as f64 >= libm::floor(c.cwnd() / segment);
        if (full && !c.take_forced()) || c.burst_is_spent() {
            return None;
        }
        let repair = self
            .board
            .hole(self.board.mark().max(c.una()))
            .and_then(|(from, to)| Some(c.between(from, to)).filter(|p| c.is_within_limit(p)));
        let piece = match repair {
            Some(p) => {
                self.board.set_mark(p.end());
                p
            }
            None => c.next_within_limit()?,
        };
        *pipe += 1;
        c.spend_burst();
        Some(piece)
    }

    fn known(&self) -> Known<'_> {
        Known {
            reported: self.board.reported(),
            ..Known::default()
        }
    }

    fn undone(&mut self, _c: &mut ControlBlock, _within: bool) {
        self.phase = Phase::Open;
        self.board.clear();
    }

    #[inline]
    fn sends_in_order(&self) -> bool {
        !self.in_recovery()
    }

    #[inline]
    fn in_recovery(&self) -> bool {
        matches!(self.phase, Phase::Recovery { .. })
    }
}
