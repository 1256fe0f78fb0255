"""Shared by the readers of shapers: turns the queues of devices into a reading without addresses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tailback.core.scenario.read import inline
from tailback.core.text.plain import plain
from tailback.linux import dump
from tailback.linux.shaped import Side, sides
from tailback.linux.tree import Tree
from tailback.readers.reading import Next, Notes, ReadError, Reading, Written

#: Patterns of addresses and names: IPv4, IPv6, MAC addresses, and a user at a machine.
_ADDRESS = re.compile(
    r"\b\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?\b|(?:[0-9a-f]{1,4}:){2,7}[0-9a-f:]{1,4}(?:/\d{1,3})?"
    r"|\b[\w.-]{1,64}@[\w.-]{1,64}",
    re.IGNORECASE,
)
#: The most characters of one sentence of a message.
_LONGEST = 300
#: The names of the directions in a message.
_WAYS = {"down": "down", "up": "up", "": "one direction"}
#: The most left-out parts that a message lists.
_MOST_LISTED = 8


@dataclass(frozen=True)
class Queues:
    """The queues of a paste, and the counters of an output."""

    sides: tuple[Side, ...]
    counters: tuple[dump.Queue, ...] = field(default=())

    def side(self, way: str) -> Side | None:
        return next((s for s in self.sides if s.way == way), None)


def masked(text: str) -> str:
    """The text without addresses."""
    return _ADDRESS.sub("ADDRESS", text)


def sentence(text: str) -> str:
    """The text for a message: without addresses and terminal control characters, and cut to a readable length."""
    shown_text = plain(masked(text))
    return shown_text if len(shown_text) <= _LONGEST else f"{shown_text[: _LONGEST - 1]}\N{HORIZONTAL ELLIPSIS}"


def leave(notes: Notes, what: str, why: str, line: int = 0) -> None:
    notes.leave(sentence(what), sentence(why), line)


def reading(kind: str, title: str, tree: Tree, notes: Notes, name: str, counters: Sequence[dump.Queue] = ()) -> Reading:
    """The reading of the queues. Raises ReadError if no queue can be simulated."""
    directions = sides(tree, lambda what, why, line: leave(notes, what, why, line))
    for side in directions:
        for line, what, value in side.said:
            notes.say(masked(what), masked(value), line)
        place = masked(side.device) or "the device"
        side_name = f"{_WAYS[side.way]}, {place}"
        if side.queue:
            notes.say(f"queue ({side_name})", inline(side.queue))
        if side.impair:
            notes.say(f"impairments of the link ({side_name})", inline(side.impair))
    for counter in counters:
        _count(notes, counter)
    if not directions and not counters:
        raise ReadError(
            f"no part of it can be simulated: {_why(notes)}",
            "give a line of tc such as cake bandwidth 20mbit",
            name=name,
        )
    queues = [s for s in directions if s.queue]
    scenario_file = None
    if queues:
        scenario_file = Written(
            "the queues as a scenario has them",
            lambda: "".join(f"# {_WAYS[s.way]}, {masked(s.device)}\nqueue = {inline(s.queue)}\n" for s in queues),
        )
    next_ = _next(queues, directions)
    queues_read = Queues(tuple(directions), tuple(counters))
    return Reading(kind, title, tuple(notes.understood), notes.left, next_, queues_read, scenario_file)


def _why(notes: Notes) -> str:
    reasons = [f"line {x.line}, {x.what}: {x.why}" if x.line else f"{x.what}: {x.why}" for x in notes.left]
    return ". ".join(reasons[:_MOST_LISTED]) or "no line sets a queue up"


def _count(notes: Notes, one: dump.Queue) -> None:
    statement_name = f"{one.statement.kind} {one.statement.handle} {masked(one.statement.device)}".rstrip()
    line_number = one.statement.line
    if one.counters:
        notes.say(
            f"counted by {statement_name}", ", ".join(f"{k} {_number(v)}" for k, v in one.counters.items()), line_number
        )
    for name, tin in one.tins.items():
        notes.say(
            f"counted by {statement_name}, {name}", ", ".join(f"{k} {_number(v)}" for k, v in tin.items()), line_number
        )


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6g}"


def _next(queues: Sequence[Side], found: Sequence[Side]) -> tuple[Next, ...]:
    commands = []
    if queues:
        rates = [s.rate_bps for s in queues if s.rate_bps is not None]
        rate = inline(f"{rates[0] / 0.95 / 1e6:.3g}Mbps").strip('"') if rates else "RATE"
        commands.append(
            Next(
                f"tailback compare --rate {rate} --rtt 40ms --queue FILE",
                "the queue beside drop-tail, on a line a little faster",
            )
        )
    if found:
        commands.append(Next("tailback run first-run --queue FILE", "a scenario with it at its bottleneck"))
    return tuple(commands)
