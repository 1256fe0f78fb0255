"""`against`: one measure against another, with a line for each discipline, along an axis that changes both.

kind = "against"
measures = ["queueing_delay", "utilisation"]   # abscissa, ordinate
along = "lower"                                # the axis that is not drawn
lines = "pair"
panels = ["rate", "rtt"]                       # a panel for each combination of these axes' values
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailback import plots
from tailback.study.figures import Drawing, figure, named
from tailback.study.measures import MEASURES
from tailback.study.tolerance import OverSeeds

if TYPE_CHECKING:
    from tailback.study.figures import Drawn


@figure("against")
def against(d: Drawing) -> Drawn:
    output = d.output
    x, y = (MEASURES[m] for m in output["measures"])
    lines_by_panel: dict[tuple[str, ...], dict[str, list[tuple[float, float, float]]]] = {}
    titles: dict[tuple[str, ...], str] = {}
    for runs, p in d.points():
        samples = [d.get(runs, p, "all", m.name) for m in (x, y)]
        if samples[0] is None or samples[1] is None:
            continue
        panel = tuple(p.labels[a] for a in output.get("panels", ()))
        titles[panel] = ", ".join(
            named(runs.axis(a), v).removeprefix("Rate ") for a, v in zip(output.get("panels", ()), panel, strict=True)
        )
        x_over_seeds, e = OverSeeds.of(samples[0]), OverSeeds.of(samples[1])
        lines = lines_by_panel.setdefault(panel, {})
        lines.setdefault(p.labels[output.get("lines", "queue")], []).append((x_over_seeds.mean, e.mean, e.half))
    if not lines_by_panel:
        return None
    panels = [
        plots.Panel([plots.as_curve(name, d.title(name), v) for name, v in lines.items()], titles[k])
        for k, lines in lines_by_panel.items()
    ]
    return plots.curves(panels, x.label, y.label, log_x=False)
