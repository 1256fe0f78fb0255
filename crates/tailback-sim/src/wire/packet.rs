//! The packet in the simulator.
//!
//! [`WirePacket`] is the packet on its way: 32 bytes, `Copy`, the unit of every ring. [`SimPacket`] is the packet in a
//! discipline or a conditioner: the same packet with the classification keys of its flow, which are added when it
//! reaches a queue. Further fields of a segment (SACK blocks, a second sequence number, an old time stamp) are in a
//! side table, [`Extras`].

use super::extras::BARE;
pub use super::extras::{Extra, Extras};
use super::keys::Keys;
use tailback_base::{Dscp, Ecn, FlowId, KeyField, Packet, PureAck, Request, Time};
use tailback_conditioner::{Header, Stamps};
use tailback_queue::pieces::catalogue::Pieces;
use tailback_queue::registry::{Group, HeldPacket, groups_for};
use tailback_transport::segment::MOST_HEADER;
use tailback_transport::{Flags, Plain, SackBlocks, Segment};

/// The identity of a packet: the fields that it keeps on all its hops and that no other packet has. No sender puts two
/// packets of one flow, direction and sequence number on its first link at one instant. There are two exceptions, whose
/// packets are alike in every respect: the copy that an impairment makes, and a pure ACK that is sent twice at once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PacketId {
    pub flow: FlowId,
    /// Whether it goes from the flow's destination to its source.
    pub backward: bool,
    pub sequence: u64,
    /// The time at which its source sent it.
    pub born: Time,
}

/// Times in a packet have 48 bits: runs of up to 78 hours.
pub const MAX_TIME: Time = Time((1 << 48) - 1);
/// Sequence numbers in a packet have 48 bits.
const SEQ_BITS: u32 = 48;
const LOW48: u64 = (1 << 48) - 1;
/// Routes are at most this long, hops.
pub const MAX_HOPS: usize = 60;
/// A flag in the hop byte: a control packet, whose request is in the extras.
const CONTROL: u8 = 1 << 7;
/// A flag in the hop byte: this packet travels from the flow's destination to its source.
const BACKWARD: u8 = 1 << 6;
const HOP: u8 = BACKWARD - 1;
/// A value of the header byte: this packet has no payload, whatever its length.
const NO_PAYLOAD: u8 = u8::MAX;
const _: () = assert!(MOST_HEADER < NO_PAYLOAD as u32);
pub const NO_EXTRA: u32 = u32::MAX;
/// A word of this value or more is no slot of the side table. The word minus this value is the age of the packet's echo
/// relative to the packet, ns. The value of the packet's time stamp is its birth.
pub const ECHO: u32 = 1 << 31;

/// A packet on its way. It has four words: sequence (48) and bytes (16); queue stamp (48), hop (8), header bytes (8);
/// birth (48), flags (8), TOS (8); flow (32) and extra (32).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WirePacket {
    seq_bytes: u64,
    stamp_hop_header: u64,
    born_flags_tos: u64,
    flow: u32,
    pub(super) extra: u32,
}

/// A packet in a queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SimPacket {
    pub wire: WirePacket,
    pub keys: Keys,
}

/// The sequence number that is not stored in a packet without extras. It is 1 with an acknowledgement, as in every
/// segment of a connection whose data flow one way, and otherwise 0.
#[inline(always)]
fn other_of(flags: Flags) -> u64 {
    u64::from(flags.has(Flags::ACK))
}

/// The header byte of a packet of these lengths.
#[inline(always)]
fn header_byte(bytes: u32, payload: u32) -> u64 {
    debug_assert!(payload == 0 || bytes - payload <= MOST_HEADER);
    u64::from((bytes - payload).min(u32::from(NO_PAYLOAD)))
}

#[inline(always)]
fn way(backward: bool) -> u64 {
    (backward as u64) << (8 + BACKWARD.trailing_zeros())
}

/// Time stamps in the word beside the flow, for a packet that is sent at its stamp's value and echoes no old time.
#[inline]
fn beside(value: Time, echo: Time, now: Time) -> Option<u32> {
    let age = now.0.wrapping_sub(echo.0);
    (value == now && age < u64::from(NO_EXTRA - ECHO)).then(|| ECHO + age as u32)
}

