"""What tables of results and their columns are called.

A column is declared once, beside its values in the engine: a long word for pages and axes, a short one for the heads of
a terminal's tables, whether it names a row, whether tables for people have it.
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
    """A column; `name` alone for one that the engine does not declare, such as a label."""

    name: str
    unit: str = ""
    #: What the column is a statistic of.
    quantity: str = ""
    #: In sentences, on axes and in pages.
    title: str = ""
    #: As the head of a column in a terminal.
    short: str = ""
    #: A share of a whole, which people read in per cent.
    share: bool = False
    #: Which is better; None where it depends.
    better: Literal["more", "less"] | None = None
    #: It says, alone or with others, what a row is of.
    key: bool = False
    #: Which tables for people have it; those of a terminal have less room.
    shown: Literal["everywhere", "on pages"] | None = None
    #: The page of a sweep draws it.
    drawn: bool = False

    @property
    def shown_unit(self) -> str:
        """`%` for a share, nothing for a number without a unit."""
        return "%" if self.share else "" if self.unit == "1" else self.unit


@dataclass(frozen=True)
class TableRow:
    """A table of a run."""

    name: str
    #: What stands above it.
    title: str
    #: Most scenarios have no rows for it.
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
    """The tables that have means over replications and differences, and what names a row of each."""
    return {t.name: t.keys for t in for_people()}


def column(table: str, name: str) -> ColumnRow:
    """A column of a table; one that is not declared is called by its name."""
    declared = tables()[table].columns.get(name) if table in tables() else None
    words = name.replace("_", " ")
    return declared or ColumnRow(name, quantity=words, title=words, short=words)


def joined(title: str, thing: str, word: str = "of") -> str:
    """A title with the thing it is of: `mean delay of a call`, `delay, 99th percentile, of a call`."""
    return f"{title}{',' if ',' in title else ''} {word} {thing}"


def first_key(table: str) -> str:
    """The column that a name in brackets after a table's column is compared with."""
    keys = tables()[table].keys if table in tables() else ()
    return keys[0] if keys else "name"
