//! The sequence space of a sender.
//!
//! ```text
//!        una              nxt        max_sent            end
//!   ------|----------------|------------|-----------------|
//!   acked |  outstanding   | to repeat  |     unsent      |      nxt < max_sent only while going back after a timeout
//! ```
//!
//! Units are bytes. The SYN is unit 0, and data starts at 1. If a FIN closes the connection, it is the unit at `end`,
//! and `max_sent` and `una` pass this unit.

/// First byte of data.
pub const FIRST: u64 = 1;

/// The value for no position. It is greater than any sequence number, so most comparisons need no special case.
pub(super) const NONE: u64 = u64::MAX;

/// A number of bytes as a real number. Lengths stay far below 2^63, so the signed conversion (one instruction) is
/// safe.
#[inline]
pub fn real(bytes: u64) -> f64 {
    bytes as i64 as f64
}

/// A segment that recovery sends next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    pub seq: u64,
    /// Payload, bytes.
    pub len: u32,
    /// Whether the segment has the FIN after its payload.
    pub fin: bool,
}

impl Piece {
    /// One past the last unit of the segment.
    #[inline]
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.len) + u64::from(self.fin)
    }
}

pub(super) struct Sequence {
    /// The lowest unacknowledged unit.
    pub una: u64,
    /// The next unit to send.
    pub nxt: u64,
    /// One past the highest unit ever sent.
    pub max_sent: u64,
    /// One past the last byte the application wrote; `u64::MAX` without end.
    pub end: u64,
    /// The end of the data that were outstanding at the last timeout (and, for the careful variants, at the last fast
    /// retransmit).
    pub recover: u64,
    /// The segment that is sent next, independent of the window; [`NONE`] if there is no such segment.
    pub resend: u64,
    /// The unit of the FIN: the end of the data once the application has closed; [`NONE`] before that, and if no FIN
    /// is sent.
    pub fin: u64,
    /// The segment that timed out last.
    pub timed_out: u64,
    /// The end of the data sent again since the last cut for an echo.
    pub resent: u64,
    /// True until the data that were outstanding at a timeout are acknowledged.
    pub after_timeout: bool,
    /// Whether the FIN waits until nothing is outstanding.
    pub fin_waits: bool,
    /// Payload of a full segment, bytes.
    pub segment: u32,
}

impl Sequence {
    pub fn new(start: u64, segment: u32) -> Sequence {
        Sequence {
            una: start,
            nxt: start,
            max_sent: start,
            end: FIRST,
            recover: 0,
            resend: NONE,
            fin: NONE,
            timed_out: u64::MAX,
            resent: 0,
            after_timeout: false,
            fin_waits: false,
            segment,
        }
    }

    #[inline]
    pub fn flight(&self) -> u64 {
        self.nxt - self.una
    }

    /// The segment at `seq`, which is shorter than a full one at the end of the data. A repeat ends at the end of the
    /// data that were sent before.
    #[inline]
    pub fn piece(&self, seq: u64) -> Option<Piece> {
        let stop = if seq < self.max_sent { self.max_sent } else { self.end };
        if self.fin != NONE {
            // Data that was sent before is repeated without the FIN, unless the FIN was sent too.
            let waits = self.fin_waits && self.una < self.max_sent;
            let stop = if seq < self.max_sent || waits {
                stop
            } else {
                self.fin + 1
            };
            return (seq < stop).then(|| self.between(seq, stop));
        }
        let len = stop.saturating_sub(seq).min(u64::from(self.segment)) as u32;
        (len > 0).then_some(Piece { seq, len, fin: false })
    }

    /// The first segment of the units `[from, to)`.
    #[inline]
    pub fn between(&self, from: u64, to: u64) -> Piece {
        let len = (to.min(self.fin) - from).min(u64::from(self.segment));
        Piece {
            seq: from,
            len: len as u32,
            fin: from + len == self.fin && to > self.fin,
        }
    }

    /// Take the acknowledgement of all units below `ack`. Returns the number of new bytes.
    #[inline]
    pub fn advance(&mut self, ack: u64) -> u64 {
        let bytes = ack - self.una;
        self.una = ack;
        // An ACK may pass `nxt` while going back after a timeout.
        self.nxt = self.nxt.max(ack);
        if self.resend < ack {
            self.resend = NONE;
        }
        bytes
    }
}
