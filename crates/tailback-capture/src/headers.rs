//! A simulated packet as the bytes of its headers: IPv4 with TCP, UDP, or ICMP for a router's request.
//!
//! Fields that the simulator does not have are filled in the same way for every packet. A flow's source is 10.0.0.1
//! plus its number, its destination 10.128.0.1 plus its number. Ports are 40000 and 5001. Sequence numbers begin at
//! zero and are cut to 32 bits. A connection's constant window is shown as the largest one. The payload is not stored,
//! only counted in the lengths, unless the caller's own transport supplies bytes. Checksums of TCP and UDP are zero.

use tailback_base::Dscp;
use tailback_transport::{EcnCounts, Flags, Segment};

const SOURCE_PORT: u16 = 40_000;
const DESTINATION_PORT: u16 = 5001;
/// RFC 7323 section 2.2: windows are in units of 2^8 B, so the largest is 16.8 MB.
const WINDOW_SCALE: u8 = 8;
const TTL: u8 = 64;
/// RFC 2018 section 3: four blocks fill the option space; with time stamps there is room for three.
const MOST_BLOCKS: usize = 4;

/// The option that fills up to a whole word.
const NOOP: u8 = 1;

/// The number of four-byte words in an IPv4 header without options (RFC 791), and in a TCP header without and with all
/// options (RFC 9293).
const IPV4: usize = 5;
const TCP: usize = 5;
const MOST_TCP: usize = 15;
/// Bytes of a UDP header.
const UDP: u32 = 8;
/// IANA's protocol numbers.
const ICMP_NUMBER: u32 = 1;
const TCP_NUMBER: u32 = 6;
const UDP_NUMBER: u32 = 17;

/// A packet to be written.
pub struct Frame {
    headers: [[u8; 4]; IPV4 + MOST_TCP],
    words: usize,
    /// Length including the payload, which is not stored.
    pub length: u32,
}

impl Frame {
    /// IPv4 and transport header.
    pub fn bytes(&self) -> &[u8] {
        self.headers[..self.words].as_flattened()
    }

    /// The whole packet of this datagram: the headers and `data`. If `data` is as long as the packet and begins as an
    /// IPv4 header does, it is the whole packet already.
    pub fn around(&self, data: Vec<u8>) -> Vec<u8> {
        if data.len() == self.length as usize && data[0] >> 4 == 4 {
            return data;
        }
        let mut frame_bytes = self.bytes().to_vec();
        let room = (self.length as usize).saturating_sub(frame_bytes.len());
        frame_bytes.extend(data.iter().take(room));
        frame_bytes
    }

    #[inline(always)]
    fn put<const N: usize>(&mut self, words: [u32; N]) {
        let room = &mut self.headers[self.words..self.words + N];
        for (to, word) in room.iter_mut().zip(words) {
            *to = word.to_be_bytes();
        }
        self.words += N;
    }
}

/// The identity of the packet, in addition to its segment.
pub struct Named {
    pub flow: u32,
    pub backward: bool,
    /// Bytes on the wire.
    pub size: u32,
    pub dscp: Dscp,
    /// A router's request, not a segment.
    pub request: bool,
}

/// The addresses of a flow's source and destination.
pub fn hosts(flow: u32) -> ([u8; 4], [u8; 4]) {
    let host = |net: u32| (net + 1 + (flow & 0x007f_ffff)).to_be_bytes();
    (host(10 << 24), host((10 << 24) | (128 << 16)))
}

/// The headers of a packet.
pub fn frame(s: &Segment, n: &Named) -> Frame {
    let ports = if n.backward {
        u32::from(DESTINATION_PORT) << 16 | u32::from(SOURCE_PORT)
    } else {
        u32::from(SOURCE_PORT) << 16 | u32::from(DESTINATION_PORT)
    };
    let mut f = Frame {
        headers: [[0; 4]; IPV4 + MOST_TCP],
        words: IPV4,
        length: 0,
    };
    let (protocol, payload) = if n.request {
        // RFC 792: source quench, without the header to which it refers.
        f.put([4 << 24, 0]);
        (ICMP_NUMBER, n.size.saturating_sub(28))
    } else if s.flags.has(Flags::ACK) || s.flags.has(Flags::SYN) || s.flags.has(Flags::RST) {
        put_tcp(&mut f, s, ports);
        (TCP_NUMBER, s.payload)
    } else {
        let payload = n.size.saturating_sub(28);
        f.put([ports, (UDP + payload).min(u32::from(u16::MAX)) << 16]);
        (UDP_NUMBER, payload)
    };
    f.length = (4 * f.words as u32 + payload).min(u32::from(u16::MAX));
    let ip = ipv4(f.length, protocol, s, n);
    f.headers[..IPV4].copy_from_slice(&ip.map(u32::to_be_bytes));
    f
}

