"""Measures of series: cycles of a recorded queue from overflow to overflow, and shares that even out."""

from __future__ import annotations

import itertools

import numpy as np

from tailback.study.measures import RunView, measure
from tailback.study.measures.intervals import cumulative_max_min

#: The share of the buffer below which a queue falls at the end of an overflow.
LEFT = 0.9


def overflows(q: np.ndarray, full: float) -> np.ndarray:
    """The last full sample of each overflow. In an overflow the queue reaches 99 % of the buffer, and then falls below
    90 %."""
    overflow_ends, last_full = [], -1
    for i, x in enumerate(q):
        if x >= 0.99 * full:
            last_full = i
        elif x < LEFT * full and last_full >= 0:
            overflow_ends.append(last_full)
            last_full = -1
    return np.array(overflow_ends, dtype=int)


def cycles(t: np.ndarray, q: np.ndarray, full: float) -> tuple[float, float, float]:
    """The mean fall (packets), the mean time (s) and the share (%) of emptied queues, over the cycles after the first
    two."""
    overflow_rows = overflows(q, full)[2:]
    if len(overflow_rows) < 2:
        return (float("nan"),) * 3
    lowest = np.array([q[a:b].min() for a, b in itertools.pairwise(overflow_rows)])
    return full - float(lowest.mean()), float(np.diff(t[overflow_rows]).mean()), 100 * float(np.mean(lowest <= 0))


@measure(
    "queue_drop",
    "Fall of the queue after an overflow",
    "packets",
    "from the peak to the lowest level before the next peak, mean over the cycles after the first two",
)
def queue_drop(run: RunView, klass: str) -> float:
    return cycles(*run.probe("queue"), run.buffer)[0]


@measure("cycle", "Time from overflow to overflow", "s", "mean over the cycles after the first two")
def cycle(run: RunView, klass: str) -> float:
    return cycles(*run.probe("queue"), run.buffer)[1]


@measure(
    "empty",
    "Cycles that empty the queue",
    "%",
    "share of the cycles after the first two in which the queue falls to zero",
)
def empty(run: RunView, klass: str) -> float:
    return cycles(*run.probe("queue"), run.buffer)[2]


@measure("max_min_20s", "Largest over smallest goodput, 20 s", "1", "of the flows of the class, over the first 20 s")
def max_min_20s(run: RunView, klass: str) -> float:
    ends, ratio = cumulative_max_min(run, klass)
    interval_rows = np.flatnonzero(np.abs(ends - 20.0) < 1e-6)
    return float(ratio[interval_rows[0]]) if len(interval_rows) else float("nan")
