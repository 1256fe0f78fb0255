"""The language of dialogues, and the one parser of it: text in, `Turn`s out.

A step is a line: when, and what. The time counts from the end of the handshake, or with `+` from the step before; a
step without a time happens at the time of the step before. Segments have numbers from 1. What follows `#` is for
readers.

    write 20, write forever    the application writes so many segments, or `write 500B` bytes
    < ack 3 sack 5-6,9 ece     an acknowledgement of all up to 3 arrives; so much of the rest is reported
    < ack 2500B win 5          one of so many bytes, with a window of five segments (or `win 500B`)
    < ack 3 of again           it echoes the time stamp of the last copy; `of 5` that of segment 5, `of 5 again`
    > 11-12                    exactly these were sent since the last look; > nothing, > at most 2, > at least 1
    > 11 cwr ect0              and each of them has this: cwr, no-cwr, ect0, ect1, not-ect, or so many bytes: 500B
    > at least 2 cwr-first     and the first of them alone has CWR
    again 5,7                  exactly these of what was sent since the last look had been sent before
    cwnd = 11 +- 0.1           a state: also <, <=, >, >=, and sums and products of numbers and names
    ca_state = Disorder        Open, Disorder, CWR, Recovery, Loss; sacked, lost, retrans, unacked, as in tcp_info
    keep W = cwnd              a name for what a state is now
    path 100ms                 from now on a receiver answers every segment after this round trip; path off
    lose 5,7, lose 5 x2        the next (two) copies do not arrive; lose nothing takes it back
    mark 3-9, mark all         they arrive marked; mark nothing
    late 5 30ms                it arrives so much later
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_UNITS = {"us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_TIME = re.compile(r"(\+?)(\d+(?:\.\d+)?)(us|ms|s)$")
_STATE = re.compile(r"([a-z_]\w*)\s*(<=|>=|=|<|>)\s*(.+?)(?:\s*\+-\s*(.+))?$")
_TERM = re.compile(r"\s*(?:(\d+(?:\.\d+)?)(us|ms|s)?|([A-Za-z_]\w*))\s*")


#: Payload of a full segment, B.
PAYLOAD = 1000
#: The largest number of a segment, or of segments; and the latest time.
MOST_SEGMENTS = 1_000_000
MOST_NS = 100_000 * 1_000_000_000
#: What a segment that is sent may have on it.
MARKS = ("cwr", "no-cwr", "ect0", "ect1", "not-ect")
_FIRST = "cwr-first"


class DialogueError(ValueError):
    """A step that cannot be read."""


class NoState(DialogueError):
    """A step asks for a state that the subject does not show."""

    def __init__(self, name: str, known: str) -> None:
        super().__init__(f"there is no state {name!r}; there are {known}")
        self.name = name


@dataclass(frozen=True)
class Turn:
    """One line of a dialogue: `what` it does, and the words that this needs."""

    at_ns: int
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
    value: str = ""
    tolerance: str = ""


def time_ns(text: str) -> int:
    """A time such as `100ms`, in nanoseconds."""
    said = _TIME.match(text)
    if not said or said[1]:
        raise DialogueError(f"{text!r} is no time; write a number and us, ms or s, such as 100ms")
    return _bounded(text, float(said[2]) * _UNITS[said[3]])


def _bounded(text: str, ns: float) -> int:
    if ns > MOST_NS:
        raise DialogueError(f"{text} is too long; write at most {MOST_NS // 1_000_000_000}s")
    return round(ns)


def parse(text: str) -> list[Turn]:
    """The steps of a dialogue. Raises DialogueError, with the line's number and what to write."""
    steps: list[Turn] = []
    now = 0
    for number, line in enumerate(text.splitlines(), 1):
        said = line.partition("#")[0].strip()
        if not said:
            continue
        try:
            first, _, rest = said.partition(" ")
            when = _TIME.match(first)
            if when:
                at = _bounded(first, float(when[2]) * _UNITS[when[3]] + (now if when[1] else 0))
                if at < now:
                    raise DialogueError(f"{first} is before the step above it; write steps in the order of time")
                now, said = at, rest.strip()
            steps.append(_step(now, number, said))
        except DialogueError as e:
            raise DialogueError(f"step {number}, {line.strip()!r}: {e}") from None
    if not steps:
        raise DialogueError("the dialogue has no steps; write what happens, such as `0ms write 10`")
    return steps


def _step(at: int, number: int, said: str) -> Turn:
    verb, _, rest = said.partition(" ")
    rest = rest.strip()
    if verb in _VERBS:
        return _VERBS[verb](at, number, said, rest)
    state = _STATE.match(said)
    if state:
        _check(state[3])
        _check(state[4] or "0")
        return Turn(
            at, number, said, "state", name=state[1], words=(state[2],), value=state[3], tolerance=state[4] or "0"
        )
    raise DialogueError(f"there is no step {verb!r}; there are {', '.join(_VERBS)}, and states such as cwnd = 10")


def _write(at: int, number: int, said: str, rest: str) -> Turn:
    if rest == "forever":
        return Turn(at, number, said, "write")
    return Turn(at, number, said, "write", count=_bytes(rest))


