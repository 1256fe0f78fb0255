//! The acknowledging sink, which answers each data packet at once, including duplicates and packets out of order.
//!
//! The sink is that of Keshav's REAL simulator. An acknowledgement names the next packet expected. For DECbit it also
//! carries the congestion bit of the packet that it answers. We added two things: the acknowledgement names the packet
//! that it answers, and says whether this packet was a repeat. The parameter `use_echo` of the sources says whether
//! they use these additions. Packets out of order are kept, because published retransmission rates equal the drop
//! rates, so receivers did not discard these packets. The window is unlimited.
//!
//! The state is the next number expected, and the sizes of the packets held beyond this number. A packet in order costs
//! a few compares.

use crate::endpoint::{Amount, AppEvent, AppEvents, Endpoint, Transmit};
use crate::segment::{Flags, SackBlocks, Segment};
use std::collections::BTreeMap;
use tailback_base::{Ecn, Time};

/// The receiving end.
pub struct Sink {
    /// Size of an acknowledgement, bytes.
    ack: u32,
    next: u64,
    /// Sizes of packets beyond `next`, by number.
    held: BTreeMap<u64, u32>,
    due: Option<Segment>,
    delivered: u64,
}

impl Sink {
    pub fn new(ack: u32) -> Sink {
        Sink {
            ack,
            next: 0,
            held: BTreeMap::new(),
            due: None,
            delivered: 0,
        }
    }
}

impl Endpoint for Sink {
    /// A sink sends no data.
    fn write(&mut self, _n: Amount, _now: Time) {}

    fn close(&mut self, _now: Time) {}

    fn on_segment(&mut self, s: &Segment, _now: Time, up: &mut dyn AppEvents) {
        if s.payload == 0 {
            return;
        }
        if s.seq == self.next {
            let delivered_before = self.delivered;
            self.next += 1;
            self.delivered += u64::from(s.payload);
            while let Some(bytes) = self.held.remove(&self.next) {
                self.next += 1;
                self.delivered += u64::from(bytes);
            }
            up.event(AppEvent::Delivered(self.delivered - delivered_before));
        } else if s.seq > self.next {
            self.held.insert(s.seq, s.payload);
        }
        let mut flags = Flags::ACK;
        if s.ecn == Ecn::Ce {
            flags = flags.with(Flags::ECE);
        }
        if s.flags.has(Flags::RETRANSMISSION) {
            flags = flags.with(Flags::RETRANSMISSION);
        }
        self.due = Some(Segment {
            seq: s.seq,
            payload: 0,
            ack: self.next,
            flags,
            ecn: Ecn::NotEct,
            bytes: self.ack,
            sack: SackBlocks::new(),
            timestamps: None,
            window: None,
            counts: None,
        });
    }

    fn poll_transmit(&mut self, _now: Time) -> Transmit {
        self.due.take().map_or(Transmit::Idle, Transmit::Segment)
    }

    fn next_timeout(&self) -> Option<Time> {
        None
    }

    fn on_timeout(&mut self, _now: Time, _up: &mut dyn AppEvents) {}

    fn received_bytes(&self) -> u64 {
        self.delivered
    }

    fn arrived_bytes(&self) -> u64 {
        self.delivered + self.held.values().map(|bytes| u64::from(*bytes)).sum::<u64>()
    }
}
