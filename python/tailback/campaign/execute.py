"""Running a sweep: its plan, or, where points get seeds until they have enough, one plan after the other."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from tailback import _core
from tailback.campaign import shards as places
from tailback.campaign.files import StopTable
from tailback.campaign.grow import Metric, check, wanted
from tailback.campaign.plan import Plan
from tailback.campaign.progress import Progress, shown
from tailback.campaign.shards import Errand
from tailback.store import manifest


class Points(Protocol):
    """What is run: the points of a sweep, and when they have seeds enough."""

    points: list[tuple[dict[str, str], _core.Scenario]]
    stop: StopTable | None

    def plan(self, replications: Sequence[int] | None = None) -> Plan: ...
    def about(self) -> dict[str, Any]: ...


def execute(
    sweep: Points,
    dir: str | os.PathLike[str] | None,
    jobs: int = 0,
    progress: Progress = None,
    shard: tuple[int, int] | None = None,
    client: Any = None,
    merge: bool = False,
    command: list[str] | None = None,
) -> _core.Results:
    """See `Sweep.execute`. `merge` makes the tables of what shards have stored, and runs nothing."""
    if dir is None:
        if shard is not None or merge:
            raise ValueError("shards need a folder: give dir")
        if sweep.stop is None and client is None:
            return sweep.plan().execute(None, jobs, progress)
        # What is needed of earlier seeds is read from a folder; the tables go with it.
        with tempfile.TemporaryDirectory(prefix="tailback-") as d:
            results = execute(sweep, d, jobs, progress, client=client)
            kept: _core.Results = pickle.loads(pickle.dumps(results))
            return kept
    if sweep.stop is not None:
        check(sweep.stop, sweep.points[0][1])
    first = sweep.plan()
    about = {**manifest.program(command), "sweep": sweep.about()}
    with shown(progress) as tell:
        errand = Errand(Path(dir), jobs, tell, first.build(), about, first.queues)
        if shard is not None:
            return _shard(sweep, errand, shard)

        def run(plan: Plan) -> None:
            if merge:
                places.check_all_there(plan._core, errand)
            elif client is not None:
                places.on_dask(plan._core, errand, client)
            elif sweep.stop is not None:
                _whole(errand.run(plan._core, chunks=True))

        plan = _rounds(sweep, errand, run)
        return _whole(errand.run(plan._core))


def _rounds(sweep: Points, errand: Errand, run: Callable[[Plan], None], points: set[int] | None = None) -> Plan:
    """Run what each point has, look, and add seeds where they are wanted; the last plan. Of `points`, or of all."""
    plan = sweep.plan()
    if sweep.stop is None:
        run(plan)
        return plan
    metric = Metric(sweep.stop, errand.dir)
    counts = [sweep.stop.at_least] * len(sweep.points)
    while True:
        runs = plan._core.runs(errand.build)
        mine = [r for r in runs if points is None or r["point"] in points]
        if not {r["key"] for r in mine} <= errand.stored():
            run(plan)
        metric.read([r["key"] for r in mine])
        values: dict[int, list[float]] = {}
        for r in mine:
            values.setdefault(r["point"], []).append(metric.known[r["key"]])
        # A point that has a run without the number has no use for more.
        more = {p: wanted(sweep.stop, v) for p, v in values.items() if all(x == x for x in v)}
        grown = [more.get(p, n) for p, n in enumerate(counts)]
        if grown == counts:
            return plan
        counts = grown
        plan = sweep.plan(counts)


def _shard(sweep: Points, errand: Errand, shard: tuple[int, int]) -> _core.Results:
    """The runs of a shard. Where points grow, a shard has whole points, and so knows all that decides."""
    growing = sweep.stop is not None
    plan = sweep.plan()
    places.announce(plan._core, errand, shard)
    found: list[_core.Results] = []

    def run(plan: Plan) -> None:
        mine = places.shard_runs(plan._core, shard, by_point=growing)
        found.append(_whole(places.in_shard(plan._core, errand, shard, mine)))

    points = {p for p in range(len(sweep.points)) if p % shard[1] == shard[0] - 1}
    _rounds(sweep, errand, run, points)
    return found[-1] if found else _core.Plan([], []).execute()


def _whole(results: _core.Results) -> _core.Results:
    if results.store_error is not None:
        raise results.store_error
    if results.interrupted:
        raise KeyboardInterrupt
    return results
