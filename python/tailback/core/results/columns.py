"""The names of result tables and of their columns.

A column is declared once, next to its values in the engine. The declaration has a long title for pages and axes, a
short one for headers in a terminal, whether the column names a row, and whether summary tables show it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tailback import _core


@dataclass(frozen=True)
class ColumnRow:
    """A column. A column that the engine does not declare, such as a label, has only a name."""

    name: str
    unit: str = ""
    #: The quantity of which the column is a statistic.
    quantity: str = ""
    #: The title in sentences, on axes and in pages.
    title: str = ""
    #: The header of the column in a terminal.
    short: str = ""
    #: Whether it is a share of a whole, shown in per cent.
    share: bool = False
    #: Whether larger or smaller is better; None if it depends.
    better: Literal["more", "less"] | None = None
    #: Whether it identifies a row, alone or with other columns.
    key: bool = False
    #: The summary tables that show it; a terminal has less room than a page.
    shown: Literal["everywhere", "on pages"] | None = None
    #: Whether the page of a sweep draws it.
    drawn: bool = False

    @property
    def shown_unit(self) -> str:
        """`%` for a share, nothing for a number without a unit."""
        return "%" if self.share else "" if self.unit == "1" else self.unit


@dataclass(frozen=True)
class TableRow:
    """A table of a run."""

    name: str
    #: The title above the table.
    title: str
    #: Whether most scenarios have no rows in it.
    seldom: bool
    columns: Mapping[str, ColumnRow] = field(repr=False)

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that name a row."""
        return tuple(c.name for c in self.columns.values() if c.key)

    @property
    def on_pages(self) -> list[ColumnRow]:
        """The columns that tables of pages have."""
        return [c for c in self.columns.values() if c.shown]

    @property
    def in_terminal(self) -> list[ColumnRow]:
        """The columns that tables of a terminal have."""
        return [c for c in self.columns.values() if c.shown == "everywhere"]

    @property
    def drawn(self) -> list[ColumnRow]:
        """The columns that the page of a sweep draws."""
        return [c for c in self.columns.values() if c.drawn]


@functools.cache
def tables() -> Mapping[str, TableRow]:
    """The tables of a run by name, in the order in which they are shown.

    >>> from tailback.core.results.columns import tables
    >>> tables()["links"].keys, tables()["links"].columns["sojourn_p99_s"].title
    (('name',), 'time in the queue, 99th percentile')
    """
    return {
        t["name"]: TableRow(t["name"], t["title"], t["seldom"], {c["name"]: ColumnRow(**c) for c in t["columns"]})
        for t in json.loads(_core.tables_json())
    }


def for_people() -> list[TableRow]:
    """The tables that the terminal and pages show."""
    return [t for t in tables().values() if t.on_pages]


def averaged() -> Mapping[str, tuple[str, ...]]:
    """The tables that have means over replications and differences, with the columns that identify a row."""
    return {t.name: t.keys for t in for_people()}


def column(table: str, name: str) -> ColumnRow:
    """A column of a table. A column that is not declared has its name as title."""
    declared_column = tables()[table].columns.get(name) if table in tables() else None
    words = name.replace("_", " ")
    return declared_column or ColumnRow(name, quantity=words, title=words, short=words)


def joined(title: str, thing: str, word: str = "of") -> str:
    """A title with its subject: `mean delay of a call`, `delay, 99th percentile, of a call`."""
    return f"{title}{',' if ',' in title else ''} {word} {thing}"


def first_key(table: str) -> str:
    """The column in which a name in brackets, as in TABLE.COLUMN[NAME], is looked up."""
    keys = tables()[table].keys if table in tables() else ()
    return keys[0] if keys else "name"
