"""The kinds of tables of a study. Each kind has one file, and is registered by the `kind` of an experiment's output.

    @table("range")
    def build(d: Drawing, out: Path, number: int) -> list[dict[str, Any]]: ...

A table is written into the folder of results `out` as CSV. `number` tables of its experiment come before it. The
function returns the data for the report, with an entry for each table. Every module of this package is imported and
registers itself.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tailback.study.figures import Drawing
from tailback.study.registry import Registry

TABLES: Registry[Callable[[Drawing, Path, int], list[dict[str, Any]]]] = Registry(__name__, "kinds of tables")
table = TABLES.named

TABLES.load()
