//! NewReno as in Linux: each duplicate acknowledgement counts as a report of one segment. Which segment this is remains
//! unknown.
//!
//! ```text
//!            `reordering` segments counted: the first is lost, reduce, high = max_sent
//!    Open --------------------------------------------------------------------------> Recovery { high }
//!         <--------------------------------------------------------------------------
//!            ACK beyond `high`             partial ACK: the first is lost
//!
//!    any  -- timeout: everything is lost --> Loss { high } -- ACK beyond `high` --> Open
//! ```
//!
//! The amount in the network is the amount sent, less the counted and the lost segments. Duplicates therefore make room
//! as SACK reports do. Repairs and new data leave as far as the window has room, and a reduction can be spread
//! (`prr.rs`). An ACK of new data subtracts the counts of the duplicates before it, because one of its segments was the
//! hole and the others had been counted. If more segments are counted than can have arrived, duplicates were due to
//! reordering. From then on a loss needs as many duplicates (at most 300). The ACK of `high` itself does not end the
//! state (RFC 6582 section 3.2 step 3 warns of false fast retransmits). The state lasts until something above `high` is
//! acknowledged.
//!
//! The state is a few words in addition to the records of `sent.rs`. An ACK costs as much as the records cost. The
//! sources are RFC 6582 and RFC 5681 section 3.2. The counting is from Linux (net/ipv4/tcp_input.c).

use super::rack::MOST_REORDERING;
use super::sent::SentList;
use super::{Duplicate, LossRecovery};
use crate::tcp::congestion::Phase;
use crate::tcp::state::{Ack, ControlBlock, Judged, Piece};
use tailback_base::Time;

/// The phase to which duplicates belong. `high` is the end of the outstanding data at the beginning of this phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    #[default]
    Open,
    Recovery {
        high: u64,
    },
    Loss {
        high: u64,
    },
}

#[derive(Clone, Debug, Default)]
pub struct CountedRecovery {
    state: State,
    /// The number of segments that must be counted for a loss, once reordering was seen.
    reordering: Option<u32>,
    /// Whether the first repair is sent independent of the window.
    first_due: bool,
    /// A repair has just been undone, and the counts stay.
    taken_back: bool,
    /// The next ACK is that of a late original. Until the event after this ACK nothing is repaired.
    late: bool,
    only_new: bool,
}

fn records(c: &mut ControlBlock) -> &mut SentList {
    c.records().expect("a recovery that counts keeps records")
}

impl CountedRecovery {
    /// Check whether more segments are counted than can have arrived, which shows reordering. `more` segments left the
    /// network with this ACK.
    fn check(&mut self, c: &mut ControlBlock, more: u32) {
        if let Some(outstanding) = records(c).limit_counted() {
            self.reordering = Some((outstanding + more).min(MOST_REORDERING));
        }
    }

    /// Begin a new repair if enough segments are counted.
    fn enter_if_due(&mut self, c: &mut ControlBlock, now: Time) {
        let enough = self.reordering.unwrap_or(c.cfg().dupack_threshold);
        if records(c).counted() < enough {
            return;
        }
        self.lose_first(c);
        if c.reduce(now) {
            c.remember_recover();
        }
        self.state = State::Recovery { high: c.max_sent() };
        self.first_due = true;
    }

    fn lose_first(&mut self, c: &mut ControlBlock) {
        let lost = records(c).lose_first();
        c.count_lost(lost);
    }

    fn judged(&self, c: &mut ControlBlock) -> Judged {
        let phase = match self.state {
            State::Open => Phase::Open,
            State::Recovery { .. } => Phase::Recovery,
            State::Loss { .. } => Phase::Loss,
        };
        let pipe = records(c).in_flight();
        Judged { phase, pipe }
    }
}

