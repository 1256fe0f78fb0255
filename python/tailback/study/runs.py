"""Reads `[runs.NAME]`: a scenario or a function, with its axes and cases."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback.core.scenario.read import as_toml
from tailback.runs.campaign.axes import clash
from tailback.runs.campaign.values import labelled
from tailback.study.data.files import AxisTable, CaseTable, Discipline, Pair, RunsTable, read_table
from tailback.study.errors import StudyError
from tailback.study.model import MODES, AxisByMode, Case, Runs


@dataclass(frozen=True)
class Columns:
    """The names that a set of runs may use as columns."""

    disciplines: dict[str, Discipline]
    pairs: dict[str, Pair]
    #: The disciplines that the caller has replaced by another queue.
    replaced: Collection[str] = ()


def read_runs(folder: Path, file: Path, name: str, table: dict[str, Any], columns: Columns) -> Runs:
    """The set of runs of a table. Raises `StudyError` for keys and names that are misspelt, missing or not declared.

    A set that is `like` another one is already merged with it here.
    """
    place = f"runs.{name}"
    runs_table = read_table(RunsTable, table, file, place)
    scenario = None
    if not runs_table.compute:
        scenario = folder / runs_table.scenario
        if not scenario.is_file():
            raise StudyError(
                f"{file}, [{place}]: scenario {scenario} is not there as a file; name one beside the study"
            )
    tables = {k: read_table(AxisTable, v, file, f"{place}.axis.{k}") for k, v in runs_table.axis.items()}
    of_pairs = [a for a in tables.values() if a.pairs is not None]
    case_tables = [read_table(CaseTable, c, file, f"{place}.case[{i}]") for i, c in enumerate(runs_table.case)]
    cases_read = [_case(f"{file}, [{place}], case[{i}]", c, of_pairs, columns) for i, c in enumerate(case_tables)]
    axes = [_axis(f"{file}, [{place}], axis {k}", k, a, cases_read, columns) for k, a in tables.items()]
    for x in axes if scenario is not None else ():
        # An axis with a single value only names the whole set.
        is_named = any(x.name in c.labels for c in cases_read) or all(len(v) < 2 for v in x.values.values())
        if not (x.paths or any(x.changes.values()) or is_named):
            key = "roles = { ... }" if x.disciplines else "paths = [...]"
            raise StudyError(
                f"{file}, [{place}], axis {x.name}: it changes nothing; add {key}, where in the scenario it stands"
            )
    contradiction = clash(axes)
    if contradiction is not None:
        raise StudyError(f"{file}, [{place}]: {contradiction}")
    if wrong := [m for m, n in runs_table.first_seeds.items() if not 2 <= n <= runs_table.seeds.get(m, 0)]:
        remedy = _first_seeds_remedy(runs_table.seeds.get(wrong[0], 0))
        raise StudyError(f"{file}, [{place}]: first_seeds.{wrong[0]} = {runs_table.first_seeds[wrong[0]]}; {remedy}")
    cost: dict[str, float] = dict.fromkeys(MODES, 0.0)
    if isinstance(runs_table.cost_s, dict):
        cost |= {str(m): x for m, x in runs_table.cost_s.items()}
    else:
        cost = dict.fromkeys(MODES, runs_table.cost_s)
    return Runs(
        name=name,
        scenario=scenario,
        compute=runs_table.compute,
        axes=tuple(axes),
        cases=tuple(cases_read),
        set=tuple(runs_table.set),
        quick_set=tuple(runs_table.quick_set),
        then=tuple(runs_table.then),
        seeds={str(m): n for m, n in runs_table.seeds.items()},
        first_seeds={str(m): n for m, n in runs_table.first_seeds.items()},
        fair_share_bps=_rate(runs_table.fair_share),
        link=runs_table.link,
        options=runs_table.options,
        cost_s=cost,
        file=str(file),
        not_repeatable=runs_table.not_repeatable,
    )


def _case(where: str, c: CaseTable, axes: list[AxisTable], columns: Columns) -> Case:
    labels = {k: str(v) for k, v in c.labels.items()}
    for role in c.roles:
        if not any(role in a.roles for a in axes):
            roles = ", ".join(r for a in axes for r in a.roles) or "none, as it has no axis of pairs"
            raise StudyError(f"{where}: roles.{role}: this set of runs has no such role; it has {roles}")
    changes = {
        name: tuple(_changes(a, columns.pairs[name], c.roles, columns))
        for a in axes
        if c.roles
        for name in a.pairs or ()
    }
    fair_share = None if c.fair_share is None else _rate(c.fair_share)
    return Case(labels, tuple(c.set), tuple(c.modes), fair_share, changes)


def _axis(where: str, name: str, a: AxisTable, cases: list[Case], columns: Columns) -> AxisByMode:
    disciplines = columns.disciplines
    changes: dict[str, tuple[str, ...]] = {}
    values_by_mode: dict[str, dict[str, str]]
    if a.pairs is not None:
        changes = _pairs(where, a, a.pairs, columns)
        values_by_mode = dict.fromkeys(MODES, dict.fromkeys(changes, ""))
    elif a.disciplines is not None:
        for d in a.disciplines:
            if d not in disciplines:
                raise StudyError(f"{where}: there is no [discipline.{d}]; there are {', '.join(disciplines)}")
        # A set without an axis `buffer` gives every discipline its buffer here.
        own_buffer = {"buffer": a.buffer} if a.buffer is not None else {}
        texts = {d: as_toml({**disciplines[d].queue, **own_buffer}) for d in a.disciplines}
        values_by_mode = dict.fromkeys(MODES, texts)
    elif any(name in c.labels for c in cases):
        if any(name not in c.labels for c in cases):
            raise StudyError(f"{where}: every case needs a label for axis {name}")
        values_by_mode = {m: {c.labels[name]: "" for c in cases if m in c.modes} for m in MODES}
    else:
        values_by_mode = {}
        for m, own_values in (("quick", a.quick), ("full", a.full)):
            values_of_mode = own_values if own_values is not None else a.both
            if values_of_mode is None:
                raise StudyError(f"{where}: it needs values for quick and for full, or for both")
            values_by_mode[m] = dict(labelled(values_of_mode, a.unit, where))
    of_disciplines = a.disciplines is not None or a.pairs is not None
    title = name if a.title is None else a.title
    return AxisByMode(name, title, a.unit, tuple(a.paths), changes, values_by_mode, of_disciplines)


def _pairs(where: str, axis: AxisTable, names: list[str], columns: Columns) -> dict[str, tuple[str, ...]]:
    """The changes of each pair: the queue of its discipline and its tables of other roles, key by key, at the paths of
    the roles.

    `roles` has the paths of each role in the scenario. A role without paths is not needed. `with` adds keys to a pair's
    tables for this set of runs only.
    """
    for role in axis.of_queue:
        if role not in axis.roles:
            raise StudyError(
                f"{where}: of_queue names {role!r}, which is not one of its roles: {', '.join(axis.roles)}"
            )
    changes_of = {}
    for name in names:
        if name not in columns.pairs:
            raise StudyError(f"{where}: there is no [pair.{name}]; there are {', '.join(columns.pairs)}")
        pair_keys = columns.pairs[name]
        if pair_keys.queue not in columns.disciplines:
            raise StudyError(f"{where}: pair {name} needs queue = one of {', '.join(columns.disciplines)}")
        queue_and_roles = {"queue": columns.disciplines[pair_keys.queue].queue, **pair_keys.roles}
        changes = _changes(axis, pair_keys, queue_and_roles, columns)
        changes_of[name] = tuple(changes + _changes(axis, pair_keys, axis.with_.get(name, {}), columns))
    return changes_of


def _changes(axis: AxisTable, pair: Pair, tables: dict[str, dict[str, Any]], columns: Columns) -> list[str]:
    """The changes by tables of roles, key by key, at the paths of the roles."""
    key_of_queue = axis.of_queue if pair.queue in columns.replaced else ()
    kept_tables = {role: tables.get(role, {}) for role in axis.roles if role not in key_of_queue}
    return [f"{p}.{k}={as_toml(v)}" for role, t in kept_tables.items() for p in axis.roles[role] for k, v in t.items()]


def _rate(text: str) -> float:
    from tailback import _core

    return float(_core.parse_rate(text))


def _first_seeds_remedy(seeds: int) -> str:
    """What to do about a wrong `first_seeds` of a mode with this number of seeds."""
    if seeds < 2:
        return f"leave it out, because an interval needs at least 2 seeds, and the number of seeds is {seeds}"
    return f"give at least 2, which an interval needs, and at most {seeds}, the number of seeds"
