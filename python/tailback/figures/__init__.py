"""Figures of a study, one file a kind or family, each registered by the `kind` an experiment's output names.

    @figure("curves")
    def curves(d: Drawing) -> Figure | None: ...

`Drawing` has the study, the experiment, the output's table, the mode and the samples. A kind that finds nothing to draw
answers None; one that makes several figures answers a list of (caption, figure). A new file of this package is found by
being there. The generic helpers that take plain arrays are in `tailback.plots`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailback.measures import RunView
from tailback.samples import Samples
from tailback.study import Axis, Experiment, Point, Runs, Study


@dataclass
class Drawing:
    """What a figure is made from."""

    study: Study
    experiment: Experiment
    #: the [[experiment.output]] table
    output: dict
    mode: str
    samples: Samples

    def points(self, where: dict | None = None) -> list[tuple[Runs, Point]]:
        """(set of runs, point) of the experiment, and of the output's own `runs` and `where`, in order."""
        return selected(self.study, self.experiment, self.mode, self.output, where)

    def get(self, runs: Runs, point: Point, klass: str, measure: str) -> np.ndarray | None:
        return self.samples.get(runs.name, point.key, klass, measure)

    def view(self, runs: Runs, point: Point, replication: int = 0) -> RunView | None:
        return self.samples.view(runs.name, point.key, replication)

    def title(self, discipline: str) -> str:
        return self.study.discipline_title(discipline)


def selected(
    study: Study, e: Experiment, mode: str, output: dict | None = None, where: dict | None = None
) -> list[tuple[Runs, Point]]:
    """(set of runs, point) of an experiment, narrowed by an output's `runs` and `where`."""
    from tailback.study import matches

    output = output or {}
    names = output.get("runs", e.runs)
    names = [names] if isinstance(names, str) else names
    found = [(study.runs[n], p) for n in names for p in study.runs[n].points(mode, [e.where])]
    for w in (output.get("where"), where):
        if w:
            found = [(r, p) for r, p in found if matches(p.labels, w)]
    return found


def named(axis: Axis, label: str) -> str:
    """A value of an axis, for a title: "100 flows", "Buffer 800 packets"."""
    if axis.title in ("Flows", "Queues"):
        return f"{label} {axis.title.lower()}"
    return f"{axis.title} {label} {axis.unit}".strip()


FIGURES: dict[str, Callable[[Drawing], Any]] = {}


def figure(kind: str):
    """Register a kind of figure under a name that no other has."""

    def take(f):
        if kind in FIGURES:
            raise ValueError(f'two kinds of figures are called "{kind}"')
        FIGURES[kind] = f
        return f

    return take


def load() -> dict[str, Callable[[Drawing], Any]]:
    """Every kind; drawing needs matplotlib, which takes its time, so this is asked for only when something is drawn."""
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        importlib.import_module(f"{__name__}.{module}")
    return FIGURES
