"""Chooses the unit of numbers on axes and in tables. The prefix leaves one to three digits before the point (Mb/s, ms,
MB); shares are in per cent."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np


class UnitShown(NamedTuple):
    """How numbers are shown: they are multiplied by `factor`, and have `unit` ("" for numbers without)."""

    unit: str
    factor: float


_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
#: Symbols of units that have prefixes, with the smallest and the largest prefix.
_SIGNS = {"bit/s": ("b/s", 1.0, 1e12), "B/s": ("B/s", 1.0, 1e12), "s": ("s", 1e-9, 1.0), "bytes": ("B", 1.0, 1e12)}
_SAME = {"bps": "bit/s", "B": "bytes"}


def shown(unit: str, values: Iterable[float]) -> UnitShown:
    """The unit and the factor of these values; all values of one axis have the same.

    >>> from tailback.core.results.quantities import shown
    >>> shown("bit/s", [2e6, 19.1e6])
    UnitShown(unit='Mb/s', factor=1e-06)
    >>> shown("s", [0.0021]), shown("%", [0.5]), shown("packets", [1e6])
    (UnitShown(unit='ms', factor=1000.0), UnitShown(unit='%', factor=100.0), UnitShown(unit='packets', factor=1.0))
    """
    unit = _SAME.get(unit, unit)
    if unit == "%":
        return UnitShown("%", 100.0)
    if unit not in _SIGNS:
        return UnitShown(unit, 1.0)
    sign, least, most = _SIGNS[unit]
    sizes = np.abs(np.asarray(list(values) if not isinstance(values, np.ndarray) else values, float)).ravel()
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    # The largest value decides, unless only a few values are as large.
    largest = float(np.quantile(sizes, 0.95)) if sizes.size else 1.0
    fitting_prefixes = [(f, p) for f, p in _PREFIXES if least <= f <= most]
    factor, prefix = next(((f, p) for f, p in fitting_prefixes if largest >= f * 0.9995), fitting_prefixes[-1])
    return UnitShown(f"{prefix}{sign}", 1.0 / factor if factor <= 1 else 10.0 ** -round(math.log10(factor)))


def label(words: str, unit: str) -> str:
    """The title of an axis: `goodput (Mb/s)`."""
    return f"{words} ({unit})" if unit else words


def axis_titles(sweep: Mapping[str, Any] | None) -> dict[str, str]:
    """The titles of a sweep's axes by their names, from its manifest."""
    axes = (sweep or {}).get("axes", [])
    return {a["name"]: label(a["title"], a["unit"]) for a in axes}


def number(text: str) -> float:
    """The number at the beginning of a label; NaN if there is none."""
    try:
        return float(text.split()[0])
    except (ValueError, IndexError):
        return math.nan
