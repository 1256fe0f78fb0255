"""The kernel's TCP as the subject of dialogues: its connections go to a TUN device whose far end is played here.

A separate process has its own network namespace, so nothing on the machine changes. This process connects a socket to
an address behind the device and answers the handshake itself. Then the dialogue gives the arriving segments. Windows
and timers are read from `tcp_info`. Time is real, so a segment that a timer sends may be seen a little later than its
step says.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tailback.apps.conformance import packets
from tailback.apps.conformance.dialogue import PAYLOAD, NoState
from tailback.apps.conformance.lines import Dialogue, installed, read
from tailback.apps.conformance.ours import INFO, LINUX_FLOOR, OPENING_NS
from tailback.apps.conformance.receiver import GivenAck, SentSegment
from tailback.apps.conformance.run import (
    DIFFERS,
    FAILS,
    HOLDS,
    SKIPPED,
    LineVerdict,
    accurate,
    facts,
    settings,
    spared,
    try_line,
)
from tailback.runs.live import tcp_info

#: The tolerance of times: timers of the kernel tick in milliseconds, and Python may read the device late.
SLACK_NS = 25_000_000
#: Linux's timer wheel may fire a timer late by an eighth of its time.
SLACK_SHARE = 0.125
_OWN, _DEVICE, _PORT = "10.78.0.1", "conform0", 5001
#: The value that a kernel shows for an unset threshold.
_UNLIMITED = 0x7FFFFFFF
#: The phase of a sender for each `ca_state` of tcp_info. Disorder and reduction by ECN count as open.
_PHASES = {0: 0, 1: 0, 2: 0, 3: 1, 4: 2}

#: Parameters of `tcp` that become sysctl settings, and those that Linux always has on.
_TOLD = {
    "connection",
    "initial_window",
    "min_rto",
    "ecn",
    "loss",
    "tlp",
    "frto",
    "variant",
    "timestamps",
    "undo",
    "prr",
}


class NoKernel(Exception):
    """This machine's kernel cannot be tested."""


def on_kernel(control: str, names: Sequence[str], files: Sequence[str]) -> list[dict[str, Any]]:
    """The verdicts of the lines on this kernel, in the form of `LineVerdict.as_dict`. Raises NoKernel."""
    request = json.dumps({"control": control, "names": list(names), "files": [os.path.abspath(f) for f in files]})
    words = [sys.executable, "-m", "tailback.apps.conformance.kernel"]
    process = subprocess.run(words, input=request, capture_output=True, text=True, check=False)
    if process.returncode:
        failure = process.stderr.strip().rsplit("\n", 1)[-1] or f"it ended with status {process.returncode}"
        raise NoKernel(f"this kernel cannot be tried: {failure}; `tailback doctor` says what is missing")
    rows: list[dict[str, Any]] = json.loads(process.stdout)
    return rows


def main() -> None:
    """Runs in the separate process: reads the lines from standard input and prints their verdicts."""
    from tailback.runs.live.agent import _network as leave_network
    from tailback.runs.live.router import Refused

    request = json.load(sys.stdin)
    try:
        leave_network({})
        bench = TunBench(request["control"])
    except (Refused, NoKernel) as e:
        sys.exit(str(e))
    lines = [
        line for s in [*installed(), *read(request["files"])] for line in s.lines if line.name in set(request["names"])
    ]
    rows = [bench.try_line(line).as_dict() for line in lines]
    print(json.dumps(rows))


