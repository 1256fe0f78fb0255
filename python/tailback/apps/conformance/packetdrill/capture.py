"""Writes the packets of a failed script as a file for Wireshark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tailback import _core
from tailback.apps.conformance import packets
from tailback.apps.conformance.packetdrill.script import Packet
from tailback.apps.conformance.packetdrill.segments import SentPacket
from tailback.core.text.whole import whole

#: Addresses and port of packetdrill, for both ends.
LOCAL, REMOTE, PORT, REMOTE_PORT = "192.168.0.1", "192.0.2.1", 8080, 40_001
REMOTE_NETWORK = "192.0.2.0/24"
#: Flags by the letters of a script, in the order in which a script writes flags.
FLAGS = {"S": "syn", "F": "fin", "R": "rst", "P": "psh", ".": "ack", "E": "ece", "W": "cwr", "A": "ae"}
#: A packet: its time, its bytes from the IP header on, and a comment.
Frame = tuple[int, bytes, str]


def names_of_flags(flags: str) -> frozenset[str]:
    return frozenset(FLAGS[f] for f in flags if f in FLAGS)


def of_segments(seen: Sequence[tuple[int, bool, SentPacket | Packet]]) -> list[Frame]:
    """Makes packets from segments. Arriving segments come from the remote end."""
    return [(at, _packet(s, arrives), "") for at, arrives, s in seen]


def _packet(s: SentPacket | Packet, arrives: bool) -> bytes:
    ends = (REMOTE, LOCAL) if arrives else (LOCAL, REMOTE)
    ports = (REMOTE_PORT, PORT) if arrives else (PORT, REMOTE_PORT)
    stamps = None
    if s.stamps:
        # The simulator's nanoseconds as a kernel's milliseconds.
        stamps = (s.stamps[0] & 0xFFFFFFFF, s.stamps[1] & 0xFFFFFFFF)
    return packets.write(
        packets.ToKernel(
            *ends, ports, s.seq, s.ack or 0, names_of_flags(s.flags),
            window=0xFFFF if s.window is None else s.window,
            mss=s.mss, sack_permitted=s.sack_permitted, scale=s.scale, stamps=stamps,
            blocks=[(a, b) for a, b in s.sack], payload=s.payload, ecn=s.ecn or "not-ect", counts=s.counts,
        )
    )  # fmt: skip


def write(out: Path, script: Path, suffix: str, frames: Sequence[Frame], why: str) -> str:
    """Writes the packets and returns the file. The comment of the last packet is the reason of the failure."""
    out.mkdir(parents=True, exist_ok=True)
    file = out / f"{script.stem}{suffix}.pcapng"
    rows = list(frames)
    if rows:
        last_at_ns, last_packet, _ = rows[-1]
        rows[-1] = (last_at_ns, last_packet, why)
    with whole(Path(file)) as partial:
        _core.write_pcapng(partial, "script", rows)
    return str(file)
