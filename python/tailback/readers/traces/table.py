"""Tables of numbers as people have them: separators, decimal commas, heads, comments, dates, units in cells."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tailback import _core
from tailback.readers.given import LONGEST_LINE, Given
from tailback.readers.reading import ReadError, short

_SEPARATORS = (("semicolons", ";"), ("tabs", "\t"), ("commas", ","), ("spaces", None))
_SAMPLE = 60
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
#: What stands for a value that is missing.
MISSING = frozenset({"", "-", "--", "nan", "na", "n/a", "null", "none", "inf", "?"})
_DATES = ("%Y.%m.%d_%H.%M.%S", "%Y/%m/%d %H:%M:%S", "%d.%m.%Y %H:%M:%S", "%H:%M:%S", "%H:%M:%S.%f", "%Y%m%d%H%M%S")
_MOST_DEPTH = 4


@dataclass(frozen=True)
class Table:
    """Cells as they were written; `names` are empty where there is no head. Rows have their line."""

    names: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    separator: str
    decimal_comma: bool
    #: Rows with another number of cells.
    ragged: tuple[int, ...] = ()

    @property
    def width(self) -> int:
        return len(self.rows[0][1]) if self.rows else 0


def table(given: Given) -> Table | None:
    """The table that a text holds, as text or as JSON; None if it is none."""
    if given.document is not None:
        return _of_json(given.document)
    lines = [(n, line) for n, line in enumerate(given.lines, 1) if line and len(line) < LONGEST_LINE]
    comments = [line.lstrip("#%/ ") for _, line in lines[:20] if line.startswith(("#", "%", "//"))]
    lines = [(n, line) for n, line in lines if not line.startswith(("#", "%", "//"))]
    if not lines:
        return None
    best = max(_SEPARATORS, key=lambda s: _fit([line for _, line in lines[:_SAMPLE]], s[1]))
    if _fit([line for _, line in lines[:_SAMPLE]], best[1]) <= 0:
        return None
    cells = [(n, _split(line, best[1])) for n, line in lines]
    comma = best[1] != "," and any(_DECIMAL_COMMA.fullmatch(c) for _, row in cells[:_SAMPLE] for c in row)
    width = Counter(len(row) for _, row in cells[-_SAMPLE:]).most_common(1)[0][0]
    names: tuple[str, ...] = ()
    if not any(_is_value(c, comma) for c in cells[0][1]):
        names = cells[0][1]
        # `time (s) rate (Mb/s)` has more words than columns.
        names = names if len(names) == width else _joined(lines[0][1], width)
        cells = cells[1:]
    else:
        names = next(
            (n for n in (_split(c, best[1]) for c in comments) if len(n) == width and not _NUMBER.match(n[0])), ()
        )
    rows = tuple((n, row) for n, row in cells if len(row) == width)
    ragged = tuple(n for n, row in cells if len(row) != width)
    return Table(names, rows, best[0], comma, ragged) if rows else None


def _fit(lines: Sequence[str], separator: str | None) -> float:
    """How well lines are cut by it: the share of lines with as many cells as most, and of cells that are values."""
    rows = [_split(line, separator) for line in lines]
    width = Counter(map(len, rows)).most_common(1)[0][0]
    if width < (1 if separator is None else 2):
        return 0.0
    even = [row for row in rows if len(row) == width]
    values = sum(_is_value(c, separator != ",") for row in even for c in row)
    whole = sum(all(_is_value(c, separator != ",") for c in row) for row in even)
    return len(even) / len(rows) * (values + whole) / (width * len(even) + len(even)) + 1e-3 * (width > 1)


def _split(line: str, separator: str | None) -> tuple[str, ...]:
    return tuple(c.strip().strip("\"'") for c in (line.split(separator) if separator else line.split()))


def _joined(head: str, width: int) -> tuple[str, ...]:
    """The names of a head whose units stand apart: `time (s)  rate (Mb/s)`."""
    names = tuple(re.sub(r"\s+", " ", part) for part in re.findall(r"[^\s(\[]+(?:\s*[(\[][^)\]]*[)\]])?", head))
    return names if len(names) == width else ()


def _of_json(document: Any, depth: int = 0) -> Table | None:
    """The first list of objects with numbers."""
    if isinstance(document, list) and document and all(isinstance(row, dict) for row in document):
        names = tuple(k for k, v in document[0].items() if isinstance(v, int | float | str))
        rows = tuple((0, tuple(_cell(row.get(k)) for k in names)) for row in document)
        return Table(names, rows, "JSON", False) if names else None
    if depth < _MOST_DEPTH and isinstance(document, dict):
        found = (_of_json(v, depth + 1) for v in document.values())
        return next((t for t in found if t is not None), None)
    return None


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value) if value is not None else ""


def _is_value(cell: str, decimal_comma: bool = False) -> bool:
    if _NUMBER.match(cell) or cell.lower() in MISSING:
        return True
    return decimal_comma and bool(_DECIMAL_COMMA.match(cell))


def number(cell: str, decimal_comma: bool = False) -> float:
    """A plain number; NaN for anything else."""
    if decimal_comma:
        cell = cell.replace(",", ".")
    return float(cell) if _NUMBER.fullmatch(cell) else math.nan


def seconds(cell: str, unit_s: float, decimal_comma: bool, place: tuple[str, int]) -> float:
    """A time in seconds: a number, an amount with its unit, or a date."""
    value = number(cell, decimal_comma)
    if math.isfinite(value):
        return value * unit_s
    try:
        return float(_core.parse_time(cell))
    except ValueError:
        pass
    at = _date(cell)
    if at is None:
        name, line = place
        raise ReadError(f'"{short(cell)}" is no time', "write a number, such as 0.5, or a date", line, name)
    return at


def _date(cell: str) -> float | None:
    try:
        at = datetime.datetime.fromisoformat(cell)
        return (at if at.tzinfo else at.replace(tzinfo=datetime.UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        pass
    for form in _DATES:
        try:
            at = datetime.datetime.strptime(cell, form)
        except ValueError:
            continue
        return (at - datetime.datetime(1900, 1, 1)).total_seconds()
    return None