def _answer(at: int, number: int, said: str, rest: str) -> Turn:
    words = rest.split()
    if len(words) < 2 or words[0] != "ack":
        raise DialogueError("write `< ack N`, and behind it sack A-B, dsack A, ece, win N or `of again`")
    acked, flags, reports, window = _bytes(words[1], 0), [], [], None
    of, copy = None, ""
    rest_words = iter(words[2:])
    for word in rest_words:
        if word in ("sack", "dsack"):
            reports += _ranges(next(rest_words, ""))
        elif word == "of":
            whose = next(rest_words, "")
            if whose.isdecimal():
                of = _whole(whose)
            elif whose in ("again", "first"):
                copy = whose
            else:
                raise DialogueError("write `of first`, `of again` or `of N`: whose time stamp is echoed")
        elif word == "again" and of is not None:
            copy = word
        elif word == "win":
            window = _bytes(next(rest_words, ""), 0)
        elif word in ("ece",):
            flags.append(word)
        else:
            raise DialogueError(f"there is no {word!r} in an acknowledgement; there are sack, dsack, ece, win and of")
    return Turn(
        at, number, said, "answer", words=tuple(flags), reports=tuple(reports), name=copy, count=acked, window=window,
        of=of,
    )  # fmt: skip


def _sends(at: int, number: int, said: str, rest: str) -> Turn:
    for how in ("at most", "at least"):
        if rest.startswith(how):
            number_of, *marks = rest[len(how) :].split() or [""]
            if marks not in ([], [_FIRST]):
                raise DialogueError(f"write `> {how} N`, and behind it {_FIRST} or nothing")
            return Turn(at, number, said, "sends", words=(how, *marks), count=_whole(number_of, 0))
    numbers, *marks = rest.split() or [""]
    sizes = [m for m in marks if _is_bytes(m)]
    marks = [m for m in marks if m not in sizes]
    if wrong := [m for m in marks if m not in MARKS]:
        raise DialogueError(f"a segment has no {wrong[0]!r}; there are {', '.join(MARKS)}, and a size such as 500B")
    size = _bytes(sizes[0]) if sizes else None
    return Turn(at, number, said, "sends", _numbers(numbers), tuple(marks), count=size)


def _again(at: int, number: int, said: str, rest: str) -> Turn:
    return Turn(at, number, said, "again", _numbers(rest))


def _keep(at: int, number: int, said: str, rest: str) -> Turn:
    name, _, value = (part.strip() for part in rest.partition("="))
    if not name.isidentifier() or not value:
        raise DialogueError("write `keep NAME = STATE`")
    _check(value)
    return Turn(at, number, said, "keep", name=name, value=value)


def _path(at: int, number: int, said: str, rest: str) -> Turn:
    return Turn(at, number, said, "path", time_ns=0 if rest == "off" else time_ns(rest))


def _lose(at: int, number: int, said: str, rest: str) -> Turn:
    which, _, times = rest.partition(" x")
    return Turn(at, number, said, "lose", _numbers(which), count=_whole(times) if times else 1)


def _mark(at: int, number: int, said: str, rest: str) -> Turn:
    if rest == "all":
        return Turn(at, number, said, "mark", words=("all",))
    return Turn(at, number, said, "mark", _numbers(rest))


def _late(at: int, number: int, said: str, rest: str) -> Turn:
    which, _, by = rest.partition(" ")
    return Turn(at, number, said, "late", _numbers(which), time_ns=time_ns(by.strip()))


_VERBS: Mapping[str, Callable[[int, int, str, str], Turn]] = {
    "write": _write,
    "<": _answer,
    ">": _sends,
    "again": _again,
    "keep": _keep,
    "path": _path,
    "lose": _lose,
    "mark": _mark,
    "late": _late,
}


def _is_bytes(text: str) -> bool:
    return text.endswith("B") and text[:-1].isdecimal()


def _bytes(text: str, least: int = 1) -> int:
    """Bytes of so many segments, or as `500B` has them."""
    if not _is_bytes(text):
        return _whole(text, least) * PAYLOAD
    if len(text) > 12 or not least <= int(text[:-1]) <= MOST_SEGMENTS * PAYLOAD:
        raise DialogueError(f"{text[:20]}: write {least}B to {MOST_SEGMENTS * PAYLOAD}B")
    return int(text[:-1])


def _whole(text: str, least: int = 1) -> int:
    if not text.isdecimal() or int(text) < least:
        raise DialogueError(f"{text!r} is no number; write a whole number from {least}")
    if len(text) > 20 or int(text) > MOST_SEGMENTS:
        raise DialogueError(f"{text[:20]} is too many; write a whole number up to {MOST_SEGMENTS}")
    return int(text)


def _numbers(text: str) -> tuple[int, ...]:
    """`nothing`, or numbers and ranges such as `1-10,12`."""
    if text == "nothing":
        return ()
    return tuple(n for first, last in _ranges(text) for n in range(first, last + 1))


def _ranges(text: str) -> list[tuple[int, int]]:
    found = []
    for part in text.replace(" ", "").split(","):
        first, _, last = part.partition("-")
        low = _whole(first)
        high = _whole(last) if last else low
        if high < low:
            raise DialogueError(f"{part!r} ends before it begins")
        found.append((low, high))
    return found


def _check(expression: str) -> None:
    """Whether an expression can be read, whatever its names stand for."""
    evaluate(expression, lambda _: 1.0)


def evaluate(expression: str, of: Callable[[str], float]) -> float:
    """A sum of products, such as `0.5 * W + 3`. Times are seconds; `of` gives what a name stands for."""
    total, sign, product, at = 0.0, 1.0, None, 0
    text = expression.strip()
    while True:
        term = _TERM.match(text, at)
        if not term:
            raise DialogueError(f"{expression!r} is no number; write numbers and names with + - * between them")
        value = of(term[3]) if term[3] else float(term[1]) * (_UNITS[term[2]] / 1e9 if term[2] else 1.0)
        product = value if product is None else product * value
        at = term.end()
        operator = text[at : at + 1]
        if operator != "*":
            total, product = total + sign * product, None
            sign = -1.0 if operator == "-" else 1.0
        if not operator:
            return total
        if operator not in "+-*":
            raise DialogueError(f"{expression!r}: there is no {operator!r} here; write + - or *")
        at += 1
