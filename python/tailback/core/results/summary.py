"""A result as text for a terminal: groups, links and completion times, in its width, with units in the headers."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tailback.core.results.columns import ColumnRow, TableRow, for_people, tables
from tailback.core.results.means import alike, averages
from tailback.core.scenario import marking
from tailback.core.text.plain import plain
from tailback.core.text.terminal import GAP, columns
from tailback.core.text.width import terminal_width

# Longer tables are cut; the folder of results has all rows.
MOST_ROWS = 20

#: With more groups, only the completions over all of them are printed.
_FEW_GROUPS = 6
#: A table that has rows over all groups.
COMPLETIONS = "completions"
#: Tables that are printed even without rows.
_ALWAYS = ("groups", "links")


def text(result: Any, width: int | None = None) -> str:
    """The summary of a result. Without `width` it is as wide as the terminal (or COLUMNS)."""
    width = width or terminal_width()
    r, scenario = result.results, result.scenario
    done_seeds = [row["seed"] for row in r.runs.rows() if row["status"] == "done"]
    has_several = len(done_seeds) > 1
    name = plain(scenario.name or "scenario")
    seeds = (
        f"{len(done_seeds)} replications, seeds {min(done_seeds)} to {max(done_seeds)}"
        if has_several
        else f"seed {done_seeds[0] if done_seeds else '-'}"
    )
    span_text = f"{scenario.duration_s:g} s"
    if scenario.warmup_s:
        span_text += f", counted from {scenario.warmup_s:g} s"
    lines = textwrap.wrap(f"{name}: {span_text}; {seeds}", max(width, 20))
    if marks := marking.sentence(scenario):
        lines += textwrap.wrap(marks, max(width, 20))
    head_lines = len(lines)
    if has_several:
        lines += textwrap.wrap("means \u00b1 95 % confidence interval over the replications", max(width, 20))
    if not done_seeds:
        return "\n".join([*lines, "no run was finished"])
    rows_of = {t.name: averages(getattr(r, t.name), t.keys, has_several) for t in for_people() if t.in_terminal}
    rows_of["links"] = [link for link in rows_of["links"] if link["arrived_packets"] or "." not in link["name"]]
    if has_several and alike(*(rows_of[name] for name in _ALWAYS)):
        remark = "the replications are all alike: nothing in this scenario is drawn at random"
        lines[head_lines:] = textwrap.wrap(remark, max(width, 20))
        lines.append('--set \'flows.NAME.start={ kind = "uniform", to = "1s" }\' starts flows at random')
    for name, rows in rows_of.items():
        if name == COMPLETIONS and rows:
            rows, rows_left = _of_all(rows, set(r.groups.to_list("group")))
            lines += rows_left
        if rows or name in _ALWAYS:
            lines += ["", *_table(tables()[name], rows, has_several, width)]
    return "\n".join(lines)


def _of_all(rows: list[dict[str, Any]], named: set[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """If there are many groups, only the completions over all groups, and a line that says so. `named` are the groups
    of the scenario; a group called "all" keeps its own rows."""
    over_all = [row for row in rows if row["group"] not in named]
    groups = {row["group"] for row in rows} & named
    if len(groups) <= _FEW_GROUPS or not over_all:
        return rows, []
    return over_all, ["", f"completions of all {len(groups)} groups together; the table `completions` has each"]


def _table(table: TableRow, rows: list[dict[str, Any]], several: bool, width: int) -> list[str]:
    """The columns that identify a row, and the shown columns that have a value."""
    rows_left = len(rows) - MOST_ROWS
    rows = rows[:MOST_ROWS]
    names = [
        [table.columns[key].short, "", *(row[key] if len(row[key]) <= 24 else row[key][:23] + "\u2026" for row in rows)]
        for key in table.keys
    ]
    cells_of = []
    for column in with_values(table.in_terminal, rows):
        shown_unit, show = scale(column.shown_unit, [row[column.name] for row in rows])
        halves = [row.get(f"{column.name}_ci95", math.nan) if several else math.nan for row in rows]
        cells = (show(row[column.name], half).joined() for row, half in zip(rows, halves, strict=True))
        cells_of.append([column.short, shown_unit, *cells])
    lines = side_by_side(names, cells_of, width)
    if rows_left > 0:
        lines.append(f"and {rows_left} more; --out DIR or --json has all")
    return lines


def with_values(columns: Iterable[ColumnRow], rows: Sequence[Mapping[str, Any]]) -> list[ColumnRow]:
    """The columns that have a value in some row. Only answered datagrams have answers, and results of an earlier
    version lack some columns."""
    return [c for c in columns if not rows or any(math.isfinite(row.get(c.name, math.nan)) for row in rows)]


def side_by_side(names: Sequence[Sequence[str]], cells: Sequence[Sequence[str]], width: int) -> list[str]:
    """Puts columns beside those that identify the rows. Columns that do not fit are below, beside the same row
    names."""
    blocks = [[*names]]
    used_width = lead_width = sum(max(map(len, column)) + GAP for column in names) - GAP
    for column in cells:
        column_width = GAP + max(map(len, column))
        if used_width + column_width > width and len(blocks[-1]) > len(names):
            blocks.append([*names])
            used_width = lead_width
        blocks[-1].append(column)
        used_width += column_width
    lines: list[str] = []
    for i, block in enumerate(blocks):
        side = columns(list(zip(*block, strict=True)), right=range(len(names), len(block)))
        lines += side if i == 0 else ["", *(line for line in side if line.strip())]
    return lines


_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "\u00b5"), (1e-9, "n"))


class NumberCell(NamedTuple):
    """A number as text: the mean, and half of its interval (empty if there is none)."""

    mean: str
    half: str = ""

    def joined(self, plus_minus: str = " \u00b1") -> str:
        return f"{self.mean}{plus_minus}{self.half}" if self.half else self.mean


def scale(unit: str, values: Sequence[float], places: int = 6) -> tuple[str, Callable[[float, float], NumberCell]]:
    """The unit in which a column is shown, and the function that writes a value and the half-width of its interval with
    a limited number of decimals."""
    factor, name = 1.0, unit
    largest = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
    if unit == "%":
        factor = 0.01
    elif unit in ("bit/s", "s"):
        # Seconds get no prefix for larger units, and bits a second no prefix for smaller ones.
        fitting_prefixes = [(f, p) for f, p in _PREFIXES if (f <= 1 if unit == "s" else f >= 1)]
        factor, prefix = next(((f, p) for f, p in fitting_prefixes if largest >= f), (1.0, ""))
        name = f"{prefix}{'bps' if unit == 'bit/s' else 's'}"

    decimals_shown = min(places, decimals([largest / factor]))

    def show(value: float, half: float) -> NumberCell:
        return as_cell(value / factor, half / factor, decimals_shown)

    return name, show


def decimals(values: Iterable[float]) -> int:
    """The most decimals in a column. Beside large values, the last digits of tiny values carry no information and take
    room."""
    largest = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
    return max(0, 5 - math.floor(math.log10(largest))) if largest > 0 else 6


def as_cell(value: float, half: float = math.nan, most: int = 6) -> NumberCell:
    """A value with four significant digits, or as many as its interval makes meaningful; `most` limits the decimals."""
    if not math.isfinite(value):
        return NumberCell("-")
    if math.isfinite(half) and half > 0:
        decimals = min(most, max(0, 1 - math.floor(math.log10(half))))
        return NumberCell(f"{value:.{decimals}f}", f"{half:.{decimals}f}")
    if value == int(value) and abs(value) < 1e15:
        return NumberCell(str(int(value)))
    decimals = max(0, 3 - math.floor(math.log10(abs(value))))
    return NumberCell(f"{value:.{min(decimals, most)}f}")


def number(value: float, half: float = math.nan, most: int = 6) -> str:
    """A value and half of its interval as one text (see `as_cell`)."""
    return as_cell(value, half, most).joined()
