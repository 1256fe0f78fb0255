"""`shares`: the share of their fair share that classes of flows get, as means over seeds. Disciplines are sorted by the
first class.

kind = "shares"
classes = ["cbr", "tcp"]                       # groups of flows; the first sorts the rows
titles = ["unresponsive", "TCP, mean"]         # in the legend
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tailback.show import plots
from tailback.study.figures import Drawing, figure

if TYPE_CHECKING:
    from tailback.study.figures import Drawn


@figure("shares")
def shares(d: Drawing) -> Drawn:
    classes = d.output["classes"]
    titles = d.output.get("titles", classes)
    rows = []
    for runs, p in d.points():
        by_class = [d.get(runs, p, c, "share") for c in classes]
        shares_of_class = [np.asarray(x, float) / 100 for x in by_class if x is not None]
        if len(shares_of_class) == len(classes):
            rows.append((d.title(p.labels["queue"]), shares_of_class))
    rows.sort(key=lambda row: float(np.mean(row[1][0])))
    return plots.shares(rows, titles) if rows else None
