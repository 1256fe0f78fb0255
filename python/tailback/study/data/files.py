"""The keys of the files of a study: one typed structure for each table, and its reading from TOML.

`tailback.core.declared` reads a table, and has the messages for a wrong one.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from tailback.core.declared import T as T
from tailback.core.declared import Table as Table
from tailback.core.declared import read_table as read_table
from tailback.core.declared import read_toml as read_toml
from tailback.core.verdict.told import AgainRow, Covered, Said, SetupRow
from tailback.runs.campaign.axes import Where as Where
from tailback.runs.campaign.values import AxisKeys, CaseKeys, Values

Mode = Literal["quick", "full"]


class About(Said, kw_only=True, frozen=True):
    """study.toml"""

    #: The ids of the study's main statements, the most important first.
    claims: list[str] = []
    setup: list[SetupRow] = []
    again: list[AgainRow] = []


class ContentsFile(Table, kw_only=True, frozen=True):
    """contents.toml: the items of the source, in its order."""

    contents: list[Covered]


class Discipline(Table, kw_only=True, frozen=True):
    """[discipline.NAME]"""

    title: str
    queue: dict[str, Any]
    style: Literal["normal", "italic"] = "normal"


class Pair(Table, kw_only=True, frozen=True):
    """[pair.NAME]: a discipline, and a table for each role that its sets of runs give paths to."""

    title: str
    queue: str
    #: The roles; in the file every key except title and queue is a role.
    roles: dict[str, dict[str, Any]] = {}


class AxisTable(AxisKeys, kw_only=True, frozen=True):
    """[runs.NAME.axis.NAME]"""

    disciplines: list[str] | None = None
    buffer: str | None = None
    pairs: list[str] | None = None
    #: For pairs: role -> its paths in the scenario.
    roles: dict[str, list[str]] = {}
    #: The roles that belong to the study's own queue, such as its thresholds. Such roles are left out if the caller has
    #: replaced this queue.
    of_queue: list[str] = []
    #: For pairs: further keys of a pair's role, in this set of runs only.
    with_: dict[str, dict[str, dict[str, Any]]] = msgspec.field(name="with", default={})
    quick: Values | None = None
    full: Values | None = None
    both: Values | None = None


class CaseRow(Table, kw_only=True, frozen=True):
    """A row of `each` of [[runs.NAME.case]]"""

    #: Axis -> its label, or several.
    labels: dict[str, Any] = {}
    #: The values of `{name}` in `set` and `fair_share`, in addition to the labels.
    values: dict[str, Any] = {}
    set: list[str] = []
    #: Further keys of the pairs' roles, at this case only.
    roles: dict[str, dict[str, Any]] = {}
    fair_share: str | None = None
    #: Whether the mode runs the case, or for which of its labels. By default every mode runs it.
    quick: bool | Where | None = None
    full: bool | Where | None = None


class CaseGroup(CaseRow, kw_only=True, frozen=True):
    """[[runs.NAME.case]]"""

    each: list[dict[str, Any]] = []


class CaseTable(CaseKeys, kw_only=True, frozen=True):
    """One case, written out (`groups.py`)"""

    roles: dict[str, dict[str, Any]] = {}
    modes: tuple[Mode, ...] = ("quick", "full")
    fair_share: str | None = None


class RunsTable(Table, kw_only=True, frozen=True):
    """[runs.NAME]"""

    #: Another set, from which this one inherits the keys that it does not have (`inherit.py`). `like` is an older word
    #: for `extends`.
    extends: str = ""
    like: str = ""
    #: The values of `{name}` in the changes of the set and of its cases (`fill.py`).
    values: dict[str, Any] = {}
    scenario: str = ""
    compute: str = ""
    axis: dict[str, dict[str, Any]] = {}
    case: list[dict[str, Any]] = []
    set: list[str] = []
    quick_set: list[str] = []
    #: Changes that are made after all others, also after those of a case.
    then: list[str] = []
    seeds: dict[Mode, int] = msgspec.field(default_factory=lambda: {"quick": 3, "full": 5})
    #: For runs with packets: the number of seeds that each point gets first. Further seeds are added one by one, up to
    #: `seeds`, while a row that reads the point is not settled (`Finding.settled`).
    first_seeds: dict[Mode, int] = {}
    fair_share: str = "1bps"
    link: str = "bottleneck"
    options: dict[str, Any] = {}
    cost_s: float | dict[Mode, float] = 0.0
    #: The reason if these runs cannot be repeated, such as that they are runs of real packets.
    not_repeatable: str = ""


class ExperimentTable(Table, kw_only=True, frozen=True):
    """[[experiment]]"""

    id: str
    title: str
    #: The number of the figure or table in the source.
    item: str = ""
    #: Another experiment, from which this one inherits the keys that it does not have (`inherit.py`).
    extends: str = ""
    #: The values of `{name}` in the experiment's texts (`fill.py`).
    values: dict[str, Any] = {}
    #: Earlier ids of the experiment, which still work.
    aliases: list[str] = []
    text: str = ""
    runs: str | list[str] = []
    where: Where = {}
    #: The figures and tables; each `kind` has its own options.
    output: list[dict[str, Any]] = []
    why_not: str = ""
    variants: bool = False


class ExperimentsFile(Table, kw_only=True, frozen=True):
    #: The values of `{name}` in all tables of the file (`fill.py`).
    values: dict[str, Any] = {}
    discipline: dict[str, dict[str, Any]] = {}
    pair: dict[str, dict[str, Any]] = {}
    runs: dict[str, dict[str, Any]] = {}
    experiment: list[dict[str, Any]] = []


class PublishedFile(Table, kw_only=True, frozen=True):
    number: list[dict[str, Any]] = []
    cells: dict[str, dict[str, Any]] = {}


class ReadingTable(Table, kw_only=True, frozen=True):
    """[[reading]]: statements about some sets of runs, asked of other sets too. Such rows are compared."""

    #: The ending of the statements' ids.
    id: str
    title: str
    experiment: str
    #: A set of runs of statements -> the set that is used instead.
    runs: dict[str, str]
    #: The points of those sets, in addition to the condition of the statement.
    where: Where = {}
    #: The statements; by default all statements about these sets.
    of: list[str] = []


class ChosenTable(Table, kw_only=True, frozen=True):
    """[[chosen]]: a reading of the source that was chosen after a look at results, and the rows that rest on it."""

    reading: str
    #: The ids of statements and numbers; * stands for any part of an id.
    of: list[str]


class StatementsFile(Table, kw_only=True, frozen=True):
    statement: list[dict[str, Any]] = []
    reading: list[dict[str, Any]] = []
    chosen: list[dict[str, Any]] = []
