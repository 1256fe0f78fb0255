"""What drawing a large stored sweep costs: distributions, shares and a map of 10,000 runs.

    .venv/bin/python benches/figures.py [--runs 10000] [--keep DIR]

A run is 25 ms of simulated time with 20 flows, in two groups. Prints for each figure, each in a process of its own, the
CPU time of the whole command and how far its memory rose above that of a process that has imported the same and drawn a
tenth of the runs. The last lines say which bars are met; exit status 1 if one is not.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

SCENARIO = """
duration = "25ms"
topology = { kind = "dumbbell", rate = "1Gbps", delay = "1ms", queue = { kind = "red", buffer = "100 packets" } }
[flows.near]
count = 10
rtt = "4ms"
start = { kind = "uniform", to = "2ms" }
[flows.far]
count = 10
rtt = "8ms"
start = { kind = "uniform", to = "2ms" }
"""
BUFFERS = ["60 packets", "100 packets", "140 packets", "180 packets"]
RATES = ["500Mbps", "1Gbps"]

#: CPU seconds of one command, and how far memory may rise with ten times the runs, as a factor.
MOST_S, FLAT = 5.0, 1.5

FIGURES: dict[str, list[str]] = {
    "distribution of delays": ["sojourn[bottleneck]"],
    "distribution of goodputs": ["flows.goodput_bps", "--where", "rate=1Gbps"],
    "shares": ["near / total", "--over", "buffer"],
    "Jain's index": ["jain(flows.goodput_bps)", "--over", "buffer"],
    "map": ["links.utilisation[bottleneck]", "--over", "buffer", "--over", "rate"],
}


def make(runs: int, where: Path) -> None:
    import tailback as tb

    axes = {"buffer": ("topology.queue.buffer", BUFFERS), "rate": ("topology.rate", RATES)}
    results = tb.Plan.product(SCENARIO, axes, replications=max(1, runs // 8)).execute(where)
    assert results.failure is None and results.store_error is None


def child(folder: str, args: list[str]) -> dict[str, float]:
    """One command in this process."""
    import time

    from click.testing import CliRunner

    from tailback import _core
    from tailback.cli import cli

    done = CliRunner().invoke(cli, ["plot", folder, *args, "--width", "3.5in", "--style", "paper"])
    assert done.exit_code == 0, done.output
    return {"cpu_s": time.process_time(), "rss": _core.peak_rss_bytes()}


def measured(folder: Path, args: list[str]) -> dict[str, float]:
    argv = [sys.executable, __file__, "--child", json.dumps([str(folder), args])]
    return json.loads(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--runs", type=int, default=10_000)
    p.add_argument("--keep", help="a folder for the runs; those that are there are not run again")
    p.add_argument("--child", help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.child:
        print(json.dumps(child(*json.loads(a.child))))
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(a.keep or scratch)
        folders = {n: place / str(n) for n in (a.runs // 10, a.runs)}
        for n, folder in folders.items():
            make(n, folder)
        size = sum(f.stat().st_size for f in folders[a.runs].glob("*.parquet"))
        print(f"{a.runs} runs, {size / 1e6:.0f} MB of Parquet")
        print(f"{'':26}{'CPU s':>8}{'MB':>8}{'MB, a tenth of the runs':>26}")
        missed = []
        for name, args in FIGURES.items():
            small, large = (measured(folder, args) for folder in folders.values())
            print(f"{name:26}{large['cpu_s']:8.2f}{large['rss'] / 1e6:8.0f}{small['rss'] / 1e6:26.0f}")
            if large["cpu_s"] > MOST_S or large["rss"] > FLAT * small["rss"]:
                missed.append(name)
    print(
        f"at most {MOST_S:g} CPU s, memory at most {FLAT:g} times: "
        + (f"missed by {', '.join(missed)}" if missed else "met")
    )
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
