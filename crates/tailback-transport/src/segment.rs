//! A segment, as endpoints exchange it.
//!
//! Sequence numbers count bytes in 64 bits and never wrap. A SYN and a FIN occupy one unit each. The simulator packs a
//! segment into its 32-byte packet; what does not fit (SACK blocks, an old time stamp) goes to a table beside it.

use tailback_base::{Ecn, Time};
use thin_vec::ThinVec;

/// TCP's flags, plus a flag of the sender that marks a retransmission.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// A segment with one of these opens or closes a connection.
    pub const OPENS_OR_CLOSES: Flags = Flags(Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0);
    pub const NONE: Flags = Flags(0);
    pub const SYN: Flags = Flags(1);
    pub const FIN: Flags = Flags(1 << 1);
    pub const ACK: Flags = Flags(1 << 2);
    pub const RST: Flags = Flags(1 << 3);
    /// ECN echo (RFC 3168).
    pub const ECE: Flags = Flags(1 << 4);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Flags = Flags(1 << 5);
    /// These bytes were sent before.
    pub const RETRANSMISSION: Flags = Flags(1 << 6);

    pub const fn has(self, f: Flags) -> bool {
        self.0 & f.0 != 0
    }

    #[must_use]
    pub const fn with(self, f: Flags) -> Flags {
        Flags(self.0 | f.0)
    }
}

/// SACK blocks: half-open byte ranges, the most recent first (RFC 2018). An empty list takes one word: segments are
/// copied for every packet, and most carry no block.
pub type SackBlocks = ThinVec<(u64, u64)>;

/// One segment.
#[derive(Clone, PartialEq, Debug)]
pub struct Segment {
    /// First sequence unit this segment occupies.
    pub seq: u64,
    /// Payload, bytes.
    pub payload: u32,
    /// Next unit expected from the other side (valid with [`Flags::ACK`]).
    pub ack: u64,
    pub flags: Flags,
    pub ecn: Ecn,
    /// Size on the wire, bytes.
    pub bytes: u32,
    pub sack: SackBlocks,
    /// RFC 7323: (value, echo reply).
    pub timestamps: Option<(Time, Time)>,
    /// How many bytes beyond `ack` the other side may send. `None` if this is a constant of the connection, as for
    /// most senders here.
    pub window: Option<u32>,
}

/// A segment without options except time stamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plain {
    /// Sequence number of its data; in a pure ACK, the acknowledgement number.
    pub seq: u64,
    /// The acknowledgement number of its data, or the sequence number of a pure ACK: always 1 in a one-way connection.
    pub other: u64,
    pub payload: u32,
    /// Size on the wire.
    pub bytes: u32,
    pub flags: Flags,
    pub ecn: Ecn,
    /// When it is sent; also the value of its time stamp.
    pub sent: Time,
    /// RFC 7323: the echo in its time stamp; [`Time::NEVER`] in a segment without time stamps.
    pub echo: Time,
}

impl Plain {
    /// A segment with data that leaves now, of a one-way connection. An end of a two-way one writes its acknowledgement
    /// into it.
    #[inline]
    pub(crate) fn of(s: &Segment, now: Time) -> Plain {
        debug_assert!(s.ack == 1 && s.sack.is_empty() && s.window.is_none());
        Plain {
            seq: s.seq,
            other: 1,
            payload: s.payload,
            bytes: s.bytes,
            flags: s.flags,
            ecn: s.ecn,
            sent: now,
            echo: s.timestamps.map_or(Time::NEVER, |t| t.1),
        }
    }

    /// A pure ACK as a full segment.
    #[inline]
    pub(crate) fn to_ack(self) -> Segment {
        Segment {
            seq: self.other,
            payload: 0,
            ack: self.seq,
            flags: self.flags,
            ecn: self.ecn,
            bytes: self.bytes,
            sack: SackBlocks::new(),
            timestamps: (self.echo != Time::NEVER).then_some((self.sent, self.echo)),
            window: None,
        }
    }
}

impl Segment {
    /// One past the last sequence unit this segment occupies.
    pub fn end(&self) -> u64 {
        let units =
            u64::from(self.payload) + u64::from(self.flags.has(Flags::SYN)) + u64::from(self.flags.has(Flags::FIN));
        self.seq.saturating_add(units)
    }

    /// Whether the segment occupies sequence space and therefore needs an acknowledgement.
    pub fn occupies(&self) -> bool {
        self.payload > 0 || self.flags.has(Flags::SYN) || self.flags.has(Flags::FIN)
    }
}