impl WirePacket {
    /// Pack a segment that `flow` sends now. Its SACK blocks stay with the packet.
    #[inline]
    pub fn from_segment(s: &mut Segment, flow: FlowId, backward: bool, now: Time, extras: &mut Extras) -> WirePacket {
        let carries = s.occupies();
        let (seq, other) = if carries {
            (s.seq, if s.flags.has(Flags::ACK) { s.ack } else { 0 })
        } else {
            (s.ack, s.seq)
        };
        let stamps = match s.timestamps {
            None => Some(NO_EXTRA),
            Some((value, echo)) => beside(value, echo, now),
        };
        let fits = other == other_of(s.flags) && s.sack.is_empty() && s.window.is_none() && s.counts.is_none();
        let extra = stamps.filter(|_| fits).unwrap_or_else(|| {
            extras.add(Extra {
                other_seq: other,
                sack: std::mem::take(&mut s.sack),
                timestamps: s.timestamps,
                window: s.window,
                request: None,
                counts: s.counts.take(),
            })
        });
        debug_assert!(seq >> SEQ_BITS == 0 && s.bytes <= 0xffff);
        WirePacket {
            seq_bytes: (seq << 16) | u64::from(s.bytes as u16),
            stamp_hop_header: way(backward) | header_byte(s.bytes, s.payload),
            born_flags_tos: (now.0 << 16) | (u64::from(s.flags.0) << 8) | u64::from(s.ecn as u8),
            flow: flow.0,
            extra,
        }
    }

    /// Pack a segment without options except time stamps that `flow` sends now.
    #[inline]
    pub fn from_plain(s: &Plain, flow: FlowId, backward: bool, extras: &mut Extras) -> WirePacket {
        debug_assert!(s.seq >> SEQ_BITS == 0 && s.bytes <= 0xffff);
        let now = s.sent;
        let inside = match s.echo {
            _ if s.other != other_of(s.flags) => None,
            Time::NEVER => Some(NO_EXTRA),
            echo => beside(now, echo, now),
        };
        let extra = inside.unwrap_or_else(|| extras.add_plain(s));
        WirePacket {
            seq_bytes: (s.seq << 16) | u64::from(s.bytes as u16),
            stamp_hop_header: way(backward) | header_byte(s.bytes, s.payload),
            born_flags_tos: (now.0 << 16) | (u64::from(s.flags.0) << 8) | u64::from(s.ecn as u8),
            flow: flow.0,
            extra,
        }
    }

    /// Unpack the packet, if it is a segment without options except time stamps. Its entry in the side table stays.
    #[inline]
    pub fn to_plain(&self, extras: &Extras) -> Option<Plain> {
        let (other, echo) = if self.extra >= ECHO {
            // Without an entry in the side table the other number is 0 or 1.
            (other_of(self.flags()), self.echo())
        } else {
            let e = extras
                .of(self)
                .filter(|e| self.extra & BARE != 0 && e.window.is_none())?;
            (e.other_seq, e.timestamps.map(|t| t.1))
        };
        (other > 0).then(|| Plain {
            seq: self.seq(),
            other,
            payload: self.payload(),
            bytes: self.size(),
            flags: self.flags(),
            ecn: Ecn::from_bits(self.born_flags_tos as u8),
            sent: self.born(),
            echo: echo.unwrap_or(Time::NEVER),
        })
    }

    /// The echo of its time stamp, if that is in the packet itself.
    #[inline]
    fn echo(&self) -> Option<Time> {
        let stamped = self.extra >= ECHO && self.extra != NO_EXTRA;
        stamped.then(|| Time(self.born().0 - u64::from(self.extra - ECHO)))
    }

    /// Its four words, for a ring that packs them closer.
    #[inline(always)]
    pub fn words(&self) -> [u64; 4] {
        let last = u64::from(self.flow) << 32 | u64::from(self.extra);
        [self.seq_bytes, self.stamp_hop_header, self.born_flags_tos, last]
    }

