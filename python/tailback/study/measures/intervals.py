"""Measures from the table of intervals: the goodput of flows in the course of the run."""

from __future__ import annotations

import numpy as np

from tailback.study.measures.view import RunView


def goodputs(run: RunView, klass: str = "all") -> tuple[np.ndarray, np.ndarray]:
    """Ends of the intervals (s), and goodput by interval and flow, whole packets, bit/s (rows are intervals)."""
    t = run.intervals
    keep = np.ones(len(t["to_s"]), bool) if klass == "all" else t["group"] == klass
    ends = np.unique(t["to_s"][keep])
    return ends, t["goodput_wire_bps"][keep].reshape(len(ends), -1)


def cumulative_max_min(run: RunView, klass: str = "all") -> tuple[np.ndarray, np.ndarray]:
    """Largest over smallest throughput of a flow, counted from the start up to each interval's end."""
    ends, x = goodputs(run, klass)
    lengths = np.diff(np.r_[0.0, ends])
    sums = np.cumsum(x * lengths[:, None], axis=0)
    lowest = sums.min(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return ends, np.where(lowest > 0, sums.max(axis=1) / lowest, np.inf)
