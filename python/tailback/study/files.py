"""What may stand in the files of a study: one typed structure a table, and reading one from TOML.

A key that is misspelt would be a rule that is not applied, so that a key nobody knows is refused; the message names the
file, the key's path, the value and what to write instead.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from tailback.study.errors import StudyError

Mode = Literal["quick", "full"]
#: A condition on labels: axis -> a value, a list of values, or { from = , to = }.
Where = dict[str, Any]


class Table(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """A table of a file."""


class SetupRow(Table, kw_only=True, frozen=True):
    what: str
    value: str


class AgainRow(Table, kw_only=True, frozen=True):
    command: str
    what: str


class About(Table, kw_only=True, frozen=True):
    """study.toml"""

    id: str
    title: str
    citation: str
    question: str = ""
    #: What short names in its sentences stand for.
    names: str = ""
    method: str = ""
    caution: str = ""
    #: Ids of the statements that the study is about, the most telling first.
    claims: list[str] = []
    setup: list[SetupRow] = []
    again: list[AgainRow] = []


class Discipline(Table, kw_only=True, frozen=True):
    """[discipline.NAME]"""

    title: str
    queue: dict[str, Any]
    style: Literal["normal", "italic"] = "normal"


class Pair(Table, kw_only=True, frozen=True):
    """[pair.NAME]: a discipline, and a table for each role that its sets of runs give paths to."""

    title: str
    queue: str
    #: In the file every key beside title and queue is a role.
    roles: dict[str, dict[str, Any]] = {}


class AxisTable(Table, kw_only=True, frozen=True):
    """[runs.NAME.axis.NAME]"""

    title: str | None = None
    unit: str = ""
    paths: list[str] = []
    disciplines: list[str] | None = None
    buffer: str | None = None
    pairs: list[str] | None = None
    #: Of pairs: role -> the paths it stands at in the scenario.
    roles: dict[str, list[str]] = {}
    #: Of these roles, those that go with the study's own queue, such as its thresholds: left out where the caller has
    #: put another queue in its place.
    of_queue: list[str] = []
    #: Of pairs: more for a role of a pair, in this set of runs only.
    with_: dict[str, dict[str, dict[str, Any]]] = msgspec.field(name="with", default={})
    quick: list[Any] | dict[str, Any] | None = None
    full: list[Any] | dict[str, Any] | None = None
    both: list[Any] | dict[str, Any] | None = None


class CaseTable(Table, kw_only=True, frozen=True):
    """[[runs.NAME.case]]"""

    labels: dict[str, Any]
    set: list[str] = []
    #: More for roles of the pairs at this case only.
    roles: dict[str, dict[str, Any]] = {}
    modes: tuple[Mode, ...] = ("quick", "full")
    fair_share: str | None = None


class RunsTable(Table, kw_only=True, frozen=True):
    """[runs.NAME]"""

    #: Another set that this one is like, but for the keys given here.
    like: str = ""
    scenario: str = ""
    compute: str = ""
    axis: dict[str, dict[str, Any]] = {}
    case: list[dict[str, Any]] = []
    set: list[str] = []
    quick_set: list[str] = []
    #: After all others, also those of a case.
    then: list[str] = []
    seeds: dict[Mode, int] = msgspec.field(default_factory=lambda: {"quick": 3, "full": 5})
    fair_share: str = "1bps"
    link: str = "bottleneck"
    options: dict[str, Any] = {}
    cost_s: float | dict[Mode, float] = 0.0


class ExperimentTable(Table, kw_only=True, frozen=True):
    """[[experiment]]"""

    id: str
    title: str
    #: Which figure or table of the source it is, as the source counts.
    item: str = ""
    #: Ids it had before; they go on working.
    aliases: list[str] = []
    text: str = ""
    runs: str | list[str] = []
    where: Where = {}
    #: What is drawn and tabulated; the options of each `kind` are its own.
    output: list[dict[str, Any]] = []
    why_not: str = ""
    variants: bool = False


class ExperimentsFile(Table, kw_only=True, frozen=True):
    discipline: dict[str, dict[str, Any]] = {}
    pair: dict[str, dict[str, Any]] = {}
    runs: dict[str, dict[str, Any]] = {}
    experiment: list[dict[str, Any]] = []


class PublishedFile(Table, kw_only=True, frozen=True):
    number: list[dict[str, Any]] = []
    cells: dict[str, dict[str, Any]] = {}


class ReadingTable(Table, kw_only=True, frozen=True):
    """[[reading]]: statements about some sets of runs, asked of other sets too. Such rows are compared."""

    #: Behind the ids of the statements.
    id: str
    title: str
    experiment: str
    #: A set that statements are about -> the set that is asked instead.
    runs: dict[str, str]
    #: The points of those sets, beside the condition of the statement.
    where: Where = {}
    #: The statements; without it every one about these sets.
    of: list[str] = []


class StatementsFile(Table, kw_only=True, frozen=True):
    statement: list[dict[str, Any]] = []
    reading: list[dict[str, Any]] = []


T = TypeVar("T", bound=Table)


def read_toml(path: Path, optional: bool = False) -> dict[str, Any]:
    """A file as a dict; empty if it may be absent and is."""
    if optional and not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise StudyError(f"{path}: {e.strerror}") from e
    except tomllib.TOMLDecodeError as e:
        raise StudyError(f"{path}: {e}") from e


def read_table(kind: type[T], table: Any, file: Path | str, at: str = "") -> T:
    """A table of a file as its structure; `at` is its path in the file, such as `runs.sb.axis.queue`.

    Raises `StudyError`, whose message names the file, the key, its value, and what to write instead.
    """
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as e:
        raise StudyError(f"{file}: {_said(kind, table, at, str(e))}") from None


def _said(kind: type[Table], table: Any, at: str, message: str) -> str:
    """An error of msgspec with the value it is about, and the nearest key that exists."""
    # A message ends in " - at `$.path`", or in " - at `key` in `$.path`" for a key.
    what, _, inner = message.replace("`key` in ", "").partition(" - at `$")
    path = f"{at}{inner.rstrip('`')}" if at else inner.rstrip("`").lstrip(".")
    lead = f"{path}: " if path else ""
    unknown = re.match(r"Object contains unknown field `(.*)`", what)
    if unknown:
        key, known = unknown[1], list(_fields(kind))
        near = difflib.get_close_matches(key, known, 1)
        hint = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(sorted(known))}"
        return f'{lead}there is no key "{key}"; {hint}'
    missing = re.match(r"Object missing required field `(.*)`", what)
    if missing:
        return f'{lead}the key "{missing[1]}" is missing; add {missing[1]} = ...'
    value = _at(table, inner.rstrip("`"))
    shown = f" = {value!r}" if value is not None else ""
    return f"{path or kind.__doc__}{shown}: {what[0].lower()}{what[1:]}"


def _fields(kind: type[Table]) -> list[str]:
    return [f.encode_name for f in msgspec.structs.fields(kind)]


def _at(table: Any, path: str) -> Any:
    """The value at a path such as `.check[0].of`; None where the path does not name one key."""
    for key, index in re.findall(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]", path):
        try:
            table = table[key] if key else table[int(index)]
        except (KeyError, IndexError, TypeError, ValueError):
            return None
    return table
