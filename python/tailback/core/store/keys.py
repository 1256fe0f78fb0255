"""Which runs a folder of results holds, without reading any of their tables."""

from __future__ import annotations

from pathlib import Path

from tailback import _core


def stored(dir: Path, failed: bool = False) -> set[str]:
    """Keys of the runs that are in a folder, in any shard; with those that failed if `failed`."""
    if not dir.is_dir():
        return set()
    return {r["key"] for r in _core.status(dir)["runs"] if r["stored"] or (failed and r["failed"])}
