"""The measures of a study. A measure computes one number from the tables of one run and a class of its flows.

Each file of this package has a family of measures, and registers them with `@measure`. Studies name measures in their
data files. Every module of this package is imported and registers itself. A measure of one study only is in the folder
of that study (`study/own.py`).

    @measure("share", "Mean goodput, % of fair share", "%", "mean goodput of the flows over their fair share")
    def share(run: RunView, klass: str) -> float:
        return 100 * float(np.mean(run.goodput(klass))) / run.fair_share_bps
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tailback.study.measures.view import RunView
from tailback.study.registry import Registry

#: The digits after the point, by unit. Other units have three significant digits.
DIGITS = {"%": 1, "Mbit/s": 2, "packets": 0, "1": 3, "s": 2, "flows": 1, "ms": 2, "points": 1}


#: (run, class of flows) -> number; NaN if the run does not have the number.
Compute = Callable[[RunView, str], float]


@dataclass(frozen=True)
class Measure:
    name: str
    title: str
    unit: str
    doc: str
    compute: Compute
    digits: int | None = None

    def on(self, run: RunView, klass: str) -> float:
        """The value on a run. If an experiment without packets gave a number of this name, this number is the value."""
        return run.values[self.name] if self.name in run.values else self.compute(run, klass)

    def show(self, x: float | None) -> str:
        """A value as text, with a precision that suits the unit."""
        if x is None or np.isnan(x):
            return "-"
        if np.isinf(x):
            return "infinite"
        digits = self.digits if self.digits is not None else DIGITS.get(self.unit)
        return f"{x:.3g}" if digits is None else f"{x:.{digits}f}"

    @property
    def label(self) -> str:
        """The title with its unit, for an axis."""
        words = self.title.replace(",", " ").split()
        return self.title if self.unit in ("1", "") or self.unit in words else f"{self.title} ({self.unit})"


MEASURES: Registry[Measure] = Registry(__name__, "measures")


def measure(name: str, title: str, unit: str, doc: str, digits: int | None = None) -> Callable[[Compute], Compute]:
    """Register a measure under a name that no other measure has."""

    def take(compute: Compute) -> Compute:
        MEASURES.add(name, Measure(name, title, unit, doc, compute, digits))
        return compute

    return take


def value(name: str, title: str, unit: str, doc: str, digits: int | None = None) -> None:
    """Register a number that an experiment without packets computes (`tailback.study.computed`)."""
    measure(name, title, unit, doc, digits)(lambda run, klass: run.values.get(name, float("nan")))


MEASURES.load()

__all__ = ["DIGITS", "MEASURES", "Measure", "RunView", "measure", "value"]
