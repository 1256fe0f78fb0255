"""Measures of the time that a queue stays a victim: the sticky victim of QSDRR, or a closed queue of DSDRR.

The measures use quantities that are recorded at every change: `victim` (the queue that loses) or `closed` (by queue, 1
or 0). An interval begins when the queue becomes the victim and ends when another queue is chosen, or it is from closing
to opening. An interval that the end of the run cuts is left out. For the sticky victim, intervals of a second version
end at the queue's last eviction, because a queue stays the victim after its overflow without losing anything.
`options.from_s` of the set of runs leaves out earlier intervals. Measures that end in `_whole` take all intervals.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tailback.study.measures import RunView, measure


def holds(run: RunView, to_last_drop: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The queue, the start (s) and the length (s) of each interval."""
    t, v = run.probe("victim")
    if len(t):
        is_kept = np.isfinite(v)
        t, v = t[is_kept], v[is_kept]
        start, end, queue = t[:-1], t[1:], v[:-1]
        if to_last_drop:
            drops, _ = run.drops()
            # Only the victim loses packets by eviction, so the last drop before the next choice is its last drop.
            drop_rows = np.searchsorted(drops, end, side="left") - 1
            last_drop_s = np.where(drop_rows >= 0, drops[np.maximum(drop_rows, 0)], start)
            end = np.maximum(last_drop_s, start)
        return queue, start, end - start
    s = run.series
    is_kept = (s["probe"] == "closed") if s else np.array([], bool)
    if not is_kept.any():
        return (np.array([]),) * 3
    times, closed_states, index = s["time_s"][is_kept], s["value"][is_kept], s["index"][is_kept]
    hold_rows = []
    for q in np.unique(index):
        of_queue = index == q
        opened_at = None
        for at_s, is_closed in zip(times[of_queue], closed_states[of_queue], strict=True):
            if is_closed and opened_at is None:
                opened_at = at_s
            elif not is_closed and opened_at is not None:
                hold_rows.append((float(q), opened_at, at_s - opened_at))
                opened_at = None
    hold_rows.sort(key=lambda x: (x[1], x[0]))
    queues, starts, lengths = np.array(hold_rows, dtype=float).reshape(-1, 3).T
    return queues, starts, lengths


def lengths(run: RunView, to_last_drop: bool = False, whole: bool = False) -> np.ndarray:
    """The lengths (s) of the intervals that begin after `options.from_s` of the set of runs, or of all intervals."""
    _, start, length = holds(run, to_last_drop)
    return length if whole else length[start >= run.options.get("from_s", 0.0)]


def _of(run: RunView, f: Callable[[np.ndarray], float], to_last_drop: bool = False, whole: bool = False) -> float:
    x = lengths(run, to_last_drop, whole)
    return float(f(x)) if len(x) else float("nan")


def _sd(x: np.ndarray) -> float:
    return float(np.std(x, ddof=1)) if len(x) > 1 else 0.0


_WHAT = "intervals a queue was the sticky victim, or closed"


@measure("hold_count", "Intervals", "1", f"number of {_WHAT}", digits=0)
def hold_count(run: RunView, klass: str) -> float:
    return float(len(lengths(run)))


@measure("hold_max", "Longest interval", "s", f"of the {_WHAT}", digits=3)
def hold_max(run: RunView, klass: str) -> float:
    return _of(run, np.max)


@measure("hold_min", "Shortest interval", "s", f"of the {_WHAT}", digits=4)
def hold_min(run: RunView, klass: str) -> float:
    return _of(run, np.min)


@measure("hold_mean", "Mean interval", "s", f"of the {_WHAT}", digits=3)
def hold_mean(run: RunView, klass: str) -> float:
    return _of(run, np.mean)


@measure("hold_sd", "sd of the intervals", "s", f"of the {_WHAT}", digits=3)
def hold_sd(run: RunView, klass: str) -> float:
    return _of(run, _sd)


@measure("hold_mean_last", "Mean interval to the last eviction", "s", "of the sticky victim", digits=3)
def hold_mean_last(run: RunView, klass: str) -> float:
    return _of(run, np.mean, True) if len(run.probe("victim")[0]) else float("nan")


@measure("hold_max_last", "Longest interval to the last eviction", "s", "of the sticky victim", digits=3)
def hold_max_last(run: RunView, klass: str) -> float:
    return _of(run, np.max, True) if len(run.probe("victim")[0]) else float("nan")


@measure("hold_count_whole", "Intervals, whole run", "1", f"number of {_WHAT}", digits=0)
def hold_count_whole(run: RunView, klass: str) -> float:
    return float(len(lengths(run, whole=True)))


@measure("hold_max_whole", "Longest interval, whole run", "s", f"of the {_WHAT}", digits=3)
def hold_max_whole(run: RunView, klass: str) -> float:
    return _of(run, np.max, whole=True)


@measure("hold_min_whole", "Shortest interval, whole run", "s", f"of the {_WHAT}", digits=4)
def hold_min_whole(run: RunView, klass: str) -> float:
    return _of(run, np.min, whole=True)


@measure("hold_mean_whole", "Mean interval, whole run", "s", f"of the {_WHAT}", digits=3)
def hold_mean_whole(run: RunView, klass: str) -> float:
    return _of(run, np.mean, whole=True)


@measure("hold_sd_whole", "sd of the intervals, whole run", "s", f"of the {_WHAT}", digits=3)
def hold_sd_whole(run: RunView, klass: str) -> float:
    return _of(run, _sd, whole=True)