/// An IPv4 header, RFC 791 section 3.1, with "don't fragment".
fn ipv4(length: u32, protocol: u32, s: &Segment, n: &Named) -> [u32; IPV4] {
    let (source, destination) = match (hosts(n.flow), n.backward) {
        (ends, false) => ends,
        ((source, destination), true) => (destination, source),
    };
    let service = u32::from(n.dscp.0 & 63) << 2 | s.ecn as u32 & 3;
    let mut h = [
        0x45 << 24 | service << 16 | length,
        0x4000,
        u32::from(TTL) << 24 | protocol << 16,
        u32::from_be_bytes(source),
        u32::from_be_bytes(destination),
    ];
    let sum: u32 = h.iter().map(|w| (w >> 16) + (w & 0xffff)).sum();
    let folded = (sum >> 16) + (sum & 0xffff);
    let folded = (folded >> 16) + (folded & 0xffff);
    h[2] |= !folded & 0xffff;
    h
}

/// Write the TCP header of RFC 9293 section 3.1.
fn put_tcp(f: &mut Frame, s: &Segment, ports: u32) {
    let window = s
        .window
        .map_or(u32::from(u16::MAX), |w| (w >> WINDOW_SCALE).min(u32::from(u16::MAX)));
    let flag = |flag: Flags, bit: u8| u32::from(s.flags.has(flag)) << bit;
    let flags = flag(Flags::FIN, 0) | flag(Flags::SYN, 1) | flag(Flags::RST, 2) | flag(Flags::ACK, 4);
    let flags = flags | flag(Flags::ECE, 6) | flag(Flags::CWR, 7) | flag(Flags::AE, 8);
    let begin = f.words;
    f.put::<TCP>([ports, s.seq as u32, s.ack as u32, flags << 16 | window, 0]);
    if s.flags.has(Flags::SYN) || s.timestamps.is_some() || !s.sack.is_empty() || s.counts.is_some() {
        put_options(f, s);
    }
    let words = (f.words - begin) as u8;
    f.headers[begin + 3][0] |= words << 4;
}

/// Write the options of RFC 9293 section 3.2, RFC 7323, RFC 2018 and RFC 9768. The options fit: 3 words of time stamps
/// and at most 7 of blocks. An end reports its ECN counts if there is room.
fn put_options(f: &mut Frame, s: &Segment) {
    if s.flags.has(Flags::SYN) {
        f.put([u32::from_be_bytes([3, 3, WINDOW_SCALE, NOOP])]);
    }
    if let Some((value, echo)) = s.timestamps {
        // RFC 7323 section 5.4: a clock tick of 1 ms to 1 s.
        let ms = |t: tailback_base::Time| (t.0 / 1_000_000) as u32;
        f.put([u32::from_be_bytes([NOOP, NOOP, 8, 10]), ms(value), ms(echo)]);
    }
    let counts = s
        .counts
        .as_deref()
        .map_or(0, |c| if c.fields < 2 { 0 } else { usize::from(c.fields) });
    let room = (IPV4 + MOST_TCP - f.words).saturating_sub(1 + counts) / 2;
    let blocks = s.sack.len().min(room).min(MOST_BLOCKS);
    let before_blocks = match s.counts.as_deref() {
        Some(c) => put_counts(f, c),
        None => [NOOP, NOOP],
    };
    if blocks > 0 {
        let [a, b] = before_blocks;
        f.put([u32::from_be_bytes([a, b, 5, 2 + 8 * blocks as u8])]);
    } else if before_blocks != [NOOP, NOOP] {
        f.put([u32::from_be_bytes([before_blocks[0], before_blocks[1], NOOP, NOOP])]);
    }
    for (from, to) in s.sack.iter().take(blocks) {
        f.put([*from as u32, *to as u32]);
    }
}

