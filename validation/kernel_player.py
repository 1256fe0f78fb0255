"""Playing cases of kernel_losses.py to this machine's kernel, many at once, in a network namespace of its own.

`python kernel_player.py` reads what to play from its input and writes what came of it. A connection of the kernel goes
to a TUN device; its far end is played here, in real time. The process asks for real-time priority (SCHED_FIFO), so that
an answer is not late because another program computes; without the privilege it goes on, and its answers are later.
"""

from __future__ import annotations

import contextlib
import gc
import heapq
import os
import select
import socket
import struct
import sys
import time
from collections.abc import Sequence

import msgspec
from kernel_cases import Case
from kernel_path import DrawnPath
from kernel_plays import LONGEST_NS, Heard, Play, Sent, Writer

from tailback.apps.conformance import packets
from tailback.apps.conformance.kernel import NoKernel, TunBench
from tailback.apps.conformance.ours import PAYLOAD
from tailback.apps.conformance.receiver import GivenAck, SentSegment
from tailback.runs.live import tcp_info

_OWN, _PORT = "10.78.0.1", 5001
#: Connections start so far apart, so that they do not go in step.
APART_NS = 3_000_000
#: How long the kernel may take for a SYN or to answer at all.
PATIENCE_NS = 3_000_000_000


class Asked(msgspec.Struct):
    """What is to be played: cases, and how many at once."""

    cases: list[Case]
    together: int


class Played(msgspec.Struct):
    """What came of it, and how late answers were, us, sorted."""

    plays: list[Play]
    lateness_us: list[int]
    seconds: float
    priority: str


