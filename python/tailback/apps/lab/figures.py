"""The pictures of a state as files."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.apps.lab.state import LabError, State

#: Pictures that `plot` draws of a state, and their file types.
FIGURES = ("queue", "cwnd", "goodput")
TYPES = {"svg": "image/svg+xml", "pdf": "application/pdf"}


def figure(state: State, what: str, kind: str, stop: _core.Stop) -> bytes | None:
    """A picture of the full run as `plot` draws it, in a file of this type; None if it was stopped."""
    if what not in FIGURES or kind not in TYPES:
        raise LabError(f"there is no {what} as {kind}; pictures are {', '.join(FIGURES)}, types {', '.join(TYPES)}")
    from tailback.runs.campaign.plan import Plan
    from tailback.runs.result import Result
    from tailback.show import plots

    runs = state.asked("full")
    points: list[tuple[dict[str, Any], _core.Scenario]] = [
        ({"queue": _label(i, r.queue, runs)}, r.scenario) for i, r in enumerate(runs)
    ]
    try:
        results = Plan(points).execute(None, 0, lambda _: not stop.is_set)
    except KeyboardInterrupt:
        return None
    if stop.is_set:
        return None
    plot = plots.plot(Result(results, runs[0].scenario), what)
    plots.titled(plot, f"{what} at {runs[0].link}, {runs[0].seconds:g} s, seed {runs[0].scenario.seed}")
    with tempfile.TemporaryDirectory() as folder:
        (path,) = plots.save(plot, Path(folder) / what, [kind])
        return path.read_bytes()


def _label(i: int, queue: str, runs: list[_core.LabRun]) -> str:
    twice = len({r.queue for r in runs}) < len(runs)
    return f"{queue} {i + 1}" if twice else queue
