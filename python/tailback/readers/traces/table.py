"""Reads tables of numbers with various separators, decimal commas, headers, comments, dates, and units in cells."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tailback import _core
from tailback.readers.given import LONGEST_LINE, Given
from tailback.readers.reading import ReadError, short

_SEPARATORS = (("semicolons", ";"), ("tabs", "\t"), ("commas", ","), ("spaces", None))
_SAMPLE = 60
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
#: A number with or without a unit, and the beginning of a date or a time of day.
_AMOUNT = re.compile(rf"(?:{_NUMBER.pattern})\s?[A-Za-z/%µ]*")
_DATE = re.compile(r"\d{4}[-/.]\d\d?[-/.]\d|\d\d?[./]\d\d?[./]\d{4}|\d\d?:\d\d")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
#: Texts that stand for a missing value.
MISSING = frozenset({"", "-", "--", "nan", "na", "n/a", "null", "none", "inf", "?"})
_DATES = ("%Y.%m.%d_%H.%M.%S", "%Y/%m/%d %H:%M:%S", "%d.%m.%Y %H:%M:%S", "%H:%M:%S", "%H:%M:%S.%f", "%Y%m%d%H%M%S")
_MOST_DEPTH = 4
#: The column names of OpenNetLab's gym for AlphaRTC, and their units.
_PATTERN = {"duration": "duration_ms", "capacity": "capacity_kbps"}
#: The name of a time zone that may follow a date. The time zone is ignored, since only differences of times count.
_ZONE = re.compile(r"(?<=\d) ?[A-Z]{2,5}$")


@dataclass(frozen=True)
class Table:
    """The cells as text, with the line of each row. `names` is empty if there is no header."""

    names: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    separator: str
    decimal_comma: bool
    #: Rows with a different number of cells.
    ragged: tuple[int, ...] = ()

    @property
    def width(self) -> int:
        return len(self.rows[0][1]) if self.rows else 0


def table(given: Given) -> Table | None:
    """The table of a text or of JSON; None if there is no table."""
    if given.document is not None:
        return _of_json(given.document)
    numbered_lines = [(n, line) for n, line in enumerate(given.lines, 1) if line and len(line) < LONGEST_LINE]
    comments = [line.lstrip("#%/ ") for _, line in numbered_lines[:20] if line.startswith(("#", "%", "//"))]
    numbered_lines = [(n, line) for n, line in numbered_lines if not line.startswith(("#", "%", "//"))]
    if not numbered_lines:
        return None
    best = max(_SEPARATORS, key=lambda s: _fit([line for _, line in numbered_lines[:_SAMPLE]], s[1]))
    if _fit([line for _, line in numbered_lines[:_SAMPLE]], best[1]) <= 0:
        return None
    cells = [(n, _split(line, best[1])) for n, line in numbered_lines]
    comma = best[1] != "," and any(_DECIMAL_COMMA.fullmatch(c) for _, row in cells[:_SAMPLE] for c in row)
    width = Counter(len(row) for _, row in cells[-_SAMPLE:]).most_common(1)[0][0]
    names: tuple[str, ...] = ()
    if not any(_is_value(c, comma) for c in cells[0][1]):
        names = cells[0][1]
        # `time (s) rate (Mb/s)` has more words than columns.
        names = names if len(names) == width else _joined(numbered_lines[0][1], width)
        cells = cells[1:]
    else:
        names = next(
            (n for n in (_split(c, best[1]) for c in comments) if len(n) == width and not _NUMBER.match(n[0])), ()
        )
    rows = tuple((n, row) for n, row in cells if len(row) == width)
    ragged_lines = tuple(n for n, row in cells if len(row) != width)
    return Table(names, rows, best[0], comma, ragged_lines) if rows else None


def _fit(lines: Sequence[str], separator: str | None) -> float:
    """How well a separator fits: the share of lines with the most common number of cells, and the share of cells that
    are values."""
    rows = [_split(line, separator) for line in lines]
    width = Counter(map(len, rows)).most_common(1)[0][0]
    if width < (1 if separator is None else 2):
        return 0.0
    even = [row for row in rows if len(row) == width]
    value_count = sum(_is_value(c, separator != ",") for row in even for c in row)
    whole_rows = sum(all(_is_value(c, separator != ",") for c in row) for row in even)
    share = len(even) / len(rows) * (value_count + whole_rows) / (width * len(even) + len(even))
    # `1,5` in each line is more likely two columns than one with a decimal comma.
    return share if width > 1 else share / 2


def _split(line: str, separator: str | None) -> tuple[str, ...]:
    return tuple(c.strip().strip("\"'") for c in (line.split(separator) if separator else line.split()))


def _joined(head: str, width: int) -> tuple[str, ...]:
    """The names of a header whose units are separate words: `time (s) rate (Mb/s)`."""
    names = tuple(re.sub(r"\s+", " ", part) for part in re.findall(r"[^\s(\[]+(?:\s*[(\[][^)\]]*[)\]])?", head))
    return names if len(names) == width else ()


def _of_json(document: Any, depth: int = 0) -> Table | None:
    """The first list of objects with numbers, or else the first lists of numbers with the same length in one object."""
    if isinstance(document, list) and document and all(isinstance(row, dict) for row in document):
        keys = tuple(k for k, v in document[0].items() if isinstance(v, int | float | str))
        rows = tuple((0, tuple(_cell(row.get(k)) for k in keys)) for row in document)
        return Table(tuple(map(str, keys)), rows, "JSON", False) if keys else None
    if depth >= _MOST_DEPTH or not isinstance(document, dict):
        return None
    lists = {k: v for k, v in document.items() if isinstance(v, list) and len(v) > 1 and _are_numbers(v)}
    longest = max(map(len, lists.values()), default=0)
    longest_lists = {k: v for k, v in lists.items() if len(v) == longest}
    if len(longest_lists) > 1:
        return Table(
            tuple(map(str, longest_lists)),
            tuple((0, tuple(map(_cell, row))) for row in zip(*longest_lists.values(), strict=True)),
            "JSON",
            False,
        )
    for key, value in document.items():
        if (table_found := _of_json(value, depth + 1)) is not None:
            return (
                replace(table_found, names=tuple(_PATTERN.get(n, n) for n in table_found.names))
                if key == "trace_pattern"
                else table_found
            )
    return None


def _are_numbers(values: list[Any]) -> bool:
    return all(isinstance(v, int | float) for v in values)


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value) if value is not None else ""


def _is_value(cell: str, decimal_comma: bool = False) -> bool:
    if decimal_comma and cell.count(",") == 1:
        cell = cell.replace(",", ".")
    return bool(_AMOUNT.fullmatch(cell) or _DATE.match(cell)) or cell.lower() in MISSING


def number(cell: str, decimal_comma: bool = False) -> float:
    """A plain number; NaN for anything else."""
    if decimal_comma:
        cell = cell.replace(",", ".")
    return float(cell) if _NUMBER.fullmatch(cell) else math.nan


def seconds(cell: str, unit_s: float, decimal_comma: bool, place: tuple[str, int]) -> float:
    """A time in seconds: a number, an amount with its unit, or a date."""
    amount = number(cell, decimal_comma)
    if math.isfinite(amount):
        return amount * unit_s
    try:
        return float(_core.parse_time(cell))
    except ValueError:
        pass
    at_s = _date(cell)
    if at_s is None:
        name, line = place
        raise ReadError(f'"{short(cell)}" is no time', "write a number, such as 0.5, or a date", line, name)
    return at_s


def _date(cell: str) -> float | None:
    cell = _ZONE.sub("", cell)
    try:
        instant = datetime.datetime.fromisoformat(cell)
        return (instant if instant.tzinfo else instant.replace(tzinfo=datetime.UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        pass
    for form in _DATES:
        try:
            instant = datetime.datetime.strptime(cell, form)
        except ValueError:
            continue
        return (instant - datetime.datetime(1900, 1, 1)).total_seconds()
    return None
