"""Shows a table in a terminal or a notebook, and turns it into a data frame."""

from __future__ import annotations

import math
from typing import Any

from tailback.core.text.width import terminal_width

# Rows shown at each end of a long table.
_ENDS = 5
_MOST = 12


def _shown(table: Any) -> list[int | None]:
    """The numbers of the shown rows; None in place of rows that are left out."""
    n = len(table)
    if n <= _MOST:
        return list(range(n))
    return [*range(_ENDS), None, *range(n - _ENDS, n)]


def cell(value: Any) -> str:
    """A value as short text: at most six digits of a real number, and a dash for a missing value."""
    if isinstance(value, float):
        if math.isnan(value):
            return "-"
        return f"{value:.6g}"
    return str(value)


def text(table: Any) -> str:
    """The table for a terminal. Columns that do not fit are named below the table."""
    from tailback.core.text.terminal import GAP, columns

    # The key of a run is left out, because it is long and only for programs.
    names = [n for n in table.columns if n != "key"]
    rows = _shown(table)
    units = table.units
    body = []
    for i in rows:
        row = None if i is None else table[i]
        body.append([".." if row is None else cell(row[n]) for n in names])
    heads = [[n, units[n]] for n in names]
    widths = [max(len(w) for w in [*head, *(row[i] for row in body)]) for i, head in enumerate(heads)]
    room = terminal_width()
    fit = used_width = 0
    while fit < len(names) and used_width + widths[fit] <= room:
        used_width += widths[fit] + GAP
        fit += 1
    numeric = [bool(len(table)) and not isinstance(table[0][n], str) for n in names]

    count = f"{len(table)} row" + ("" if len(table) == 1 else "s")
    shown_rows = [row[:fit] for row in ([h[0] for h in heads], [h[1] for h in heads], *body)]
    lines = [f"{table.name}: {count}", *columns(shown_rows, right=[i for i, n in enumerate(numeric) if n])]
    if fit < len(names):
        names_left = "and " + ", ".join(names[fit:])
        while names_left:
            cut = len(names_left) if len(names_left) <= room else max(names_left.rfind(" ", 0, room), 1)
            lines.append(names_left[:cut])
            names_left = names_left[cut:].lstrip()
    return "\n".join(lines)


def html(table: Any) -> str:
    """The table for a notebook: units in the header, the meaning of a column when the pointer rests on it."""
    from tailback.show.report.page import render

    units, docs = table.units, table.docs
    return render(
        "table.html",
        name=table.name,
        count=len(table),
        columns=[{"name": n, "unit": units[n], "doc": docs[n]} for n in table.columns],
        rows=[
            [".."] * len(table.columns) if i is None else [cell(v) for v in table[i].values()] for i in _shown(table)
        ],
    )


def results_text(results: Any) -> str:
    """Results as text in a terminal or a notebook: the tables, and how to access them."""
    lines = [_said(results)]
    for name in results.names:
        table = getattr(results, name)
        if len(table):
            lines.append(f"  .{name:<15} {len(table)} row{'' if len(table) == 1 else 's'}")
    return "\n".join(lines)


def results_html(results: Any) -> str:
    """Results in a notebook: the most important tables, and the names of the others."""
    from markupsafe import escape

    shown_tables = [getattr(results, n) for n in ("groups", "links")]
    other_tables = [n for n in results.names if n not in ("groups", "links") and len(getattr(results, n))]
    others_text = escape("also here: " + ", ".join(other_tables)) if other_tables else ""
    tables = "".join(str(html(t)) for t in shown_tables if len(t))
    return f"<p>{escape(_said(results))}</p>{tables}<p>{others_text}</p>"


def _said(results: Any) -> str:
    runs = results.runs.to_list("status")
    words = f"results of {len(runs)} run{'' if len(runs) == 1 else 's'}"
    failed_count = sum(s != "done" for s in runs)
    if failed_count:
        words += f", {failed_count} failed"
    return words + (", interrupted" if results.interrupted else "")


def _need(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as e:
        raise ImportError(
            f"this needs {module}, which is not installed; `pip install 'tailback[{module}]'` adds it"
        ) from e


def to_polars(table: Any) -> Any:
    """The table as a polars data frame. Numbers are not copied."""
    return _need("polars").DataFrame(table)


def to_pandas(table: Any) -> Any:
    """The table as a pandas data frame. Numbers are not copied and therefore read-only; use `.copy()` to change
    them."""
    pandas = _need("pandas")
    # Each column is a separate block of pandas, because a block of several columns would need a copy.
    return pandas.DataFrame({n: pandas.Series(table[n], copy=False) for n in table.columns}, copy=False)
