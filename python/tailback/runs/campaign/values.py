"""The values of an axis, as files of sweeps and studies write them.

Values are a list, a table of labels and values, or a range:

    [10, 20, 50]                                            # in the unit of the axis
    { small = "20 packets", large = "4 MB" }                # label and value
    { from = 10, to = 100, step = 10 }                      # 10, 20, ... 100
    { from = 1, to = 1000, count = 7, scale = "log" }       # seven values with the same ratio between neighbours
    { from = 1, to = 1000, count = 7, scale = "log", whole = true }     # rounded to whole numbers
"""

from __future__ import annotations

import math
from typing import Any, Literal

from tailback.core.declared import FileError, Table, read_table
from tailback.core.scenario.read import as_toml

#: A list of values, values by label, or a range.
Values = list[Any] | dict[str, Any]
#: The most values of a range.
MOST = 100_000


class AxisKeys(Table, kw_only=True, frozen=True):
    """The keys of every axis."""

    #: The title in figures and tables. The default is the name.
    title: str | None = None
    #: The unit that is written behind each number.
    unit: str = ""
    #: Keys of the scenario that take the value.
    paths: list[str] = []


class CaseKeys(Table, kw_only=True, frozen=True):
    """A combination of labels that stands for itself, and what it sets."""

    labels: dict[str, Any]
    set: list[str] = []


class RangeTable(Table, kw_only=True, frozen=True, rename={"from_": "from"}):
    """{ from = , to = , step = } or { from = , to = , count = , scale = }"""

    from_: int | float
    to: int | float
    step: int | float | None = None
    count: int | None = None
    scale: Literal["linear", "log"] = "linear"
    whole: bool = False


def labelled(given: Values, unit: str, where: str) -> list[tuple[str, str]]:
    """The labels, each with its value as text. `where` is the place in the file, for messages."""
    suffix = f" {unit}" if unit else ""
    if isinstance(given, dict) and _is_range(given):
        given = _range(read_table(RangeTable, given, where), where)
    if isinstance(given, dict):
        return [(k, as_toml(v)) for k, v in given.items()]
    return [(str(v), _text(v, suffix)) for v in given]


def _is_range(given: dict[str, Any]) -> bool:
    """Whether a table is a range, also if a key is missing or misspelt, because no labels have these names."""
    ends, other_keys = given.keys() & {"from", "to"}, given.keys() & {"step", "count", "scale", "whole"}
    return len(ends) == 2 or (bool(ends) and bool(other_keys))


def _text(value: Any, after: str) -> str:
    if isinstance(value, (dict, list, bool)):
        return as_toml(value)
    return f"{value}{after}"


def _range(r: RangeTable, where: str) -> list[int | float]:
    if (r.step is None) == (r.count is None):
        raise FileError(
            f"{where}: a range has either step or count: {{ from = 1, to = 9, step = 2 }}; without them a [design] "
            "chooses the values"
        )
    for key, value in (("from", r.from_), ("to", r.to), ("step", r.step)):
        if value is not None and not math.isfinite(value):
            raise FileError(f"{where}: {key} = {value}; write a number")
    if r.to < r.from_:
        raise FileError(f"{where}: the range goes from {r.from_} to {r.to}; write the smaller number first")
    if r.step is not None:
        if r.scale == "log":
            raise FileError(f'{where}: a range with step is linear; with scale = "log" give count')
        if r.step <= 0 or (r.to - r.from_) / r.step > MOST:
            raise FileError(f"{where}: step = {r.step} makes no range of at most {MOST} values; give a larger one")
        n = math.floor((r.to - r.from_) / r.step + 1e-9)
        numbers: list[float] = [r.from_ + i * r.step for i in range(n + 1)]
    else:
        numbers = _spread(r, r.count or 0, where)
    if r.whole:
        numbers = [round(v) for v in numbers]
    return list(dict.fromkeys(short(v) for v in numbers))


def _spread(r: RangeTable, count: int, where: str) -> list[float]:
    if not 2 <= count <= MOST:
        raise FileError(f"{where}: count = {count}; a range has 2 to {MOST} values")
    if r.scale == "linear":
        return [r.from_ + (r.to - r.from_) * i / (count - 1) for i in range(count)]
    if r.from_ <= 0:
        raise FileError(f'{where}: from = {r.from_}; a range with scale = "log" begins above zero')
    ratio = math.log(r.to / r.from_)
    return [r.from_ * math.exp(ratio * i / (count - 1)) for i in range(count)]


def short(v: float) -> int | float:
    """A number as a label: with six digits, and without a point if it is whole."""
    rounded_value = float(f"{v:.6g}")
    return int(rounded_value) if rounded_value == int(rounded_value) and abs(rounded_value) < 1e15 else rounded_value
