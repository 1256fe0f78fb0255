"""The settings for repeating a study. Changes (`--set`) are made in scenarios that have the key; for other scenarios
there is a note."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tailback import _core
from tailback.core.scenario.read import Kind, as_text
from tailback.runs.campaign.progress import Tell
from tailback.study.errors import StudyError
from tailback.study.model import Experiment, Point, Runs
from tailback.study.study import Study


@dataclass(frozen=True)
class Repeat:
    """The settings for repeating a study."""

    mode: str = "quick"
    #: The number of seeds of each point; None for that of the mode.
    seeds: int | None = None
    #: Changes of every scenario, as `--set` takes them.
    overrides: Sequence[str] = ()
    #: The number of threads; 0 for all cores.
    jobs: int = 0
    #: The kinds of files of figures in addition to SVG, which pages show: `png` and `pdf`. With None nothing is drawn.
    figures: Sequence[str] | None = ()
    #: A function that is called with the state of the runs a few times a second.
    progress: Tell = None
    #: A function that is called with a text on the planned work, before it begins.
    announce: Callable[[str], Any] | None = None


QUICK = Repeat()
#: The codes of errors for a key that a scenario does not have.
_NOT_THERE = {"unknown-key", "override"}


def with_asked(study: Study, asked: Sequence[str], experiments: list[Experiment], mode: str) -> tuple[Study, list[str]]:
    """The study with these changes, and a line for each set of the experiments to which a change is not applied.

    Raises `ScenarioError` for a value that is not allowed and for a key that no scenario has, before anything is run.
    """
    needed_runs = study.needs(experiments)
    runs, lines = dict(study.runs), []
    taken_overrides: set[str] = set()
    refusals: dict[str, Exception] = {}
    for name, r in study.runs.items():
        if name not in needed_runs:
            # This set is not run, and may be impossible to run: a discipline that replaces another may not have the
            # parameters that the set changes.
            continue
        if r.scenario is None:
            lines.append(f"--set changes nothing in {name}, which is computed without packets")
            continue
        fixed_overrides = {
            override: f"its axis {axis} sets it" for override in asked if (axis := _axis_of(r, override)) is not None
        }
        points = {p.key: p for m in dict.fromkeys((mode, "quick")) for p in r.points(m)}
        chosen_keys = {p.key for p in r.points(mode, needed_runs[name])}
        overrides_at: dict[tuple[str, ...], tuple[str, ...]] = {}
        missed_points = dict.fromkeys(asked, 0)
        for key, point in points.items():
            wanted_overrides = [override for override in asked if override not in fixed_overrides]
            applied_overrides, errors = _there(as_text(r.scenario), point, wanted_overrides)
            overrides_at[key] = tuple(applied_overrides)
            refusals |= errors
            if key in chosen_keys:
                taken_overrides |= set(applied_overrides)
                for override in asked:
                    missed_points[override] += override not in applied_overrides
        runs[name] = replace(r, asked=overrides_at)
        for override, n in missed_points.items():
            if n:
                points_text = "" if n == len(chosen_keys) else f" at {n} of {len(chosen_keys)} points"
                lines.append(
                    f"--set {override} is not applied to {name}{points_text}: "
                    f"{fixed_overrides.get(override, 'no such key there')}"
                )
    for override in asked:
        if override not in taken_overrides:
            raise refusals.get(override) or StudyError(f"--set {override} is applied nowhere: {'; '.join(lines)}")
    return replace(study, runs=runs), lines


def _there(text: tuple[str, Kind, str], point: Point, asked: list[str]) -> tuple[list[str], dict[str, Exception]]:
    """The changes whose key this point's scenario has, and the errors of the others."""
    applied_overrides: list[str] = []
    errors: dict[str, Exception] = {}
    for override in asked:
        try:
            _core.load(*text, [*point.overrides, *applied_overrides, override])
        except _core.ScenarioError as e:
            # If a value contradicts another one, the next change may correct this. All changes together are read below.
            if all(p["code"] in _NOT_THERE for p in e.problems):
                errors[override] = e
                continue
        applied_overrides.append(override)
    _core.load(*text, [*point.overrides, *applied_overrides])
    return applied_overrides, errors


def _axis_of(runs: Runs, change: str) -> str | None:
    """The axis that sets the same key as this change. With the change, the labels of the axis would be wrong."""
    path = change.partition("=")[0].strip()
    for a in runs.axes:
        paths = {*a.paths, *(c.partition("=")[0].strip() for cs in a.changes.values() for c in cs)}
        for axis_path in paths:
            if path == axis_path or axis_path.startswith(f"{path}.") or (a.disciplines and path == f"{axis_path}.kind"):
                return a.name
    return None
