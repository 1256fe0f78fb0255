"""Reads the settings and counters that `tc qdisc show` and `tc class show` print, also with `-s` and `-d`
(`dump_json.py` reads `-j`).

Settings are turned into the words of a command, so that `reading.py` can read them. The formats are those of iproute2
(tc(8), "output"; `print_opt` and `print_xstats` of each kind). In text, the units of a size are powers of 1024 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tailback.linux import law, netem, units
from tailback.linux.classful import WORDS
from tailback.linux.statement import Statement
from tailback.linux.tree import handle
from tailback.linux.units import TcError

_HEAD = re.compile(r"\s*(qdisc|class)\s+([a-z][\w-]{0,15})\s+([0-9a-f]{0,4}:[0-9a-f]{0,4})\s*(.*)", re.IGNORECASE)
_SENT = re.compile(r"Sent (\d+) bytes (\d+) pkts? \((?:dropped|drop) (\d+), overlimits (\d+) requeues (\d+)\)")
_BACKLOG = re.compile(r"backlog (\d+[KMG]?)b? (\d+)p requeues (\d+)")
#: The rest of a first line that was broken: words and numbers only.
_GOES_ON = re.compile(r"[a-z0-9][\w. :/-]*", re.IGNORECASE)
#: Words with a value that are the kernel's bookkeeping and set nothing.
_BOOKS = ("refcnt", "leaf", "level", "ver", "priomap_offload", "offload_index")
#: Words of a first line that are counters.
_COUNTS = ("direct_packets_stat",)
#: Words by which text shows the size table of a class or a shaper.
_TABLE = ("linklayer", "overhead", "mpu", "mtu", "tsize")
#: Words of RED's internal numbers: the exponents of its weight, of its slope and of an idle time.
EXPONENT = "ewma"
_SILENT = (EXPONENT, "Plog", "Scell_log")
#: The mean packet of RED in the manual's example, in bytes. Kinds that count packets have no thresholds in bytes.
MEAN_PACKET = 1000
IN_PACKETS = "choke "
#: Units that only an output has, behind the number of some words.
_ENDINGS = {
    "limit": "p$", "flow_limit": "p$", "perturb": "sec$", "burst": "/.*", "cburst": "/.*", "mtu": "/.*",
    "minburst": "/.*", "mpu": "b$", "flows": "/.*",
}  # fmt: skip
#: The two lines of a shown filter: the class that it chooses, and, on the next line, the bytes that it compares.
_FILTER = re.compile(r"\s*filter\s.*", re.IGNORECASE)
_CHOSEN = re.compile(r"(?:flowid|classid) ([0-9a-f]{0,4}:[0-9a-f]{1,4})", re.IGNORECASE)
_MATCH = re.compile(r"\s*match ([0-9a-f]{8})/([0-9a-f]{8}) at (-?\d+)", re.IGNORECASE)
#: The code point in the first word of a packet: of IPv4 (RFC 791, RFC 2474) and of IPv6 (RFC 8200 section 3).
_CODE_POINTS = {0x00FC0000: 18, 0x0FC00000: 22}
#: A whole number with no more digits than a kernel's counter has.
_NUMBER = re.compile(r"-?\d{1,20}(?:\.\d{1,6})?")
#: The names of cake's tins that are no numbers.
_TIN_NAMES = ("Bulk", "Best Effort", "Video", "Voice")
#: Rows of cake's table.
_TINS = """
thresh target interval pk_delay av_delay sp_delay backlog pkts bytes way_inds way_miss way_cols drops marks ack_drop
sp_flows bk_flows un_flows max_len quantum
""".split()  # noqa: SIM905


@dataclass
class Queue:
    """A shown qdisc or class: its settings and its counters."""

    statement: Statement
    #: Sent bytes and packets, dropped, overlimits, requeues, backlog; and the counters of its kind.
    counters: dict[str, int | float] = field(default_factory=dict)
    #: For each tin of cake: its name and its counters.
    tins: dict[str, dict[str, int | float]] = field(default_factory=dict)


@dataclass
class Filter:
    """A shown filter: its line, the class that it chooses, and the code point that it compares (None if it compares
    something else)."""

    line: int
    chosen: str
    code: int | None = None
    matches: int = 0


# Text


def looks_like(text: str) -> bool:
    """Whether any line of the text is one that `tc ... show` prints."""
    heads = (_HEAD.match(line) for line in text.split("\n", 400)[:400] if len(line) < 1000)
    return any(m is not None for m in heads)


def queues(lines: Sequence[tuple[int, str]]) -> Iterator[Queue | Filter | tuple[int, str]]:
    """The qdiscs, classes and filters of a text, and the other lines with their numbers."""
    open_object: Queue | Filter | None = None
    tins: list[str] = []
    for line_number, line in _joined(lines):
        if (head := _HEAD.match(line)) is not None:
            if open_object is not None:
                yield open_object
            open_object, tins = _queue(line_number, head), []
        elif _FILTER.fullmatch(line):
            if open_object is not None:
                yield open_object
            chosen = _CHOSEN.search(line)
            open_object = Filter(line_number, handle(chosen[1]) if chosen else "")
        elif isinstance(open_object, Filter):
            if (match := _MATCH.match(line)) is not None:
                _looks_at(open_object, match)
        elif line.strip() and (open_object is None or not _counted(open_object, line, tins)):
            yield line_number, line
    if open_object is not None:
        yield open_object


def _looks_at(one: Filter, match: re.Match[str]) -> None:
    """Takes one condition of a filter. A filter chooses by code point only if this is its one condition and compares
    the whole code point."""
    code_bits, mask, offset = int(match[1], 16), int(match[2], 16), int(match[3])
    one.matches += 1
    whole_code_point = one.matches == 1 and offset == 0 and mask in _CODE_POINTS
    one.code = (code_bits & mask) >> _CODE_POINTS[mask] if whole_code_point else None


def _joined(lines: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The lines, with those joined again that a terminal or a mail has broken. A first line continues until a counter,
    a prompt or another first line begins."""
    begun_line: tuple[int, str] | None = None
    for line_number, line in lines:
        line = line[:4000]
        starts = _HEAD.match(line) is not None
        goes_on = not starts and not _FILTER.fullmatch(line) and _GOES_ON.fullmatch(line)
        if begun_line is not None and goes_on and len(begun_line[1]) < 4000:
            begun_line = (begun_line[0], f"{begun_line[1]} {line}")
            continue
        if begun_line is not None:
            yield begun_line
        begun_line = (line_number, line) if starts else None
        if not starts:
            yield line_number, line
    if begun_line is not None:
        yield begun_line


