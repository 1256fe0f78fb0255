"""Measures of the goodputs of a class of flows (whole packets)."""

from __future__ import annotations

import numpy as np

from tailback.study.measures import RunView, measure


def spread(x: np.ndarray) -> float:
    """Sample standard deviation; 0 for a single flow."""
    return float(np.std(x, ddof=1)) if len(x) > 1 else 0.0


def three_sigma_of(x: np.ndarray) -> float:
    mean, sd = float(np.mean(x)), spread(x)
    return (mean + 3 * sd) / (mean - 3 * sd) if mean > 3 * sd else float("inf")


@measure("share", "Mean goodput, % of fair share", "%", "mean goodput of the flows over their fair share")
def share(run: RunView, klass: str) -> float:
    return 100 * float(np.mean(run.goodput(klass))) / run.fair_share_bps


@measure("goodput", "Mean goodput", "Mbit/s", "mean goodput of the flows, whole packets")
def goodput(run: RunView, klass: str) -> float:
    return float(np.mean(run.goodput(klass))) / 1e6


@measure("total", "Total goodput", "Mbit/s", "goodput of all flows together, whole packets")
def total(run: RunView, klass: str) -> float:
    return float(np.sum(run.goodput(klass))) / 1e6


@measure("sd", "sd(goodput) / fair share", "1", "standard deviation over the flows, over their fair share")
def sd(run: RunView, klass: str) -> float:
    return spread(run.goodput(klass)) / run.fair_share_bps


@measure(
    "three_sigma",
    "(mean + 3 sd) / (mean - 3 sd)",
    "1",
    "spread of the goodputs as a ratio; infinite where mean < 3 sd",
)
def three_sigma(run: RunView, klass: str) -> float:
    return three_sigma_of(run.goodput(klass))


@measure("max_min", "Largest over smallest goodput", "1", "of the flows of the class, over the whole run")
def max_min(run: RunView, klass: str) -> float:
    x = run.goodput(klass)
    return float(np.max(x) / np.min(x)) if np.min(x) > 0 else float("inf")


@measure("best", "Largest goodput of a flow", "Mbit/s", "of the flows of the class")
def best(run: RunView, klass: str) -> float:
    return float(np.max(run.goodput(klass))) / 1e6


@measure("timeouts", "Timeouts a flow", "1", "retransmission timeouts, mean over the flows", digits=1)
def timeouts(run: RunView, klass: str) -> float:
    return float(np.mean(run.flows["timeouts"][run.of(klass)]))


@measure("all_timeouts", "Timeouts of all flows", "1", "retransmission timeouts of the class together", digits=1)
def all_timeouts(run: RunView, klass: str) -> float:
    return float(np.sum(run.flows["timeouts"][run.of(klass)]))
