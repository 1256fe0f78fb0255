//! The language of dialogues in which segments have numbers: a reader that turns text into [`DialogueStep`]s, and a
//! player of these steps.
//!
//! A step is a line, or the text between two `;`. It says when something happens, and what. Times count from the end of
//! the handshake that `open` makes, or from the beginning if there is no `open`. A time with `+` counts from the step
//! before. A step without a time happens at the time of the step before. Segments are numbered from 1, and a SYN has
//! the number 0. The text after `#` is a comment.
//!
//! ```text
//! open 100ms, open 100ms lost 2    the handshake, whose last SYN is answered after this time
//! write 20, write forever    the application writes this many segments, or `write 500B` bytes; `write nothing` takes
//!                            back what was not sent
//! close, abort, stay_open, read off, read on    what else it does
//! < ack 3 sack 5-6,9 ece     an acknowledgement of all up to 3 arrives; so much of the rest is reported
//! < ack 2500B win 5          one of this many bytes, with a window of five segments (or `win 500B`)
//! < ack 3 of again           it echoes the time stamp of the last copy; `of 5` that of segment 5, `of 5 again`
//! > 11-12                    exactly these were sent since the last look; > nothing, > at most 2, > at least 1
//! > 11-12 ...                these were sent first, and perhaps more
//! > 11 cwr ect0              and each of them has this: cwr, no-cwr, ect0, ect1, not-ect, or this many bytes: 500B
//! > at least 2 cwr-first     and the first of them alone has CWR
//! again 5,7                  exactly these of what was sent since the last look had been sent before, `again 5 ect0`
//! copies 5 at 100ms,300ms    segment 5 was sent at these times, and at no other
//! says A SYN, B SYN+ACK, A 500    everything that was sent since the last `says`; `...` at the end: and more
//! cwnd = 11 +- 0.1           a state: also <, <=, >, >=, !=, and sums and products of numbers and names
//! ca_state = Disorder        Open, Disorder, CWR, Recovery, Loss; sacked, lost, retrans, unacked, as in tcp_info
//! wait timeouts = 1          until this holds, looked at each millisecond
//! keep W = cwnd              a name for what a state is now
//! path 100ms                 from now on the other end answers, after this round trip; path off
//! path 40ms each 1ms         beside it a line that takes a segment of data in this time, after a queue; with `room 20`
//!                            at most this many wait; with `bucket 20` none waits, and this many may come at once
//! path 40ms grid 20ms        data arrive at multiples of this time; `every 10`: each tenth segment of data is lost
//! lose 5,7, lose 5 x2        the next (two) copies do not arrive; lose nothing takes it back
//! mark 3-9, mark all         they arrive marked; mark nothing
//! late 5 30ms                it arrives so much later; apart 1-20 1ms: 2 by 1 ms, 3 by 2 ms, and so on
//! lose syn, lose ack 1,4, lose all, mark ...    the next SYN or FIN, the first and fourth pure ACK, all that is sent
//! B write 3, B < 4 ce, B > ack 2 sack 4 ece, B received = 3    the other end: B before a step, B. before a state
//! ```

mod drive;
mod expr;
mod net;
mod play;
mod read;

pub use drive::Driven;
pub use expr::Expr;
pub use net::{Net, PlayedEnd};
pub use play::{Broken, Playing, play};
pub use read::read;

use tailback_base::{Ecn, Time};

/// Payload of a full segment, B.
pub const PAYLOAD: u64 = 1000;
/// The largest number of a segment, or of segments.
pub const MOST_SEGMENTS: u64 = 1_000_000;

/// The end that a step is about: the end that opens the connection, or the other end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    A,
    B,
}

/// One step.
#[derive(Clone, PartialEq, Debug)]
pub struct DialogueStep {
    pub line: u32,
    /// The text of the step after its time, on one line.
    pub text: String,
    pub when: Clock,
    pub who: Who,
    pub what: Does,
}

/// When a step happens, nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    At(u64),
    /// Time since the step before.
    After(u64),
}

/// The action or check of a step.
#[derive(Clone, PartialEq, Debug)]
pub enum Does {
    Open {
        round_trip: u64,
        lost: u64,
    },
    Do(Act),
    /// An acknowledgement arrives.
    Ack(GivenAck),
    /// Segments of data arrive.
    Data {
        numbers: Vec<u64>,
        ecn: Ecn,
        cwr: bool,
    },
    Sends(Sends),
    /// At most, or at least, this number of segments.
    Count {
        most: bool,
        number: u64,
        cwr_first: bool,
    },
    /// Exactly one pure acknowledgement was sent, and it is this one; `None`: no acknowledgement was sent.
    SendsAck(Option<SentAck>),
    /// Exactly these segments were sent again.
    Again(Sends),
    Copies {
        number: u64,
        at: Vec<u64>,
    },
    Says {
        words: Vec<String>,
        and_more: bool,
    },
    Check(StateCheck),
    Wait(StateCheck),
    Keep {
        name: String,
        value: Expr,
    },
    Path(PathStep),
    Lose {
        which: Which,
        times: u64,
    },
    Mark(Which),
    Late {
        which: Which,
        by: u64,
        /// Each segment is this much later than the one before it.
        more: bool,
    },
}

/// The path from now on. Times are nanoseconds; 0 stands for none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathStep {
    /// The round trip; 0: no path.
    pub round_trip: u64,
    /// How long the line takes for a segment of data.
    pub each: u64,
    /// The number of segments that may wait for the line; `None`: any number.
    pub room: Option<u64>,
    /// No segment waits, and this many may arrive at once.
    pub bucket: Option<u64>,
    /// Data arrive at multiples of this time.
    pub grid: u64,
    /// One segment of data in this many is lost.
    pub every: u64,
}

/// The actions of an application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Bytes; `None`: without end.
    Write(Option<u64>),
    /// Takes back the data that were not sent.
    Withdraw,
    Close,
    Abort,
    StayOpen,
    Read(bool),
}

/// An acknowledgement that the dialogue gives.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GivenAck {
    /// Bytes.
    pub acked: u64,
    /// The first and the last segment of each reported range.
    pub reports: Vec<(u64, u64)>,
    pub ece: bool,
    /// Bytes.
    pub window: Option<u64>,
    /// The segment whose time stamp is echoed; `None`: the first segment that the acknowledgement newly covers.
    pub of: Option<u64>,
    /// Whether the time stamp of its last copy is echoed.
    pub again: bool,
}

/// Segments that were sent, and the attributes of each of these segments.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sends {
    pub numbers: Vec<u64>,
    pub and_more: bool,
    pub marks: Vec<String>,
    pub bytes: Option<u64>,
}

/// A pure acknowledgement that was sent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SentAck {
    pub acked: u64,
    pub reports: Vec<(u64, u64)>,
    pub ece: bool,
    /// On the wire.
    pub bytes: Option<u64>,
}

/// A comparison of a state with a value.
#[derive(Clone, PartialEq, Debug)]
pub struct StateCheck {
    pub left: Expr,
    pub operator: &'static str,
    pub value: Expr,
    pub tolerance: Option<Expr>,
}

/// Segments on the path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Which {
    /// Segments of data, by number.
    Data(Vec<u64>),
    /// Pure acknowledgements, counted from 1.
    Acks(Vec<u64>),
    Syn,
    Fin,
    All,
    Nothing,
}

/// A segment that was sent, and when.
#[derive(Clone, PartialEq, Debug)]
pub struct Sent {
    pub at: Time,
    pub segment: crate::Segment,
}

#[cfg(test)]
mod tests;
