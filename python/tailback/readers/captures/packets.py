"""Iterates over the frames of pcap and pcapng files. A frame has its capture time, its link and its bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from tailback.readers.given import Given
from tailback.readers.reading import Notes, ReadError

#: The first four bytes of pcap: the byte order, and the nanoseconds of one unit of the fractions.
_PCAP = {
    bytes.fromhex("d4c3b2a1"): ("<", 1000),
    bytes.fromhex("a1b2c3d4"): (">", 1000),
    bytes.fromhex("4d3cb2a1"): ("<", 1),
    bytes.fromhex("a1b23c4d"): (">", 1),
}
_SECTION, _INTERFACE, _SIMPLE, _ENHANCED, _OLD = 0x0A0D0D0A, 1, 3, 6, 2
_ORDER = 0x1A2B3C4D
#: The longest frame, in bytes; a longer one has a damaged length.
_LONGEST = 1 << 24
_TSRESOL, _TSOFFSET = 9, 14


@dataclass(frozen=True)
class Frame:
    """`length` is the length on the wire; the capture may have cut `data`."""

    at_ns: int
    link: int
    length: int
    data: bytes


def frames(given: Given, notes: Notes) -> Iterator[Frame]:
    """The frames. If the file ends within a frame, the frames before it are given, with a note."""
    if given.data[:4] in _PCAP:
        return _pcap(given, notes)
    return _pcapng(given, notes)


def _pcap(given: Given, notes: Notes) -> Iterator[Frame]:
    content = given.data
    order, unit = _PCAP[content[:4]]
    if len(content) < 24:
        raise ReadError("the capture ends within its header", "capture again", name=given.name)
    link = struct.unpack_from(order + "I", content, 20)[0] & 0xFFFF
    notes.say("form", f"pcap, {'nano' if unit == 1 else 'micro'}seconds, {_link(link)}")
    offset = 24
    head = struct.Struct(order + "IIII")
    while offset + head.size <= len(content):
        seconds, fraction, captured_bytes, length = head.unpack_from(content, offset)
        offset += head.size
        if captured_bytes > _LONGEST:
            raise ReadError(
                f"a frame of {captured_bytes} bytes at byte {offset}: the file is damaged",
                "capture again",
                name=given.name,
            )
        if offset + captured_bytes > len(content):
            break
        yield Frame(seconds * 1_000_000_000 + fraction * unit, link, length, content[offset : offset + captured_bytes])
        offset += captured_bytes
    if offset != len(content):
        notes.leave("the last frame", "the file ends within it")


@dataclass
class _Interface:
    link: int
    #: Time units in a second, and the offset in seconds.
    per_second: int = 1_000_000
    offset_s: int = 0
    snap: int = 0


def _pcapng(given: Given, notes: Notes) -> Iterator[Frame]:
    content, offset, order = given.data, 0, "<"
    interfaces: list[_Interface] = []
    while offset + 12 <= len(content):
        kind, length = struct.unpack_from(order + "II", content, offset)
        if kind == _SECTION:
            order = _section_order(content, offset, given.name)
            length = struct.unpack_from(order + "I", content, offset + 4)[0]
            interfaces = []
        if length < 12 or length % 4 or length > _LONGEST:
            raise ReadError(
                f"a block of {length} bytes at byte {offset}: the file is damaged", "capture again", name=given.name
            )
        if offset + length > len(content):
            break
        body = content[offset + 8 : offset + length - 4]
        offset += length
        if kind == _INTERFACE and len(body) >= 8:
            interfaces.append(_interface(body, order))
            if len(interfaces) == 1:
                notes.say("form", f"pcapng, {interfaces[0].per_second:g} units a second, {_link(interfaces[0].link)}")
        elif kind in (_ENHANCED, _OLD) and len(body) >= 20:
            interface_number = struct.unpack_from(order + ("I" if kind == _ENHANCED else "H"), body)[0]
            if interface_number >= len(interfaces):
                raise ReadError(
                    f"a packet of interface {interface_number}, which does not exist", "capture again", name=given.name
                )
            yield _enhanced(body, order, interfaces[interface_number])
        elif kind == _SIMPLE:
            notes.leave("a simple packet block", "it has no time")
    if offset != len(content):
        notes.leave("the last block", "the file ends within it")


def _section_order(data: bytes, at: int, name: str) -> str:
    for order in "<>":
        if struct.unpack_from(order + "I", data, at + 8)[0] == _ORDER:
            return order
    raise ReadError("the header of a section has no byte order", "capture again", name=name)


def _interface(body: bytes, order: str) -> _Interface:
    link, _, snap = struct.unpack_from(order + "HHI", body)
    interface, offset = _Interface(link, snap=snap), 8
    while offset + 4 <= len(body):
        code, length = struct.unpack_from(order + "HH", body, offset)
        option_bytes = body[offset + 4 : offset + 4 + length]
        if code == 0:
            break
        if code == _TSRESOL and option_bytes:
            power = option_bytes[0] & 0x7F
            # No clock is finer than 2^-60 s.
            interface.per_second = 2 ** min(power, 60) if option_bytes[0] & 0x80 else 10 ** min(power, 18)
        elif code == _TSOFFSET and len(option_bytes) == 8:
            interface.offset_s = struct.unpack(order + "q", option_bytes)[0]
        offset += 4 + (length + 3) // 4 * 4
    return interface


def _enhanced(body: bytes, order: str, interface: _Interface) -> Frame:
    high, low, captured_bytes, length = struct.unpack_from(order + "IIII", body, 4)
    time_ns = ((high << 32) | low) * 1_000_000_000 // interface.per_second + interface.offset_s * 1_000_000_000
    return Frame(time_ns, interface.link, length, body[20 : 20 + captured_bytes])


def _link(link: int) -> str:
    from tailback.readers.captures.parsed import LINKS

    return LINKS.get(link, f"links of kind {link}, which is not read here")
