//! A simulated packet as the bytes of its headers: IPv4 with TCP, UDP, or ICMP for a router's request.
//!
//! What the simulator does not have is made up in the same way for every packet: a flow's source is 10.0.0.1 plus its
//! number, its destination 10.128.0.1 plus its number; ports are 40000 and 5001; sequence numbers begin at zero and are cut
//! to 32 bits; a connection's constant window is shown as the largest one. Payload is not stored, only counted in the
//! lengths. Checksums of TCP and UDP are zero, since there is no payload to sum.

use etherparse::{IpDscp, IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, UdpHeader};
use tailback_base::Dscp;
use tailback_transport::{Flags, Segment};

const SOURCE_PORT: u16 = 40_000;
const DESTINATION_PORT: u16 = 5001;
/// RFC 7323 section 2.2: windows are in units of 2^8 B, so that the largest is 16.8 MB.
const WINDOW_SCALE: u8 = 8;
const TTL: u8 = 64;
/// RFC 2018 section 3: four blocks fill the option space; beside time stamps there is room for three.
const MOST_BLOCKS: usize = 4;

/// A packet to be written.
pub struct Frame {
    /// IPv4 and transport header.
    pub bytes: Vec<u8>,
    /// With the payload that is not stored.
    pub length: u32,
}

/// Which packet it is, beside what the segment says.
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
        (DESTINATION_PORT, SOURCE_PORT)
    } else {
        (SOURCE_PORT, DESTINATION_PORT)
    };
    let mut inner = Vec::with_capacity(60);
    let (protocol, payload) = if n.request {
        // RFC 792: source quench, without the header it is about.
        inner.extend([4, 0, 0, 0, 0, 0, 0, 0]);
        (IpNumber::ICMP, n.size.saturating_sub(28))
    } else if s.flags.has(Flags::ACK) || s.flags.has(Flags::SYN) || s.flags.has(Flags::RST) {
        write(&mut inner, |out| tcp(s, ports).write(out));
        (IpNumber::TCP, s.payload)
    } else {
        let payload = n.size.saturating_sub(28);
        let length = (8 + payload).min(u32::from(u16::MAX)) as u16;
        let udp = UdpHeader {
            source_port: ports.0,
            destination_port: ports.1,
            length,
            checksum: 0,
        };
        write(&mut inner, |out| udp.write(out));
        (IpNumber::UDP, payload)
    };
    let (source, destination) = match (hosts(n.flow), n.backward) {
        (ends, false) => ends,
        ((source, destination), true) => (destination, source),
    };
    let carried = (inner.len() as u32 + payload).min(u32::from(u16::MAX) - 20) as u16;
    let mut ip = Ipv4Header::new(carried, TTL, protocol, source, destination).unwrap_or_default();
    ip.dscp = IpDscp::try_new(n.dscp.0 & 63).unwrap_or_default();
    ip.ecn = IpEcn::try_new(s.ecn as u8 & 3).unwrap_or_default();
    ip.header_checksum = ip.calc_header_checksum();
    let mut bytes = Vec::with_capacity(20 + inner.len());
    write(&mut bytes, |out| ip.write(out));
    bytes.extend(inner);
    Frame {
        bytes,
        length: 20 + u32::from(carried),
    }
}

/// Writing to memory does not fail.
fn write<E>(out: &mut Vec<u8>, with: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) {
    if with(out).is_err() {
        out.clear();
    }
}

fn tcp(s: &Segment, ports: (u16, u16)) -> TcpHeader {
    let window = s
        .window
        .map_or(u16::MAX, |w| (w >> WINDOW_SCALE).min(u32::from(u16::MAX)) as u16);
    let syn = s.flags.has(Flags::SYN);
    let mut h = TcpHeader::new(ports.0, ports.1, s.seq as u32, window);
    h.acknowledgment_number = s.ack as u32;
    h.ack = s.flags.has(Flags::ACK);
    h.syn = syn;
    h.fin = s.flags.has(Flags::FIN);
    h.rst = s.flags.has(Flags::RST);
    h.ece = s.flags.has(Flags::ECE);
    h.cwr = s.flags.has(Flags::CWR);
    let mut options = Vec::new();
    if syn {
        options.push(TcpOptionElement::WindowScale(WINDOW_SCALE));
        options.push(TcpOptionElement::Noop);
    }
    if let Some((value, echo)) = s.timestamps {
        // RFC 7323 section 5.4: a clock between 1 ms and 1 s a tick.
        let ms = |t: tailback_base::Time| (t.0 / 1_000_000) as u32;
        options.extend([TcpOptionElement::Noop, TcpOptionElement::Noop]);
        options.push(TcpOptionElement::Timestamp(ms(value), ms(echo)));
    }
    let most = if s.timestamps.is_some() {
        MOST_BLOCKS - 1
    } else {
        MOST_BLOCKS
    };
    let mut blocks = s.sack.iter().take(most).map(|(from, to)| (*from as u32, *to as u32));
    if let Some(first) = blocks.next() {
        let rest = [blocks.next(), blocks.next(), blocks.next()];
        options.extend([TcpOptionElement::Noop, TcpOptionElement::Noop]);
        options.push(TcpOptionElement::SelectiveAcknowledgement(first, rest));
    }
    // They fit: 12 B of time stamps and 28 B of blocks at most.
    if h.set_options(&options).is_err() {
        debug_assert!(false, "options of {s:?} do not fit");
    }
    h
}
