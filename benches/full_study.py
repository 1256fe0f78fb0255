"""What a study at full size would take, from a part of its runs: CPU, live runs, and time from start to end.

    .venv/bin/python benches/full_study.py                           # kantawala-2005, one run in twenty of each set
    .venv/bin/python benches/full_study.py liu-2001 --share 0.02 --seed 7

The runs are drawn by a seed, so many of each set, at least one; of a set whose points get seeds until their rows are
settled, places with all their queues are drawn, and their seeds follow the rule. The runs are run and measured as
`reproduce --full` does, live runs beside simulation. A set's time is that of its drawn runs, by the number of its runs.
What the process took besides the runs, to measure them and to keep them, grows with the CPU time of all runs. The time
from start to end is the one that `reproduce` announces for such runs.
"""

from __future__ import annotations

import argparse
import math
import random
import tempfile
import time
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.runs.campaign.estimate import point_name
from tailback.runs.campaign.memory import cores
from tailback.study.judge import unsettled
from tailback.study.load import load
from tailback.study.repeat import Repeat
from tailback.study.reproduce import wanted
from tailback.study.work import course
from tailback.study.work.needed import Job, Work


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", nargs="?", default="kantawala-2005")
    parser.add_argument("--share", type=float, default=0.05, help="part of each set's runs, 0 to 1 (default 0.05)")
    parser.add_argument("--seed", type=int, default=1, help="draws the runs (default 1)")
    asked = parser.parse_args()
    study = load(asked.study)
    with tempfile.TemporaryDirectory() as folder:
        work = Work(study, study.experiments, Repeat(mode="full"), Path(folder))
        of_set: dict[str, list[int]] = defaultdict(list)
        for i, j in enumerate(work.jobs):
            of_set[j.runs.name].append(i)
        counts = {name: len(jobs) for name, jobs in of_set.items()}
        draw = random.Random(asked.seed)
        drawn: dict[str, list[int]] = {}
        for name, jobs in of_set.items():
            together: dict[Any, list[int]] = defaultdict(list)
            for i in jobs:
                together[place(work.jobs[i]) if study.runs[name].first_seeds else i].append(i)
            some = draw.sample(list(together.values()), max(1, round(asked.share * len(together))))
            drawn[name] = [i for one in some for i in one]
        work.only([i for jobs in drawn.values() for i in jobs])
        ahead = work.estimate()
        print(f"{sum(counts.values())} runs in {len(counts)} sets; drawn: {'; '.join(ahead.lines(0))}", flush=True)
        began, cpu = time.monotonic(), time.process_time()
        _, spent = course.run(work, wanted(study, study.experiments), None, partial(unsettled, study))
        took_s, besides_s = time.monotonic() - began, time.process_time() - cpu - spent.cpu_s
        report(work, counts, {name: len(jobs) for name, jobs in drawn.items()}, took_s, besides_s)


def place(j: Job) -> tuple[str, ...]:
    """A point without its queue."""
    of_queues = {a.name for a in j.runs.axes if a.disciplines}
    return tuple(value for name, value in j.point.labels.items() if name not in of_queues)


def report(work: Work, counts: dict[str, int], drawn: dict[str, int], took_s: float, besides_s: float) -> None:
    """A line for each set, and the sum of all."""
    of_runs = {r["key"]: r["cpu_s"] for r in _core.status(work.dir)["runs"]}
    of_points = work.answers.costs()
    cpu: dict[str, list[float]] = defaultdict(list)
    live: dict[str, list[float]] = defaultdict(list)
    missing: list[Job] = []
    for i, j in enumerate(work.jobs):
        if i in work.spare:
            continue
        cost = of_runs.get(j.key, of_points.get(point_name(j.runs.name, j.point.labels)))
        if cost is None:
            missing.append(j)
        else:
            (live if j.live else cpu)[j.runs.name].append(cost)
    print(f"{'set':<28}{'runs':>7}{'drawn':>7}{'of all, CPU min':>17}{'live min':>10}")
    cpu_s = live_s = run_s = 0.0
    for name, n in counts.items():
        c, v = (math.fsum(x[name]) * n / drawn[name] for x in (cpu, live))
        cpu_s, live_s, run_s = cpu_s + c, live_s + v, run_s + math.fsum(cpu[name])
        print(f"{name:<28}{n:>7}{len(cpu[name]) + len(live[name]):>7}{c / 60:>17.1f}{v / 60:>10.1f}")
    for j in missing:
        print(f"not measured: {j.name}")
    cpu_s += besides_s * cpu_s / max(run_s, 1e-9)
    elapsed_s = max(live_s, (cpu_s + live_s) / cores())
    print(f"drawn runs took {took_s / 60:.1f} min; besides the runs {besides_s:.0f} s of CPU")
    hours = [f"{x / 3600:.2f} h" for x in (elapsed_s, cpu_s, live_s)]
    print(f"all of --full on {cores()} cores: {hours[0]}; CPU {hours[1]}, live {hours[2]}")


if __name__ == "__main__":
    main()
