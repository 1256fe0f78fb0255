"""Reads the published numbers of a study, single numbers or tables of cells: `published.toml`.

A number is a `[[number]]` with a tolerance, or with `rule = "band"`; several may share keys (`groups.py`). An example
of a table is

    [cells.scenario-2]
    sources = ["FTP", "FTP", "Telnet"]      # titles; source n is flow n of the scenario
    class = "B"
    none = ["drops"]                        # metrics that are 0 in every cell
    [cells.scenario-2.g-fq]                 # a row for each pair (an axis of disciplines) ...
    throughput = "1.46 (0.18), 1.66 (0.10), 0.20 (0.03) A"      # ... and metric, a cell for each source

Each cell is `mean` or `mean (sd)`, followed by its class if this is not the row's class:

    A   deterministic: within 0.02 packets/s, and 0.03 s
    B   statistical: within three published standard deviations of the published mean, or within `tolerance` (10 %)
    Q   not judged cell by cell; compared as B would be
    -   nothing is published
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from tailback.study.cells import CLASSES, TOLERANCE, Cell
from tailback.study.checks.band import Band
from tailback.study.checks.base import Published
from tailback.study.checks.cell import CellNumber
from tailback.study.checks.number import MeasuredNumber, Number
from tailback.study.data.files import PublishedFile, Table, read_table
from tailback.study.data.groups import StudyRow, rows
from tailback.study.errors import StudyError

#: The kinds of `[[number]]`, by their `rule`.
RULES: dict[str, type[MeasuredNumber]] = {"": Number, "band": Band}

_CELL = re.compile(r"(?P<mean>\d+(?:\.\d+)?)\s*(?:\((?P<sd>\d+(?:\.\d+)?)\))?\s*(?P<grade>[ABQD])?")
#: The keys of a row except its metrics.
_ROW = ("class", "tolerance")

Tolerance = float | list[float] | dict[str, float | list[float]]


class Explanation(Table, kw_only=True, frozen=True):
    """Why cells are missed; `pairs`, `metrics` and `sources` narrow which."""

    text: str
    pairs: list[str] | None = None
    metrics: list[str] | None = None
    sources: list[int] | None = None

    def is_about(self, pair: str, metric: str, source: int) -> bool:
        conditions = ((self.pairs, pair), (self.metrics, metric), (self.sources, source))
        return all(some is None or x in some for some, x in conditions)


class CellsTable(Table, kw_only=True, frozen=True):
    """[cells.NAME], without its rows."""

    sources: list[str]
    class_: str | None = msgspec.field(name="class", default=None)
    none: list[str] = []
    tolerance: Tolerance = TOLERANCE
    runs: str | None = None
    experiment: str | None = None
    explain: list[Explanation] = []

    def explanation(self, pair: str, metric: str, source: int) -> str:
        """The first explanation for this cell."""
        return next((e.text for e in self.explain if e.is_about(pair, metric, source)), "")


def read_published(part: dict[str, Any], file: Path | str) -> list[Published]:
    """All numbers of one file, in order. Raises `StudyError`."""
    t = read_table(PublishedFile, part, file)
    published_numbers: list[Published] = [_number(row, file) for row in rows(t.number, "number", file)]
    for name, table in t.cells.items():
        published_numbers += _cells(name, table, file)
    return published_numbers


def _number(row: StudyRow, file: Path | str) -> MeasuredNumber:
    rule = row.table.get("rule", "")
    if rule not in RULES:
        names = ", ".join(sorted(r for r in RULES if r))
        raise StudyError(f'{file}: {row.place("rule")} = "{rule}": there is no such rule; there are {names}')
    return row.read(RULES[rule], file)


def _cells(name: str, table: dict[str, Any], file: Path | str) -> list[CellNumber]:
    """The cells of one table. Raises `StudyError` for a cell that cannot be read or has no class."""
    place = f"{file}, [cells.{name}]"
    columns = {f.encode_name for f in msgspec.structs.fields(CellsTable)}
    by_pair = {k: v for k, v in table.items() if k not in columns and isinstance(v, dict)}
    cells_table = read_table(CellsTable, {k: v for k, v in table.items() if k not in by_pair}, file, f"cells.{name}")
    cell_numbers = []
    for pair, row in by_pair.items():
        metrics = {k: v for k, v in row.items() if k not in _ROW}
        metrics |= {m: ", ".join(["0"] * len(cells_table.sources)) for m in cells_table.none}
        for metric, text in metrics.items():
            texts = [x.strip() for x in text.split(",")]
            if len(texts) != len(cells_table.sources):
                raise StudyError(
                    f"{place}, {pair}, {metric}: {len(texts)} cells for {len(cells_table.sources)} sources"
                )
            for i, x in enumerate(texts):
                cell = _cell(x, metric, i, row, cells_table, f"{place}, {pair}, {metric}")
                if cell is not None:
                    cell_numbers.append(_published(name, cells_table, pair, i + 1, cell))
    return cell_numbers


def _published(name: str, t: CellsTable, pair: str, source: int, cell: Cell) -> CellNumber:
    return CellNumber(
        id=f"{name}/{pair}/{cell.metric}/{source}",
        experiment=t.experiment or name,
        runs=t.runs or name,
        queue=pair,
        gate=cell.grade != "Q",
        explanation=t.explanation(pair, cell.metric, source),
        table=name,
        class_=str(source),
        title=t.sources[source - 1],
        metric=cell.metric,
        cell=cell,
    )


def _cell(text: str, metric: str, index: int, row: dict[str, Any], table: CellsTable, at: str) -> Cell | None:
    if text == "-":
        return None
    match = _CELL.fullmatch(text)
    if match is None:
        raise StudyError(f'{at}: "{text}" is no cell; write "1.66", "1.66 (0.10)" or "1.66 (0.10) B"')
    grade = match["grade"] or row.get("class") or table.class_
    if grade not in tuple(CLASSES):
        raise StudyError(f'{at}: cell "{text}" has no class; write one of {", ".join(CLASSES)} after it or in the row')
    t = row.get("tolerance", table.tolerance)
    if isinstance(t, dict):
        t = t.get(metric, TOLERANCE)
    if isinstance(t, list):
        t = t[index]
    return Cell(float(match["mean"]), float(match["sd"]) if match["sd"] else None, grade, float(t), metric)
