"""Turns the names that a study chooses into file names inside the folder of results, and its texts into cells that are
safe in a spreadsheet."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tailback.core.text.whole import write_text

#: The most bytes of a name that becomes a file name. File systems allow 255, and an ending follows.
LONGEST = 120


def file_name(name: str) -> str:
    """A name as one plain file name, so that a stranger's study writes only into its own folder of results."""
    plain = "".join(c if c.isalnum() or c in "=,.-+_" else "_" for c in name)
    return plain.lstrip(".") or "_"


def unsafe(name: str) -> str | None:
    """The reason why a name cannot be a file or folder, and what to write instead; None if it can."""
    if len(name.encode()) > LONGEST:
        return f"it names a file or folder and has {len(name.encode())} bytes; write at most {LONGEST}"
    if name != file_name(name):
        return (
            "it names a file or folder, so that it has letters, digits and = , . - + _ only, and does not begin with a "
            f"dot; write {file_name(name)[:LONGEST]!r}"
        )
    return None


def cell(value: Any) -> Any:
    """A cell of a CSV file. A text that a spreadsheet would take for a formula gets an apostrophe in front; a number
    that does not apply is an empty cell."""
    if isinstance(value, float) and math.isnan(value):
        return ""
    if not isinstance(value, str) or value[:1] not in ("=", "+", "-", "@", "\t", "\r"):
        return value
    if value == "-":
        return value
    try:
        float(value)
    except ValueError:
        return "'" + value
    return value


def write_csv(path: Path, rows: Iterable[Iterable[Any]]) -> None:
    """Write rows as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    csv.writer(text).writerows([cell(x) for x in row] for row in rows)
    write_text(path, text.getvalue())


def table_file(out: Path, experiment: str, number: int) -> Path:
    """The CSV file of an experiment's table, of which it may have several."""
    return out / "tables" / f"{file_name(experiment)}{'' if number == 0 else f'-{number + 1}'}.csv"
