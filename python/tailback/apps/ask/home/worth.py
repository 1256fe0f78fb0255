"""Chooses the shaper's share of the line's rate: it weighs the saved latency against the lost rate.

The cost of a share is the latency that a load adds, plus one millisecond for each per cent of the line's rate that TCP
does not deliver. The share with the least cost is proposed. The shares of download and upload are chosen separately,
because one hardly affects the other. The share is at most 95 %, since a real line, unlike the model, does not keep its
rate exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tailback.apps.ask.home import phases as phase
from tailback.apps.ask.home.line import MOST_SHARE, HomeLine, Share
from tailback.apps.ask.home.measures import MEASURES, HomeRun
from tailback.core import stats

#: The added latency that is worth one per cent of the line's rate, in seconds.
PRICE_S = 0.001
#: Costs that differ by less count as equal; the larger share is then taken.
ALIKE_S = 0.0005
#: A candidate that costs less by more than this is preferred to a better place in the order.
MATTERS_S = 0.005
Shares = Mapping[Share, Sequence[HomeRun]]
_WAYS = ((phase.DOWN, "goodput_down"), (phase.UP, "goodput_up"))


def of_run(run: HomeRun) -> float:
    """The cost of a run: the mean over the loaded directions."""
    return stats.mean(_way(run, i) for i, loaded in enumerate(run.line.loaded) if loaded)


def _way(run: HomeRun, i: int) -> float:
    name, measure = _WAYS[i]
    goodput = next(m for m in MEASURES if m.name == measure)
    return run.added(name) + PRICE_S * 100 * (1 - goodput.value(run))


def cost(runs: Sequence[HomeRun], i: int) -> float:
    """The mean cost of a direction over seeds: 0 is down, 1 is up."""
    return stats.mean(_way(run, i) for run in runs)


def chosen(line: HomeLine, shares: Shares) -> Share:
    """The share that costs least, in each direction."""
    both = [_least(shares, i) if loaded else None for i, loaded in enumerate(line.loaded)]
    down, up = (one if one is not None else line.share[i] for i, one in enumerate(both))
    return Share(down, up)


def _least(shares: Shares, i: int) -> float:
    costs = {share[i]: cost(runs, i) for share, runs in shares.items() if share[i] <= MOST_SHARE}
    best = min(costs.values())
    return max(share for share, c in costs.items() if c <= best + ALIKE_S)


def goes_on(line: HomeLine, shares: Shares) -> bool:
    """Whether the lowest tried share is the best one, so that a still lower share may be better."""
    least = min(shares)
    pick = chosen(line, shares)
    return any(loaded and pick[i] <= least[i] for i, loaded in enumerate(line.loaded))
