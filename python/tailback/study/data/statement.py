"""Reads a published sentence with the checks that decide it: a `[[statement]]` of `statements.toml`, or a row of one
that has `each` (`groups.py`).

The keys `runs`, `class`, `class_over`, `measure` and `where` may be in the statement, for all its checks, or in a
check.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from tailback.study.checks import read_check
from tailback.study.checks.base import Check, Measured, Statement
from tailback.study.data.files import ReadingTable, Table, Where, read_table
from tailback.study.data.groups import StudyRow
from tailback.study.errors import StudyError

_SHARED = ("runs", "class", "class_over", "measure", "where")


class StatementTable(Table, kw_only=True, frozen=True):
    """[[statement]]"""

    id: str
    sentence: str
    source: str = ""
    #: The experiment whose runs the statement needs, or "predict" if arithmetic decides the statement.
    experiment: str = "predict"
    gate: bool = True
    explanation: str = ""
    note: str = ""
    #: The reason why it is not measured here, if there are no checks.
    why_not: str = ""
    check: list[dict[str, Any]] = []
    #: If the check was read anew after a look at results: the source's words, and the check as it was first written.
    words: str = ""
    first_check: list[dict[str, Any]] = []
    #: If the check was read anew twice: the check by the second reading.
    second_check: list[dict[str, Any]] = []
    #: The reason why the checks have their own limits, although the sentence has a word of `study/words.toml`.
    own_limit: str = ""
    #: A part of the statement's places ("in the first on-period"), and the checks there. The sentence leans if only
    #: these hold.
    part: str = ""
    part_check: list[dict[str, Any]] = []
    #: The statements that this one tests under another reading of the source. The rows of these statements show the
    #: outcome of this one.
    reading_of: list[str] = []
    runs: str | None = None
    class_: str | None = msgspec.field(name="class", default=None)
    class_over: str | None = None
    measure: str | None = None
    where: Where = {}


def read_statement(row: StudyRow, file: Path | str) -> Statement:
    """The statement of a row. Raises `StudyError` for keys or values that a statement or the kind of its checks does
    not have."""
    table = row.read(StatementTable, file)
    checks = _checks(row, "check", table.check, file)
    first_checks = _checks(row, "first_check", table.first_check, file)
    second_checks = _checks(row, "second_check", table.second_check, file)
    part_checks = _checks(row, "part_check", table.part_check, file)
    if bool(part_checks) != bool(table.part):
        raise StudyError(f"{file}: {row.at}: part and part_check go together: a part in words, and the rule for it")
    if bool(first_checks) != bool(table.words):
        raise StudyError(
            f"{file}: {row.at}: words and first_check go together: the source's words, and the rule as it was first"
        )
    if second_checks and not first_checks:
        raise StudyError(f"{file}: {row.at}: second_check goes with first_check, the rule as it was first")
    return Statement(
        id=table.id,
        sentence=table.sentence,
        source=table.source,
        experiment=table.experiment,
        gate=table.gate,
        explanation=table.explanation,
        note=table.note,
        why_not=table.why_not,
        checks=checks,
        words=table.words,
        first=first_checks,
        part=table.part,
        part_checks=part_checks,
        reading_of=tuple(table.reading_of),
        own_limit=table.own_limit,
        second=second_checks,
    )


def _checks(row: StudyRow, key: str, given: list[dict[str, Any]], file: Path | str) -> tuple[Check, ...]:
    """The checks under a key, with the keys that the statement gives to all of them."""
    shared_keys = {k: row.table[k] for k in _SHARED if k in row.table}
    places = {k: row.shared.get(k, row.at) for k in shared_keys}
    return tuple(read_check(c, shared_keys, file, f"{row.place(key)}[{i}]", places) for i, c in enumerate(given))


def read_otherwise(table: dict[str, Any], statements: list[Statement], file: Path | str) -> list[Statement]:
    """The statements about a reading's sets of runs, with the other sets in their place. Such rows are only
    compared."""
    reading = read_table(ReadingTable, table, file, f"reading {table.get('id', '?')}")
    reading_statements = []
    missing_names = [name for name in reading.of if name not in (statement.id for statement in statements)]
    if missing_names:
        raise StudyError(
            f"{file}: reading {reading.id}: `of` names {missing_names[0]}, which is no statement of this study"
        )
    for statement in statements:
        checks = tuple(_asked_of(c, reading) for c in statement.checks)
        if checks == statement.checks or (reading.of and statement.id not in reading.of):
            continue
        reading_statements.append(
            Statement(
                id=f"{statement.id}-{reading.id}",
                sentence=f"{reading.title}: {statement.sentence}",
                source=statement.source,
                experiment=reading.experiment,
                gate=False,
                explanation="",
                note="",
                why_not="",
                checks=checks,
                reading_of=(statement.id,),
            )
        )
    return reading_statements


def _asked_of(c: Check, reading: ReadingTable) -> Check:
    """A check at the reading's set of runs; unchanged if the reading has no set for it."""
    if not isinstance(c, Measured) or c.runs not in reading.runs:
        return c
    return msgspec.structs.replace(c, runs=reading.runs[c.runs], where={**c.where, **reading.where})
