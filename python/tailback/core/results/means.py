"""Means over replications. Only this module combines rows of several runs into one row.

The output and JSON document of `tailback run`, the report, and the comparison of two results all use it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from tailback.core import stats

#: Columns that identify the run of a row.
PLAN = ("run", "replication", "seed", "key")

#: Tables that have a row only if something happened; a run without the row counts as zero.
ABSENT_IS_ZERO = ("losses",)

Row = dict[str, Any]


def labels_of(table: Any) -> list[str]:
    """The labels of a plan's points: the columns between `seed` and `key`."""
    columns = list(table.columns)
    return [c for c in columns[: columns.index("key")] if c not in PLAN] if "key" in columns else []


def finished(runs: Any) -> list[Row]:
    """The finished runs; other runs have no rows in any table."""
    return [row for row in runs.rows() if row["status"] == "done"]


def by_run(table: Any) -> dict[int, list[Row]]:
    """The rows of a table, grouped by run number."""
    rows: dict[int, list[Row]] = {}
    for row in table.rows():
        rows.setdefault(row["run"], []).append(row)
    return rows


def averages(
    table: Any,
    keys: Sequence[str],
    ci: bool = True,
    runs: Iterable[Mapping[str, Any]] | None = None,
    columns: Collection[str] | None = None,
) -> list[Row]:
    """The rows of a table averaged over runs, in the order of their first occurrence. `ci` adds `COLUMN_ci95`, half of
    the 95 % interval. For words, the most frequent one is taken. `columns` limits the result to the named columns.

    `runs` are the finished runs of these rows. In a table that has a row only if something happened, a run without the
    row counts as zero. Without `runs`, such a mean would cover only the runs with the row.
    """
    if not len(table):
        return []
    population = None if runs is None or table.name not in ABSENT_IS_ZERO else list(runs)
    wanted_columns = [n for n in table.columns if n not in PLAN and (columns is None or n in columns or n in keys)]
    cells_of = {n: table.to_list(n) for n in wanted_columns}
    row_keys = list(zip(*(cells_of[k] for k in keys), strict=True))
    if population is None and len(set(row_keys)) == len(row_keys):
        # The usual case of one run: nothing is averaged, and there may be a million rows.
        order = [*keys, *(n for n in wanted_columns if n not in keys)]
        return [dict(zip(order, row, strict=True)) for row in zip(*(cells_of[n] for n in order), strict=True)]
    rows: dict[tuple[Any, ...], list[int]] = {}
    for i, key in enumerate(row_keys):
        rows.setdefault(key, []).append(i)
    labels = [n for n in labels_of(table) if n in keys]
    means = []
    for key, row_numbers in rows.items():
        row: Row = dict(zip(keys, key, strict=True))
        point = {n: row[n] for n in labels}
        absent_count = 0
        if population is not None:
            absent_count = sum(all(str(r[n]) == str(v) for n, v in point.items()) for r in population) - len(
                row_numbers
            )
        for name in wanted_columns:
            if name not in keys:
                cells = [cells_of[name][i] for i in row_numbers]
                _average(row, name, cells if isinstance(cells[0], str) else cells + [0] * absent_count, ci)
        means.append(row)
    return means


def _average(row: Row, name: str, mine: list[Any], ci: bool) -> None:
    if isinstance(mine[0], str):
        row[name] = most_common(mine)
    elif len(mine) == 1:
        # One run keeps its whole numbers.
        row[name] = mine[0]
    else:
        e = stats.estimate(mine)
        row[name] = e.mean
        if ci:
            row[f"{name}_ci95"] = e.half_width


def alike(*averaged: Sequence[Row]) -> bool:
    """Whether no number of these averages has an interval, because all replications are equal."""
    return not any(v > 0 for rows in averaged for row in rows for k, v in row.items() if k.endswith("_ci95"))


def most_common(words: Sequence[Any]) -> Any:
    """The most frequent value; the first of several."""
    return max(dict.fromkeys(words), key=words.count)
