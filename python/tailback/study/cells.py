"""A published cell with its tolerance, and tables of cells printed beside ours.

A deviation that is not printed is below 0.005, and counts as 0.005 in class B, because no more is known of it.
Statistics are over intervals: the mean of the interval means, and their sample standard deviation. With several seeds,
the intervals of all seeds count. `data/published.py` has the form of cells in a file.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tailback.core.text.terminal import GAP, columns

#: The tolerance of a class A cell, in packets/s, and in s for delays.
EXACT = {"delay": 0.03}
EXACT_RATE = 0.02
#: The tolerance of class B if the table gives none.
TOLERANCE = 0.10
#: Values below this are not printed.
SMALLEST = 0.005
#: A cell that differs by more than this share of the published value leans, even if its class allows more.
LOOSE = 0.25
CLASSES = "ABQD"
#: The class of a cell that is damaged in print, so that it cannot be compared.
DAMAGED = "D"


@dataclass(frozen=True)
class Cell:
    """One published value and its tolerance."""

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
        return self.grade == DAMAGED or abs(mean - self.mean) <= self.allowed + 1e-9

    def leans(self, mean: float) -> bool:
        """Whether the difference is within the tolerance of the class, but larger than a quarter of the published value
        and larger than values that are not printed."""
        loose = abs(mean - self.mean) > max(LOOSE * self.mean, SMALLEST) + 1e-9
        return loose and self.grade not in ("A", DAMAGED) and self.meets(mean)

    @property
    def why(self) -> str:
        """The rule, in words."""
        if self.grade == DAMAGED:
            return f"{DAMAGED}: damaged in print"
        if self.grade == "A":
            return f"A: within {self.allowed:.2f}"
        return f"{self.grade}: within {self.allowed:.3g}"


def show(mean: float | None, sd: float | None = None) -> str:
    """`mean (sd)` as the chapter prints it: two decimals, no deviation below 0.005, and 0 for values below 0.005."""
    if mean is None or math.isnan(mean):
        return "-"
    text = "0" if abs(mean) < SMALLEST else f"{mean:.2f}"
    return text if sd is None or math.isnan(sd) or sd < SMALLEST else f"{text} ({sd:.2f})"


def statistics(values: np.ndarray) -> tuple[float, float]:
    """The mean of interval means, and their sample standard deviation (NaN for fewer than two)."""
    if len(values) == 0:
        return math.nan, math.nan
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else math.nan


# ----------------------------------------------------------------------------------------------------------- printing

#: The signs behind a cell outside of its tolerance, a cell that is only compared and differs, and a cell that leans.
MISS, DIFFERS, LEANING = "!", "?", "~"
LEGEND = (
    f"{MISS} outside what its class allows   {LEANING} within it, but more than {100 * LOOSE:g} % off   "
    f"{DIFFERS} differs, but is ruled by phase: only compared"
)


def mark(cell: Cell | None, mean: float, compared: bool) -> str:
    """The text behind a measured value."""
    if cell is None:
        return ""
    if cell.meets(mean):
        return LEANING if cell.leans(mean) else ""
    return DIFFERS if compared or cell.grade == "Q" else MISS


@dataclass
class Table:
    """One metric of one scenario: published and ours, rows by pair, columns by source."""

    title: str
    sources: list[str]
    #: (pair, published texts or None, our texts)
    rows: list[tuple[str, list[str] | None, list[str]]]

    @property
    def empty(self) -> bool:
        """Whether all cells are 0, published and ours."""
        return all(x in ("0", "-") for _, theirs, ours in self.rows for x in [*(theirs or []), *ours])

    def text(self, width: int = 80) -> str:
        """The table for a terminal: as many sources side by side as fit, and the others below."""
        if self.empty:
            reason = "as published" if any(t for _, t, _ in self.rows) else "nothing is published"
            return f"{self.title}: 0 for all sources and pairs ({reason})"
        label = max(len(p) for p, _, _ in self.rows)
        lead = label + GAP + len("published") + GAP
        widest = max(len(x) for _, theirs, ours in self.rows for x in [*(theirs or []), *ours, *self.sources]) + GAP
        columns_fitting = max(1, (width - lead) // widest)
        return "\n".join(
            self._block(slice(start, start + columns_fitting), several=len(self.sources) > columns_fitting)
            for start in range(0, len(self.sources), columns_fitting)
        )

    def _block(self, part: slice, several: bool) -> str:
        """The sources of one stretch of columns."""
        # A block of zeros is left out.
        cells = [x for _, theirs, ours in self.rows for x in [*(theirs or [])[part], *ours[part]]]
        if several and all(x in ("0", "-") for x in cells):
            return f"{', '.join(self.sources[part])}: 0 throughout"
        rows = [["", "", *self.sources[part]]]
        for pair, theirs, ours in self.rows:
            if theirs is not None:
                rows.append([pair, "published", *theirs[part]])
                pair = ""
            rows.append([pair, "tailback", *ours[part]])
        return "\n".join([self.title, *columns(rows)])
