"""Collects published values for figures: the numbers of the source, and the bands that its sentences give.

A number is drawn at the point for which it was published. A sentence with limits on both sides ("about 110 %") has no
point: its band covers the points of the sentence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tailback.show.plots.published import Published
from tailback.study.checks.base import each
from tailback.study.checks.limit import Limit
from tailback.study.checks.number import MeasuredNumber
from tailback.study.figures import Drawing
from tailback.study.model import Point, Runs, matches
from tailback.study.study import Study


def published(
    d: Drawing, klass: str, measure: str, x_axis: str, line_axis: str, panel: dict[str, str] | None = None
) -> list[Published]:
    """The published values and ranges of a panel's quantity, at points or over parts of the axis that were run."""
    points = [(runs, p) for runs, p in d.points(panel) if x_axis in p.labels]
    published_of: list[Published] = []
    for x in said(d.study, klass, measure):
        xs = [float(p.labels[x_axis]) for r, p in points if x.is_about(r, p)]
        name = next((p.labels.get(line_axis, x.runs) for r, p in points if r.name == x.runs), x.queue)
        if xs:
            name = x.queue if line_axis in ("queue", "pair") else name
            published_of.append(Published(name, min(xs), max(xs), x.low, x.high))
    return list(dict.fromkeys(published_of))


def ranges(
    d: Drawing, runs: Runs, point: Point, measure: str, klass: str = "all", class_over: str | None = None
) -> list[tuple[float, float]]:
    """The published values and ranges of a quantity at one point, or of its ratio to that of another class.

    A value is a range with two equal ends.
    """
    points = said(d.study, klass, measure, class_over)
    return list(dict.fromkeys((x.low, x.high) for x in points if x.is_about(runs, point)))


@dataclass(frozen=True)
class PublishedPoint:
    """A value (`low` = `high`) or a range of the source, and its points."""

    runs: str
    queue: str
    where: dict[str, Any]
    low: float
    high: float

    def is_about(self, runs: Runs, point: Point) -> bool:
        return (
            runs.name == self.runs
            and matches(point.labels, self.where)
            and all(point.labels[a.name] == self.queue for a in runs.axes if a.disciplines)
        )


def said(study: Study, klass: str, measure: str, class_over: str | None = None) -> list[PublishedPoint]:
    """Every value and range in the study's files for a quantity."""
    points = [
        PublishedPoint(n.runs, n.queue, n.where, n.value, n.value)
        for n in study.published
        if isinstance(n, MeasuredNumber) and (n.measure, n.class_) == (measure, klass) and class_over is None
    ]
    for s in study.statements:
        for check in s.checks:
            if not isinstance(check, Limit) or (check.measure, check.class_) != (measure, klass):
                continue
            if check.over is not None or check.class_over != class_over or check.average:
                continue
            limits = check.limits()
            lower, upper = (limits.low, limits.high) if check.published is None else (check.published, check.published)
            if not (math.isfinite(lower) and math.isfinite(upper)):
                continue
            points += [PublishedPoint(check.runs, queue, check.where, lower, upper) for queue in each(check.of)]
    return points
