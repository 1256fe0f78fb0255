"""Cells beside what came out here: the runs, their storage, and the counts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tailback as tb

from .cells import Cell, Source
from .setups import SETUPS

STORED = Path(__file__).resolve().parents[1] / "measured" / "results.json"
SEEDS = 10
#: No source counts for more than this share of all cells.
MOST = 1 / 3


@dataclass(frozen=True)
class Verdict:
    """A cell, and what came out here."""

    cell: Cell
    ours: float

    @property
    def inside(self) -> bool:
        return self.cell.holds(self.ours)

    @property
    def ratio(self) -> float:
        return self.ours / self.cell.theirs if self.cell.theirs else float("nan")


def measure(sources: Iterable[Source], seeds: int, told: Callable[[str], None]) -> dict[str, dict[str, float]]:
    """Runs every scenario once for each seed; by source, what came out for each cell."""
    measured: dict[str, dict[str, float]] = {}
    for source in sources:
        runs: dict[str, tb.Result] = {}
        found = measured.setdefault(source.key, {})
        for number, cell in enumerate(source.cells):
            setup = SETUPS[cell.table["setup"]](cell.table, cell.row)
            document = json.dumps(setup.scenario, sort_keys=True)
            if document not in runs:
                runs = {document: tb.run(setup.scenario, replications=max(seeds, cell.table.get("seeds", 0)))}
            found[cell.name] = round(setup.read(runs[document])[cell.figure], 6)
            if number % 50 == 0:
                told(f"{source.key}: {number} of {len(source.cells)} cells")
    return measured


def store(measured: dict[str, dict[str, float]], seeds: int) -> None:
    """Keeps what came out; the page is made from it."""
    lines = []
    for source, cells in measured.items():
        rows = ",\n".join(f"{json.dumps(name)}: {value}" for name, value in cells.items())
        lines.append(f"{json.dumps(source)}: {{\n{rows}\n}}")
    head = f'{{"command": "python validation/measured_by_others.py", "seeds": {seeds}, "measured": {{\n'
    STORED.write_text(head + ",\n".join(lines) + "\n}}\n", encoding="utf-8")


def stored() -> tuple[dict[str, dict[str, float]], int]:
    """What the last whole run found, and over how many seeds."""
    document: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return document["measured"], document["seeds"]


def judge(sources: Iterable[Source], measured: dict[str, dict[str, float]]) -> dict[str, list[Verdict]]:
    """By source, a verdict for each cell. KeyError for a cell that was not run."""
    return {source.key: [Verdict(cell, measured[source.key][cell.name]) for cell in source.cells] for source in sources}


@dataclass(frozen=True)
class Count:
    """How many cells count, and how many of them are inside; a table of a fair queue is one cell."""

    cells: int
    inside: int


def count(verdicts: Iterable[Verdict]) -> Count:
    tables: dict[str, bool] = {}
    single = []
    for verdict in verdicts:
        table = verdict.cell.table
        if table.get("one_figure"):
            tables[table["name"]] = tables.get(table["name"], True) and verdict.inside
        else:
            single.append(verdict.inside)
    counted = [*tables.values(), *single]
    return Count(len(counted), sum(counted))


def weighted(counts: Iterable[Count]) -> float:
    """The share inside, with larger sources weighted down until none has more than a third of all weight."""
    counts = list(counts)
    weights = [float(each.cells) for each in counts]
    for _ in range(100):
        limit = MOST * sum(weights)
        weights = [min(weight, limit) for weight in weights]
    return sum(w * each.inside / each.cells for w, each in zip(weights, counts, strict=True)) / sum(weights)
