"""What counts as better, and the order that follows.

One discipline is better than another by a measure only if, over the seeds that both had, the 99 % interval of the
paired difference leaves zero out, and the difference is large enough to matter. 99 % and not 95 %, as a page makes some
hundred such comparisons. The order is by how often a discipline is better, less how often it is worse, over all others
and all measures, each measure counting alike. Disciplines that the asker cannot have stand beside: they are compared
with all, and have no place in the order.

One seed has no interval, so that nothing is better. Its order counts each difference that is large enough to matter,
and may be chance.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from tailback.apps.ask.measure import Measure
from tailback.core import stats

CONFIDENCE = 0.99


M = TypeVar("M", bound=Measure[Any, Any])


@dataclass(frozen=True)
class QueueDifference:
    """A measure of discipline a less that of b, over seeds."""

    measure: str
    a: str
    b: str
    difference: float
    half_width: float
    #: The better of the two; empty if the difference is not significant or too small to matter.
    better: str
    #: The same by the means alone.
    seems: str


@dataclass(frozen=True)
class Place:
    """A discipline in the order. Equal ones share a place."""

    queue: str
    #: None for one that stands beside.
    rank: int | None
    better: int
    worse: int
    #: Comparisons in all.
    of: int


@dataclass(frozen=True)
class Ranking(Generic[M]):
    measures: tuple[M, ...]
    #: Values by measure and discipline, a value a seed.
    values: Mapping[str, Mapping[str, Sequence[float]]]
    differences: tuple[QueueDifference, ...]
    places: tuple[Place, ...]
    #: What the model leaves out, by measure (`Measure.unsure`); 0 where nothing is known.
    unsure: Mapping[str, float] = field(default_factory=dict)

    def estimate(self, measure: str, queue: str) -> stats.Mean:
        """Mean and interval over seeds, with what the model leaves out."""
        return widened(stats.estimate(self.values[measure][queue]), self.unsure.get(measure, 0.0))

    def first_is_clear(self, without: Collection[str] = ()) -> bool:
        """Whether the order by clear differences and the one by means alone begin with the same discipline, those
        `without` a claim to the first place aside."""
        inside = [p.queue for p in self.places if p.rank is not None]
        mine = [d for d in self.differences if d.a in inside and d.b in inside]
        means = {q: _balance(q, [d.seems for d in mine if q in (d.a, d.b)]) for q in self.values[self.measures[0].name]}
        claims = [q for q in means if q in inside and q not in without]
        first = next((p.queue for p in self.places if p.queue in claims), None)
        return first == max(claims, key=means.__getitem__, default=None)

    def unbeaten(self, measure: str) -> list[str]:
        """Disciplines that no other one beats by this measure, in ranking order. Empty if there is no interval."""
        mine = [d for d in self.differences if d.measure == measure]
        beaten = {d.b if d.better == d.a else d.a for d in mine if d.better}
        known = [q for q, v in self.values[measure].items() if not math.isnan(stats.mean(v))]
        return [p.queue for p in self.places if p.queue in known and p.queue not in beaten] if beaten else []


def rank(
    seeds: Mapping[str, Sequence[Any]], measures: Sequence[M], link: Any, beside: Collection[str] = ()
) -> Ranking[M]:
    values = {m.name: {q: [m.value(s) for s in found] for q, found in seeds.items()} for m in measures}
    judged = [m for m in measures if m.better is not None]
    queues = list(seeds)
    differences = [
        _difference(m, values[m.name], a, b, m.matters(link))
        for m in judged
        for i, a in enumerate(queues)
        for b in queues[i + 1 :]
    ]
    inside = [q for q in queues if q not in beside]
    others = {q: [d for d in differences if q in (d.a, d.b) and {d.a, d.b} <= {q, *inside}] for q in queues}
    one = max(map(len, seeds.values()), default=0) == 1
    scores = {q: _balance(q, [d.seems if one else d.better for d in others[q]]) for q in queues}
    places = []
    for q in sorted(queues, key=lambda q: (q in beside, -scores[q])):
        place = None if q in beside else 1 + sum(scores[other] > scores[q] for other in inside)
        won, lost = (sum(d.better == q for d in others[q]), sum(d.better not in ("", q) for d in others[q]))
        places.append(Place(q, place, won, lost, len(others[q])))
    unsure = {m.name: m.unsure(link) for m in measures}
    return Ranking(tuple(measures), values, tuple(differences), tuple(places), unsure)


def widened(e: stats.Mean, half: float) -> stats.Mean:
    """A mean beside what the model leaves out: from nothing to twice this much more."""
    if not half or math.isnan(e.mean):
        return e
    return e._replace(mean=e.mean + half, half_width=half + (0.0 if math.isnan(e.half_width) else e.half_width))


def _balance(queue: str, ahead: Sequence[str]) -> int:
    """How often a discipline is ahead of another, less how often another is."""
    return sum(q == queue for q in ahead) - sum(q not in ("", queue) for q in ahead)


def _difference(
    measure: Measure[Any, Any], values: Mapping[str, Sequence[float]], a: str, b: str, least: float
) -> QueueDifference:
    e = stats.paired(values[a], values[b], CONFIDENCE)
    matters = abs(e.mean) >= least and e.mean != 0
    seems = (a if (e.mean > 0) == (measure.better == "more") else b) if matters else ""
    # An interval of no width is that of a difference which is the same in all seeds; of one seed there is none.
    better = seems if abs(e.mean) > e.half_width else ""
    return QueueDifference(measure.name, a, b, e.mean, e.half_width, better, seems)
