"""Kinds of tables of a study, one file a kind, each registered by the `kind` that an experiment's output names.

    @table("range")
    def build(d: Drawing, out: Path, number: int) -> list[dict[str, Any]]: ...

A table is written into the folder of results `out` as CSV; `number` tables of its experiment come before it. The answer
is what the report needs of it, an entry for each table. Every module of this package is imported and registers itself.
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
