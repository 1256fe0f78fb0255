"""`netem`: delay, loss and their kin on a link, as `tc` says them and as a scenario has them (tc-netem(8))."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tailback.linux import law, units
from tailback.linux.units import TcError

#: Packets that `netem` holds when nothing is said.
LIMIT = 1000
_DISTRIBUTIONS = ("uniform", "normal", "pareto", "paretonormal")


@dataclass
class Netem:
    """What a line says. Shares are of 1."""

    limit: int = LIMIT
    limit_said: bool = False
    delay_s: float = 0.0
    jitter_s: float = 0.0
    delay_correlation: float = 0.0
    distribution: str = ""
    #: Independent losses.
    loss: float = 0.0
    loss_correlation: float = 0.0
    #: Gilbert and Elliott's: to the bad state, to the good one, loss in the bad and in the good one.
    gemodel: tuple[float, float, float, float] | None = None
    #: The model of four states: p13, p31, p32, p23, p14.
    states: tuple[float, ...] = ()
    duplicate: float = 0.0
    duplicate_correlation: float = 0.0
    reorder: float = 0.0
    reorder_correlation: float = 0.0
    gap: int = 0
    corrupt: float = 0.0
    corrupt_correlation: float = 0.0
    ecn: bool = False
    rate_bps: float | None = None
    #: Bytes of a packet's header, of a cell, and of a cell's header.
    overheads: tuple[int, int, int] = (0, 0, 0)
    #: Words that have no counterpart.
    others: list[str] = field(default_factory=list)


class _Words:
    """The words that are left, from the first on."""

    def __init__(self, words: Sequence[str]) -> None:
        self.left = list(words)

    def __bool__(self) -> bool:
        return bool(self.left)

    def next(self, of: str) -> str:
        if not self.left:
            raise TcError(f"netem: {of} has no value; give one behind it")
        return self.left.pop(0)

    def share(self, of: str) -> float:
        return percent(self.next(of), of)

    def more(self, read: Callable[[str], Any]) -> Any:
        """The next word as a value; None where it is none, and stays."""
        if not self.left or (not self.left[0][:1].isdigit() and self.left[0][:1] not in ".-"):
            return None
        value = read(self.left[0])
        self.left.pop(0)
        return value

    def more_share(self, of: str) -> float | None:
        found: float | None = self.more(lambda text: percent(text, of))
        return found


def percent(text: str, of: str) -> float:
    """A share, with or without the sign."""
    try:
        value = float(text.removesuffix("%")) / 100
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise TcError(f"netem: {of} {text}: give a percentage from 0 to 100, such as 1%")
    return value


def parse(words: Sequence[str]) -> Netem:
    """The words behind `netem`. Raises `TcError`."""
    made, left = Netem(), _Words(words)
    while left:
        word = left.next("a word")
        if word in ("delay", "latency"):
            made.delay_s = units.time(left.next(word))
            made.jitter_s = left.more(units.time) or 0.0
            made.delay_correlation = left.more_share(word) or 0.0
        elif word in ("loss", "drop"):
            _loss(made, left, word)
        elif word in ("duplicate", "reorder", "corrupt"):
            setattr(made, word, left.share(word))
            setattr(made, f"{word}_correlation", left.more_share(word) or 0.0)
        elif word == "limit":
            made.limit, made.limit_said = _whole(left.next(word), word), True
        elif word == "gap":
            made.gap = _whole(left.next(word), word)
        elif word == "distribution":
            made.distribution = left.next(word)
        elif word == "ecn":
            made.ecn = True
        elif word == "rate":
            made.rate_bps = units.rate(left.next(word))
            numbers = [left.more(lambda text: int(_number(text, "rate"))) or 0 for _ in range(3)]
            made.overheads = (numbers[0], numbers[1], numbers[2])
        elif word in ("slot", "seed"):
            # A seed draws other packets, and no other share of them.
            made.others += [word] if word == "slot" else []
            while left and (left.left[0][:1].isdigit() or left.left[0] in ("packets", "bytes", *_DISTRIBUTIONS)):
                left.next(word)
        else:
            raise TcError(
                f"netem: tc has no word {word!r} here; there are delay, loss, duplicate, reorder, corrupt, rate, limit"
            )
    if made.reorder and not made.gap:
        # As tc understands it.
        made.gap = 1
    return made


def _loss(made: Netem, left: _Words, word: str) -> None:
    following = left.left[0] if left else ""
    if following == "gemodel":
        left.next(word)
        p = left.share("loss gemodel")
        r = left.more_share("loss gemodel")
        bad, good = left.more_share("loss gemodel"), left.more_share("loss gemodel")
        made.gemodel = (p, 1 - p if r is None else r, 1.0 if bad is None else bad, good or 0.0)
    elif following == "state":
        left.next(word)
        states = [left.share("loss state")]
        while len(states) < 5 and (more := left.more_share("loss state")) is not None:
            states.append(more)
        made.states = tuple(states)
    else:
        if following == "random":
            left.next(word)
        made.loss = left.share(word)
        made.loss_correlation = left.more_share(word) or 0.0


def _whole(text: str, of: str) -> int:
    if not units.is_whole(text):
        raise TcError(f"netem: {of} {text[:40]}: give a whole number")
    return int(text)


def _number(text: str, of: str) -> float:
    try:
        return float(int(text))
    except ValueError as e:
        raise TcError(f"netem: {of} {text}: give a whole number of bytes") from e


def impairments(netem: Netem, leave: Callable[[str, str], None]) -> tuple[float, list[dict[str, Any]]]:
    """The delay of the link, in seconds, and what happens to its packets, as a scenario takes them. `leave` is told of
    what has no counterpart: what it is, and why."""
    for name in ("delay", "loss", "duplicate", "reorder", "corrupt"):
        if share := getattr(netem, f"{name}_correlation"):
            leave(f"{name}'s correlation {100 * share:g}%", "each packet is drawn on its own here")
    for word in netem.others:
        leave(word, "no counterpart here")
    made: list[dict[str, Any]] = []
    delay = netem.delay_s
    if netem.loss:
        action = {"action": "mark"} if netem.ecn else {}
        made.append({"kind": "random", "probability": netem.loss, **action})
    if netem.gemodel is not None:
        to_bad, to_good, bad, good = netem.gemodel
        made.append({"kind": "gilbert", "to_bad": to_bad, "to_good": to_good, "loss_bad": bad, "loss_good": good})
    if netem.states:
        if len(netem.states) <= 2:
            p13 = netem.states[0]
            p31 = netem.states[1] if len(netem.states) == 2 else 1 - p13
            made.append({"kind": "gilbert", "to_bad": p13, "to_good": p31})
        else:
            leave("loss state", "the model of four states has no counterpart; write loss gemodel")
    if netem.corrupt:
        made.append({"kind": "random", "probability": netem.corrupt})
        leave("corrupt", "a packet with a wrong bit is lost here, as the checksum drops it")
    if netem.duplicate:
        made.append({"kind": "duplicate", "probability": netem.duplicate})
    if netem.reorder and delay:
        # That share leaves at once, and the others wait.
        made.append({"kind": "reorder", "probability": 1 - netem.reorder, "delay": law.seconds(delay)})
        delay = 0.0
        if netem.gap > 1:
            leave(f"gap {netem.gap}", "any packet may be reordered here, not each so-manyth")
    elif netem.reorder:
        leave("reorder", "without a delay nothing overtakes")
    if netem.jitter_s:
        if netem.distribution not in ("", "uniform"):
            leave(f"distribution {_shown(netem.distribution)}", "the jitter is drawn evenly here")
        spread = min(netem.jitter_s, delay or netem.jitter_s)
        made.append({"kind": "send-delay", "max": law.seconds(2 * spread)})
        delay = max(delay - spread, 0.0)
        leave("jitter's overtaking", "packets keep their order here")
    return delay, made


def _shown(name: str) -> str:
    return name if name in _DISTRIBUTIONS else "of another name"
