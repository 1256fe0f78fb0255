"""Lists the runs of a study: every run that its experiments need, and which of them are stored.

    runs/manifest.json              the plan: scenarios, points, seeds, and what each run cost
    runs/<set>/<chunk>/*.parquet    the tables of a set's runs; `runs/<set>/**/flows.parquet` reads as one data set
    runs/computed.json              answers of experiments without packets

`course.py` does the runs that are not stored.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.core.scenario.read import as_text
from tailback.core.store import fingerprint, manifest
from tailback.core.store.sources import Answers, RunSource, Stored
from tailback.runs.campaign.errand import Errand
from tailback.runs.campaign.estimate import Estimate, before, point_name
from tailback.runs.campaign.places import perform
from tailback.runs.campaign.progress import Tell
from tailback.runs.campaign.shards import shard_runs
from tailback.study import computed
from tailback.study.measures import RunView
from tailback.study.model import Experiment, Point, Runs
from tailback.study.repeat import Repeat
from tailback.study.samples import RunsPoint, Samples, view_of
from tailback.study.study import Study

#: The measured values of a run: (class, measure) -> value.
Numbers = dict[tuple[str, str], float]


@dataclass
class Job:
    """One run."""

    runs: Runs
    point: Point
    seed: int
    key: str
    kept: bool
    #: expected CPU seconds, or seconds of a live run; NaN if unknown
    cost_s: float

    def view(self, source: RunSource) -> RunView:
        return view_of(self.runs, self.point.labels, self.seed, source)

    @property
    def expected(self) -> float:
        """The weight of the run in the progress bar: its expected CPU seconds, or 1."""
        return 1.0 if math.isnan(self.cost_s) else self.cost_s

    @property
    def live(self) -> bool:
        return computed.is_live(self.runs.compute)

    def first_seeds(self, mode: str) -> int:
        """The number of seeds of the run's point before a row needs more."""
        return self.runs.first_seeds.get(mode, self.runs.seeds[mode])

    @property
    def name(self) -> str:
        return f"{self.runs.name} {', '.join(self.point.key)}, seed {self.seed}"


