"""Kill -9 while a sweep is run: whole, in shards, while shards are gathered, and of workers of dask.

Kills come at random moments, several in a row on one folder. What was stored is still there after each, and at the end
the tables have the bytes of a sweep that was never interrupted. `TAILBACK_KILLS=50 pytest -s
tests/python/test_sweep_kills.py` kills each of them so often, in sweeps of 2,000 runs.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from test_dask import SHORT
from test_sweep import tables

import tailback as tb
from tailback.core.store.keys import stored

KILLS = int(os.environ.get("TAILBACK_KILLS", "5"))
#: Two points, so half as many seeds as runs.
SEEDS = 1000 if KILLS >= 50 else 150
#: Kills of one folder, before it is finished and compared.
IN_A_ROW = 5

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sweep") / "plan.toml"
    path.write_text(
        f"replications = {SEEDS}\nscenario = '''{SHORT}'''\n"
        '[axis.buffer]\npaths = ["topology.queue.buffer"]\nunit = "packets"\nvalues = [20, 40]\n'
    )
    return path


@pytest.fixture(scope="module")
def whole(file: Path) -> Path:
    out = file.parent / "whole"
    tb.load_sweep(file).execute(out)
    return out


def begin(file: Path, out: Path, *options: str) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-m", "tailback", "sweep", str(file), "--out", str(out), *options]
    return subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def timed(file: Path, out: Path, *options: str) -> float:
    began = time.monotonic()
    assert begin(file, out, *options).wait() == 0
    return time.monotonic() - began


def kill_at_random(file: Path, out: Path, took: float, rng: random.Random, *options: str) -> bool:
    """Kill a command within the time it takes when nothing disturbs it; whether the kill came before its end."""
    there = stored(out)
    p = begin(file, out, *options)
    time.sleep(rng.uniform(0.1, took))
    p.send_signal(signal.SIGKILL)
    killed = p.wait() == -signal.SIGKILL
    assert there <= stored(out), "a kill lost stored runs"
    return killed


@pytest.mark.parametrize("options", [(), ("--shard", "1/2"), ("--merge",)], ids=["whole", "shard", "merge"])
def test_a_kill_at_any_moment_changes_nothing(
    file: Path, whole: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    rng = random.Random(5)
    first = tmp_path / "first"
    if options == ("--merge",):
        for shard in ("1/2", "2/2"):
            timed(file, first, "--shard", shard)
        shutil.copytree(first, tmp_path / "shards")
    took = timed(file, first, *options)
    kills = met = folders = 0
    while kills < KILLS:
        out = tmp_path / f"{folders}"
        folders += 1
        if options == ("--merge",):
            shutil.copytree(tmp_path / "shards", out)
        for _ in range(min(IN_A_ROW, KILLS - kills)):
            kills += kill_at_random(file, out, took, rng, *options)
            met += bool(stored(out))
        if options[:1] == ("--shard",):
            for shard in ("1/2", "2/2"):
                timed(file, out, "--shard", shard)
            timed(file, out, "--merge")
        else:
            timed(file, out, *options)
        assert tables(out) == tables(whole)
        assert sorted(p.name for p in out.iterdir()) == sorted(p.name for p in whole.iterdir()), "something is left"
        shutil.rmtree(out)
    print(f"\n{' '.join(options) or 'whole'}: {kills} kills in {folders} folders, {met} of them met stored runs")
    assert met > 0


def test_workers_of_dask_that_are_killed_change_nothing(file: Path, whole: Path, tmp_path: Path) -> None:
    distributed = pytest.importorskip(
        "distributed", reason="dask.distributed is not installed: pip install 'tailback[dask]'"
    )
    rng = random.Random(6)
    s = tb.load_sweep(file)
    with (
        distributed.LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        began = time.monotonic()
        s.execute(tmp_path / "first", client=client)
        took = time.monotonic() - began
        kills = folders = 0
        while kills < KILLS:
            out = tmp_path / f"{folders}"
            folders += 1
            over = threading.Event()
            done: list[int] = []
            killer = threading.Thread(target=_kill_workers, args=(cluster, rng, took, over, done))
            killer.start()
            s.execute(out, client=client)
            over.set()
            killer.join()
            kills += len(done)
            assert tables(out) == tables(whole)
            shutil.rmtree(out)
            assert folders < 20 * KILLS, f"{kills} kills in {folders} sweeps: workers do not come back"
    print(f"\ndask: {kills} workers killed in {folders} sweeps")


def _kill_workers(cluster: Any, rng: random.Random, took: float, over: threading.Event, done: list[int]) -> None:
    """Kill one worker after the other while a sweep goes on; their nannies start new ones.

    Only workers that the scheduler knows are killed, and only when both are there: a nanny whose worker is killed
    before it has begun gives up, and so does a cluster on a worker that is not back in time, as on a busy machine.
    Such a worker is started anew.
    """
    while not over.wait(rng.uniform(0.1, max(took / 2, 0.3))) and len(done) < IN_A_ROW:
        known = cluster.scheduler_info["workers"]
        pids = [n.pid for n in list(cluster.workers.values()) if n.worker_address in known and n.pid]
        if len(pids) == 2:
            os.kill(rng.choice(pids), signal.SIGKILL)
            done.append(1)
        else:
            cluster.scale(2)
