"""Draws overflows: the flows that lose packets, and the times.

`stacked-queues`  each queue's length against time, one above the other, `offset` packets apart; drops as marks;
                  `published_overflows` are instants of the source, in seconds
`drop-raster`     a point for each drop, time by flow; one frame for each discipline
`holds`           each interval in which a queue was the victim, or closed, by queue; one frame for each discipline
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tailback import plots
from tailback.show.plots.completions import in_decades
from tailback.show.plots.published import handles as legend
from tailback.show.plots.published import star
from tailback.study.figures import Drawing, figure
from tailback.study.measures.drops import periods

from ..measures.holds import holds

if TYPE_CHECKING:
    from tailback.study.figures import Drawn


@figure("stacked-queues")
@plots.styled
def stacked_queues(d: Drawing) -> Drawn:
    for runs, p in d.points():
        view = d.view(runs, p)
        if view is None:
            continue
        s = view.series
        keep = s["probe"] == "queue_packets"
        times, lengths, index = s["time_s"][keep], s["value"][keep], s["index"][keep]
        # Queues are numbered in the order of their first packets; flows have names.
        is_flow = s["probe"] == "queue_flow"
        place = dict(zip(s["index"][is_flow].tolist(), s["value"][is_flow].tolist(), strict=True))
        index = np.array([place.get(q, q) for q in index.tolist()])
        offset, queues = d.output["offset"], np.unique(index)
        end = float(times.max())
        # The figure ends well after the fourth overflow, because the rest looks the same.
        stretches = periods(view)
        if len(stretches) > 4:
            end = min(end, 1.25 * stretches[4][0] + 2)
        fig, axes = plots.grid(6.8, 4.6)
        ax = axes[0][0]
        for q in queues:
            of_queue = (index == q) & (times <= end)
            ax.plot(times[of_queue], lengths[of_queue] + q * offset, color=plots.COLOURS["blue"][0], linewidth=0.8)
            ax.axhline(q * offset, color=plots.FAINT, linewidth=0.5)
        position_of = {name: i for i, name in enumerate(view.flows["id"].tolist())}
        t, flow = view.drops()
        is_early = t <= end
        positions = np.array([position_of[f] for f in flow[is_early]], dtype=float)
        drop_marks = ax.plot(
            t[is_early],
            positions * offset,
            "|",
            color=plots.COLOURS["red"][0],
            markersize=7,
            markeredgewidth=0.9,
            zorder=3,
        )[0]
        for instant in d.output.get("published_overflows", ()):
            star(ax, instant, (len(queues) + 0.4) * offset, "white")
        ax.set_yticks([q * offset for q in queues], [f"{q + 1:.0f}" for q in queues])
        ax.set_xlim(0, end)
        ax.set_ylim(-0.3 * offset, (len(queues) + 0.8) * offset)
        ax.set_ylabel(f"flow ({offset} packets from line to line)")
        ax.set_xlabel("time (s)")
        ax.grid(False, axis="y")
        marks = legend((instant, instant) for instant in d.output.get("published_overflows", ()))
        handles = {"drop": drop_marks, **{f"overflow, {name}": mark for name, mark in marks.items()}}
        fig.legend(list(handles.values()), list(handles), loc="outside upper right", ncols=2)
        return fig
    return None


@figure("drop-raster")
@plots.styled
def drop_raster(d: Drawing) -> Drawn:
    views = [v for v in (d.view(runs, p) for runs, p in d.points()) if v is not None]
    if not views:
        return None
    fig, axes = plots.grid(6.8, 0.4 + 2.3 * len(views), len(views), 1, sharex=True, sharey=True)
    for ax, view in zip(axes[:, 0], views, strict=True):
        names = view.flows["id"].tolist()
        position_of = {name: i + 1 for i, name in enumerate(names)}
        t, flow = view.drops()
        # The points are drawn as one picture. A hundred thousand points as separate lines would make a report of 30 MB.
        look, positions = plots.look(view.labels["queue"]), [position_of[f] for f in flow]
        ax.plot(t, positions, ".", color=look.colour, markersize=1.6, rasterized=True)
        classes = view.classes
        if len(classes) > 1:
            first_class_count = sum(n.startswith(f"{classes[0]}.") for n in names)
            ax.axhline(first_class_count + 0.5, color=plots.GREY, linewidth=0.9, linestyle=(0, (2, 2)))
        ax.set_ylim(0, len(names) + 1)
        ax.set_ylabel("flow")
        ax.set_title(f"{d.title(view.labels['queue'])}, {len(t):,} drops")
        ax.margins(x=0.01)
    axes[-1, 0].set_xlabel("time (s)")
    return fig


@figure("holds")
@plots.styled
def hold_intervals(d: Drawing) -> Drawn:
    views = [v for v in (d.view(runs, p) for runs, p in d.points()) if v is not None]
    with_holds = [(v, holds(v)) for v in views]
    with_holds = [(v, h) for v, h in with_holds if len(h[0])]
    if not with_holds:
        return None
    columns = plots.beside(len(with_holds))
    rows = math.ceil(len(with_holds) / columns)
    fig, axes = plots.grid(6.8, 2.7 * rows, rows, columns, sharey=True)
    for ax in axes.flat[len(with_holds) :]:
        ax.set_axis_off()
    for i, (ax, (view, (queue, _, length))) in enumerate(zip(axes.flat, with_holds, strict=False)):
        look = plots.look(view.labels["queue"])
        ax.plot(queue + 1, np.maximum(length, 1e-5), ".", color=look.colour, markersize=3, rasterized=True)
        ax.set_yscale("log")
        if i + columns >= len(with_holds):
            ax.set_xlabel("queue")
        if i % columns == 0:
            ax.set_ylabel("length of the interval")
        ax.set_title(f"{d.title(view.labels['queue'])}, {len(length):,} intervals")
    in_decades(axes[0][0], "y")
    return fig
