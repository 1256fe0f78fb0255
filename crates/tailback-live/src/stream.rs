//! Converts a real connection's numbers to those of the simulator: bytes from the beginning, in 64 bits. The module
//! also finds which bytes were sent before.
//!
//! TCP's sequence numbers begin anywhere and wrap (RFC 9293 section 3.4). Here the SYN has number 0 and the first byte
//! of data number 1. If the SYN of a connection was not seen, the connection begins with its first segment.
//!
//! State, for each direction: the first number, and the highest number sent so far.

use crate::wire::{Headers, Tcp};
use tailback_sim::sim::injected::FIRST_BYTE;
use tailback_transport::{Flags, SackBlocks, Segment};

#[derive(Clone, Copy, Debug, Default)]
struct Direction {
    /// The number of the SYN.
    begin: Option<u32>,
    /// One past the highest number sent.
    sent: u64,
}

/// Both directions of a flow, the direction of the source first.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    directions: [Direction; 2],
    /// Datagrams sent so far.
    datagrams: [u64; 2],
}

/// The number nearest to `near` that ends in these 32 bits.
fn unwrap(low: u32, near: u64) -> u64 {
    let ahead = low.wrapping_sub(near as u32) as i32;
    near.saturating_add_signed(i64::from(ahead))
}

impl Connection {
    /// The next packet that one end sends, as a segment.
    pub fn segment(&mut self, backward: bool, h: &Headers, bytes: u32) -> Segment {
        match &h.tcp {
            Some(t) => self.tcp(backward, h, t, bytes),
            None => self.datagram(backward, h, bytes),
        }
    }

    /// The next packet that one end sends, ignoring the numbers in its headers.
    pub fn datagram(&mut self, backward: bool, h: &Headers, bytes: u32) -> Segment {
        let next_number = &mut self.datagrams[usize::from(backward)];
        *next_number += 1;
        Segment {
            seq: *next_number - 1,
            payload: h.payload,
            ack: 0,
            flags: Flags::NONE,
            ecn: h.ecn,
            bytes,
            sack: SackBlocks::new(),
            timestamps: None,
            window: None,
            counts: None,
        }
    }

    fn tcp(&mut self, backward: bool, h: &Headers, t: &Tcp, bytes: u32) -> Segment {
        let me = &mut self.directions[usize::from(backward)];
        if t.syn && me.begin != Some(t.sequence) {
            // This also holds for the next connection on the same ports.
            *me = Direction {
                begin: Some(t.sequence),
                sent: 0,
            };
        }
        let first = FIRST_BYTE as u32;
        let begin = *me.begin.get_or_insert(t.sequence.wrapping_sub(first));
        let seq = unwrap(t.sequence.wrapping_sub(begin), me.sent);
        let mut flags = Flags::NONE;
        let flags_set = [
            (t.syn, Flags::SYN),
            (t.fin, Flags::FIN),
            (t.rst, Flags::RST),
            (t.ack, Flags::ACK),
            (t.ece, Flags::ECE),
            (t.cwr, Flags::CWR),
            (h.payload > 0 && seq < me.sent, Flags::RETRANSMISSION),
        ];
        for (_, flag) in flags_set.into_iter().filter(|(is, _)| *is) {
            flags = flags.with(flag);
        }
        let units = u64::from(h.payload) + u64::from(t.syn) + u64::from(t.fin);
        me.sent = me.sent.max(seq + units);
        let reverse = &self.directions[usize::from(!backward)];
        let ack = match (t.ack, reverse.begin) {
            (true, Some(begin)) => unwrap(t.acknowledgement.wrapping_sub(begin), reverse.sent),
            _ => 0,
        };
        Segment {
            seq,
            payload: h.payload,
            ack,
            flags,
            ecn: h.ecn,
            bytes,
            // No queue reads the blocks, so one block is enough to show that there are some.
            sack: something(t.options, ack),
            timestamps: None,
            window: None,
            counts: None,
        }
    }
}

/// A block without contents for options that are not read.
pub fn something(is_there: bool, ack: u64) -> SackBlocks {
    is_there.then_some((ack, ack)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Tuple;
    use tailback_base::{Dscp, Ecn};

    fn tcp(sequence: u32, acknowledgement: u32, payload: u32, syn: bool) -> Headers {
        Headers {
            tuple: Tuple {
                source: [10, 0, 0, 1].into(),
                destination: [10, 0, 0, 2].into(),
                protocol: 6,
                ports: [1, 2],
            },
            dscp: Dscp(0),
            ecn: Ecn::Ect0,
            payload,
            tcp: Some(Tcp {
                sequence,
                acknowledgement,
                syn,
                fin: false,
                rst: false,
                ack: !syn || acknowledgement != 0,
                ece: false,
                cwr: false,
                options: false,
            }),
        }
    }

    #[test]
    fn numbers_begin_with_the_syn_wrap_and_show_repeats() {
        let mut c = Connection::default();
        let isn = u32::MAX - 1000;
        assert_eq!(c.segment(false, &tcp(isn, 0, 0, true), 40).seq, 0);
        assert_eq!(c.segment(true, &tcp(500, isn.wrapping_add(1), 0, true), 40).ack, 1);
        let mut seq = isn.wrapping_add(1);
        for i in 0..5u64 {
            let s = c.segment(false, &tcp(seq, 501, 1448, false), 1500);
            assert_eq!((s.seq, s.flags.has(Flags::RETRANSMISSION)), (1 + 1448 * i, false));
            seq = seq.wrapping_add(1448);
        }
        let repeat = c.segment(false, &tcp(seq.wrapping_sub(2896), 501, 1448, false), 1500);
        assert_eq!(
            (repeat.seq, repeat.flags.has(Flags::RETRANSMISSION)),
            (1 + 1448 * 3, true)
        );
        let ack = c.segment(true, &tcp(501, seq, 0, false), 52);
        assert_eq!((ack.seq, ack.ack), (1, 1 + 1448 * 5));
    }

    #[test]
    fn a_connection_that_is_under_way_begins_with_what_is_seen_first() {
        let mut c = Connection::default();
        assert_eq!(c.segment(false, &tcp(123_456, 9, 100, false), 140).seq, FIRST_BYTE);
        assert_eq!(
            c.segment(false, &tcp(123_556, 9, 100, false), 140).seq,
            FIRST_BYTE + 100
        );
    }
}
