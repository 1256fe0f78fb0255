"""Published values for figures: the numbers of the source, and the bands that its sentences give.

A number stands at the point where it was published. A sentence with limits on both sides ("about 110 %") has no point:
its band runs over the points that it is about.
"""

from __future__ import annotations

import math

from tailback.plots.published import Published
from tailback.study.checks.base import each
from tailback.study.checks.limit import Limit
from tailback.study.checks.number import MeasuredNumber
from tailback.study.figures import Drawing
from tailback.study.model import matches


def published(
    d: Drawing, klass: str, measure: str, x_axis: str, line_axis: str, panel: dict[str, str] | None = None
) -> list[Published]:
    """What the source says of a panel's quantity, at points or over stretches of the axis that were run."""
    points = [(runs, p) for runs, p in d.points(panel) if x_axis in p.labels]
    found: list[Published] = []

    def add(runs: str, queue: str, where: dict[str, object], low: float, high: float) -> None:
        xs = [
            float(p.labels[x_axis])
            for r, p in points
            if r.name == runs
            and matches(p.labels, where)
            and all(p.labels[a.name] == queue for a in r.axes if a.disciplines)
        ]
        name = next((p.labels.get(line_axis, runs) for r, p in points if r.name == runs), queue)
        if xs:
            name = queue if line_axis in ("queue", "pair") else name
            found.append(Published(name, min(xs), max(xs), low, high))

    for n in d.study.published:
        if isinstance(n, MeasuredNumber) and (n.measure, n.class_) == (measure, klass):
            add(n.runs, n.queue, n.where, n.value, n.value)
    for s in d.study.statements:
        for c in s.checks:
            if not isinstance(c, Limit) or (c.measure, c.class_) != (measure, klass):
                continue
            if c.over is not None or c.class_over is not None or c.average:
                continue
            if c.published is not None:
                low = high = c.published
            elif c.between is not None and all(math.isfinite(x) for x in c.between):
                low, high = c.between
            else:
                continue
            for queue in each(c.of):
                add(c.runs, queue, c.where, low, high)
    return list(dict.fromkeys(found))
