//! Finds out whether a repair was spurious. If so, the reduction made for this repair is undone.
//!
//! A segment that is only late looks lost. There are three proofs that it was not lost. First, an ACK that echoes a
//! time stamp older than the first repeat answers the original (Eifel, RFC 3522). Second, the receiver reports each
//! repeat as a duplicate (D-SACK, RFC 2883, used as in RFC 3708). Third, after a timeout an ACK covers data that was
//! never sent again (F-RTO, RFC 5682). The reaction is always the same: window and threshold are restored, and nothing
//! counts as lost (`state/undo.rs`).
//!
//! ```text
//!   F-RTO    timeout: only the first is sent again     it is acknowledged: two new segments
//!            ---------------------------------> First ----------------------------> Second
//!                                                 | a duplicate without SACK           | a duplicate,
//!                                                 |                                    | or news of the new ones only
//!                                                 v                                    v
//!                                                       all that was out is lost
//!            either: what was out and never sent again has arrived: the timeout was spurious
//! ```
//!
//! The state is 48 bytes, and the records of `sent.rs`, only with the option on. Departure from RFC 5682: with SACK the
//! last rule is applied at each ACK after the timeout, not only at the second. This takes one round trip less. It is
//! wrong if the reports of all segments that arrived are lost, which costs one reduction.

use super::sent::Arrived;
use tailback_base::Time;

/// The test after a timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Test {
    None,
    /// Only the first segment is sent again, if it is due.
    First {
        due: bool,
    },
    /// This many new segments may be sent.
    Second {
        new: u8,
    },
}

/// The result of an ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Proof {
    Nothing,
    /// The reduction was a mistake.
    Spurious,
    /// An original arrives in fast recovery, but repeats are still in the network. Linux then neither undoes the
    /// reduction nor finds more segments lost.
    Late,
    /// The tested timeout was not spurious, and everything outstanding at the timeout is lost. With `slow` the window
    /// is at most three segments.
    Lost {
        slow: bool,
    },
}

/// The segments that may leave while a timeout is tested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allowed {
    FirstAgain,
    New,
    Nothing,
}

/// An ACK after a timeout.
#[derive(Clone, Copy, Debug)]
pub struct AckAfterTimeout<'a> {
    pub una: u64,
    pub moved: bool,
    /// Whether the connection has SACK.
    pub sack: bool,
    /// The end of the data that were outstanding at the timeout.
    pub recover: u64,
    pub arrivals: &'a [Arrived],
    /// Whether the window stays when the test fails, as in Linux.
    pub linux: bool,
    /// New segments that may be sent.
    pub new: u8,
}

#[derive(Clone, Debug)]
pub struct Undo {
    /// Whether the last reduction may still prove to be a mistake.
    open: bool,
    of_timeout: bool,
    /// Lowest unacknowledged unit at the reduction.
    una: u64,
    /// The number of segments that were sent again for this reduction and not reported as duplicates, and the time of
    /// the first repeat.
    repeats: u32,
    first_repeat: Option<Time>,
    test: Test,
}

impl Default for Undo {
    fn default() -> Undo {
        Undo {
            open: false,
            of_timeout: false,
            una: 0,
            repeats: 0,
            first_repeat: None,
            test: Test::None,
        }
    }
}

impl Undo {
    /// A reduction begins, while `in_flight` repeats are still in the network.
    pub fn reduced(&mut self, una: u64, of_timeout: bool, in_flight: u32) {
        // The answer to a repeat of an earlier reduction is not an answer to an original.
        let first_repeat = self.first_repeat.filter(|_| in_flight > 0);
        *self = Undo {
            open: true,
            of_timeout,
            una,
            repeats: in_flight,
            first_repeat,
            test: Test::None,
        };
    }

    /// The same reduction continues: a segment timed out again.
    pub fn timed_out_again(&mut self) {
        self.test = Test::None;
    }

    /// No undo is possible any more, because an echoed mark shows that the congestion is real, or because the question
    /// is decided.
    pub fn settle(&mut self) {
        self.open = false;
        self.test = Test::None;
    }

    /// Whether the reduction may still prove to be a mistake, and was that of a fast recovery.
    pub fn is_of_recovery(&self) -> bool {
        self.open && !self.of_timeout
    }

    pub fn is_of_timeout(&self) -> bool {
        self.of_timeout
    }

    /// A segment is sent again.
    pub fn repeated(&mut self, now: Time) {
        self.repeats += 1;
        self.first_repeat.get_or_insert(now);
    }

    /// RFC 3522 section 3.2: an ACK that moved `una` during a repair and echoes a time stamp older than the first
    /// repeat.
    pub fn answers_original(&self, echoed: Option<Time>) -> bool {
        self.open
            && match (echoed, self.first_repeat) {
                (Some(echoed), Some(first)) => echoed < first,
                _ => false,
            }
    }

    /// A duplicate of this many segments was reported. Returns true if every repeat has been reported by now.
    pub fn duplicate(&mut self, range: (u64, u64), segments: u32) -> bool {
        if !self.open || self.repeats == 0 || range.1 <= self.una {
            return false;
        }
        self.repeats = self.repeats.saturating_sub(segments);
        self.repeats == 0
    }

    /// Start the test of a timeout.
    pub fn begin_test(&mut self) {
        self.test = Test::First { due: true };
    }

    pub fn is_testing(&self) -> bool {
        self.test != Test::None
    }

    /// The segments that may be sent now, which count as sent after this call.
    pub fn next(&mut self) -> Allowed {
        match &mut self.test {
            Test::First { due } if *due => {
                *due = false;
                Allowed::FirstAgain
            }
            Test::Second { new } if *new > 0 => {
                *new -= 1;
                Allowed::New
            }
            _ => Allowed::Nothing,
        }
    }

    /// The test of RFC 5682 section 3.1, or with SACK that of section 3.2.
    pub fn judge(&mut self, a: &AckAfterTimeout<'_>) -> Proof {
        let original = || a.arrivals.iter().any(|s| !s.again && s.end <= a.recover);
        match self.test {
            Test::None => return Proof::Nothing,
            // Without SACK the ACK of the retransmission also covers data that had arrived after the lost segment.
            Test::First { .. } if a.sack && original() => {}
            Test::Second { .. } if original() => {}
            Test::First { .. } | Test::Second { .. } if a.una >= a.recover => {
                self.test = Test::None;
                return Proof::Nothing;
            }
            Test::First { .. } if a.moved && a.new > 0 => {
                self.test = Test::Second { new: a.new };
                return Proof::Nothing;
            }
            Test::First { .. } if !a.moved && a.sack => return Proof::Nothing,
            Test::First { .. } => {
                self.test = Test::None;
                return Proof::Lost { slow: false };
            }
            Test::Second { .. } => {
                self.test = Test::None;
                return Proof::Lost { slow: !a.linux };
            }
        }
        self.test = Test::None;
        // An echo has shown that the reduction was justified, but the repair was still spurious.
        if self.open {
            Proof::Spurious
        } else {
            Proof::Lost { slow: false }
        }
    }
}
