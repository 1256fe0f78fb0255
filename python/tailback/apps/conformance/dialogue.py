"""A dialogue as data: the steps that the parser has read, and the values of their expressions.

The language and its parser are `tailback_transport::dialogues::steps`. Times count from the end of the handshake; what
needs both ends of a connection, such as `B write 3`, is played by the tests of that crate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tailback import _core

#: Payload of a full segment, B.
PAYLOAD = 1000
#: A sum: for each product its sign, and its factors, which are numbers or names.
Sum = Sequence[Sequence[float | str]]


class DialogueError(ValueError):
    """A step that cannot be read."""


class NoState(DialogueError):
    """A step asks for a state that the subject does not show."""

    def __init__(self, name: str, known: str) -> None:
        super().__init__(f"there is no state {name!r}; there are {known}")
        self.name = name


@dataclass(frozen=True)
class Turn:
    """One step of a dialogue: `what` it does, and the words that this needs."""

    at_ns: int
    #: Its line.
    number: int
    text: str
    what: str
    #: Numbers of segments; empty stands for nothing.
    segments: tuple[int, ...] = ()
    #: How segments are compared or how often they are lost; flags of an acknowledgement.
    words: tuple[str, ...] = ()
    reports: tuple[tuple[int, int], ...] = ()
    #: How many segments; bytes of a write, an acknowledgement or a segment.
    count: int | None = None
    #: The advertised window of an acknowledgement, B.
    window: int | None = None
    #: The segment whose time stamp an acknowledgement echoes; None: the first that it covers anew.
    of: int | None = None
    time_ns: int = 0
    name: str = ""
    left: Sum = ()
    value: Sum = ()
    tolerance: Sum = ()
    #: Of a path: ns that its line takes for a segment, room, bucket, grid in ns, and which segments are lost.
    way: tuple[int, int | None, int | None, int, int] = (0, None, None, 0, 0)
    #: So long after the step before; None: at `at_ns`.
    after_ns: int | None = None


def parse(text: str) -> list[Turn]:
    """The steps of a dialogue. Raises DialogueError, with the line's number and what to write."""
    try:
        return [Turn(**step) for step in _core.read_dialogue(text)]
    except _core.DialogueFault as e:
        line, word, what = e.args
        said = text.splitlines()[line - 1].strip() if text.strip() else ""
        raise DialogueError(f"step {line}, {said!r}: " + (f"{word!r}: {what}" if word else what)) from None


def evaluate(value: Sum, of: Callable[[str], float]) -> float:
    """The value of a sum. Times are seconds; `of` gives what a name stands for."""
    total = 0.0
    for product in value:
        factor = 1.0
        for term in product:
            factor *= of(term) if isinstance(term, str) else term
        total += factor
    return total
