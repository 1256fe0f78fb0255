"""Measures of how evenly flows are spread over queues, from the recorded `flow_ratio` of the fullest to the emptiest
queue.

The mean is over time from 0.25 s on, when the first counts have settled. The extremes are over the whole run.
"""

from __future__ import annotations

import numpy as np

from tailback.study.measures import RunView, measure, value

#: The time at which the mean begins, s: a period of 0.2 s, and 0.05 s of learning.
SETTLED = 0.25


def mean_over_time(t: np.ndarray, x: np.ndarray, start: float = SETTLED) -> float:
    """The mean of a quantity that keeps each value until the next point. The last point is the end."""
    if len(t) < 2 or t[-1] <= start:
        return float("nan")
    first_row = max(int(np.searchsorted(t, start, side="right")) - 1, 0)
    t, x = np.concatenate([[max(start, t[first_row])], t[first_row + 1 :]]), x[first_row:]
    return float(np.sum(x[:-1] * np.diff(t)) / (t[-1] - t[0]))


def ratio_of(run: RunView) -> tuple[np.ndarray, np.ndarray]:
    """The times and the ratios, from the first known ratio on."""
    t, x = run.probe("flow_ratio")
    has_value = ~np.isnan(x)
    return t[has_value], x[has_value]


@measure(
    "ratio_mean",
    "Fullest over emptiest queue, mean",
    "1",
    "flows of the fullest queue over those of the emptiest, mean over time from 0.25 s on",
)
def ratio_mean(run: RunView, klass: str) -> float:
    return mean_over_time(*ratio_of(run))


def mean_between(run: RunView, first: float, last: float) -> float:
    """The mean between two instants of the run, which are given as shares of its time."""
    t, x = ratio_of(run)
    if len(t) < 2:
        return float("nan")
    is_inside = t < last * t[-1]
    return mean_over_time(
        np.append(t[is_inside], last * t[-1]), np.append(x[is_inside], x[is_inside][-1]), first * t[-1]
    )


@measure(
    "ratio_few",
    "Fullest over emptiest queue, first quarter of the growth",
    "1",
    "mean until a quarter of the new flows have arrived; the set grows for half of the run and then shrinks",
)
def ratio_few(run: RunView, klass: str) -> float:
    return mean_between(run, 0.0, 1 / 8)


@measure(
    "ratio_many",
    "Fullest over emptiest queue, a growing set at its largest",
    "1",
    "mean over the middle twentieth of the run; the set grows for half of the run and then shrinks",
)
def ratio_many(run: RunView, klass: str) -> float:
    return mean_between(run, 0.475, 0.525)


@measure("ratio_max", "Fullest over emptiest queue, maximum", "1", "the same, its largest value in the run")
def ratio_max(run: RunView, klass: str) -> float:
    x = ratio_of(run)[1]
    return float(np.max(x)) if len(x) else float("nan")


@measure("ratio_min", "Fullest over emptiest queue, minimum", "1", "the same, its smallest value in the run")
def ratio_min(run: RunView, klass: str) -> float:
    x = ratio_of(run)[1]
    return float(np.min(x)) if len(x) else float("nan")


@measure(
    "ratio_max_50ms",
    "Fullest over emptiest queue, maximum each 50 ms",
    "1",
    "its largest value at the instants 50 ms, 100 ms and so on",
)
def ratio_max_50ms(run: RunView, klass: str) -> float:
    t, x = ratio_of(run)
    if not len(x):
        return float("nan")
    instants = np.arange(0.05, t[-1] + 1e-9, 0.05)
    # The ratio keeps its value until the next change.
    return float(np.max(x[np.searchsorted(t, instants + 1e-9, side="right") - 1]))


value("ratio", "Fullest over emptiest queue", "1", "flows of the fullest over those of the emptiest, mean of the draws")
value("ratio_least", "Fullest over emptiest queue, least draw", "1", "the smallest ratio of the draws")
value("ratio_most", "Fullest over emptiest queue, largest draw", "1", "the largest ratio of the draws")
value("ratio_first", "Fullest over emptiest queue, at the start", "1", "before any flow has changed")
value("ratio_late", "Fullest over emptiest queue, second half", "1", "mean over the second half of the time")
value("occupancy", "Flows of a queue, mean", "flows", "mean over queues and draws", 0)
value("occupancy_sd", "Flows of a queue, standard deviation", "flows", "over queues and draws", 1)
value("memory_kb", "Memory", "KB", "as published: filters, counters and links of queues, or the table of flows")
value("memory_complete_kb", "Memory, complete", "KB", "with the queue and the packet count of each group")
value("memory_share", "Memory, of a table of all flows", "%", "as published", 1)
value("memory_ratio", "Table of all flows over memory", "1", "as published", 1)
value("memory_complete_ratio", "Table of all flows over complete memory", "1", "with the tables balancing needs", 1)
value("memory_groups_kb", "Filters and counters", "KB", "of all groups")
value("memory_queues_kb", "Links of the queues", "KB", "of all queues")