    #[inline(always)]
    pub fn from_words([seq_bytes, stamp_hop_header, born_flags_tos, last]: [u64; 4]) -> WirePacket {
        WirePacket {
            seq_bytes,
            stamp_hop_header,
            born_flags_tos,
            flow: (last >> 32) as u32,
            extra: last as u32,
        }
    }

    /// The packet has left a queue: clear the time at which it entered.
    #[inline]
    #[must_use]
    pub fn without_stamp(self) -> WirePacket {
        WirePacket {
            stamp_hop_header: self.stamp_hop_header & 0xffff,
            ..self
        }
    }

    /// The same packet with this code point.
    #[must_use]
    pub fn with_dscp(self, colour: Dscp) -> WirePacket {
        let born_flags_tos = (self.born_flags_tos & !0xfc) | (u64::from(colour.0 & 0x3f) << 2);
        WirePacket { born_flags_tos, ..self }
    }

    /// The same packet, which has no code point yet, with the code point of its way: a TOS byte without ECN.
    #[inline]
    #[must_use]
    pub fn with_tos(self, tos: u8) -> WirePacket {
        WirePacket {
            born_flags_tos: self.born_flags_tos | u64::from(tos),
            ..self
        }
    }

    /// A datagram: `bytes` on the wire, of which `header` carry no payload.
    pub fn datagram(seq: u64, bytes: u32, header: u32, ecn: Ecn, flow: FlowId, now: Time) -> WirePacket {
        WirePacket {
            seq_bytes: ((seq & LOW48) << 16) | u64::from(bytes as u16),
            stamp_hop_header: header_byte(bytes, bytes - header),
            born_flags_tos: (now.0 << 16) | u64::from(ecn as u8),
            flow: flow.0,
            extra: NO_EXTRA,
        }
    }

    /// The answer to a datagram that has arrived now. It has `bytes` on the wire. As many of these bytes as in the
    /// datagram carry no payload, as long as one byte is left that does. Its time stamp echoes the time at which the
    /// datagram was sent.
    #[must_use]
    pub fn answered(&self, bytes: u32, ecn: Ecn, now: Time, extras: &mut Extras) -> WirePacket {
        let header = (self.stamp_hop_header & 0xff).min(u64::from(bytes.saturating_sub(1)));
        let tos = (self.born_flags_tos & 0xfc) | ecn as u64;
        let sent_at = self.born();
        let extra = beside(now, sent_at, now).unwrap_or_else(|| {
            extras.add(Extra {
                timestamps: Some((now, sent_at)),
                ..Extra::default()
            })
        });
        WirePacket {
            seq_bytes: (self.seq() << 16) | u64::from(bytes as u16),
            stamp_hop_header: way(true) | header,
            born_flags_tos: (now.0 << 16) | tos,
            flow: self.flow,
            extra,
        }
    }

    /// The echo of its time stamp.
    #[inline]
    pub fn echoed(&self, extras: &Extras) -> Option<Time> {
        match extras.of(self) {
            Some(e) => e.timestamps.map(|t| t.1),
            None => self.echo(),
        }
    }

    /// The fields of a flow's packets as a queue sees them, in one of the flow's directions. This packet is never sent.
    pub fn look(flow: FlowId, backward: bool) -> WirePacket {
        let mut p = WirePacket::datagram(0, 0, 0, Ecn::NotEct, flow, Time::ZERO);
        p.stamp_hop_header |= way(backward);
        p
    }

    /// A control packet about a flow, on its way to the flow's source (or, if `backward` is false, its destination).
    pub fn control(r: Request, bytes: u32, flow: FlowId, backward: bool, now: Time, extras: &mut Extras) -> WirePacket {
        let extra = extras.add(Extra {
            request: Some(r),
            ..Extra::default()
        });
        WirePacket {
            seq_bytes: u64::from(bytes as u16),
            stamp_hop_header: way(backward) | (u64::from(CONTROL) << 8) | header_byte(bytes, 0),
            born_flags_tos: now.0 << 16,
            flow: flow.0,
            extra,
        }
    }

