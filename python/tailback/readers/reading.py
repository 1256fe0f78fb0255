"""The contract of a reader: a `Reading` says what was understood, in our units, and what was left out and why.

A reader is a module with two functions. `recognises(given)` says by the content alone whether the text is of its kind;
it never raises. `read(given)` gives a `Reading` or raises `ReadError`. Nothing is guessed in silence: an assumption is
among what was understood, with the word "assumed". Addresses and names of persons or machines are in no reading.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tailback.core.text.plain import plain

#: Letters of a value that a message repeats.
SHOWN = 60


class ReadError(ValueError):
    """A text of a known kind with something wrong in it: the place, the value and what to do about it, in one line."""

    def __init__(self, problem: str, remedy: str, line: int = 0, name: str = "") -> None:
        place = ", ".join([*([name] if name else []), *([f"line {line}"] if line else [])])
        super().__init__(plain(f"{place}: {problem}; {remedy}" if place else f"{problem}; {remedy}").replace("\n", " "))


class UnknownTextError(ReadError):
    """A text of no kind that has a reader."""


def short(value: object) -> str:
    """A value from outside, cut to what a message can repeat."""
    text = plain(str(value)).replace("\n", " ")
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "\N{HORIZONTAL ELLIPSIS}"


@dataclass(frozen=True)
class Understood:
    """One thing that was understood, in our units; `line` is 0 for what the whole says."""

    what: str
    value: str
    line: int = 0


@dataclass(frozen=True)
class Left:
    """One thing that was left out, and why; `line` is 0 for what has no line."""

    what: str
    why: str
    line: int = 0


@dataclass(frozen=True)
class Next:
    """A command that uses what was read, and what it does with it. `FILE` stands for what the user gave."""

    command: str
    why: str


@dataclass(frozen=True)
class Written:
    """What `--write` writes: the text in a form that a scenario takes, and what this form is."""

    what: str
    text: Callable[[], str]


@dataclass(frozen=True)
class Reading:
    """What a text says.

    `data` is what other rooms work with: each kind says in its module which type it has. `written` makes the form that
    a scenario takes; None where there is no such form.
    """

    kind: str
    title: str
    understood: tuple[Understood, ...]
    left: tuple[Left, ...] = ()
    next: tuple[Next, ...] = ()
    data: Any = None
    written: Written | None = None

    def as_dict(self) -> dict[str, Any]:
        """For `--json`; the values of `data` are in what `understood` says, and in what `--write` writes."""
        return {
            "kind": self.kind,
            "title": self.title,
            "understood": [{"what": u.what, "value": u.value, "line": u.line or None} for u in self.understood],
            "left_out": [{"what": x.what, "why": x.why, "line": x.line or None} for x in self.left],
            "next": [{"command": n.command, "why": n.why} for n in self.next],
        }


@dataclass
class Notes:
    """What a reader collects as it goes through a text. Equal remarks on many lines become one, with their number."""

    understood: list[Understood] = field(default_factory=list)
    _left: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def say(self, what: str, value: str, line: int = 0) -> None:
        self.understood.append(Understood(what, plain(value), line))

    def leave(self, what: str, why: str, line: int = 0) -> None:
        """`what` is left out because of `why`."""
        lines = self._left.setdefault((short(what), why), [])
        lines.append(line)

    @property
    def left(self) -> tuple[Left, ...]:
        made = []
        for (what, why), lines in self._left.items():
            more = f" ({len(lines)} lines, the first is this)" if len(lines) > 1 else ""
            made.append(Left(what, why + more, lines[0]))
        return tuple(made)
