"""What a study has to run: every run that its experiments need, which of them are stored, and running the others.

    runs/manifest.json              the plan: scenarios, points, seeds, and what each run cost
    runs/<set>/<chunk>/*.parquet    the tables of a set's runs; `runs/<set>/**/flows.parquet` reads as one data set
    runs/computed.json              answers of experiments without packets

Runs are measured as they end, while their tables are in memory, so memory is flat whatever the study's size.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.campaign import shards as places
from tailback.campaign.memory import promise
from tailback.campaign.shards import Errand
from tailback.scenario.read import as_text
from tailback.store import fingerprint, manifest
from tailback.store.sources import Answers, Fresh, RunSource, Stored
from tailback.study import computed
from tailback.study.measures import RunView
from tailback.study.model import Experiment, Point, Runs
from tailback.study.samples import Samples
from tailback.study.study import Study

#: Answers are written when the work since the last time is worth so many seconds.
ANSWERS_EVERY_S = 2.0


#: What was measured on a run: (class, measure) -> value.
Numbers = dict[tuple[str, str], float]


class Interrupted(Exception):
    """Stopped by the user; finished runs are kept."""


@dataclass
class Job:
    """One run."""

    runs: Runs
    point: Point
    seed: int
    key: str
    kept: bool
    #: expected CPU seconds, NaN if unknown
    cost_s: float

    def view(self, source: RunSource) -> RunView:
        r, labels = self.runs, self.point.labels
        return RunView(
            source, labels, r.fair_share_of(labels), r.link, r.buffer_of(self.point.key), self.seed, r.options
        )

    @property
    def name(self) -> str:
        return f"{self.runs.name} {', '.join(self.point.key)}, seed {self.seed}"


@dataclass
class Estimate:
    """What a call will have to do."""

    runs: int
    kept: int
    #: CPU seconds of the runs that are not kept, and of how many of those nothing is known
    cpu_s: float
    unknown: int
    threads: int

    def text(self) -> str:
        left = self.runs - self.kept
        kept = f", {self.kept} of them kept from before" if self.kept else ""
        if not left:
            return f"{self.runs} runs{kept}"
        minutes = self.cpu_s / 60
        said = f"about {minutes:.0f} CPU minutes" if minutes >= 1.5 else f"about {self.cpu_s:.0f} CPU seconds"
        runs = "run" if self.unknown == 1 else "runs"
        more = f" and {self.unknown} {runs} of unknown cost" if self.unknown else ""
        wall = self.cpu_s / max(self.threads, 1) / 60
        on = f", {wall:.0f} minutes on {self.threads} threads" if wall >= 1.5 and self.threads > 1 else ""
        return f"{self.runs} runs{kept}: {said}{more}{on}"


def threads_of(jobs: int) -> int:
    return jobs or os.cpu_count() or 1


class Work:
    """The runs of some experiments, and their folder of results."""

    def __init__(
        self, study: Study, experiments: list[Experiment], mode: str, out: Path, seeds: int | None, threads: int
    ) -> None:
        self.dir = out / "runs"
        self.threads = threads
        self.about = {**manifest.program(), "study": study.id, "mode": mode}
        self.samples = Samples.empty()
        #: What the scenarios say without being wrong, each once.
        self.warnings: list[str] = []
        self.answers = Answers(self.dir)
        #: Runs with packets come first, in the order of the plan.
        self.jobs: list[Job] = []
        self.plan = _core.Plan([], [])
        self.known = _Known(self.dir, self.answers)
        self._collect(study, experiments, mode, seeds)

    def _collect(self, study: Study, experiments: list[Experiment], mode: str, seeds: int | None) -> None:
        points: list[tuple[dict[str, str], Any]] = []
        repeated: list[int] = []
        of: list[tuple[Runs, Point]] = []
        arithmetic: list[Job] = []
        for name, chosen in study.needs(experiments).items():
            runs = study.runs[name]
            # One seed in every mode: there is nothing random in it.
            n = seeds or runs.seeds[mode] if runs.random else 1
            text = as_text(runs.scenario) if runs.scenario is not None else None
            for point in runs.points(mode, chosen):
                if text is None:
                    arithmetic += [self._computed(runs, point, r + 1, mode) for r in range(n)]
                else:
                    scenario = _core.load(*text, point.overrides)
                    self.warnings += [w for w in scenario.warnings if w not in self.warnings]
                    points.append((_stored(point.labels), scenario))
                    repeated.append(n)
                    of.append((runs, point))
        self.plan = _core.Plan(points, repeated, None, [r.name for r, _ in of])
        for run in self.plan.runs(fingerprint.build()):
            runs, point = of[run["point"]]
            cost = self.known.cost(runs, point, mode)
            self.jobs.append(Job(runs, point, run["seed"], run["key"], run["key"] in self.known.stored, cost))
        self.packets = len(self.jobs)
        self.jobs += arithmetic

    def _computed(self, runs: Runs, point: Point, seed: int, mode: str) -> Job:
        said = [runs.compute, computed.fingerprint(runs.compute), point.labels, seed, runs.options]
        key = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:32]
        cost = self.known.cost(runs, point, mode)
        return Job(runs, point, seed, key, key in self.answers, cost)

    def only(self, chosen: Sequence[int]) -> None:
        """Leave out all jobs but these, which are counted in the order of `jobs`."""
        chosen = sorted(chosen)
        packets = [i for i in chosen if i < self.packets]
        self.plan = self.plan.only(packets)
        self.jobs, self.packets = [self.jobs[i] for i in chosen], len(packets)

    def in_shard(self, shard: tuple[int, int], progress: Callable[[dict[str, Any]], Any] | None = None) -> int:
        """Run a part of the runs with packets in a folder of its own, as sweeps do; how many it has. What is computed
        without packets is left to whoever gathers the parts."""
        errand = Errand(self.dir, self.threads, progress, fingerprint.build(), self.about, {})
        places.announce(self.plan, errand, shard)
        mine = places.shard_runs(self.plan, shard)
        results = places.in_shard(self.plan, errand, shard, mine)
        if results.interrupted:
            raise Interrupted("stopped; run the same command to go on")
        if results.failure is not None:
            self.samples.failed.append(str(results.failure["message"]))
        return len(mine)

    def estimate(self) -> Estimate:
        todo = [j for j in self.jobs if not j.kept]
        known = [j.cost_s for j in todo if not math.isnan(j.cost_s)]
        return Estimate(len(self.jobs), len(self.jobs) - len(todo), sum(known), len(todo) - len(known), self.threads)

    def run(
        self, wanted: dict[str, list[tuple[str, str]]], progress: Callable[[dict[str, Any]], Any] | None = None
    ) -> tuple[Samples, float]:
        """Run what is not kept, measure everything; the samples, and the CPU seconds that were spent."""
        state = _State(self, progress)
        measured: dict[int, Numbers] = {}
        if self.answers.damaged:
            print(f"warning: {self.answers.path} is damaged; it is computed again", file=sys.stderr)
        cpu = self._compute(state) + self._simulate(state, wanted, measured)
        store = _core.StoredRuns(self.dir)
        for i, j in enumerate(self.jobs):
            source: RunSource | None = None
            if i >= self.packets:
                source = self.answers.get(j.key) if j.key in self.answers else None
            elif j.key in store:
                source = Stored(store, j.key)
            if source is None:
                continue
            entry = self.samples.stored.setdefault((j.runs.name, j.point.key), (j.runs, j.point.labels, []))
            entry[2].append((j.seed, source))
            if i not in measured:
                measured[i] = self.samples.take(j.view(source), wanted.get(j.runs.name, []))
        self._samples(measured)
        return self.samples, cpu

    def _samples(self, measured: dict[int, Numbers]) -> None:
        import numpy as np

        collected: dict[tuple[Any, ...], list[float]] = {}
        for i, m in sorted(measured.items()):
            j = self.jobs[i]
            for (klass, name), x in m.items():
                collected.setdefault((j.runs.name, j.point.key, klass, name), []).append(x)
        self.samples.data.update({k: np.array(v, dtype=float) for k, v in collected.items()})

    def _compute(self, state: _State) -> float:
        """The experiments without packets; their CPU seconds."""
        todo = [j for j in self.jobs[self.packets :] if not j.kept]
        if not todo:
            return 0.0

        def one(j: Job) -> tuple[Job, dict[str, Any] | None, float]:
            began = time.thread_time()
            try:
                answer = computed.FUNCTIONS[j.runs.compute](dict(j.point.labels), j.seed, j.runs.options)
            except computed.NotMeasured as e:
                self.samples.not_measured.setdefault(j.runs.name, str(e))
                return j, None, time.thread_time() - began
            # What takes its own time, not this processor's, says how much.
            return j, answer, answer.pop("elapsed_s", time.thread_time() - began)

        spent = unwritten = 0.0
        pool = ThreadPoolExecutor(max(1, self.threads))
        try:
            for j, answer, cpu in pool.map(one, todo):
                if answer is not None:
                    self.answers.add(j.key, _point_name(j.runs.name, j.point.labels), answer, cpu)
                spent, unwritten = spent + cpu, unwritten + cpu
                if unwritten > ANSWERS_EVERY_S:
                    self.answers.write()
                    unwritten = 0.0
                if not state.ended(j):
                    raise state.interrupted()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            self.answers.write()
        return spent

    def _simulate(self, state: _State, wanted: dict[str, list[tuple[str, str]]], measured: dict[int, Numbers]) -> float:
        """The runs with packets, each measured as it ends; their CPU seconds."""
        if not self.packets:
            return 0.0
        failed: dict[int, str] = {}

        def ended(i: int, tables: _core.RunTables) -> bool:
            j = self.jobs[i]
            if tables.failure is not None:
                failed[i] = f"{j.name}: {tables.failure}"
            else:
                measured[i] = self.samples.take(j.view(Fresh(tables)), wanted.get(j.runs.name, []))
            return state.ended(j)

        promise(self.plan, self.threads, self.dir, fingerprint.build())
        results = self.plan.execute(
            self.dir,
            self.threads,
            state.tell,
            None,
            fingerprint.build(),
            each=ended,
            chunks=True,
            about=json.dumps(self.about),
        )
        if results.store_error is not None:
            raise results.store_error
        for path in results.damaged:
            print(f"warning: {path} is damaged; runs that need it are run again", file=sys.stderr)
        if results.replaced:
            print(f"note: {results.replaced} runs of another version of tailback were replaced", file=sys.stderr)
        if results.interrupted:
            raise state.interrupted()
        self.samples.failed += [failed[i] for i in sorted(failed)]
        return float(sum(r["cpu_s"] for r in results.reports))


def _stored(labels: dict[str, str]) -> dict[str, str]:
    """A point's labels as they stand in the tables: one that has the name of a column, such as an axis of flows, gets a
    prefix."""
    columns, stored = {*_core.columns()}, {}
    for label, value in labels.items():
        name = label
        while name in columns or (name != label and name in labels):
            name = f"varied_{name}"
        stored[name] = value
    return stored


def _point_name(runs: str, labels: dict[str, str]) -> str:
    return json.dumps([runs, labels], sort_keys=True)


class _Known:
    """What the folder of results says before anything is run: which runs it has, and what points cost."""

    def __init__(self, folder: Path, answers: Answers) -> None:
        self.stored: set[str] = set()
        #: CPU seconds of a run, by point.
        self.costs = answers.costs()
        if not folder.is_dir():
            return
        found = _core.status(folder)
        self.stored = {r["key"] for r in found["runs"] if r["stored"]}
        points = (json.loads(found["manifest"]) or {}).get("points", [])
        for r in found["runs"]:
            if r["point"] is not None and r["point"] < len(points) and r["cpu_s"] is not None:
                p = points[r["point"]]
                self.costs[_point_name(p["part"], p["labels"])] = r["cpu_s"]

    def cost(self, runs: Runs, point: Point, mode: str) -> float:
        """What a run of a point cost before, or should by the study; NaN if neither is known."""
        labels = point.labels if runs.scenario is None else _stored(point.labels)
        before = self.costs.get(_point_name(runs.name, labels))
        return before if before is not None else runs.cost_s[mode] or math.nan


class _State:
    """How far the work is, as progress is told."""

    def __init__(self, work: Work, progress: Callable[[dict[str, Any]], Any] | None) -> None:
        self.progress = progress
        self.started = time.monotonic()
        self.total = len(work.jobs)
        self.reused = self.done = sum(j.kept for j in work.jobs)
        self.set = ""
        todo = [self._cost(j) for j in work.jobs if not j.kept]
        self.work, self.mean = sum(todo), sum(todo) / max(len(todo), 1)
        self.spent = 0.0
        #: Parts of runs that are under way.
        self.open = 0.0

    @staticmethod
    def _cost(j: Job) -> float:
        return 1.0 if math.isnan(j.cost_s) else j.cost_s

    def ended(self, j: Job) -> bool:
        """A run has ended; whether to go on."""
        self.done += 1
        self.spent += self._cost(j)
        self.set = j.runs.name
        return self._say()

    def tell(self, engine: dict[str, Any]) -> bool:
        """What the engine tells a few times a second; whether to go on."""
        self.open = max(0.0, engine["share"] * engine["total"] - engine["done"])
        return self._say()

    def _say(self) -> bool:
        if self.progress is None:
            return True
        fresh = self.spent + self.open * self.mean
        elapsed = time.monotonic() - self.started
        left = elapsed * max(0.0, self.work - fresh) / fresh if fresh > 0.01 * self.work and fresh > 0 else math.nan
        state = {
            "set": self.set,
            "done": self.done,
            "total": self.total,
            "reused": self.reused,
            "elapsed_s": elapsed,
            "remaining_s": left,
        }
        return self.progress(state) is not False

    def interrupted(self) -> Interrupted:
        return Interrupted(f"stopped after {self.done} of {self.total} runs; run the same command to go on")