    /// Unpack the segment at its destination, where the packet ends. Its SACK blocks are returned with it, and its slot
    /// becomes free.
    #[inline]
    pub fn into_segment(self, extras: &mut Extras) -> Segment {
        let sack = match extras.of_mut(&self) {
            Some(e) => std::mem::take(&mut e.sack),
            None => SackBlocks::new(),
        };
        let segment = Segment {
            sack,
            ..self.to_segment(extras)
        };
        extras.release(&self);
        segment
    }

    /// The segment that the packet carries; the packet goes on.
    #[inline]
    pub fn to_segment(&self, extras: &Extras) -> Segment {
        let payload = self.payload();
        let flags = self.flags();
        let carries = payload > 0 || flags.has(Flags::SYN) || flags.has(Flags::FIN);
        // One comparison is enough for most packets, because they have no slot.
        let (other, sack, timestamps, window, counts) = if self.extra >= ECHO {
            let stamps = self.echo().map(|echo| (self.born(), echo));
            (other_of(flags), SackBlocks::new(), stamps, None, None)
        } else {
            let e = &extras.slots[(self.extra & !BARE) as usize];
            (e.other_seq, e.sack.clone(), e.timestamps, e.window, e.counts.clone())
        };
        let (seq, ack) = if carries {
            (self.seq(), other)
        } else {
            (other, self.seq())
        };
        Segment {
            seq,
            payload,
            ack,
            flags,
            ecn: Ecn::from_bits(self.born_flags_tos as u8),
            bytes: self.size(),
            sack,
            timestamps,
            window,
            counts,
        }
    }

    /// The fields of the transport's header that a conditioner reads.
    pub fn header(&self, extras: &Extras) -> Header {
        let flags = self.flags();
        let carries = self.payload() > 0 || flags.has(Flags::SYN) || flags.has(Flags::FIN);
        let ack = if carries { self.other_seq(extras) } else { self.seq() };
        Header {
            syn: flags.has(Flags::SYN),
            cwr: flags.has(Flags::CWR),
            payload: self.payload(),
            ack: flags.has(Flags::ACK).then_some(ack),
            stamps: match extras.of(self) {
                Some(e) => e.timestamps.map(|(value, echo)| Stamps { value, echo }),
                None => self.echo().map(|echo| Stamps {
                    value: self.born(),
                    echo,
                }),
            },
        }
    }

    /// The sequence number that is not in the packet.
    fn other_seq(&self, extras: &Extras) -> u64 {
        extras.of(self).map_or(other_of(self.flags()), |e| e.other_seq)
    }

    pub fn request(&self, extras: &Extras) -> Option<Request> {
        extras.of(self).and_then(|e| e.request)
    }

    #[inline]
    pub fn seq(&self) -> u64 {
        self.seq_bytes >> 16
    }

    #[inline]
    pub fn size(&self) -> u32 {
        (self.seq_bytes & 0xffff) as u32
    }

    #[inline]
    pub fn payload(&self) -> u32 {
        match self.stamp_hop_header as u8 {
            NO_PAYLOAD => 0,
            header => self.size() - u32::from(header),
        }
    }

    #[inline]
    pub fn flags(&self) -> Flags {
        Flags((self.born_flags_tos >> 8) as u8)
    }

    #[inline]
    pub fn is_backward(&self) -> bool {
        (self.stamp_hop_header >> 8) as u8 & BACKWARD != 0
    }

    #[inline]
    pub fn is_control(&self) -> bool {
        (self.stamp_hop_header >> 8) as u8 & CONTROL != 0
    }

    /// Whether its loss or mark counts for its flow. This holds for all packets except pure ACKs, reports and control
    /// packets.
    pub fn is_counted(&self) -> bool {
        let flags = self.flags();
        let opens_or_closes = flags.has(Flags::SYN) || flags.has(Flags::FIN);
        let answers = self.payload() == 0 && (flags.has(Flags::ACK) || !flags.has(Flags::RST));
        (opens_or_closes || !answers) && !self.is_control()
    }

    /// The time at which it was first put on its first link.
    #[inline]
    pub fn born(&self) -> Time {
        Time(self.born_flags_tos >> 16)
    }