impl LossRecovery for CountedRecovery {
    #[inline(never)]
    fn on_ack(&mut self, c: &mut ControlBlock, a: &Ack, _sack: &[(u64, u64)]) -> Judged {
        let segments = records(c).acked_segments();
        self.check(c, segments);
        let una = c.una();
        if self.taken_back || self.late {
            // Linux takes the number of segments that one ACK covers as the length of the reordering.
            let length = a.bytes.div_ceil(u64::from(c.cfg().payload)) as u32;
            let enough = self.reordering.unwrap_or(c.cfg().dupack_threshold);
            self.reordering = Some(length.max(enough).min(MOST_REORDERING));
        }
        match self.state {
            State::Recovery { high } if una > high => {
                (self.state, self.first_due) = (State::Open, false);
                records(c).count_none();
                c.end_recovery(false);
            }
            State::Recovery { high } if una == high => records(c).count_none(),
            State::Recovery { .. } if self.late => {}
            State::Recovery { .. } => self.lose_first(c),
            State::Loss { high } if una > high => {
                self.state = State::Open;
                records(c).count_none();
            }
            State::Loss { high } if c.nxt() > high => {}
            State::Open if self.taken_back => self.enter_if_due(c, a.now),
            State::Loss { .. } | State::Open => records(c).count_none(),
        }
        (self.taken_back, self.only_new) = (false, std::mem::take(&mut self.late));
        c.forget_duplicates();
        c.timer_after_ack(a.now);
        self.judged(c)
    }

    #[inline(never)]
    fn on_duplicate(&mut self, c: &mut ControlBlock, d: &Duplicate<'_>) -> Judged {
        self.only_new = false;
        let counts = match self.state {
            State::Open => true,
            State::Recovery { high } => c.una() < high,
            // New data was sent, and its duplicates release further repairs.
            State::Loss { high } => c.una() < high && high < c.nxt(),
        };
        if d.classic && counts {
            c.count_duplicate();
            let segment = u64::from(c.cfg().payload);
            let before = records(c).counted();
            records(c).count(segment);
            self.check(c, 0);
            let counted = records(c).counted();
            records(c).deliver_counted(counted.saturating_sub(before), segment);
            if self.state == State::Open {
                self.enter_if_due(c, d.now);
            }
        }
        self.judged(c)
    }

    #[inline(never)]
    fn on_timeout(&mut self, c: &mut ControlBlock, now: Time) {
        let repairing = self.in_recovery() && c.una() < c.recover();
        self.state = State::Loss { high: c.max_sent() };
        self.first_due = false;
        records(c).count_none();
        let pipe = records(c).in_flight();
        let lost = records(c).lose_late(|_| true);
        c.count_lost(lost);
        c.timed_out_with_records(pipe, repairing, now);
        c.forget_duplicates();
    }

    fn late(&mut self) {
        self.late = true;
    }

    fn undone(&mut self, c: &mut ControlBlock, _within: bool) {
        self.taken_back = self.in_recovery();
        (self.state, self.first_due) = (State::Open, false);
        records(c).none_lost(false);
    }

    #[inline(never)]
    fn next(&mut self, c: &mut ControlBlock) -> Option<Piece> {
        let pipe = records(c).in_flight();
        // A reduction that continues while nothing is outstanding does not hold back any segment.
        let stalled = self.in_recovery() && c.una() == c.max_sent();
        let due = std::mem::take(&mut self.first_due) || stalled;
        if !due && (c.burst_is_spent() || !c.has_room(pipe)) {
            return None;
        }
        let piece = match records(c).first_lost().filter(|_| !self.only_new) {
            Some((seq, end)) => c.between(seq, end),
            None => c.next_within_limit()?,
        };
        if !due {
            c.spend_burst();
        }
        Some(piece)
    }

    fn sacked(&self, c: &ControlBlock) -> u64 {
        c.counted_bytes()
    }

    fn in_recovery(&self) -> bool {
        matches!(self.state, State::Recovery { .. })
    }

    fn is_repairing(&self) -> bool {
        self.state != State::Open
    }
}
