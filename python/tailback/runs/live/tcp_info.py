"""The kernel's state of a connection: `struct tcp_info` of linux/tcp.h."""

from __future__ import annotations

import socket
import struct
from typing import Any

#: The requested length in bytes. Older kernels return fewer.
LENGTH = 320
#: The fields by their names in linux/tcp.h without the prefix `tcpi_`, each with its offset in bytes and its code of
#: `struct`.
_FIELDS = {
    "state": (0, "B"), "ca_state": (1, "B"), "retransmits": (2, "B"), "probes": (3, "B"), "backoff": (4, "B"),
    "options": (5, "B"), "rto": (8, "I"), "ato": (12, "I"), "snd_mss": (16, "I"), "rcv_mss": (20, "I"),
    "unacked": (24, "I"), "sacked": (28, "I"), "lost": (32, "I"), "retrans": (36, "I"), "fackets": (40, "I"),
    "last_data_sent": (44, "I"), "last_data_recv": (52, "I"), "last_ack_recv": (56, "I"), "pmtu": (60, "I"),
    "rcv_ssthresh": (64, "I"), "rtt": (68, "I"), "rttvar": (72, "I"), "snd_ssthresh": (76, "I"), "snd_cwnd": (80, "I"),
    "advmss": (84, "I"), "reordering": (88, "I"), "rcv_rtt": (92, "I"), "rcv_space": (96, "I"),
    "total_retrans": (100, "I"), "pacing_rate": (104, "Q"), "max_pacing_rate": (112, "Q"), "bytes_acked": (120, "Q"),
    "bytes_received": (128, "Q"), "segs_out": (136, "I"), "segs_in": (140, "I"), "notsent_bytes": (144, "I"),
    "min_rtt": (148, "I"), "data_segs_in": (152, "I"), "data_segs_out": (156, "I"), "delivery_rate": (160, "Q"),
    "busy_time": (168, "Q"), "rwnd_limited": (176, "Q"), "sndbuf_limited": (184, "Q"), "delivered": (192, "I"),
    "delivered_ce": (196, "I"), "bytes_sent": (200, "Q"), "bytes_retrans": (208, "Q"), "dsack_dups": (216, "I"),
    "reord_seen": (220, "I"), "rcv_ooopack": (224, "I"), "snd_wnd": (228, "I"), "rcv_wnd": (232, "I"),
    "total_rto": (240, "H"),
}  # fmt: skip
#: Values of `ca_state` (`enum tcp_ca_state`), from 0.
CA_STATES = ("Open", "Disorder", "CWR", "Recovery", "Loss")
#: Fields with another name here, which is shorter or includes the unit.
_OWN_NAMES = {
    "rto": "rto_us", "rtt": "rtt_us", "rttvar": "rttvar_us", "min_rtt": "min_rtt_us", "snd_ssthresh": "ssthresh",
    "snd_cwnd": "cwnd", "busy_time": "busy_us", "rwnd_limited": "rwnd_limited_us",
    "sndbuf_limited": "sndbuf_limited_us",
}  # fmt: skip


def linux(connection: socket.socket) -> dict[str, int]:
    """The fields by Linux's names; fields that this kernel does not have are missing."""
    content = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, LENGTH)
    fields = {}
    for name, (at, code) in _FIELDS.items():
        if at + struct.calcsize(code) <= len(content):
            (fields[name],) = struct.unpack_from(f"={code}", content, at)
    return fields


def read(connection: socket.socket) -> dict[str, Any]:
    """The fields by tailback's names; fields that this kernel does not have are missing."""
    return {_OWN_NAMES.get(name, name): value for name, value in linux(connection).items()}
