//! The part of a packet that a queue discipline or a conditioner may see.
//!
//! A discipline is generic over [`Packet`], which is a 32-byte `Copy` value in the simulator and a real buffer in a
//! live gateway. This trait has everything that an AQM of the five studies needs; an AQM must not use anything else.

use crate::code_point::Dscp;
use crate::model::Choice;
use crate::time::Time;

/// A flow: one transport connection or datagram stream, that is, the data of one direction and its ACKs. Flows are
/// numbered from 0 without gaps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FlowId(pub u32);

/// The two ECN bits of the IP header (RFC 3168 §5).
///
/// ```
/// use tailback_base::Ecn;
///
/// assert!(!Ecn::NotEct.is_capable() && Ecn::Ect0.is_capable());
/// // The two lowest bits of the byte that also has the DSCP.
/// assert_eq!(Ecn::from_bits(0b1011_1011), Ecn::Ce);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Ecn {
    #[default]
    NotEct = 0b00,
    Ect1 = 0b01,
    Ect0 = 0b10,
    Ce = 0b11,
}

impl Ecn {
    pub const fn from_bits(b: u8) -> Ecn {
        match b & 0b11 {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// Whether a router may mark instead of dropping. A packet that is already CE counts as capable.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }
}

/// The key by which a classifier or a flow-aware AQM considers two packets as the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KeyField {
    /// The five-tuple: one connection.
    Tuple,
    /// (sending host, receiving host), direction included: Keshav's conversation.
    Pair,
    Source,
    Destination,
    /// The destination label, which an application may change during the run.
    Label,
    /// (source edge, destination edge): the unit of a DiffServ profile.
    Aggregate,
}

/// The words that a parameter may use.
impl Choice for KeyField {
    const WORDS: &'static [&'static str] = &["tuple", "pair", "source", "destination", "label"];
    const MEANINGS: &'static [KeyField] = &[
        KeyField::Tuple,
        KeyField::Pair,
        KeyField::Source,
        KeyField::Destination,
        KeyField::Label,
    ];
}

/// A pure acknowledgement, as a queue sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PureAck {
    /// The next byte that its sender expects, counted from the beginning of the connection.
    pub number: u64,
    /// Whether it echoes a mark (ECE), and whether it says that a window was reduced (CWR), as in RFC 3168.
    pub marks: [bool; 2],
    /// Whether it has nothing else except a window and time stamps: no SACK block, no other option, and not the flag AE
    /// (RFC 9768).
    pub bare: bool,
}

/// A packet, as disciplines and conditioners see it.
pub trait Packet {
    /// Size on the wire, bytes.
    fn bytes(&self) -> u32;
    fn flow(&self) -> FlowId;
    /// The value of a classification key; equal keys mean the same conversation.
    fn key(&self, field: KeyField) -> u64;
    fn dscp(&self) -> Dscp;
    fn set_dscp(&mut self, colour: Dscp);
    fn ecn(&self) -> Ecn;
    /// Set "congestion experienced" (also used as the congestion bit of older schemes).
    fn set_ce(&mut self);
    /// The time stamp that a discipline stores on a packet in its queue, usually the time at which the packet was
    /// accepted.
    fn stamp(&self) -> Time;
    fn set_stamp(&mut self, t: Time);
    fn is_retransmission(&self) -> bool;
    /// Whether the packet carries data, as opposed to a pure acknowledgement (for marking rules that spare ACKs).
    fn is_data(&self) -> bool;
    /// First byte (data) or acknowledged byte (ACK) in the transport's sequence space; conditioners infer windows
    /// from it.
    fn sequence(&self) -> u64;
    /// The acknowledgement of a TCP segment that only acknowledges: no data, no SYN, FIN or RST. `None` for any other
    /// packet.
    fn pure_ack(&self) -> Option<PureAck> {
        None
    }
    /// The weight of its flow on a line shared by weight: twice the weight gives twice the rate. The weight is
    /// positive, and usually 1.
    fn weight(&self) -> f64 {
        1.0
    }
}

/// A request that a queue sends back to the source of a packet, as a control packet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Request {
    /// A request to send less. Levels count from 0 to `of` - 1; the reduction at level 0 is one `of`-th of that at the
    /// last level. TCP reacts to this request.
    SlowDown { level: u32, of: u32 },
    /// A request that a discipline and its endpoints or applications have agreed on (such as a source quench with a
    /// number). TCP ignores this request.
    Other { kind: u32, value: f64 },
}
