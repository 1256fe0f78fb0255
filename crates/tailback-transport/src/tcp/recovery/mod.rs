//! Loss recovery: which segments are lost, and which segment is sent next.
//!
//! There is one file for each algorithm. Each algorithm gets the same four events and may only use the steps that
//! [`ControlBlock`] offers, so the files are like the columns of one table of reactions. An algorithm consists of a
//! file, an entry at the end of this file, and the code in `resolve` that selects it. It does not control the growth of
//! the window. It only says in which phase an ACK arrived.
//!
//! | event | Tahoe | Reno | NewReno | SACK |
//! |---|---|---|---|---|
//! | third duplicate | window 1, go back | half, repair, inflate | same, once a window | half, scoreboard |
//! | further duplicate | - | inflate by one | same | pipe decides |
//! | partial ACK | ordinary | ends recovery | repair the next, deflate | stay |
//! | full ACK | - | window = ssthresh | same | same |
//! | timeout | window 1, go back | same | same | same, forget SACKs |
//!
//! Several algorithms may use `scoreboard` (SACK reports), `sent` (records of segments), `prr` (a reduction spread over
//! a round trip), `tlp` (a probe of the tail) and `undo` (proofs that a repair was spurious). The algorithm `rack`
//! judges by time. The algorithm `counted` is NewReno as in Linux.

pub mod counted;
pub mod newreno;
pub mod pipe;
pub mod prr;
pub mod rack;
pub mod reno;
pub mod sack;
pub mod scoreboard;
pub mod sent;
pub mod tahoe;
pub mod tlp;
pub mod undo;

use super::congestion::Phase;
use super::state::{Ack, ControlBlock, Judged, Piece};
use tailback_base::Time;

/// A duplicate acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct Duplicate<'a> {
    pub now: Time,
    pub sack: &'a [(u64, u64)],
    /// Whether this is a duplicate as defined by RFC 5681, with no data, no SYN, and data outstanding. With SACK, new
    /// information counts instead.
    pub classic: bool,
}

/// The range reported by a D-SACK. The first block reports a duplicate if it is already acknowledged, or if it lies
/// inside the second block (RFC 2883 section 4).
pub fn duplicate_report(una: u64, sack: &[(u64, u64)]) -> Option<(u64, u64)> {
    let first_block = *sack.first()?;
    let inside = |outer: &(u64, u64)| outer.0 <= first_block.0 && first_block.1 <= outer.1;
    (first_block.1 <= una || sack.get(1).is_some_and(inside)).then_some(first_block)
}

/// An algorithm's knowledge of outstanding data, for records that begin in an open connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// The ranges reported by SACK, which are half-open, sorted and disjoint.
    pub reported: &'a [(u64, u64)],
    /// Unreported data from the first unit to the second one are lost and were not sent again.
    pub lost: (u64, u64),
}

/// The events that a recovery algorithm handles.
pub trait LossRecovery {
    /// `una` has moved. The algorithm repairs, handles the timer, and says whether the window may grow.
    fn on_ack(&mut self, c: &mut ControlBlock, a: &Ack, sack: &[(u64, u64)]) -> Judged;
    fn on_duplicate(&mut self, c: &mut ControlBlock, d: &Duplicate<'_>) -> Judged;
    /// The retransmission timer expired with data outstanding. [`ControlBlock::timed_out`] has not been called yet.
    fn on_timeout(&mut self, c: &mut ControlBlock, now: Time);
    /// When [`LossRecovery::on_timer`] is to be called; [`Time::NEVER`] for algorithms that have only the
    /// retransmission timer.
    fn deadline(&self, _c: &ControlBlock) -> Time {
        Time::NEVER
    }
    fn on_timer(&mut self, _c: &mut ControlBlock, _now: Time) {}
    /// An ACK while nothing is outstanding. It may still report a duplicate.
    fn on_repeat(&mut self, _c: &mut ControlBlock, _sack: &[(u64, u64)], _now: Time) {}
    /// The last reduction was a mistake. Nothing is lost, and there is no repair any more. `within` says whether the
    /// repair was still in progress.
    fn undone(&mut self, c: &mut ControlBlock, within: bool);
    /// The next ACK is of an original that seemed lost, while repeats are still in the network. Nothing is judged by
    /// this ACK.
    fn late(&mut self) {}
    /// A tested timeout was not spurious. Everything outstanding at that time is lost. An algorithm that goes back to
    /// the first segment sends these data again anyway.
    fn all_lost(&mut self, _c: &mut ControlBlock) {}
    /// Bytes above the ACK number that SACK has reported.
    fn sacked(&self, _c: &ControlBlock) -> u64 {
        0
    }
    fn known(&self) -> Known<'_> {
        Known::default()
    }
    /// Whether an ACK of new data up to `ack` may give a round-trip sample.
    fn may_sample(&self, _c: &ControlBlock, _ack: u64) -> bool {
        true
    }
    /// The number of segments that may be sent in response to one event.
    fn burst(&self, c: &ControlBlock) -> u32 {
        c.cfg().max_burst
    }
    /// The next segment that may leave.
    fn next(&mut self, c: &mut ControlBlock) -> Option<Piece>;
    /// Whether [`LossRecovery::next`] is [`ControlBlock::next_in_order`] now.
    fn sends_in_order(&self) -> bool {
        false
    }
    fn in_recovery(&self) -> bool;
    /// Whether the path reorders so much that in Linux SACK reports open the window as acknowledgements do.
    fn reports_open(&self) -> bool {
        false
    }
    /// The length of the path's reordering, segments, and the number of times that a segment arrived out of order.
    fn reordering(&self, c: &ControlBlock) -> (u32, u32) {
        (c.cfg().dupack_threshold, 0)
    }
    /// Whether a repair is in progress that a timeout only continues. Such a timeout is not tested for being spurious.
    fn is_repairing(&self) -> bool {
        self.in_recovery()
    }
}

