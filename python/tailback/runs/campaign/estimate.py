"""The estimated cost of a campaign before it runs.

For a sweep, a few runs are timed. For a study, the cost of earlier runs or the cost on its page is used.
"""

from __future__ import annotations

import json
import math
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.core.store.keys import stored
from tailback.runs.campaign.memory import cores, threads_of
from tailback.runs.campaign.plan import Plan
from tailback.runs.campaign.progress import span
from tailback.runs.campaign.sweep import Sweep

#: The number of points that are timed, spread from cheap to expensive ones.
SAMPLE = 5
#: The most seconds for the whole sample. A run that is stopped early is extrapolated.
BUDGET_S = 10.0
#: The number of runs that are stored together to measure the bytes that each adds to a folder, if one run takes less
#: than the second number of seconds.
TOGETHER, QUICK_S = 32, 0.1


@dataclass(frozen=True)
class Estimate:
    points: int
    #: The number of runs, and the most runs if the sweep grows.
    runs: int
    at_most: int
    stored: int
    #: CPU time of the runs that are not stored; NaN if no run of the sample came far enough.
    cpu_s: float
    bytes: float = math.nan
    #: The number of timed runs; 0 if the estimate is from other runs.
    timed: int = 0
    failure: str = ""
    #: The number of runs of unknown cost, which the sum leaves out.
    unknown: int = 0
    #: The time of all live runs in sequence, in seconds.
    live_s: float = 0.0

    @classmethod
    def of_costs(cls, points: int, runs: int, costs: Sequence[float], live: Sequence[float] = ()) -> Estimate:
        """The estimate from the expected CPU seconds of each run that is not stored, and the seconds of each live run;
        NaN if unknown."""
        cpu_costs, live_costs = ([c for c in some if not math.isnan(c)] for some in (costs, live))
        todo = len(costs) + len(live)
        unknown = todo - len(cpu_costs) - len(live_costs)
        return cls(points, runs, runs, runs - todo, math.fsum(cpu_costs), unknown=unknown, live_s=math.fsum(live_costs))

    def as_dict(self) -> dict[str, Any]:
        """The document of `tailback sweep --dry-run --json`."""
        return {k: getattr(self, k) for k in self.__dataclass_fields__ if k not in ("unknown", "live_s")}

    def elapsed_s(self, jobs: int) -> float:
        """Seconds from start to end. A live run takes one of the cores, and the others simulate meanwhile."""
        return max(self.live_s, (self.cpu_s + self.live_s) / min(threads_of(jobs), cores()))

    def lines(self, jobs: int) -> list[str]:
        """The text for a terminal."""
        up_to = f" to {self.at_most}" if self.at_most > self.runs else ""
        lines = [f"{self.points} points, {self.runs}{up_to} runs" + (f", {self.stored} stored" if self.stored else "")]
        if self.failure:
            return [*lines, f"a run of the sample failed: {self.failure}"]
        if math.isnan(self.cpu_s):
            return [*lines, "no run of the sample came far enough to tell the time"]
        threads = threads_of(jobs)
        texts = [f"{_short(self.cpu_s)} of CPU time"] if self.cpu_s or self.timed else []
        texts += [f"{_short(self.live_s)} of live runs"] if self.live_s else []
        time_text = f"about {' and '.join(texts)}, {_short(self.elapsed_s(jobs))} on {threads} threads" if texts else ""
        if self.timed:
            suffix = " for the fewest runs" if up_to else ""
            return [*lines, f"{time_text}{suffix} ({self.timed} timed)", f"about {_bytes(self.bytes)} on disk"]
        unknown = [f"{self.unknown} runs of unknown cost"] if self.unknown else []
        return [*lines, *([time_text] if time_text else []), *unknown]


def point_name(part: str, labels: Mapping[str, str]) -> str:
    """A point of a part of a plan, in one word."""
    return json.dumps([part, labels], sort_keys=True)


def before(folder: Path) -> tuple[set[str], dict[str, float]]:
    """The keys of the runs in a folder, and the CPU seconds of one run of each point, by `point_name`."""
    if not folder.is_dir():
        return set(), {}
    status = _core.status(folder)
    points = (json.loads(status["manifest"]) or {}).get("points", [])
    names = [point_name(p["part"], p["labels"]) for p in points]
    with_cost = [r for r in status["runs"] if r["point"] is not None and r["cpu_s"] is not None]
    costs = {names[r["point"]]: r["cpu_s"] for r in with_cost if r["point"] < len(names)}
    return {r["key"] for r in status["runs"] if r["stored"]}, costs


