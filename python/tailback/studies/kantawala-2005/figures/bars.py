"""`goodput-bars`: a sorted bar for each flow, one panel for each discipline, and a line at the fair share, for the
first seed.

If a spread was published, strips show the goodput of a flow one standard deviation above or below the mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailback import plots
from tailback.study.figures import Drawing, figure
from tailback.study.figures.published import ranges

if TYPE_CHECKING:
    from tailback.study.figures import Drawn


@figure("goodput-bars")
def goodput_bars(d: Drawing) -> Drawn:
    groups, fair = [], 1.0
    spreads: list[list[tuple[float, float]]] = []
    for runs, p in d.points():
        view = d.view(runs, p)
        if view is not None:
            groups.append((p.labels["queue"], d.title(p.labels["queue"]), view.goodput() / 1e6))
            fair = view.fair_share_bps / 1e6
            spreads.append([(low * fair, high * fair) for low, high in ranges(d, runs, p, "sd")])
    return plots.goodput_bars(groups, fair, published_spreads=spreads) if groups else None
