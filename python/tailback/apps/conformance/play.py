"""Plays a dialogue: it runs each step on a subject, or checks it against the subject. A subject is a sender of any
kind.

The player keeps the clock of the dialogue. If the dialogue has a `path`, the player carries the sender's segments
between two steps and delivers the answers in the order of their arrival.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tailback.apps.conformance.dialogue import PAYLOAD, DialogueError, NoState, Turn, evaluate
from tailback.apps.conformance.receiver import FarEnd, GivenAck, PlayedPath, SentSegment
from tailback.runs.live.tcp_info import CA_STATES

#: Values of `ca_state` by their names in Linux.
STATES = {name: float(i) for i, name in enumerate(CA_STATES)}
#: The tolerance for rounding of sums of binary fractions.
_ROUNDING = 1e-6
#: The most segments in flight; an unbounded window doubles as long as no segment is lost.
MOST_SEGMENTS = 200_000
#: The longest wait of a step for a state.
MOST_WAITED_NS = 20_000_000_000


class Subject(Protocol):
    """A sender with an open connection. Times are in nanoseconds since the end of its handshake."""

    #: The tolerance for late events: 0 in simulated time.
    slack_ns: int
    #: The tolerance as a share of the time since the last segment, since long timers of a kernel are coarse.
    slack_share: float
    #: Whether windows are rounded down to whole segments.
    whole: bool

    def write(self, segments: int | None, more: int = 0) -> None:
        """Writes so many segments and further bytes; None means endless data."""
        ...

    def withdraw(self) -> None:
        """Takes unsent data back."""
        ...

    def give(self, answer: GivenAck) -> None: ...
    def advance(self, until_ns: int) -> None: ...
    def take(self) -> list[SentSegment]: ...
    def state(self) -> Mapping[str, float]: ...


class NotKept(Exception):
    """A failed step of a dialogue."""


@dataclass
class Player:
    """The state of a running dialogue: the segments since the last check, and the values of names."""

    subject: Subject
    way: PlayedPath
    kept: dict[str, float]
    now_ns: int = 0
    last_ns: int = 0
    count: int = 0
    #: The due time of the step before, or the time at which it ended if it waited.
    due_ns: int = 0

    def __post_init__(self) -> None:
        self.unseen: list[SentSegment] = []
        self.first_stamp: dict[int, int | None] = {}
        self.last_stamp: dict[int, int | None] = {}

    def pass_to(self, at_ns: int) -> None:
        """Lets time pass, and carries the sent segments."""
        while True:
            due_ns = self.way.next_ns
            step = at_ns if due_ns is None else min(due_ns, at_ns)
            if self.way.round_trip_ns:
                # No segment sent until then is answered earlier.
                step = min(step, self.now_ns + self.way.round_trip_ns)
            self.now_ns = max(step, self.now_ns)
            self.subject.advance(self.now_ns)
            self.collect()
            if due_ns is not None and due_ns <= self.now_ns:
                self.subject.give(self.way.answer())
                self.collect()
            elif self.now_ns >= at_ns:
                return

    def collect(self) -> None:
        for segment in self.subject.take():
            self.count += 1
            if self.count > MOST_SEGMENTS:
                raise DialogueError(
                    f"more than {MOST_SEGMENTS} segments were sent; lose one, or bound the window with "
                    'tcp = { window_cap = "100 packets" }'
                )
            self.first_stamp.setdefault(segment.number, segment.stamp)
            self.last_stamp[segment.number] = segment.stamp
            self.last_ns = segment.at_ns
            self.unseen.append(segment)
            self.way.carry(segment)

    def look(self, least: int) -> list[SentSegment]:
        """The segments since the last check. A subject in real time gets a little more time for so many segments."""
        quiet = self.now_ns - self.last_ns
        end = self.now_ns + max(self.subject.slack_ns, int(self.subject.slack_share * quiet))
        while len(self.unseen) < least and self.now_ns < end:
            self.pass_to(min(end, self.now_ns + 1_000_000))
        unseen_segments, self.unseen = self.unseen, []
        return unseen_segments

    def value(self, name: str) -> float:
        if name in self.kept:
            return self.kept[name]
        state = self.subject.state()
        if name not in state:
            known_names = ", ".join(sorted({*state, *self.kept} - {*STATES}))
            raise NoState(name, known_names)
        return state[name]


def play(steps: Sequence[Turn], subject: Subject, far: FarEnd) -> None:
    """Plays all steps. Raises NotKept at the first failed step."""
    player = Player(subject, PlayedPath(far), dict(STATES))
    for step in steps:
        try:
            player.due_ns = step.at_ns if step.after_ns is None else player.due_ns + step.after_ns
            player.pass_to(player.due_ns)
            _DO[step.what](player, step)
        except (NotKept, DialogueError) as e:
            e.args = (f"step {step.number}, {player.due_ns / 1e6:g} ms, `{step.text}`: {e}",)
            raise


def _write(player: Player, step: Turn) -> None:
    player.subject.write(*((None,) if step.count is None else divmod(step.count, PAYLOAD)))
    player.collect()


def _withdraw(player: Player, step: Turn) -> None:
    player.subject.withdraw()


def _answer(player: Player, step: Turn) -> None:
    acked_segments, part_bytes = divmod(step.count or 0, PAYLOAD)
    stamps = player.last_stamp if step.name == "again" else player.first_stamp
    # The acknowledgement echoes the timestamp of the first segment that it newly covers (RFC 7323 section 4.3).
    edge = max((n for n in stamps if n <= acked_segments), default=None)
    newly = min((n for n in stamps if player.way.far.upto < n <= acked_segments), default=edge)
    whose = newly if step.of is None else step.of
    if step.of is not None and step.of not in stamps:
        raise NotKept(f"segment {step.of} has not been sent, so its time stamp cannot be echoed")
    echo = stamps.get(whose) if whose is not None else None
    player.way.far.upto = max(player.way.far.upto, acked_segments)
    player.subject.give(GivenAck(acked_segments, step.reports, frozenset(step.words), echo, step.window, part_bytes))
    player.collect()


def _sends(player: Player, step: Turn) -> None:
    if step.words and not step.segments:
        segments = player.look(step.count or 0 if step.words[0] == "at least" else 0)
        holds = len(segments) <= (step.count or 0) if step.words[0] == "at most" else len(segments) >= (step.count or 0)
        if not holds:
            raise NotKept(f"it sent {_shown(segments)}")
        if len(step.words) > 1 and [s.number for s in segments if "cwr" in s.flags] != [segments[0].number]:
            raise NotKept(f"CWR is on {[s.number for s in segments if 'cwr' in s.flags] or 'no segment'}")
        return
    segments = player.look(len(step.segments))
    if [s.number for s in segments] != list(step.segments):
        raise NotKept(f"it sent {_shown(segments)}")
    for s in segments:
        words_true = {s.ecn, "cwr" if "cwr" in s.flags else "no-cwr"}
        if missing := [m for m in step.words if m not in words_true]:
            raise NotKept(f"segment {s.number} has {', '.join(sorted(words_true))}, and not {missing[0]}")
        if step.count is not None and s.payload != step.count:
            raise NotKept(f"segment {s.number} has {s.payload} B")


def _again(player: Player, step: Turn) -> None:
    segments = player.look(0)
    while step.segments and not any(s.again for s in segments) and player.subject.slack_ns:
        further_segments = player.look(1)
        if not further_segments:
            break
        segments += further_segments
    repeats = [s for s in segments if s.again]
    if [s.number for s in repeats] != list(step.segments):
        raise NotKept(f"it sent again {_shown(repeats)}")


def _state(player: Player, step: Turn) -> None:
    value, wanted_value = evaluate(step.left, player.value), evaluate(step.value, player.value)
    tolerance = evaluate(step.tolerance, player.value) + _ROUNDING * max(1.0, abs(wanted_value))
    low, high = wanted_value - tolerance, wanted_value + tolerance
    if player.subject.whole and step.name in ("cwnd", "ssthresh", "snd_cwnd"):
        low = math.floor(low + _ROUNDING) if math.isfinite(low) else low
    operator = step.words[0]
    holds = {
        "=": low <= value <= high or value == wanted_value,
        "!=": not (low <= value <= high or value == wanted_value),
        "<": value < low,
        "<=": value <= high,
        ">": value > high,
        ">=": value >= low,
    }[operator]
    if not holds:
        raise NotKept(f"{step.name} is {value:g}")


def _wait(player: Player, step: Turn) -> None:
    until_ns = player.now_ns + MOST_WAITED_NS
    while True:
        try:
            _state(player, step)
        except NotKept:
            if player.now_ns >= until_ns:
                raise
            player.pass_to(player.now_ns + 1_000_000)
        else:
            player.due_ns = player.now_ns
            return


def _keep(player: Player, step: Turn) -> None:
    player.kept[step.name] = evaluate(step.value, player.value)


def _path(player: Player, step: Turn) -> None:
    player.way.change(step.time_ns, step.way, player.now_ns)


def _lose(player: Player, step: Turn) -> None:
    player.way.losses = [*player.way.losses, *step.segments * (step.count or 1)] if step.segments else []


def _mark(player: Player, step: Turn) -> None:
    player.way.marks_all = "all" in step.words
    player.way.marks = player.way.marks | set(step.segments) if step.segments else set()


def _late(player: Player, step: Turn) -> None:
    player.way.delays.update(dict.fromkeys(step.segments, step.time_ns))


_DO = {
    "write": _write,
    "withdraw": _withdraw,
    "answer": _answer,
    "sends": _sends,
    "again": _again,
    "state": _state,
    "wait": _wait,
    "keep": _keep,
    "path": _path,
    "lose": _lose,
    "mark": _mark,
    "late": _late,
}


def _shown(seen: Sequence[SentSegment]) -> str:
    """Segments with their times; segments of one instant are shown as ranges."""
    if not seen:
        return "nothing"
    runs: list[list[SentSegment]] = []
    for s in seen:
        last_segment = runs[-1][-1] if runs else None
        if (
            last_segment
            and last_segment.number + 1 == s.number
            and last_segment.at_ns == s.at_ns
            and last_segment.again == s.again
        ):
            runs[-1].append(s)
        else:
            runs.append([s])
    texts = []
    for run in runs[:8]:
        name = f"{run[0].number}" if len(run) == 1 else f"{run[0].number}-{run[-1].number}"
        texts.append(f"{name}{' again' if run[0].again else ''} at {run[0].at_ns / 1e6:g} ms")
    return ", ".join(texts) + (" and more" if len(runs) > 8 else "")
