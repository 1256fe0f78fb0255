"""A sweep: points, the replications of each point, and the numbers for which its results are examined; and its
execution.

A sweep is one plan, or, if seeds are added until points have enough, one plan after the other.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from tailback import _core
from tailback.core.store import manifest
from tailback.core.store.keys import stored
from tailback.core.text.arguments import checked
from tailback.core.text.given import jobs as check_jobs
from tailback.runs.campaign.axes import Axis
from tailback.runs.campaign.dask import on_dask
from tailback.runs.campaign.errand import Errand, whole
from tailback.runs.campaign.files import PairedTable, StopTable
from tailback.runs.campaign.grow import Metric, check, wanted
from tailback.runs.campaign.places import check_shard, perform
from tailback.runs.campaign.plan import Plan
from tailback.runs.campaign.progress import Progress, shown
from tailback.runs.campaign.shards import check_all_there, in_shard, shard_name, shard_runs


@dataclass(frozen=True)
class How:
    """The settings for the runs of a sweep; see `Plan.execute`."""

    jobs: int = 0
    progress: Progress = None
    shard: tuple[int, int] | None = None
    client: Any = None
    #: Whether only the tables of the stored shards are made, and nothing is run.
    merge: bool = False
    #: Whether the laws of every run are checked; see `Plan.execute`.
    check_laws: bool = False
    #: The words of the command, for the manifest.
    command: list[str] | None = None


@dataclass
class Sweep:
    """Made by `tailback.load_sweep`; `execute` runs it.

    >>> lab = tb.dumbbell(flows=2, bottleneck="10Mbps", rtt="40ms", queue="codel")
    >>> rates = {"paths": ["link.bottleneck.rate"], "values": ["5Mbps", "10Mbps"]}
    >>> sweep = tb.load_sweep({"scenario": lab, "set": ["duration=2s"], "axis": {"rate": rates}})
    >>> results = sweep.execute("out/rates")
    >>> results.runs["rate"].tolist()
    ['5Mbps', '10Mbps']
    """

    name: str
    points: list[tuple[dict[str, str], _core.Scenario]]
    replications: int
    #: The seed of the first replication of every point; None for the seed of the scenario.
    seed: int | None
    stop: StopTable | None
    compare: PairedTable | None
    axes: list[Axis]
    #: Makers of disciplines written in Python, by port.
    queues: dict[str, Callable[[], Any]] = field(default_factory=dict)

    @checked
    def plan(self, replications: Sequence[int] | None = None) -> Plan:
        """The plan with a number of replications for each point. Without `replications` it is the plan at the
        beginning."""
        first_seeds = self.stop.at_least if self.stop else self.replications
        plan = Plan(self.points, replications if replications is not None else first_seeds, self.seed)
        plan.queues = self.queues
        return plan

    def __len__(self) -> int:
        """The number of runs; for a sweep that can grow, the least number."""
        return len(self.plan())

    def __repr__(self) -> str:
        n = f"{self.stop.at_least} to {self.stop.at_most}" if self.stop else str(self.replications)
        return f"<Sweep {self.name}: {len(self.points)} points, {n} replications>"

    def about(self) -> dict[str, Any]:
        """The entry of the sweep in the manifest, for reports of the results."""
        facts = {
            "name": self.name,
            "axes": [{"name": a.name, "title": a.title, "unit": a.unit} for a in self.axes],
            "compare": msgspec.to_builtins(self.compare),
            "stop": msgspec.to_builtins(self.stop),
        }
        return {k: v for k, v in facts.items() if v is not None}

    @checked
    def execute(
        self,
        dir: str | os.PathLike[str] | None = None,
        jobs: int = 0,
        progress: Progress = None,
        *,
        shard: tuple[int, int] | None = None,
        client: Any = None,
    ) -> _core.Results:
        """Run the runs that are not stored in `dir` yet; see `Plan.execute`. With `stop`, seeds are added to a point
        until it has enough."""
        check_shard(shard)
        return execute(self, dir, How(check_jobs(jobs), progress, shard, client))


def execute(sweep: Sweep, dir: str | os.PathLike[str] | None, how: How) -> _core.Results:
    """See `Sweep.execute`."""
    if dir is None:
        if how.shard is not None or how.merge:
            raise ValueError("shards need a folder: give dir")
        if sweep.stop is None and how.client is None:
            return sweep.plan().execute(None, how.jobs, how.progress)
        # The results of earlier seeds are read from a folder. The folder is removed in the end, so the tables are
        # copied.
        with tempfile.TemporaryDirectory(prefix="tailback-") as d:
            kept_results: _core.Results = pickle.loads(pickle.dumps(execute(sweep, d, how)))
            return kept_results
    if sweep.stop is not None:
        check(sweep.stop, sweep.points[0][1])
    plan = sweep.plan()
    about = {**manifest.program(how.command), "sweep": sweep.about()}
    with shown(how.progress) as tell:
        errand = Errand(Path(dir), how.jobs, tell, plan.build(), about, plan.queues, how.check_laws, plan.classes)
        if sweep.stop is not None:
            return _grown(sweep, sweep.stop, errand, how)
        if how.merge:
            check_all_there(plan._core, errand)
        return whole(perform(plan._core, errand, how.shard, how.client))


def _grown(sweep: Sweep, stop: StopTable, errand: Errand, how: How) -> _core.Results:
    """Adds seeds to points until they have enough. A shard has whole points, so it has all the numbers that decide
    this."""
    if how.shard is not None:
        errand.announce(sweep.plan()._core, shard_name(how.shard))

    of_shard = _core.Plan([], []).execute()

    def run(plan: _core.Plan) -> None:
        nonlocal of_shard
        if how.shard is not None:
            runs_of_shard = shard_runs(plan, how.shard, by_point=True)
            of_shard = whole(in_shard(plan, errand, how.shard, runs_of_shard))
        elif how.merge:
            check_all_there(plan, errand)
        elif how.client is not None:
            on_dask(plan, errand, how.client)
        else:
            whole(errand.run(plan, chunks=True))

    shard_number, shard_count = how.shard or (1, 1)
    metric = Metric(stop, errand.folder)
    counts = [stop.at_least] * len(sweep.points)
    while True:
        plan = sweep.plan(counts)._core
        runs = [r for r in plan.runs(errand.build) if r["point"] % shard_count == shard_number - 1]
        if not {r["key"] for r in runs} <= stored(errand.folder):
            run(plan)
        metric.read([r["key"] for r in runs])
        values_of_point: dict[int, list[float]] = {}
        for r in runs:
            values_of_point.setdefault(r["point"], []).append(metric.known[r["key"]])
        # A point that has a run without the number gets no more seeds.
        enough_of = {p: wanted(stop, v) for p, v in values_of_point.items() if all(x == x for x in v)}
        grown = [enough_of.get(p, n) for p, n in enumerate(counts)]
        if grown == counts:
            return of_shard if how.shard is not None else whole(errand.run(plan))
        counts = grown
