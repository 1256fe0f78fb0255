"""The words and values of the kinds of `tc` that hold other queues or shape to a rate: `tbf`, `htb` and its classes,
and `prio`. `reading.py` reads the kinds that have a row, and `netem.py` reads `netem`.

Words and values are those of tc-tbf(8), tc-htb(8) and tc-prio(8). Here rates are in bits a second, sizes in bytes, and
times in seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from tailback.linux import units
from tailback.linux.units import TcError

#: The `mtu` of `htb`, in bytes. The default bucket is this plus the bytes that the rate sends in one tick (tc-htb(8)).
HTB_MTU = 1600
#: The default quantum of a class of `htb` is its rate divided by this.
R2Q = 10
#: Places in the table of priorities of `prio`.
PRIORITIES = 16
#: The default bands by the priority of a packet. A packet without a priority goes to the second band.
PRIOMAP = (1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1)


class Word(NamedTuple):
    """A word, the kind of its value, and the word's other names."""

    name: str
    value: str
    also: tuple[str, ...] = ()


_LINE = (Word("mpu", "u16"), Word("overhead", "u16"), Word("linklayer", "layer"))
_QDISC = (
    Word("default", "minor"),
    Word("r2q", "whole"),
    Word("direct_qlen", "whole"),
    Word("debug", "whole"),
    Word("offload", "flag"),
    Word("direct_packets_stat", "whole"),
)
_CLASS = (
    Word("rate", "rate"),
    Word("ceil", "rate"),
    Word("burst", "bucket", ("buffer", "maxburst")),
    Word("cburst", "bucket", ("cbuffer", "cmaxburst")),
    Word("prio", "whole"),
    # Numbers without a unit, as tc reads them.
    Word("quantum", "whole"),
    Word("mtu", "whole"),
    *_LINE,
)
_TBF = (
    Word("rate", "rate"),
    Word("burst", "bucket", ("buffer", "maxburst")),
    Word("limit", "size"),
    Word("latency", "time", ("lat",)),
    Word("peakrate", "rate"),
    Word("mtu", "bucket", ("minburst",)),
    *_LINE,
)
_PRIO = (Word("bands", "whole"), Word("priomap", "map"), Word("multiqueue", "flag"))
#: The words of each kind of qdisc.
WORDS: Mapping[str, tuple[Word, ...]] = {
    kind: words
    for kinds, words in (("htb ", _QDISC), ("tbf ", _TBF), ("prio pfifo_fast ", _PRIO))
    for kind in kinds.split()
}
CLASS_WORDS: Mapping[str, tuple[Word, ...]] = {kind: _CLASS for kind, words in WORDS.items() if words is _QDISC}

#: Kinds that are not read, each with the remedy.
_REFUSED = """
fq: it paces packets of this host, and the simulator's senders pace their packets themselves; leave it out
gred: its virtual queues have no words here; the nearest are in `tailback describe wred` and `redn`
hfsc: its service curves have no counterpart; a class of htb with the rate of its upper curve (ul) is the nearest
mqprio: its queues are those of a network card; give the line of the queue that you mean
taprio: its schedule of gates has no counterpart; leave it out
etf: its times to send, which a program gives, have no counterpart; leave it out
cbs: its credits have no counterpart; a class of htb with its idleslope is the nearest
ets: its bands with quanta are a port made of pieces; see `tailback describe wdrr`
drr: filters choose its classes; the simulator's own DRR is in `tailback describe wdrr`
qfq: filters choose its classes; the nearest is in `tailback describe wf2q-plus`
cbq: Linux has no such discipline since 6.4; a class of htb with its rate is the nearest
sfb: the simulator has it with Linux's defaults; give --queue '{ kind = "sfb", profile = "linux" }'
hhf: it has no counterpart; fq_codel is the nearest
multiq: its bands are queues of a network card; give the line of the band that you mean
skbprio: it has no counterpart; prio is the nearest
plug: it holds packets until a command releases them, which has no counterpart; leave it out
dsmark: Linux has no such discipline since 6.4; leave it out
atm: Linux has no such discipline since 6.4; leave it out
"""
REFUSED: Mapping[str, str] = dict(line.split(": ", 1) for line in _REFUSED.strip().split("\n"))


def values(kind: str, words: Sequence[str], known: Sequence[Word]) -> dict[str, Any]:
    """The values of the words, by name. Raises `TcError`."""
    names = {name: word for word in known for name in (word.name, *word.also)}
    by_name: dict[str, Any] = {}
    words_left = list(words)
    while words_left:
        text = words_left.pop(0)
        if text not in names:
            nearest = get_close_matches(text, names, 1)
            hint = f"did you mean {nearest[0]!r}?" if nearest else f"there are {', '.join(names)}"
            raise TcError(f"{kind}: tc has no word {text!r} here; {hint}")
        word = names[text]
        if word.value == "flag":
            by_name[word.name] = True
            continue
        if word.value == "map":
            priorities: list[int] = []
            while words_left and units.is_whole(words_left[0]) and len(priorities) < PRIORITIES:
                priorities.append(_whole(kind, word.name, words_left.pop(0)))
            by_name[word.name] = [*priorities, *PRIOMAP[len(priorities) :]]
            continue
        if not words_left:
            raise TcError(f"{kind}: {text} has no value; give one after it")
        by_name[word.name] = _value(kind, word, words_left.pop(0))
    return by_name


def _value(kind: str, word: Word, text: str) -> Any:
    match word.value:
        case "rate":
            return units.rate(text)
        case "size":
            return units.size(text)
        case "bucket":
            # The cell size of the kernel's rate table may follow; kernels since 3.9 ignore it.
            return units.size(text.partition("/")[0])
        case "time":
            return units.time(text)
        case "minor":
            return _minor(kind, text)
        case "layer":
            if text.lower() not in ("ethernet", "atm", "adsl"):
                raise TcError(f"{kind}: linklayer {text}: tc knows ethernet, atm and adsl")
            return "ethernet" if text.lower() == "ethernet" else "atm"
        case "u16":
            number = int(text) if units.is_whole(text) else units.size(text)
            if number > 0xFFFF:
                raise TcError(f"{kind}: {word.name} {text}: give at most 65535")
            return number
    return _whole(kind, word.name, text)


def _minor(kind: str, text: str) -> int:
    """The class of packets that no filter matches. `tc` reads it as a hexadecimal number."""
    try:
        return int(text.partition(":")[2] or text.rstrip(":"), 16)
    except ValueError as e:
        raise TcError(f"{kind}: default {text}: give the part of a class after the colon, such as 10") from e


def _whole(kind: str, name: str, text: str) -> int:
    if not units.is_whole(text):
        raise TcError(f"{kind}: {name} {text[:40]}: give a whole number")
    return int(text)


def latency_limit(found: Mapping[str, Any]) -> int | None:
    """The limit of `tbf` in bytes: the given limit, or the bytes that its rate sends in `latency` plus the bucket
    (tc-tbf(8)). With a peak rate it is the smaller of the limits for both rates."""
    if "limit" in found:
        return int(found["limit"])
    if "latency" not in found or "rate" not in found:
        return None
    us = round(found["latency"] * 1e6, 3)
    of_rate = found["rate"] / 8 * us / 1e6 + found.get("burst", 0)
    if "peakrate" in found:
        of_rate = min(of_rate, found["peakrate"] / 8 * us / 1e6 + found.get("mtu", 0))
    return int(of_rate)