class Connection:
    """A connection of the kernel, and the path of its case."""

    def __init__(self, device: int, case: Case, peer: str) -> None:
        self.device, self.case, self.peer = device, case, peer
        self.path, self.writer = DrawnPath(case), Writer(case, [])
        self.sent: list[Sent] = []
        self.heard: list[Heard] = []
        self.acked = 0
        self.opened_at = self.opening_ns = 0
        self.begin: int | None = None
        self.ended: int | None = None
        self.syn: packets.FromKernel | None = None
        self.ports = (0, 0)
        self.first = 0
        self.born = time.monotonic_ns()
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, case.control.encode())
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(BlockingIOError):
            self.socket.connect((peer, _PORT))

    def take(self, heard: packets.FromKernel, now: int) -> None:
        """The kernel has sent a segment."""
        if "syn" in heard.flags:
            if self.syn is None:
                self.syn, self.opened_at = heard, now
                self.ports = (heard.ports[1], heard.ports[0])
                self.first = (heard.seq + 1) & 0xFFFFFFFF
        elif heard.payload and self.begin is not None:
            number = ((heard.seq - self.first) & 0xFFFFFFFF) // PAYLOAD + 1
            at = now - self.begin
            copy = self.path.carry(SentSegment(at, number, stamp=heard.stamp))
            self.sent.append(Sent(at // 1000, copy.number, copy.copy))

    def next_ns(self) -> int | None:
        """When there is something to do, on the machine's clock."""
        if self.begin is None:
            return self.opened_at + 1000 * self.case.rtt_us if self.syn else None
        times = [t for t in (self.path.next_ns, self.writer.due(self.acked)) if t is not None]
        return self.begin + min(times) if times else None

    def act(self, now: int) -> int | None:
        """Do what is due first; how late it was, ns."""
        if self.begin is None:
            return self._open(now)
        at = now - self.begin
        due = self.writer.due(self.acked)
        if due is not None and due <= at:
            self.socket.send(bytes(PAYLOAD * self.writer.write(at, at - due)))
            return at - due
        if answer := self.path.run(at):
            self._say(answer.ack)
            self.acked = max(self.acked, answer.ack.acked)
            self.writer.heard(at, self.acked)
            if self.writer.is_done(self.acked):
                self.ended = at
            info = tcp_info.read(self.socket)
            late = (at - answer.due_ns) // 1000
            row = (at // 1000, answer.copy.number, answer.copy.copy, answer.ack.acked, answer.ack.reports, late)
            self.heard.append(Heard(*row, info["cwnd"], min(info["ssthresh"], 1e9), info["ca_state"]))
            return at - answer.due_ns
        return None

    def _open(self, now: int) -> int:
        syn = self.syn
        assert syn is not None
        self.begin, self.opening_ns = now, now - self.opened_at
        stamps = (1, syn.stamp or 0) if self.case.stamps else None
        mss = PAYLOAD + 12 * self.case.stamps
        self._write(0, frozenset({"syn", "ack"}), stamps, mss=mss, sack_permitted=self.case.sack, scale=10)
        # Its window is shifted, unlike that of a SYN; so the first duplicate changes nothing else.
        self._write(0, frozenset({"ack"}), (2, syn.stamp or 0) if self.case.stamps else None)
        return self.opening_ns - 1000 * self.case.rtt_us

    def _say(self, answer: GivenAck) -> None:
        blocks = [(self.first + (a - 1) * PAYLOAD, self.first + b * PAYLOAD) for a, b in answer.reports]
        value = (time.monotonic_ns() - (self.begin or 0)) // 1_000_000 + 2
        stamps = (value, answer.echo or 0) if self.case.stamps else None
        self._write(answer.acked, frozenset({"ack"}), stamps, blocks=blocks)

    def _write(self, acked: int, flags: frozenset[str], stamps: tuple[int, int] | None, **more: object) -> None:
        seq = 1_000_000 + ("syn" not in flags)
        ack = self.first + acked * PAYLOAD
        said = packets.ToKernel(
            self.peer,
            _OWN,
            self.ports,
            seq,
            ack,
            flags,
            stamps=stamps,
            **more,  # type: ignore[arg-type]
        )
        os.write(self.device, packets.write(said))

    def is_over(self, now: int) -> bool:
        if self.ended is not None or self.begin is None:
            return self.ended is not None or now > self.born + PATIENCE_NS
        return now > self.begin + LONGEST_NS

    def close(self) -> Play:
        # What is unsent is forgotten, and the far end is told nothing.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()
        ended = None if self.ended is None else self.ended // 1000
        return Play(self.opening_ns // 1000, self.writer.done, self.sent, self.heard, ended)


class Player:
    """All connections over one device."""

    def __init__(self, device: int, cases: Sequence[Case], together: int) -> None:
        self.device, self.together = device, together
        self.waiting = list(enumerate(cases))[::-1]
        self.active: dict[str, tuple[int, Connection]] = {}
        self.plays: dict[int, Play] = {}
        self.late: list[int] = []
        self.last_start = 0
        #: When to look at a connection next; entries may be out of date.
        self.agenda: list[tuple[int, str]] = []

    def note(self, peer: str) -> None:
        due = self.active[peer][1].next_ns()
        if due is not None:
            heapq.heappush(self.agenda, (due, peer))

    def start(self, now: int) -> None:
        if self.waiting and len(self.active) < self.together and now >= self.last_start + APART_NS:
            number, case = self.waiting.pop()
            peer = address(number)
            self.active[peer] = (number, Connection(self.device, case, peer))
            self.last_start = now
            self.drain(now)

    def drain(self, now: int) -> None:
        """What the kernel has sent: at `now`, since it answers within the call that gives it something."""
        while True:
            try:
                data = os.read(self.device, 65_535)
            except BlockingIOError:
                return
            heard = packets.read(data)
            if heard and heard.destination in self.active:
                self.active[heard.destination][1].take(heard, now)
                self.note(heard.destination)

    def play(self) -> list[Play]:
        looked = 0
        while self.waiting or self.active:
            now = time.monotonic_ns()
            self.start(now)
            if now > looked + 20_000_000:
                looked = now
                for peer in [p for p, (_, c) in self.active.items() if c.is_over(now)]:
                    self.finish(peer)
            if self.agenda and self.agenda[0][0] <= now:
                self.act(heapq.heappop(self.agenda)[1])
                continue
            wait = min(self.agenda[0][0] - now if self.agenda else APART_NS, APART_NS)
            if select.select([self.device], [], [], wait / 1e9)[0]:
                self.drain(time.monotonic_ns())
        return [self.plays[i] for i in sorted(self.plays)]

    def act(self, peer: str) -> None:
        if peer not in self.active:
            return
        connection = self.active[peer][1]
        # What a timer has sent meanwhile comes first.
        now = time.monotonic_ns()
        self.drain(now)
        due = connection.next_ns()
        if due is None or due > now:
            return
        late = connection.act(now)
        if late is not None:
            self.late.append(late // 1000)
        self.drain(now)
        if connection.ended is not None:
            self.finish(peer)
        else:
            self.note(peer)

    def finish(self, peer: str) -> None:
        number, connection = self.active.pop(peer)
        self.plays[number] = connection.close()


def address(number: int) -> str:
    return f"10.79.{number // 250}.{number % 250 + 1}"


def prefer() -> str:
    """Real-time priority if it may be had; what it became."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
        return "SCHED_FIFO"
    except PermissionError:
        pass
    try:
        return f"nice {os.nice(-15)}"
    except PermissionError:
        return "no priority"


def main() -> None:
    from tailback.runs.live.agent import _network as leave_network
    from tailback.runs.live.router import Refused, ip

    asked = msgspec.json.decode(sys.stdin.buffer.read(), type=Asked)
    try:
        leave_network({})
        device = TunBench(asked.cases[0].control).device
        for number, case in enumerate(asked.cases):
            ip("route", "add", f"{address(number)}/32", "dev", "conform0", "src", _OWN, "initcwnd", str(case.window))
    except (Refused, NoKernel) as e:
        sys.exit(str(e))
    priority = prefer()
    gc.disable()
    begin = time.monotonic()
    player = Player(device, asked.cases, asked.together)
    plays = player.play()
    played = Played(plays, sorted(player.late), time.monotonic() - begin, priority)
    sys.stdout.buffer.write(msgspec.json.encode(played))


if __name__ == "__main__":
    main()
