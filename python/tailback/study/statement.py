"""A published sentence with the checks that decide it: a `[[statement]]` of `statements.toml`.

The keys `runs`, `class`, `class_over`, `measure` and `where` may stand in the statement, for all its checks, or in a
check.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from tailback.study.checks import read_check
from tailback.study.checks.base import Statement
from tailback.study.errors import StudyError
from tailback.study.files import Table, Where, read_table

_SHARED = ("runs", "class", "class_over", "measure", "where")


class StatementTable(Table, kw_only=True, frozen=True):
    """[[statement]]"""

    id: str
    sentence: str
    source: str = ""
    #: The experiment whose runs it needs, or "predict" for one that arithmetic decides.
    experiment: str = "predict"
    gate: bool = True
    explanation: str = ""
    note: str = ""
    #: Why nothing here measures it, where there are no checks.
    why_not: str = ""
    check: list[dict[str, Any]] = []
    #: Where the check was read anew after a look at results: the source's words, and the check as it was first written.
    words: str = ""
    first_check: list[dict[str, Any]] = []
    runs: str | None = None
    class_: str | None = msgspec.field(name="class", default=None)
    class_over: str | None = None
    measure: str | None = None
    where: Where = {}


def read_statement(table: dict[str, Any], file: Path | str) -> Statement:
    """Raises `StudyError` for keys or values that a statement or the kind of its checks does not have."""
    at = f"statement {table.get('id', '?')}"
    t = read_table(StatementTable, table, file, at)
    shared = {k: table[k] for k in _SHARED if k in table}
    checks = tuple(read_check(c, shared, file, f"{at}.check[{i}]") for i, c in enumerate(t.check))
    first = tuple(read_check(c, shared, file, f"{at}.first_check[{i}]") for i, c in enumerate(t.first_check))
    if bool(first) != bool(t.words):
        raise StudyError(
            f"{file}: {at}: words and first_check go together: the source's words, and the rule as it was first"
        )
    return Statement(
        id=t.id,
        sentence=t.sentence,
        source=t.source,
        experiment=t.experiment,
        gate=t.gate,
        explanation=t.explanation,
        note=t.note,
        why_not=t.why_not,
        checks=checks,
        words=t.words,
        first=first,
    )
