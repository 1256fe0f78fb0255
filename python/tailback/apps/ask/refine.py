"""Decides the number of seeds of an answer: one for a first answer, then three, then more until the first place is
clear.

The first place is clear if the order by significant differences and the order by means begin with the same candidate
(`Ranking.first_is_clear`). With few seeds, few differences are significant; but if the means agree, more seeds seldom
change the first place (`benches/answers.py`). At least three seeds are used, since the half-width of the interval of
two seeds is twelve standard errors.

The width of intervals does not decide. If seeds stopped when an interval happens to be narrow, the interval would
contain the true mean less often than its level says. Also, with three seeds the interval of some measure is nearly
always wider than a difference that matters.

All candidates have the same seeds, because a candidate with more seeds would win more comparisons. The number of seeds
depends only on values, never on time or on the machine, so an interrupted question that is asked again has the same
answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

#: The number of seeds before the first place decides, and the number of seeds added at once.
LEAST, MORE = 3, 2


def rounds(most: int, settled: Callable[[], bool], *, sure: bool = False) -> Iterator[tuple[int, int]]:
    """Iterates over rounds: the number of seeds so far, and the number to run next. There are at most `most` seeds;
    with `sure` all of them. `settled` is called after each round."""
    done_seeds, wanted_seeds = 0, 1
    while wanted_seeds > done_seeds:
        yield done_seeds, wanted_seeds - done_seeds
        done_seeds = wanted_seeds
        if sure:
            wanted_seeds = most
        elif done_seeds < LEAST:
            wanted_seeds = min(LEAST, most)
        elif not settled():
            wanted_seeds = min(done_seeds + MORE, most)


def said(seeds: int, most: int | None = None) -> str:
    """The number of seeds in words: `one seed`, `3 seeds`, `3 to 5 seeds`."""
    if most is not None and most > seeds:
        return f"{seeds} to {most} seeds"
    return "one seed" if seeds == 1 else f"{seeds} seeds"
