//! Ethernet frames as an interface delivers them: the position of the IP header, and the work that a network card would
//! have done when sending.
//!
//! A kernel passes up to 64 KB of one connection to its network card as a single packet with an unfinished checksum,
//! and on the receiving side it joins packets that arrived separately (segmentation and receive offloads). A frame
//! taken from an interface can be such a packet; a descriptor before the frame shows this. The descriptor has the
//! layout of virtio's (Virtual I/O Device 1.2, section 5.1.6: `struct virtio_net_hdr`). A queue must get the packets
//! that a wire would carry, so frames are cut here, and checksums are completed: RFC 9293 section 3.1 (TCP), RFC 768
//! (UDP), RFC 8200 section 8.1 (over IPv6).
//!
//! There is no state. A frame that needs no work costs a look at its descriptor; a byte that is cut costs a copy and a
//! sum.

/// Bytes of the descriptor.
pub const DESCRIPTOR: usize = 10;
const MACS: usize = 12;
/// Ethernet types (IEEE 802 numbers).
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: u16 = 0x8100;
const SERVICE_VLAN: u16 = 0x88a8;

/// The checksum must be completed.
const NEEDS_CHECKSUM: u8 = 1;
const NO_SEGMENTS: u8 = 0;
const TCP_IPV4: u8 = 1;
const TCP_IPV6: u8 = 4;
const UDP_DATAGRAMS: u8 = 5;
/// A flag that is added to a kind: the connection uses ECN.
const WITH_ECN: u8 = 0x80;

const FIN_AND_PSH: u8 = 0x09;
const CWR: u8 = 0x80;

/// The work that was left to a network card.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Offload {
    flags: u8,
    kind: u8,
    /// Payload of each segment.
    segment: u16,
    /// The position of the transport's header, and the offset of its checksum from there.
    start: u16,
    checksum: u16,
}

impl Offload {
    pub fn read(d: &[u8; DESCRIPTOR]) -> Offload {
        let word = |at: usize| u16::from_ne_bytes([d[at], d[at + 1]]);
        Offload {
            flags: d[0],
            kind: d[1],
            segment: word(4),
            start: word(6),
            checksum: word(8),
        }
    }

    /// This many bytes were added before the network headers.
    pub fn moved(&mut self, by: u16) {
        self.start += by;
    }
}

/// The position of the IP header; `None` if the frame carries something else.
pub fn ip_at(frame: &[u8]) -> Option<usize> {
    let mut offset = MACS;
    loop {
        let kind = u16::from_be_bytes([*frame.get(offset)?, *frame.get(offset + 1)?]);
        match kind {
            VLAN | SERVICE_VLAN => offset += 4,
            IPV4 | IPV6 => return Some(offset + 2),
            _ => return None,
        }
    }
}

/// Pass on the frames that a wire would carry for this frame: the frame itself, or its segments in order. Returns false
/// for work that no known card does.
pub fn cut(o: Offload, frame: &mut [u8], each: &mut dyn FnMut(&[u8])) -> bool {
    let start = usize::from(o.start);
    match o.kind & !WITH_ECN {
        NO_SEGMENTS => {
            if o.flags & NEEDS_CHECKSUM != 0 && complete(frame, start, usize::from(o.checksum)).is_none() {
                return false;
            }
            each(frame);
            true
        }
        TCP_IPV4 | TCP_IPV6 => {
            let Some(offset) = frame.get(start + 12) else {
                return false;
            };
            let header = start + usize::from(offset >> 4) * 4;
            segments(o, frame, header, each).is_some()
        }
        UDP_DATAGRAMS => segments(o, frame, start + 8, each).is_some(),
        _ => false,
    }
}

/// The field of the checksum contains the sum of the pseudo header; add the rest.
fn complete(frame: &mut [u8], start: usize, offset: usize) -> Option<()> {
    let sum = fold(add(0, frame.get(start..)?));
    let field = frame.get_mut(start + offset..start + offset + 2)?;
    // In UDP zero would mean "no checksum"; for all other protocols both values are equivalent.
    field.copy_from_slice(&(if sum == 0xffff { 0xffff } else { !sum }).to_be_bytes());
    Some(())
}

