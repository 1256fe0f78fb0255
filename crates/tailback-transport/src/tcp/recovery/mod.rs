//! Loss recovery: which segments are lost, and what goes out next.
//!
//! One file an algorithm. Each sees the same four events and may only use the steps [`ControlBlock`] offers, so that
//! the files read as the columns of one reaction table. An algorithm is a file and a row at the end of this one. The
//! growth of the window is not its business: it says in which phase it saw an ACK.
//!
//! | event | Tahoe | Reno | NewReno | SACK |
//! |---|---|---|---|---|
//! | third duplicate | window 1, go back | half, repair, inflate | same, once a window | half, scoreboard |
//! | further duplicate | - | inflate by one | same | pipe decides |
//! | partial ACK | ordinary | ends recovery | repair the next, deflate | stay |
//! | full ACK | - | window = ssthresh | same | same |
//! | timeout | window 1, go back | same | same | same, forget SACKs |

pub mod newreno;
pub mod pipe;
pub mod prr;
pub mod reno;
pub mod sack;
pub mod scoreboard;
pub mod sent;
pub mod tahoe;

use super::congestion::Phase;
use super::state::{Ack, ControlBlock, Judged, Piece};
use tailback_base::Time;

/// A duplicate acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct Duplicate<'a> {
    pub now: Time,
    pub sack: &'a [(u64, u64)],
    /// RFC 5681's definition: no data, no SYN, data outstanding. With SACK, new information counts instead.
    pub classic: bool,
}

/// What a recovery algorithm answers to.
pub trait LossRecovery {
    /// `una` has moved; the algorithm repairs and handles the timer, and says whether the window may grow.
    fn on_ack(&mut self, c: &mut ControlBlock, a: &Ack, sack: &[(u64, u64)]) -> Judged;
    fn on_duplicate(&mut self, c: &mut ControlBlock, d: &Duplicate<'_>) -> Judged;
    /// The retransmission timer expired with data outstanding. [`ControlBlock::timed_out`] has not been called yet.
    fn on_timeout(&mut self, c: &mut ControlBlock, now: Time);
    /// When [`LossRecovery::on_timer`] is to be called; [`Time::NEVER`] for algorithms that know only the
    /// retransmission timer.
    fn deadline(&self) -> Time {
        Time::NEVER
    }
    fn on_timer(&mut self, _c: &mut ControlBlock, _now: Time) {}
    /// Whether an ACK of new data up to `ack` may give a sample of the round trip.
    fn may_sample(&self, _c: &ControlBlock, _ack: u64) -> bool {
        true
    }
    /// So many segments may answer one event.
    fn burst(&self, c: &ControlBlock) -> u32 {
        c.cfg().max_burst
    }
    /// The next segment that may leave.
    fn next(&mut self, c: &mut ControlBlock) -> Option<Piece>;
    fn in_recovery(&self) -> bool;
}

/// What an algorithm without SACK reports knows: each duplicate stands for a segment that has left the network.
#[inline]
fn without_reports(c: &ControlBlock, in_recovery: bool) -> Judged {
    let left = u64::from(c.duplicates()) * u64::from(c.cfg().payload);
    Judged {
        phase: if in_recovery { Phase::Recovery } else { c.phase() },
        pipe: c.outstanding().saturating_sub(left),
        sacked: 0,
    }
}

/// The algorithms: one row each, with what the parameters `variant` and `sack_form` call it. One enum rather than
/// boxes, since each segment asks it several times.
macro_rules! recoveries {
    ($($(#[$cfg:meta])* $name:ident($type:ty) = ($variant:literal, $form:literal);)*) => {
        pub enum Recovery {
            $($(#[$cfg])* $name($type),)*
        }

        impl Recovery {
            /// The algorithm of this name. `form` tells two of one variant apart.
            pub fn new(variant: &str, form: &str) -> Option<Recovery> {
                $($(#[$cfg])* if variant == $variant && ($form.is_empty() || form == $form) {
                    return Some(Recovery::$name(Default::default()));
                })*
                None
            }
        }

        impl LossRecovery for Recovery {
            #[inline]
            fn on_ack(&mut self, c: &mut ControlBlock, a: &Ack, sack: &[(u64, u64)]) -> Judged {
                match self { $($(#[$cfg])* Recovery::$name(r) => r.on_ack(c, a, sack),)* }
            }

            fn on_duplicate(&mut self, c: &mut ControlBlock, d: &Duplicate<'_>) -> Judged {
                match self { $($(#[$cfg])* Recovery::$name(r) => r.on_duplicate(c, d),)* }
            }

            fn on_timeout(&mut self, c: &mut ControlBlock, now: Time) {
                match self { $($(#[$cfg])* Recovery::$name(r) => r.on_timeout(c, now),)* }
            }

            #[inline]
            fn deadline(&self) -> Time {
                match self { $($(#[$cfg])* Recovery::$name(r) => r.deadline(),)* }
            }

            fn on_timer(&mut self, c: &mut ControlBlock, now: Time) {
                match self { $($(#[$cfg])* Recovery::$name(r) => r.on_timer(c, now),)* }
            }

            #[inline]
            fn may_sample(&self, c: &ControlBlock, ack: u64) -> bool {
                match self { $($(#[$cfg])* Recovery::$name(r) => r.may_sample(c, ack),)* }
            }

            #[inline]
            fn burst(&self, c: &ControlBlock) -> u32 {
                match self { $($(#[$cfg])* Recovery::$name(r) => r.burst(c),)* }
            }

            #[inline]
            fn next(&mut self, c: &mut ControlBlock) -> Option<Piece> {
                match self { $($(#[$cfg])* Recovery::$name(r) => r.next(c),)* }
            }

            #[inline]
            fn in_recovery(&self) -> bool {
                match self { $($(#[$cfg])* Recovery::$name(r) => r.in_recovery(),)* }
            }
        }
    };
}

recoveries! {
    Tahoe(tahoe::TahoeRecovery) = ("tahoe", "");
    Reno(reno::RenoRecovery) = ("reno", "");
    NewReno(newreno::NewRenoRecovery) = ("newreno", "");
    Sack(sack::SackRecovery) = ("sack", "rfc6675");
    Pipe(pipe::PipeRecovery) = ("sack", "pipe");
    #[cfg(test)]
    Patient(tests::Patient) = ("patient", "");
}

#[cfg(test)]
mod tests;
