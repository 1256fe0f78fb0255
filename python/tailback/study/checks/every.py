"""A check of each flow of several: the mean over seeds of each flow is compared with one limit.

check = [{ of = "adaptive", measure = "attain_b", every = ["r1.0-11", "r3.0-11"], above = 0.9 }]

`every` names classes; `r1.0-11` stands for the flows `r1.0` to `r1.11`. The finding counts the flows within the limit,
and names the others, each with the seeds in which it is outside.
"""

from __future__ import annotations

import math

import numpy as np

from tailback.core.verdict import LEANS, NO, ONE_SEED, OPEN, YES, Finding
from tailback.study.checks.base import Evidence, Measured, NeededMeasure, Place, each
from tailback.study.errors import StudyError
from tailback.study.measures import MEASURES, Measure
from tailback.study.measures.view import written_out
from tailback.study.tolerance import CLOSE, Limits, OverSeeds, seeds_of

#: The most flows that a finding names; the others are counted.
MOST_NAMED = 12


class Every(Measured, kw_only=True, frozen=True):
    of: str | list[str]
    every: list[str]
    above: float | None = None
    below: float | None = None

    def __post_init__(self) -> None:
        if (self.above is None) == (self.below is None):
            raise StudyError("every needs one limit: above or below")
        try:
            written_out(self.every)
        except ValueError as e:
            raise StudyError(f"every: {e}") from e

    def asks(self) -> list[NeededMeasure]:
        return [NeededMeasure(self.runs, c, self.measure) for c in written_out(self.every)]

    def decide(self, judge: Evidence) -> list[Finding]:
        return [self._at(judge, d, place) for d in each(self.of) for place in judge.places(self)]

    @property
    def limits(self) -> Limits:
        lower = -math.inf if self.above is None else self.above
        upper = math.inf if self.below is None else self.below
        return Limits(lower, upper, f"above {lower:g}" if self.above is not None else f"below {upper:g}")

    def _holds(self, mean: float) -> bool:
        return self.limits.hold(mean)

    def _named(self, klass: str, e: OverSeeds, x: np.ndarray | None, m: Measure) -> str:
        seeds = seeds_of(np.array([not self._holds(v) for v in ([] if x is None else x)]))
        return f"{klass} {e.shown(m)}" + (f" [{seeds}]" if seeds else "")

    def _at(self, judge: Evidence, discipline: str, place: Place) -> Finding:
        measure, title, place_text = MEASURES[self.measure], judge.title(discipline), judge.where_text(place, self.runs)
        limits = self.limits
        requirement = f"every one of {len(written_out(self.every))} {limits.text}"
        values_of = {c: judge.values(self, discipline, place, c) for c in written_out(self.every)}
        means = {c: OverSeeds.of(x) for c, x in values_of.items() if x is not None}
        if not means:
            return Finding(f"{title}, {place_text}", place_text, "not run", requirement, OPEN)
        seeds = min(e.n for e in means.values())
        missed_classes = {c: e for c, e in means.items() if not self._holds(e.mean)}
        right = len(means) - len(missed_classes)
        text = f"{title}, {measure.title.lower()}: {right} of {len(means)}"
        worst = sorted(missed_classes, key=lambda c: missed_classes[c].mean, reverse=self.below is not None)
        if worst:
            text += "; not " + ", ".join(
                self._named(c, missed_classes[c], values_of[c], measure) for c in worst[:MOST_NAMED]
            )
        if len(worst) > MOST_NAMED:
            text += f" and {len(worst) - MOST_NAMED} more"
        close_classes = [c for c, e in means.items() if c not in missed_classes and limits.close(e)]
        margin = float(np.mean([limits.margin(e.mean) for e in means.values()]))
        if not missed_classes and len(means) == len(values_of):
            outcome = LEANS if close_classes else YES
        else:
            outcome = LEANS if 2 * right >= len(values_of) and margin >= 0 else NO
        return Finding(
            f"{title}, {place_text}",
            place_text,
            text,
            requirement,
            outcome,
            value=right / len(values_of),
            seeds=seeds,
            remark=ONE_SEED
            if self.one_seed(judge, seeds)
            else f"{CLOSE} for {', '.join(close_classes)}"
            if close_classes
            else "",
            margin=margin,
        )