    /// The key that distinguishes it from all other packets of a run.
    pub fn id(&self) -> PacketId {
        PacketId {
            flow: self.flow_id(),
            backward: self.is_backward(),
            sequence: self.seq(),
            born: self.born(),
        }
    }

    /// The number of links that it has passed.
    #[inline]
    pub fn hop(&self) -> usize {
        ((self.stamp_hop_header >> 8) as u8 & HOP) as usize
    }

    #[inline]
    pub fn next_hop(&mut self) {
        self.stamp_hop_header += 1 << 8;
    }

    pub fn set_hop(&mut self, hop: usize) {
        self.stamp_hop_header = (self.stamp_hop_header & !(u64::from(HOP) << 8)) | ((hop as u64) << 8);
    }

    #[inline]
    pub fn flow_id(&self) -> FlowId {
        FlowId(self.flow)
    }

    #[inline]
    pub fn ecn_bits(&self) -> Ecn {
        Ecn::from_bits(self.born_flags_tos as u8)
    }

    pub fn colour(&self) -> Dscp {
        Dscp((self.born_flags_tos as u8) >> 2)
    }

    pub fn mark_ce(&mut self) {
        self.born_flags_tos |= Ecn::Ce as u64;
    }
}

impl HeldPacket for SimPacket {
    #[inline(never)]
    fn groups() -> &'static [Group<SimPacket>] {
        groups_for()
    }
    #[inline(never)]
    fn pieces() -> Pieces<SimPacket> {
        Pieces::compiled()
    }
}

