"""Where the runs of a campaign are simulated: in this process, in a shard of its folder, or on the workers of dask.

Whatever is chosen, and in whatever mix, the runs are stored under one folder, and the finished tables have the same
bytes: they are made from the stored runs when all of them are there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.campaign.leaving import under_way
from tailback.campaign.memory import promise
from tailback.campaign.progress import Tell
from tailback.store.sources import stored

#: With fewer chunks for a shard, one may have much more to do than another.
FEW = 4


class MissingRuns(RuntimeError):
    """Shards are to be gathered, and some runs are not there."""


@dataclass
class Errand:
    """What it takes to run a plan."""

    #: The folder of results; None where tables stay in memory.
    dir: Path | None
    jobs: int
    tell: Tell
    #: Of the simulator, and of disciplines written in Python.
    build: str
    about: Mapping[str, Any] = field(default_factory=dict)
    queues: Mapping[str, Callable[[], Any]] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        if self.dir is None:
            raise ValueError("runs that are done elsewhere come together in a folder: give dir")
        return self.dir

    def keys(self, core: _core.Plan) -> list[str]:
        return [r["key"] for r in core.runs(self.build)]

    def run(self, core: _core.Plan, *, dir: Path | None = None, **options: Any) -> _core.Results:
        """Run a plan in this process."""
        where = dir or self.dir
        promise(core, self.jobs, where, self.build)
        about = None if where is None else json.dumps(self.about)
        with under_way(self.tell) as told:
            return core.execute(where, self.jobs, told, dict(self.queues) or None, self.build, about=about, **options)

    def perform(
        self, core: _core.Plan, shard: tuple[int, int] | None = None, client: Any = None, **options: Any
    ) -> _core.Results:
        """Run a plan: one of its shards, or on the workers of a cluster, or in this process."""
        if shard is not None:
            self.announce(core, shard_name(shard))
            return in_shard(core, self, shard, shard_runs(core, shard))
        if client is not None:
            from tailback.campaign.dask import on_dask

            on_dask(core, self, client)
        return self.run(core, **options)

    def announce(self, core: _core.Plan, by: str) -> None:
        """Say in the folder what plan its shards are of, for `tailback status`."""
        core.announce(self.folder, by, self.build, json.dumps(self.about))


def whole(results: _core.Results) -> _core.Results:
    """The results, if all of them are there and stored. Raises OSError or KeyboardInterrupt if not."""
    if results.store_error is not None:
        raise results.store_error
    if results.interrupted:
        raise KeyboardInterrupt
    return results


def shard_name(shard: tuple[int, int]) -> str:
    i, n = shard
    if not 1 <= i <= n:
        raise ValueError(f"there is no shard {i} of {n}; they count from 1/{n} to {n}/{n}")
    return f"{i}-of-{n}"


def shard_runs(core: _core.Plan, shard: tuple[int, int], by_point: bool = False) -> list[int]:
    """The positions of the runs of a shard: every n-th chunk, or run where there are few chunks; or every n-th point,
    so that a point's seeds stay together."""
    i, n = shard
    if by_point:
        return [at for at, r in enumerate(core.runs()) if r["point"] % n == i - 1]
    chunks = core.chunks()
    if len(chunks) < FEW * n:
        chunks = [[at] for at in range(len(core))]
    return [at for k, chunk in enumerate(chunks) if k % n == i - 1 for at in chunk]


def in_shard(core: _core.Plan, errand: Errand, shard: tuple[int, int], mine: Sequence[int]) -> _core.Results:
    """Run some runs of a plan in the folder of a shard; those that are stored elsewhere in the folder are left out.

    Raises OSError while another process runs the same shard, or the whole plan.
    """
    name = shard_name(shard)
    own = errand.folder / "shards" / name
    keys = errand.keys(core)
    elsewhere = stored(errand.folder) - stored(own)
    part = core.only([at for at in mine if keys[at] not in elsewhere])
    results = errand.run(part, dir=own, chunks=True, within=errand.folder)
    if results.store_error is not None:
        raise results.store_error
    return results


def check_all_there(core: _core.Plan, errand: Errand) -> None:
    """Raises MissingRuns, which says how many runs are missing and whose they are."""
    there = stored(errand.folder, failed=True)
    missing = sum(key not in there for key in errand.keys(core))
    if not missing:
        return
    shards = _core.status(errand.folder)["shards"] if errand.folder.is_dir() else []
    said = "; ".join(
        f"{s['name'].replace('-of-', '/')} has {s['stored']} of {s['planned']}"
        + (f", process {s['in_use_by']} is at work" if s["in_use_by"] else "")
        for s in shards
    )
    raise MissingRuns(
        f"{missing} of {len(core)} runs are not stored in {errand.folder}"
        + (f" ({said})" if said else "")
        + "; run the shards that lack, or run the plan without --merge to do the rest here"
    )
