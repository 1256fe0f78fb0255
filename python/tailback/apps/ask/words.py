"""Words that answers share: quantities with their units, lists in a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tailback.core.results.summary import scale


def quantity(unit: str, value: float, digits: int = 6) -> str:
    """A value with its unit, in so many digits: `50 Mbps`, `40 ms`; a ratio has none."""
    name, show = scale(unit, [value])
    return f"{float(show(value, math.nan).mean):.{digits}g} {'' if unit == '1' else name}".strip()


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def joined(words: Sequence[str], last: str) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}" if words else ""
