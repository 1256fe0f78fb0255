"""Compares two results: the paired difference of each column over the seeds that both have, with its confidence
interval.

Runs with the same seed had the same random draws, so their paired difference has a far smaller interval than the
difference of two means.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tailback import _core
from tailback.core import stats
from tailback.core.results.columns import averaged
from tailback.core.results.frame import frame
from tailback.core.results.means import ABSENT_IS_ZERO, PLAN, finished, labels_of
from tailback.core.text import given as check
from tailback.core.text.arguments import checked
from tailback.core.text.plain import plain
from tailback.core.text.width import terminal_width


class CompareError(ValueError):
    """Two results that cannot be compared."""


@dataclass(frozen=True)
class Difference:
    """One column of one row of two results: b minus a, over the seeds that both have."""

    table: str
    #: The labels of the row, and the name of its group or link.
    row: str
    column: str
    unit: str
    a: float
    b: float
    difference: float
    #: Half of the 95 % interval of the difference; NaN for one seed.
    ci95: float
    seeds: int

    @property
    def clear(self) -> bool:
        """Whether there is an interval and it excludes zero. If all runs differ by the same amount there is no
        interval. In most such cases nothing in the runs is random."""
        return self.ci95 > 0 and abs(self.difference) > self.ci95

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "clear": self.clear}


class Differences(list[Difference]):
    """Differences; `table` has them as a table, for `to_polars()` and `to_pandas()`, and a notebook shows it."""

    @property
    def table(self) -> _core.Table:
        """One row for each difference: its labels, both means, the difference, half of its 95 % interval, and whether
        zero is excluded."""
        docs = {
            "table": "the table of the column",
            "row": "labels, and the name of the group or link",
            "column": "the column that differs",
            "unit": "its unit",
            "a": "mean of a over the seeds that both have",
            "b": "mean of b",
            "difference": "b minus a",
            "ci95": "half of the 95 % interval of the difference",
            "seeds": "seeds that both have",
            "clear": "1 if the interval excludes zero",
        }
        return frame("differences", [(k, "", doc, [getattr(d, k) for d in self]) for k, doc in docs.items()])

    def to_polars(self) -> Any:
        """A polars data frame."""
        return self.table.to_polars()

    def to_pandas(self) -> Any:
        """A pandas data frame."""
        return self.table.to_pandas()

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


@checked
def compare(a: Any, b: Any, columns: Iterable[str] = ()) -> Differences:
    """The differences between two results (of `run`, `load_result`, `read_results` or a plan), by table, row and
    column.

    Rows are paired by their labels, names and seeds. Columns that are equal in every run are left out, unless `columns`
    has their names.

    >>> net = tb.dumbbell(flows=2, bottleneck="10Mbps", rtt="40ms", queue="droptail")
    >>> a, b = (tb.run(net, duration="2s", overrides=[f"link.bottleneck.rate={r}"]) for r in ("5Mbps", "10Mbps"))
    >>> found = tb.compare(a, b, columns=["utilisation"])
    >>> found[0].table, found[0].column
    ('links', 'utilisation')
    """
    for name, result in (("a", a), ("b", b)):
        if not hasattr(result, "runs"):
            raise CompareError(
                f"{name} = {check.shown(result)} is no result; give two, such as tb.run(...) or tb.read_results(FOLDER)"
            )
    runs_a, runs_b = finished(a.runs), finished(b.runs)
    labels = labels_of(a.runs)
    if labels != labels_of(b.runs):
        raise CompareError(
            f"a varies {', '.join(labels) or 'nothing'}, but b varies {', '.join(labels_of(b.runs)) or 'nothing'}; "
            "compare results of the same axes"
        )
    return _all_tables(a, b, _paired_runs(runs_a, runs_b, labels), list(columns))


def shared_runs(a: Any, b: Any) -> tuple[int, int, int]:
    """The number of runs (with the same labels and seed) that two results have in common, and the number of runs of
    each."""
    runs_a, runs_b = finished(a.runs), finished(b.runs)
    pairs = _paired_runs(runs_a, runs_b, labels_of(a.runs))
    return sum(map(len, pairs.values())), len(runs_a), len(runs_b)


@checked
def compare_points(results: Any, axis: str, against: str, columns: Iterable[str] = ()) -> Differences:
    """The differences between points of one result. Points with the label `against` on an axis are compared with all
    others, paired by their other labels and seeds. A row is named by these labels and by the two that are compared.

    >>> lab = tb.load_scenario(tb.dumbbell(flows=2, bottleneck="10Mbps", rtt="40ms", queue="codel"), ["duration=2s"])
    >>> results = tb.Plan.product(lab, {"link.bottleneck.queue": ["droptail", "codel"]}).execute()
    >>> found = tb.compare_points(results, "link.bottleneck.queue", against="droptail", columns=["goodput_bps_sum"])
    >>> found[0].column
    'goodput_bps_sum'
    """
    runs = finished(check.results("results", results).runs)
    labels = labels_of(results.runs)
    if axis not in labels:
        raise CompareError(
            f"there is no label {axis!r}; " + (f"labels are {', '.join(labels)}" if labels else "the results have none")
        )
    values = list(dict.fromkeys(str(r[axis]) for r in runs))
    if against not in values:
        raise CompareError(f"no point has {axis} = {against}; give one of the labels of {axis}: {', '.join(values)}")

    def place(r: dict[str, Any]) -> tuple[tuple[str, ...], int]:
        return tuple(str(r[n]) for n in labels if n != axis), r["seed"]

    base = {place(r): r["run"] for r in runs if str(r[axis]) == against}
    points: Points = {}
    for r in runs:
        value, point_place = str(r[axis]), place(r)
        if value != against and point_place in base:
            points.setdefault((*point_place[0], f"{value} minus {against}"), []).append((base[point_place], r["run"]))
    return _all_tables(results, results, points, list(columns))


def _all_tables(a: Any, b: Any, points: Points, wanted: list[str]) -> Differences:
    differences = Differences()
    for name, keys in averaged().items():
        differences += _table(getattr(a, name), getattr(b, name), keys, points, wanted)
    missing_columns = [c for c in wanted if c not in {d.column for d in differences}]
    if missing_columns:
        names = sorted({c for n in averaged() for c in getattr(a, n).columns} - {*PLAN})
        raise CompareError(f"there is no column {missing_columns[0]} to compare; the columns are {', '.join(names)}")
    return differences


def text(
    found: Sequence[Difference],
    a: str,
    b: str,
    width: int | None = None,
    *,
    runs: tuple[int, int, int] | None = None,
) -> str:
    """The differences as text for a terminal, one block for each row. `runs` has the number of runs that both have, and
    the number of each."""
    from tailback.core.results.summary import number
    from tailback.core.text.terminal import columns

    width = width or terminal_width()
    is_partial = runs is not None and min(runs) < max(runs)
    common_runs = f"{runs[0]} runs that both have, of {runs[1]} in a and {runs[2]} in b" if runs and is_partial else ""
    if not found:
        sentence = (
            f"the {common_runs}, have the same numbers" if is_partial else "every run of the two has the same numbers"
        )
        return "\n".join(textwrap.wrap(plain(f"a: {a}, b: {b}; {sentence}" if is_partial else sentence), width))
    seeds = sorted({d.seeds for d in found})
    n = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    lines = textwrap.wrap(f"a: {a}, b: {b}; b - a over {n} seed{'' if seeds == [1] else 's'} that both have", width)
    if is_partial:
        lines += textwrap.wrap(f"compared are the {common_runs}", width)
    if seeds[-1] > 1 and not any(d.ci95 > 0 for d in found):
        lines += textwrap.wrap("all replications are equal: nothing is drawn at random, so one run is enough", width)
    elif seeds[-1] > 1:
        lines += textwrap.wrap("± 95 % interval of the paired difference; * if it excludes zero", width)
    else:
        lines += textwrap.wrap("one seed: there is no interval, so a difference may be chance", width)
    for table, row in dict.fromkeys((d.table, d.row) for d in found):
        of_row = [d for d in found if (d.table, d.row) == (table, row)]
        cells = [["", "", "a", "b", "b - a", ""]]
        for d in of_row:
            unit = "" if d.unit == "1" else d.unit
            difference = number(d.difference, d.ci95) if d.ci95 > 0 else number(d.difference)
            cells.append([d.column, unit, number(d.a), number(d.b), difference, "*" if d.clear else ""])
        lines += ["", f"{table}: {row}", *(f"  {line}" for line in columns(cells, right=(2, 3, 4)))]
    return "\n".join(plain(line) for line in lines)


#: Pairs of runs with the same seed, as run numbers in a and b, by the values of the labels.
Points = dict[tuple[str, ...], list[tuple[int, int]]]


def _paired_runs(runs_a: list[dict[str, Any]], runs_b: list[dict[str, Any]], labels: list[str]) -> Points:
    def known(runs: list[dict[str, Any]]) -> dict[tuple[tuple[str, ...], int], int]:
        return {(tuple(str(r[n]) for n in labels), r["seed"]): r["run"] for r in runs}

    of_b = known(runs_b)
    points: Points = {}
    for (point, seed), run in known(runs_a).items():
        if (point, seed) in of_b:
            points.setdefault(point, []).append((run, of_b[point, seed]))
    if not points:
        raise CompareError(
            "no two runs, one of each side, have the same labels and seed; run both with the same --seed"
        )
    return points


def _table(a: Any, b: Any, keys: tuple[str, ...], points: Points, wanted: list[str]) -> list[Difference]:
    rows_a, rows_b = _by_run(a, keys), _by_run(b, keys)
    units = a.units
    words = {"group", *keys}
    number_columns = [c for c in a.columns if c in b.columns and c not in (*PLAN, *words, *labels_of(a))]
    names = list(dict.fromkeys([key for _, key in [*rows_a, *rows_b]]))
    absent_value = 0.0 if a.name in ABSENT_IS_ZERO else math.nan
    differences = []
    for point, pairs in points.items():
        for key in names:
            row_pairs = [(rows_a.get((i, key)), rows_b.get((j, key))) for i, j in pairs]
            if not any(x or y for x, y in row_pairs):
                continue
            for column in number_columns:
                if wanted and column not in wanted:
                    continue
                x, y = ([_value(row[side], column, absent_value) for row in row_pairs] for side in (0, 1))
                value_pairs = [(u, v) for u, v in zip(x, y, strict=True) if not math.isnan(u) and not math.isnan(v)]
                if not value_pairs or (column not in wanted and all(u == v for u, v in value_pairs)):
                    continue
                e = stats.paired([v for _, v in value_pairs], [u for u, _ in value_pairs])
                mean_a, mean_b = stats.mean(u for u, _ in value_pairs), stats.mean(v for _, v in value_pairs)
                row = ", ".join(w for w in (*point, *key) if w)
                differences.append(
                    Difference(
                        a.name, row, column, units[column], mean_a, mean_b, e.mean, e.half_width, len(value_pairs)
                    )
                )
    return differences


def _by_run(table: Any, keys: tuple[str, ...]) -> dict[tuple[int, tuple[str, ...]], dict[str, Any]]:
    return {(row["run"], tuple(str(row[k]) for k in keys)): row for row in table.rows()}


def _value(row: dict[str, Any] | None, column: str, absent: float) -> float:
    if row is None:
        return absent
    value = row[column]
    return math.nan if isinstance(value, str) else float(value)
