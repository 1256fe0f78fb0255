"""Finds the quantity and the unit of a column from its header. All readers use one table of words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Quantity(StrEnum):
    TIME = "time"
    DURATION = "duration"
    RATE = "rate"
    BYTES = "bytes"
    PACKETS = "packets"
    DELAY = "delay"


@dataclass(frozen=True)
class Head:
    """A column: its number, its name, its quantity, and its unit in seconds, bit/s or bytes (0 if the header has no
    unit)."""

    at: int
    name: str
    quantity: Quantity
    factor: float = 0.0


TIMES: Mapping[str, float] = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "msecs", "millis", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "usec", "usecs", "µs", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("ns", "nsec", "nanos", "nanosecond", "nanoseconds"), 1e-9),
    **dict.fromkeys(("min", "minute", "minutes"), 60.0),
}
#: The case of the letter counts: `Mb` is bits, `MB` is bytes. In lower case `b` means bits.
_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "m": 1e6, "G": 1e9, "g": 1e9}
_BITS = re.compile(r"([kKMmGg]?)(?:b|bit|bits|bps|bits_per_second|bit/s|bits/s|b/s|ps)(?:ps)?(?:/s(?:ec)?)?", re.ASCII)
_BYTES = re.compile(r"([kKMmGg]?)(?:B|[Bb]yte|[Bb]ytes|BYTES|B/s|Bps|[Bb]ytes/s)(?:ps)?(?:/s(?:ec)?)?", re.ASCII)
#: The size in bytes of a packet without a given size.
PACKET_BYTES = 1500
_WORDS: Mapping[Quantity, frozenset[str]] = {
    Quantity.DURATION: frozenset({"duration", "interval", "dt", "elapsed"}),
    Quantity.RATE: frozenset(
        [
            "rate",
            "bandwidth",
            "bw",
            "throughput",
            "tput",
            "thr",
            "thrpt",
            "thpt",
            "capacity",
            "bitrate",
            "goodput",
            "speed",
            "dl",
            "ul",
            "download",
            "upload",
            "downlink",
            "uplink",
            "down",
            "up",
            "link",
        ]
    ),
    Quantity.DELAY: frozenset(["delay", "latency", "rtt", "ping", "owd", "lag", "oneway", "roundtrip"]),
    Quantity.PACKETS: frozenset({"packets", "pkts", "packet", "pps", "pkt"}),
    Quantity.BYTES: frozenset({"bytes", "octets", "byte"}),
    Quantity.TIME: frozenset(
        [
            "time",
            "t",
            "timestamp",
            "timestamps",
            "ts",
            "epoch",
            "unix",
            "unixtime",
            "date",
            "datetime",
            "second",
            "seconds",
            "sec",
            "secs",
            "ms",
            "clock",
        ]
    ),
}


def heads(names: Sequence[str]) -> list[Head]:
    """The columns whose headers give their quantity."""
    return [h for h in (_head(at, name) for at, name in enumerate(names)) if h is not None]


def rate_unit(word: str) -> float:
    """The bit/s of one unit such as `Mbps`, `Mb/s`, `kbit/s`, `MB/s` or `bytes`; 0 if it is no unit of a rate."""
    word = word.replace("bits_per_second", "bit/s").replace(" ", "")
    if word.lower() in ("pps", "packets", "packets/s", "pkts", "pkts/s"):
        return PACKET_BYTES * 8.0
    if unit_match := _BYTES.fullmatch(word):
        return 8 * _PREFIXES[unit_match[1]]
    if unit_match := _BITS.fullmatch(word) or _BITS.fullmatch(word.lower()):
        return _PREFIXES[unit_match[1]] if word.lower() not in ("ps", "mps", "kps", "gps") else 0.0
    return 0.0


def _head(at: int, name: str) -> Head | None:
    words = _words(name)
    lower = [w.lower() for w in words]
    lower += [w[:-1] for w in lower if w.endswith("s")]
    for quantity, known_words in _WORDS.items():
        if not known_words & set(lower):
            continue
        match quantity:
            case Quantity.RATE:
                # `download_time` is a time; `rate_limit_id` is not a rate.
                if set(lower) & {"id", "count", "time", "name", "index"}:
                    continue
                return Head(at, name, quantity, next((r for r in map(rate_unit, words) if r), 0.0))
            case Quantity.BYTES:
                return Head(at, name, quantity, 1.0)
            case Quantity.PACKETS:
                return Head(at, name, quantity, 1.0)
            case _:
                return Head(at, name, quantity, next((TIMES[w] for w in lower if w in TIMES), 0.0))
    if len(words) > 2:
        return None
    if rate := next((r for r in map(rate_unit, words) if r), 0.0):
        return Head(at, name, Quantity.RATE, rate)
    # A unit in brackets counts in any language: `Zeit (s)`.
    unit = next((TIMES[w] for w in lower if w in TIMES), 0.0)
    return Head(at, name, Quantity.TIME, unit) if unit else None


def _words(name: str) -> list[str]:
    """The words of a header: `DL_bitrate (kb/s)` gives DL, bitrate, kb/s. `bits_per_second` and `Mb/s` stay whole."""
    name = name.replace("bits_per_second", "bit/s").replace("one-way", "oneway").replace("round trip", "roundtrip")
    name = re.sub(r"(?i)\bper[ _]sec(?:ond)?\b", "/s", name)
    name = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", " ", name)
    return [w for w in re.split(r"[\s_\-()\[\],;:.]+", name) if w]
