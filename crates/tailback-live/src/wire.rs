//! The headers of a real packet: the fields that a queue may read, and the one field that a router may change.
//!
//! A packet is IPv4 or IPv6, followed by TCP, UDP or anything else. A mark or a code point is written into the second
//! byte of the IPv4 header, whose checksum is updated with the difference (RFC 1624 equation 3), or into the traffic
//! class of IPv6, which has no checksum. The transport's checksum covers neither (RFC 9293 section 3.1).

use etherparse::TcpOptionElement::{Noop, Timestamp};
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use std::net::IpAddr;
use tailback_base::{Dscp, Ecn};

/// The longest header that a packet of the simulator can have, in addition to its payload, bytes.
const LONGEST_HEADER: usize = 255;

/// The fields that identify a conversation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tuple {
    pub source: IpAddr,
    pub destination: IpAddr,
    pub protocol: u8,
    /// Source and destination; 0 if the protocol has no ports.
    pub ports: [u16; 2],
}

impl Tuple {
    /// The same conversation as the other end sees it.
    #[must_use]
    pub fn turned(self) -> Tuple {
        Tuple {
            source: self.destination,
            destination: self.source,
            ports: [self.ports[1], self.ports[0]],
            ..self
        }
    }
}

/// The fields of TCP's header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tcp {
    pub sequence: u32,
    pub acknowledgement: u32,
    pub syn: bool,
    pub fin: bool,
    pub rst: bool,
    pub ack: bool,
    pub ece: bool,
    pub cwr: bool,
    /// Whether it has an option that is not a time stamp, such as SACK blocks.
    pub options: bool,
}

/// The headers of one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Headers {
    pub tuple: Tuple,
    pub dscp: Dscp,
    pub ecn: Ecn,
    /// Bytes after all headers.
    pub payload: u32,
    pub tcp: Option<Tcp>,
}

/// Read a packet that begins with its IP header; `None` for anything that is not IP, or is truncated.
pub fn parse(packet: &[u8]) -> Option<Headers> {
    let sliced = SlicedPacket::from_ip(packet).ok()?;
    let (source, destination, protocol, class): (IpAddr, IpAddr, u8, u8) = match sliced.net.as_ref()? {
        NetSlice::Ipv4(ip) => {
            let h = ip.header();
            (
                h.source_addr().into(),
                h.destination_addr().into(),
                h.protocol().0,
                packet[1],
            )
        }
        NetSlice::Ipv6(ip) => {
            let h = ip.header();
            let class = (packet[0] << 4) | (packet[1] >> 4);
            let protocol = ip.payload().ip_number.0;
            (h.source_addr().into(), h.destination_addr().into(), protocol, class)
        }
        NetSlice::Arp(_) => return None,
    };
    let (ports, payload, tcp) = match &sliced.transport {
        Some(TransportSlice::Tcp(t)) => {
            let tcp = Tcp {
                sequence: t.sequence_number(),
                acknowledgement: t.acknowledgment_number(),
                syn: t.syn(),
                fin: t.fin(),
                rst: t.rst(),
                ack: t.ack(),
                ece: t.ece(),
                cwr: t.cwr(),
                options: t.options_iterator().any(|o| !matches!(o, Ok(Noop | Timestamp(..)))),
            };
            ([t.source_port(), t.destination_port()], t.payload().len(), Some(tcp))
        }
        Some(TransportSlice::Udp(u)) => ([u.source_port(), u.destination_port()], u.payload().len(), None),
        _ => ([0, 0], packet.len().saturating_sub(20), None),
    };
    let payload = payload.max(packet.len().saturating_sub(LONGEST_HEADER));
    Some(Headers {
        tuple: Tuple {
            source,
            destination,
            protocol,
            ports,
        },
        dscp: Dscp(class >> 2),
        ecn: Ecn::from_bits(class),
        payload: payload as u32,
        tcp,
    })
}

/// The bytes of the number and time of a datagram.
const NUMBERED: usize = 16;

/// The number of a datagram whose ends write one. The payload begins with the number and the time, both little-endian,
/// if it has room for them.
pub fn number(packet: &[u8], h: &Headers) -> Option<u64> {
    let payload = packet.get(packet.len().checked_sub(h.payload as usize)?..)?;
    let number = payload.first_chunk().filter(|_| payload.len() >= NUMBERED)?;
    Some(u64::from_le_bytes(*number))
}

