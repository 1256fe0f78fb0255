"""Measures of a recorded window (`win`, `outstanding`) over the counted time, which the set's options `from_s` and
`to_s` give."""

from __future__ import annotations

import numpy as np

from tailback.study.measures import RunView, measure


def held(run: RunView, klass: str, probe: str) -> tuple[np.ndarray, np.ndarray]:
    """The values of the first flow of the class over the counted time, each with its duration (s)."""
    flow = run.flows["id"][run.of(klass)][0]
    t, v = run.probe(probe, f"flows.{flow}")
    if not len(t):
        return np.array([]), np.array([])
    ends = run.intervals["to_s"]
    start, end = run.options.get("from_s", float(ends.min())), run.options.get("to_s", float(ends.max()))
    edges = np.clip(np.append(t, end), start, end)
    length = np.diff(edges)
    keep = length > 0
    return v[keep], length[keep]


def _mean(run: RunView, klass: str, probe: str) -> float:
    v, length = held(run, klass, probe)
    return float((v * length).sum() / length.sum()) if len(v) else float("nan")


@measure("window", "Window, mean over time", "packets", "of the first flow of the class, over the counted time", 2)
def window(run: RunView, klass: str) -> float:
    return _mean(run, klass, "win")


@measure("least_window", "Window, least", "packets", "of the first flow of the class, over the counted time", 2)
def least_window(run: RunView, klass: str) -> float:
    v, _ = held(run, klass, "win")
    return float(v.min()) if len(v) else float("nan")


@measure("most_window", "Window, most", "packets", "of the first flow of the class, over the counted time", 2)
def most_window(run: RunView, klass: str) -> float:
    v, _ = held(run, klass, "win")
    return float(v.max()) if len(v) else float("nan")


@measure(
    "open_window", "Time with the window open", "%", "share of the counted time at the largest window of the run", 1
)
def open_window(run: RunView, klass: str) -> float:
    flow = run.flows["id"][run.of(klass)][0]
    _, windows = run.probe("win", f"flows.{flow}")
    v, length = held(run, klass, "win")
    return float(100 * length[v >= windows.max() - 0.01].sum() / length.sum()) if len(v) else float("nan")


@measure("window_rise", "Rise of the window", "packets", "mean of the last fifth of the counted time less the first", 2)
def window_rise(run: RunView, klass: str) -> float:
    v, length = held(run, klass, "win")
    if not len(v):
        return float("nan")
    end = np.cumsum(length)
    fifth = end[-1] / 5

    def mean(a: float, b: float) -> float:
        overlap = np.clip(np.minimum(end, b) - np.maximum(end - length, a), 0, None)
        return float((v * overlap).sum() / overlap.sum())

    return mean(end[-1] - fifth, end[-1]) - mean(0.0, fifth)


@measure("most_outstanding", "Outstanding, most", "packets", "packets sent and not known to have arrived", 0)
def most_outstanding(run: RunView, klass: str) -> float:
    v, _ = held(run, klass, "outstanding")
    return float(v.max()) if len(v) else float("nan")


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
