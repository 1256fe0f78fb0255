"""Measures of a recorded window (`win`, `outstanding`) over the counted time, which the set's options `from_s` and
`to_s` give."""

from __future__ import annotations

import numpy as np

from tailback.study.measures import RunView, measure


def held(run: RunView, klass: str, probe: str) -> tuple[np.ndarray, np.ndarray]:
    """The values of the first flow of the class over the counted time, each with its duration (s)."""
    flow = run.flows["id"][run.of(klass)][0]
    times_s, probe_values = run.probe(probe, f"flows.{flow}")
    if not len(times_s):
        return np.array([]), np.array([])
    ends = run.intervals["to_s"]
    start, end = run.options.get("from_s", float(ends.min())), run.options.get("to_s", float(ends.max()))
    edges = np.clip(np.append(times_s, end), start, end)
    durations_s = np.diff(edges)
    is_counted = durations_s > 0
    return probe_values[is_counted], durations_s[is_counted]


def _mean(run: RunView, klass: str, probe: str) -> float:
    probe_values, durations_s = held(run, klass, probe)
    return float((probe_values * durations_s).sum() / durations_s.sum()) if len(probe_values) else float("nan")


@measure("window", "Window, mean over time", "packets", "of the first flow of the class, over the counted time", 2)
def window(run: RunView, klass: str) -> float:
    return _mean(run, klass, "win")


@measure("least_window", "Window, least", "packets", "of the first flow of the class, over the counted time", 2)
def least_window(run: RunView, klass: str) -> float:
    counted_windows, _ = held(run, klass, "win")
    return float(counted_windows.min()) if len(counted_windows) else float("nan")


@measure("most_window", "Window, most", "packets", "of the first flow of the class, over the counted time", 2)
def most_window(run: RunView, klass: str) -> float:
    counted_windows, _ = held(run, klass, "win")
    return float(counted_windows.max()) if len(counted_windows) else float("nan")


@measure(
    "open_window", "Time with the window open", "%", "share of the counted time at the largest window of the run", 1
)
def open_window(run: RunView, klass: str) -> float:
    flow = run.flows["id"][run.of(klass)][0]
    _, windows = run.probe("win", f"flows.{flow}")
    counted_windows, durations_s = held(run, klass, "win")
    return (
        float(100 * durations_s[counted_windows >= windows.max() - 0.01].sum() / durations_s.sum())
        if len(counted_windows)
        else float("nan")
    )


@measure("window_rise", "Rise of the window", "packets", "mean of the last fifth of the counted time less the first", 2)
def window_rise(run: RunView, klass: str) -> float:
    counted_windows, durations_s = held(run, klass, "win")
    if not len(counted_windows):
        return float("nan")
    ends_s = np.cumsum(durations_s)
    fifth_s = ends_s[-1] / 5

    def mean(a: float, b: float) -> float:
        overlaps_s = np.clip(np.minimum(ends_s, b) - np.maximum(ends_s - durations_s, a), 0, None)
        return float((counted_windows * overlaps_s).sum() / overlaps_s.sum())

    return mean(ends_s[-1] - fifth_s, ends_s[-1]) - mean(0.0, fifth_s)


@measure("most_outstanding", "Outstanding, most", "packets", "packets sent and not known to have arrived", 0)
def most_outstanding(run: RunView, klass: str) -> float:
    counted_outstanding, _ = held(run, klass, "outstanding")
    return float(counted_outstanding.max()) if len(counted_outstanding) else float("nan")


@measure("conversation_time", "Completion time", "s", "first packet written to last ACK, mean of those that ended", 2)
def conversation_time(run: RunView, klass: str) -> float:
    with_bursts = run.of(klass) & (run.flows["bursts"] > 0)
    return float(np.mean(run.flows["burst_time_mean_s"][with_bursts])) if with_bursts.any() else float("nan")


@measure("conversation_time_most", "Longest completion time", "s", "of the conversations that ended", 2)
def conversation_time_most(run: RunView, klass: str) -> float:
    with_bursts = run.of(klass) & (run.flows["bursts"] > 0)
    return float(np.max(run.flows["burst_time_max_s"][with_bursts])) if with_bursts.any() else float("nan")


@measure("conversations", "Conversations that ended", "1", "of the class", 0)
def conversations(run: RunView, klass: str) -> float:
    return float(np.sum(run.flows["bursts"][run.of(klass)] > 0))
