"""Decides which differences count, and ranks candidates by them.

A discipline is better than another by a measure only if two conditions hold: the 99 % interval of the paired difference
over common seeds excludes zero, and the difference is large enough to matter. The interval is 99 % and not 95 % because
a page makes about a hundred such comparisons. The score of a discipline is how often it is better minus how often it is
worse, over all others and all measures, with equal weight for each measure. Disciplines that the user cannot choose are
compared with all others but have no place in the order.

With one seed there is no interval, so no discipline is better. The order then counts each difference that is large
enough to matter, and may be chance.
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
    """The difference of a measure, discipline a minus discipline b, over seeds."""

    measure: str
    a: str
    b: str
    difference: float
    half_width: float
    #: The better of the two; empty if the difference is not significant or too small to matter.
    better: str
    #: The better of the two by the means alone.
    seems: str


@dataclass(frozen=True)
class Place:
    """A discipline in the order. Disciplines with equal scores share a place."""

    queue: str
    #: The place; None for a discipline without one.
    rank: int | None
    better: int
    worse: int
    #: The number of comparisons.
    of: int


@dataclass(frozen=True)
class Ranking(Generic[M]):
    measures: tuple[M, ...]
    #: Values by measure and discipline, a value a seed.
    values: Mapping[str, Mapping[str, Sequence[float]]]
    differences: tuple[QueueDifference, ...]
    places: tuple[Place, ...]
    #: The size of effects that the model leaves out, by measure (`Measure.unsure`); 0 if unknown.
    unsure: Mapping[str, float] = field(default_factory=dict)

    def estimate(self, measure: str, queue: str) -> stats.Mean:
        """The mean and interval over seeds, including the effects that the model leaves out."""
        return widened(stats.estimate(self.values[measure][queue]), self.unsure.get(measure, 0.0))

    def first_is_clear(self, without: Collection[str] = ()) -> bool:
        """Whether the order by significant differences and the order by means begin with the same discipline.
        Disciplines in `without` cannot be first."""
        ranked_queues = [p.queue for p in self.places if p.rank is not None]
        ranked_differences = [d for d in self.differences if d.a in ranked_queues and d.b in ranked_queues]
        means = {
            q: _balance(q, [d.seems for d in ranked_differences if q in (d.a, d.b)])
            for q in self.values[self.measures[0].name]
        }
        claims = [q for q in means if q in ranked_queues and q not in without]
        first = next((p.queue for p in self.places if p.queue in claims), None)
        return first == max(claims, key=means.__getitem__, default=None)

    def unbeaten(self, measure: str) -> list[str]:
        """Disciplines that no other one beats by this measure, in ranking order. Empty if there is no interval."""
        measure_differences = [d for d in self.differences if d.measure == measure]
        beaten = {d.b if d.better == d.a else d.a for d in measure_differences if d.better}
        measured_queues = [q for q, v in self.values[measure].items() if not math.isnan(stats.mean(v))]
        return [p.queue for p in self.places if p.queue in measured_queues and p.queue not in beaten] if beaten else []


def rank(
    seeds: Mapping[str, Sequence[Any]], measures: Sequence[M], link: Any, beside: Collection[str] = ()
) -> Ranking[M]:
    values_by_measure = {m.name: {q: [m.value(s) for s in found] for q, found in seeds.items()} for m in measures}
    judged_measures = [m for m in measures if m.better is not None]
    queues = list(seeds)
    differences = [
        _difference(m, values_by_measure[m.name], a, b, m.matters(link))
        for m in judged_measures
        for i, a in enumerate(queues)
        for b in queues[i + 1 :]
    ]
    ranked_queues = [q for q in queues if q not in beside]
    differences_of = {
        q: [d for d in differences if q in (d.a, d.b) and {d.a, d.b} <= {q, *ranked_queues}] for q in queues
    }
    is_one_seed = max(map(len, seeds.values()), default=0) == 1
    scores = {q: _balance(q, [d.seems if is_one_seed else d.better for d in differences_of[q]]) for q in queues}
    places = []
    for q in sorted(queues, key=lambda q: (q in beside, -scores[q])):
        place = None if q in beside else 1 + sum(scores[other] > scores[q] for other in ranked_queues)
        won_count, lost_count = (
            sum(d.better == q for d in differences_of[q]),
            sum(d.better not in ("", q) for d in differences_of[q]),
        )
        places.append(Place(q, place, won_count, lost_count, len(differences_of[q])))
    unsure = {m.name: m.unsure(link) for m in measures}
    return Ranking(tuple(measures), values_by_measure, tuple(differences), tuple(places), unsure)


def widened(e: stats.Mean, half: float) -> stats.Mean:
    """A mean that includes an effect which the model leaves out: an additional 0 to twice this value."""
    if not half or math.isnan(e.mean):
        return e
    return e._replace(mean=e.mean + half, half_width=half + (0.0 if math.isnan(e.half_width) else e.half_width))


def _balance(queue: str, ahead: Sequence[str]) -> int:
    """How often a discipline is better than another, minus how often another is better."""
    return sum(q == queue for q in ahead) - sum(q not in ("", queue) for q in ahead)


def _difference(
    measure: Measure[Any, Any], values: Mapping[str, Sequence[float]], a: str, b: str, least: float
) -> QueueDifference:
    e = stats.paired(values[a], values[b], CONFIDENCE)
    matters = abs(e.mean) >= least and e.mean != 0
    seems = (a if (e.mean > 0) == (measure.better == "more") else b) if matters else ""
    # An interval of width zero means that the difference is equal in all seeds; with one seed there is no interval.
    better = seems if abs(e.mean) > e.half_width else ""
    return QueueDifference(measure.name, a, b, e.mean, e.half_width, better, seems)
