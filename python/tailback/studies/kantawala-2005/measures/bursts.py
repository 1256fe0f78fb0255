"""Measures of traffic in bursts: completion times, and goodput while a burst is under way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tailback.study.measures import RunView, measure


def _mean_time(run: RunView, klass: str) -> float:
    of_class = run.of(klass) & (run.flows["bursts"] > 0)
    n = run.flows["bursts"][of_class]
    return float(np.sum(n * run.flows["burst_time_mean_s"][of_class]) / np.sum(n)) if n.sum() else float("nan")


def _mean_goodput(run: RunView, klass: str) -> float:
    x = run.flows["burst_goodput_wire_bps"][run.of(klass)]
    x = x[np.isfinite(x)]
    return float(np.mean(x)) / 1e6 if len(x) else float("nan")


def _ratio(run: RunView, of: Callable[[RunView, str], float]) -> float:
    """The ratio for the two classes that the set's options name as `ratio = [above, below]`."""
    if "ratio" not in run.options:
        return float("nan")
    upper_name, lower_name = run.options["ratio"]
    return of(run, upper_name) / of(run, lower_name)


@measure("burst_time", "Mean burst completion time", "s", "first packet handed to TCP to last ACK, all ended bursts")
def burst_time(run: RunView, klass: str) -> float:
    return _mean_time(run, klass)


@measure("burst_time_max", "Longest burst", "s", "completion time of the slowest burst of the class")
def burst_time_max(run: RunView, klass: str) -> float:
    return float(np.nanmax(run.flows["burst_time_max_s"][run.of(klass)]))


@measure("bursts", "Bursts ended", "1", "of the class, in the measured time", digits=0)
def bursts(run: RunView, klass: str) -> float:
    return float(np.sum(run.flows["bursts"][run.of(klass)]))


@measure(
    "active_goodput",
    "Goodput during a burst",
    "Mbit/s",
    "data of the ended bursts over the sum of their completion times, whole packets, mean over the flows",
)
def active_goodput(run: RunView, klass: str) -> float:
    return _mean_goodput(run, klass)


@measure("goodput_ratio", "Goodput, ratio of the classes", "1", "goodput during a burst, slow class over quick class")
def goodput_ratio(run: RunView, klass: str) -> float:
    return _ratio(run, _mean_goodput)


@measure("whole_ratio", "Whole-time goodput, ratio", "1", "goodput over the whole run, slow class over quick class")
def whole_ratio(run: RunView, klass: str) -> float:
    return _ratio(run, lambda r, c: float(np.mean(r.goodput(c))))


@measure(
    "time_ratio", "Completion time, ratio of the classes", "1", "mean burst completion time, slow over quick class"
)
def time_ratio(run: RunView, klass: str) -> float:
    return _ratio(run, _mean_time)
