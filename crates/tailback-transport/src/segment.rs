//! A segment, as endpoints exchange it.
//!
//! Sequence numbers count bytes in 64 bits and never wrap. A SYN and a FIN occupy one unit each. The simulator packs a
//! segment into its 32-byte packet. The parts that do not fit (SACK blocks, an old time stamp, counts of marks) go to a
//! separate table.

use tailback_base::{Ecn, Time};
use thin_vec::ThinVec;

/// The most bytes that a segment may have on the wire in addition to its payload, options included. The simulator's
/// packet stores this number in one byte, and the largest value of this byte means that the packet has no payload.
pub const MOST_HEADER: u32 = 254;

/// TCP's flags, plus a flag of the sender that marks a retransmission.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// A segment with one of these flags opens or closes a connection.
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
    /// Accurate ECN (RFC 9768).
    pub const AE: Flags = Flags(1 << 7);
    /// AE, CWR and ECE, which RFC 9768 reads as one number.
    pub const ACE: Flags = Flags(Flags::AE.0 | Flags::CWR.0 | Flags::ECE.0);

    pub const fn has(self, f: Flags) -> bool {
        self.0 & f.0 != 0
    }

    #[must_use]
    pub const fn with(self, f: Flags) -> Flags {
        Flags(self.0 | f.0)
    }

    #[must_use]
    pub const fn without(self, f: Flags) -> Flags {
        Flags(self.0 & !f.0)
    }

    /// The three flags of ECN as a number (RFC 9768 section 3.2.1). AE counts 4, CWR 2 and ECE 1.
    pub const fn ace(self) -> u8 {
        (self.0 >> 7 & 1) << 2 | (self.0 >> 5 & 1) << 1 | self.0 >> 4 & 1
    }

    /// The flags that encode the lowest three bits of this number.
    pub const fn of_ace(n: u8) -> Flags {
        Flags((n >> 2 & 1) << 7 | (n >> 1 & 1) << 5 | (n & 1) << 4)
    }
}

/// The option of accurate ECN (RFC 9768 section 3.2.3): the bytes of payload that have arrived with each codepoint, as
/// in the fields of the option, 24 bits each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EcnCounts {
    pub ect1: u32,
    pub ce: u32,
    pub ect0: u32,
    /// How many of these fields the option has, in this order: ECT(1), CE, ECT(0) (order 1, kind 174).
    pub fields: u8,
}

impl EcnCounts {
    /// Bytes of the option, without padding.
    pub const fn bytes(&self) -> u32 {
        2 + 3 * self.fields as u32
    }
}

/// SACK blocks: half-open byte ranges, the most recent first (RFC 2018). An empty list takes only one word, because a
/// segment is copied for every packet and most segments carry no block.
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
    /// The time stamps of RFC 7323: (value, echo reply).
    pub timestamps: Option<(Time, Time)>,
    /// The number of bytes beyond `ack` that the other side may send. `None` if this is a constant of the connection,
    /// as for most senders here.
    pub window: Option<u32>,
    /// RFC 9768: the option of accurate ECN.
    pub counts: Option<Box<EcnCounts>>,
}

/// A segment without options except time stamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plain {
    /// The sequence number of a segment with data; in a pure ACK, the acknowledgement number.
    pub seq: u64,
    /// The acknowledgement number of a segment with data, or the sequence number of a pure ACK. It is always 1 in a
    /// one-way connection.
    pub other: u64,
    pub payload: u32,
    /// Size on the wire.
    pub bytes: u32,
    pub flags: Flags,
    pub ecn: Ecn,
    /// The time at which the segment is sent. This is also the value of its time stamp.
    pub sent: Time,
    /// RFC 7323: the echo in its time stamp; [`Time::NEVER`] in a segment without time stamps.
    pub echo: Time,
}

impl Plain {
    /// A segment with data that leaves now, of a one-way connection. An end of a two-way connection writes its
    /// acknowledgement number into the segment.
    #[inline]
    pub(crate) fn of(s: &Segment, now: Time) -> Plain {
        debug_assert!(s.ack == 1 && s.sack.is_empty() && s.window.is_none() && s.counts.is_none());
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
            counts: None,
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
