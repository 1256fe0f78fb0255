"""How candidates are tried, whatever the question is."""

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
    """Seeds, length, threads and folder of the runs, and who hears of them."""

    #: Seeds, at most.
    replications: int = 5
    #: Of the first replication.
    seed: int = 1
    #: Of a run; None for what the question needs.
    duration: str | None = None
    jobs: int = 0
    #: Folder of the runs; None keeps them in memory.
    out: str | os.PathLike[str] | None = None
    progress: Progress = None
    #: What is changed in the senders.
    tcp: Mapping[str, Any] = field(default_factory=dict)
    #: All seeds, also where fewer make the answer clear.
    sure: bool = False
    #: The words of the command, for the page.
    command: str = ""
    #: Takes the question as it was understood, before the first run.
    say: Callable[[str], None] | None = None
    #: Takes the answer after each round of seeds: what is known so far.
    hear: Callable[[Any], None] | None = None


def not_failed(results: _core.Results) -> _core.Results:
    """The results, of which every run has come to its end. Raises `RunError` with the seed of one that has not."""
    failed = results.failure
    if failed is not None:
        raise RunError(f"the run with seed {failed['seed']} failed: {failed['message']}")
    return results
