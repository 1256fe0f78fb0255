//! Whether a repair was needless: what was reduced for it then comes back.
//!
//! A segment that was only late looks lost. Three proofs show that it was not: an ACK that echoes a time stamp older
//! than the first repeat answers the original (Eifel, RFC 3522); the receiver reports each repeat as a duplicate
//! (D-SACK, RFC 2883, used as RFC 3708 has it); and after a timeout an ACK covers what was never sent again (F-RTO, RFC
//! 5682). The answer is one: window and threshold are what they were, and nothing counts as lost (`state/undo.rs`).
//!
//! ```text
//!   F-RTO    timeout: only the first is sent again     it is acknowledged: two new segments
//!            ---------------------------------> First ----------------------------> Second
//!                                                 | a duplicate without SACK           | a duplicate,
//!                                                 |                                    | or news of the new ones only
//!                                                 v                                    v
//!                                                       all that was out is lost
//!            either: what was out and never sent again has arrived: the timeout was needless
//! ```
//!
//! State: 48 bytes, and the records of `sent.rs`, where the option is on. Departure from RFC 5682: with SACK the last
//! rule is asked at each ACK after the timeout, not only at the second; it needs a round trip less, and its error, a
//! report lost for each segment that arrived, costs one reduction.

use super::sent::Arrival;
use tailback_base::Time;

/// The test after a timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Test {
    None,
    /// The first segment goes again, if it is due, and nothing else.
    First {
        due: bool,
    },
    /// So many new segments may go.
    Second {
        new: u8,
    },
}

/// What an ACK shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Proof {
    Nothing,
    /// The reduction was a mistake.
    Needless,
    /// The timeout was none: all that was out is lost. `slow`: the window is three segments at most.
    Lost {
        slow: bool,
    },
}

/// What may leave while a timeout is tested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allowed {
    FirstAgain,
    New,
    Nothing,
}

/// An ACK after a timeout.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    pub una: u64,
    pub moved: bool,
    /// The connection has SACK.
    pub sack: bool,
    /// What was out at the timeout ends here.
    pub recover: u64,
    pub arrivals: &'a [Arrival],
    /// There are new segments to send.
    pub more: bool,
}

#[derive(Clone, Debug)]
pub struct Undo {
    /// The last reduction may yet prove a mistake.
    open: bool,
    of_timeout: bool,
    /// Unacknowledged when it came.
    una: u64,
    /// Segments sent again for it that were not reported as duplicates, and when the first was.
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
    /// A reduction, while `in_flight` repeats are still on their way.
    pub fn reduced(&mut self, una: u64, of_timeout: bool, in_flight: u32) {
        *self = Undo {
            open: true,
            of_timeout,
            una,
            repeats: in_flight,
            first_repeat: None,
            test: Test::None,
        };
    }

    /// The same reduction goes on: a segment timed out again.
    pub fn timed_out_again(&mut self) {
        self.test = Test::None;
    }

    /// The congestion is real, as an echo of a mark says; or the matter is settled.
    pub fn settle(&mut self) {
        self.open = false;
        self.test = Test::None;
    }

    pub fn is_of_timeout(&self) -> bool {
        self.of_timeout
    }

    /// A segment is sent again.
    pub fn repeated(&mut self, now: Time) {
        self.repeats += 1;
        self.first_repeat.get_or_insert(now);
    }

    /// RFC 3522 section 3.2: an ACK that moved in a repair and echoes a stamp older than the first repeat.
    pub fn answers_original(&self, echoed: Option<Time>) -> bool {
        self.open
            && match (echoed, self.first_repeat) {
                (Some(echoed), Some(first)) => echoed < first,
                _ => false,
            }
    }

    /// A duplicate of so many segments was reported. True if that accounts for every repeat.
    pub fn duplicate(&mut self, range: (u64, u64), segments: u32) -> bool {
        if !self.open || self.repeats == 0 || range.1 <= self.una {
            return false;
        }
        self.repeats = self.repeats.saturating_sub(segments);
        self.repeats == 0
    }

    /// A timeout is tested.
    pub fn begin_test(&mut self) {
        self.test = Test::First { due: true };
    }

    pub fn is_testing(&self) -> bool {
        self.test != Test::None
    }

    /// What may leave now; taken.
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

    /// RFC 5682 section 3.1, in the form with SACK of section 3.2.
    pub fn judge(&mut self, a: &Answer<'_>) -> Proof {
        let original = || a.arrivals.iter().any(|s| !s.again && s.end <= a.recover);
        match self.test {
            Test::None => return Proof::Nothing,
            // Without SACK the answer to the repeat covers what had arrived behind it.
            Test::First { .. } if a.sack && original() => {}
            Test::Second { .. } if original() => {}
            Test::First { .. } | Test::Second { .. } if a.una >= a.recover => {
                self.test = Test::None;
                return Proof::Nothing;
            }
            Test::First { .. } if a.moved && a.more => {
                self.test = Test::Second { new: 2 };
                return Proof::Nothing;
            }
            Test::First { .. } if !a.moved && a.sack => return Proof::Nothing,
            Test::First { .. } => {
                self.test = Test::None;
                return Proof::Lost { slow: false };
            }
            Test::Second { .. } => {
                self.test = Test::None;
                return Proof::Lost { slow: true };
            }
        }
        self.test = Test::None;
        // An echo has settled that the reduction was due; the repair still was not.
        if self.open {
            Proof::Needless
        } else {
            Proof::Lost { slow: false }
        }
    }
}
