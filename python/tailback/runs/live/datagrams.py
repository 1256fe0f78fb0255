"""Datagrams with a number and the time at which they were sent, so that both ends can measure loss, delay and round
trip.

The payload begins with the number, 8 B, and the time on the clock of this machine, 8 B, both little-endian. An answer
begins with the number and time of its datagram. A datagram that is too short for them has neither. The time of an
arrival is that of the kernel (SO_TIMESTAMPNS, socket(7)), so a receiver that wakes late does not change it.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

#: The value in asm-generic/socket.h, for a Python without a name for it.
SO_TIMESTAMPNS = 35
_HEAD = struct.Struct("<QQ")
#: The bytes of number and time, which is the least payload that has them.
ROOM = _HEAD.size
_TIME = struct.Struct("qq")
_BESIDE = socket.CMSG_SPACE(_TIME.size)
#: The most datagrams that are read at once, so that other sockets get their turn.
_BATCH = 64
_LARGEST = 65_536


@dataclass(frozen=True)
class Datagram:
    peer: Any
    length: int
    at_ns: int
    number: int | None = None
    sent_ns: int = 0

    def answer(self, length: int) -> bytes:
        return b"" if self.number is None else _HEAD.pack(self.number, self.sent_ns).ljust(length, b"\0")


def numbered(number: int, payload: bytes) -> bytes:
    """The payload of a datagram that is sent now."""
    if len(payload) < ROOM:
        return payload
    return _HEAD.pack(number, time.monotonic_ns()) + payload[ROOM:]


def received(s: socket.socket) -> Iterator[Datagram]:
    """The datagrams that wait at a socket."""
    # The kernel gives the arrival in the time of day.
    offset_ns = time.monotonic_ns() - time.time_ns()
    for _ in range(_BATCH):
        try:
            payload, control_messages, _, peer = s.recvmsg(_LARGEST, _BESIDE)
        except OSError:
            return
        at_ns = time.monotonic_ns()
        for level, kind, stamp in control_messages:
            if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
                seconds, ns = _TIME.unpack(stamp)
                at_ns = seconds * 1_000_000_000 + ns + offset_ns
        number, sent_ns = _HEAD.unpack_from(payload) if len(payload) >= ROOM else (None, 0)
        yield Datagram(peer, len(payload), at_ns, number, sent_ns)
