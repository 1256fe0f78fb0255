"""The settings with which a plan is run: the folder of its results, its threads, its progress, and all that decides its
results."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.runs.campaign.leaving import under_way
from tailback.runs.campaign.memory import promise
from tailback.runs.campaign.progress import Tell


@dataclass
class Errand:
    """The settings for running a plan."""

    #: The folder of results; None if tables stay in memory.
    dir: Path | None
    jobs: int
    tell: Tell
    #: The fingerprint of the simulator and of disciplines written in Python.
    build: str
    about: Mapping[str, Any] = field(default_factory=dict)
    queues: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    #: Whether the laws that hold in every run are checked. A run that breaks a law has failed.
    laws: bool = False
    #: Makers of disciplines that scenarios name, by class.
    classes: Mapping[str, Callable[[], Any]] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        if self.dir is None:
            raise ValueError("runs that are done elsewhere are collected in a folder: give dir")
        return self.dir

    def keys(self, core: _core.Plan) -> list[str]:
        return [r["key"] for r in core.runs(self.build)]

    def run(self, core: _core.Plan, *, dir: Path | None = None, **options: Any) -> _core.Results:
        """Run a plan in this process."""
        folder = dir or self.dir
        promise(core, self.jobs, folder, self.build)
        about = None if folder is None else json.dumps(self.about)
        with under_way(self.tell) as progress:
            queues = dict(self.queues) or None
            keywords = {"about": about, "laws": self.laws, "classes": dict(self.classes) or None, **options}
            return core.execute(folder, self.jobs, progress, queues, self.build, **keywords)

    def announce(self, core: _core.Plan, by: str) -> None:
        """Write the plan of the shards into the folder, for `tailback status`."""
        core.announce(self.folder, by, self.build, json.dumps(self.about))


def whole(results: _core.Results) -> _core.Results:
    """The results, if all of them are finished and stored. Raises OSError or KeyboardInterrupt if not."""
    if results.store_error is not None:
        raise results.store_error
    if results.interrupted:
        raise KeyboardInterrupt
    return results
