"""How many seeds an answer gets: one for a first answer, then three, then more until the first place is clear.

The first place is clear when the order by clear differences and the order by means alone begin with the same candidate
(`Ranking.first_is_clear`). Few seeds make few differences clear; where the means say the same, more seeds do not move
the first place. Three are the least, as the interval of two is twelve times as wide as its standard error.

Widths of intervals do not decide: an interval that stops the seeds when it happens to be narrow contains the mean less
often than it says. Nor would they help. The rule "until each interval is below what matters" ends with five seeds in
nearly all answers (`benches/answers.py`).

All candidates have the same seeds: one with more of them would be better more often. How many there are depends on
values alone, never on time or on the machine, so that a question that was interrupted has the same answer.
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
