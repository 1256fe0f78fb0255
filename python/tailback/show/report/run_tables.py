"""Makes the tables of the page of a run or a sweep: means over replications, and differences between points, seed by
seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tailback.core.results.columns import ColumnRow, TableRow, for_people
from tailback.core.results.difference import Difference, compare_points
from tailback.core.results.means import Row, averages, finished, labels_of
from tailback.core.results.quantities import shown
from tailback.core.results.summary import NumberCell, as_cell, decimals, with_values

#: The most rows of a table; longer tables are not shown.
MOST_ROWS = 400


@dataclass(frozen=True)
class ShownTable:
    """A table of the page. If there are too many rows to read, `too_long` has their number, and the table has no
    rows."""

    caption: str
    heads: list[tuple[str, str]]
    rows: list[list[str]]
    text_columns: int
    too_long: int = 0


def means(results: Any, labels: list[str]) -> list[ShownTable]:
    """The means over replications of every table that has rows, with one row for each point and thing."""
    done_runs = finished(results.runs)
    shown_tables = []
    for table in for_people():
        stored_table = getattr(results, table.name)
        if len(stored_table):
            shown_tables.append(_means(stored_table, [*labels, *_told(stored_table, table.keys)], table, done_runs))
    return shown_tables


def _told(table: Any, keys: tuple[str, ...]) -> list[str]:
    """The columns that name a row; the column of colours only if there are colours."""
    return [k for k in keys if k != "colour" or any(table["colour"])]


def _means(stored: Any, names: list[str], table: TableRow, runs: list[Row]) -> ShownTable:
    mean_rows = averages(stored, names, runs=runs, columns=[c.name for c in table.on_pages])
    if len(mean_rows) > MOST_ROWS:
        return ShownTable(table.title, [], [], len(names), len(mean_rows))
    columns = with_values(table.on_pages, mean_rows)
    heads, cells = [], []
    for c in columns:
        unit, show = _scaled(c.shown_unit, [row[c.name] for row in mean_rows])
        heads.append((_capital(c.title), unit))
        cells.append([show(row[c.name], row.get(f"{c.name}_ci95", math.nan)).joined(" ± ") for row in mean_rows])
    rows = [[*(str(row[n]) for n in names), *(column[i] for column in cells)] for i, row in enumerate(mean_rows)]
    return ShownTable(table.title, [*((_head(table, n), "") for n in names), *heads], rows, len(names))


def differences(results: Any, axis: str, against: str) -> list[ShownTable]:
    """The differences between the points of an axis and the points with the label `against` on this axis, in the tables
    that have means.

    A star marks an interval that excludes zero. Raises CompareError if there is no such axis or label.
    """
    by_table: dict[str, dict[str, dict[str, Difference]]] = {}
    for d in compare_points(results, axis, against):
        by_table.setdefault(d.table, {}).setdefault(d.row, {})[d.column] = d
    shown_tables = []
    other_labels = [n for n in labels_of(results.runs) if n != axis]
    for table in for_people():
        rows = by_table.get(table.name, {})
        columns = [c for c in table.on_pages if any(c.name in row for row in rows.values())]
        if len(rows) > MOST_ROWS:
            shown_tables.append(ShownTable(table.title, [], [], 1, len(rows)))
        elif columns:
            keys = [_head(table, n) for n in _told(getattr(results, table.name), table.keys)]
            names_text = ", ".join([*other_labels, axis, *keys])
            shown_tables.append(_differing(table.title, names_text, rows, columns))
    return shown_tables


def _differing(
    caption: str, named: str, rows: Mapping[str, Mapping[str, Difference]], shown: Sequence[ColumnRow]
) -> ShownTable:
    heads, cells = [(named, "")], []
    for c in shown:
        of_rows = [row.get(c.name) for row in rows.values()]
        unit, show = _scaled(c.shown_unit, [d.difference for d in of_rows if d is not None])
        heads.append((_capital(c.title), unit))
        cells.append([_difference(d, show) for d in of_rows])
    return ShownTable(caption, heads, [[name, *(column[i] for column in cells)] for i, name in enumerate(rows)], 1)


def _scaled(unit: str, values: Sequence[float]) -> tuple[str, Callable[[float, float], NumberCell]]:
    """The unit of a column as in figures, and the function that writes a value and half of its interval in this
    unit."""
    sign = shown(unit, values)
    most = decimals([value * sign.factor for value in values])
    return sign.unit, lambda value, half: as_cell(value * sign.factor, half * sign.factor, most)


def _difference(d: Difference | None, show: Callable[[float, float], NumberCell]) -> str:
    # The differences do not contain columns that are equal in every run.
    text = "equal" if d is None else show(d.difference, d.ci95).joined(" ± ")
    return f"{text}\N{NO-BREAK SPACE}*" if d is not None and d.clear else text


def _head(table: TableRow, name: str) -> str:
    """The head of a column that names a row: the column's word, or the unchanged label."""
    return table.columns[name].title if name in table.columns else name


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
