"""Draws what people at terminals and browsers see, for the first seed.

`flow-values`  a column of the table of flows, flow by flow by size; a frame for each class, a line for each pair
`responses`    each transfer's time to its first and its last byte against the time of its request, and the bytes of
               all flows by interval (the scenario needs `interval`); a frame for each, a colour for each pair

kind = "flow-values"
column = "delay_mean_s"
ylabel = "mean packet delay (s)"
classes = ["flow13", "flow24"]
class_titles = ["Flow 1-3", "Flow 2-4"]
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import matplotlib.lines
import numpy as np

from tailback import plots
from tailback.study.figures import Drawing, figure

if TYPE_CHECKING:
    from tailback.core.store.sources import Columns
    from tailback.study.figures import Drawn


@figure("flow-values")
@plots.styled
def flow_values(d: Drawing) -> Drawn:
    classes = d.output["classes"]
    lines = []
    for runs, p in d.points():
        view = d.view(runs, p)
        if view is not None:
            column = np.asarray(view.flows[d.output["column"]], dtype=float)
            lines.append((d.title(p.labels["pair"]), [np.sort(column[view.of(c)]) for c in classes]))
    if not lines:
        return None
    columns = plots.beside(len(classes))
    rows = math.ceil(len(classes) / columns)
    fig, axes = plots.grid(6.8, 2.8 * rows, rows, columns, sharey=True)
    for ax in axes.flat[len(classes) :]:
        ax.set_axis_off()
    handles: dict[str, Any] = {}
    for class_number, (ax, title) in enumerate(zip(axes.flat, d.output.get("class_titles", classes), strict=False)):
        for i, (name, values_by_class) in enumerate(lines):
            look = plots.look("", i)
            place = np.arange(1, len(values_by_class[class_number]) + 1)
            line = ax.plot(place, values_by_class[class_number], color=look.colour, linestyle=look.line, linewidth=1.2)[
                0
            ]
            handles.setdefault(name, line)
        ax.set_title(title)
        if class_number + columns >= len(classes):
            ax.set_xlabel("microflows, in order")
        if class_number % columns == 0:
            ax.set_ylabel(d.output["ylabel"])
    axes[0][0].set_ylim(bottom=0)
    plots.legend(fig, handles, "outside upper right")
    return fig


def delivered(t: Columns) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the intervals of a run, seconds, and the rate that all flows delivered in each interval, kbit/s."""
    ends, interval_of = np.unique(np.asarray(t["to_s"], dtype=float), return_inverse=True)
    return ends, np.bincount(interval_of, weights=1e-3 * np.asarray(t["goodput_bps"], dtype=float))


@figure("responses")
@plots.styled
def responses(d: Drawing) -> Drawn:
    lines = []
    for runs, p in d.points():
        view = d.view(runs, p)
        if view is not None and len(view.table("transfers").get("asked_s", ())):
            lines.append((d.title(p.labels["pair"]), view.table("transfers"), view.intervals))
    if not lines:
        return None
    fig, axes = plots.grid(6.8, 6.6, 3, 1, sharex=True)
    frames = (("response_s", "first byte"), ("completion_s", "last byte"))
    handles: dict[str, Any] = {}
    small: dict[str, Any] = {"linestyle": "none", "markersize": 2.2, "markeredgewidth": 0, "alpha": 0.6}
    for i, (name, t, intervals) in enumerate(lines):
        look = plots.look("", i)
        for ax, (column, what) in zip(axes[:2, 0], frames, strict=True):
            ax.plot(t["asked_s"], t[column], color=look.colour, marker=look.marker, **small)
            ax.set_ylabel(f"to the {what} (s)")
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter(lambda x, _: f"{x:g}")
        if intervals and len(intervals["to_s"]):
            ends, rate = delivered(intervals)
            axes[2, 0].step(ends, rate, color=look.colour, linestyle=look.line)
        handles[name] = matplotlib.lines.Line2D(
            [], [], color=look.colour, linestyle=look.line, marker=look.marker, markersize=4
        )
    axes[2, 0].set_ylabel("delivered (kbit/s)")
    axes[2, 0].set_ylim(bottom=0)
    axes[2, 0].set_xlabel("time (s)")
    plots.legend(fig, handles, "outside upper right")
    return fig
