"""Makes points, each with labels and a scenario, from a sweep file or the same structure in Python."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tailback import _core
from tailback.core.declared import FileError, read_table, read_toml, safe_id
from tailback.core.scenario import installed
from tailback.core.scenario.read import as_text, find_classes, queues_of
from tailback.core.text.arguments import checked
from tailback.core.text.given import MOST_REPLICATIONS, SEEDS, shown
from tailback.runs.campaign.axes import Axis, Point, axes_in_words, clash, matches
from tailback.runs.campaign.design import DesignTable
from tailback.runs.campaign.factors import axis_of, combined, factors_of
from tailback.runs.campaign.files import AtTable, PairedTable, StopTable, SweepAxis, SweepFile
from tailback.runs.campaign.sweep import Sweep
from tailback.runs.campaign.values import CaseKeys

#: The most replications of a point.
MOST_SEEDS = MOST_REPLICATIONS


@checked
def load_sweep(source: str | os.PathLike[str] | Mapping[str, Any], overrides: Sequence[str] = ()) -> Sweep:
    """A sweep from its file, or from the same structure as a dict, in which `scenario` may have any form that
    `load_scenario` takes.

    `overrides` are set at every point, after all other changes. Raises ValueError, whose text names the file and the
    key.

    >>> lab = tb.dumbbell(flows=2, bottleneck="10Mbps", rtt="40ms", queue="codel")
    >>> rates = {"paths": ["link.bottleneck.rate"], "values": ["5Mbps", "10Mbps", "20Mbps"]}
    >>> tb.load_sweep({"name": "rates", "scenario": lab, "set": ["duration=2s"], "axis": {"rate": rates}})
    <Sweep rates: 3 points, 1 replications>
    """
    if isinstance(source, Mapping):
        table, file, folder = dict(source), "sweep", Path()
    else:
        path = Path(source)
        table, file, folder = read_toml(path), str(path), path.parent
    if "scenario" not in table and table.keys() & {"duration", "topology", "link", "flows", "sessions", "workload"}:
        raise FileError(
            f"{file}: this is a scenario, not a sweep of one; `tailback run {file}` runs it, and a sweep is a file "
            f'with scenario = "{Path(file).name}" and a table [axis.NAME] for each thing to vary'
        )
    sweep_table = read_table(SweepFile, table, file)
    if sweep_table.name:
        safe_id(sweep_table.name, file, "name")
    scenario = _scenario(sweep_table.scenario, folder, file)
    tables = {k: read_table(SweepAxis, v, file, f"axis.{k}") for k, v in sweep_table.axis.items()}
    axes = {k: (axis_of(k, a), a) for k, a in tables.items()}
    points = _points(sweep_table, axes, file)
    later_changes = [*sweep_table.then, *overrides]
    find_classes(scenario, dict.fromkeys([*later_changes, *(o for p in points for o in p.overrides)]), [folder])
    scenarios = [(p.labels, _core.load(*as_text(scenario), [*p.overrides, *later_changes], True)) for p in points]
    stop = (
        None
        if sweep_table.stop is msgspec.UNSET
        else _stop(read_table(StopTable, sweep_table.stop, file, "stop"), sweep_table, file)
    )
    if sweep_table.seed is not None and not 0 <= sweep_table.seed < SEEDS:
        raise FileError(f"{file}: seed = {sweep_table.seed}; write a whole number from 0 to {SEEDS - 1}")
    if sweep_table.replications is not None and not 1 <= sweep_table.replications <= MOST_SEEDS:
        raise FileError(f"{file}: replications = {sweep_table.replications}; write a number from 1 to {MOST_SEEDS}")
    return Sweep(
        name=sweep_table.name or (Path(file).stem.lstrip(".") if not isinstance(source, Mapping) else "") or "sweep",
        points=scenarios,
        replications=sweep_table.replications or 1,
        seed=sweep_table.seed,
        stop=stop,
        compare=None if sweep_table.compare is msgspec.UNSET else _compare(sweep_table.compare, points, file),
        axes=[axis for axis, _ in axes.values()],
        queues=queues_of(scenario),
    )


def _scenario(given: Any, beside: Path, file: str) -> Any:
    if isinstance(given, str) and "\n" not in given:
        path = installed.found(Path(given), beside)
        if not path.is_file():
            raise FileError(f"{file}: scenario = {given!r}: {path} is not there; paths begin where the file is")
        return path
    if given is None or isinstance(given, (bool, int, float, list, tuple)):
        raise FileError(
            f"{file}: scenario = {shown(given)}; write a path, or a table [scenario] with the scenario itself"
        )
    return given


def _points(t: SweepFile, axes: dict[str, tuple[Axis, SweepAxis]], file: str) -> list[Point]:
    design = None if t.design is msgspec.UNSET else read_table(DesignTable, t.design, file, "design")
    factors = factors_of(axes, t.zip, design, file)
    contradiction = clash(axis for axis, _ in axes.values())
    if contradiction is not None:
        raise FileError(f"{file}: {contradiction}")
    if t.case:
        factors.append(_cases(t, axes, file))
    rules = [read_table(AtTable, x, file, f"at[{i}]") for i, x in enumerate(t.at)]
    points = combined(factors)
    names = list(points[0].labels) if points else []
    for i, rule in enumerate(rules):
        odd = [k for k in rule.where if k not in names]
        if odd:
            raise FileError(f"{file}: at[{i}].where: there is no axis {odd[0]!r}; {axes_in_words(names)}")
        if not any(matches(p.labels, rule.where) for p in points):
            raise FileError(
                f"{file}: at[{i}].where = {rule.where}: no point has these labels; "
                "write labels as texts, as in the axis"
            )
    seen_keys: set[tuple[str, ...]] = set()
    for p in points:
        if p.key in seen_keys:
            labels = ", ".join(f"{k} = {v}" for k, v in p.labels.items()) or "no label"
            raise FileError(f"{file}: two points have {labels}; give their values labels: {{ NAME = VALUE, ... }}")
        seen_keys.add(p.key)
    changes_of_points = [[x for r in rules if matches(p.labels, r.where) for x in r.set] for p in points]
    return [Point(p.labels, [*t.set, *p.overrides, *more]) for p, more in zip(points, changes_of_points, strict=True)]


def _cases(t: SweepFile, axes: Collection[str], file: str) -> list[Point]:
    case_keys = [read_table(CaseKeys, case, file, f"case[{i}]") for i, case in enumerate(t.case)]
    names = list(case_keys[0].labels)
    for i, case in enumerate(case_keys):
        if list(case.labels) != names:
            raise FileError(
                f"{file}: case[{i}] has the labels {', '.join(case.labels)}, but case[0] has {', '.join(names)}; give "
                "all cases the same labels in the same order"
            )
    names_of_axes = [n for n in names if n in axes]
    if names_of_axes:
        raise FileError(
            f"{file}: {names_of_axes[0]!r} is an axis and a label of the cases; give one of them another name"
        )
    return [Point({k: str(v) for k, v in case.labels.items()}, list(case.set)) for case in case_keys]


def _stop(s: StopTable, t: SweepFile, file: str) -> StopTable:
    if t.replications is not None:
        raise FileError(f"{file}: replications and [stop] contradict each other; write stop.at_least and stop.at_most")
    bound = s.half_width if s.half_width is not None else s.relative
    if (s.half_width is None) == (s.relative is None) or bound is None or not bound > 0:
        raise FileError(f"{file}: stop: give one bound above zero: half_width (in the number's unit) or relative")
    if not 2 <= s.at_least <= s.at_most <= MOST_SEEDS:
        raise FileError(
            f"{file}: stop: at_least = {s.at_least}, at_most = {s.at_most}; give at_least from 2 on, since an interval "
            f"takes 2 seeds, and at_most from at_least to {MOST_SEEDS}"
        )
    if s.table not in _core.TABLES or not s.column:
        raise FileError(
            f"{file}: stop.metric = {s.metric!r}; write TABLE.COLUMN, such as links.utilisation; tables are "
            f"{', '.join(_core.TABLES)}"
        )
    return s


def _compare(given: dict[str, Any], points: list[Point], file: str) -> PairedTable:
    compare_table = read_table(PairedTable, given, file, "compare")
    labels = list(dict.fromkeys(p.labels[compare_table.axis] for p in points if compare_table.axis in p.labels))
    if not labels:
        names = list(points[0].labels)
        raise FileError(f"{file}: compare.axis = {compare_table.axis!r}: there is no such axis; {axes_in_words(names)}")
    if str(compare_table.against) not in labels:
        raise FileError(
            f"{file}: compare.against = {compare_table.against!r}: give one of the labels of {compare_table.axis}: "
            f"{', '.join(labels)}"
        )
    return msgspec.structs.replace(compare_table, against=str(compare_table.against))
