//! The undo of a reduction that proves to be a mistake (RFC 4015), for connections with this option.

use super::{ControlBlock, Piece};
use crate::tcp::config::{RackForm, UndoForm};
use crate::tcp::congestion::{Mistaken, Reset};
use crate::tcp::recovery::duplicate_report;
use crate::tcp::recovery::undo::{AckAfterTimeout, Allowed, Proof, Undo};
use tailback_base::{Duration, Time};

/// An ACK that may prove something.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    pub sack: &'a [(u64, u64)],
    pub echoed: Option<Time>,
    pub ecn_echo: bool,
    /// Newly acknowledged, bytes.
    pub acked: u64,
    /// Whether a repair is in progress.
    pub repairing: bool,
    pub rtt: Option<Duration>,
}

impl ControlBlock {
    pub(super) fn keep_doubts(&mut self) {
        if self.cfg.repair.undo != UndoForm::Off {
            self.undo = Some(Box::new(Undo::default()));
        }
    }

    /// Whether a timeout is being tested, so that recovery sends nothing.
    pub(super) fn is_testing(&self) -> bool {
        self.undo.as_ref().is_some_and(|u| u.is_testing())
    }

    pub(super) fn doubt(&mut self, of_timeout: bool) {
        if let Some(u) = &mut self.undo {
            let in_flight = self.sent.as_ref().map_or(0, |list| list.repeats_in_flight());
            u.reduced(self.seq.una, of_timeout, in_flight);
        }
        self.look_whether_held();
    }

    pub(super) fn doubt_goes_on(&mut self) {
        if let Some(u) = &mut self.undo {
            u.timed_out_again();
        }
        self.look_whether_held();
    }

    pub(super) fn note_repeat(&mut self, now: Time) {
        if let Some(u) = &mut self.undo {
            u.repeated(now);
        }
    }

    /// RFC 5682 section 2.1: a timeout is tested if it begins a repair, or if it repeats for the same segment.
    /// `repairing` says whether recovery is still in progress. This function must be called before the timeout is
    /// handled.
    pub fn timeout_is_worth_a_test(&self, repairing: bool) -> bool {
        let begins = !repairing && !self.seq.after_timeout;
        self.cfg.repair.frto && (begins || self.seq.timed_out == self.seq.una)
    }

    pub fn begin_test(&mut self) {
        if let Some(u) = &mut self.undo {
            u.begin_test();
        }
        self.look_whether_held();
    }

    fn has_room_in_test(&self) -> bool {
        let list = self
            .sent
            .as_ref()
            .filter(|_| self.cfg.repair.rack_form == RackForm::Linux);
        list.is_none_or(|list| self.has_room(list.in_flight()))
    }

    /// The next segment to send while a timeout is tested.
    pub fn next_of_test(&mut self) -> Option<Piece> {
        match self.undo.as_mut()?.next() {
            Allowed::FirstAgain => {
                let first = self.sent.as_ref().and_then(|list| list.first());
                match first {
                    Some((seq, end)) => Some(self.between(seq, end)),
                    None => self.piece(self.seq.una),
                }
            }
            Allowed::New => self
                .piece(self.seq.max_sent)
                .filter(|p| self.is_within_limit(p) && self.has_room_in_test()),
            Allowed::Nothing => None,
        }
    }

    /// Evaluate the evidence of this ACK about the last reduction.
    pub fn weigh(&mut self, e: &Evidence<'_>) -> Proof {
        let proof = self.proof(e);
        self.look_whether_held();
        proof
    }

    fn proof(&mut self, e: &Evidence<'_>) -> Proof {
        if self.undo.is_none() {
            return Proof::Nothing;
        }
        let has_next = self.piece(self.seq.max_sent).is_some_and(|p| self.is_within_limit(&p));
        let (una, recover, sack) = (self.seq.una, self.seq.recover, self.cfg.sack);
        let segment = u64::from(self.cfg.payload);
        let linux = self.cfg.repair.rack_form == RackForm::Linux;
        // RFC 5682 section 2.1 step 2b: "transmit up to two new (previously unsent) segments". In Linux the window
        // gives the number.
        let new = match (has_next, linux) {
            (false, _) => 0,
            (true, false) => 2,
            (true, true) => u8::MAX,
        };
        let Some(u) = &mut self.undo else {
            return Proof::Nothing;
        };
        if e.ecn_echo {
            let testing = u.is_testing();
            u.settle();
            return if testing {
                Proof::Lost { slow: false }
            } else {
                Proof::Nothing
            };
        }
        if e.acked > 0 && e.repairing && u.answers_original(e.echoed) {
            let out = || self.sent.as_ref().map_or(0, |list| list.repeats_in_flight());
            let waits = linux && u.is_of_recovery() && una < recover && out() > 0;
            return if waits { Proof::Late } else { Proof::Spurious };
        }
        if let Some(range) = duplicate_report(una, e.sack)
            && u.duplicate(range, (range.1 - range.0).div_ceil(segment) as u32)
        {
            return Proof::Spurious;
        }
        let arrivals = match &mut self.sent {
            Some(list) => list.arrivals().as_slice(),
            None => &[],
        };
        u.judge(&AckAfterTimeout {
            una,
            moved: e.acked > 0,
            sack,
            recover,
            arrivals,
            linux,
            new,
        })
    }

    /// Undo the reduction: restore window, threshold and backoff, and drop the data that were to be sent again.
    /// Recovery resets its own state.
    pub fn take_back(&mut self, e: &Evidence<'_>) {
        let Some(u) = &mut self.undo else { return };
        let of_timeout = u.is_of_timeout();
        u.settle();
        self.seq.nxt = self.seq.max_sent;
        self.seq.after_timeout = false;
        self.seq.resend = super::sequence::NONE;
        self.end_spreading();
        self.end_inflation();
        self.forget_duplicates();
        self.control.undo(match of_timeout {
            true => Mistaken::Timeout,
            false => Mistaken::Recovery,
        });
        if self.cfg.repair.undo == UndoForm::Rfc4015 {
            // Section 3.2, step 5: "CWND <- FlightSize + min (bytes_acked, IW)".
            let allowance = (e.acked as f64).min(self.cfg.window.initial_window);
            let bytes = self.flight() as f64 + allowance;
            self.reset(Reset::AtMost { bytes });
            if let Some(r) = e.rtt.filter(|_| of_timeout) {
                self.timers.rto.at_least(r);
            }
        }
        self.look_whether_held();
        self.timers.rto.end_backoff();
        self.window.refresh(&*self.control);
        // The next sign of congestion counts as a new one.
        self.ecn.recover = self.ecn.recover.min(self.seq.una.saturating_sub(1));
        if self.cfg.sack {
            self.forget_recover();
        }
    }

    /// Lost data may be sent three segments at a time at first (RFC 5682 section 3.1 step 3a).
    pub fn slow_down(&mut self) {
        let bytes = 3.0 * self.cfg.segment();
        self.reset(Reset::AtMost { bytes });
    }
}
