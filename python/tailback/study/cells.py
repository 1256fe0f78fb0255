"""Published tables by cell: how they are written, what each cell allows, and how ours are printed beside them.

A study may hold, in `published.toml`, tables such as

    [cells.scenario-2]
    sources = ["FTP", "FTP", "Telnet"]      # titles; source n is flow n of the scenario
    class = "B"
    none = ["drops"]                        # metrics that are 0 in every cell
    [cells.scenario-2.g-fq]                 # a row for each pair (an axis of disciplines) ...
    throughput = "1.46 (0.18), 1.66 (0.10), 0.20 (0.03) A"      # ... and metric, a cell for each source

Each cell is `mean` or `mean (sd)`, and behind it its class where that is not the row's:

    A   deterministic: within 0.02 packets/s, and 0.03 s
    B   statistical: within three published standard deviations of the published mean, or within `tolerance` (10 %)
    Q   not judged cell by cell; compared as B would be
    -   nothing is published

A deviation that is not printed is below 0.005, and counts as 0.005 in class B: that is all that is known of it.
Statistics over intervals: the mean of the interval means and their sample standard deviation; with several seeds the
intervals of all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Allowed distance of a class A cell: packets/s, and s for delays.
EXACT = {"delay": 0.03}
EXACT_RATE = 0.02
#: Of class B where the table says nothing.
TOLERANCE = 0.10
#: What is not printed.
SMALLEST = 0.005
CLASSES = "ABQ"

_CELL = re.compile(r"(?P<mean>\d+(?:\.\d+)?)\s*(?:\((?P<sd>\d+(?:\.\d+)?)\))?\s*(?P<grade>[ABQ])?")
#: Keys of a table or a row that are no metric and no pair.
_SAID = {"sources", "class", "none", "tolerance", "runs", "experiment", "title", "explain", "metrics", "unit"}


class CellError(ValueError):
    """A cell, row or table that cannot be read; the message names it."""


@dataclass(frozen=True)
class Cell:
    """One published value, and what is allowed around it."""

    mean: float
    sd: float | None
    grade: str
    #: share of the mean that class B allows
    tolerance: float
    metric: str

    @property
    def allowed(self) -> float:
        if self.grade == "A":
            return EXACT.get(self.metric, EXACT_RATE)
        return max(3 * max(self.sd or 0.0, SMALLEST), self.tolerance * self.mean)

    def meets(self, mean: float) -> bool:
        return abs(mean - self.mean) <= self.allowed + 1e-9

    @property
    def why(self) -> str:
        """The rule, in words."""
        if self.grade == "A":
            return f"A: within {self.allowed:.2f}"
        return f"{self.grade}: within {self.allowed:.3g}"


def show(mean: float | None, sd: float | None = None) -> str:
    """`mean (sd)` as the chapter prints it: two decimals, no deviation below 0.005, 0 for what is 0.0."""
    if mean is None or math.isnan(mean):
        return "-"
    text = "0" if abs(mean) < SMALLEST else f"{mean:.2f}"
    return text if sd is None or math.isnan(sd) or sd < SMALLEST else f"{text} ({sd:.2f})"


def statistics(values: np.ndarray) -> tuple[float, float]:
    """Mean of interval means and their sample standard deviation (NaN for fewer than two)."""
    if len(values) == 0:
        return math.nan, math.nan
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else math.nan


def numbers(tables: dict[str, Any], where: str) -> list[dict[str, Any]]:
    """The cells of `[cells.*]` as published numbers for the rule `cell`, in order.

    # Errors
    `CellError` for a cell that cannot be read, a row with another number of cells than sources, an unknown class.
    """
    found = []
    for name, table in tables.items():
        at = f"{where}, [cells.{name}]"
        sources, experiment, runs = table["sources"], table.get("experiment", name), table.get("runs", name)
        pairs = [k for k in table if k not in _SAID]
        for pair in pairs:
            row = table[pair]
            metrics = {k: v for k, v in row.items() if k not in _SAID}
            metrics |= {m: ", ".join(["0"] * len(sources)) for m in table.get("none", [])}
            for metric, text in metrics.items():
                texts = [t.strip() for t in text.split(",")]
                if len(texts) != len(sources):
                    raise CellError(f"{at}, {pair}, {metric}: {len(texts)} cells for {len(sources)} sources")
                for i, t in enumerate(texts):
                    cell = _cell(t, metric, i, row, table, f"{at}, {pair}, {metric}")
                    if cell is None:
                        continue
                    found.append(
                        {
                            "id": f"{name}/{pair}/{metric}/{i + 1}",
                            "rule": "cell",
                            "experiment": experiment,
                            "runs": runs,
                            "table": name,
                            "queue": pair,
                            "class": str(i + 1),
                            "title": sources[i],
                            "metric": metric,
                            "cell": cell,
                            "gate": cell.grade != "Q",
                            "explanation": _explanation(table.get("explain", []), pair, metric, i + 1),
                        }
                    )
    return found


def _cell(text: str, metric: str, index: int, row: dict, table: dict, at: str) -> Cell | None:
    if text == "-":
        return None
    m = _CELL.fullmatch(text)
    if m is None:
        raise CellError(f'{at}: "{text}" is no cell; write "1.66", "1.66 (0.10)" or "1.66 (0.10) B"')
    grade = m["grade"] or row.get("class") or table.get("class")
    if grade not in tuple(CLASSES):
        raise CellError(f'{at}: cell "{text}" has no class; write one of {", ".join(CLASSES)} behind it or in the row')
    t = row.get("tolerance", table.get("tolerance", TOLERANCE))
    if isinstance(t, dict):
        t = t.get(metric, TOLERANCE)
    if isinstance(t, list):
        t = t[index]
    return Cell(float(m["mean"]), float(m["sd"]) if m["sd"] else None, grade, float(t), metric)


def _explanation(given: list[dict], pair: str, metric: str, source: int) -> str:
    """The first explanation that is about this cell; `pairs`, `metrics` and `sources` narrow it."""
    for e in given:
        mine = {"pairs": pair, "metrics": metric, "sources": source}
        if all(x in e.get(key, [x]) for key, x in mine.items()):
            return e["text"]
    return ""


# ----------------------------------------------------------------------------------------------------------- printing

#: Behind a cell that is outside what its class allows, and one that is only compared and differs.
MISS, DIFFERS = "!", "?"
LEGEND = f"{MISS} outside what its class allows   {DIFFERS} differs, but is ruled by phase: only compared"


@dataclass
class Table:
    """One metric of one scenario: published and ours, rows by pair, columns by source."""

    title: str
    sources: list[str]
    #: (pair, published texts or None, our texts)
    rows: list[tuple[str, list[str] | None, list[str]]]

    @property
    def empty(self) -> bool:
        """All of it is 0, published and ours."""
        return all(x in ("0", "-") for _, theirs, ours in self.rows for x in [*(theirs or []), *ours])

    def text(self, width: int = 80) -> str:
        """For a terminal: as many sources side by side as fit, the others below."""
        if self.empty:
            said = "as published" if any(t for _, t, _ in self.rows) else "nothing is published"
            return f"{self.title}: 0 for all sources and pairs ({said})"
        label = max(len(p) for p, _, _ in self.rows)
        lead = label + 2 + len("published") + 2
        wide = max(len(x) for _, theirs, ours in self.rows for x in [*(theirs or []), *ours, *self.sources]) + 2
        most = max(1, (width - lead) // wide)
        blocks = []
        for start in range(0, len(self.sources), most):
            part = slice(start, start + most)
            # A block of zeros says nothing.
            cells = [x for _, theirs, ours in self.rows for x in [*(theirs or [])[part], *ours[part]]]
            if len(self.sources) > most and all(x in ("0", "-") for x in cells):
                blocks.append(f"{', '.join(self.sources[part])}: 0 throughout")
                continue
            lines = [self.title.ljust(lead) if len(self.title) < lead else self.title]
            heads = "".join(s.ljust(wide) for s in self.sources[part])
            lines = [lines[0] + heads] if len(self.title) < lead else [self.title, " " * lead + heads]
            for pair, theirs, ours in self.rows:
                name = pair.ljust(label + 2)
                if theirs is not None:
                    lines.append(name + "published  " + "".join(x.ljust(wide) for x in theirs[part]))
                    name = " " * len(name)
                lines.append(name + "tailback   " + "".join(x.ljust(wide) for x in ours[part]))
            blocks.append("\n".join(x.rstrip() for x in lines))
        return "\n".join(blocks)


def joined(texts: Sequence[str]) -> str:
    return "\n\n".join(t for t in texts if t)
