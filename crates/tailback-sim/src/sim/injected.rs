//! The state of flows whose ends are outside the simulator, as their packets show it. The file `injected/inject.rs`
//! handles how packets come and go.

mod inject;

use crate::traffic::application::{AppInput, Application, Net, Side};
use crate::wire::packet::WirePacket;
use tailback_base::{Dscp, Ecn, FlowId, Time};
use tailback_transport::tcp::reassembly::Reassembly;
use tailback_transport::{Flags, Segment, SenderReport};

/// The data that the ends of an injected flow have sent and received, as their packets show them; source first. The
/// program that drives the simulator adds what packets do not show (round-trip times, timeouts).
#[derive(Clone, Debug, Default)]
pub struct Injected {
    pub senders: [SenderReport; 2],
    /// The ends measure their datagrams themselves, because their packets also wait outside the simulator. Delays and
    /// arrivals are those that [`Sim::measures`](super::Sim::measures) gets.
    pub measured: bool,
    streams: [Stream; 2],
    repairs: [Repair; 2],
}

/// The progress of one end in repairing losses (RFC 6582 section 3.2, RFC 6675 section 5). A recovery begins with the
/// first segment that is sent again after a duplicate acknowledgement. It ends when all data that had been sent until
/// then are acknowledged. A retransmission without a duplicate acknowledgement comes from a timer, and kernels have
/// counts of their own for timeouts.
#[derive(Clone, Copy, Debug, Default)]
struct Repair {
    /// One past the last byte sent.
    sent: u64,
    acknowledged: u64,
    /// Whether an acknowledgement that acknowledges nothing new came while data were on their way.
    duplicate: bool,
    /// A repair is over when all data up to here are acknowledged.
    until: u64,
}

impl Repair {
    /// Data are sent. Returns true if a recovery begins with them.
    fn send(&mut self, from: u64, payload: u32, again: bool) -> bool {
        let begins = again && self.acknowledged >= self.until;
        if begins {
            self.until = self.sent;
        }
        self.sent = self.sent.max(from + u64::from(payload));
        begins && self.duplicate
    }

    fn hear(&mut self, ack: u64, with_data: bool) {
        if ack > self.acknowledged {
            (self.acknowledged, self.duplicate) = (ack, false);
        } else if ack == self.acknowledged && self.sent > ack && !with_data {
            self.duplicate = true;
        }
    }
}

/// The bytes of the other end that one end has received.
#[derive(Clone, Debug, Default)]
struct Stream {
    /// Payload in order, bytes.
    delivered: u64,
    beyond: Reassembly,
}

/// Sequence number of the first byte: the SYN has the one before it.
pub const FIRST_BYTE: u64 = 1;

impl Injected {
    /// New payload from this side that has reached the other, bytes.
    pub fn arrived(&self, from: Side) -> u64 {
        let stream = &self.streams[from as usize];
        stream.delivered + stream.beyond.bytes_below(u64::MAX)
    }

    /// New payload from this side that has reached the other in order, bytes.
    pub fn delivered(&self, from: Side) -> u64 {
        self.streams[from as usize].delivered
    }

    /// A new conversation replaces the one before; its bytes begin at the first one.
    pub fn begin_again(&mut self) {
        (self.streams, self.repairs) = Default::default();
    }

    pub(super) fn send(&mut self, from: Side, s: &Segment) {
        if s.payload == 0 {
            return;
        }
        let sender = &mut self.senders[from as usize];
        sender.sent_packets += 1;
        sender.sent_payload_bytes += u64::from(s.payload);
        let is_repeat = s.flags.has(Flags::RETRANSMISSION);
        sender.retransmitted_packets += u64::from(is_repeat);
        if !s.flags.has(Flags::ACK) {
            return;
        }
        // New data after a reduction carry CWR (RFC 3168 section 6.1.2).
        sender.ecn_reductions += u64::from(s.flags.has(Flags::CWR) && !is_repeat);
        sender.fast_retransmits += u64::from(self.repairs[from as usize].send(s.seq, s.payload, is_repeat));
    }

    /// A packet has reached the other end; `ack` is the number that it acknowledges if it belongs to a connection.
    pub(super) fn arrive(&mut self, p: &WirePacket, ack: Option<u64>) {
        if let Some(ack) = ack {
            self.repairs[side(!p.is_backward()) as usize].hear(ack, p.payload() > 0);
        }
        let (from, payload) = (side(p.is_backward()), u64::from(p.payload()));
        let stream = &mut self.streams[from as usize];
        if !p.flags().has(Flags::ACK) {
            stream.delivered += payload;
            return;
        }
        let next_byte = FIRST_BYTE + stream.delivered;
        let end = p.seq() + payload;
        if payload == 0 || end <= next_byte {
            return;
        }
        if p.seq() > next_byte {
            stream.beyond.insert(p.seq(), end);
        } else {
            stream.delivered = stream.beyond.advance(end) - FIRST_BYTE;
        }
    }
}

/// The sender of a packet.
pub(super) fn side(backward: bool) -> Side {
    match backward {
        false => Side::Source,
        true => Side::Destination,
    }
}

/// A packet of an injected flow that has reached its destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Emitted {
    /// The time of injection.
    pub born: Time,
    /// The time of arrival.
    pub at: Time,
    pub flow: FlowId,
    pub backward: bool,
    /// The ECN bits after the last queue.
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

/// The source of an injected flow, which does nothing.
pub(crate) struct Silent;

impl Application for Silent {
    fn on(&mut self, _: AppInput, _: &mut dyn Net) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    /// A sender that has sent this number of segments, all unacknowledged.
    fn sender(segments: u64) -> Repair {
        let mut r = Repair::default();
        r.hear(1, false);
        for i in 0..segments {
            assert!(!r.send(FIRST_BYTE + i * u64::from(MSS), MSS, false));
        }
        r
    }

    #[test]
    fn a_recovery_is_counted_once_however_much_it_sends_again() {
        let mut r = sender(10);
        r.hear(1, false);
        assert!(r.send(1, MSS, true));
        // Further holes, partial acknowledgements and new data follow meanwhile.
        assert!(!r.send(2001, MSS, true));
        r.send(10_001, MSS, false);
        r.hear(2001, false);
        r.hear(2001, false);
        assert!(!r.send(2001, MSS, true));
        // All data that had been sent have arrived, so the next loss is another one.
        r.hear(10_001, false);
        r.hear(10_001, false);
        assert!(r.send(10_001, MSS, true));
    }

    #[test]
    fn what_a_timer_sends_again_is_no_recovery() {
        let mut r = sender(3);
        assert!(!r.send(1, MSS, true), "no duplicate has come");
        let mut r = sender(3);
        r.hear(1001, false);
        r.hear(1001, true);
        assert!(!r.send(1001, MSS, true), "data of the other side are no duplicate");
    }
}
