"""What the kernel says of a connection: `struct tcp_info` of linux/tcp.h, as far as it is used."""

from __future__ import annotations

import socket
import struct
from typing import Any

#: As much as is asked for; older kernels answer less.
LENGTH = 320
#: Where a field stands, and how it is read: bytes and code of `struct`.
_FIELDS = {
    "state": (0, "B"), "ca_state": (1, "B"), "options": (5, "B"),
    "rto_us": (8, "I"), "snd_mss": (16, "I"), "unacked": (24, "I"), "lost": (32, "I"), "retrans": (36, "I"),
    "rtt_us": (68, "I"), "rttvar_us": (72, "I"), "ssthresh": (76, "I"), "cwnd": (80, "I"), "total_retrans": (100, "I"),
    "pacing_rate": (104, "Q"), "bytes_acked": (120, "Q"), "bytes_received": (128, "Q"), "segs_out": (136, "I"),
    "segs_in": (140, "I"), "min_rtt_us": (148, "I"), "data_segs_in": (152, "I"), "data_segs_out": (156, "I"),
    "busy_us": (168, "Q"), "rwnd_limited_us": (176, "Q"), "sndbuf_limited_us": (184, "Q"), "delivered": (192, "I"),
    "delivered_ce": (196, "I"), "bytes_sent": (200, "Q"), "bytes_retrans": (208, "Q"), "dsack_dups": (216, "I"),
    "reord_seen": (220, "I"), "rcv_ooopack": (224, "I"), "snd_wnd": (228, "I"), "total_rto": (240, "H"),
}  # fmt: skip


def read(connection: socket.socket) -> dict[str, Any]:
    """Fields by name; those that this kernel does not know are missing."""
    data = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, LENGTH)
    fields = {}
    for name, (at, code) in _FIELDS.items():
        if at + struct.calcsize(code) <= len(data):
            (fields[name],) = struct.unpack_from(f"={code}", data, at)
    return fields
