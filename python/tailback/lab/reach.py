"""From where to where the slider of a control goes: every place at its ends is a scenario that loads.

The declared range, or as much of it as is near the value. Where values contradict each other, as a warm-up longer than
the duration, the end is pulled in to the last value that loads.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tailback import _core
from tailback.lab.state import LabError, load

#: How far a slider reaches below and above a value, where the declared range is wider.
REACH = 20.0
#: Where a slider without a value begins, in s, bit/s or bytes.
MIDDLE = {"time": 0.01, "rate": 1e7, "bytes": 1500.0}
#: Halvings of the way, on a scale of logarithms, on which the last value that loads is looked for.
HALVINGS = 12

#: How a quantity is read.
READ: Mapping[str, Callable[[str], float]] = {
    "time": _core.parse_time,
    "rate": _core.parse_rate,
    "bytes": _core.parse_bytes,
    "count": float,
    "number": float,
}


def written(number: float, kind: str) -> Any:
    """A number as the page puts it into a scenario, with three digits (`written` in `words.js`)."""
    match kind:
        case "time":
            factor, unit = (1.0, "s") if number >= 1 else (1e3, "ms") if number >= 1e-3 else (1e6, "us")
        case "rate":
            factor, unit = (1e-6, "Mbps") if number >= 1e6 else (1e-3, "kbps")
        case "bytes":
            return f"{round(number)}B"
        case "count":
            return round(number)
        case _:
            return float(f"{number:.3g}")
    return f"{float(f'{number * factor:.3g}'):.15g}{unit}"


def near(number: float | None, least: float | None, most: float | None, kind: str) -> tuple[float, float]:
    """The declared range, or as much of it as is near the value."""
    low, high = least if least is not None else 0.0, most if most is not None else math.inf
    if high <= max(100 * low, 1.0) and kind == "number":
        return low, high
    middle = number or MIDDLE.get(kind, 1.0)
    below, above = middle / REACH, middle * REACH
    if kind == "count":
        below, above = 1.0, max(40.0, 4 * middle)
    return max(low, below), min(high, above)


def pulled_in(document: Mapping[str, Any], control: dict[str, Any], path: Sequence[str]) -> bool:
    """Pull the ends of a slider in until the document loads with the value of each at `path`. False where no value
    loads: what the scenario says elsewhere excludes the parameter."""
    kind, number = control["kind"], control["number"]
    ends = (control["least"], control["most"])
    good = number if number is not None else math.sqrt(max(ends[0], 1e-9) * ends[1])
    if not _loads(document, path, written(good, kind)):
        loading = [end for end in ends if _loads(document, path, written(end, kind))]
        if not loading:
            return False
        good = loading[0]
    for name, end in zip(("least", "most"), ends, strict=True):
        control[name] = _last_that_loads(document, path, kind, good, end)
    return True


def _last_that_loads(document: Mapping[str, Any], path: Sequence[str], kind: str, good: float, end: float) -> float:
    if _loads(document, path, written(end, kind)):
        return end
    bad = end
    for _ in range(HALVINGS):
        between = math.sqrt(good * bad) if good > 0 and bad > 0 else (good + bad) / 2
        value = written(between, kind)
        if _loads(document, path, value):
            good = READ[kind](str(value))
        else:
            bad = between
    return good


def _loads(document: Mapping[str, Any], path: Sequence[str], value: Any) -> bool:
    changed = copy.deepcopy(dict(document))
    table = changed
    for key in path[:-1]:
        if not isinstance(table.get(key), dict):
            table[key] = {"kind": table[key]} if isinstance(table.get(key), str) else {}
        table = table[key]
    table[path[-1]] = value
    try:
        load(changed)
    except (_core.ScenarioError, LabError):
        return False
    return True
