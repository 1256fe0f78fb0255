"""A check of a mean against limits: `above`, `below`, `between`, or near a published value.

    check = [{ of = "g-fq", measure = "source_delay", over = "g-fcfs", below = 0.1 }]

`over` divides by the same quantity of another discipline, `class_over` by that of another class of flows. With
`average` the mean of all chosen points is compared with the limits, instead of each point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tailback.core.verdict import NO, ONE_SEED, OPEN, Finding
from tailback.study.checks.base import Everywhere, Evidence, NeededMeasure, Place
from tailback.study.errors import StudyError
from tailback.study.measures import MEASURES
from tailback.study.tolerance import CLOSE, Limits, OverSeeds, seeds_of
from tailback.study.words import word


class Limit(Everywhere, kw_only=True, frozen=True):
    above: float | None = None
    below: float | None = None
    between: tuple[float, float] | None = None
    #: A published value, and the share of it by which a mean may differ.
    published: float | None = None
    tolerance: float = 0.0
    #: For `word`: the value of the source, or the per cent by which a ratio is above 1.
    value: float | None = None
    gain: float | None = None
    over: str | None = None
    class_over: str | None = None

    def __post_init__(self) -> None:
        limits = [x for x in (self.above, self.below, self.between, self.published) if x is not None]
        if not limits and not self.word:
            raise StudyError("a check needs a limit: above, below, between, near, order, along, predict or word")
        if self.word:
            if limits:
                raise StudyError(
                    f'word = "{self.word}" has its own limit: leave out the keys above, below, between and published'
                )
            if self.value is None and self.gain is None and self.over is None and self.class_over is None:
                raise StudyError(f'word = "{self.word}" needs what the source says: value = 40')
            word(self.word)

    def asks(self) -> list[NeededMeasure]:
        denominators = [NeededMeasure(self.runs, self.class_over, self.measure)] if self.class_over is not None else []
        return [*super().asks(), *denominators]

    @property
    def unit(self) -> str:
        """The unit of the value that is compared with the limits; a ratio has no unit."""
        unit = MEASURES[self.measure].unit
        return "" if unit == "1" or self.over is not None or self.class_over is not None else unit

    def limits(self) -> Limits:
        m, unit = MEASURES[self.measure], f" {self.unit}" if self.unit else ""
        if self.published is not None:
            lower, upper = sorted((self.published * (1 - self.tolerance), self.published * (1 + self.tolerance)))
            return Limits(lower, upper, f"{m.show(self.published)}{unit} within {100 * self.tolerance:g} %")
        if self.word:
            w, limit_value = word(self.word), 1.0 if self.value is None else self.value
            lower, upper = w.limits(limit_value, self.unit) if self.gain is None else w.gain(self.gain)
            return Limits(
                lower,
                upper,
                f"{lower:g} to {upper:g}{unit} ({self.word})"
                if lower > -math.inf
                else f"below {upper:g}{unit} ({self.word})",
            )
        if self.between is not None:
            return Limits(*self.between, f"{self.between[0]:g} to {self.between[1]:g}{unit}")
        lower = -math.inf if self.above is None else self.above
        upper = math.inf if self.below is None else self.below
        text = f"above {lower:g}{unit}" if self.above is not None else f"below {upper:g}{unit}"
        return Limits(lower, upper, text if self.above is not None or self.below is not None else "")

    def decide(self, judge: Evidence) -> list[Finding]:
        return [self._at(judge, *one) for one in self.everywhere(judge)]

    def _at(self, judge: Evidence, discipline: str, where: Place | Sequence[Place]) -> Finding:
        name = judge.title(discipline)
        place_text = judge.where_text(where, self.runs) if isinstance(where, dict) else "mean of all points"
        subject, limits, times = f"{name}, {place_text}", self.limits(), ""
        samples = judge.values(self, discipline, where)
        b = judge.values(self, self.over, where) if self.over is not None else None
        if samples is None or (self.over is not None and b is None):
            return Finding(subject, place_text, "not run", limits.text, OPEN)
        if self.over is not None and b is not None:
            n = min(len(samples), len(b))
            samples, subject = samples[:n] / b[:n], f"{subject} over {judge.title(self.over)}"
            times = f" times {judge.title(self.over)}"
        if self.class_over is not None:
            c = judge.values(self, discipline, where, self.class_over)
            if c is None:
                return Finding(subject, place_text, "not run", limits.text, OPEN)
            samples = samples / c
        over_seeds = OverSeeds.of(samples)
        if math.isnan(over_seeds.mean):
            return Finding(subject, place_text, "no value", limits.text, OPEN, seeds=over_seeds.n)
        ratio = self.over is not None or self.class_over is not None
        m = MEASURES["sd"] if ratio else MEASURES[self.measure]
        text = m.show(over_seeds.mean)
        text_of_mean = (
            limits.telling(over_seeds.mean, text)
            + over_seeds.shown(m).removeprefix(text)
            + (f" {self.unit}" if self.unit else "")
        )
        outcome = limits.outcome(over_seeds)
        if outcome == NO and (seeds := seeds_of(np.array([not limits.hold(x) for x in samples]))):
            times += f" [{seeds}]"
        remark = CLOSE if limits.close(over_seeds) else ""
        remark = ONE_SEED if self.one_seed(judge, over_seeds.n) else remark
        return Finding(
            subject,
            place_text,
            f"{name} {text_of_mean}{times}",
            limits.text,
            outcome,
            value=over_seeds.mean,
            half_width=over_seeds.half,
            seeds=over_seeds.n,
            remark=remark,
            margin=limits.margin(over_seeds.mean),
        )
