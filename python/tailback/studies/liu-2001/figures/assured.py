"""Draws flows with an assured rate, by second.

`flow-rates`       throughput of every flow, with its target rate as dots; a frame for each round trip
`marked-traffic`   rates that left the conditioners of some flows, by colour

kind = "flow-rates"
pair = "adaptive"
round_trips = ["30 ms", "60 ms"]     # of flows 0, 1 and so on of each group; their twins follow
ends = ""                            # only groups whose names end so
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tailback import plots
from tailback.study.figures import Drawing, figure
from tailback.study.measures import RunView

from ..measures.assured import colours, loads, rates

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tailback.study.figures import Drawn

#: Green, yellow and red in shades that the colour-blind can distinguish.
SHADES = (plots.COLOURS["green"][0], "#E6C200", plots.COLOURS["red"][0])


def view_of(d: Drawing) -> RunView | None:
    """The first seed of the pair that the output names, or of the only pair."""
    for runs, p in d.points():
        if d.output.get("pair") in (None, *p.labels.values()):
            return d.view(runs, p)
    return None


def promised(run: RunView) -> dict[str, float]:
    """The rate of each group, Mb/s."""
    return {str(k): float(v) for k, v in run.options["promised"].items()}


@figure("flow-rates")
@plots.styled
def flow_rates(d: Drawing) -> Drawn:
    run = view_of(d)
    if run is None:
        return None
    trips, ends = d.output["round_trips"], d.output.get("ends", "")
    groups = [g for g in promised(run) if g in run.classes and g.endswith(ends) and (ends or not g.endswith("-b"))]
    starts, _, goodputs = rates(run)
    promises = sorted({promised(run)[g] for g in groups})
    fig, axes = plots.grid(7.4, 1.5 * len(trips) + 0.6, len(trips), 1, sharex=True)
    for row, (ax, trip) in enumerate(zip(axes[:, 0], trips, strict=True)):
        for g in groups:
            look = plots.OTHERS[promises.index(promised(run)[g])]
            flow_rows = np.flatnonzero(run.of(g))[row :: len(trips)]
            for twin, flow in enumerate(flow_rows):
                y = np.where(_sending(run, g, starts), goodputs[:, flow], np.nan)
                ax.plot(starts, y, color=look.colour, linewidth=0.8, alpha=1 if twin == 0 else 0.45)
            _due(ax, run, g, look.colour)
        ax.set_title(trip)
        ax.set_ylabel("Mb/s")
        ax.set_ylim(0, d.output.get("high", 15))
        ax.margins(x=0.01)
    for r in promises:
        colour = plots.OTHERS[promises.index(r)].colour
        axes[0, 0].plot([], [], color=colour, label=f"r1 = {r:g} Mb/s")
    axes[0, 0].plot([], [], color=plots.GREY, linestyle=(0, (1, 1.5)), label="is to get")
    axes[0, 0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    axes[-1, 0].set_xlabel("time (s)")
    return fig


def _sending(run: RunView, group: str, starts: np.ndarray) -> np.ndarray:
    """The seconds in which the flows of a group are to send."""
    is_kept = np.zeros(len(starts), bool)
    for load in loads(run):
        if group in load.get:
            is_kept |= (starts >= load.start) & (starts < load.end)
    return is_kept


def _due(ax: Axes, run: RunView, group: str, colour: str) -> None:
    for load in loads(run):
        if group in load.get:
            ax.plot([load.start, load.end], [load.get[group]] * 2, color=colour, linestyle=(0, (1, 1.5)), linewidth=1.6)


@figure("marked-traffic")
@plots.styled
def marked_traffic(d: Drawing) -> Drawn:
    run = view_of(d)
    if run is None:
        return None
    flows = d.output["flows"]
    fig, axes = plots.grid(7.4, 1.7 * len(flows) + 0.5, len(flows), 1, sharex=True)
    for ax, (flow, title) in zip(axes[:, 0], flows.items(), strict=True):
        x = colours(run, flow)
        rate = promised(run)[flow.split(".")[0]]
        base = np.zeros(len(x))
        for i, name in enumerate(("green", "yellow", "red")):
            tops = base + x[:, i]
            ax.fill_between(np.arange(len(x)), base, tops, color=SHADES[i], linewidth=0, step="post", label=name)
            base = tops
        for y in (rate, 2 * rate):
            ax.axhline(y, color=plots.INK, linewidth=0.8, linestyle=(0, (4, 2)))
        ax.set_title(title)
        ax.set_ylabel("Mb/s")
        ax.set_ylim(bottom=0)
        ax.margins(x=0.01)
    axes[0, 0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    axes[-1, 0].set_xlabel("time (s)")
    return fig
