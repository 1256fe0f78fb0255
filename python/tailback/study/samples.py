"""The measured values of a study. A set of runs, a point, a class of flows and a measure have one number for each seed.

Only numbers are kept in memory: the tables of a run are measured when the run ends, and then dropped. Figures of a
series or a log use the view of the run that they draw.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tailback.core.store.sources import RunSource
from tailback.study.measures import MEASURES, RunView
from tailback.study.model import Runs

Key = tuple[str, tuple[str, ...], str, str]
#: A set of runs, and the labels of a point of it in the order of the set's axes.
RunsPoint = tuple[str, tuple[str, ...]]


def view_of(runs: Runs, labels: dict[str, str], seed: int, source: RunSource) -> RunView:
    """A run of a set, at a point with these labels."""
    return RunView(
        source,
        labels=labels,
        fair_share_bps=runs.fair_share_of(labels),
        link=runs.link,
        buffer=runs.buffer_of(tuple(labels.values())),
        seed=seed,
        options=runs.options,
    )


@dataclass
class Samples:
    """Every measure of every run. `get` gives one number for each seed."""

    #: (set of runs, label values in the order of the set's axes, class, measure) -> one number for each replication
    data: dict[Key, np.ndarray] = field(default_factory=dict)
    #: (set of runs, label values) -> (the set, labels by axis, [(seed, the source of its tables)])
    stored: dict[tuple[str, tuple[str, ...]], tuple[Any, dict[str, str], list[tuple[int, RunSource]]]] = field(
        default_factory=dict
    )
    failed: list[str] = field(default_factory=list)
    #: Sets of runs that this machine could not measure completely, with the reasons.
    not_measured: dict[str, str] = field(default_factory=dict)
    #: a cache of data that rules and figures have read from runs
    memo: dict[Any, Any] = field(default_factory=dict)

    @classmethod
    def empty(cls) -> Samples:
        return cls()

    def view(self, runs: str, key: tuple[str, ...], replication: int = 0) -> RunView | None:
        """One stored run; None if it was not run."""
        stored_point = self.stored.get((runs, key))
        if stored_point is None or replication >= len(stored_point[2]):
            return None
        of, labels, stored = stored_point
        seed, source = stored[replication]
        return view_of(of, labels, seed, source)

    def views(self, runs: str, key: tuple[str, ...]) -> Iterator[RunView]:
        """All stored runs of a point, one after the other."""
        entry = self.stored.get((runs, key))
        for r in range(len(entry[2]) if entry else 0):
            view = self.view(runs, key, r)
            if view is not None:
                yield view

    def get(self, runs: str, labels: tuple[str, ...], klass: str, measure: str) -> np.ndarray | None:
        key = (runs, labels, klass, measure)
        if key not in self.data:
            views = list(self.views(runs, labels))
            if not views or not all(v.source is None or v.has(klass) for v in views):
                return None
            numbers = [MEASURES[measure].on(v, klass) for v in views]
            self.data[key] = np.array(numbers, dtype=float)
        return self.data[key]

    def take(self, view: RunView, wanted: list[tuple[str, str]]) -> dict[tuple[str, str], float]:
        """The values of the (class, measure) pairs of one run, which reads its tables once."""
        return {(c, m): MEASURES[m].on(view, c) for c, m in wanted if view.has(c)}

    def points(self, runs: str) -> list[tuple[str, ...]]:
        return list(
            dict.fromkeys([k[1] for k in self.data if k[0] == runs] + [k[1] for k in self.stored if k[0] == runs])
        )
