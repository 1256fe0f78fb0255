"""Measures of recorded congestion windows (segments): probe `cwnd` of the senders, sampled at a step."""

from __future__ import annotations

import numpy as np

from tailback.study.measures import RunView, measure


def mean_window(run: RunView, klass: str) -> tuple[np.ndarray, np.ndarray]:
    """The sampled times, and the mean window over the flows of a class at each time."""
    s = run.series
    is_kept = s["probe"] == "cwnd"
    if klass != "all":
        is_kept &= np.char.startswith(s["what"].astype(str), f"flows.{klass}.")
    t, time_number = np.unique(s["time_s"][is_kept], return_inverse=True)
    total = np.bincount(time_number, s["value"][is_kept])
    return t, total / np.bincount(time_number)


@measure("cwnd", "Congestion window", "packets", "mean over the flows of the class and the samples", digits=1)
def cwnd(run: RunView, klass: str) -> float:
    t, w = mean_window(run, klass)
    return float(w.mean()) if len(t) else float("nan")


@measure(
    "cwnd_later",
    "Congestion window after the start",
    "packets",
    "mean over the flows of the class and the samples after 10 s",
    digits=1,
)
def cwnd_later(run: RunView, klass: str) -> float:
    t, w = mean_window(run, klass)
    return float(w[t > 10.0].mean()) if (t > 10.0).any() else float("nan")
