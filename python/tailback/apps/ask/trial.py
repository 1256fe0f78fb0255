"""The runs of candidates, for any question."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tailback import _core
from tailback.runs.campaign.progress import Progress
from tailback.runs.result import RunError


@dataclass(frozen=True)
class Trial:
    """Settings of the runs (seeds, length, threads, folder), and callbacks for their progress."""

    #: The most seeds.
    replications: int = 5
    #: The seed of the first replication.
    seed: int = 1
    #: The length of a run; None if the question chooses it.
    duration: str | None = None
    jobs: int = 0
    #: Folder of the runs; None keeps them in memory.
    out: str | os.PathLike[str] | None = None
    progress: Progress = None
    #: Changes of the senders.
    tcp: Mapping[str, Any] = field(default_factory=dict)
    #: Whether all seeds are run, even if fewer make the answer clear.
    sure: bool = False
    #: The words of the command, for the page.
    command: str = ""
    #: A callback that gets the question, as understood, before the first run.
    say: Callable[[str], None] | None = None
    #: A callback that gets the answer so far after each round of seeds.
    hear: Callable[[Any], None] | None = None


def not_failed(results: _core.Results) -> _core.Results:
    """The results, in which every run is finished. Raises `RunError` with the seed of a failed run."""
    failure = results.failure
    if failure is not None:
        raise RunError(f"the run with seed {failure['seed']} failed: {failure['message']}")
    return results