def estimate(sweep: Sweep, dir: Path | None = None, budget_s: float = BUDGET_S) -> Estimate:
    """Time some runs of a sweep, in memory. The sum leaves out the runs that are stored in `dir`."""
    plan = sweep.plan()
    core, runs = plan._core, plan._core.runs(plan.build())
    stored_keys = stored(dir) if dir is not None else set()
    work = core.work()
    of_run = [work[r["point"]] for r in runs]
    work_left = [w for w, r in zip(of_run, runs, strict=True) if r["key"] not in stored_keys]
    point_costs: list[tuple[float, float, float]] = []
    failure = ""
    began = time.monotonic()
    for point in _spread(work):
        if time.monotonic() - began > budget_s and point_costs:
            break
        run_number = next(i for i, r in enumerate(runs) if r["point"] == point)
        sample, failure_of_run = _time(core.only([run_number]), plan, budget_s / SAMPLE)
        failure = failure or failure_of_run
        if sample is not None:
            point_costs.append((work[point], *sample))
    size = _total([(w, b) for w, _, b in point_costs if b > 0], work_left)
    quick = max((s for _, s, _ in point_costs), default=math.inf) < QUICK_S
    if quick and len(work_left) > TOGETHER and (together := _together(core, plan, runs)) is not None:
        size = min(size, together[0] + together[1] * len(work_left))
    grows = sweep.stop.at_most * len(sweep.points) if sweep.stop else len(runs)
    return Estimate(
        points=len(sweep.points),
        runs=len(runs),
        at_most=grows,
        stored=len(runs) - len(work_left),
        cpu_s=_total([(w, s) for w, s, _ in point_costs], work_left),
        bytes=size,
        timed=len(point_costs),
        failure=failure,
    )


def _together(core: _core.Plan, plan: Plan, runs: list[dict[str, Any]]) -> tuple[float, float] | None:
    """The bytes of a folder without runs, and the bytes that each run adds. The two are measured separately, because a
    file of one run is mostly the description of its columns."""
    step = max(1, len(runs) // TOGETHER)
    chosen_runs = list(range(0, len(runs), step))[:TOGETHER]
    sizes = []
    for sample in (chosen_runs[:1], chosen_runs):
        with tempfile.TemporaryDirectory(prefix="tailback-") as d:
            results = core.only(sample).execute(d, 1, None, plan.queues or None, classes=plan.classes or None)
            if results.failure is not None:
                return None
            sizes.append(float(sum(p.stat().st_size for p in Path(d).glob("*.parquet"))))
    bytes_each = max(0.0, sizes[1] - sizes[0]) / (len(chosen_runs) - 1)
    return max(0.0, sizes[0] - bytes_each), bytes_each


def _spread(work: list[float]) -> list[int]:
    """Points at even distances in the order of their work."""
    n = len(work)
    order = sorted(range(n), key=lambda p: work[p])
    k = min(SAMPLE, n)
    return list(dict.fromkeys(order[round(i * (n - 1) / max(k - 1, 1))] for i in range(k)))


def _time(one: _core.Plan, plan: Plan, budget_s: float) -> tuple[tuple[float, float] | None, str]:
    """CPU seconds and bytes on disk of a run (0 bytes if it was stopped early), and the reason if it failed."""
    begin_s, begin_cpu_s = time.monotonic(), time.process_time()
    share = 0.0

    def tell(state: dict[str, Any]) -> bool:
        nonlocal share
        share = state["share"]
        return time.monotonic() - begin_s < budget_s

    with tempfile.TemporaryDirectory(prefix="tailback-") as folder:
        results = one.execute(folder, 1, tell, plan.queues or None, classes=plan.classes or None)
        cpu_s = time.process_time() - begin_cpu_s
        if results.failure is not None:
            return None, str(results.failure["message"])
        if results.report["done"] < 1:
            return ((cpu_s / share, 0.0) if share > 0.01 else None), ""
        files = sum(p.stat().st_size for p in Path(folder).glob("*.parquet"))
        return (results.reports[0]["cpu_s"], float(files)), ""


def _total(timed: list[tuple[float, float]], left: list[float]) -> float:
    """The sum over runs. The time of each run is that of the timed run with the nearest work, in proportion to the
    work."""
    if not left:
        return 0.0
    if not timed:
        return math.nan

    def one(w: float) -> float:
        near = min(timed, key=lambda t: abs(math.log(max(t[0], 1.0) / max(w, 1.0))))
        return near[1] * w / near[0]

    cost_of: dict[float, float] = {}
    return math.fsum(cost_of.setdefault(w, one(w)) for w in left)


def _short(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 10 else span(seconds)


def _bytes(n: float) -> str:
    if math.isnan(n):
        return "unknown size"
    for unit, scale in (("GB", 1e9), ("MB", 1e6)):
        if n >= scale:
            return f"{n / scale:.3g} {unit}"
    return f"{n / 1e3:.3g} kB"
