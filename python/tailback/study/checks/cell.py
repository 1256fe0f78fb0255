"""A check of a published cell, with mean and deviation over intervals, by its class (`tailback.study.cells`)."""

from __future__ import annotations

import msgspec
import numpy as np

from tailback.core.verdict import LEANS, NO, OPEN, VALUE, YES, ZERO, Finding, TableCell, Verdict
from tailback.study.cells import DAMAGED, LOOSE, Cell, show, statistics
from tailback.study.checks.base import Evidence, Published
from tailback.study.measures.sources import METRICS, by_interval
from tailback.study.samples import Samples


def pooled(samples: Samples, runs: str, key: tuple[str, ...], source: str, metric: str) -> np.ndarray | None:
    """The interval means of a source over all seeds; None if it was not run."""
    memo_key = ("intervals", runs, key, source, metric)
    if memo_key not in samples.memo:
        # The tables are read once for all numbers of a point.
        for view in samples.views(runs, key):
            for i in range(len(view.flows["id"])):
                for m in METRICS:
                    k = ("intervals", runs, key, str(i + 1), m)
                    samples.memo.setdefault(k, []).append(by_interval(view, str(i + 1), m)[0])
    means = samples.memo.get(memo_key)
    return np.concatenate(means) if means else None


class CellNumber(Published, kw_only=True, frozen=True):
    table: str
    #: The number of the source, from 1, and its title.
    class_: str = msgspec.field(name="class")
    title: str
    metric: str
    cell: Cell

    def verdict(self, judge: Evidence) -> Verdict:
        cell, runs = self.cell, judge.runs(self.runs)
        metric, key = METRICS[self.metric], runs.key_of(self.queue)
        interval_means = pooled(judge.samples, runs.name, key, self.class_, self.metric)
        outcome, measured_text, mean = OPEN, "not run", None
        if interval_means is not None and len(interval_means):
            mean, sd = statistics(interval_means)
            outcome = NO if not cell.meets(mean) else LEANS if cell.leans(mean) else YES
            measured_text = show(mean, sd)
        if cell.grade == DAMAGED:
            outcome = OPEN
        sentence = f"{judge.title(self.queue)}, {metric.title.lower()} of source {self.class_} ({self.title})"
        return Verdict(
            id=self.id,
            source=f"table of {self.table}, class {cell.grade}",
            experiment=self.experiment,
            sentence=sentence,
            outcome=outcome,
            gate=self.gate,
            published=f"{show(cell.mean, cell.sd)} {metric.unit}",
            measured=f"{measured_text} {metric.unit}",
            seeds=len(list(judge.samples.views(runs.name, key))),
            tolerance=f"{cell.allowed:.3g} {metric.unit}",
            explanation=self.explanation if outcome in (NO, LEANS) or cell.grade == DAMAGED else "",
            part=f"within what its class allows, but more than {100 * LOOSE:g} % off" if outcome == LEANS else "",
            checks=[Finding(sentence, "", measured_text, cell.why, outcome, mean)],
            table=self.table,
            grade=cell.grade,
            kind=ZERO if cell.mean == 0 else VALUE,
            cell=TableCell(
                f"{self.table}, {judge.title(self.queue)}",
                metric.title.lower(),
                f"{self.class_} ({self.title})",
                f"{show(cell.mean, cell.sd)} {metric.unit}",
            ),
        )
