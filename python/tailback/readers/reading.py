"""The contract of a reader. A `Reading` lists the parts that were understood, in our units, and the parts that were
left out, with the reasons.

A reader is a module with two functions. `recognises(given)` decides from the content alone whether the text is of its
kind, and never raises. `read(given)` returns a `Reading` or raises `ReadError`. Every assumption is listed among the
understood parts, with the word "assumed". A reading contains no addresses and no names of persons or machines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tailback.core.text.plain import plain

#: The most characters of a value that a message repeats.
SHOWN = 60


class ReadError(ValueError):
    """An error in a text of a known kind. One line gives the place, the value and the remedy."""

    def __init__(self, problem: str, remedy: str, line: int = 0, name: str = "") -> None:
        place = ", ".join([*([name] if name else []), *([f"line {line}"] if line else [])])
        super().__init__(plain(f"{place}: {problem}; {remedy}" if place else f"{problem}; {remedy}").replace("\n", " "))


class UnknownTextError(ReadError):
    """A text for which there is no reader."""


def short(value: object) -> str:
    """A value from the input, cut to the length that a message can repeat."""
    text = plain(str(value)).replace("\n", " ")
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "\N{HORIZONTAL ELLIPSIS}"


@dataclass(frozen=True)
class Understood:
    """One thing that was understood, in our units. `line` is 0 if it comes from the whole text."""

    what: str
    value: str
    line: int = 0


@dataclass(frozen=True)
class Left:
    """One thing that was left out, and why. `line` is 0 if it has no line."""

    what: str
    why: str
    line: int = 0


@dataclass(frozen=True)
class Next:
    """A command that uses the reading, and what the command does. `FILE` stands for the user's file."""

    command: str
    why: str


@dataclass(frozen=True)
class Written:
    """The output of `--write`: the text in a form that a scenario takes, and the name of this form."""

    what: str
    text: Callable[[], str]


@dataclass(frozen=True)
class Reading:
    """The content of a text.

    `data` is for other packages; the module of each kind defines its type. `written` makes the form that a scenario
    takes; it is None if there is no such form.
    """

    kind: str
    title: str
    understood: tuple[Understood, ...]
    left: tuple[Left, ...] = ()
    next: tuple[Next, ...] = ()
    data: Any = None
    written: Written | None = None

    def as_dict(self) -> dict[str, Any]:
        """The document for `--json`. The values of `data` appear in `understood`, and in the output of `--write`."""
        return {
            "kind": self.kind,
            "title": self.title,
            "understood": [{"what": u.what, "value": u.value, "line": u.line or None} for u in self.understood],
            "left_out": [{"what": x.what, "why": x.why, "line": x.line or None} for x in self.left],
            "next": [{"command": n.command, "why": n.why} for n in self.next],
        }


@dataclass
class Notes:
    """The remarks that a reader collects. Equal remarks on many lines become one, with the number of lines."""

    understood: list[Understood] = field(default_factory=list)
    _left: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def say(self, what: str, value: str, line: int = 0) -> None:
        self.understood.append(Understood(what, plain(value), line))

    def leave(self, what: str, why: str, line: int = 0) -> None:
        """Notes that `what` is left out because of `why`."""
        lines = self._left.setdefault((short(what), why), [])
        lines.append(line)

    @property
    def left(self) -> tuple[Left, ...]:
        omissions = []
        for (subject, reason), lines in self._left.items():
            more_text = f" ({len(lines)} lines; this is the first)" if len(lines) > 1 else ""
            omissions.append(Left(subject, reason + more_text, lines[0]))
        return tuple(omissions)
