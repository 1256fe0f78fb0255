"""What a failed run leaves to be sent: its scenario with its seed, in a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tailback import _core
from tailback.text.whole import write_text

#: As many failed runs leave a file.
MOST = 10


def leave(scenarios: Sequence[_core.Scenario], results: _core.Results, folder: Path) -> str:
    """Write the scenario of each failed run, by point, and say where; empty if no run failed."""
    rows = [r for r in results.runs.rows() if r["status"] != "done"][:MOST]
    left = []
    for row in rows:
        file = folder / f"failed-{row['key'][:8]}.toml"
        scenario = _core.load(scenarios[row["run"]].toml, "toml", str(file), [f"seed={row['seed']}"], True)
        write_text(file, scenario.toml)
        left.append(str(file))
    return f"; the scenario with this seed is in {', '.join(left)}" if left else ""