/// Frames that each have the first `header` bytes of this one, and a share of the rest.
fn segments(o: Offload, frame: &[u8], header: usize, each: &mut dyn FnMut(&[u8])) -> Option<()> {
    let (ip, start) = (ip_at(frame)?, usize::from(o.start));
    if header > frame.len() || start <= ip || o.segment == 0 {
        return None;
    }
    let (headers, payload) = frame.split_at(header);
    let datagrams = o.kind & !WITH_ECN == UDP_DATAGRAMS;
    let last_segment = payload.len().div_ceil(usize::from(o.segment)).saturating_sub(1);
    let mut out = Vec::with_capacity(header + usize::from(o.segment));
    for (i, part) in payload.chunks(usize::from(o.segment)).enumerate() {
        out.clear();
        out.extend_from_slice(headers);
        out.extend_from_slice(part);
        network(&mut out, ip, i as u16);
        if datagrams {
            let length = (out.len() - start) as u16;
            out[start + 4..start + 6].copy_from_slice(&length.to_be_bytes());
            transport(&mut out, ip, start, 17, 6);
        } else {
            let sequence = u32::from_be_bytes([out[start + 4], out[start + 5], out[start + 6], out[start + 7]]);
            let number = sequence.wrapping_add((i * usize::from(o.segment)) as u32);
            out[start + 4..start + 8].copy_from_slice(&number.to_be_bytes());
            // FIN and PSH belong to the last segment; a reduction (CWR) is announced once (RFC 3168 section 6.1.2).
            out[start + 13] &= !(if i < last_segment { FIN_AND_PSH } else { 0 } | if i > 0 { CWR } else { 0 });
            transport(&mut out, ip, start, 6, 16);
        }
        each(&out);
    }
    Some(())
}

