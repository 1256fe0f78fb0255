"""Saves the scenario of a failed run with its seed in a file, which the user can send."""

from __future__ import annotations

from pathlib import Path

from tailback import _core
from tailback.core.text.whole import write_text
from tailback.runs.campaign.plan import Plan

#: The most failed runs for which a file is saved.
MOST = 10


def leave(plan: Plan, results: _core.Results, folder: Path) -> str:
    """Write the scenario of each failed run of a plan. Returns a sentence with the place; empty if no run failed."""
    files_left: list[str] = []
    for row in results.runs.rows():
        if row["status"] == "done" or len(files_left) == MOST:
            continue
        toml = next(s.toml for labels, s in plan.points if all(row[k] == v for k, v in labels.items()))
        file = folder / f"failed-{row['key'][:8]}.toml"
        write_text(file, _core.load(toml, "toml", str(file), [f"seed={row['seed']}"], True).toml)
        files_left.append(str(file))
    return f"; the scenario with this seed is in {', '.join(files_left)}" if files_left else ""
