"""Draws the figures of a study. Each kind or family has one file, and is registered by the `kind` of an experiment's
output.

    @figure("curves")
    def curves(d: Drawing) -> Figure | None: ...

`Drawing` has the study, the experiment, the output's table, the mode and the samples. A kind with nothing to draw
returns None, and a kind with several figures returns a list of (caption, figure). Every module of this package is
imported and registers itself. A kind of one study only is in the folder of that study (`study/own.py`). The generic
helpers that take plain arrays are in `tailback.plots`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tailback.study.measures import RunView
from tailback.study.model import Axis, Experiment, Point, Runs
from tailback.study.registry import Registry
from tailback.study.samples import Samples
from tailback.study.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    #: The result of a kind of figure: None, one figure, or several with their captions.
    Drawn = Figure | None | list[tuple[str, Figure]]


@dataclass
class Drawing:
    """The data of a figure."""

    study: Study
    experiment: Experiment
    #: the [[experiment.output]] table
    output: dict[str, Any]
    mode: str
    samples: Samples

    def points(self, where: dict[str, Any] | None = None) -> list[tuple[Runs, Point]]:
        """(set of runs, point) of the experiment, narrowed by the output's own `runs` and `where`, in order."""
        return selected(self.study, self.experiment, self.mode, self.output, where)

    def get(self, runs: Runs, point: Point, klass: str, measure: str) -> np.ndarray | None:
        return self.samples.get(runs.name, point.key, klass, measure)

    def view(self, runs: Runs, point: Point, replication: int = 0) -> RunView | None:
        return self.samples.view(runs.name, point.key, replication)

    def title(self, discipline: str) -> str:
        return self.study.discipline_title(discipline)


def selected(
    study: Study, e: Experiment, mode: str, output: dict[str, Any] | None = None, where: dict[str, Any] | None = None
) -> list[tuple[Runs, Point]]:
    """(set of runs, point) of an experiment, narrowed by an output's `runs` and `where`."""
    from tailback.study.model import matches

    output = output or {}
    names = output.get("runs", e.runs)
    names = [names] if isinstance(names, str) else names
    points = [(study.runs[n], p) for n in names for p in study.runs[n].points(mode, [e.where])]
    for w in (output.get("where"), where):
        if w:
            points = [(r, p) for r, p in points if matches(p.labels, w)]
    return points


def named(axis: Axis, label: str) -> str:
    """A value of an axis, for a title: "100 flows", "Buffer 800 packets"."""
    if axis.title in ("Flows", "Queues"):
        return f"{label} {axis.title.lower()}"
    return f"{axis.title} {label} {axis.unit}".strip()


#: kind -> (drawing) -> figure. Drawing needs matplotlib, whose import takes long, so `load` is called only when
#: something is drawn.
FIGURES: Registry[Callable[[Drawing], Drawn]] = Registry(__name__, "kinds of figures")
figure = FIGURES.named
load = FIGURES.load