class Work:
    """The runs of some experiments, and their folder of results."""

    def __init__(self, study: Study, experiments: list[Experiment], how: Repeat, out: Path) -> None:
        self.dir = out / "runs"
        self.how = how
        self.about = {**manifest.program(), "study": study.id, "mode": how.mode}
        self.samples = Samples.empty()
        #: The warnings of the scenarios, each once.
        self.warnings: list[str] = []
        self.answers = Answers(self.dir)
        #: Runs with packets come first, in the order of the plan.
        self.jobs: list[Job] = []
        self.plan = _core.Plan([], [])
        self.stored, self.costs = before(self.dir)
        self.costs = {**self.answers.costs(), **self.costs}
        self._collect(study, experiments)

    def _collect(self, study: Study, experiments: list[Experiment]) -> None:
        mode = self.how.mode
        points: list[tuple[dict[str, str], Any]] = []
        seed_counts: list[int] = []
        runs_points: list[tuple[Runs, Point]] = []
        arithmetic: list[Job] = []
        for name, chosen_places in study.needs(experiments).items():
            runs = study.runs[name]
            # A set with one seed in every mode has nothing random, so it gets one seed.
            n = self.how.seeds or runs.seeds[mode] if runs.random else 1
            text = as_text(runs.scenario) if runs.scenario is not None else None
            for point in runs.points(mode, chosen_places):
                if text is None:
                    arithmetic += [self._computed(runs, point, r + 1) for r in range(n)]
                else:
                    scenario = _core.load(*text, point.overrides)
                    self.warnings += [w for w in scenario.warnings if w not in self.warnings]
                    points.append((_stored(point.labels), scenario))
                    seed_counts.append(n)
                    runs_points.append((runs, point))
        self.plan = _core.Plan(points, seed_counts, None, [r.name for r, _ in runs_points])
        for run_row in self.plan.runs(fingerprint.build()):
            runs, point = runs_points[run_row["point"]]
            cost = self._cost(runs, _stored(point.labels))
            self.jobs.append(Job(runs, point, run_row["seed"], run_row["key"], run_row["key"] in self.stored, cost))
        self.packets = len(self.jobs)
        self.jobs += arithmetic
        #: Jobs of later seeds, which are run only if a row needs them.
        self.spare = {i for i, j in enumerate(self.jobs) if self.how.seeds is None and j.seed > j.first_seeds(mode)}

    def files(self) -> list[Path]:
        """The files of the jobs' results after the run."""
        packets = [self.dir / "manifest.json"] if self.packets else []
        return [*packets, self.answers.path] if len(self.jobs) > self.packets else packets

    def _computed(self, runs: Runs, point: Point, seed: int) -> Job:
        inputs = [runs.compute, computed.fingerprint(runs.compute), point.labels, seed, runs.options]
        key = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:32]
        return Job(runs, point, seed, key, key in self.answers, self._cost(runs, point.labels))

    def _cost(self, runs: Runs, labels: dict[str, str]) -> float:
        """The cost of an earlier run of this point, or the cost that the study gives; NaN if neither is known."""
        cost_s = self.costs.get(point_name(runs.name, labels))
        return cost_s if cost_s is not None else runs.cost_s[self.how.mode] or math.nan

    def only(self, chosen: Sequence[int]) -> None:
        """Leave out all jobs except these, whose numbers are positions in `jobs`."""
        chosen = sorted(chosen)
        packets = [i for i in chosen if i < self.packets]
        self.plan = self.plan.only(packets)
        self.spare = {place for place, i in enumerate(chosen) if i in self.spare}
        self.jobs, self.packets = [self.jobs[i] for i in chosen], len(packets)

    def one_more_seed(self, points: set[RunsPoint]) -> list[int]:
        """Make the next seed of each of these points needed, if there is one. Returns the numbers of these jobs."""
        next_jobs: dict[RunsPoint, int] = {}
        for i in sorted(self.spare):
            j = self.jobs[i]
            if (j.runs.name, j.point.key) in points:
                next_jobs.setdefault((j.runs.name, j.point.key), i)
        self.spare -= set(next_jobs.values())
        return list(next_jobs.values())

    def settle(self, unsettled: Callable[[Samples], set[RunsPoint]]) -> None:
        """Add the further seeds that rows need, as long as these are stored."""
        while self.spare and (added := self.one_more_seed(unsettled(self.read({}, {})))):
            if not all(self.jobs[i].kept for i in added):
                break

    def simulated(self) -> tuple[_core.Plan, list[int]]:
        """The runs with packets that are needed so far, and the numbers of their jobs."""
        numbers = [i for i in range(self.packets) if i not in self.spare]
        return self.plan if len(numbers) == self.packets else self.plan.only(numbers), numbers

    def in_shard(self, shard: tuple[int, int], progress: Tell = None) -> int:
        """Do a part of the runs with packets in a separate folder, as for sweeps. Returns the number of these runs.
        Experiments without packets, and later seeds that rows need, are left to the process that gathers the parts."""
        plan, _ = self.simulated()
        results = perform(plan, self.errand(progress), shard)
        if results.interrupted:
            raise KeyboardInterrupt("stopped; run the same command to go on")
        if results.failure is not None:
            self.samples.failed.append(str(results.failure["message"]))
        return len(shard_runs(plan, shard))

    def errand(self, tell: Tell, threads: int = 0) -> Errand:
        return Errand(self.dir, threads or self.how.jobs, tell, fingerprint.build(), self.about)

    def estimate(self) -> Estimate:
        """The estimate for the runs that are certainly needed; `at_most` includes the runs that rows may need."""
        jobs = [j for i, j in enumerate(self.jobs) if i not in self.spare]
        points = {(j.runs.name, j.point.key) for j in jobs}
        todo = [j for j in jobs if not j.kept]
        live = [j.cost_s for j in todo if j.live]
        estimate = Estimate.of_costs(len(points), len(jobs), [j.cost_s for j in todo if not j.live], live)
        return replace(estimate, at_most=len(self.jobs))

    def counted(self) -> tuple[int, int]:
        """The number of needed runs, including the runs of further seeds for rows, and the number of these that were
        stored."""
        needed = [j for i, j in enumerate(self.jobs) if i not in self.spare]
        return len(needed), sum(j.kept for j in needed)

    def read(self, wanted: dict[str, list[tuple[str, str]]], measured: dict[int, Numbers]) -> Samples:
        """The samples of the stored runs, of which some may already be measured. Nothing is run or written."""
        store = _core.StoredRuns(self.dir)
        # Data that were read with fewer seeds are read again.
        for cache in (self.samples.stored, self.samples.data, self.samples.memo):
            cache.clear()
        for i, job in enumerate(self.jobs):
            source: RunSource | None = None
            if i in self.spare:
                continue
            if i >= self.packets:
                source = self.answers.get(job.key) if job.key in self.answers else None
            elif job.key in store:
                source = Stored(store, job.key)
            if source is None:
                continue
            entry = self.samples.stored.setdefault((job.runs.name, job.point.key), (job.runs, job.point.labels, []))
            entry[2].append((job.seed, source))
            if i not in measured:
                measured[i] = self.samples.take(job.view(source), wanted.get(job.runs.name, []))
        self._samples(measured)
        return self.samples

    def _samples(self, measured: dict[int, Numbers]) -> None:
        import numpy as np

        collected_samples: dict[tuple[Any, ...], list[float]] = {}
        for i, m in sorted(measured.items()):
            j = self.jobs[i]
            for (klass, name), x in m.items():
                collected_samples.setdefault((j.runs.name, j.point.key, klass, name), []).append(x)
        self.samples.data.update({k: np.array(v, dtype=float) for k, v in collected_samples.items()})


def _stored(labels: dict[str, str]) -> dict[str, str]:
    """A point's labels as in the tables. A label with the name of a column, such as an axis of flows, gets a prefix."""
    columns, stored_labels = {*_core.columns()}, {}
    for label, label_text in labels.items():
        name = label
        while name in columns or (name != label and name in labels):
            name = f"varied_{name}"
        stored_labels[name] = label_text
    return stored_labels
