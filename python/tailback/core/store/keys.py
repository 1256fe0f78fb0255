"""Lists the runs of a folder of results without reading their tables."""

from __future__ import annotations

from pathlib import Path

from tailback import _core


def stored(dir: Path, failed: bool = False) -> set[str]:
    """The keys of the runs in a folder, in all shards. With `failed`, failed runs are included."""
    if not dir.is_dir():
        return set()
    return {r["key"] for r in _core.status(dir)["runs"] if r["stored"] or (failed and r["failed"])}