/// Write code point and ECN bits into a packet that [`parse`] has accepted.
pub fn set_class(packet: &mut [u8], dscp: Dscp, ecn: Ecn) {
    let class = (dscp.0 << 2) | ecn as u8;
    if packet[0] >> 4 == 6 {
        packet[0] = 0x60 | (class >> 4);
        packet[1] = (packet[1] & 0x0f) | (class << 4);
        return;
    }
    let word = |p: &[u8], at: usize| u16::from_be_bytes([p[at], p[at + 1]]);
    let old = word(packet, 0);
    packet[1] = class;
    let sum = checksum_after(word(packet, 10), old, word(packet, 0));
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// RFC 1624 equation 3: HC' = ~(~HC + ~m + m').
fn checksum_after(sum: u16, old: u16, new: u16) -> u16 {
    let mut s = u32::from(!sum) + u32::from(!old) + u32::from(new);
    s = (s & 0xffff) + (s >> 16);
    s = (s & 0xffff) + (s >> 16);
    !(s as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{Ipv4Header, PacketBuilder};

    fn tcp4(class: u8) -> Vec<u8> {
        let mut ip = Ipv4Header::new(0, 64, etherparse::IpNumber::TCP, [10, 0, 0, 1], [10, 128, 0, 1]).unwrap();
        ip.dscp = etherparse::IpDscp::try_new(class >> 2).unwrap();
        ip.ecn = etherparse::IpEcn::try_new(class & 3).unwrap();
        let mut packet = vec![];
        let builder = PacketBuilder::ip(etherparse::IpHeaders::Ipv4(ip, Default::default()));
        builder
            .tcp(40000, 5001, 77, 9000)
            .ack(5)
            .write(&mut packet, &[1; 100])
            .unwrap();
        packet
    }

    #[test]
    fn the_headers_of_tcp_over_ipv4_are_read() {
        let h = parse(&tcp4((34 << 2) | 2)).unwrap();
        assert_eq!((h.tuple.ports, h.payload), ([40000, 5001], 100));
        assert_eq!((h.dscp, h.ecn), (Dscp(34), Ecn::Ect0));
        assert_eq!(h.tcp.unwrap().sequence, 77);
        assert_eq!(h.tuple.turned().turned(), h.tuple);
    }

    /// For every value of the field, before and after, compare with the checksum computed from scratch.
    #[test]
    fn the_checksum_follows_any_change_of_the_class() {
        for before in 0..=255u8 {
            let mut packet = tcp4(before);
            for after in [0u8, 1, 2, 3, 0x28, 0xb8, 0xff, before] {
                set_class(&mut packet, Dscp(after >> 2), Ecn::from_bits(after));
                let (ip, _) = Ipv4Header::from_slice(&packet).unwrap();
                assert_eq!(ip.header_checksum, ip.calc_header_checksum(), "{before} to {after}");
                assert_eq!(packet[1], after);
            }
        }
    }

    #[test]
    fn ipv6_carries_its_class_across_two_bytes() {
        let mut packet = vec![];
        let builder = PacketBuilder::ipv6([1; 16], [2; 16], 64).udp(7, 9);
        builder.write(&mut packet, &[0; 40]).unwrap();
        let original = packet.clone();
        set_class(&mut packet, Dscp(46), Ecn::Ce);
        let h = parse(&packet).unwrap();
        assert_eq!(
            (h.dscp, h.ecn, h.payload, h.tuple.ports),
            (Dscp(46), Ecn::Ce, 40, [7, 9])
        );
        set_class(&mut packet, Dscp(0), Ecn::NotEct);
        assert_eq!(packet, original, "nothing but the class has changed");
    }

    /// A filter of ACKs does not drop an ACK with SACK blocks (RFC 2018), but may drop one with time stamps (RFC 7323).
    #[test]
    fn options_other_than_time_stamps_are_seen() {
        use etherparse::TcpOptionElement::{SelectiveAcknowledgement, Timestamp};
        let offers_sack = |options: &[etherparse::TcpOptionElement]| {
            let mut packet = vec![];
            let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
                .tcp(1, 2, 3, 4)
                .ack(5);
            builder.options(options).unwrap().write(&mut packet, &[]).unwrap();
            parse(&packet).unwrap().tcp.unwrap().options
        };
        assert!(!offers_sack(&[]) && !offers_sack(&[Noop, Noop, Timestamp(1, 2)]));
        assert!(offers_sack(&[
            Noop,
            Timestamp(1, 2),
            SelectiveAcknowledgement((7, 9), [None; 3])
        ]));
    }

    #[test]
    fn a_number_is_read_where_there_is_room_for_it() {
        let datagram = |payload: &[u8]| {
            let mut packet = vec![];
            PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
                .udp(7, 9)
                .write(&mut packet, payload)
                .unwrap();
            let headers = parse(&packet).unwrap();
            number(&packet, &headers)
        };
        let mut payload = 77u64.to_le_bytes().to_vec();
        payload.extend([1; 8]);
        assert_eq!(datagram(&payload), Some(77));
        assert_eq!(datagram(&payload[..15]), None);
        assert_eq!(datagram(&[]), None);
    }

    #[test]
    fn what_is_no_packet_is_refused() {
        let packet = tcp4(0);
        for n in 0..40 {
            assert_eq!(parse(&packet[..n]), None, "{n} bytes");
        }
        assert_eq!(parse(&[0x15; 60]), None);
    }
}
