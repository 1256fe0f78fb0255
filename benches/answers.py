"""Whether answers from few seeds are those of five: 200 of each question, drawn from 100 seeds.

    .venv/bin/python benches/answers.py            # both questions, some minutes
    .venv/bin/python benches/answers.py home 40    # one question, of so many seeds

Each answer takes the seeds in another order, and adds them by the rule of `tailback.apps.ask.refine`. It is compared
with the answer of its first five seeds: who comes first, and the grades at home. An interval counts as right if it
contains the mean of all seeds; those of five seeds beside it show what the same intervals are without a rule that
stops. They are counted by the skewness of a measure over all seeds: Student's interval of few seeds is too narrow for a
skewed measure, and misses a mean that one seed in fifty decides (a call whose queue a transfer shares by a collision of
hashes).
"""

from __future__ import annotations

import functools
import math
import random
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tailback.apps.ask import refine
from tailback.apps.ask.home import measures as of_home
from tailback.apps.ask.home.answer import answer as at_home
from tailback.apps.ask.home.candidates import MODEM
from tailback.apps.ask.home.grade import grade
from tailback.apps.ask.home.line import question
from tailback.apps.ask.link import link
from tailback.apps.ask.link import measures as of_link
from tailback.apps.ask.link.answer import answer as compared
from tailback.apps.ask.ranking import Ranking, rank
from tailback.apps.ask.trial import Trial
from tailback.core import stats

ANSWERS, SEEDS, MOST = 200, 100, 5
#: Limits of the classes of skewness.
SKEWED = (1.0, 2.0, math.inf)


@dataclass(frozen=True)
class Question:
    """What is asked, and how its measures are called."""

    asked: Any
    measures: Sequence[Any]
    found: Any


def home(seeds: int) -> Question:
    line = question("250Mbps", "40Mbps", "20ms")
    return Question(line, of_home.asked(line), at_home(line, None, Trial(seeds, sure=True)))


def compare(seeds: int) -> Question:
    asked = link("50Mbps", ["40ms"], 16)
    return Question(asked, of_link.asked(asked), compared(asked, None, Trial(seeds, sure=True, duration="40s")))


def drawn(q: Question, seeds: int) -> None:
    values = q.found.ranking.values
    names = list(q.found.candidates)
    measures = [replace(m, value=functools.partial(_value, values[m.name])) for m in q.measures]
    truth = {(m.name, name): stats.mean(values[m.name][name]) for m in q.measures for name in names}
    draw = random.Random(1)
    first = grades = 0
    counts: list[int] = []
    right = {word: {limit: [0, 0] for limit in SKEWED} for word in ("rule", "five")}
    skewed = {key: _class(values[key[0]][key[1]]) for key in truth}
    for _ in range(ANSWERS):
        order = draw.sample(range(seeds), MOST)
        ranked: list[Ranking[Any]] = []
        for done, more in refine.rounds(MOST, lambda ranked=ranked: ranked[-1].first_is_clear([MODEM])):
            seen = {name: [(name, n) for n in order[: done + more]] for name in names}
            ranked.append(rank(seen, measures, q.asked))
        counts.append(done + more)
        by_rule = ranked[-1]
        by_five = rank({name: [(name, n) for n in order] for name in names}, measures, q.asked)
        first += _first(by_rule) == _first(by_five)
        grades += _grades(by_rule, names) == _grades(by_five, names)
        for word, ranking in (("rule", by_rule), ("five", by_five)):
            for (measure, name), mean in truth.items():
                e = ranking.estimate(measure, name)
                if e.half_width > 0:
                    counted = right[word][skewed[measure, name]]
                    counted[0] += abs(e.mean - mean) <= e.half_width
                    counted[1] += 1
    print(f"  seeds: {sum(counts) / len(counts):.2f} on average, {min(counts)} to {max(counts)}")
    print(f"  first as of five seeds: {first / ANSWERS:.1%}; grades as of five seeds: {grades / ANSWERS:.1%}")
    print("  intervals of 95 % that contain the mean of all seeds:", end=" ")
    print(", ".join(f"{word} {_share(counted.values())}" for word, counted in right.items()))
    for limit in SKEWED:
        measured = sum(c == limit for c in skewed.values())
        of_class = ", ".join(f"{word} {_share([counted[limit]])}" for word, counted in right.items())
        print(f"    skewness below {limit:g} ({measured} measures of a candidate): {of_class}")


def _class(x: Sequence[float]) -> float:
    """The limit below which the size of the skewness of these values lies."""
    m, n = stats.mean(x), len(x)
    spread = math.fsum((v - m) ** 2 for v in x) / n
    skewness = abs(math.fsum((v - m) ** 3 for v in x) / n) / spread**1.5 if min(x) < max(x) else 0.0
    return next(limit for limit in SKEWED if skewness < limit)


def _share(counted: Iterable[Sequence[int]]) -> str:
    hits, of = (sum(column) for column in zip(*counted, strict=True))
    return f"{hits / of:.1%}" if of else "no interval"


def _value(of: dict[str, Sequence[float]], run: tuple[str, int]) -> float:
    return of[run[0]][run[1]]


def _first(r: Ranking[Any]) -> str:
    return next(p.queue for p in r.places if p.queue != MODEM)


def _grades(r: Ranking[Any], names: Sequence[str]) -> list[str]:
    added = [m for m in ("added_down_s", "added_up_s") if m in r.values]
    return [grade(stats.mean(stats.mean(r.values[m][name]) for m in added)) for name in names if added]


if __name__ == "__main__":
    wanted = [word for word in sys.argv[1:] if not word.isdigit()]
    many = next((int(word) for word in sys.argv[1:] if word.isdigit()), SEEDS)
    for made in (home, compare):
        if not wanted or made.__name__ in wanted:
            print(f"{made.__name__}, {many} seeds")
            drawn(made(many), many)
