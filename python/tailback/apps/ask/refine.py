"""How many seeds an answer gets: one for a first answer, then three, then more until the first place is clear.

The first place is clear when the order by clear differences and the order by means alone begin with the same candidate
(`Ranking.first_is_clear`). Few seeds make few differences clear; where the means say the same, more seeds seldom move
the first place (`benches/answers.py`). Three are the least: the interval of two seeds is twelve standard errors wide to
either side.

The widths of intervals do not decide. If seeds stop when an interval happens to be narrow, it contains the mean less
often than it says. And with three seeds some measure's interval is nearly always wider than what matters.

All candidates have the same seeds. A candidate with more seeds than another would win more comparisons. How many seeds
there are depends on values alone, never on time or on the machine: an interrupted question has the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

#: Seeds before the first place decides, and how many more at once.
LEAST, MORE = 3, 2


def rounds(most: int, settled: Callable[[], bool], *, sure: bool = False) -> Iterator[tuple[int, int]]:
    """How many seeds there are, and how many more to run, round by round; at most `most` in all, and with `sure` as
    many. `settled` is asked after a round."""
    done, wanted = 0, 1
    while wanted > done:
        yield done, wanted - done
        done = wanted
        if sure:
            wanted = most
        elif done < LEAST:
            wanted = min(LEAST, most)
        elif not settled():
            wanted = min(done + MORE, most)


def said(seeds: int, most: int | None = None) -> str:
    """So many seeds, in words: `one seed`, `3 seeds`, `3 to 5 seeds`."""
    if most is not None and most > seeds:
        return f"{seeds} to {most} seeds"
    return "one seed" if seeds == 1 else f"{seeds} seeds"