def _queue(line: int, head: re.Match[str]) -> Queue:
    words_after = head[4].split()
    counters = {w: _count(v) for w, v in pairwise(words_after) if w in _COUNTS and _NUMBER.fullmatch(v)}
    return Queue(_shown(line, head, words_after), dict(counters))


def _shown(line: int, head: re.Match[str], rest: list[str]) -> Statement:
    object_name, kind, name = head[1].lower(), head[2], head[3]
    fields: dict[str, Any] = {"parent": "root" if object_name == "qdisc" else "", "stab": {}}
    words: list[str] = []
    while rest:
        word = rest.pop(0)
        if word in ("dev", "parent") and rest:
            fields["device" if word == "dev" else "parent"] = rest.pop(0)
        elif word == "root":
            fields["parent"] = word if object_name == "qdisc" else handle(name.partition(":")[0] + ":")
        elif word in (*_BOOKS, *_COUNTS) and rest:
            rest.pop(0)
        elif set(word) <= set("-") or word.startswith("["):
            continue
        else:
            words.append(word)
    parent = str(fields["parent"])
    if parent.startswith(":"):
        # A child of mq: the kernel does not show its handle.
        parent = f"0{parent}"
    if parent.lower().startswith("ffff:"):
        parent = "ingress"
    words, stab = _as_said(kind, words, object_name)
    return Statement(
        line,
        object_name,
        "add",
        str(fields.get("device", "")),
        handle(parent),
        handle(name),
        kind,
        tuple(words),
        stab,
    )


def _as_said(kind: str, words: Sequence[str], of: str) -> tuple[list[str], dict[str, str]]:
    """The words of an output as a command has them, and its size table."""
    words_left = netem.as_command(words) if kind == "netem" else list(words)
    command_words: list[str] = []
    stab: dict[str, str] = {}
    exponent = ""
    while words_left:
        word = words_left.pop(0)
        if word in _SILENT and words_left:
            word_value = words_left.pop(0)
            exponent = word_value if word == EXPONENT else exponent
        elif (word == "raw" and "overhead" in words_left) or word == "no-sce":
            continue
        elif of == "qdisc" and words_left and (_of_table(kind, word, words_left) or (word in _TABLE and stab)):
            stab[word] = words_left.pop(0)
        elif word in _ENDINGS and words_left:
            command_words += [word, re.sub(_ENDINGS[word], "", words_left.pop(0))]
        else:
            command_words.append("latency" if word == "lat" else word)
    return command_words + needed(kind, command_words, exponent), stab


