"""Writes tables of means with their intervals as LaTeX (booktabs), Markdown or CSV.

A cell without a value is empty in every form, never "nan".
"""

from __future__ import annotations

import csv
import io
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tailback.core.results.axes import scale
from tailback.core.results.expression import ExpressionError
from tailback.core.results.measured import measure
from tailback.core.results.quantities import UnitShown, label, shown
from tailback.core.results.summary import as_cell, decimals

#: The writer of a table, by the ending of its file.
FORMS = ("tex", "md", "csv")
#: The most characters in one line of a LaTeX header.
HEAD = 18
#: Mean, half of the interval and number of runs of a missing value.
_ABSENT = (math.nan, math.nan, 0)


@dataclass(frozen=True)
class ShownColumn:
    """A column of a table: its title, the unit of its numbers, and for each row the mean and half of the interval."""

    title: str
    unit: UnitShown
    values: list[tuple[float, float]]


@dataclass(frozen=True)
class MeansTable:
    """A row for each point, a column for each expression."""

    heads: list[str]
    names: list[tuple[str, ...]]
    columns: list[ShownColumn]

    def text(self, form: str) -> str:
        """The table as LaTeX (`tex`), Markdown (`md`) or CSV (`csv`)."""
        return {"tex": self._latex, "md": self._markdown, "csv": self._csv}[form]()

    def _cells(self, plus_minus: str) -> list[list[str]]:
        columns = [_written(c, plus_minus) for c in self.columns]
        return [[*name, *(c[i] for c in columns)] for i, name in enumerate(self.names)]

    def _titles(self) -> list[str]:
        return [*self.heads, *(label(c.title, c.unit.unit) for c in self.columns)]

    def _latex(self) -> str:
        """The table as LaTeX, which needs \\usepackage{booktabs}."""
        form = "l" * len(self.heads) + "r" * len(self.columns)
        head = " & ".join(_stacked(t, "l" if i < len(self.heads) else "r") for i, t in enumerate(self._titles()))
        rows = [" & ".join(_escaped(c) for c in row).replace("±", "$\\pm$") for row in self._cells(" ± ")]
        lines = [f"\\begin{{tabular}}{{{form}}}", "\\toprule", f"{head} \\\\", "\\midrule"]
        return "\n".join([*lines, *(f"{row} \\\\" for row in rows), "\\bottomrule", "\\end{tabular}", ""])

    def _markdown(self) -> str:
        titles = [_marked(t) for t in self._titles()]
        rule_cells = ["---"] * len(self.heads) + ["---:"] * len(self.columns)
        rows = [titles, rule_cells, *([_marked(c) for c in row] for row in self._cells(" ± "))]
        return "".join(f"| {' | '.join(row)} |\n" for row in rows)

    def _csv(self) -> str:
        """Each column of the table becomes two, the mean and half of its 95 % interval, with all digits."""
        from tailback.core.store.paths import cell

        titles = [*self.heads]
        for c in self.columns:
            titles += [label(c.title, c.unit.unit), f"{label(c.title, c.unit.unit)}, half of the 95 % interval"]
        rows: list[list[Any]] = [
            [*name, *(x * c.unit.factor for c in self.columns for x in c.values[i])]
            for i, name in enumerate(self.names)
        ]
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([cell(x) for x in row] for row in (titles, *rows))
        return text.getvalue()


def _written(c: ShownColumn, plus_minus: str) -> list[str]:
    scaled_values = [(m * c.unit.factor, h * c.unit.factor) for m, h in c.values]
    most = decimals([m for m, _ in scaled_values])
    return [as_cell(m, h, most).joined(plus_minus) if math.isfinite(m) else "" for m, h in scaled_values]


def _stacked(text: str, side: str) -> str:
    """A header broken into short lines, so that a column is only as wide as its numbers."""
    lines = textwrap.wrap(text, HEAD, break_long_words=False, break_on_hyphens=False) or [""]
    if len(lines) == 1:
        return _escaped(text)
    stacked_lines = r" \\ ".join(map(_escaped, lines))
    return rf"\shortstack[{side}]{{{stacked_lines}}}"


def _escaped(text: str) -> str:
    """Text escaped for LaTeX, in one line. LaTeX would read a bracket behind a line end as a length."""
    signs = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "µ": r"\textmu{}"}
    return "".join(signs.get(c, f"\\{c}" if c in "&%$#_{}" else f"{{{c}}}" if c in "[]" else c) for c in _line(text))


def _marked(text: str) -> str:
    """Text escaped for a Markdown cell, so that no character is markup."""
    signs = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
    return "".join(signs.get(c, f"\\{c}" if c in "\\|`*[]" else c) for c in _line(text))


def _line(text: str) -> str:
    return " ".join(text.split())


def table_of(
    results: Any, texts: Sequence[str], where: Mapping[str, str] | None = None, titles: Mapping[str, str] | None = None
) -> MeansTable:
    """The means of expressions by point, and also by row if an expression has several.

    >>> from tailback.core.results.written import table_of
    >>> net = tb.dumbbell(flows=2, bottleneck="10Mbps", rtt="40ms", queue="codel")
    >>> print(table_of(net.run(duration="2s"), ["bulk / total"]).text("csv"), end="")
    "goodput of bulk / total goodput","goodput of bulk / total goodput, half of the 95 % interval"
    1.0,
    """
    if not texts:
        raise ExpressionError("give an expression for each column, such as links.utilisation[bottleneck]")
    titles = titles or {}
    measures = [measure(results, text, where) for text in texts]
    runs = measures[0].runs
    varying_labels = [n for n in runs.labels if len(set(runs.values[n][runs.counted])) > 1]
    names: dict[tuple[tuple[str, ...], tuple[str, ...]], None] = {}
    points = [m.points(varying_labels) for m in measures]
    for means in points:
        names |= dict.fromkeys((point, row) for row, point in means)
    several = {row for _, row in names if row}
    is_one_row = len(several) <= 1
    order = {n: {x: i for i, x in enumerate(scale(n, runs.values[n], {}).labels)} for n in varying_labels}
    ranked_names = sorted(names, key=lambda k: [order[n][x] for n, x in zip(varying_labels, k[0], strict=True)])
    columns = []
    for m, means in zip(measures, points, strict=True):
        only_row = next(iter(means))[0] if means and len({row for row, _ in means}) == 1 else None
        cell_values = []
        for point, row in ranked_names:
            absent = means.get((only_row, point), _ABSENT) if only_row is not None else _ABSENT
            cell_values.append(means.get((row, point), absent))
        unit = shown(m.unit, [v[0] for v in cell_values])
        columns.append(ShownColumn(m.title, unit, [(v[0], v[1]) for v in cell_values]))
    heads = [titles.get(n, n) for n in varying_labels]
    rows = [(*point, *(() if is_one_row else row)) for point, row in ranked_names]
    unique = {r: i for i, r in reversed(list(enumerate(rows)))}
    kept_rows = [i for i, r in enumerate(rows) if unique[r] == i]
    columns = [ShownColumn(c.title, c.unit, [c.values[i] for i in kept_rows]) for c in columns]
    width = max((len(rows[i]) for i in kept_rows), default=0)
    return MeansTable([*heads, *[""] * (width - len(heads))], [rows[i] for i in kept_rows], columns)