impl Packet for SimPacket {
    #[inline]
    fn bytes(&self) -> u32 {
        self.wire.size()
    }
    #[inline]
    fn flow(&self) -> FlowId {
        self.wire.flow_id()
    }
    fn key(&self, field: KeyField) -> u64 {
        self.keys.of(field, self.wire.flow, self.wire.is_backward())
    }
    fn dscp(&self) -> Dscp {
        self.wire.colour()
    }
    fn set_dscp(&mut self, colour: Dscp) {
        self.wire = self.wire.with_dscp(colour);
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        self.wire.ecn_bits()
    }
    fn set_ce(&mut self) {
        self.wire.mark_ce();
    }
    #[inline]
    fn stamp(&self) -> Time {
        Time(self.wire.stamp_hop_header >> 16)
    }
    #[inline]
    fn set_stamp(&mut self, t: Time) {
        self.wire.stamp_hop_header = (self.wire.stamp_hop_header & 0xffff) | (t.0 << 16);
    }
    fn is_retransmission(&self) -> bool {
        self.wire.flags().has(Flags::RETRANSMISSION)
    }
    fn is_data(&self) -> bool {
        self.wire.payload() > 0
    }
    fn sequence(&self) -> u64 {
        self.wire.seq()
    }
    fn pure_ack(&self) -> Option<PureAck> {
        let (wire, flags) = (&self.wire, self.wire.flags());
        let others = [Flags::SYN, Flags::FIN, Flags::RST];
        let is_pure = wire.payload() == 0 && flags.has(Flags::ACK) && !others.into_iter().any(|f| flags.has(f));
        (is_pure && !wire.is_control()).then(|| PureAck {
            number: wire.seq(),
            marks: [Flags::ECE, Flags::CWR].map(|f| flags.has(f)),
            bare: (wire.extra >= ECHO || wire.extra & BARE != 0) && !flags.has(Flags::AE),
        })
    }
    fn weight(&self) -> f64 {
        self.keys.weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_transport::EcnCounts;

    fn round_trip(s: &Segment) -> Segment {
        let mut extras = Extras::default();
        let p = WirePacket::from_segment(&mut s.clone(), FlowId(7), true, Time(123_456_789), &mut extras);
        assert!(p.is_backward());
        assert_eq!(p.born(), Time(123_456_789));
        assert_eq!(p.to_segment(&extras), *s);
        p.into_segment(&mut extras)
    }

    #[test]
    fn a_wire_packet_is_32_bytes() {
        assert_eq!(size_of::<WirePacket>(), 32);
        assert_eq!(size_of::<SimPacket>(), 56);
    }

    #[test]
    fn segments_survive_the_wire() {
        let data_segment = Segment {
            seq: 123_456,
            payload: 1460,
            ack: 0,
            flags: Flags::RETRANSMISSION.with(Flags::CWR),
            ecn: Ecn::Ect0,
            bytes: 1500,
            sack: SackBlocks::new(),
            timestamps: None,
            window: None,
            counts: None,
        };
        assert_eq!(round_trip(&data_segment), data_segment);
        let two_numbers = Segment {
            ack: 99,
            flags: Flags::ACK,
            timestamps: Some((Time(1), Time(2))),
            window: Some(70_000),
            ..data_segment.clone()
        };
        assert_eq!(round_trip(&two_numbers), two_numbers);
        let first_segment = Segment {
            ack: 1,
            flags: Flags::ACK,
            ..data_segment.clone()
        };
        assert_eq!(round_trip(&first_segment), first_segment);
        let ack = Segment {
            seq: 0,
            payload: 0,
            ack: 5000,
            flags: Flags::ACK.with(Flags::ECE),
            bytes: 48,
            sack: [(6000, 7000)].into_iter().collect(),
            ..data_segment.clone()
        };
        assert_eq!(round_trip(&ack), ack);
        // A report about thousands of packets is longer than a header byte can express.
        for bytes in [254, 255, 256, 32_816] {
            let report = Segment { bytes, ..ack.clone() };
            assert_eq!(round_trip(&report), report);
        }
        let counts = EcnCounts {
            ect1: 1,
            ce: 1 << 23,
            ect0: 3,
            fields: 3,
        };
        for ace in 0..8 {
            let counted = Segment {
                flags: Flags::ACK.with(Flags::of_ace(ace)),
                counts: (ace % 2 == 0).then(|| Box::new(counts)),
                ..ack.clone()
            };
            assert_eq!((round_trip(&counted).flags.ace(), round_trip(&counted)), (ace, counted));
        }
        let syn = Segment {
            seq: 0,
            payload: 0,
            flags: Flags::SYN,
            bytes: 40,
            ..data_segment
        };
        assert_eq!(round_trip(&syn), syn);
    }

    /// CAKE's filter replaces neither an ACK with AE nor an ACK with an unknown option.
    #[test]
    fn an_ack_that_counts_is_not_bare() {
        let mut extras = Extras::default();
        let mut bare = |flags: Flags, counts: Option<Box<EcnCounts>>| {
            let mut s = Segment {
                seq: 1,
                payload: 0,
                ack: 5000,
                flags: Flags::ACK.with(flags),
                ecn: Ecn::NotEct,
                bytes: 40,
                sack: SackBlocks::new(),
                timestamps: None,
                window: None,
                counts,
            };
            let wire = WirePacket::from_segment(&mut s, FlowId(7), true, Time(9), &mut extras);
            let keys = Keys::default();
            SimPacket { wire, keys }.pure_ack().map(|a| (a.bare, a.marks))
        };
        assert_eq!(bare(Flags::of_ace(3), None), Some((true, [true, true])));
        assert_eq!(bare(Flags::of_ace(5), None), Some((false, [true, false])));
        assert_eq!(
            bare(Flags::of_ace(3), Some(Box::default())),
            Some((false, [true, true]))
        );
    }

    #[test]
    fn stamps_hops_and_marks_keep_out_of_each_others_way() {
        let wire = WirePacket::datagram(5, 1000, 28, Ecn::Ect1, FlowId(3), Time(77));
        let mut p = SimPacket {
            wire,
            keys: Keys::default(),
        };
        p.set_stamp(MAX_TIME);
        p.wire.next_hop();
        p.wire.next_hop();
        p.set_dscp(Dscp(46));
        p.set_ce();
        assert_eq!(
            (p.stamp(), p.wire.hop(), p.dscp(), p.ecn()),
            (MAX_TIME, 2, Dscp(46), Ecn::Ce)
        );
        assert_eq!(
            (p.bytes(), p.wire.payload(), p.wire.born(), p.sequence()),
            (1000, 972, Time(77), 5)
        );
    }
}
