"""What came of a case of kernel_losses.py when it was played, and playing it to a sender of the simulator.

A kernel is played in real time, so that its answers come some microseconds late. A recording knows how late each was,
and ours is played over the path as it was.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

import msgspec
from kernel_cases import Case, Copy
from kernel_path import DrawnPath

from tailback.apps.conformance.ours import OurSender

#: A case that is not done by then is not done.
LONGEST_NS = 60_000_000_000
#: Nothing comes back within this time: the shortest half of a round trip.
STEP_NS = 5_000_000


class Sent(msgspec.Struct, array_like=True, frozen=True):
    """A copy leaves."""

    at_us: int
    number: int
    copy: int


class Heard(msgspec.Struct, array_like=True, frozen=True):
    """The answer to a copy is heard, so much later than drawn; what the sender's state is then."""

    at_us: int
    number: int
    copy: int
    acked: int
    reports: tuple[tuple[int, int], ...]
    late_us: int
    cwnd: float
    ssthresh: float
    #: `ca_state` of tcp_info, or the phase of a sender of ours.
    state: int


class Play(msgspec.Struct, frozen=True):
    """Times count from the end of the handshake; `opening_us` is how long that took."""

    opening_us: int
    #: When each write was made, and how late that was.
    written: list[tuple[int, int]]
    sent: list[Sent]
    heard: list[Heard]
    #: When everything was acknowledged; None if it never was.
    ended_us: int | None

    @property
    def numbers(self) -> list[int]:
        return [s.number for s in self.sent]

    @property
    def late(self) -> dict[Copy, int]:
        """How late each answer was, ns."""
        return {Copy(h.number, h.copy): 1000 * h.late_us for h in self.heard}


class Writer:
    """What the application of a case writes, and when."""

    def __init__(self, case: Case, lateness: list[int]) -> None:
        self.left = list(case.writes)
        self.lateness = list(lateness)
        self.done: list[tuple[int, int]] = []
        self.total = 0
        self.since = 0

    def due(self, acked: int) -> int | None:
        """When the next write is due; None if there is none, or if an acknowledgement comes first."""
        if not self.left or (self.left[0].after_all and acked < self.total):
            return None
        return self.since + 1000 * self.left[0].wait_us

    def write(self, now_ns: int, late_ns: int) -> int:
        """The next write happens; how many segments it has."""
        self.since = now_ns
        self.done.append((now_ns // 1000, late_ns // 1000))
        self.total += self.left[0].segments
        return self.left.pop(0).segments

    def heard(self, now_ns: int, acked: int) -> None:
        """All that was written is acknowledged: a rest begins."""
        if acked >= self.total and self.left and self.left[0].after_all:
            self.since = now_ns

    def is_done(self, acked: int) -> bool:
        return not self.left and acked >= self.total


#: Of a kernel with 250 Hz.
TICK_NS = 4_000_000


def settings(case: Case) -> dict[str, object]:
    return {
        "profile": "linux",
        "congestion": case.control,
        "timestamps": case.stamps,
        "variant": "sack" if case.sack else "newreno",
        "initial_window": f"{case.window} packets",
    }


def nudged(case: Case, late: Mapping[Copy, int], nudge_ns: int, number: int) -> dict[Copy, int]:
    """The lateness of answers with another draw of up to so much more or less."""
    rng = random.Random(f"{case.seed} {case.number} {number}")
    drawn: dict[Copy, int] = {}
    for n in range(1, case.segments + 1):
        for c in range(1, 12):
            copy = Copy(n, c)
            drawn[copy] = max(0, late.get(copy, 0) + round(rng.uniform(-nudge_ns, nudge_ns)))
    return drawn


class OurPlay:
    """A case in simulated time. `like`: the recording whose path it is. With a nudge, answers are as much sooner or
    later as the `number` draws, and timers fire at the ticks of a clock whose phase is drawn too."""

    def __init__(self, case: Case, like: Play | None, nudge_ns: int = 0, number: int = 0) -> None:
        late = like.late if like else {}
        self.path = DrawnPath(case, nudged(case, late, nudge_ns, number) if nudge_ns else late)
        self.writer = Writer(case, [])
        self.write_late = [1000 * late for _, late in like.written] if like else []
        self.opening_us = like.opening_us if like else case.rtt_us
        self.sender = OurSender(settings(case), opening_ns=1000 * self.opening_us)
        if nudge_ns:
            phase = random.Random(f"{case.seed} {case.number} {number} tick").randrange(64 * TICK_NS)
            self.sender.tick(TICK_NS, phase)
        self.sent: list[Sent] = []
        self.heard: list[Heard] = []
        self.acked = 0
        self.now = 0

    def collect(self) -> None:
        for s in self.sender.take():
            copy = self.path.carry(s)
            self.sent.append(Sent(s.at_ns // 1000, copy.number, copy.copy))

    def next_write(self) -> int | None:
        due = self.writer.due(self.acked)
        done = len(self.writer.done)
        return None if due is None else due + (self.write_late[done] if done < len(self.write_late) else 0)

    def play(self) -> Play:
        while not self.writer.is_done(self.acked) and self.now < LONGEST_NS:
            write = self.next_write()
            times = [t for t in (self.path.next_ns, write, self.now + STEP_NS) if t is not None]
            self.now = max(self.now, min(times))
            self.sender.advance(self.now)
            self.collect()
            if write is not None and write <= self.now:
                late = self.write_late[len(self.writer.done)] if len(self.writer.done) < len(self.write_late) else 0
                self.sender.write(self.writer.write(self.now, late))
                self.collect()
            while answer := self.path.run(self.now):
                self.sender.give(answer.ack)
                self.acked = max(self.acked, answer.ack.acked)
                self.writer.heard(self.now, self.acked)
                state = self.sender.state()
                cwnd, threshold, phase = state["cwnd"], state["ssthresh"], int(state["phase"])
                late = self.path.more_ns.get(answer.copy, 0) // 1000
                row = (self.now // 1000, *msgspec.structs.astuple(answer.copy), answer.ack.acked, answer.ack.reports)
                self.heard.append(Heard(*row, late, round(cwnd, 3), min(threshold, 1e9), phase))
                self.collect()
        ended = self.now // 1000 if self.writer.is_done(self.acked) else None
        return Play(self.opening_us, self.writer.done, self.sent, self.heard, ended)
