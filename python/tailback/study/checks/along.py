"""A check of the means along an axis with everything else equal. The means are at most `within` apart, rise by at most
a number, fall, or are closer together than those of another discipline, by the ratio of the greatest to the smallest.

check = [{ of = "dsdrr", along = "limit", within = 3 }, { of = "sred", along = "flows", narrower_than = "red" }]
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np

from tailback.core.verdict import LEANS, NO, ONE_SEED, OPEN, ORDER, YES, Finding
from tailback.study.checks.base import Evidence, Measured, each
from tailback.study.errors import StudyError
from tailback.study.measures import MEASURES
from tailback.study.tolerance import Limits, OverSeeds
from tailback.study.words import word

#: The labels along the axis, each with its values.
Points = list[tuple[str, np.ndarray]]


class Along(Measured, kw_only=True, frozen=True):
    of: str | list[str]
    along: str
    within: float | None = None
    falls: bool = False
    #: A one-sided limit: how far a mean may be above the mean at a smaller value of the axis.
    rises_at_most: float | None = None
    #: Whether `rises_at_most` is a share of the lower mean.
    relative: bool = False
    #: The discipline whose ratio of the greatest to the smallest mean must be larger.
    narrower_than: str | None = None

    def __post_init__(self) -> None:
        if self.relative and self.rises_at_most is None:
            raise StudyError(
                "relative needs rises_at_most, which is then the share of a mean by which a later mean may be above it"
            )
        if self.word and MEASURES[self.measure].unit != "%":
            raise StudyError(
                f'word = "{self.word}" along an axis is for percentages, whose limit is in percentage '
                "points: write within = 3"
            )
        rules = (
            self.falls,
            self.within is not None or bool(self.word),
            self.rises_at_most is not None,
            self.narrower_than is not None,
        )
        if sum(rules) != 1:
            raise StudyError(
                "give one rule along an axis: the means lie within a number, rise by no more than a number, fall, or "
                "lie closer together than those of another discipline: write rises_at_most = 3, within = 3, "
                'falls = true, or narrower_than = "red"'
            )

    def kind(self, judge: Evidence) -> str:
        return ORDER if self.falls or self.narrower_than is not None else super().kind(judge)

    def decide(self, judge: Evidence) -> list[Finding]:
        if self.narrower_than is not None:
            return [self._narrower(judge, discipline, self.narrower_than) for discipline in each(self.of)]
        return [f for discipline in each(self.of) for f in self._of(judge, discipline)]

    def _of(self, judge: Evidence, discipline: str) -> list[Finding]:
        groups: dict[tuple[tuple[str, str], ...], Points] = {}
        for where in judge.places(self):
            samples = judge.values(self, discipline, where)
            other_labels = {k: v for k, v in where.items() if k != self.along}
            group = groups.setdefault(tuple(other_labels.items()), [])
            if samples is not None:
                group.append((where[self.along], samples))
        m, name, tolerance = MEASURES[self.measure], judge.title(discipline), self._within()
        unit = "points" if m.unit == "%" else m.unit
        requirement = (
            f"falls with {self.along}"
            if self.falls
            else f"within {tolerance:g} {unit} along {self.along}{f' ({self.word})' if self.word else ''}"
            if tolerance is not None
            else f"rises by at most {self._rise(unit)} with {self.along}"
        )
        findings = []
        for rest_of, points in groups.items():
            place = judge.where_text(dict(rest_of), self.runs)
            subject = f"{name}, {place}"
            if len(points) < 2:
                findings.append(Finding(subject, place, "not run", requirement, OPEN))
                continue
            seeds = min(len(samples) for _, samples in points)
            outcome, text, effect, margin = (
                self._falls(name, points, seeds) if self.falls else self._apart(name, points)
            )
            remark = ""
            if self.one_seed(judge, seeds):
                outcome, remark = (OPEN if self.falls else outcome), ONE_SEED
            findings.append(
                Finding(subject, place, text, requirement, outcome, effect, seeds=seeds, remark=remark, margin=margin)
            )
        return findings

    def _within(self) -> float | None:
        return max(word(self.word).points) if self.word else self.within

    def _rise(self, unit: str) -> str:
        rise = self.rises_at_most or 0.0
        return f"{100 * rise:g} %" if self.relative else f"{rise:g} {unit}"

    def _narrower(self, judge: Evidence, discipline: str, other: str) -> Finding:
        """Compares the ratio of the greatest to the smallest value along the axis for both disciplines, seed by
        seed."""
        spreads, measure = [], MEASURES[self.measure]
        for name in (discipline, other):
            samples = [judge.values(self, name, where) for where in judge.places(self)]
            samples_there = [x for x in samples if x is not None]
            n = min((len(x) for x in samples_there), default=0)
            spreads.append(
                np.array([max(x[i] for x in samples_there) / min(x[i] for x in samples_there) for i in range(n)])
            )
        names = [judge.title(discipline), judge.title(other)]
        requirement = f"{measure.title.lower()} of {names[0]} varies less along {self.along} than that of {names[1]}"
        n = min(len(x) for x in spreads)
        if n == 0:
            return Finding(names[0], "", "not run", requirement, OPEN)
        own_spread, their_spread = (OverSeeds.of(x) for x in spreads)
        spread_texts = [f"{e.mean:.2f} ± {e.half:.2f}" for e in (own_spread, their_spread)]
        text = f"greatest over smallest {spread_texts[0]}, {names[1]} {spread_texts[1]}"
        d = OverSeeds.of_difference(spreads[0][:n], spreads[1][:n])
        if self.one_seed(judge, n):
            return Finding(names[0], "", text, requirement, OPEN, seeds=n, remark=ONE_SEED)
        outcome = NO if d.mean >= 0 else LEANS if abs(d.mean) <= d.half else YES
        return Finding(names[0], "", text, requirement, outcome, d.mean, d.half, n, margin=-d.mean)

    def _falls(self, name: str, points: Points, seeds: int) -> tuple[str, str, None, float]:
        """The quantity falls if each mean is below the one before it, and zero is outside of the interval of each
        difference. The outcome leans if the quantity falls from end to end and on half of the steps or more."""
        m = MEASURES[self.measure]
        points = sorted(points, key=lambda p: float(p[0]))
        means = [float(np.mean(x)) for _, x in points]
        text = f"{name} " + ", ".join(f"{m.show(x)} ({p[0]})" for x, p in zip(means, points, strict=True))
        steps = [OverSeeds.of_difference(a[:seeds], b[:seeds]) for (_, a), (_, b) in itertools.pairwise(points)]
        falling_steps, fall = sum(d.mean > 0 for d in steps), means[0] - means[-1]
        if all(d.mean > 0 and not d.mean <= d.half for d in steps):
            outcome = YES
        else:
            outcome = LEANS if fall > 0 and 2 * falling_steps >= len(steps) else NO
        return outcome, text, None, fall

    def _apart(self, name: str, points: Points) -> tuple[str, str, float, float]:
        measure = MEASURES[self.measure]
        if self.rises_at_most is not None:
            points = sorted(points, key=lambda p: float(p[0]))
        means = [float(np.mean(x)) for _, x in points]
        index_pairs = list(itertools.combinations(range(len(means)), 2))
        if self.rises_at_most is None:
            index_pairs += [(j, i) for i, j in index_pairs]
        lowest, highest = max(index_pairs, key=lambda p: means[p[1]] - means[p[0]])
        distance = means[highest] - means[lowest]
        text = (
            f"{name} {measure.show(means[lowest])} ({self.along} {points[lowest][0]}) to "
            f"{measure.show(means[highest])} {measure.unit} ({self.along} {points[highest][0]})"
        )
        tolerance = self._within()
        limit = tolerance if tolerance is not None else self.rises_at_most
        if self.relative and limit is not None:
            limit *= means[lowest]
        limits = Limits(-math.inf, math.inf if limit is None else limit, "")
        n = min(len(points[lowest][1]), len(points[highest][1]))
        d = OverSeeds.of_difference(points[highest][1][:n], points[lowest][1][:n])
        return limits.outcome(replace(d, mean=distance)), text, distance, limits.margin(distance)
