"""An expression over the runs of a plan: a value for each run, and their means and intervals by point.

Columns are read one row group at a time, so memory does not grow with the other data of a run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailback import _core
from tailback.core import stats
from tailback.core.results import expression
from tailback.core.results.columns import averaged
from tailback.core.results.expression import (
    BEGINS,
    FUNCTIONS,
    OVER_TIME,
    Applied,
    ColumnRows,
    ExpressionError,
    Node,
    combine,
)
from tailback.core.results.means import ABSENT_IS_ZERO, PLAN, labels_of
from tailback.core.results.reading import declared, pieces
from tailback.core.text import given

#: The labels that name a point or a row.
Name = tuple[str, ...]


@dataclass(frozen=True)
class PlanRuns:
    """The finished runs of results, by their positions in the plan."""

    labels: list[str]
    #: The value of each run, by label.
    values: dict[str, np.ndarray]
    seed: np.ndarray
    #: Whether a run counts: it is finished, and has the requested labels.
    counted: np.ndarray

    def __len__(self) -> int:
        return len(self.seed)

    @staticmethod
    def of(results: Any, where: Mapping[str, str]) -> PlanRuns:
        """The runs that have the labels of `where`; its other keys are for columns."""
        table = results.runs
        labels = labels_of(table)
        label_values = {n: np.asarray([str(x) for x in table.to_list(n)], object) for n in labels}
        is_counted = np.asarray(table["status"] == "done", bool)
        for key, wanted_label in where.items():
            if key in label_values:
                is_match = label_values[key] == str(wanted_label)
                if not is_match.any():
                    raise ExpressionError(missing(key, str(wanted_label), label_values[key]))
                is_counted &= is_match
        return PlanRuns(labels, label_values, np.asarray(table["seed"]), is_counted)


@dataclass(frozen=True)
class ByRun:
    """The results: for each row one value a run. A row is a link or a group; an expression of several rows has one row
    without a name."""

    runs: PlanRuns
    rows: dict[Name, np.ndarray]
    title: str
    unit: str
    signed: bool = False

    def values(self) -> np.ndarray:
        """The values of all runs that count."""
        counted_values = [v[self.runs.counted] for v in self.rows.values()]
        return np.concatenate(counted_values) if counted_values else np.empty(0)

    def points(self, labels: Sequence[str]) -> dict[tuple[Name, Name], tuple[float, float, int]]:
        """Mean, half of the 95 % interval and the number of runs by row and by the values of these labels."""
        points: dict[tuple[Name, Name], tuple[float, float, int]] = {}
        for name, code in self.named(labels):
            for row, v in self.rows.items():
                finite = v[code]
                finite = finite[np.isfinite(finite)]
                if len(finite):
                    points[row, name] = spread_of(finite)
        return points

    def named(self, labels: Sequence[str]) -> list[tuple[Name, np.ndarray]]:
        """The counted runs of each point, by the values of these labels, in the order of the plan."""
        runs = self.runs
        counted_runs = np.flatnonzero(runs.counted)
        runs_of: dict[Name, list[int]] = {}
        columns = [runs.values[n] for n in labels]
        for i in counted_runs:
            runs_of.setdefault(tuple(c[i] for c in columns), []).append(int(i))
        return [(name, np.asarray(mine)) for name, mine in runs_of.items()]

    def against(self, axis: str, label: str) -> ByRun:
        """Each value divided by the value of the run that has `label` on `axis` and the same seed and other labels."""
        runs = self.runs
        if axis not in runs.labels:
            raise ExpressionError(f'there is no axis "{axis}"; axes are {", ".join(runs.labels) or "none"}')
        if label not in set(runs.values[axis]):
            raise ExpressionError(missing(axis, label, runs.values[axis]))
        other_labels = [runs.values[n] for n in runs.labels if n != axis]
        places = [(*(c[i] for c in other_labels), int(runs.seed[i])) for i in range(len(runs))]
        base = {places[i]: i for i in np.flatnonzero(runs.values[axis] == label)}
        paired_rows = np.asarray([base.get(p, -1) for p in places])
        rows = {n: np.where(paired_rows >= 0, combine("/", v, v[paired_rows]), np.nan) for n, v in self.rows.items()}
        return ByRun(runs, rows, f"{self.title}, over that of {axis} {label}", "", self.signed)


def spread_of(values: np.ndarray) -> tuple[float, float, int]:
    """The mean, half of the 95 % interval (NaN for one value), and the number of values."""
    n = len(values)
    if n < 2:
        return float(values.mean()) if n else math.nan, math.nan, n
    sd = 0.0 if values.min() == values.max() else float(values.std(ddof=1))
    return float(values.mean()), stats.t_quantile(0.975, n - 1) * sd / math.sqrt(n), n


#: A Python function that computes a number from the tables of one run.
Metric = Callable[[Any], float]


class OneRun:
    """The tables of one run of results, as attributes: `run.flows`, `run.links`."""

    def __init__(self, results: Any, run: int) -> None:
        self._results, self._run = results, run

    def __getattr__(self, name: str) -> Any:
        if name not in _core.TABLES:
            raise AttributeError(f"a run has no table {name}; tables are {', '.join(_core.TABLES)}")
        return getattr(self._results, name).where(run=self._run)


def computed(results: Any, metric: Metric, where: Mapping[str, str] | None = None) -> ByRun:
    """Applies the user's function to each run, which is passed as an object with tables. The function's name is the
    title, and its attribute `unit` the unit, if it has them."""
    runs = PlanRuns.of(results, where or {})
    run_values = np.full(len(runs), math.nan)
    for i in np.flatnonzero(runs.counted):
        run_values[i] = float(metric(OneRun(results, int(i))))
    title = str(getattr(metric, "__name__", type(metric).__name__)).replace("_", " ")
    return ByRun(runs, {(): run_values}, title, str(getattr(metric, "unit", "")), bool((run_values < 0).any()))


def measure(results: Any, text: str | Metric, where: Mapping[str, str] | None = None) -> ByRun:
    """Computes an expression, or a user's function, for each run. `where` chooses runs by label, and rows by column.

    >>> from tailback.core.results.measured import measure
    >>> net = tb.dumbbell(flows=2, bottleneck="10Mbps", rtt="40ms", queue="codel")
    >>> m = measure(net.run(duration="2s", replications=2), "bulk / total")
    >>> m.title, m.values().tolist()
    ('goodput of bulk / total goodput', [1.0, 1.0])
    """
    where = dict(where or {})
    if callable(text):
        return computed(results, text, where)
    if not isinstance(text, str):
        raise ValueError(
            f"metric = {given.shown(text)}; give an expression of columns, such as 'links.utilisation[bottleneck]', or "
            "a function of a run"
        )
    node = expression.parse(text)
    runs = PlanRuns.of(results, where)
    units: dict[tuple[str, str], str] = {}
    for leaf in expression.leaves(node):
        units[leaf.table, leaf.column] = _check(results, leaf)
    rest = {k: v for k, v in where.items() if k not in runs.labels}
    rows = _compute(results, node, runs, rest)
    unused_labels = [k for k in rest if not any(k in declared(results, x.table) for x in expression.leaves(node))]
    if unused_labels:
        labels = ", ".join(runs.labels)
        raise ExpressionError(f'there is no "{unused_labels[0]}" to choose by; labels are {labels or "none"}')
    return ByRun(runs, rows, expression.words(node), expression.unit(node, units), expression.is_signed(node))


def _check(results: Any, leaf: ColumnRows) -> str:
    """Checks that a column exists and has numbers, and gives its unit."""
    table = declared(results, leaf.table)
    for column in (leaf.column, *(k for k, _ in leaf.where)):
        if column not in table.columns:
            raise ExpressionError(f'{leaf.table} has no column "{column}"; its columns are {", ".join(table.columns)}')
    if table[leaf.column].dtype == object:
        raise ExpressionError(f"{leaf.table}.{leaf.column} has words, and no numbers to draw")
    return str(table.units[leaf.column])


def _compute(results: Any, node: Node, runs: PlanRuns, where: Mapping[str, str]) -> dict[Name, np.ndarray]:
    n = len(runs)
    if isinstance(node, ColumnRows):
        return _by_row(results, node, runs, where)
    if isinstance(node, float | int):
        return {(): np.full(n, float(node))}
    assert isinstance(node, Applied)
    if node.name in FUNCTIONS:
        inner_node = node.parts[0]
        if not isinstance(inner_node, ColumnRows):
            raise ExpressionError(f"{node.name}() takes the rows of a column, such as {node.name}(flows.goodput_bps)")
        if inner_node.table in OVER_TIME:
            return {(): _over_time(results, node.name, inner_node, where, n)}
        run, x, _ = _read(results, inner_node, where, ())
        return {(): FUNCTIONS[node.name](x, run, n)}
    a, b = (_compute(results, part, runs, where) for part in node.parts)
    if len(a) > 1 and len(b) > 1 and set(a) != set(b):
        raise ExpressionError("the two sides of an operator have different rows; choose one of each: COLUMN[NAME]")
    names = a if len(a) >= len(b) else b
    return {k: combine(node.name, a.get(k, next(iter(a.values()))), b.get(k, next(iter(b.values())))) for k in names}


def _over_time(results: Any, name: str, leaf: ColumnRows, where: Mapping[str, str], n: int) -> np.ndarray:
    """A function over the rows of each interval, then the mean over the intervals of each run."""
    run_numbers, x, begins = _read(results, leaf, where, [BEGINS])
    if not len(x):
        return np.full(n, math.nan)
    pairs = np.column_stack([run_numbers, np.asarray(begins, float).ravel()])
    cells, cell = np.unique(pairs, axis=0, return_inverse=True)
    values = FUNCTIONS[name](x, cell.ravel(), len(cells))
    return FUNCTIONS["mean"](values, cells[:, 0].astype(np.int64), n)


def _by_row(results: Any, leaf: ColumnRows, runs: PlanRuns, where: Mapping[str, str]) -> dict[Name, np.ndarray]:
    """One value for each run, by the names of rows. Values that are the same in all rows are left out of the names."""
    if leaf.table not in averaged():
        raise ExpressionError(
            f"{leaf.text} has many values a run: combine them, such as mean({leaf.text}), or leave "
            "--over out to draw how they are spread"
        )
    keys = [k for k in averaged()[leaf.table] if k not in dict(leaf.where)]
    run_numbers, x, names = _read(results, leaf, where, keys)
    by_name: dict[Name, np.ndarray] = {}
    absent_value = 0.0 if leaf.table in ABSENT_IS_ZERO else math.nan
    for name in dict.fromkeys(names):
        of_name = np.asarray([k == name for k in names], bool) if len(set(names)) > 1 else np.ones(len(x), bool)
        values = np.full(len(runs), absent_value)
        values[run_numbers[of_name]] = x[of_name]
        by_name[name] = values
    if not by_name:
        chosen = ", ".join(f"{k} = {v}" for k, v in (*leaf.where, *where.items()))
        raise ExpressionError(_nothing(results, leaf, where) or f"no row has {chosen or 'a value'} to draw")
    return by_name


def _nothing(results: Any, leaf: ColumnRows, where: Mapping[str, str]) -> str:
    """The reason why no row was chosen: a value that no row has."""
    for key, wanted_label in (*leaf.where, *where.items()):
        labels_there: dict[str, None] = {}
        for piece in pieces(results, leaf.table, [key]):
            labels_there |= dict.fromkeys(map(str, piece.get(key, ())))
        if labels_there and wanted_label not in labels_there:
            return missing(key, wanted_label, list(labels_there))
    return ""


def missing(key: str, wanted: str, there: Sequence[Any] | np.ndarray) -> str:
    """The message for a value that no row has."""
    values = list(dict.fromkeys(map(str, there)))
    ending = f" and {len(values) - 20} more" if len(values) > 20 else ""
    return f"no row has {key} = {wanted}; there are {', '.join(values[:20])}{ending}"


def _read(
    results: Any, leaf: ColumnRows, where: Mapping[str, str], keys: Sequence[str]
) -> tuple[np.ndarray, np.ndarray, list[Name]]:
    """PlanRuns, values and names of the rows of a column that are chosen and have a value."""
    conditions = [*leaf.where, *where.items()]
    columns = ["run", leaf.column, *keys, *(k for k, _ in conditions)]
    runs, value_pieces, names = [], [], []
    for piece in pieces(results, leaf.table, list(dict.fromkeys(columns))):
        x = np.asarray(piece[leaf.column], float)
        kept_rows = np.isfinite(x)
        for key, wanted_label in conditions:
            if key in piece and key not in PLAN:
                cells = piece[key]
                kept_rows &= cells == wanted_label if cells.dtype == object else cells.astype(str) == wanted_label
        runs.append(np.asarray(piece["run"], np.int64)[kept_rows])
        value_pieces.append(x[kept_rows])
        if keys:
            names += list(zip(*(piece[k][kept_rows].tolist() for k in keys), strict=True))
    if not runs:
        return np.empty(0, np.int64), np.empty(0), []
    run, value = np.concatenate(runs), np.concatenate(value_pieces)
    return run, value, names if keys else [()] * len(run)


def all_values(results: Any, text: str, where: Mapping[str, str]) -> tuple[ByRun, dict[Name, np.ndarray]]:
    """The distribution of a column's values over all rows of all runs, by point; for an expression, of its values over
    runs."""
    node = expression.parse(text)
    if not isinstance(node, ColumnRows):
        by_run = measure(results, text, where)
        runs_of_name = by_run.named(by_run.runs.labels)
        return by_run, {name: np.concatenate([v[at] for v in by_run.rows.values()]) for name, at in runs_of_name}
    runs = PlanRuns.of(results, where)
    unit = expression.unit(node, {(node.table, node.column): _check(results, node)})
    row_labels = {k: v for k, v in where.items() if k not in runs.labels}
    for key in row_labels:
        if key not in declared(results, node.table):
            table = declared(results, node.table)
            raise ExpressionError(f'{node.table} has no column "{key}"; its columns are {", ".join(table.columns)}')
    run_numbers, x, _ = _read(results, node, row_labels, ())
    keep = runs.counted[run_numbers]
    run_numbers, x = run_numbers[keep], x[keep]
    if not len(x):
        raise ExpressionError(_nothing(results, node, row_labels) or f"{text} has no numbers to draw")
    point = np.full(len(runs), -1)
    by_run = ByRun(runs, {(): np.full(len(runs), math.nan)}, expression.words(node), unit)
    runs_of_name = by_run.named(runs.labels)
    for i, (_, at) in enumerate(runs_of_name):
        point[at] = i
    point_of_value = point[run_numbers]
    by_point = {name: x[point_of_value == i] for i, (name, _) in enumerate(runs_of_name)}
    return by_run, {name: v for name, v in by_point.items() if len(v)}
