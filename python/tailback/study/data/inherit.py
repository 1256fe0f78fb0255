"""Resolves tables of a study that extend one another: `extends = "NAME"` in a set of runs or an experiment.

The table has every key of the other table, and its own keys replace these. The other table may extend a third one.
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
    """A table as in its file."""

    file: Path
    #: The path of the table in the file, such as `runs.sb` or `experiment[3]`.
    at: str
    table: dict[str, Any]

    @property
    def extends(self) -> Any:
        return self.table.get(self._key)

    @property
    def _key(self) -> str:
        """The key that extends another table; `like` is an older word for `extends`."""
        return "like" if "like" in self.table else "extends"

    @property
    def place(self) -> str:
        return f"{self.file}: {self.at}.{self._key} = {self.extends!r}"


def lineage(name: str, sources: Mapping[str, Source]) -> list[str]:
    """The names of a table and of the tables that it extends, the last base first."""
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
    """All names, each after the one that it extends, so that an error in a table is reported for the table itself."""
    return dict.fromkeys(one for name in sources for one in lineage(name, sources))


def runs(name: str, sources: Mapping[str, Source]) -> dict[str, Any]:
    """The table of a set of runs, with the keys inherited from the sets that it extends."""
    merged_keys: dict[str, Any] = {}
    for ancestor in lineage(name, sources):
        own_table = sources[ancestor].table
        merged_keys = {**merged_keys, **own_table, **_axes(merged_keys, own_table), **_values(merged_keys, own_table)}
    return merged_keys


def experiment(name: str, sources: Mapping[str, Source]) -> dict[str, Any]:
    """The table of an experiment, with the keys inherited from those that it extends."""
    merged_keys: dict[str, Any] = {}
    for ancestor in lineage(name, sources):
        own_table = sources[ancestor].table
        merged_keys = {
            **{k: v for k, v in merged_keys.items() if k not in _OWN},
            **own_table,
            **_values(merged_keys, own_table),
        }
    return merged_keys


def runs_written(name: str, sources: Mapping[str, Source]) -> dict[str, Any]:
    """A set of runs with the keys that it inherits, its names replaced by their values, and its cases written out."""
    file, table = sources[name].file, runs(name, sources)
    place, words = f"{file}: runs.{name}", fill.values(table, f"{file}: runs.{name}")
    runs_table = with_words(table, words, place)
    if isinstance(table.get("case"), list):
        runs_table["case"] = groups.cases(table["case"], f"runs.{name}", file, words)
    return runs_table


def with_words(table: dict[str, Any], words: Mapping[str, Any], at: str) -> dict[str, Any]:
    """A table with its names replaced by their values. Keys that have rows are left unchanged."""
    filled_in = dict(table)
    for key, x in table.items() if words else ():
        if key in ("set", "then", "quick_set") and isinstance(x, list) and all(isinstance(c, str) for c in x):
            filled_in[key] = fill.changes(x, words, f"{at}.{key}")
        elif key not in ("values", "case", "output"):
            filled_in[key] = fill.filled(x, words, f"{at}.{key}")
    return filled_in


def with_values(t: ExperimentsFile, file: Path) -> ExperimentsFile:
    """A file with its values. In disciplines and pairs they replace their names, and in other tables they are added to
    the table's values."""
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
    base_values, own_values = base.get("values", {}), own.get("values", {})
    return (
        {"values": {**base_values, **own_values}}
        if isinstance(base_values, dict) and isinstance(own_values, dict)
        else {}
    )


def _axes(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """The axes of both tables. An axis takes the keys that it leaves out from the axis of the same name.

    Without the paths and roles of the other axis, an axis would change nothing. Values are replaced as a whole: any of
    `quick`, `full`, `both`, `pairs` and `disciplines` of an axis replaces all of these keys of the other.
    """
    base_axes, own_axes = base.get("axis"), own.get("axis")
    if not isinstance(base_axes, dict) or not isinstance(own_axes, dict):
        return {}
    value_keys = {"quick", "full", "both", "pairs", "disciplines"}
    axes = dict(base_axes)
    for name, axis in own_axes.items():
        base_axis = base_axes.get(name, {})
        if not isinstance(axis, dict) or not isinstance(base_axis, dict):
            axes[name] = axis
            continue
        kept_keys = {k: v for k, v in base_axis.items() if k not in value_keys or not value_keys & axis.keys()}
        axes[name] = {**kept_keys, **axis}
    return {"axis": axes}
