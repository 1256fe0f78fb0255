"""Reads and writes IPv4 packets with TCP for a TUN device, as far as the far end of a dialogue needs."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

#: Flags of a TCP header by the names of dialogues.
FLAGS = {"fin": 1, "syn": 2, "rst": 4, "psh": 8, "ack": 16, "ece": 64, "cwr": 128, "ae": 256}
_ECN = ("not-ect", "ect1", "ect0", "ce")


@dataclass
class FromKernel:
    """A segment that the kernel has sent."""

    source: str
    destination: str
    ports: tuple[int, int]
    seq: int
    ack: int
    flags: frozenset[str]
    ecn: str
    payload: int
    window: int = 0
    #: The value and echo of its timestamp.
    stamps: tuple[int, int] | None = None
    mss: int | None = None
    scale: int | None = None
    sack_permitted: bool = False
    blocks: tuple[tuple[int, int], ...] = ()

    @property
    def stamp(self) -> int | None:
        """The value of its timestamp."""
        return self.stamps[0] if self.stamps else None


@dataclass
class ToKernel:
    """A segment for the kernel."""

    source: str
    destination: str
    ports: tuple[int, int]
    seq: int
    ack: int
    flags: frozenset[str]
    window: int = 65_535
    mss: int | None = None
    sack_permitted: bool = False
    #: The window scale, on a SYN.
    scale: int | None = None
    stamps: tuple[int, int] | None = None
    blocks: Sequence[tuple[int, int]] = field(default_factory=tuple)
    #: The number of payload bytes, all zero.
    payload: int = 0
    ecn: str = "not-ect"
    #: The option of accurate ECN: its fields by name, in order.
    counts: Sequence[tuple[str, int]] | None = None


def read(data: bytes) -> FromKernel | None:
    """The segment of a packet; None if it is not TCP over IPv4."""
    if len(data) < 40 or data[0] >> 4 != 4 or data[9] != socket.IPPROTO_TCP:
        return None
    begin = (data[0] & 15) * 4
    sport, dport, seq, ack, bits, window = struct.unpack_from("!HHIIHH", data, begin)
    header = (bits >> 12) * 4
    segment = FromKernel(
        socket.inet_ntoa(data[12:16]),
        socket.inet_ntoa(data[16:20]),
        (sport, dport),
        seq,
        ack,
        frozenset(name for name, bit in FLAGS.items() if bits & bit),
        _ECN[data[1] & 3],
        struct.unpack_from("!H", data, 2)[0] - begin - header,
        window,
    )
    _read_options(segment, data[begin + 20 : begin + header])
    return segment


def _read_options(segment: FromKernel, options: bytes) -> None:
    offset = 0
    while offset < len(options) and options[offset] != 0:
        if options[offset] == 1:
            offset += 1
            continue
        if offset + 1 >= len(options) or options[offset + 1] < 2 or offset + options[offset + 1] > len(options):
            return
        kind, content = options[offset], options[offset + 2 : offset + options[offset + 1]]
        if kind == 2 and len(content) == 2:
            (segment.mss,) = struct.unpack("!H", content)
        elif kind == 3 and len(content) == 1:
            segment.scale = content[0]
        elif kind == 4:
            segment.sack_permitted = True
        elif kind == 5 and len(content) % 8 == 0:
            numbers = struct.unpack(f"!{len(content) // 4}I", content)
            segment.blocks = tuple(zip(numbers[::2], numbers[1::2], strict=True))
        elif kind == 8 and len(content) == 8:
            value, echo = struct.unpack("!II", content)
            segment.stamps = (value, echo)
        offset += options[offset + 1]


def write(s: ToKernel) -> bytes:
    """The packet."""
    options = b""
    if s.mss is not None:
        options += struct.pack("!BBH", 2, 4, s.mss)
    if s.sack_permitted:
        options += b"\x01\x01\x04\x02"
    if s.scale is not None:
        options += struct.pack("!BBBB", 1, 3, 3, s.scale)
    if s.stamps is not None:
        options += b"\x01\x01\x08\x0a" + struct.pack("!II", *(v & 0xFFFFFFFF for v in s.stamps))
    if s.blocks:
        options += struct.pack("!BBBB", 1, 1, 5, 2 + 8 * len(s.blocks))
        options += b"".join(struct.pack("!II", a & 0xFFFFFFFF, b & 0xFFFFFFFF) for a, b in s.blocks)
    if s.counts is not None:
        kind = 172 if s.counts[:1] and s.counts[0][0] == "e0b" else 174
        options += struct.pack("!BB", kind, 2 + 3 * len(s.counts))
        options += b"".join(struct.pack("!I", value & 0xFFFFFF)[1:] for _, value in s.counts)
        options += b"\x01" * (-len(options) % 4)
    bits = sum(FLAGS[name] for name in s.flags)
    header = 20 + len(options)
    tcp = struct.pack(
        "!HHIIHHHH",
        *s.ports,
        s.seq & 0xFFFFFFFF,
        s.ack & 0xFFFFFFFF,
        (header // 4) << 12 | bits,
        s.window,
        0,
        0,
    )
    tcp += options + bytes(s.payload)
    ends = socket.inet_aton(s.source) + socket.inet_aton(s.destination)
    checksum = _sum(ends + struct.pack("!BBH", 0, socket.IPPROTO_TCP, len(tcp)) + tcp)
    tcp = tcp[:16] + struct.pack("!H", checksum) + tcp[18:]
    ip = struct.pack("!BBHHHBBH", 0x45, _ECN.index(s.ecn), 20 + len(tcp), 0, 0x4000, 64, socket.IPPROTO_TCP, 0) + ends
    return ip[:10] + struct.pack("!H", _sum(ip)) + ip[12:] + tcp


def _sum(data: bytes) -> int:
    """The checksum of RFC 1071."""
    if len(data) % 2:
        data += b"\0"
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
