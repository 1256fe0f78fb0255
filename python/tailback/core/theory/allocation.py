"""The rates at which a network of colour-aware queues should serve flows with promised rates.

The allocation is max-min fair, without weights, colour by colour (Liu 2001, section 4.1): first green up to the
committed rate of each flow, then yellow up to its peak rate, then red from the rest. In each round all open flows grow
equally, until one has its demand or one of its links is full. A link counts with its rate divided by a headroom,
because TCP's sawtooth does not fill it. All numbers are fractions, so the result is exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tailback.core.theory.predict import PredictError

COLOURS = ("green", "yellow", "red")
HEADROOM = Fraction(6, 5)


@dataclass(frozen=True)
class Demand:
    """A flow: its links, and its promised committed and peak rates in bit/s (0 without promises)."""

    links: tuple[str, ...]
    committed: Fraction = Fraction()
    peak: Fraction = Fraction()


@dataclass(frozen=True)
class Share:
    """The rate of a flow in each colour, in bit/s."""

    green: Fraction
    yellow: Fraction
    red: Fraction

    @property
    def total(self) -> Fraction:
        return self.green + self.yellow + self.red


def allocate(
    links: Mapping[str, Fraction | int],
    flows: Mapping[str, Demand],
    *,
    headroom: Fraction = HEADROOM,
    whole: Sequence[str] = (),
) -> dict[str, Share]:
    """The share of each flow. `links` are capacities in bit/s; those in `whole` (access links) have no headroom."""
    if headroom <= 0:
        raise PredictError(f"headroom = {float(headroom):g}: give a number above zero, such as 1.2")
    room = {name: Fraction(rate) / (1 if name in whole else headroom) for name, rate in links.items()}
    for name, flow in flows.items():
        unknown = [link for link in flow.links if link not in room]
        if unknown:
            raise PredictError(f"{name} takes {unknown[0]}, which is no link here")
        if not flow.links:
            raise PredictError(f"{name} takes no link, and nothing bounds its rate")
        if flow.peak < flow.committed:
            raise PredictError(f"{name} has a peak rate below its committed rate")
    rounds = []
    for colour in COLOURS:
        demand = {name: _demand(flow, colour) for name, flow in flows.items()}
        rounds.append(_fill(room, flows, demand))
    return {name: Share(*(given[name] for given in rounds)) for name in flows}


def _demand(flow: Demand, colour: str) -> Fraction | None:
    """The demand of a flow in a colour; None if it takes all that it can get."""
    return {"green": flow.committed, "yellow": flow.peak - flow.committed, "red": None}[colour]


def _fill(
    room: dict[str, Fraction], flows: Mapping[str, Demand], demand: Mapping[str, Fraction | None]
) -> dict[str, Fraction]:
    """Allocates one colour: the open flows grow together. The rates of these flows are subtracted from `room`."""
    rates = dict.fromkeys(flows, Fraction())
    level = Fraction()
    demands = {name: x for name, x in demand.items() if x is None or x > 0}
    open_flows = {n for n in demands if all(room[link] > 0 for link in flows[n].links)}
    while open_flows:
        users: dict[str, int] = {}
        for name in open_flows:
            for link in flows[name].links:
                users[link] = users.get(link, 0) + 1
        steps = [room[link] / n for link, n in users.items()]
        steps += [x - level for name in open_flows if (x := demands[name]) is not None]
        step = min(steps)
        level += step
        for link, n in users.items():
            room[link] -= n * step
        full_links = {link for link in users if room[link] == 0}
        for name in list(open_flows):
            if demands[name] == level or not full_links.isdisjoint(flows[name].links):
                rates[name] = level
                open_flows.discard(name)
    return rates