class TunBench:
    """Creates the device, and sets the sysctls of this network namespace."""

    def __init__(self, control: str) -> None:
        from tailback import _core
        from tailback.runs.live.router import ip

        available = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="ascii").split()
        if control not in available:
            raise NoKernel(f"there is no congestion control {control!r}; it has {', '.join(available)}")
        try:
            self.device = _core.make_tun(_DEVICE)
        except OSError as e:
            raise NoKernel(f"a TUN device cannot be made ({e.strerror or e})") from e
        os.set_blocking(self.device, False)
        self.control = control
        ip("link", "set", "lo", "up")
        # One segment a packet, so that the kernel does not wait to send several together.
        ip("link", "set", "dev", _DEVICE, "mtu", "1500", "gso_max_segs", "1", "txqueuelen", "20000", "up")
        ip("addr", "add", f"{_OWN}/24", "dev", _DEVICE)
        self.number = 1
        for name, value in {"tcp_no_metrics_save": "1", "tcp_wmem": "4096 16777216 67108864"}.items():
            _set(name, value)

    def try_line(self, line: Dialogue) -> LineVerdict:
        linux = line.table.kernel
        if linux.skip:
            return LineVerdict(line, SKIPPED, linux.skip)
        if why := spared(line, facts(self.control)):
            return LineVerdict(line, SKIPPED, why)
        # A line of the profile `linux` is tested with the kernel's own settings.
        as_is = {"profile"} if line.table.tcp.get("profile") == "linux" else set()
        if untold := sorted(set(line.table.tcp) - _TOLD - {"congestion"} - as_is):
            return LineVerdict(line, SKIPPED, f"the kernel has no setting for {', '.join(untold)}")
        self.number += 1
        peer = f"10.78.0.{self.number}"
        tcp = settings(line, self.control)
        if not isinstance(tcp["congestion"], str):
            return LineVerdict(
                line, SKIPPED, "the kernel takes no parameters of a congestion control for one connection"
            )
        self._prepare(line, tcp, peer)
        windows = any(step.window is not None for step in line.steps)
        subject = KernelSender(self.device, self.control, peer, tcp, line.table.lost_syns, windows)
        try:
            difference = try_line(line, subject, accurate(self.control))
        except NoState as e:
            return LineVerdict(line, SKIPPED, f"tcp_info shows no state {e.name!r}")
        finally:
            subject.close()
        if difference and linux.differs:
            return LineVerdict(line, DIFFERS, linux.differs)
        return LineVerdict(line, FAILS if difference else HOLDS, difference)

    def _prepare(self, line: Dialogue, tcp: Mapping[str, Any], peer: str) -> None:
        """Sets the route and the sysctls for the parameters of the line."""
        from tailback.runs.live.router import ip

        attributes: list[str] = []
        if "initial_window" in tcp:
            attributes += ["initcwnd", str(tcp["initial_window"]).split()[0]]
        if not line.table.default_timer:
            attributes += ["rto_min", str(tcp.get("min_rto", LINUX_FLOOR))]
        if tcp.get("ecn") == "on":
            attributes += ["features", "ecn"]
        ip("route", "replace", f"{peer}/32", "dev", _DEVICE, "src", _OWN, *attributes)
        _set("tcp_early_retrans", "3" if tcp.get("loss") == "rack" and tcp.get("tlp", True) else "0")
        _set("tcp_frto", "2" if tcp.get("frto") else "0")
        _set("tcp_sack", "0" if tcp.get("variant", "sack") != "sack" else "1")


def _set(name: str, value: str) -> None:
    try:
        Path("/proc/sys/net/ipv4", name).write_text(value, encoding="ascii")
    except OSError as e:
        raise NoKernel(f"net.ipv4.{name} cannot be set to {value}: {e.strerror}") from e


