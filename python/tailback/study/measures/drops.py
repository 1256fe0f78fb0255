"""Measures of overflows, from the log of drops: which flows lose packets, and how many at a time.

An overflow period is a sequence of drops at the studied link with no gap longer than half a round trip. This is the
round trip at an overflow, with a full queue: the sum of `options.rtt` of the set of runs (the shortest round trip with
an empty queue, if there are several) and the delay of the buffer. The set must log drops (`log_drops=true`).

A discipline that overflows all the time has one endless period; `hit_per_rtt` therefore counts by round trips as well.
"""

from __future__ import annotations

import itertools

import numpy as np

from tailback.study.measures import RunView, measure


def rtt_s(run: RunView) -> float:
    """The round trip with a full queue, s."""
    from tailback import _core

    o = run.options
    packet = _core.parse_bytes(o.get("packet", "1500B"))
    return _core.parse_time(o["rtt"]) + run.buffer * 8 * packet / float(run.link_row()["rate_bps"])


def periods(run: RunView) -> list[tuple[float, float, list[str]]]:
    """(first drop, last drop, flows hit) of each overflow period; the first belongs to slow start."""
    t, flow = run.drops()
    if not len(t):
        return []
    cuts = np.flatnonzero(np.diff(t) > 0.5 * rtt_s(run)) + 1
    stretches = zip(np.split(t, cuts), np.split(flow, cuts), strict=True)
    return [(float(a[0]), float(a[-1]), list(dict.fromkeys(f.tolist()))) for a, f in stretches]


def victims(run: RunView) -> np.ndarray:
    """The number of distinct flows hit in each overflow period."""
    return np.array([len(p[2]) for p in periods(run)], dtype=float)


@measure("overflow_periods", "Overflow periods", "1", "runs of drops without a gap above half a round trip", digits=0)
def overflow_periods(run: RunView, klass: str) -> float:
    return float(len(periods(run)))


@measure("victims_first", "Flows hit, first overflow", "flows", "distinct flows hit in the overflow of slow start")
def victims_first(run: RunView, klass: str) -> float:
    v = victims(run)
    return float(v[0]) if len(v) else float("nan")


@measure(
    "victims_second",
    "Flows hit, second overflow",
    "flows",
    "distinct flows hit in the first overflow period after that of slow start",
)
def victims_second(run: RunView, klass: str) -> float:
    v = victims(run)
    return float(v[1]) if len(v) > 1 else float("nan")


@measure(
    "second_overflow_s", "Second overflow", "s", "start of the first overflow period after that of slow start", digits=1
)
def second_overflow_s(run: RunView, klass: str) -> float:
    p = periods(run)
    return p[1][0] if len(p) > 1 else float("nan")


@measure("victims_later", "Flows hit, later overflows", "flows", "median over the periods after the third")
def victims_later(run: RunView, klass: str) -> float:
    v = victims(run)[3:]
    return float(np.median(v)) if len(v) else float("nan")


@measure(
    "victims_later_new",
    "Flows newly hit, later overflows",
    "flows",
    "median over the periods after the third, without the flow that lost last in the period before",
)
def victims_later_new(run: RunView, klass: str) -> float:
    t, flow = run.drops()
    stretches = periods(run)
    counts = []
    for stretch_before, (_, _, hit) in list(itertools.pairwise(stretches))[2:]:
        last_flow = flow[int(np.searchsorted(t, stretch_before[1], side="right")) - 1]
        counts.append(len(hit) - (last_flow in hit))
    return float(np.median(counts)) if counts else float("nan")


@measure(
    "hit_share",
    "Flows hit in an overflow",
    "%",
    "distinct flows hit over all flows, mean over the overflow periods after the first",
)
def hit_share(run: RunView, klass: str) -> float:
    v = victims(run)[1:]
    return 100 * float(np.mean(v)) / len(run.flows["id"]) if len(v) else float("nan")


@measure(
    "hit_per_rtt",
    "Flows hit in a round trip",
    "%",
    "distinct flows hit over all flows, mean over the round trips (full queue) that have drops, after slow start",
)
def hit_per_rtt(run: RunView, klass: str) -> float:
    stretches, (t, flow) = periods(run), run.drops()
    if len(stretches) < 2:
        return float("nan")
    is_late = t >= stretches[1][0]
    slot = ((t[is_late] - stretches[1][0]) / rtt_s(run)).astype(int)
    pairs = set(zip(slot.tolist(), flow[is_late].tolist(), strict=True))
    return 100 * len(pairs) / len(set(slot.tolist())) / len(run.flows["id"])


@measure("drops_of", "Drops that fall on the class", "%", "logged drops of the class over all logged drops")
def drops_of(run: RunView, klass: str) -> float:
    _, flow = run.drops()
    if not len(flow):
        return float("nan")
    of_class = np.ones(len(flow), bool) if klass == "all" else np.array([f.rpartition(".")[0] == klass for f in flow])
    return 100 * float(of_class.mean())