def _of_table(kind: str, word: str, left: Sequence[str]) -> bool:
    """Whether a size table begins here. The `linklayer` of tbf is no size table; it ends the words of tbf."""
    return word == "tsize" or (word == "linklayer" and (kind not in WORDS or (len(left) > 1 and left[1] in _TABLE)))


def needed(kind: str, said: Sequence[str], exponent: str) -> list[str]:
    """The words that a command of RED needs but no output shows. The mean packet is the manual's (tc-red(8)). If the
    exponent of the weight is shown, a burst is given that yields this exponent."""
    if not {"min", "max"} <= set(said) or "avpkt" in said or kind in WORDS:
        return []
    words = ["avpkt", str(MEAN_PACKET)]
    if units.is_whole(exponent) and 1 <= int(exponent) <= law.MOST_EXPONENT:
        min_size = units.size(said[said.index("min") + 1])
        low = min_size if kind in IN_PACKETS.split() else min_size / MEAN_PACKET
        words += ["burst", str(law.burst(low, 2.0 ** -int(exponent))[0])]
    return words


def _counted(queue: Queue, line: str, tins: list[str]) -> bool:
    """Takes a line of counters; False for any other line."""
    text = line.strip()
    if (match := _SENT.search(text)) is not None:
        names = ("bytes", "packets", "drops", "overlimits", "requeues")
        queue.counters |= dict(zip(names, map(_count, match.groups()), strict=True))
        return True
    if (match := _BACKLOG.search(text)) is not None:
        queue.counters |= {"backlog": _size(match[1]), "qlen": _count(match[2])}
        return True
    column_name, *columns = re.split(r"\s{2,}", text)
    if tins and len(columns) >= 1 and column_name.split()[0] in _TINS:
        tin_values = [v for part in columns for v in part.split()]
        for name, value in zip(tins, tin_values, strict=False):
            queue.tins.setdefault(name, {})[column_name.split()[0]] = _value(value)
        return True
    if columns and all(p in _TIN_NAMES or p.startswith("Tin ") for p in (column_name, *columns)):
        tins[:] = [column_name, *columns]
        return True
    if text.startswith("Tin "):
        tins[:] = re.findall(r"Tin \d+", text)
        return True
    return _pairs(queue, text)


def _pairs(queue: Queue, text: str) -> bool:
    """Reads pairs `name value`, the form in which most kinds print counters."""
    text = text.replace(":", " ").replace(" pkts", "")
    for phrase in ("memory used", "capacity estimate", "drop_next", "average network hdr offset"):
        text = text.replace(phrase, phrase.replace(" ", "_"))
    for phrase in ("min/max network layer size", "min/max overhead-adjusted size"):
        if text.startswith(phrase):
            extremes = [w for w in text.removeprefix(phrase).replace("/", " ").split() if _NUMBER.fullmatch(w)]
            threshold_kind = "network" if "network" in phrase else "adjusted"
            queue.counters |= {
                f"{m}_{threshold_kind}": _value(v) for m, v in zip(("min", "max"), extremes, strict=False)
            }
            return len(extremes) == 2
    words = [w for w in text.split() if w not in ("of", "dropping")]
    pair_count, i = 0, 0
    while i + 1 < len(words):
        name, value = words[i].lower(), _value_or_none(words[i + 1])
        if value is not None and re.fullmatch(r"[a-z_][a-z_]{1,31}", name):
            queue.counters[name] = value
            pair_count, i = pair_count + 1, i + 2
        else:
            i += 1
    return pair_count > 0


def _count(text: str) -> int:
    return int(text[:20])


def _size(text: str) -> int:
    """Bytes, in the units of an output: `K` is 1024 bytes."""
    return units.size(text.lower())


def _value_or_none(text: str) -> int | float | None:
    try:
        return _value(text)
    except TcError:
        return None


def _value(text: str) -> int | float:
    """A number; a size in bytes, a time in seconds, a rate in bits a second."""
    text = text.rstrip(",)")
    if _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    lower_text = text.lower()
    for unit, parse in ((("bit", "bps"), units.rate), (("us", "ms", "s"), units.time)):
        if lower_text.endswith(unit):
            try:
                return parse(lower_text)
            except TcError:
                continue
    return units.size(lower_text)
