"""A check of the order of several disciplines: each is above the next.

check = [{ order = ["droptail", "red", "drr"] }]
"""

from __future__ import annotations

import itertools

from tailback.core.verdict import ORDER, Finding
from tailback.study.checks.base import Evidence, Measured
from tailback.study.checks.rival import Rival


class Order(Measured, kw_only=True, frozen=True):
    order: list[str]
    average: bool = False

    def kind(self, judge: Evidence) -> str:
        return ORDER

    def decide(self, judge: Evidence) -> list[Finding]:
        discipline_pairs = [
            Rival(
                runs=self.runs,
                measure=self.measure,
                class_=self.class_,
                where=self.where,
                of=a,
                above=b,
                average=self.average,
            )
            for a, b in itertools.pairwise(self.order)
        ]
        # All pairs are decided together, so that a pair in doubt requests more seeds of its two disciplines only.
        questions = ((pair, one) for pair in discipline_pairs for one in pair.asked(judge))
        return [pair.at(judge, *one) for pair, one in judge.separately(questions)]