/// The judgement of an algorithm without SACK, for which each duplicate stands for one segment that has left the
/// network.
#[inline]
fn without_reports(c: &ControlBlock, in_recovery: bool) -> Judged {
    let left_bytes = u64::from(c.duplicates()) * u64::from(c.cfg().payload);
    Judged {
        phase: if in_recovery { Phase::Recovery } else { c.phase() },
        pipe: c.outstanding().saturating_sub(left_bytes),
    }
}

/// The algorithms, with one entry for each. This is an enum and not a box, because it is called several times for each
/// segment. Large state is boxed inside the enum, so that a flow without SACK stays small.
macro_rules! recoveries {
    ($($(#[$cfg:meta])* $name:ident($type:ty);)*) => {
        #[repr(u8)]
        pub enum Recovery {
            $($(#[$cfg])* $name($type),)*
        }

        /// The name of an algorithm.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Algorithm {
            $($(#[$cfg])* $name,)*
        }

        impl Recovery {
            pub fn new(algorithm: Algorithm) -> Recovery {
                match algorithm { $($(#[$cfg])* Algorithm::$name => Recovery::$name(Default::default()),)* }
            }
        }

        impl LossRecovery for Recovery {
            #[inline(always)]
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
            fn deadline(&self, c: &ControlBlock) -> Time {
                match self { $($(#[$cfg])* Recovery::$name(r) => r.deadline(c),)* }
            }

            fn on_repeat(&mut self, c: &mut ControlBlock, sack: &[(u64, u64)], now: Time) {
                match self { $($(#[$cfg])* Recovery::$name(r) => r.on_repeat(c, sack, now),)* }
            }

            fn undone(&mut self, c: &mut ControlBlock, within: bool) {
                match self { $($(#[$cfg])* Recovery::$name(r) => r.undone(c, within),)* }
            }

            fn late(&mut self) {
                match self { $($(#[$cfg])* Recovery::$name(r) => r.late(),)* }
            }

            fn all_lost(&mut self, c: &mut ControlBlock) {
                match self { $($(#[$cfg])* Recovery::$name(r) => r.all_lost(c),)* }
            }

            fn sacked(&self, c: &ControlBlock) -> u64 {
                match self { $($(#[$cfg])* Recovery::$name(r) => r.sacked(c),)* }
            }

            fn known(&self) -> Known<'_> {
                match self { $($(#[$cfg])* Recovery::$name(r) => r.known(),)* }
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
            fn sends_in_order(&self) -> bool {
                match self { $($(#[$cfg])* Recovery::$name(r) => r.sends_in_order(),)* }
            }

            #[inline]
            fn in_recovery(&self) -> bool {
                match self { $($(#[$cfg])* Recovery::$name(r) => r.in_recovery(),)* }
            }

            #[inline]
            fn reports_open(&self) -> bool {
                match self { $($(#[$cfg])* Recovery::$name(r) => r.reports_open(),)* }
            }

            fn reordering(&self, c: &ControlBlock) -> (u32, u32) {
                match self { $($(#[$cfg])* Recovery::$name(r) => r.reordering(c),)* }
            }

            fn is_repairing(&self) -> bool {
                match self { $($(#[$cfg])* Recovery::$name(r) => r.is_repairing(),)* }
            }
        }
    };
}

recoveries! {
    Tahoe(tahoe::TahoeRecovery);
    Reno(reno::RenoRecovery);
    NewReno(newreno::NewRenoRecovery);
    Sack(Box<sack::SackRecovery>);
    Pipe(Box<pipe::PipeRecovery>);
    EagerPipe(Box<pipe::PipeRecovery>);
    Rack(Box<rack::RackRecovery>);
    Counted(Box<counted::CountedRecovery>);
    #[cfg(test)]
    Patient(tests::Patient);
}

#[cfg(test)]
mod tests;
