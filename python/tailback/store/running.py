"""Running a study: every run in a folder of its own, taken again when it is there, measured, and let go.

    runs/<set>/<label>,<label>/<seed>/    the tables of one run, and run.json: its key, cost, and what was run

A folder a run keeps memory flat whatever the study's size, lets a few threads share the work evenly, and makes
resuming simple: what is there with the right key is done. `runs/<set>/**/flows.parquet` reads as one data set.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback.study import computed
from tailback.study.model import Experiment, Point, Runs, Study
from tailback.study.samples import Samples


class Interrupted(Exception):
    """Stopped by the user; finished runs are kept."""


@dataclass
class Job:
    runs: Runs
    point: Point
    replication: int
    seed: int
    folder: Path
    key: str
    scenario: Any
    kept: bool
    #: expected CPU seconds, NaN if unknown
    cost_s: float = math.nan


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


def jobs_of(study: Study, experiments: list[Experiment], mode: str, out: Path, seeds: int | None) -> list[Job]:
    """Every run that some experiments need, in order, each with where it is stored and whether it is there."""
    from tailback.scenarios import as_text

    found = []
    for name, chosen in study.needs(experiments).items():
        runs = study.runs[name]
        # One seed in every mode: there is nothing random in it.
        n = 1 if set(runs.seeds.values()) == {1} else seeds or runs.seeds[mode]
        text = as_text(runs.scenario) if runs.scenario is not None else None
        known: dict[Path, float] = {}
        made = []
        for point in runs.points(mode, chosen):
            scenario = None
            if text is not None:
                from tailback import _core

                scenario = _core.load(*text, point.overrides)
            for r in range(n):
                made.append(_job(runs, point, r, scenario, out, known))
        for j in made:
            near = known.get(j.folder.parent)
            j.cost_s = near if near is not None else runs.cost_s[mode] or math.nan
        found += made
    return found


def _job(runs: Runs, point: Point, replication: int, scenario: Any, out: Path, known: dict[Path, float]) -> Job:
    seed = (scenario.seed if scenario is not None else 1) + replication
    folder = out / "runs" / runs.name / _folder(point) / str(seed)
    if scenario is not None:
        from tailback.plan import Plan

        key = Plan([(point.labels, scenario)], 1, seed).runs()[0]["key"]
    else:
        said = [runs.compute, computed.fingerprint(runs.compute), point.labels, seed, runs.options]
        key = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:32]
    state: dict = {}
    try:
        state = json.loads((folder / "run.json").read_text())
        known[folder.parent] = float(state["cpu_s"])
    except (OSError, ValueError, KeyError):
        pass
    return Job(runs, point, replication, seed, folder, key, scenario, state.get("key") == key)


def _folder(point: Point) -> str:
    text = ",".join(f"{k}={v}" for k, v in point.labels.items()) or "all"
    return "".join(c if c.isalnum() or c in "=,.-+_" else "_" for c in text)


def estimate(jobs: list[Job], threads: int) -> Estimate:
    todo = [j for j in jobs if not j.kept]
    known = [j.cost_s for j in todo if not math.isnan(j.cost_s)]
    return Estimate(len(jobs), len(jobs) - len(todo), sum(known), len(todo) - len(known), threads)


def threads_of(jobs: int) -> int:
    return jobs or os.cpu_count() or 1


def run_all(
    jobs: list[Job],
    wanted: dict[str, list[tuple[str, str]]],
    threads: int,
    progress: Callable[[dict], Any] | None = None,
) -> tuple[Samples, float]:
    """Run what is not kept, measure everything; the samples, and the CPU seconds that were spent."""
    samples, lock, stop = Samples.empty(), threading.Lock(), threading.Event()
    started = time.monotonic()
    shares = {"done": 0.0, "kept": float(sum(j.kept for j in jobs)), "cpu": 0.0, "whole": 0}
    costs = [1.0 if math.isnan(j.cost_s) else j.cost_s for j in jobs]
    work = sum(c for c, j in zip(costs, jobs, strict=True) if not j.kept)
    spent = {"work": 0.0}
    running: dict[int, float] = {}
    measured: list[dict | None] = [None] * len(jobs)

    def tell(name: str) -> None:
        if progress is None:
            return
        with lock:
            fresh = spent["work"] + sum(running.values())
            elapsed = time.monotonic() - started
            left = elapsed * (work - fresh) / fresh if fresh > 0.01 * work and fresh > 0 else math.nan
            state = {
                "set": name,
                "done": shares["whole"],
                "total": len(jobs),
                "reused": int(shares["kept"]),
                "elapsed_s": elapsed,
                "remaining_s": left,
            }
            if progress(state) is False:
                stop.set()

    def one(i: int) -> None:
        j = jobs[i]
        if stop.is_set():
            return
        if not j.kept:

            def step(r: dict) -> bool:
                running[i] = costs[i] * r["share"]
                tell(j.runs.name)
                return not stop.is_set()

            why, cpu = _run(j, step)
            running.pop(i, None)
            if stop.is_set() and why == "interrupted":
                return
            with lock:
                spent["work"] += costs[i]
                shares["cpu"] += cpu
            if why:
                with lock:
                    samples.failed.append(f"{j.runs.name} {', '.join(j.point.key)}, seed {j.seed}: {why}")
                    shares["whole"] += 1
                return
        with lock:
            shares["whole"] += 1
        from tailback.study.measures import RunView

        r, labels = j.runs, j.point.labels
        view = RunView(j.folder, labels, r.fair_share_of(labels), r.link, r.buffer_of(j.point.key), j.seed, r.options)
        measured[i] = samples.take(view, wanted.get(r.name, []))
        tell(r.name)

    pool = ThreadPoolExecutor(max(1, threads))
    futures = [pool.submit(one, i) for i in range(len(jobs))]
    try:
        # Waking now and then lets Ctrl-C through.
        left = set(futures)
        while left and not stop.is_set():
            done, left = wait(left, timeout=0.2, return_when=FIRST_EXCEPTION)
            for f in done:
                f.result()
    except BaseException:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)
        raise
    pool.shutdown(wait=True, cancel_futures=stop.is_set())
    if stop.is_set():
        raise Interrupted(f"stopped after {shares['whole']} of {len(jobs)} runs; run the same command to go on")
    collected: dict[tuple, list[float]] = {}
    for j, m in zip(jobs, measured, strict=True):
        if m is None:
            continue
        entry = samples.stored.setdefault((j.runs.name, j.point.key), (j.runs, j.point.labels, []))
        entry[2].append((j.seed, j.folder))
        for (klass, name), x in m.items():
            collected.setdefault((j.runs.name, j.point.key, klass, name), []).append(x)
    import numpy as np

    samples.data.update({k: np.array(v, dtype=float) for k, v in collected.items()})
    return samples, shares["cpu"]


def _run(j: Job, step: Callable[[dict], bool]) -> tuple[str, float]:
    """One run into its folder; why it failed, or "", and its CPU seconds."""
    from tailback.plan import Plan

    j.folder.mkdir(parents=True, exist_ok=True)
    (j.folder / "run.json").unlink(missing_ok=True)
    hops = 0
    if j.scenario is not None:
        results = Plan([(j.point.labels, j.scenario)], 1, j.seed).execute(j.folder, jobs=1, progress=step)
        if results.interrupted:
            return "interrupted", 0.0
        if results.store_error is not None:
            raise results.store_error
        cpu = sum(r["cpu_s"] for r in results.reports)
        if results.runs["status"][0] != "done":
            return str(results.runs["message"][0]), cpu
        hops = int(results.runs["packet_hops"][0])
    else:
        began = time.thread_time()
        answer = computed.FUNCTIONS[j.runs.compute](dict(j.point.labels), j.seed, j.runs.options)
        cpu = time.thread_time() - began
        _store(j.folder, answer)
    state = {
        "key": j.key,
        "labels": j.point.labels,
        "seed": j.seed,
        "set": list(j.point.overrides),
        "cpu_s": round(cpu, 4),
        "packet_hops": hops,
    }
    (j.folder / "run.json").write_text(json.dumps(state, indent=1))
    return "", cpu


def _store(folder: Path, answer: dict) -> None:
    import numpy as np

    values = {k: (None if isinstance(v, float) and math.isnan(v) else v) for k, v in answer.get("values", {}).items()}
    values = {k: v.item() if isinstance(v, np.generic) else v for k, v in values.items()}
    (folder / "computed.json").write_text(json.dumps({"values": values}, indent=1))
    if answer.get("series"):
        np.savez_compressed(folder / "series.npz", **{k: np.asarray(v) for k, v in answer["series"].items()})
