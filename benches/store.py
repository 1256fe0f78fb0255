"""What storing costs: a plan of short runs, in memory and in a folder of results.

    .venv/bin/python benches/store.py [--runs 60 10000] [--rounds 3]

A run is 25 ms of simulated time. Prints, for each size of plan, wall time and CPU time a run, in memory and stored, on
one thread, the difference, what taking the stored plan again costs, and how far the memory of the process rose. The
best of some rounds counts: other work on the machine only adds, to wall time more than to CPU time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time

SCENARIO = """
duration = "25ms"
topology = { kind = "dumbbell", rate = "1Gbps", delay = "1ms", queue = { kind = "red", buffer = "100 packets" } }
[flows.bulk]
count = 20
rtt = "6ms"
start = { kind = "uniform", to = "2ms" }
"""

SHOWN = (("wall time", "s", "ms a run"), ("CPU time", "cpu_s", "ms a run"), ("memory", "grew", "MB"))


def child(runs: int, where: str) -> dict[str, float]:
    """One plan in a process of its own, so that its memory can be told."""
    import tailback as tb
    from tailback import _core

    plan = tb.Plan([({}, SCENARIO)], runs)
    before = _core.peak_rss_bytes()
    began, cpu = time.perf_counter(), time.process_time()
    results = plan.execute(where or None, jobs=1)
    took, cpu = time.perf_counter() - began, time.process_time() - cpu
    assert results.store_error is None and results.failure is None
    return {"s": took, "cpu_s": cpu, "grew": _core.peak_rss_bytes() - before, "reused": results.report["reused"]}


def measured(runs: int, where: str) -> dict[str, float]:
    argv = [sys.executable, __file__, "--child", str(runs), where]
    return json.loads(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--runs", nargs="*", type=int, default=[60, 10_000])
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.child:
        print(json.dumps(child(int(a.child[0]), a.child[1])))
        return
    print(f"{'runs':>7}  {'':12}{'in memory':>13}{'stored':>13}{'more':>13}{'again':>13}")
    for runs in a.runs:
        rounds = []
        for _ in range(a.rounds):
            with tempfile.TemporaryDirectory() as d:
                rounds.append((measured(runs, ""), measured(runs, d), measured(runs, d)))
        assert all(again["reused"] == runs for _, _, again in rounds)
        for what, key, unit in (
            ("wall time", "s", "ms a run"),
            ("CPU time", "cpu_s", "ms a run"),
            ("memory", "grew", "MB"),
        ):
            memory, stored, again = (min(r[key] for r in kind) for kind in zip(*rounds, strict=True))
            scale = 1e-6 if unit == "MB" else 1e3 / runs
            values = [x * scale for x in (memory, stored, stored - memory, again)]
            print(f"{runs:>7}  {what:12}" + "".join(f"{x:>13.3f}" for x in values) + f"  {unit}")


if __name__ == "__main__":
    main()