class KernelSender:
    """A connection of the kernel whose far end is played here."""

    slack_ns = SLACK_NS
    slack_share = SLACK_SHARE
    whole = True

    def __init__(
        self, device: int, control: str, peer: str, tcp: Mapping[str, Any], lost_syns: int, windows: bool
    ) -> None:
        """`windows` says that the dialogue gives the far end's advertised window, in bytes."""
        self._scale = 0 if windows else 10
        self._device, self._peer = device, peer
        self._stamps = bool(tcp.get("timestamps"))
        self._sent: list[SentSegment] = []
        self._once: set[int] = set()
        self._unwritten = 0
        self._forever = False
        self._begin = 0
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._open(lost_syns, tcp.get("variant", "sack") == "sack")

    def _open(self, lost_syns: int, sack: bool) -> None:
        with contextlib.suppress(BlockingIOError):
            self._socket.connect((self._peer, _PORT))
        syns: list[tuple[int, packets.FromKernel]] = []
        end = time.monotonic_ns() + 20_000_000_000
        while len(syns) <= lost_syns:
            if time.monotonic_ns() > end:
                raise NoKernel("its SYN did not come")
            heard = self._hear(time.monotonic_ns() + 100_000_000)
            if heard and "syn" in heard[1].flags:
                syns.append(heard)
        self._syn_gap = (syns[-1][0] - syns[-2][0]) / 1e9 if lost_syns else math.nan
        syn_at, syn = syns[-1]
        self._ports = (syn.ports[1], syn.ports[0])
        self._first = (syn.seq + 1) & 0xFFFFFFFF
        asks = {"ece", "cwr"} <= syn.flags
        while time.monotonic_ns() < syn_at + OPENING_NS:
            self._hear(syn_at + OPENING_NS)
        flags = frozenset({"syn", "ack", *(["ece"] if asks else [])})
        stamps = (1, syn.stamp or 0) if self._stamps else None
        mss = PAYLOAD + 12 * self._stamps
        self._begin = time.monotonic_ns()
        self._say(0, flags, stamps, mss=mss, sack_permitted=sack, scale=self._scale)
        # This window is shifted, unlike that of a SYN, so the dialogue's first duplicate ACK does not change the
        # window.
        self._say(0, frozenset({"ack"}), (2, syn.stamp or 0) if self._stamps else None)

    def _say(self, acked: int, flags: frozenset[str], stamps: tuple[int, int] | None, **more: Any) -> None:
        seq = 1_000_000 + ("syn" not in flags)
        ack = self._first + acked
        packet = packets.ToKernel(self._peer, _OWN, self._ports, seq, ack, flags, stamps=stamps, **more)
        os.write(self._device, packets.write(packet))
        # The kernel answers within the same call.
        while self._hear(0):
            pass

    def _hear(self, until_ns: int) -> tuple[int, packets.FromKernel] | None:
        """The next segment of this connection, recorded if it has data; None at the end of the time."""
        while True:
            try:
                packet = os.read(self._device, 65_535)
            except BlockingIOError:
                wait = (until_ns - time.monotonic_ns()) / 1e9
                if wait <= 0:
                    return None
                select.select([self._device], [], [], wait)
                continue
            now_ns = time.monotonic_ns()
            segment = packets.read(packet)
            if segment is None or segment.destination != self._peer:
                continue
            if segment.payload:
                self._note(now_ns, segment)
            return now_ns, segment

    def _note(self, now: int, heard: packets.FromKernel) -> None:
        segments_before = ((heard.seq - self._first) & 0xFFFFFFFF) // PAYLOAD
        for segment_number in range(segments_before + 1, segments_before + 1 + math.ceil(heard.payload / PAYLOAD)):
            is_again = segment_number in self._once
            self._once.add(segment_number)
            at_ns = now - self._begin
            size = min(heard.payload, PAYLOAD)
            self._sent.append(SentSegment(at_ns, segment_number, is_again, heard.flags, heard.ecn, heard.stamp, size))

    def write(self, segments: int | None, more: int = 0) -> None:
        self._forever |= segments is None
        self._unwritten += (segments or 0) * PAYLOAD + more
        self._fill()

    def withdraw(self) -> None:
        """Data that the kernel has taken cannot be taken back."""
        self._forever, self._unwritten = False, 0

    def _fill(self) -> None:
        while self._forever or self._unwritten:
            size = PAYLOAD * 100 if self._forever else min(self._unwritten, PAYLOAD * 100)
            try:
                bytes_taken = self._socket.send(bytes(size))
            except (BlockingIOError, InterruptedError):
                break
            self._unwritten = max(0, self._unwritten - bytes_taken)
            while self._hear(0):
                pass
            if bytes_taken < size or (self._forever and self._socket_holds() > 2_000_000):
                break
        while self._hear(0):
            pass

    def _socket_holds(self) -> int:
        import fcntl
        import struct
        import termios

        return int(struct.unpack("i", fcntl.ioctl(self._socket, termios.TIOCOUTQ, b"\0" * 4))[0])

    def give(self, answer: GivenAck) -> None:
        blocks = [(self._first + (a - 1) * PAYLOAD, self._first + b * PAYLOAD) for a, b in answer.reports]
        now_ms = (time.monotonic_ns() - self._begin) // 1_000_000 + 2
        stamps = (now_ms, answer.echo or 0) if self._stamps else None
        window = {} if answer.window is None else {"window": answer.window}
        self._say(answer.acked * PAYLOAD + answer.more, answer.flags | {"ack"}, stamps, blocks=blocks, **window)

    def advance(self, until_ns: int) -> None:
        end = self._begin + until_ns
        if self._forever:
            self._fill()
        while time.monotonic_ns() < end:
            if self._hear(end) is None:
                return

    def take(self) -> list[SentSegment]:
        sent_segments, self._sent = self._sent, []
        return sent_segments

    def state(self) -> Mapping[str, float]:
        info = tcp_info.read(self._socket)
        threshold = info["ssthresh"]
        return {
            "cwnd": float(info["cwnd"]),
            "ssthresh": math.inf if threshold >= _UNLIMITED else float(threshold),
            "srtt": info["rtt_us"] / 1e6,
            "rto": info["rto_us"] / 1e6,
            "phase": float(_PHASES.get(info["ca_state"], 0)),
            "outstanding": float(info["unacked"]),
            "timeouts": float(info.get("total_rto", 0)),
            "syn_gap": self._syn_gap,
            **{name: float(info[name]) for name in INFO if name in info},
            "snd_cwnd": float(info["cwnd"]),
        }

    def close(self) -> None:
        # Closing drops unsent data and sends no segment to the far end.
        import struct

        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()


if __name__ == "__main__":
    main()
