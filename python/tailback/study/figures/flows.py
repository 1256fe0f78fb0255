"""Figures of single flows over the time of a run.

`windows`  the congestion window of each flow against time
`max-min`  largest over smallest throughput of a flow, counted from the start; a line a discipline, a frame a buffer
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailback.show import plots
from tailback.show.plots.published import edge
from tailback.show.plots.published import handles as legend
from tailback.study.figures import Drawing, figure
from tailback.study.figures.published import ranges
from tailback.study.measures.intervals import cumulative_max_min

if TYPE_CHECKING:
    from tailback.study.figures import Drawn
    from tailback.study.measures import RunView


@figure("windows")
@plots.styled
def windows(d: Drawing) -> Drawn:
    for runs, p in d.points():
        view = d.view(runs, p)
        if view is None:
            continue
        s = view.series
        keep = s["probe"] == "cwnd"
        object_names, times, window_sizes = s["what"][keep], s["time_s"][keep], s["value"][keep]
        names = view.flows["id"].tolist()
        fig, axes = plots.grid(6.8, 0.5 + 1.25 * len(names), len(names), 1, sharex=True, sharey=True)
        goodput = view.flows["goodput_wire_bps"] / 1e6
        for i, (ax, name) in enumerate(zip(axes[:, 0], names, strict=True)):
            of_flow = object_names == f"flows.{name}"
            ax.plot(times[of_flow], window_sizes[of_flow], color=plots.look("", i).colour, linewidth=0.9)
            ax.set_title(f"{name}, {goodput[i]:.2f} Mb/s")
            ax.set_ylabel("cwnd (packets)")
            ax.margins(x=0.01)
        # The overshoot of slow start would flatten the other curves.
        axes[0][0].set_ylim(0, 1.3 * np.quantile(window_sizes, 0.95))
        axes[-1, 0].set_xlabel("time (s)")
        return fig
    return None


@figure("max-min")
@plots.styled
def max_min(d: Drawing) -> Drawn:
    frames: dict[str, list[tuple[RunView, list[tuple[float, float]]]]] = {}
    for runs, p in d.points():
        view = d.view(runs, p)
        if view is not None and view.intervals:
            frames.setdefault(p.labels["buffer"], []).append((view, ranges(d, runs, p, "max_min")))
    if not frames:
        return None
    n = len(frames)
    fig, axes = plots.grid(5.4 if n == 1 else 2.7 * n + 1.3, 3.3, 1, n, sharey=True)
    handles: dict[Any, Any] = {}
    for ax, (buffer, views) in zip(axes[0], frames.items(), strict=True):
        for i, (view, marks) in enumerate(views):
            look = plots.look(view.labels["queue"], i)
            edge(ax, marks, look.colour)
            t, ratio = cumulative_max_min(view)
            title = d.title(view.labels["queue"])
            line = ax.plot(t, np.where(np.isfinite(ratio), ratio, np.nan), color=look.colour, linestyle=look.line)[0]
            handles.setdefault(title, line)
        ax.set_title(f"{buffer} packets")
        ax.set_xlabel("time (s)")
        ax.set_ylim(1, d.output.get("high", 8))
        ax.margins(x=0.01)
    axes[0][0].set_ylabel("largest / smallest throughput")
    handles |= legend(x for views in frames.values() for _, said in views for x in said)
    plots.legend(fig, handles, "outside right center")
    return fig
