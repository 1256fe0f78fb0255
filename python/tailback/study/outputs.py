"""The keys of an `[[experiment.output]]`. Each kind has a structure, which is checked against the study before anything
is run.

An unknown key would have no effect without a message, and a missing measure would only be found after all runs.
Defaults are in the code that draws a kind: a key that is left out here is left out there. This file imports no figures,
because they need matplotlib, whose import takes long. A study may declare its own kinds in the same way (`own.py`).

    @output("shares")
    class Shares(Output, kw_only=True, frozen=True):
        classes: list[str]
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from msgspec import UNSET, UnsetType

from tailback.runs.campaign.axes import Where, matches
from tailback.study.data.files import Table, read_table
from tailback.study.errors import StudyError
from tailback.study.measures import MEASURES
from tailback.study.measures.sources import METRICS
from tailback.study.model import MODES, Experiment, Point, Runs
from tailback.study.registry import Registry

Texts = list[str] | UnsetType
Text = str | UnsetType
Numbers = list[float] | UnsetType

#: The keys of each kind of output.
KINDS: Registry[type[Output]] = Registry(__name__, "kinds of outputs")
output = KINDS.named


class Output(Table, kw_only=True, frozen=True):
    """What every kind takes, and all that some do"""

    #: Keys whose values are names of axes.
    AXES: ClassVar[tuple[str, ...]] = ()

    kind: str
    caption: Text = UNSET
    #: The sets of runs, and the points of each.
    runs: str | list[str] | UnsetType = UNSET
    where: Where | UnsetType = UNSET


class MeasuredOutput(Output, kw_only=True, frozen=True):
    measures: list[str]
    classes: Texts = UNSET


@output("curves")
class Curves(Output, kw_only=True, frozen=True):
    AXES = ("x", "panels")
    measure: Text = UNSET
    measures: Texts = UNSET
    classes: Texts = UNSET
    class_titles: Texts = UNSET
    #: The axes: along the abscissa, with a line for each label, and with a frame for each label.
    x: Text = UNSET
    lines: Text = UNSET
    panels: Text = UNSET
    xlabel: Text = UNSET
    ylabel: Text = UNSET
    log_x: bool | UnsetType = UNSET
    limits: Numbers = UNSET


@output("best")
class Best(Output, kw_only=True, frozen=True):
    AXES = ("along",)
    along: str
    most: str
    knee: dict[str, float]
    shows: str
    measures: list[str]


@output("range")
class Range(MeasuredOutput, kw_only=True, frozen=True):
    AXES = ("over",)
    over: str


@output("cells")
class Cells(Output, kw_only=True, frozen=True):
    metrics: list[str]
    title: Text = UNSET
    sources: Texts = UNSET
    published: Text = UNSET


class Claim(Table, kw_only=True, frozen=True):
    name: str
    queue: str
    says: str
    statements: Texts = UNSET


@output("claims")
class Claims(Output, kw_only=True, frozen=True):
    row: list[Claim]


class ProbePanel(Table, kw_only=True, frozen=True):
    pair: str
    #: Probe -> the name of its line.
    probes: dict[str, str]
    title: Text = UNSET
    ylabel: Text = UNSET
    what: Text = UNSET
    #: The measure whose published values are drawn, and the class.
    published: dict[str, str] | UnsetType = UNSET


@output("against-time")
class AgainstTime(Output, kw_only=True, frozen=True):
    panel: list[ProbePanel]
    what: Text = UNSET
    span: Numbers = UNSET
    lines: Numbers = UNSET


@output("max-min")
class MaxMin(Output, kw_only=True, frozen=True):
    high: float | UnsetType = UNSET


@output("shares")
class Shares(Output, kw_only=True, frozen=True):
    classes: list[str]
    titles: Texts = UNSET


@output("table")
class Means(MeasuredOutput, kw_only=True, frozen=True):
    """Means with their intervals."""


@output("windows")
class Windows(Output, kw_only=True, frozen=True):
    """Congestion windows against time."""


#: Keys whose values are names of measures.
_MEASURES = ("measure", "measures", "most", "shows", "knee")


def check(file: Path, e: Experiment, runs: Mapping[str, Runs], package: str) -> None:
    """Raises StudyError, with file, experiment, output, value and remedy, for an output that could not be made.
    `package` is the package of the study's own code."""
    for place, output in zip(e.places, e.output, strict=True):
        place_text = f"{file}: {place}"
        if "kind" not in output:
            raise StudyError(f'{place_text}: the key "kind" is missing; add kind = ...')
        kind = output["kind"]
        _known(f"{place_text}.kind", [kind], KINDS.known_to(package))
        read_table(KINDS[kind], output, file, place)
        for key in _MEASURES:
            if key in output:
                _known(f"{place_text}.{key}", _words(output[key]), MEASURES.known_to(package))
        if kind == "cells":
            _known(f"{place_text}.metrics", output["metrics"], METRICS)
        if kind == "curves" and "measure" not in output and "measures" not in output:
            raise StudyError(f'{place_text}: it draws nothing; add measure = "..." or measures = [...]')
        _known(f"{place_text}.runs", _words(output.get("runs", ())), runs)
        points = [
            (runs[n], p)
            for n in _words(output.get("runs", e.runs))
            for m in MODES
            for p in runs[n].points(m, [e.where])
        ]
        axes = {a.name for r, _ in points for a in r.axes}
        for key in KINDS[kind].AXES:
            _known(f"{place_text}.{key}", _words(output.get(key, ())), axes)
        _narrowed(f"{place_text}.where", output.get("where") or {}, points, axes)


def check_claims(file: Path, e: Experiment, statements: Iterable[str]) -> None:
    """Raises StudyError for a claim with an unknown statement."""
    ids = list(statements)
    for place, o in zip(e.places, e.output, strict=True):
        for k, row in enumerate(o["row"] if o["kind"] == "claims" else ()):
            _known(f"{file}: {place}.row[{k}].statements", row.get("statements", ()), ids)


def _narrowed(where: str, given: Where, points: list[tuple[Runs, Point]], axes: set[str]) -> None:
    _known(where, given, axes)
    if given and not any(matches(p.labels, given) for _, p in points):
        raise StudyError(
            f"{where} = {given}: no point of the runs has these labels; write labels as texts, as in the axes"
        )


def _words(given: Any) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _known(where: str, given: Iterable[str], there: Iterable[str]) -> None:
    names = list(there)
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(str(name), names, 1)
            hint = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(sorted(names)) or 'none'}"
            raise StudyError(f'{where} = "{name}": there is none of that name; {hint}')
