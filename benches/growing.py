"""The growing flow set of kantawala-2005 beside a C program of the same experiment, its queue included: time a packet.

    python benches/growing.py [--balance db] [--rate 100] [--pairs 3]     time a packet at full size, in turn, medians
    python benches/growing.py --check [--balance db] [--seeds 20]         the ratio of queues at a tenth of the size

`growing.c` has no network, no event list and no records, so it is about the least that the experiment costs. A packet
is one that a source offers, on both sides; four of five are dropped. Time is CPU of the whole run, with the reading of
the scenario and its records. `--balance` is the discipline: pb, db or both. `--check` compares the mean ratio of the
fullest queue to the emptiest, as the study measures it, and ends with 1 if they differ by more than 1 %.

Source of the experiment: A. Kantawala and J. S. Turner, report WUCSE-2005-11, 2005, chapter 5.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import tailback as tb
from tailback.study.load import load
from tailback.study.measures import MEASURES, RunView

SOURCE = Path(__file__).with_suffix(".c")
#: The most the engine may take, in times of the program; and how far the ratios of queues may be apart.
BAR, APART = 12.0, 0.01


@dataclass(frozen=True)
class Done:
    """One run of either."""

    packets: int
    ratio: float
    cpu_s: float

    @property
    def ns(self) -> float:
        return 1e9 * self.cpu_s / self.packets


@dataclass(frozen=True)
class Case:
    """A case of the study under one discipline."""

    scenario: Path
    overrides: list[str]

    def engine(self, seed: int) -> Done:
        began = time.process_time()
        result = tb.run(self.scenario, seed=seed, jobs=1, overrides=self.overrides)
        cpu_s = time.process_time() - began
        series = {name: np.asarray(result.series[name]) for name in result.series.columns}
        ratio = MEASURES["ratio_mean"].on(RunView(None, tables={"series": series}), "all")
        return Done(int(result.links["arrived_packets"][0]), ratio, cpu_s)

    def words(self) -> list[str]:
        """What the program is told: the numbers of the scenario, so that they stand in one place."""
        told = json.loads(tb.load_scenario(self.scenario, self.overrides).json)
        first, more, line = told["flows"]["first"], told["flows"]["more"], told["link"]["bottleneck"]
        queue = line["queue"]
        times = [more["start"]["mean_gap"], first["stop"]["from"], first["stop"]["mean_gap"], more["stop"]["mean_gap"]]
        numbers = [tb.parse_time(told["duration"]), first["count"], more["count"], *map(tb.parse_time, times)]
        numbers += [tb.parse_rate(line["rate"]), queue["queues"], int(queue["buffer"].split()[0])]
        return [str(x) for x in numbers] + [str(int(queue["balance"] in (when, "both"))) for when in ("pb", "db")]

    def program(self, binary: Path) -> Callable[[int], Done]:
        words = self.words()

        def run(seed: int) -> Done:
            out = subprocess.run([binary, *words, str(seed)], check=True, capture_output=True, text=True).stdout.split()
            return Done(int(out[0]), float(out[3]), float(out[4]))

        return run


def case(runs: str, rate: str, balance: str) -> Case:
    of = load("kantawala-2005").runs[runs]
    assert of.scenario is not None
    found = next(c for c in of.cases if c.labels["rate"] == rate)
    return Case(of.scenario, [*found.set, f"link.bottleneck.queue.balance={balance}"])


def check(of: Case, binary: Path, seeds: int) -> int:
    """Whether both give the same mean ratio; the standard error says how much of a difference may be chance."""
    ratios = [[side(seed).ratio for seed in range(1, seeds + 1)] for side in (of.engine, of.program(binary))]
    (engine, program), errors = map(statistics.mean, ratios), [statistics.stdev(x) / math.sqrt(seeds) for x in ratios]
    apart = program / engine - 1
    met = abs(apart) <= APART
    print(
        f"ratio_mean of {seeds} seeds: engine {engine:.4f} ± {errors[0]:.4f}, program {program:.4f} ± {errors[1]:.4f}"
    )
    print(f"program by engine: {apart:+.2%} (bar: {APART:.0%}) {'met' if met else 'MISSED'}")
    return 0 if met else 1


def measure(of: Case, binary: Path, pairs: int) -> int:
    program = of.program(binary)
    print(f"{'':9}{'engine':>9}{'program':>9}   ns a packet")
    taken = []
    for seed in range(1, pairs + 1):
        taken.append((of.engine(seed).ns, program(seed).ns))
        print(f"seed {seed:<4}{taken[-1][0]:9.1f}{taken[-1][1]:9.1f}", flush=True)
    engine, least = (statistics.median(x) for x in zip(*taken, strict=True))
    ratio = statistics.median(a / b for a, b in taken)
    print(f"{'median':9}{engine:9.1f}{least:9.1f}")
    print(f"engine by program: {ratio:.1f} (bar: at most {BAR:g}) {'met' if ratio <= BAR else 'MISSED'}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare the ratio of queues instead of times")
    parser.add_argument("--balance", choices=["pb", "db", "both"], default="db")
    parser.add_argument("--rate", choices=["10", "20", "50", "100"], default="100", help="changes a second")
    parser.add_argument("--seeds", type=int, default=20, help="of the check")
    parser.add_argument("--pairs", type=int, default=3, help="of times")
    asked = parser.parse_args()
    compiler = shutil.which("cc")
    if compiler is None:
        print(f"There is no C compiler: {SOURCE.name} needs a program `cc`, such as Debian's package gcc.")
        return 2
    with tempfile.TemporaryDirectory(prefix="tailback-growing-") as folder:
        binary = Path(folder) / "growing"
        subprocess.run([compiler, "-std=gnu11", "-O3", "-o", binary, SOURCE, "-lm"], check=True)
        if asked.check:
            return check(case("bl-grow-tenth", asked.rate, asked.balance), binary, asked.seeds)
        return measure(case("bl-grow", asked.rate, asked.balance), binary, asked.pairs)


if __name__ == "__main__":
    sys.exit(main())
