"""`cell`: a published cell, mean and deviation over intervals, by its class (`tailback.cells`)."""

from __future__ import annotations

import numpy as np

from tailback.study import cells
from tailback.study.checks import rule
from tailback.study.measures.sources import METRICS, by_interval
from tailback.study.samples import Samples


def pooled(samples: Samples, runs: str, key: tuple[str, ...], source: str, metric: str) -> np.ndarray | None:
    """Interval means of a source, of all seeds; None where it was not run."""
    at = ("intervals", runs, key, source, metric)
    if at not in samples.memo:
        # One reading of the tables serves all that is asked of a point.
        for view in samples.views(runs, key):
            for i in range(len(view.flows["id"])):
                for m in METRICS:
                    k = ("intervals", runs, key, str(i + 1), m)
                    samples.memo.setdefault(k, []).append(by_interval(view, str(i + 1), m)[0])
    found = samples.memo.get(at)
    return np.concatenate(found) if found else None


@rule("cell")
def cell(n: dict, judge):
    from tailback.study.verdict import NO, OPEN, YES, Check, Verdict

    c, runs = n["cell"], judge.study.runs[n["runs"]]
    pair, metric = judge.study.discipline_title(n["queue"]), METRICS[n["metric"]]
    key = runs.key_of(n["queue"])
    values = pooled(judge.samples, runs.name, key, n["class"], n["metric"])
    published = cells.show(c.mean, c.sd)
    if values is None or not len(values):
        outcome, told, mean = OPEN, "not run", None
    else:
        mean, sd = cells.statistics(values)
        outcome, told = YES if c.meets(mean) else NO, cells.show(mean, sd)
    what = f"{pair}, {metric.title.lower()} of source {n['class']} ({n['title']})"
    return Verdict(
        id=n["id"],
        source=f"table of {n['table']}, class {c.grade}",
        experiment=n["experiment"],
        sentence=what,
        outcome=outcome,
        gate=n["gate"],
        published=f"{published} {metric.unit}",
        measured=f"{told} {metric.unit}",
        seeds=len(list(judge.samples.stored.get((runs.name, key), (0, 0, []))[2])),
        tolerance=f"{c.allowed:.3g} {metric.unit}",
        explanation=n["explanation"] if outcome == NO else "",
        checks=[Check(what, "", told, c.why, outcome, mean)],
        table=n["table"],
        grade=c.grade,
    )
