"""What a column is called and in which unit it is shown: on the axes of figures, in tables, on pages.

A title is made from the parts of the column's name, so a new column has one. A value is shown with the prefix that
leaves one to three digits before the point: Mb/s, ms, MB; shares in per cent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

#: The stems of columns, without their units, and their words. A stem that is not here is shown with spaces.
_STEMS = {
    "sojourn": "time in the queue",
    "delay": "one-way delay",
    "rtt": "round-trip time",
    "round_trip": "round-trip time",
    "completion": "completion time",
    "loss_rate": "loss",
    "late_rate": "late datagrams",
    "failed_rate": "frames not shown",
    "jain_index": "Jain's index",
    "mean_queue": "mean queue",
    "max_queue": "largest queue",
    "throughput": "throughput",
    "goodput_wire": "goodput of whole packets",
    "burst_goodput_wire": "goodput while a burst is under way",
    "burst_time": "time of a burst",
    "reverse_goodput": "goodput backwards",
    "reverse_delay": "one-way delay backwards",
    "freeze": "length of a freeze",
    "loss_run": "run of losses",
    "bytes_over": "larger than",
    "slowdown": "slowdown",
    "rate": "rate",
}
_UNITS = ("_bps", "_s", "_packets", "_bytes", "_frames")
_ENDINGS = {
    "mean": "mean {}",
    "sd": "{}, standard deviation",
    "sum": "total {}",
    "p50": "median {}",
    "p95": "{}, 95th percentile",
    "p99": "{}, 99th percentile",
    "max": "largest {}",
    "min": "smallest {}",
    "longest": "longest {}",
}
#: Numbers without a unit that are shares of a whole, so that they are shown in per cent.
_SHARES = ("utilisation", "loss_rate", "late_rate", "failed_rate", "wasted")


class UnitShown(NamedTuple):
    """How numbers are shown: they are multiplied by `factor`, and have `unit` ("" for numbers without)."""

    unit: str
    factor: float


def title(column: str) -> str:
    """What a column is called.

    >>> from tailback.results.quantities import title
    >>> title("goodput_bps_sum"), title("sojourn_p99_s"), title("dropped_packets")
    ('total goodput', 'time in the queue, 99th percentile', 'dropped packets')
    """
    name, ending = column, ""
    for unit in _UNITS:
        if name.endswith(unit) and name[: -len(unit)] and not _counted(name, unit):
            name = name[: -len(unit)]
    stem, _, last = name.rpartition("_")
    if stem and last in _ENDINGS:
        name, ending = stem, _ENDINGS[last]
    for unit in _UNITS:
        if name.endswith(unit) and not _counted(name, unit):
            name = name[: -len(unit)]
    words = _STEMS.get(name, name.replace("_", " "))
    return ending.format(words) if ending else words


def _counted(name: str, unit: str) -> bool:
    """Whether the name is of a count: `dropped_packets` are packets, `mean_queue_packets` is a queue in packets."""
    return unit in ("_packets", "_bytes", "_frames") and name[: -len(unit)].rpartition("_")[2] not in (
        "queue",
        "mean",
        "longest",
    )


def unit_of(column: str, unit: str) -> str:
    """The unit of a column: `%` for a share, nothing for a number without a unit."""
    if unit == "1" and (column in _SHARES or column.startswith("limited_")):
        return "%"
    return "" if unit == "1" else unit


_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
#: Short signs of units that have prefixes, and the smallest and the largest.
_SIGNS = {"bit/s": ("b/s", 1.0, 1e12), "B/s": ("B/s", 1.0, 1e12), "s": ("s", 1e-9, 1.0), "bytes": ("B", 1.0, 1e12)}
_SAME = {"bps": "bit/s", "B": "bytes"}


def shown(unit: str, values: Iterable[float]) -> UnitShown:
    """The unit and the factor that these values are shown with; all of one axis have the same.

    >>> from tailback.results.quantities import shown
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
    given = np.abs(np.asarray(list(values) if not isinstance(values, np.ndarray) else values, float)).ravel()
    given = given[np.isfinite(given) & (given > 0)]
    # The largest decides, unless few are as large.
    largest = float(np.quantile(given, 0.95)) if given.size else 1.0
    fitting = [(f, p) for f, p in _PREFIXES if least <= f <= most]
    factor, prefix = next(((f, p) for f, p in fitting if largest >= f * 0.9995), fitting[-1])
    return UnitShown(f"{prefix}{sign}", 1.0 / factor if factor <= 1 else 10.0 ** -round(math.log10(factor)))


def label(words: str, unit: str) -> str:
    """What stands beside an axis: `goodput (Mb/s)`."""
    return f"{words} ({unit})" if unit else words


def axis_titles(sweep: Mapping[str, Any] | None) -> dict[str, str]:
    """What the axes of a sweep are called, by their names, from what its manifest says."""
    axes = (sweep or {}).get("axes", [])
    return {a["name"]: label(a["title"], a["unit"]) for a in axes}


def number(text: str) -> float:
    """The number at the beginning of a label; NaN where there is none."""
    try:
        return float(text.split()[0])
    except (ValueError, IndexError):
        return math.nan
