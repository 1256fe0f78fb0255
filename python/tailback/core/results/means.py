"""Means over replications: the one place where rows of several runs become one row.

What `tailback run` prints, its JSON document, the report and the comparison of two results all come from here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from tailback.core import stats

#: Columns that say which run a row is of.
PLAN = ("run", "replication", "seed", "key")

#: Tables that have a row only where something happened: a run without the row had none of it.
ABSENT_IS_ZERO = ("losses",)

Row = dict[str, Any]


def labels_of(table: Any) -> list[str]:
    """The labels of a plan's points: the columns between `seed` and `key`."""
    columns = list(table.columns)
    return [c for c in columns[: columns.index("key")] if c not in PLAN] if "key" in columns else []


def finished(runs: Any) -> list[Row]:
    """The runs that came to their end; the others have no rows in any table."""
    return [row for row in runs.rows() if row["status"] == "done"]


def by_run(table: Any) -> dict[int, list[Row]]:
    """The rows of a table by the number of their run."""
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
    """The rows of a table averaged over runs, in the order in which they first occur; `ci` adds `COLUMN_ci95`, half of
    the 95 % interval. Words become the one that occurs most. Of `columns` all are taken, or those that are named.

    `runs` are the finished runs that these rows are of. Where a table has a row only if something happened, a run
    without the row counts as zero: without `runs` such a mean would be over the runs that have the row.
    """
    if not len(table):
        return []
    population = None if runs is None or table.name not in ABSENT_IS_ZERO else list(runs)
    wanted = [n for n in table.columns if n not in PLAN and (columns is None or n in columns or n in keys)]
    values = {n: table.to_list(n) for n in wanted}
    named = list(zip(*(values[k] for k in keys), strict=True))
    if population is None and len(set(named)) == len(named):
        # One run, as a rule: nothing is to be averaged, and there may be a million rows.
        order = [*keys, *(n for n in wanted if n not in keys)]
        return [dict(zip(order, row, strict=True)) for row in zip(*(values[n] for n in order), strict=True)]
    rows: dict[tuple[Any, ...], list[int]] = {}
    for i, key in enumerate(named):
        rows.setdefault(key, []).append(i)
    labels = [n for n in labels_of(table) if n in keys]
    out = []
    for key, at in rows.items():
        row: Row = dict(zip(keys, key, strict=True))
        point = {n: row[n] for n in labels}
        absent = 0
        if population is not None:
            absent = sum(all(str(r[n]) == str(v) for n, v in point.items()) for r in population) - len(at)
        for name in wanted:
            if name not in keys:
                cells = [values[name][i] for i in at]
                _average(row, name, cells if isinstance(cells[0], str) else cells + [0] * absent, ci)
        out.append(row)
    return out


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
    """Whether no number of these averages has an interval: the replications are all alike."""
    return not any(v > 0 for rows in averaged for row in rows for k, v in row.items() if k.endswith("_ci95"))


def most_common(words: Sequence[Any]) -> Any:
    """The value that occurs most; the first of several."""
    return max(dict.fromkeys(words), key=words.count)
