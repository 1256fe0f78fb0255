//! SACK recovery with a pipe counter: ns-2's Sack1 agent (Fall and Floyd 1996, section 3.4).
//!
//! ```text
//!            third duplicate, ACK beyond `recover`: halve, resend the first, recover = max_sent
//!    Open --------------------------------------------------------------------------> Recovery { pipe }
//!         <--------------------------------------------------------------------------
//!            ACK of `recover`                timeout: window one, go back, reports ignored until a new ACK
//! ```
//!
//! `pipe` counts the segments thought to be in the network: one more for each sent, one less for each duplicate, two less
//! for a partial ACK (the repair and the segment lost). While it is below the window, the first hole below the highest
//! report that was not repaired in this episode is resent, else new data. Any hole counts as lost, with no threshold.
//! Only duplicates with new reports are counted before recovery.

use super::{Duplicate, LossRecovery, before_threshold};
use crate::tcp::recovery::scoreboard::Scoreboard;
use crate::tcp::state::{ControlBlock, NewAck, Piece, real};
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
    },
    /// A timeout happened and no new ACK came since.
    Deaf,
}

impl LossRecovery for PipeRecovery {
    fn on_ack(&mut self, c: &mut ControlBlock, a: &NewAck, sack: &[(u64, u64)]) {
        match &mut self.phase {
            Phase::Recovery { pipe } if c.una < c.recover => {
                *pipe -= 2;
                self.board.update(c.una, c.max_sent, sack);
                c.rto.end_backoff();
                c.restart_timer(a.now);
            }
            Phase::Recovery { .. } => {
                self.phase = Phase::Open;
                self.board.clear();
                c.recover = 0;
                c.forget_duplicates();
                c.timer_after_ack(a.now);
            }
            Phase::Open | Phase::Deaf => {
                self.phase = Phase::Open;
                self.board.clear();
                c.forget_duplicates();
                c.grow(a);
                c.timer_after_ack(a.now);
            }
        }
    }

    fn on_duplicate(&mut self, c: &mut ControlBlock, d: &Duplicate) {
        match &mut self.phase {
            Phase::Recovery { pipe } => {
                *pipe -= 1;
                self.board.update(c.una, c.max_sent, d.sack);
                c.dup += 1;
            }
            Phase::Open => {
                if self.board.update(c.una, c.max_sent, d.sack) == 0 {
                    return;
                }
                c.dup += 1;
                if c.dup < c.cfg.dupack_threshold {
                    before_threshold(c);
                } else if c.dup == c.cfg.dupack_threshold && c.una > c.recover {
                    let outstanding = (c.max_sent - c.una).div_ceil(u64::from(c.cfg.payload)) as i64;
                    self.phase = Phase::Recovery {
                        pipe: outstanding - i64::from(c.cfg.dupack_threshold),
                    };
                    c.reduce(d.now);
                    c.recover = c.max_sent;
                    c.restart_timer(d.now);
                    c.resend_first();
                    self.board.reset_mark(c.una);
                    self.board.set_mark(c.una + u64::from(c.cfg.payload));
                }
            }
            Phase::Deaf => {}
        }
    }

    fn on_timeout(&mut self, c: &mut ControlBlock, now: Time) {
        self.phase = Phase::Deaf;
        self.board.clear();
        c.timed_out(now);
    }

    fn next(&mut self, c: &mut ControlBlock) -> Option<Piece> {
        let Phase::Recovery { pipe } = &mut self.phase else {
            return c.next_in_order();
        };
        let first = c.resend.take().and_then(|seq| c.piece(seq));
        if first.is_some() {
            return first;
        }
        let segment = f64::from(c.cfg.payload);
        if *pipe as f64 >= libm::floor(c.cc.cwnd() / segment) || c.burst == 0 {
            return None;
        }
        let within = |p: &Piece| real(p.seq + u64::from(p.len) - c.una) <= c.limit();
        let repair = self.board.hole(self.board.mark().max(c.una)).and_then(|(from, to)| {
            let len = (to - from).min(u64::from(c.cfg.payload)) as u32;
            Some(Piece { seq: from, len }).filter(within)
        });
        let piece = match repair {
            Some(p) => {
                self.board.set_mark(p.seq + u64::from(p.len));
                p
            }
            None => c.piece(c.nxt).filter(within)?,
        };
        *pipe += 1;
        c.burst -= 1;
        Some(piece)
    }

    fn in_recovery(&self) -> bool {
        matches!(self.phase, Phase::Recovery { .. })
    }
}
