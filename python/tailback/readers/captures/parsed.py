"""Decodes a frame down to TCP and UDP.

Ethernet and VLAN (IEEE 802.3, 802.1Q), Linux cooked captures, PPPoE (RFC 2516), IPv4 (RFC 791), IPv6 (RFC 8200).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from tailback.readers.captures.packets import Frame

#: Kinds of links that are read, by the numbers of tcpdump.org.
LINKS = {
    0: "loopback of BSD",
    1: "Ethernet",
    12: "raw IP",
    101: "raw IP",
    108: "loopback of OpenBSD",
    113: "Linux cooked",
    228: "raw IPv4",
    229: "raw IPv6",
    276: "Linux cooked, version 2",
}
_VLAN = (0x8100, 0x88A8, 0x9100)
_IPV4, _IPV6, _PPPOE = 0x0800, 0x86DD, 0x8864
_PPP = {0x0021: _IPV4, 0x0057: _IPV6}
_TCP, _UDP = 6, 17
_HOP, _ROUTE, _FRAGMENT, _OPTIONS = 0, 43, 44, 60
_SYN, _PSH = 0x02, 0x08


@dataclass(frozen=True)
class Packet:
    """A packet of TCP or UDP. Addresses and ports are used only to tell flows apart; no result contains them."""

    source: bytes
    destination: bytes
    ports: bytes
    protocol: int
    #: Bytes of the IP packet, and of its payload.
    length: int
    payload: int
    sequence: int | None = None
    syn: int = 0
    push: bool = False


def packet(frame: Frame) -> Packet | str:
    """The packet of a frame; for any other frame, the words for its kind."""
    try:
        return _network(frame)
    except (struct.error, IndexError):
        return "frames that were cut within their headers"


def _network(frame: Frame) -> Packet | str:
    content, offset = frame.data, 0
    match frame.link:
        case 1:
            kind, offset = struct.unpack_from(">H", content, 12)[0], 14
        case 113:
            kind, offset = struct.unpack_from(">H", content, 14)[0], 16
        case 276:
            kind, offset = struct.unpack_from(">H", content, 0)[0], 20
        case 0 | 108:
            kind, offset = 0, 4
        case 12 | 101 | 228 | 229:
            kind = 0
        case _:
            return "frames of another kind of link"
    while kind in _VLAN:
        kind, offset = struct.unpack_from(">H", content, offset + 2)[0], offset + 4
    if kind == _PPPOE:
        kind, offset = _PPP.get(struct.unpack_from(">H", content, offset + 6)[0], 1), offset + 8
    if kind == 0:
        kind = {4: _IPV4, 6: _IPV6}.get(content[offset] >> 4, 1)
    if kind == _IPV4:
        return _ipv4(frame, offset)
    return _ipv6(frame, offset) if kind == _IPV6 else "frames without IP (ARP and others)"


def _ipv4(frame: Frame, at: int) -> Packet | str:
    content = frame.data
    head = (content[at] & 0x0F) * 4
    length, _, fragment = struct.unpack_from(">HHH", content, at + 2)
    # A capture on the sending host has length 0 if the card splits the packet.
    length = length or frame.length - at
    if fragment & 0x1FFF:
        return "later fragments"
    if head < 20:
        return "frames without IP (ARP and others)"
    return _transport(
        content,
        at + head,
        content[at + 9],
        content[at + 12 : at + 16],
        content[at + 16 : at + 20],
        length,
        length - head,
    )


def _ipv6(frame: Frame, at: int) -> Packet | str:
    content = frame.data
    length = struct.unpack_from(">H", content, at + 4)[0] or frame.length - at - 40
    protocol, source, destination = content[at + 6], content[at + 8 : at + 24], content[at + 24 : at + 40]
    begin, bytes_left = at + 40, length
    while protocol in (_HOP, _ROUTE, _FRAGMENT, _OPTIONS):
        if protocol == _FRAGMENT and struct.unpack_from(">H", content, begin + 2)[0] & 0xFFF8:
            return "later fragments"
        size = 8 if protocol == _FRAGMENT else 8 * (content[begin + 1] + 1)
        protocol, begin, bytes_left = content[begin], begin + size, bytes_left - size
    return _transport(content, begin, protocol, source, destination, length + 40, bytes_left)


def _transport(
    data: bytes, at: int, protocol: int, source: bytes, destination: bytes, length: int, rest: int
) -> Packet | str:
    """`length` is the length of the IP packet; `rest` is the bytes behind its headers."""
    if protocol == _UDP:
        ports = data[at : at + 4]
        if len(ports) < 4:
            return "frames that were cut within their headers"
        return Packet(source, destination, ports, protocol, length, max(0, rest - 8))
    if protocol != _TCP:
        return "packets of other protocols (ICMP and others)"
    sequence = struct.unpack_from(">I", data, at + 4)[0]
    offset, flags = (data[at + 12] >> 4) * 4, data[at + 13]
    return Packet(
        source,
        destination,
        data[at : at + 4],
        protocol,
        length,
        max(0, rest - offset),
        sequence,
        int(bool(flags & _SYN)),
        bool(flags & _PSH),
    )
