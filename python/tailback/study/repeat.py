"""How a study is to be repeated. Changes (`--set`) are made where a scenario has the key, and it is said where not."""

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
    """How a study is to be repeated."""

    mode: str = "quick"
    #: Seeds of each point; None for those of the mode.
    seeds: int | None = None
    #: Changes of every scenario, as `--set` takes them.
    overrides: Sequence[str] = ()
    #: Threads; 0 is all cores.
    jobs: int = 0
    #: Kinds of files that figures have beside SVG, which pages show: `png` and `pdf`. With None nothing is drawn.
    figures: Sequence[str] | None = ()
    #: Called with the state of the runs a few times a second.
    progress: Tell = None
    #: Called with what there is to do, before it begins.
    announce: Callable[[str], Any] | None = None


QUICK = Repeat()
#: A scenario has no such key, or no place to put it.
_NOT_THERE = {"unknown-key", "override"}


def with_asked(study: Study, asked: Sequence[str], experiments: list[Experiment], mode: str) -> tuple[Study, list[str]]:
    """The study with these changes, and a line for each set of the experiments that does not take one of them.

    Raises `ScenarioError` for a value that is not allowed and for a key that no scenario has, before anything is run.
    """
    needed = study.needs(experiments)
    runs, lines = dict(study.runs), []
    taken: set[str] = set()
    refused: dict[str, Exception] = {}
    for name, r in study.runs.items():
        if name not in needed:
            # Not run, and perhaps not fit to be: a discipline that stands in for another may lack what they set of it.
            continue
        if r.scenario is None:
            lines.append(f"--set changes nothing in {name}, which is computed without packets")
            continue
        fixed = {o: f"its axis {axis} sets it" for o in asked if (axis := _axis_of(r, o)) is not None}
        points = {p.key: p for m in dict.fromkeys((mode, "quick")) for p in r.points(m)}
        chosen = {p.key for p in r.points(mode, needed[name])}
        at: dict[tuple[str, ...], tuple[str, ...]] = {}
        missed = dict.fromkeys(asked, 0)
        for key, point in points.items():
            wanted = [o for o in asked if o not in fixed]
            applied, errors = _there(as_text(r.scenario), point, wanted)
            at[key] = tuple(applied)
            refused |= errors
            if key in chosen:
                taken |= set(applied)
                for o in asked:
                    missed[o] += o not in applied
        runs[name] = replace(r, asked=at)
        for o, n in missed.items():
            if n:
                where = "" if n == len(chosen) else f" at {n} of {len(chosen)} points"
                lines.append(f"--set {o} is not applied to {name}{where}: {fixed.get(o, 'no such key there')}")
    for o in asked:
        if o not in taken:
            raise refused.get(o) or StudyError(f"--set {o} is applied nowhere: {'; '.join(lines)}")
    return replace(study, runs=runs), lines


def _there(text: tuple[str, Kind, str], point: Point, asked: list[str]) -> tuple[list[str], dict[str, Exception]]:
    """Those of the changes that this point's scenario has a key for, and why not the others."""
    applied: list[str] = []
    errors: dict[str, Exception] = {}
    for o in asked:
        try:
            _core.load(*text, [*point.overrides, *applied, o])
        except _core.ScenarioError as e:
            # What contradicts another value may be put right by the next change; all together are read below.
            if all(p["code"] in _NOT_THERE for p in e.problems):
                errors[o] = e
                continue
        applied.append(o)
    _core.load(*text, [*point.overrides, *applied])
    return applied, errors


def _axis_of(runs: Runs, change: str) -> str | None:
    """The axis that says what this change would say: its labels would no longer be true."""
    path = change.partition("=")[0].strip()
    for a in runs.axes:
        paths = {*a.paths, *(c.partition("=")[0].strip() for cs in a.changes.values() for c in cs)}
        for own in paths:
            if path == own or own.startswith(f"{path}.") or (a.disciplines and path == f"{own}.kind"):
                return a.name
    return None
