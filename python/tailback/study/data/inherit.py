"""Tables of a study that extend one another: `extends = "NAME"` in a set of runs or an experiment.

The table has every key of the other one, and its own take their place. The other may extend a third.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tailback.study.data import fill, groups
from tailback.study.data.files import ExperimentsFile
from tailback.study.errors import StudyError

#: The keys that an experiment does not inherit.
_OWN = ("id", "item", "aliases")


@dataclass(frozen=True)
class Source:
    """A table as it stands in a file."""

    file: Path
    #: Its path there, such as `runs.sb` or `experiment[3]`.
    at: str
    table: dict[str, Any]

    @property
    def extends(self) -> Any:
        return self.table.get(self._key)

    @property
    def _key(self) -> str:
        """`like` is an older word for it."""
        return "like" if "like" in self.table else "extends"

    @property
    def place(self) -> str:
        return f"{self.file}: {self.at}.{self._key} = {self.extends!r}"


def lineage(name: str, sources: Mapping[str, Source]) -> list[str]:
    """The names of a table and of those that it extends, the last base first."""
    names = [name]
    while (base := sources[names[-1]].extends) is not None:
        place = sources[names[-1]].place
        if not isinstance(base, str) or base not in sources:
            near = difflib.get_close_matches(str(base), sources, 1)
            hint = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(sources)}"
            raise StudyError(f"{place}: there is nothing of that name to extend; {hint}")
        if base in names:
            circle = " -> ".join([*names, base])
            raise StudyError(f"{place}: it extends itself: {circle}; leave out extends in one of them")
        names.append(base)
    return names[::-1]


def bases_first(sources: Mapping[str, Source]) -> Iterable[str]:
    """All names, each after the one that it extends: what is wrong with a table is then said of the table itself."""
    return dict.fromkeys(one for name in sources for one in lineage(name, sources))


def runs(name: str, sources: Mapping[str, Source]) -> dict[str, Any]:
    """The table of a set of runs, with the keys inherited from the sets that it extends."""
    merged: dict[str, Any] = {}
    for one in lineage(name, sources):
        own = sources[one].table
        merged = {**merged, **own, **_axes(merged, own), **_values(merged, own)}
    return merged


def experiment(name: str, sources: Mapping[str, Source]) -> dict[str, Any]:
    """The table of an experiment, with the keys inherited from those that it extends."""
    merged: dict[str, Any] = {}
    for one in lineage(name, sources):
        own = sources[one].table
        merged = {**{k: v for k, v in merged.items() if k not in _OWN}, **own, **_values(merged, own)}
    return merged


def runs_written(name: str, sources: Mapping[str, Source]) -> dict[str, Any]:
    """A set of runs with what it extends, its values in the place of their names, and its cases written out."""
    file, table = sources[name].file, runs(name, sources)
    at, words = f"{file}: runs.{name}", fill.values(table, f"{file}: runs.{name}")
    found = with_words(table, words, at)
    if isinstance(table.get("case"), list):
        found["case"] = groups.cases(table["case"], f"runs.{name}", file, words)
    return found


def with_words(table: dict[str, Any], words: Mapping[str, Any], at: str) -> dict[str, Any]:
    """A table with its values in the place of their names; what has rows of its own is left as it is."""
    filled_in = dict(table)
    for key, x in table.items() if words else ():
        if key in ("set", "then", "quick_set") and isinstance(x, list) and all(isinstance(c, str) for c in x):
            filled_in[key] = fill.changes(x, words, f"{at}.{key}")
        elif key not in ("values", "case", "output"):
            filled_in[key] = fill.filled(x, words, f"{at}.{key}")
    return filled_in


def with_values(t: ExperimentsFile, file: Path) -> ExperimentsFile:
    """A file with its values: in the place of their names in disciplines and pairs, among the values of the others."""
    if not t.values:
        return t
    words = fill.values({"values": t.values}, str(file))
    return msgspec.structs.replace(
        t,
        discipline=fill.filled(t.discipline, words, f"{file}: discipline"),
        pair=fill.filled(t.pair, words, f"{file}: pair"),
        runs={k: {**v, **_values({"values": t.values}, v)} for k, v in t.runs.items()},
        experiment=[{**e, **_values({"values": t.values}, e)} for e in t.experiment],
    )


def _values(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """The values of both tables. A value that is not a table is left to the table's reader."""
    under, over = base.get("values", {}), own.get("values", {})
    return {"values": {**under, **over}} if isinstance(under, dict) and isinstance(over, dict) else {}


def _axes(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """The axes of both; one that is written out takes what it leaves out from that of the same name.

    Without the paths and roles of that one an axis would change nothing. Values are one thing: `quick`, `full`, `both`,
    `pairs` and `disciplines` of an axis take the place of all of those of the other.
    """
    tables, given = base.get("axis"), own.get("axis")
    if not isinstance(tables, dict) or not isinstance(given, dict):
        return {}
    values = {"quick", "full", "both", "pairs", "disciplines"}
    axes = dict(tables)
    for name, axis in given.items():
        under = tables.get(name, {})
        if not isinstance(axis, dict) or not isinstance(under, dict):
            axes[name] = axis
            continue
        kept = {k: v for k, v in under.items() if k not in values or not values & axis.keys()}
        axes[name] = {**kept, **axis}
    return {"axis": axes}
