//! What is known of flows whose ends are outside the simulator: what their packets show. How packets come and go is in
//! `inject.rs`.

use crate::packet::WirePacket;
use crate::traffic::application::{AppInput, Application, Net, Side};
use tailback_base::{Dscp, Ecn, FlowId, Time};
use tailback_transport::tcp::reassembly::Reassembly;
use tailback_transport::{Flags, Segment, SenderReport};

/// What the ends of an injected flow have sent and received, as their packets show it; source first. What packets do not
/// show (round-trip times, timeouts) whoever drives the simulator adds.
#[derive(Clone, Debug, Default)]
pub struct Injected {
    pub senders: [SenderReport; 2],
    streams: [Stream; 2],
}

/// What one end has got of the other's bytes.
#[derive(Clone, Debug, Default)]
struct Stream {
    /// Payload in order, bytes.
    delivered: u64,
    beyond: Reassembly,
}

/// Sequence number of the first byte: the SYN has the one before it.
pub const FIRST_BYTE: u64 = 1;

impl Injected {
    /// New payload from this side that has reached the other, bytes: of a stream in order, of datagrams all.
    pub fn delivered(&self, from: Side) -> u64 {
        self.streams[from as usize].delivered
    }

    /// Another conversation takes the place of the one before: its bytes begin at the first.
    pub fn begin_again(&mut self) {
        self.streams = Default::default();
    }

    pub(super) fn send(&mut self, from: Side, s: &Segment) {
        if s.payload == 0 {
            return;
        }
        let sender = &mut self.senders[from as usize];
        sender.sent_packets += 1;
        sender.sent_payload_bytes += u64::from(s.payload);
        sender.retransmitted_packets += u64::from(s.flags.has(Flags::RETRANSMISSION));
    }

    pub(super) fn arrive(&mut self, p: &WirePacket) {
        let (from, payload) = (side(p.is_backward()), u64::from(p.payload()));
        let stream = &mut self.streams[from as usize];
        if !p.flags().has(Flags::ACK) {
            stream.delivered += payload;
            return;
        }
        let next = FIRST_BYTE + stream.delivered;
        let end = p.seq() + payload;
        if payload == 0 || end <= next {
            return;
        }
        if p.seq() > next {
            stream.beyond.insert(p.seq(), end);
        } else {
            stream.delivered = stream.beyond.advance(end) - FIRST_BYTE;
        }
    }
}

/// Who sent a packet.
pub(super) fn side(backward: bool) -> Side {
    match backward {
        false => Side::Source,
        true => Side::Destination,
    }
}

/// A packet of an injected flow that has reached its destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Emitted {
    /// When it was injected.
    pub born: Time,
    /// When it arrived.
    pub at: Time,
    pub flow: FlowId,
    pub backward: bool,
    /// As they are after the last queue.
    pub ecn: Ecn,
    pub dscp: Dscp,
}

impl Emitted {
    pub(super) fn new(p: &WirePacket, at: Time) -> Emitted {
        Emitted {
            born: p.born(),
            at,
            flow: p.flow_id(),
            backward: p.is_backward(),
            ecn: p.ecn_bits(),
            dscp: p.colour(),
        }
    }
}

/// The source of an injected flow: nothing.
pub(crate) struct Silent;

impl Application for Silent {
    fn on(&mut self, _: AppInput, _: &mut dyn Net) {}
}
