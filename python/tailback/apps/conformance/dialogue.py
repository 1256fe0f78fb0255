"""A dialogue as data: the parsed steps, and the values of their expressions.

The language and its parser are in `tailback_transport::dialogues::steps`. Times count from the end of the handshake.
Steps that need both ends of a connection, such as `B write 3`, are played only by the tests of that crate.
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
    """A step with a syntax error."""


class NoState(DialogueError):
    """A step reads a state that the subject does not show."""

    def __init__(self, name: str, known: str) -> None:
        super().__init__(f"there is no state {name!r}; there are {known}")
        self.name = name


@dataclass(frozen=True)
class Turn:
    """One step of a dialogue: its action `what`, and the arguments of the action."""

    at_ns: int
    #: The line number of the step, and its text.
    number: int
    text: str
    what: str
    #: Numbers of segments; empty means no segment.
    segments: tuple[int, ...] = ()
    #: The comparison of segments, or how often they are lost; or the flags of an acknowledgement.
    words: tuple[str, ...] = ()
    reports: tuple[tuple[int, int], ...] = ()
    #: The number of segments; the bytes of a write, an acknowledgement or a segment.
    count: int | None = None
    #: The advertised window of an acknowledgement, B.
    window: int | None = None
    #: The segment whose timestamp an acknowledgement echoes; None means the first segment that it newly covers.
    of: int | None = None
    time_ns: int = 0
    name: str = ""
    left: Sum = ()
    value: Sum = ()
    tolerance: Sum = ()
    #: For a path: the time of a segment on its line in ns, buffer, bucket, grid in ns, and the lost segments.
    way: tuple[int, int | None, int | None, int, int] = (0, None, None, 0, 0)
    #: The time after the step before; None means at `at_ns`.
    after_ns: int | None = None


def parse(text: str) -> list[Turn]:
    """The steps of a dialogue. Raises DialogueError with the line number and the remedy."""
    try:
        return [Turn(**step) for step in _core.read_dialogue(text)]
    except _core.DialogueFault as e:
        line, word, fault = e.args
        line_text = text.splitlines()[line - 1].strip() if text.strip() else ""
        raise DialogueError(f"step {line}, {line_text!r}: " + (f"{word!r}: {fault}" if word else fault)) from None


def evaluate(value: Sum, of: Callable[[str], float]) -> float:
    """The value of a sum. Times are in seconds; `of` gives the value of a name."""
    total = 0.0
    for product in value:
        factor = 1.0
        for term in product:
            factor *= of(term) if isinstance(term, str) else term
        total += factor
    return total
