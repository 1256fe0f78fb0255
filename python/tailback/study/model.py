"""Parts of a study in memory: sets of runs with their axes and cases, and experiments that read them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailback.runs.campaign.axes import Axis as Axis
from tailback.runs.campaign.axes import Point as Point
from tailback.runs.campaign.axes import matches as matches
from tailback.runs.campaign.axes import product
from tailback.study.errors import StudyError

MODES = ("quick", "full")


@dataclass(frozen=True)
class AxisByMode(Axis):
    """An axis of a set of runs. Each mode has its own values."""

    #: mode -> label -> text given to the paths
    values: dict[str, dict[str, str]] = field(default_factory=dict)
    #: whether the labels are disciplines of the study, or pairs of a discipline and a transport
    disciplines: bool = False

    def labels(self, mode: str) -> list[str]:
        return list(self.values[mode])

    def point_of(self, mode: str, label: str) -> Point:
        """The point of a label, with its changes of the scenario."""
        return self.point(label, self.values[mode][label])


@dataclass(frozen=True)
class Case:
    """One combination of labels. Cases are used if not every combination of two axes makes sense."""

    labels: dict[str, str]
    set: tuple[str, ...]
    modes: tuple[str, ...]
    fair_share_bps: float | None
    #: pair -> its changes at this case
    changes: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def overrides(self, labels: dict[str, str]) -> list[str]:
        """The changes of the case in the scenario, at a point with these labels."""
        return [*self.set, *(c for pair in labels.values() for c in self.changes.get(pair, ()))]


@dataclass(frozen=True)
class Runs:
    """A set of runs: a scenario or a function, the axes, and the number of seeds."""

    name: str
    #: The scenario; None for a set that is computed without packets.
    scenario: Path | None
    #: The name of a function of `tailback.study.computed`, or "".
    compute: str
    axes: tuple[AxisByMode, ...]
    cases: tuple[Case, ...]
    set: tuple[str, ...]
    #: Changes before `set`, in quick mode only, such as a shorter run.
    quick_set: tuple[str, ...]
    seeds: dict[str, int]
    #: The number of seeds that each point gets before a row needs more, by mode. Without it, a point gets all seeds at
    #: once.
    first_seeds: dict[str, int]
    fair_share_bps: float
    link: str
    #: Numbers that measures or the function may need, such as a round trip.
    options: dict[str, Any]
    #: Changes after all other changes of a point.
    then: tuple[str, ...]
    #: The CPU seconds of one run, by mode, on the machine of the study's page, for the estimate before the start.
    cost_s: dict[str, float]
    #: The file that declares the set, for messages.
    file: str = ""
    #: Why these runs cannot be repeated; empty if they can.
    not_repeatable: str = ""
    #: The caller's changes (`--set`), by point, which are made after all changes of the study.
    asked: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)

    @property
    def random(self) -> bool:
        """Whether anything in the set is random. A set with one seed in every mode has no random draws."""
        return set(self.seeds.values()) != {1}

    @property
    def arithmetic(self) -> bool:
        """Whether the set is a formula, without packets and without random draws."""
        return self.scenario is None and not self.random

    def axis(self, name: str) -> AxisByMode:
        axis = next((a for a in self.axes if a.name == name), None)
        if axis is None:
            have = ", ".join(a.name for a in self.axes) or "no axis"
            raise StudyError(
                f'{self.file}: the figure asks for the axis "{name}" of runs {self.name}; they have {have}'
            )
        return axis

    def points(self, mode: str, chosen: list[dict[str, Any]] | None = None) -> list[Point]:
        """The points of the mode, in order: those that a condition in `chosen` selects, or all if it is None."""
        of_cases = {name for c in self.cases for name in c.labels}
        free_axes = [[a.point_of(mode, x) for x in a.labels(mode)] for a in self.axes if a.name not in of_cases]
        cases_of_mode = [c for c in self.cases if mode in c.modes]
        if self.cases:
            free_axes.append([self._of_case(mode, c) for c in cases_of_mode])
        first_changes = [*(self.quick_set if mode == "quick" else ()), *self.set]
        points = []
        for p in product(free_axes):
            labels = {a.name: p.labels[a.name] for a in self.axes}
            if chosen is None or any(matches(labels, w) for w in chosen):
                user_changes = self.asked.get(tuple(labels.values()), ())
                case = next((c for c in cases_of_mode if c.labels.items() <= p.labels.items()), None)
                case_changes = case.overrides(labels) if case is not None else []
                points.append(Point(labels, [*first_changes, *p.overrides, *case_changes, *self.then, *user_changes]))
        return points

    def _of_case(self, mode: str, case: Case) -> Point:
        """The point of a case. A case has its own values, but a discipline has the same queue in every case."""
        own_points = [
            a.point_of(mode, case.labels[a.name]) for a in self.axes if a.disciplines and a.name in case.labels
        ]
        return Point(case.labels, [o for p in own_points for o in p.overrides])

    def key_of(self, discipline: str) -> tuple[str, ...]:
        """The labels of a discipline or pair, with the first label of every other axis."""
        return tuple(discipline if a.disciplines else self.all_labels(a)[0] for a in self.axes)

    def all_labels(self, axis: AxisByMode) -> list[str]:
        """The labels of an axis in all modes, in order."""
        if any(axis.name in c.labels for c in self.cases):
            return list(dict.fromkeys(c.labels[axis.name] for c in self.cases))
        return list(dict.fromkeys([x for m in MODES for x in axis.labels(m)]))

    def buffer_of(self, key: tuple[str, ...]) -> float:
        labels = dict(zip((a.name for a in self.axes), key, strict=True))
        try:
            return float(labels.get("buffer", self.options.get("buffer", "nan")))
        except ValueError:
            return float("nan")

    def fair_share_of(self, labels: dict[str, str]) -> float:
        for c in self.cases:
            if c.fair_share_bps is not None and all(labels.get(k) == v for k, v in c.labels.items()):
                return c.fair_share_bps
        return self.fair_share_bps


@dataclass(frozen=True)
class Experiment:
    id: str
    item: str
    title: str
    text: str
    runs: tuple[str, ...]
    where: dict[str, Any]
    output: tuple[dict[str, Any], ...]
    #: The place of each output in the file, for messages.
    places: tuple[str, ...] = ()
    #: The reason if the experiment cannot be run here.
    why_not: str = ""
    #: Whether the experiment varies the study's own parameters. Such an experiment is left out if a discipline is
    #: exchanged, and in the table of parameters.
    variants: bool = False
    #: Other names of the experiment.
    aliases: tuple[str, ...] = ()
