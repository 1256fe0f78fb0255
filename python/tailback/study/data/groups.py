"""Reads rows of a study's file that share keys, which are written once.

    [[statement]]                   # what the statements below have in common
    source = "table 5.2"
    runs = "static-table"
    [[statement.each]]
    id = "T5.2-groups"
    ...

A table with `each` stands for its rows. A row has the keys of the table and its own keys. A row's own key replaces a
shared one. `each` may be a list in one place: `each = [{ id = "a", value = 1 }, { id = "b", value = 2 }]`. A row may
have rows itself. The `values` of a table or row replace `{name}` in its texts (`fill.py`).

A case of a set of runs (`[[runs.NAME.case]]`) may have `each` as well. The rows of such a case add their labels, values
and changes to the shared ones. A label may be a list. The case then stands for every combination, in which the last
label varies fastest. `{name}` in a change is replaced by the label or value of that name.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tailback.runs.campaign.axes import matches
from tailback.study.data import fill
from tailback.study.data.files import CaseGroup, CaseRow, Mode, T, Where, read_table
from tailback.study.errors import StudyError


@dataclass(frozen=True)
class StudyRow:
    """A row, with the keys that it shares with other rows."""

    table: dict[str, Any]
    #: The path of the row in the file, such as `statement[3].each[1]`.
    at: str
    #: For keys of the table above the row: the path of that table.
    shared: dict[str, str] = field(default_factory=dict)

    def place(self, key: str) -> str:
        """The path of one of the row's keys."""
        return f"{self.shared.get(key, self.at)}.{key}"

    def read(self, kind: type[T], file: Path | str) -> T:
        """The row as its structure. Raises `StudyError`, which names a shared key by the place where it is."""
        return read_table(kind, self.table, file, self.at, self.shared)


def rows(
    tables: list[dict[str, Any]], name: str, file: Path | str, words: Mapping[str, Any] = MappingProxyType({})
) -> list[StudyRow]:
    """The rows of `[[name]]`, in order. `words` are the values of the enclosing table."""
    study_rows = []
    for i, table in enumerate(tables):
        study_rows += list(_rows(table, f"{name}[{i}]", {}, {}, words, name, file))
    return study_rows


def _rows(
    table: dict[str, Any],
    at: str,
    above: dict[str, Any],
    places: dict[str, str],
    words: Mapping[str, Any],
    name: str,
    file: Path | str,
) -> Iterator[StudyRow]:
    """The rows of a table, with the keys of the tables above it and their places. `words` are the values."""
    words = {**words, **fill.values(table, f"{file}: {at}")}
    own_keys = {k: v for k, v in table.items() if k not in ("each", "values")}
    keys, shared_places = {**above, **own_keys}, {k: x for k, x in places.items() if k not in own_keys}
    if "each" not in table:
        place_of_key = {k: f"{file}: {shared_places.get(k, at)}.{k}" for k in keys}
        yield StudyRow(
            {k: fill.filled(v, words, place_of_key[k]) for k, v in keys.items()} if words else keys, at, shared_places
        )
        return
    if "id" in own_keys:
        raise StudyError(f"{file}: {at}.id = {own_keys['id']!r}: each row needs its own; write it in [[{name}.each]]")
    for j, row in enumerate(_each(table["each"], at, name, file)):
        yield from _rows(
            row, f"{at}.each[{j}]", keys, {**shared_places, **dict.fromkeys(own_keys, at)}, words, name, file
        )


def _each(given: Any, at: str, name: str, file: Path | str) -> list[dict[str, Any]]:
    if not isinstance(given, list) or not given or not all(isinstance(x, dict) for x in given):
        raise StudyError(f"{file}: {at}.each = {given!r}: it needs a table for each row; write [[{name}.each]]")
    return given


def cases(
    tables: list[dict[str, Any]], at: str, file: Path | str, words: Mapping[str, Any] = MappingProxyType({})
) -> list[dict[str, Any]]:
    """Every case of a set of runs, written out: labels, changes, and the modes that run it. `words` are the values of
    the set."""
    written_cases = []
    for i, table in enumerate(tables):
        where = f"{at}.case[{i}]"
        group = read_table(CaseGroup, table, file, where)
        for j, own_keys in enumerate(group.each or [{}]):
            place = f"{where}.each[{j}]" if group.each else where
            written_cases += list(
                _written_out(group, read_table(CaseRow, own_keys, file, place), words, f"{file}: {place}")
            )
    return written_cases


def _written_out(group: CaseGroup, row: CaseRow, words: Mapping[str, Any], where: str) -> Iterator[dict[str, Any]]:
    labels = {**group.labels, **row.labels}
    filled_values = fill.values({"values": {**group.values, **row.values}}, where)
    if not labels:
        raise StudyError(f"{where}: it has no labels; add labels = {{ AXIS = VALUE }}")
    changes, share = [*group.set, *row.set], row.fair_share if row.fair_share is not None else group.fair_share
    roles = {**group.roles, **row.roles}
    for combination in itertools.product(*(x if isinstance(x, list) else [x] for x in labels.values())):
        own_keys = dict(zip(labels, combination, strict=True))
        filling_words = {**words, **filled_values, **own_keys}
        written_case: dict[str, Any] = {
            "labels": own_keys,
            "set": fill.changes(changes, filling_words, f"{where}.set"),
            "modes": _modes(group, row, {k: str(v) for k, v in own_keys.items()}, where),
        }
        if roles:
            written_case["roles"] = roles
        if share is not None:
            written_case["fair_share"] = str(fill.filled(share, filling_words, f"{where}.fair_share"))
        yield written_case


def _modes(group: CaseGroup, row: CaseRow, labels: dict[str, str], where: str) -> list[Mode]:
    """The modes whose condition these labels meet."""
    conditions: dict[Mode, bool | Where | None] = {
        "quick": group.quick if row.quick is None else row.quick,
        "full": group.full if row.full is None else row.full,
    }
    modes: list[Mode] = []
    for mode, condition in conditions.items():
        for name in condition if isinstance(condition, dict) else ():
            if name not in labels:
                names = ", ".join(labels)
                raise StudyError(f'{where}.{mode}: there is no label "{name}"; there are {names}')
        if matches(labels, condition) if isinstance(condition, dict) else condition is not False:
            modes.append(mode)
    if not modes:
        raise StudyError(f"{where}: neither quick nor full runs it; leave out quick = false or full = false")
    return modes
