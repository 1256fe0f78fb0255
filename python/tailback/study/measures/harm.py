"""Measures how far unresponsive flows are above their fair share, and how far the other flows are below theirs."""

from __future__ import annotations

import numpy as np

from tailback.study.measures import RunView, measure


@measure(
    "excess",
    "Taken beyond the fair share",
    "% of a share",
    "mean goodput of the class's flows over their fair share, less 100 %; negative if they get less",
)
def excess(run: RunView, klass: str) -> float:
    return 100 * (float(np.mean(run.goodput(klass))) / run.fair_share_bps - 1)


@measure(
    "cost",
    "What it costs the others",
    "% of a share",
    "by how much the mean goodput of all other flows is below their fair share",
)
def cost(run: RunView, klass: str) -> float:
    other_goodputs = run.flows["goodput_wire_bps"][~run.of(klass)]
    return 100 * (1 - float(np.mean(other_goodputs)) / run.fair_share_bps) if len(other_goodputs) else float("nan")
