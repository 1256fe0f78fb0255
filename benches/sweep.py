"""What it costs to keep a large sweep: in memory, in a folder, in two shards at once, and on two workers of dask.

    .venv/bin/python benches/sweep.py [--runs 10000] [--rounds 1] [--only memory stored]

A run takes about 25 ms of CPU. Prints wall time and CPU time (of all processes) of each way, their ratio to the plan in
memory, how far the memory of the process that keeps rose, and whether the tables have the same bytes. The last lines
say which bars are met; exit status 1 if one is not. On a machine that others use, look at CPU time too: wall time is
the better of the rounds, and other work only adds to it.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCENARIO = """
duration = "550ms"
topology = { kind = "dumbbell", rate = "1Gbps", delay = "1ms", queue = { kind = "red", buffer = "100 packets" } }
[flows.bulk]
count = 20
rtt = "6ms"
start = { kind = "uniform", to = "2ms" }
"""

#: At most so many times the wall time of the plan in memory; and memory may rise for each run that is stored by such a
#: share of what a run takes in memory.
STORED, DASK, FLAT = 1.15, 1.3, 0.1
WAYS = ("memory", "stored", "shards", "dask")
JOBS = 2


def plan(runs: int):
    import tailback as tb

    axis = {"topology.queue.buffer": ["60 packets", "100 packets", "140 packets", "180 packets"]}
    return tb.Plan.product(SCENARIO, axis, replications=max(1, runs // 4))


def child(way: str, runs: int, where: str) -> dict[str, float]:
    """One way, in a process of its own, so that its memory can be told."""
    from tailback import _core

    p = plan(runs)
    before = _core.peak_rss_bytes()
    began = time.perf_counter()
    if way == "memory":
        p.execute(None, jobs=JOBS)
    elif way == "stored":
        p.execute(where, jobs=JOBS)
    elif way == "shards":
        own = [subprocess.Popen([sys.executable, __file__, "--shard", str(i), str(runs), where]) for i in (1, 2)]
        assert [s.wait() for s in own] == [0, 0]
        p.execute(where)
    elif way == "dask":
        from distributed import Client, LocalCluster

        with (
            LocalCluster(JOBS, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            # A cluster is there before a plan is.
            began = time.perf_counter()
            p.execute(where, client=client)
            wall = time.perf_counter() - began
    else:
        raise ValueError(way)
    if way != "dask":
        wall = time.perf_counter() - began
    grew = _core.peak_rss_bytes() - before
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {"wall_s": wall, "cpu_s": sum(u.ru_utime + u.ru_stime for u in used), "grew": grew}


def digest(folder: Path) -> str:
    h = hashlib.sha256()
    for p in sorted(folder.glob("*.parquet")):
        h.update(p.name.encode() + p.read_bytes())
    return h.hexdigest()[:12]


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--runs", type=int, default=10_000)
    p.add_argument("--rounds", type=int, default=1)
    p.add_argument("--only", nargs="*", choices=WAYS, default=WAYS)
    p.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    p.add_argument("--shard", nargs=3, help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.child:
        print(json.dumps(child(a.child[0], int(a.child[1]), a.child[2])))
        return
    if a.shard:
        plan(int(a.shard[1])).execute(a.shard[2], jobs=1, shard=(int(a.shard[0]), 2))
        return
    # Said before minutes are spent on the other ways.
    if "dask" in a.only and importlib.util.find_spec("distributed") is None:
        others = " ".join(w for w in a.only if w != "dask")
        p.error(f"dask is not installed: pip install 'tailback[dask]', or --only {others}")
    best: dict[str, dict[str, float]] = {}
    digests: dict[str, str] = {}
    for _ in range(a.rounds):
        for way in a.only:
            said, digests[way] = measured(way, a.runs)
            kept = best.setdefault(way, said)
            best[way] = {k: min(kept[k], said[k]) for k in said}
    first = best.get("memory")
    print(f"{a.runs} runs, {JOBS} threads, load {os.getloadavg()[0]:.1f}")
    print(f"{'':8}{'wall s':>9}{'CPU s':>9}{'ms a run':>10}{'wall':>8}{'CPU':>8}{'memory MB':>11}  tables")
    for way, m in best.items():
        ratio = [m[k] / first[k] if first else float("nan") for k in ("wall_s", "cpu_s")]
        print(
            f"{way:8}{m['wall_s']:9.1f}{m['cpu_s']:9.1f}{1e3 * m['cpu_s'] / a.runs:10.2f}{ratio[0]:8.3f}{ratio[1]:8.3f}"
            f"{m['grew'] / 1e6:11.1f}  {digests[way]}"
        )
    sys.exit(0 if outcome(best, digests, a.runs) else 1)


def measured(way: str, runs: int) -> tuple[dict[str, float], str]:
    """What a way took, and the digest of its tables."""
    with tempfile.TemporaryDirectory(prefix="tailback-bench-") as d:
        argv = [sys.executable, __file__, "--child", way, str(runs), d]
        said = json.loads(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)
        return said, digest(Path(d)) if way != "memory" else ""


def outcome(best: dict[str, dict[str, float]], digests: dict[str, str], runs: int) -> bool:
    """Print what is held to a bar, and whether it is met; whether all are."""
    bars: list[tuple[str, bool]] = []
    for way, bar in (("stored", STORED), ("dask", DASK)):
        if way in best and "memory" in best:
            ratio = best[way]["wall_s"] / best["memory"]["wall_s"]
            bars.append((f"{way}: {ratio:.3f} times the wall time of memory, at most {bar}", ratio <= bar))
    # Of few runs what is read and written at once is all there is to see.
    if {"stored", "memory"} <= best.keys() and runs >= 2000:
        few, _ = measured("stored", runs // 10)
        each = (best["stored"]["grew"] - few["grew"]) / (runs - runs // 10)
        held = best["memory"]["grew"] / runs
        said = f"memory rises by {each / 1e3:.1f} kB a run that is stored, by {held / 1e3:.1f} kB a run kept in memory"
        bars.append((f"{said}: at most {FLAT:g} of that", each <= FLAT * held))
    kept = {d for way, d in digests.items() if way != "memory"}
    if len(digests) - ("memory" in digests) > 1:
        bars.append(
            (f"tables: {len(kept)} different among {', '.join(w for w in digests if w != 'memory')}", len(kept) == 1)
        )
    for said, met in bars:
        print(f"{'met   ' if met else 'MISSED'}  {said}")
    print(f"outcome: {sum(met for _, met in bars)} of {len(bars)} bars met")
    return all(met for _, met in bars)


if __name__ == "__main__":
    main()