/// Write the option of RFC 9768 section 3.2.3: kind 174, with ECT(1) first. Returns the two bytes that are left,
/// which replace the padding of the next option.
fn put_counts(f: &mut Frame, c: &EcnCounts) -> [u8; 2] {
    const KIND: u8 = 174;
    let [_, high, middle, low] = c.ect1.to_be_bytes();
    let ce = c.ce & 0xff_ffff;
    match c.fields {
        0 => return [KIND, 2],
        1 => {
            f.put([u32::from_be_bytes([KIND, 5, high, middle])]);
            return [low, NOOP];
        }
        2 => f.put([u32::from_be_bytes([KIND, 8, high, middle]), u32::from(low) << 24 | ce]),
        _ => f.put([
            u32::from_be_bytes([KIND, 11, high, middle]),
            u32::from(low) << 24 | ce,
            c.ect0 << 8 | u32::from(NOOP),
        ]),
    }
    [NOOP, NOOP]
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{IpDscp, IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, UdpHeader};
    use proptest::prelude::*;
    use tailback_base::{Ecn, Time};

    /// The same packet, written by a library that many tools use.
    fn by_library(s: &Segment, n: &Named) -> (Vec<u8>, u32) {
        let ports = match n.backward {
            true => (DESTINATION_PORT, SOURCE_PORT),
            false => (SOURCE_PORT, DESTINATION_PORT),
        };
        let mut inner = Vec::new();
        let (protocol, payload) = if n.request {
            inner.extend([4, 0, 0, 0, 0, 0, 0, 0]);
            (IpNumber::ICMP, n.size - 28)
        } else if s.flags.has(Flags::ACK) || s.flags.has(Flags::SYN) || s.flags.has(Flags::RST) {
            tcp(s, ports).write(&mut inner).unwrap();
            (IpNumber::TCP, s.payload)
        } else {
            let udp = UdpHeader {
                source_port: ports.0,
                destination_port: ports.1,
                length: (n.size - 20) as u16,
                checksum: 0,
            };
            udp.write(&mut inner).unwrap();
            (IpNumber::UDP, n.size - 28)
        };
        let (source, destination) = match (hosts(n.flow), n.backward) {
            (ends, false) => ends,
            ((source, destination), true) => (destination, source),
        };
        let carried = (inner.len() as u32 + payload) as u16;
        let mut ip = Ipv4Header::new(carried, TTL, protocol, source, destination).unwrap();
        ip.dscp = IpDscp::try_new(n.dscp.0).unwrap();
        ip.ecn = IpEcn::try_new(s.ecn as u8).unwrap();
        let mut bytes = Vec::new();
        ip.write(&mut bytes).unwrap();
        bytes.extend(inner);
        (bytes, 20 + u32::from(carried))
    }

    fn tcp(s: &Segment, ports: (u16, u16)) -> TcpHeader {
        let window = s.window.map_or(u16::MAX, |w| (w >> WINDOW_SCALE).min(65_535) as u16);
        let mut h = TcpHeader::new(ports.0, ports.1, s.seq as u32, window);
        h.acknowledgment_number = s.ack as u32;
        h.ack = s.flags.has(Flags::ACK);
        h.syn = s.flags.has(Flags::SYN);
        h.fin = s.flags.has(Flags::FIN);
        h.rst = s.flags.has(Flags::RST);
        h.ece = s.flags.has(Flags::ECE);
        h.cwr = s.flags.has(Flags::CWR);
        h.ns = s.flags.has(Flags::AE);
        let mut options = Vec::new();
        if h.syn {
            options.extend([TcpOptionElement::WindowScale(WINDOW_SCALE), TcpOptionElement::Noop]);
        }
        if let Some((value, echo)) = s.timestamps {
            let ms = |t: Time| (t.0 / 1_000_000) as u32;
            options.extend([TcpOptionElement::Noop, TcpOptionElement::Noop]);
            options.push(TcpOptionElement::Timestamp(ms(value), ms(echo)));
        }
        let most = if s.timestamps.is_some() { 3 } else { 4 };
        let mut blocks = s.sack.iter().take(most).map(|(a, b)| (*a as u32, *b as u32));
        if let Some(first) = blocks.next() {
            let other_blocks = [blocks.next(), blocks.next(), blocks.next()];
            options.extend([TcpOptionElement::Noop, TcpOptionElement::Noop]);
            options.push(TcpOptionElement::SelectiveAcknowledgement(first, other_blocks));
        }
        h.set_options(&options).unwrap();
        h
    }

    fn segments() -> impl Strategy<Value = Segment> {
        let stamps = prop::option::of((0..1u64 << 48, 0..1u64 << 48));
        let sack = prop::collection::vec((0..1u64 << 40, 0..1u64 << 40), 0..6);
        let sequence_numbers = (
            0..1u64 << 40,
            0..1u64 << 40,
            0..9000u32,
            prop::option::of(0..1u32 << 30),
        );
        (sequence_numbers, 0..=255u8, 0..4u8, sack, stamps).prop_map(
            |((seq, ack, payload, window), flags, ecn, sack, stamps)| {
                let is_syn = Flags(flags).has(Flags::SYN);
                Segment {
                    seq,
                    payload,
                    ack,
                    flags: Flags(flags),
                    ecn: Ecn::from_bits(ecn),
                    bytes: payload + 40,
                    // A SYN has nothing to acknowledge selectively.
                    sack: sack.into_iter().filter(|_| !is_syn).collect(),
                    timestamps: stamps.map(|(a, b)| (Time(a), Time(b))),
                    window,
                    counts: None,
                }
            },
        )
    }

    /// RFC 9768 section 3.2.3: kind, length, and as many fields of 24 bits as there are.
    #[test]
    fn the_option_of_accurate_ecn_is_written_in_order_1() {
        let options = |fields, sack: &[(u64, u64)]| {
            let s = Segment {
                seq: 1,
                payload: 0,
                ack: 1,
                flags: Flags::ACK.with(Flags::of_ace(6)),
                ecn: Ecn::Ect0,
                bytes: 52,
                sack: sack.iter().copied().collect(),
                timestamps: None,
                window: None,
                counts: Some(Box::new(EcnCounts {
                    ect1: 0x01_02_03,
                    ce: 0x04_05_06,
                    ect0: 0x07_08_09,
                    fields,
                })),
            };
            let n = Named {
                flow: 0,
                backward: true,
                size: s.bytes,
                dscp: Dscp(0),
                request: false,
            };
            frame(&s, &n).bytes()[20..].to_vec()
        };
        let tcp = options(3, &[]);
        // AE is the last bit of the byte that begins with the header's length, CWR and ECE are in the next.
        assert_eq!(tcp[12..14], [8 << 4 | 1, 0x10 | 0x80]);
        assert_eq!(tcp[20..], [174, 11, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1]);
        assert_eq!(options(2, &[])[20..], [174, 8, 1, 2, 3, 4, 5, 6]);
        assert_eq!(options(1, &[])[20..], [174, 5, 1, 2, 3, 1, 1, 1]);
        let block = [0, 0, 0, 7, 0, 0, 0, 9];
        assert_eq!(options(1, &[(7, 9)])[20..28], [174, 5, 1, 2, 3, 1, 5, 10]);
        assert_eq!(options(0, &[(7, 9)])[20..24], [174, 2, 5, 10]);
        assert_eq!(options(0, &[(7, 9)])[24..], block);
    }

    proptest! {
        #[test]
        fn headers_are_those_of_a_library(
            s in segments(), flow in 0..1u32 << 24, backward: bool, request: bool, dscp in 0..64u8,
        ) {
            let n = Named { flow, backward, size: s.bytes, dscp: Dscp(dscp), request };
            let (ours, theirs) = (frame(&s, &n), by_library(&s, &n));
            prop_assert_eq!((ours.bytes(), ours.length), (&theirs.0[..], theirs.1));
        }
    }
}
