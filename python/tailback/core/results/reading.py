"""Reads columns of a table of results piece by piece. From a stored folder it reads only the requested columns, with
one row group in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tailback import _core

#: Columns by name.
Piece = dict[str, np.ndarray]


def folder_of(results: Any) -> Path | None:
    """The folder of stored results; None for results in memory."""
    folder = getattr(getattr(results, "results", results), "folder", None)
    return Path(folder) if folder else None


def declared(results: Any, table: str) -> Any:
    """The table without rows: columns, units and meanings."""
    folder = folder_of(results)
    path = folder / f"{table}.parquet" if folder else None
    if path is not None and path.is_file():
        return _core.parquet_columns(path)
    return getattr(results, table)[:0]


def pieces(results: Any, table: str, columns: Sequence[str]) -> Iterator[Piece]:
    """These columns of a table, row group by row group."""
    folder = folder_of(results)
    path = folder / f"{table}.parquet" if folder else None
    if path is not None and path.is_file():
        for group in _core.RowGroups(path, list(columns)):
            yield {name: group[name] for name in columns if name in group}
        return
    in_memory = getattr(results, table)
    if len(in_memory):
        yield {name: in_memory[name] for name in columns if name in in_memory}
