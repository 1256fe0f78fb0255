"""Rates, sizes and times as `tc` reads and writes them: tc(8), parameters.

These units differ from those of a scenario. `kbps` and `mbps` are bytes a second; `kbit`, `mbit` and a rate without a
unit are bits a second. In a size, `k`, `m` and `g` are powers of 1024, also before `bit`. A time without a unit is in
microseconds. Upper and lower case mean the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType


class TcError(ValueError):
    """A word or a value that `tc` refuses, or that has no counterpart here. The message has the word and says what to
    write instead."""


def _powers(unit: str, one: float, letters: str, base: int, between: str = "") -> dict[str, float]:
    return {f"{letter}{between}{unit}": one * base**i for i, letter in enumerate(letters, 1)}


#: Bits a second. With an `i` in it, a power of 1024.
RATES: Mapping[str, float] = MappingProxyType(
    {
        "": 1.0,
        "bit": 1.0,
        "bps": 8.0,
        **_powers("bit", 1, "kmgt", 1000),
        **_powers("bit", 1, "kmgt", 1024, "i"),
        **_powers("bps", 8, "kmgt", 1000),
        **_powers("bps", 8, "kmgt", 1024, "i"),
    }
)
#: Bytes.
SIZES: Mapping[str, float] = MappingProxyType(
    {
        "": 1.0,
        "b": 1.0,
        **_powers("", 1, "kmg", 1024),
        **_powers("b", 1, "kmg", 1024),
        **_powers("bit", 1 / 8, "kmg", 1024),
    }
)
#: Seconds.
TIMES: Mapping[str, float] = MappingProxyType(
    {
        "": 1e-6,
        **dict.fromkeys(("us", "usec", "usecs"), 1e-6),
        **dict.fromkeys(("ms", "msec", "msecs"), 1e-3),
        **dict.fromkeys(("s", "sec", "secs"), 1.0),
    }
)

#: The largest rate of the simulator, and the kernel's largest size and time in microseconds (32 bits).
MOST_RATE, MOST_SIZE, MOST_TIME = 1e14, 2.0**32 - 1, (2.0**32 - 1) * 1e-6

#: Digits of a whole number.
MOST_DIGITS = 15

_NUMBER = re.compile(r"(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)([a-z]*)", re.IGNORECASE)


def rate(text: str) -> float:
    """Bits a second."""
    return _read(text, RATES, "rate", "19mbit", (MOST_RATE, "100tbit"))


def size(text: str) -> int:
    """Bytes."""
    return int(_read(text, SIZES, "size", "32mb", (MOST_SIZE, "4294967295")))


def time(text: str) -> float:
    """Seconds."""
    return _read(text, TIMES, "time", "5ms", (MOST_TIME, "4294s"))


def _read(text: str, units: Mapping[str, float], what: str, like: str, most: tuple[float, str]) -> float:
    match = _NUMBER.fullmatch(text)
    factor = units.get(match[2].lower()) if match else None
    if match is None or factor is None:
        unit_names = ", ".join(unit for unit in units if unit)
        raise TcError(f"{text[:40]!r} is no {what} of tc; write one such as {like}, in {unit_names}")
    amount = float(match[1]) * factor
    if amount > most[0]:
        raise TcError(f"{text[:40]!r} is too large; give a {what} of at most {most[1]}")
    return amount


def is_whole(text: str) -> bool:
    """Whether a text is a whole number with no more digits than a field of the kernel has."""
    return text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS


def rate_text(bits_per_s: float) -> str:
    """A rate in whole bits a second, written in the largest unit that keeps the number whole."""
    bits = round(bits_per_s)
    return _largest(bits, ((10**9, "gbit"), (10**6, "mbit"), (10**3, "kbit"), (1, "bit")))


def scenario_rate(bits_per_s: float) -> str:
    """A rate as a scenario writes it: `18Mbps` where `tc` writes `18mbit`."""
    return _largest(max(1, round(bits_per_s)), ((10**9, "Gbps"), (10**6, "Mbps"), (10**3, "kbps"), (1, "bps")))


def kbit_text(bits_per_s: float) -> str:
    """A rate in whole kilobits a second, rounded down."""
    return f"{kbit(bits_per_s)}kbit"


def kbit(bits_per_s: float) -> int:
    return max(1, int(bits_per_s / 1e3 + 1e-9))


def time_text(seconds: float) -> str:
    """A time in whole milliseconds if it has such a value, else in whole microseconds, at least one."""
    return _largest(max(1, round(seconds * 1e6)), ((1000, "ms"), (1, "us")))


def _largest(n: int, units: tuple[tuple[int, str], ...]) -> str:
    return next(f"{n // factor}{unit}" for factor, unit in units if n % factor == 0)
