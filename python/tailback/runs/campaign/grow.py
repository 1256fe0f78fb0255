"""Adds seeds to points until their intervals are narrow enough.

The seeds of a point depend only on the results of its earlier seeds. The seeds are therefore the same if the sweep runs
in one part or in many, in any way.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tailback import _core
from tailback.core import stats
from tailback.core.declared import FileError
from tailback.core.results.means import PLAN, finished, labels_of
from tailback.runs.campaign.files import StopTable


def enough(stop: StopTable, values: Sequence[float]) -> bool:
    """Whether the interval of these values is under the bound."""
    e = stats.estimate(values)
    return e.half_width <= stop.bound(e.mean)


def wanted(stop: StopTable, values: Sequence[float]) -> int:
    """The number of seeds that a point should have: the present number, or more.

    A half-width falls with the square root of the number of seeds. At once the number at most doubles, because the
    spread of few seeds is not well known.
    """
    n = len(values)
    if n >= stop.at_most or enough(stop, values):
        return n
    e = stats.estimate(values)
    bound = stop.bound(e.mean)
    need = n * (e.half_width / bound) ** 2 if bound > 0 and not math.isnan(e.half_width) else math.inf
    return min(stop.at_most, max(n + 1, math.ceil(min(need, 2 * n))))


def check(stop: StopTable, scenario: _core.Scenario) -> None:
    """Raises FileError for a metric that no run can have, before the sweep runs. A run of a millisecond is used for
    this, because it has the same links, groups and columns."""
    try:
        short_scenario = _core.load(scenario.toml, "toml", "scenario", ["duration=1ms", "warmup=0s"], True)
        results = _core.Plan([({}, short_scenario)]).execute(None, 1)
    except ValueError:
        # A run of a millisecond is not possible for this scenario, so errors appear with the first seeds.
        return
    if results.failure is None and len(getattr(results, stop.table)):
        Metric(stop, Path()).value(getattr(results, stop.table))


@dataclass(frozen=True)
class PointReached:
    """The state of a point: the interval of the deciding number, and whether it is narrow enough."""

    labels: dict[str, str]
    seeds: int
    mean: float
    half_width: float
    bound: float
    enough: bool


def reached(stop: StopTable, results: Any) -> list[PointReached]:
    """The state of each point of a finished sweep. A point whose interval is too wide has the most seeds that are
    allowed."""
    values_by_point: dict[tuple[str, ...], list[float]] = {}
    names = labels_of(results.runs)
    table_of_stop = getattr(results, stop.table)
    for row in finished(results.runs):
        own_value = Metric(stop, Path()).value(table_of_stop.where(run=row["run"]))
        values_by_point.setdefault(tuple(str(row[n]) for n in names), []).append(own_value)
    states = []
    for labels, v in values_by_point.items():
        e = stats.estimate(v)
        labels_of_point = dict(zip(names, labels, strict=True))
        states.append(PointReached(labels_of_point, len(v), e.mean, e.half_width, stop.bound(e.mean), enough(stop, v)))
    return states


def table(stop: StopTable, points: Sequence[PointReached]) -> list[list[str]]:
    """The rows of a table of these points; the first row has the names of the columns."""
    rows = [[*points[0].labels, "seeds", stop.metric, "+-", "bound", ""]]
    for p in points:
        number_texts = (f"{x:.4g}" for x in (p.mean, p.half_width, p.bound))
        rows.append([*p.labels.values(), str(p.seeds), *number_texts, "" if p.enough else "too wide"])
    return rows


class Metric:
    """Reads the deciding number from stored runs, once for each run."""

    def __init__(self, stop: StopTable, dir: Path) -> None:
        self.stop = stop
        self.dir = dir
        self.known: dict[str, float] = {}

    def read(self, keys: Sequence[str]) -> None:
        """Read the runs that were not read before. A failed run has no number."""
        new_keys = [k for k in keys if k not in self.known]
        if not new_keys:
            return
        store = _core.StoredRuns(self.dir)
        for key in new_keys:
            self.known[key] = self.value(store.table(key, self.stop.table)) if key in store else math.nan

    def value(self, t: Any) -> float:
        """The number in a table of one run."""
        stop, column = self.stop, self.stop.column
        for name in (column, *stop.where):
            if name not in t.columns:
                near = difflib.get_close_matches(name, t.columns, 1)
                hint = f'did you mean "{near[0]}"?' if near else f"columns are {', '.join(t.columns)}"
                raise FileError(f"stop.metric = {stop.metric!r}: the table {t.name} has no column {name!r}; {hint}")
        is_kept = np.ones(len(t), bool)
        for name, label in stop.where.items():
            is_kept &= np.asarray([str(x) == str(label) for x in t.to_list(name)], bool)
        rows = np.flatnonzero(is_kept)
        if len(rows) != 1:
            names = [c for c in t.columns if c not in PLAN and len(t) and isinstance(t[0][c], str)][:3]
            rows_text = "; ".join(
                ", ".join(f"{c} = {t[int(i)][c]}" for c in names) for i in (rows if len(rows) else range(len(t)))[:4]
            )
            raise FileError(
                f"stop.metric = {stop.metric!r} is in {len(rows)} rows of a run"
                + (f" ({rows_text})" if rows_text and len(rows) else f"; there are: {rows_text}" if rows_text else "")
                + '; say which one by stop.where, such as { name = "bottleneck" }'
            )
        own_value = t[int(rows[0])][column]
        if isinstance(own_value, str):
            raise FileError(f"stop.metric = {stop.metric!r} is a text ({own_value!r}); name a column of numbers")
        return float(own_value)
