"""Measures of the shares of flows: the flows above the fair share, and the flow with the least."""

from __future__ import annotations

import numpy as np

from tailback.study.measures import RunView, measure


@measure("above_share", "Flows above the fair share", "flows", "whose goodput is the fair share or more", digits=0)
def above_share(run: RunView, klass: str) -> float:
    return float(np.sum(run.goodput(klass) >= run.fair_share_bps))


@measure("least_share", "Least goodput, % of fair share", "%", "of a flow of the class", digits=1)
def least_share(run: RunView, klass: str) -> float:
    return 100 * float(np.min(run.goodput(klass))) / run.fair_share_bps