/// Length, identification and checksum of IP.
fn network(frame: &mut [u8], ip: usize, number: u16) {
    let length = frame.len() - ip;
    if frame[ip] >> 4 == 6 {
        let payload = (length - 40) as u16;
        return frame[ip + 4..ip + 6].copy_from_slice(&payload.to_be_bytes());
    }
    frame[ip + 2..ip + 4].copy_from_slice(&(length as u16).to_be_bytes());
    let id = u16::from_be_bytes([frame[ip + 4], frame[ip + 5]]).wrapping_add(number);
    frame[ip + 4..ip + 6].copy_from_slice(&id.to_be_bytes());
    frame[ip + 10..ip + 12].fill(0);
    let header = usize::from(frame[ip] & 15) * 4;
    let sum = !fold(add(0, &frame[ip..ip + header]));
    frame[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
}

/// Compute the transport's checksum again.
fn transport(frame: &mut [u8], ip: usize, start: usize, protocol: u8, at: usize) {
    frame[start + at..start + at + 2].fill(0);
    let addresses = if frame[ip] >> 4 == 6 {
        ip + 8..ip + 40
    } else {
        ip + 12..ip + 20
    };
    let length = (frame.len() - start) as u32;
    let sum = add(u64::from(protocol) + u64::from(length), &frame[addresses]);
    let sum = !fold(add(sum, &frame[start..]));
    let sum = if sum == 0 && protocol == 17 { 0xffff } else { sum };
    frame[start + at..start + at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Add to the sum of 16-bit words of RFC 1071, which is not folded yet.
fn add(sum: u64, bytes: &[u8]) -> u64 {
    let words = bytes.chunks(2).map(|w| match w {
        [a, b] => u64::from(u16::from_be_bytes([*a, *b])),
        _ => u64::from(w[0]) << 8,
    });
    sum + words.sum::<u64>()
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};

    /// A TCP frame with this payload, over IPv4 or IPv6, and the position of its transport header.
    fn tcp(six: bool, payload: usize) -> (Vec<u8>, u16) {
        let link = PacketBuilder::ethernet2([1; 6], [2; 6]);
        let mut frame = vec![];
        let payload_bytes: Vec<u8> = (0..payload).map(|i| (i * 7 % 251) as u8).collect();
        let builder = if six {
            link.ipv6([1; 16], [2; 16], 64).tcp(40_000, 80, u32::MAX - 1000, 500)
        } else {
            link.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
                .tcp(40_000, 80, u32::MAX - 1000, 500)
        };
        builder
            .ack(77)
            .psh()
            .fin()
            .cwr()
            .write(&mut frame, &payload_bytes)
            .unwrap();
        (frame, if six { 54 } else { 34 })
    }

    fn offload(kind: u8, segment: u16, start: u16, checksum: u16) -> Offload {
        Offload {
            flags: NEEDS_CHECKSUM,
            kind,
            segment,
            start,
            checksum,
        }
    }

    /// Check every checksum of a frame with independent code.
    fn check(frame: &[u8]) {
        let s = SlicedPacket::from_ethernet(frame).unwrap();
        let transport = s.transport.unwrap();
        match (s.net.unwrap(), transport) {
            (NetSlice::Ipv4(ip), TransportSlice::Tcp(t)) => {
                let h = ip.header().to_header();
                assert_eq!(h.header_checksum, h.calc_header_checksum());
                assert_eq!(t.checksum(), t.to_header().calc_checksum_ipv4(&h, t.payload()).unwrap());
            }
            (NetSlice::Ipv6(ip), TransportSlice::Tcp(t)) => {
                let h = ip.header().to_header();
                assert_eq!(t.checksum(), t.to_header().calc_checksum_ipv6(&h, t.payload()).unwrap());
            }
            (NetSlice::Ipv6(ip), TransportSlice::Udp(u)) => {
                let h = ip.header().to_header();
                assert_eq!(u.checksum(), u.to_header().calc_checksum_ipv6(&h, u.payload()).unwrap());
            }
            _ => panic!("not what was sent"),
        }
    }

    fn cut_of(o: Offload, frame: &[u8]) -> Vec<Vec<u8>> {
        let mut out = vec![];
        assert!(cut(o, &mut frame.to_vec(), &mut |f| out.push(f.to_vec())));
        out
    }

    #[test]
    fn a_large_packet_becomes_those_that_a_wire_carries() {
        for six in [false, true] {
            let (frame, start) = tcp(six, 4000);
            let o = offload(if six { TCP_IPV6 } else { TCP_IPV4 } | WITH_ECN, 1448, start, 16);
            let parts = cut_of(o, &frame);
            let (mut payload, mut next_sequence) = (vec![], u32::MAX - 1000);
            for (i, part) in parts.iter().enumerate() {
                check(part);
                let s = SlicedPacket::from_ethernet(part).unwrap();
                let Some(TransportSlice::Tcp(t)) = s.transport else {
                    panic!("no TCP")
                };
                assert_eq!(t.sequence_number(), next_sequence);
                assert_eq!((t.fin(), t.psh(), t.cwr()), (i == 2, i == 2, i == 0));
                next_sequence = next_sequence.wrapping_add(t.payload().len() as u32);
                payload.extend_from_slice(t.payload());
            }
            assert_eq!(parts.len(), 3);
            assert_eq!(payload, &frame[frame.len() - 4000..]);
        }
    }

    #[test]
    fn datagrams_that_were_joined_are_taken_apart() {
        let mut frame = vec![];
        let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv6([1; 16], [2; 16], 64);
        builder.udp(7, 9).write(&mut frame, &[5; 2500]).unwrap();
        let parts = cut_of(offload(UDP_DATAGRAMS, 1000, 54, 6), &frame);
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [1062, 1062, 562]);
        parts.iter().for_each(|p| check(p));
    }

    /// The kernel leaves the sum of the pseudo header in the field.
    #[test]
    fn a_checksum_is_completed() {
        let (mut frame, start) = tcp(false, 101);
        let at = usize::from(start);
        let length = (frame.len() - at) as u64;
        let pseudo = fold(add(6 + length, &frame[26..34]));
        frame[at + 16..at + 18].copy_from_slice(&pseudo.to_be_bytes());
        let parts = cut_of(offload(NO_SEGMENTS, 0, start, 16), &frame);
        assert_eq!(parts.len(), 1);
        check(&parts[0]);
        let plain = cut_of(Offload::default(), &frame);
        assert_eq!(plain, [frame], "nothing was asked for");
    }

    #[test]
    fn what_is_not_known_or_cut_off_is_not_handed_on() {
        let (frame, start) = tcp(false, 4000);
        let nothing = |o: Offload, n: usize| {
            let mut any = false;
            let known = cut(o, &mut frame[..n].to_vec(), &mut |_| any = true);
            !known && !any
        };
        assert!(nothing(offload(3, 1448, start, 16), 4000));
        assert!(nothing(offload(TCP_IPV4, 0, start, 16), 4000));
        assert!(nothing(offload(TCP_IPV4, 1448, start, 16), 40));
        assert!(nothing(offload(NO_SEGMENTS, 0, start, 16), 40));
        assert!(nothing(offload(TCP_IPV4, 1448, 60_000, 16), 4000));
    }

    #[test]
    fn ip_is_found_behind_tags_and_nothing_else_is_taken_for_it() {
        let (frame, _) = tcp(false, 10);
        assert_eq!(ip_at(&frame), Some(14));
        let tagged = [&frame[..12], &[0x81, 0, 0, 7], &frame[12..]].concat();
        assert_eq!(ip_at(&tagged), Some(18));
        let arp = [&frame[..12], &[0x08, 0x06], &frame[14..]].concat();
        assert_eq!((ip_at(&arp), ip_at(&frame[..13])), (None, None));
    }
}
