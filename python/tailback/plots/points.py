"""Figures of the points of a sweep: a number over one axis, over two, or how its values are spread.

over(results, "links.utilisation", "buffer", name="bottleneck")             # curves with 95 % bands
over(results, "links.utilisation", "buffer", "rate", name="bottleneck")     # a map over two axes
spread(results, "flows.goodput_bps")                                        # distributions, a line a point
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tailback import _core
from tailback.plots.curves import Panel, as_curve, curves
from tailback.plots.distributions import distributions
from tailback.plots.heat import heat
from tailback.plots.palette import discipline
from tailback.plots.style import Drawing
from tailback.results.difference import TABLES
from tailback.results.means import averages, finished, labels_of

#: As many lines or maps a figure has.
MOST = 12


def is_metric(what: str) -> bool:
    """Whether it is written TABLE.COLUMN."""
    table, dot, column = what.partition(".")
    return bool(dot) and table in _core.TABLES and column.isidentifier()


def over(results: Any, metric: str, x: str, y: str | None = None, /, **where: str) -> Drawing:
    """The mean of a number over the axis `x`, a curve for each combination of the others; with `y`, maps over both.

    `where` chooses rows, by label or by column. Raises ValueError for what is not there.
    """
    return figure_over(results, metric, [x] if y is None else [x, y], where)


def figure_over(
    results: Any,
    metric: str,
    axes: Sequence[str],
    where: Mapping[str, str],
    *,
    titles: Mapping[str, str] | None = None,
    shown: tuple[str, float] | None = None,
) -> Drawing:
    """As `over`; `titles` are what axes are called, `shown` what the number is, and what it is multiplied by."""
    table, column, unit = _column(results, metric)
    labels = labels_of(table)
    x, y = axes[0], axes[1] if len(axes) > 1 else None
    for axis in axes:
        if axis not in labels:
            raise ValueError(f'there is no axis "{axis}"; axes are {", ".join(labels) or "none"}')
    if table.name not in TABLES:
        raise ValueError(f"{metric} has many values a run: leave --over out to draw how they are spread")
    keys = [*labels, *TABLES[table.name]]
    found = averages(table, keys, runs=finished(results.runs), columns=[column])
    rows = [r for r in found if _meets(r, where)]
    if not rows:
        raise ValueError(_none(where, {k: [str(r[k]) for r in found] for k in where}))
    others = [k for k in keys if k not in (x, y) and len({r[k] for r in rows}) > 1]
    title, scale = shown or (f"{column} ({unit})" if unit else column, 1.0)
    called = titles or {}
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for r in rows:
        groups.setdefault(tuple(str(r[k]) for k in others), []).append(r)
    if len(groups) > MOST:
        raise ValueError(_too_many(len(groups), others))
    if y is not None:
        xs, ys = (_ordered([str(r[a]) for r in rows]) for a in (x, y))
        panels = [(", ".join(k), scale * _map(mine, (x, xs), (y, ys), column)) for k, mine in groups.items()]
        return heat(panels, (called.get(x, x), xs), (called.get(y, y), ys), title)
    numbers = {str(r[x]): _number(str(r[x])) for r in rows}
    if any(math.isnan(v) for v in numbers.values()):
        odd = next(k for k, v in numbers.items() if math.isnan(v))
        raise ValueError(f'"{odd}" of the axis {x} is no number, so nothing can be drawn over it; name another axis')
    named = looks(list(groups))
    lines = [
        as_curve(
            named[k],
            ", ".join(k) or column,
            sorted(
                (numbers[str(r[x])], scale * float(r[column]), scale * float(r.get(f"{column}_ci95", math.nan)))
                for r in mine
            ),
        )
        for k, mine in groups.items()
    ]
    values = [v for v in numbers.values() if v > 0]
    log_x = len(values) == len(numbers) > 1 and max(values) / min(values) >= 8
    return curves([Panel(lines)], called.get(x, x), title, log_x=log_x)


def spread(results: Any, metric: str, /, **where: str) -> Drawing:
    """The empirical distribution of a column over all runs, a line for each point."""
    return figure_spread(results, metric, where)


def figure_spread(
    results: Any, metric: str, where: Mapping[str, str], shown: tuple[str, float] | None = None
) -> Drawing:
    """Like `spread`; `shown` is the title of the axis, and the factor that multiplies the values."""
    table, column, unit = _column(results, metric)
    labels = labels_of(table)
    unknown = [k for k in where if k not in table.columns]
    if unknown:
        raise ValueError(f'{table.name} has no column "{unknown[0]}"; its columns are {", ".join(table.columns)}')
    chosen = table.where(**where) if where else table
    if where and not len(chosen):
        raise ValueError(_none(where, {k: list(map(str, table.to_list(k))) for k in where}))
    names = list(zip(*(chosen.to_list(n) for n in labels), strict=True)) if labels else [()] * len(chosen)
    values = np.asarray(chosen[column], float)
    groups: dict[tuple[str, ...], list[int]] = {}
    for i, k in enumerate(names):
        groups.setdefault(tuple(map(str, k)), []).append(i)
    if len(groups) > MOST:
        raise ValueError(_too_many(len(groups), labels))
    named = looks(list(groups))
    title, scale = shown or (f"{column} ({unit})" if unit else column, 1.0)
    lines = [(named[k], ", ".join(k) or column, scale * values[at]) for k, at in groups.items()]
    return distributions(lines, title)


def _column(results: Any, metric: str) -> tuple[Any, str, str]:
    name, _, column = metric.partition(".")
    if name not in _core.TABLES:
        raise ValueError(f"there is no table {name}; write TABLE.COLUMN, tables are {', '.join(_core.TABLES)}")
    table = getattr(results, name)
    if column not in table.columns:
        raise ValueError(f'{name} has no column "{column}"; its columns are {", ".join(table.columns)}')
    if not len(table) or isinstance(table[0][column], str):
        raise ValueError(f"{metric} has no numbers" + ("" if len(table) else ": the table is empty"))
    unit = table.units[column]
    return table, column, "" if unit == "1" else unit


def looks(points: list[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """Each discipline has its look; several points of one discipline have looks of their own."""
    named = [discipline(k) for k in points]
    alike = len(set(named)) < len(named)
    return {k: ", ".join(k) if alike else name for k, name in zip(points, named, strict=True)}


def _too_many(n: int, by: list[str]) -> str:
    return f"that makes {n} lines, one for each {', '.join(by)}; choose some by --where {by[-1]}=VALUE"


def _none(where: Mapping[str, str], there: Mapping[str, Sequence[str]]) -> str:
    """Why nothing is chosen: a value that nothing has, or values that nothing has together."""
    for k, v in where.items():
        if str(v) not in there[k]:
            known = list(dict.fromkeys(there[k]))
            more = f" and {len(known) - 20} more" if len(known) > 20 else ""
            return f"nothing has {k} = {v}; there are {', '.join(known[:20])}{more}"
    given = ", ".join(f"{k} = {v}" for k, v in where.items())
    if len(where) == 1:
        return f"what has {given} has no value to draw; leave the condition out, or name another column"
    return f"nothing has {given} together; leave one of them out"


def _meets(row: dict[str, Any], where: Mapping[str, str]) -> bool:
    for k in where:
        if k not in row:
            raise ValueError(f'there is no "{k}" to choose by; there are {", ".join(row)}')
    return all(str(row[k]) == v for k, v in where.items())


def _number(label: str) -> float:
    try:
        return float(label.split()[0])
    except (ValueError, IndexError):
        return math.nan


def _ordered(labels: list[str]) -> list[str]:
    """Numbers by size; words as they come."""
    distinct = list(dict.fromkeys(labels))
    return distinct if any(math.isnan(_number(x)) for x in distinct) else sorted(distinct, key=_number)


def _map(rows: list[dict[str, Any]], x: tuple[str, list[str]], y: tuple[str, list[str]], column: str) -> np.ndarray:
    values = np.full((len(y[1]), len(x[1])), np.nan)
    for r in rows:
        values[y[1].index(str(r[y[0]])), x[1].index(str(r[x[0]]))] = float(r[column])
    return values
