"""What the runs of a study cost, beside what its files declare as `cost_s`, for each set of runs.

    .venv/bin/python benches/costs.py STUDY [--full] [--sample 3] [--seed 1] [--most 60]

Simulates up to SAMPLE runs of each set, drawn by SEED, one after the other, in memory, and prints the mean CPU time of
a run. A set gets no further run after MOST seconds. Sets whose cost is declared more than twice too high or too low are
marked, and the exit status is 1 if there is one. Experiments without packets and live runs are left out.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
from pathlib import Path

from tailback.study import load
from tailback.study.errors import StudyError
from tailback.study.repeat import Repeat
from tailback.study.work.needed import Work

#: Declared divided by measured may be at most so much, and the other way round.
FACTOR = 2.0


def measured(work: Work, chosen: list[int], most_s: float) -> list[float]:
    """CPU seconds of each of these runs, until they took `most_s` together."""
    found: list[float] = []
    for i in chosen:
        if math.fsum(found) < most_s:
            results = work.plan.only([i]).execute(None, 1)
            found += [float(r["cpu_s"]) for r in results.reports]
    return found


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("study")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--sample", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=float, default=60.0)
    asked = parser.parse_args(argv)
    if asked.sample < 1:
        parser.error(f"--sample {asked.sample}: give at least 1 run")
    if not asked.most > 0:
        parser.error(f"--most {asked.most:g}: give more than 0 seconds")
    try:
        study = load.load(asked.study)
    except StudyError as e:
        parser.error(str(e))
    mode = "full" if asked.full else "quick"
    work = Work(study, study.experiments, Repeat(mode), Path("nothing is stored here"))
    sets: dict[str, list[int]] = {}
    for i, j in enumerate(work.jobs[: work.packets]):
        sets.setdefault(j.runs.name, []).append(i)
    declared = taken = off = 0.0
    print(f"{'set of runs':28}{'runs':>7}{'declared':>10}{'measured':>10}{'ratio':>8}  of so many")
    for name, runs in sets.items():
        draw = random.Random(f"{asked.seed} {name}")
        costs = measured(work, draw.sample(runs, min(asked.sample, len(runs))), asked.most)
        mean, said = statistics.mean(costs), study.runs[name].cost_s[mode]
        ratio = said / mean if mean else math.nan
        wrong = not 1 / FACTOR <= ratio <= FACTOR
        declared, taken, off = declared + said * len(runs), taken + mean * len(runs), off + wrong
        mark = " !" if wrong else ""
        print(f"{name:28}{len(runs):7}{said:10.3g}{mean:10.3g}{ratio:8.2f}  {len(costs)}{mark}", flush=True)
    if not sets:
        parser.error(f"{asked.study} has no runs with packets")
    print(f"{'all':28}{work.packets:7}{declared:10.4g}{taken:10.4g}{declared / taken:8.2f}")
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())
