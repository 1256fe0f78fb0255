"""Sources of the tables of one run: memory at its end, a folder of results, or arithmetic."""

from __future__ import annotations

import json
import math
import zlib
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tailback import _core
from tailback.core.text.whole import write_text

Columns = dict[str, np.ndarray]


class RunSource(Protocol):
    """The tables of one run."""

    def columns(self, table: str) -> Columns:
        """The columns of a table by name; empty if the run has no such table."""
        ...

    @property
    def values(self) -> dict[str, float]:
        """Numbers of an experiment without packets."""
        ...


def _columns(table: _core.Table) -> Columns:
    return {name: np.asarray(table[name]) for name in table.columns}


class Fresh:
    """A run that has just ended: its tables are in memory."""

    def __init__(self, tables: _core.RunTables) -> None:
        self.tables = tables
        self.values: dict[str, float] = {}

    def columns(self, table: str) -> Columns:
        return _columns(self.tables.table(table))


class Stored:
    """A run in a folder of results."""

    def __init__(self, store: _core.StoredRuns, key: str) -> None:
        self.store = store
        self.key = key
        self.values: dict[str, float] = {}

    def columns(self, table: str) -> Columns:
        return _columns(self.store.table(self.key, table))


class Computed:
    """The result of an experiment without packets: numbers, and perhaps a series."""

    def __init__(self, values: dict[str, Any], series: dict[str, Any] | None = None) -> None:
        self.values = {k: math.nan if v is None else float(v) for k, v in values.items()}
        self.series = {k: np.asarray(v) for k, v in (series or {}).items()}

    def columns(self, table: str) -> Columns:
        return self.series if table == "series" else {}


class Answers:
    """The stored answers of experiments without packets: one JSON file, with a checksum."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "computed.json"
        self.damaged = False
        self.found: dict[str, dict[str, Any]] = {}
        try:
            stored_document = json.loads(self.path.read_text(encoding="utf-8"))
            if stored_document["sum"] != _sum(stored_document["runs"]):
                raise ValueError("another checksum")
            self.found = stored_document["runs"]
        except FileNotFoundError:
            pass
        except (ValueError, KeyError, TypeError):
            self.damaged = True

    def __contains__(self, key: str) -> bool:
        return key in self.found

    def get(self, key: str) -> Computed:
        a = self.found[key]
        return Computed(a["values"], a["series"])

    def costs(self) -> dict[str, float]:
        """The CPU seconds of each computed point, without the seed; for a live run, its duration."""
        return {a["of"]: float(a["cpu_s"]) for a in self.found.values()}

    def add(self, key: str, of: str, answer: dict[str, Any], cpu_s: float) -> None:
        values = {k: float(v) for k, v in answer.get("values", {}).items()}
        self.found[key] = {
            "of": of,
            "values": {k: None if math.isnan(v) else v for k, v in values.items()},
            "series": {k: np.asarray(v).tolist() for k, v in (answer.get("series") or {}).items()},
            "cpu_s": round(cpu_s, 4),
        }

    def write(self) -> None:
        """Writes a file beside its place, then moves it there."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        runs = dict(sorted(self.found.items()))
        write_text(self.path, json.dumps({"sum": _sum(runs), "runs": runs}))


def _sum(runs: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(runs, sort_keys=True).encode())
