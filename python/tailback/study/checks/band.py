"""`rule = "band"`: a published number with a tolerance that may be wider on one side: from `low` to `high` times the
number."""

from __future__ import annotations

from tailback.core.verdict import Verdict
from tailback.study.checks.base import Evidence
from tailback.study.checks.limit import Limit
from tailback.study.checks.number import MeasuredNumber
from tailback.study.measures import MEASURES


class Band(MeasuredNumber, kw_only=True, frozen=True):
    low: float
    high: float

    def verdict(self, judge: Evidence) -> Verdict:
        measure = MEASURES[self.measure]
        place_text = ", ".join(f"{k} {v}" for k, v in self.where.items())
        check = Limit(
            runs=self.runs,
            measure=self.measure,
            class_=self.class_,
            where=self.where,
            of=self.queue,
            between=(self.low * self.value, self.high * self.value),
        )
        v = self.held(judge, f"{judge.title(self.queue)}, {place_text}", check)
        v.published = measure.show(self.value) + (f" {measure.unit}" if measure.unit != "1" else "")
        v.tolerance = f"{100 * (self.low - 1):+g} to {100 * (self.high - 1):+g} %"
        return v
