"""The cells: what others measured, from the files of `validation/measured`, with the tolerance of each.

The rules are in `validation/measured/README.md`: measurements of one combination are one cell, whose tolerance is the
source's own repetition, or 15 %.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

MEASURED = Path(__file__).resolve().parents[1] / "measured"
#: A tolerance where the source repeats nothing.
WITHOUT_REPETITION = 0.15
#: Repeatability limit over standard deviation: 95 % of differences of two single measurements (ISO 5725-6).
LIMIT = 2.8
#: So many measurements of one combination say themselves how far they lie apart.
ENOUGH = 3
#: The keys of a table that belong to the scenario: rows of two tables that agree in them are one combination.
SCENARIO = ("setup", "rate", "rtt", "queue", "buffer", "cbr", "duration", "from", "until")


@dataclass
class Cell:
    """A number of a source: what was measured (`row`), how often, and from where to where it reaches."""

    source: str
    table: dict[str, Any]
    row: dict[str, Any]
    figure: str
    values: list[float]
    low: float = math.nan
    high: float = math.nan
    #: What the tolerance is: "range", "repeats", "deviation", "15 %".
    by: str = ""

    @property
    def theirs(self) -> float:
        return fmean(self.values)

    @property
    def name(self) -> str:
        return " ".join([self.table["name"], *(str(value) for value in self.row.values()), self.figure])

    def holds(self, ours: float) -> bool:
        return self.low <= ours <= self.high


@dataclass
class Source:
    """A file of `validation/measured`."""

    key: str
    document: dict[str, Any]
    cells: list[Cell] = field(default_factory=list)

    @property
    def absent(self) -> list[dict[str, str]]:
        absent: list[dict[str, str]] = self.document.get("absent", [])
        return absent


def load(folder: Path = MEASURED) -> list[Source]:
    """All sources with their cells, in the order of their files."""
    sources = []
    for path in sorted(folder.glob("*.toml")):
        source = Source(path.stem, tomllib.loads(path.read_text(encoding="utf-8")))
        found: dict[tuple[Any, ...], Cell] = {}
        for table in source.document["table"]:
            for cell in _cells(source.key, table):
                key = (*(str(table.get(name)) for name in SCENARIO), str(cell.row), cell.figure)
                if key in found:
                    found[key].values += cell.values
                else:
                    found[key] = cell
        source.cells = list(found.values())
        _bound(source.cells)
        sources.append(source)
    return sources


def _cells(source: str, table: dict[str, Any]) -> Iterator[Cell]:
    """The numbers of a table, one cell for each, before those of one combination are put together."""
    for values in table["rows"]:
        row = dict(zip(table["columns"], values, strict=True))
        numbers = {figure: row.pop(figure) for figure in table["figures"]}
        deviation = row.pop("deviation", None)
        for name in ("repository", "commit", *(name for name in row if name.startswith("depth_"))):
            row.pop(name, None)
        for figure, number in _paired(table, row, numbers):
            cell = Cell(source, table, dict(row), figure, [number])
            if deviation is not None:
                cell.low, cell.high = number - deviation, number + deviation
            yield cell


def _paired(table: dict[str, Any], row: dict[str, Any], numbers: dict[str, float]) -> Iterable[tuple[str, float]]:
    """Which number is which: in a symmetric pair the order tells nothing where the round trips are equal."""
    if not table.get("symmetric") or row["rtt_first_ms"] != row["rtt_second_ms"]:
        return numbers.items()
    first, second = numbers.values()
    if row["first"] == row["second"]:
        return [("first_mbps", first), ("first_mbps", second)]
    if row["first"] > row["second"]:
        row["first"], row["second"] = row["second"], row["first"]
        first, second = second, first
    return [("first_mbps", first), ("second_mbps", second)]


def _bound(cells: list[Cell]) -> None:
    """Gives each cell of a source its tolerance."""
    for cell in cells:
        table = cell.table
        if len(cell.values) >= ENOUGH:
            cell.low, cell.high, cell.by = min(cell.values), max(cell.values), "range"
        elif "like" in table:
            reach = max(WITHOUT_REPETITION, _reach(cell, cells)) * abs(cell.theirs)
            cell.low, cell.high, cell.by = cell.theirs - reach, cell.theirs + reach, "repeats"
        elif table["tolerance"] == "repeats":
            limit = LIMIT * _spread(_repeated(each for each in cells if each.table is table))
            cell.low, cell.high, cell.by = cell.theirs - limit, cell.theirs + limit, "repeats"
        elif table["tolerance"] == "deviation" and cell.high > cell.low:
            cell.by = "deviation"
        else:
            reach = WITHOUT_REPETITION * abs(cell.theirs)
            cell.low, cell.high, cell.by = cell.theirs - reach, cell.theirs + reach, "15 %"
        step = table.get("resolution", 0.0)
        cell.low, cell.high = min(cell.low, cell.theirs - step), max(cell.high, cell.theirs + step)


def _reach(cell: Cell, cells: list[Cell]) -> float:
    """Half the range, in proportion to the mean, of the repeated combination that is like this one."""
    keys = cell.table["like"]
    like = [each for each in cells if len(each.values) > 1 and all(each.row[key] == cell.row[key] for key in keys)]
    return max(((max(each.values) - min(each.values)) / 2 / each.theirs for each in like if each.theirs), default=0.0)


def _repeated(cells: Iterable[Cell]) -> Iterator[list[float]]:
    return (cell.values for cell in cells if len(cell.values) > 1)


def _spread(groups: Iterable[list[float]]) -> float:
    """The standard deviation that groups of repeated measurements have in common; there has to be one."""
    squares, freedom = 0.0, 0
    for values in groups:
        mean = fmean(values)
        squares += sum((value - mean) ** 2 for value in values)
        freedom += len(values) - 1
    return math.sqrt(squares / freedom)
