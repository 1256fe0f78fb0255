"""A check of one discipline against another, which `above`, `below` or `near` names. The difference is taken seed by
seed.

    check = [{ of = "droptail", above = "red" }, { of = "g-fq", near = "g-fcfs", within = 0.02 }]

`factor` multiplies the rival's value, and `by` is added to it (`above = "std", by = 1.0` means above by more than 1.0).
`less = ["a", "b"]` first subtracts the values of these disciplines from the two sides. The check then compares the gain
of one side over a with the gain of the other over b. With `average` the mean of all chosen points is compared, instead
of each point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tailback.core.verdict import LEANS, NO, ONE_SEED, OPEN, ORDER, YES, Finding
from tailback.study.checks.base import Everywhere, Evidence, Place
from tailback.study.errors import StudyError
from tailback.study.measures import MEASURES
from tailback.study.tolerance import CLOSE, Limits, OverSeeds
from tailback.study.words import word


class Rival(Everywhere, kw_only=True, frozen=True):
    above: str | None = None
    below: str | None = None
    near: str | None = None
    #: For `near`: the largest distance of the means.
    within: float | None = None
    factor: float | None = None
    by: float | None = None
    #: The amounts that are subtracted first: from this side, and from the other.
    less: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        if (self.near is None) != (self.within is None and not self.word):
            raise StudyError("near and within go together: near = NAME, within = 0.02; or word = in place of within")
        if self.word:
            word(self.word)

    @property
    def relation(self) -> tuple[str, str]:
        """The word of the relation, and the other discipline."""
        relations = {"above": self.above, "below": self.below, "near": self.near}
        return next((word, name) for word, name in relations.items() if name is not None)

    def kind(self, judge: Evidence) -> str:
        return ORDER if self.near is None else super().kind(judge)

    def decide(self, judge: Evidence) -> list[Finding]:
        return [self.at(judge, *one) for one in self.everywhere(judge)]

    def at(self, judge: Evidence, discipline: str, where: Place | Sequence[Place]) -> Finding:
        measure, name, (word, rival) = MEASURES[self.measure], judge.title(discipline), self.relation
        place_text = judge.where_text(where, self.runs) if isinstance(where, dict) else "mean of all points"
        subject = f"{name}, {place_text}"
        sides = self._sides(judge, discipline, where)
        if sides is None:
            return Finding(subject, place_text, "not run", f"{word} the other discipline", OPEN)
        a, b = sides
        n = len(a)
        if math.isnan(OverSeeds.of(a).mean):
            return Finding(subject, place_text, "no value", f"{word} the other discipline", OPEN, seeds=len(a))
        if self.less is not None:
            name = f"{name} less {judge.title(self.less[0])}"
        unit = f" {measure.unit}" if measure.unit != "1" else ""
        other_text = judge.title(rival) + (f" less {judge.title(self.less[1])}" if self.less is not None else "")
        other_text += f" x {self.factor:g}" if self.factor is not None else ""
        other_text += f" {'-' if self.by < 0 else '+'} {abs(self.by):g}{unit}" if self.by is not None else ""
        text = f"{name} {OverSeeds.of(a).shown(measure)}, {other_text} {OverSeeds.of(b).shown(measure)}{unit}"
        requirement, difference = f"{name} {word} {other_text}", OverSeeds.of_difference(a, b)

        def finding(required: str, outcome: str, remark: str, margin: float) -> Finding:
            return Finding(
                subject,
                place_text,
                text,
                required,
                outcome,
                difference.mean,
                half_width=difference.half,
                seeds=n,
                remark=remark,
                margin=margin,
            )

        is_one_seed = self.one_seed(judge, n)
        if (reach := self._reach(measure.unit, float(b.mean()))) is not None:
            limits = Limits(-reach, reach, "")
            outcome = limits.outcome(difference)
            remark = ONE_SEED if is_one_seed else CLOSE if limits.close(difference) else ""
            of_word = f" ({self.word})" if self.word else ""
            return finding(
                f"{requirement}, within {reach:g}{unit}{of_word}", outcome, remark, limits.margin(difference.mean)
            )
        margin = difference.mean if word == "above" else -difference.mean
        right = margin > 0
        if is_one_seed:
            remark = f"{ONE_SEED}: {'as asked' if right else 'not as asked'}, but no order"
            return finding(requirement, OPEN, remark, margin)
        apart = math.isnan(difference.half) or abs(difference.mean) > difference.half
        outcome = (YES if apart else LEANS) if right else NO
        return finding(requirement, outcome, _remark(right, apart), margin)

    def _reach(self, unit: str, other: float) -> float | None:
        """The largest distance of the means, for `near`."""
        if not self.word:
            return self.within
        lower, upper = word(self.word).limits(other, unit)
        return max(other - lower, upper - other)

    def _sides(
        self, judge: Evidence, discipline: str, where: Place | Sequence[Place]
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """The compared values by seed; None if a part was not run."""
        names = (discipline, self.relation[1], *(self.less or ()))
        samples = [x for name in names if (x := judge.values(self, name, where)) is not None]
        if len(samples) < len(names):
            return None
        n = min(len(x) for x in samples)
        a, b, *less_samples = (x[:n] for x in samples)
        if less_samples:
            a, b = a - less_samples[0], b - less_samples[1]
        return a, b * (1.0 if self.factor is None else self.factor) + (self.by or 0.0)


def _remark(right: bool, apart: bool) -> str:
    if apart:
        return "" if right else "the other way round"
    return "cannot be told apart" if right else "the other way round, but not told apart"
