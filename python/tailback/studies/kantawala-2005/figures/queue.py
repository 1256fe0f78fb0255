"""Draws a recorded queue against time.

`queue-against-time`  a whole run, and the model of drop-tail over a stretch of it (`model`)
`queue-aligned`       model and every workload of a set, each from one of its overflows on; one frame for each value of
                      the axis `panels`. The set's `options` describe the model.
`queue-panels`        a whole run for each value of the axis `panels`, with the levels `marks = { name = packets }`
`queue-and-windows`   queue above, mean congestion window of each class below; one column for each buffer

Stars show the published fall of the queue and cycle after an overflow, and the published window of a class relative to
the other class.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tailback import plots
from tailback.show.plots.published import edge, star
from tailback.show.plots.published import handles as legend
from tailback.study.figures import Drawing, figure, named
from tailback.study.figures.published import ranges
from tailback.study.measures import MEASURES
from tailback.theory import predict

from ..measures.cwnd import mean_window
from ..measures.model import tail_drop
from ..measures.series import overflows

if TYPE_CHECKING:
    from tailback.study.figures import Drawn
    from tailback.study.measures import RunView
    from tailback.study.model import Point, Runs

#: The number of the overflow at which curves are aligned. The first two overflows belong to the start.
ALIGNED = 2


def model_of(w: dict[str, Any], buffer: float) -> predict.TailDrop:
    """The model that an output's `model` table describes."""
    from tailback import _core

    c = _core.parse_rate(w["rate"]) / 8 / _core.parse_bytes(w["packet"])
    return predict.tail_drop(w["flows"], c, _core.parse_time(w["rtt"]), buffer, w["hit_share"])


@figure("queue-against-time")
def queue_against_time(d: Drawing) -> Drawn:
    for runs, p in d.points():
        view = d.view(runs, p)
        if view is None:
            continue
        t, q = view.probe("queue")
        buffer = view.buffer
        model_keys = d.output["model"]
        model = model_of(model_keys, buffer)
        overflow_rows = overflows(q, buffer)
        if len(overflow_rows) == 0:
            return plots.queue_against_time(t, q, buffer)
        origin = float(t[overflow_rows[min(ALIGNED, len(overflow_rows) - 1)]])
        end = min(float(t[-1]), origin + max(4 * model.cycle_s, 5.0))
        cycles = math.ceil((end - origin) / max(model.level()[0][-1], 1e-9))
        times, levels = model.level(cycles)
        start = max(0.0, origin - 0.15 * (end - origin))
        label = f"model, {100 * model_keys['hit_share']:g} % of flows hit"
        stars = [(origin + x, level) for x, level in _cycle_of(d, runs, p, buffer, model)]
        return plots.queue_against_time(t, q, buffer, ([origin + x for x in times], levels), (start, end), label, stars)
    return None


def _cycle_of(d: Drawing, runs: Runs, p: Point, buffer: float, model: predict.TailDrop) -> list[tuple[float, float]]:
    """The published falls of the queue and cycles, as places after an overflow. The model gives the time at which the
    fall ends."""
    falls = [(model.level()[0][1], buffer - low) for low, high in ranges(d, runs, p, "queue_drop") if low == high]
    return falls + [(low, buffer) for low, high in ranges(d, runs, p, "cycle") if low == high]


def _frames(d: Drawing, axis: str | None) -> dict[str, list[tuple[Runs, Point, RunView]]]:
    """The views of the first seed with their points, by the value of an axis."""
    views: dict[str, list[tuple[Runs, Point, RunView]]] = {}
    for runs, p in d.points():
        view = d.view(runs, p)
        if view is not None:
            title = ""
            if axis is not None:
                title = named(runs.axis(axis), p.labels[axis])
            views.setdefault(title, []).append((runs, p, view))
    return views


_SENDERS = {
    "standard": ("plain Reno", plots.COLOURS["blue"][0], "-"),
    "dup-only": ("dup. only", plots.COLOURS["green"][0], (0, (5, 1))),
    "one-halving": ("dup. only, NewReno", plots.COLOURS["black"][0], (0, (1.5, 1))),
}


@figure("queue-aligned")
@plots.styled
def queue_aligned(d: Drawing) -> Drawn:
    views_by_title = _frames(d, d.output.get("panels"))
    if not views_by_title:
        return None
    fig, axes = plots.grid(6.8, 0.5 + 2.1 * len(views_by_title), len(views_by_title), 1)
    handles: dict[Any, Any] = {}
    for ax, (title, frame) in zip(axes[:, 0], views_by_title.items(), strict=True):
        views = [view for _, _, view in frame]
        model = tail_drop(views[0])
        span = max(3.2 * model.cycle_s, 4.0)
        times, levels = model.level(math.ceil(span / max(model.level()[0][-1], 1e-9)))
        for runs, p, view in frame:
            t, q = view.probe("queue")
            overflow_rows = overflows(q, view.buffer)
            if not len(overflow_rows):
                continue
            origin = t[overflow_rows[min(ALIGNED, len(overflow_rows) - 1)]]
            keep = (t >= origin - 0.08 * span) & (t <= origin + span)
            label, colour, line = _SENDERS[view.labels["workload"]]
            handles[label] = ax.plot(t[keep] - origin, q[keep], color=colour, linestyle=line, linewidth=1.0)[0]
            if view.labels["workload"] == "standard":
                # The source has one value for all senders.
                for x, level in _cycle_of(d, runs, p, view.buffer, model):
                    star(ax, x, level, plots.COLOURS["red"][0])
                    handles |= legend([(level, level)])
        label = f"model, {100 * views[0].options['hit_share']:g} % of flows hit"
        handles[label] = ax.plot(times, levels, color=plots.COLOURS["red"][0], linestyle=(0, (5, 1.5)), linewidth=1.5)[
            0
        ]
        ax.axhline(views[0].buffer, color=plots.GREY, linewidth=0.9, linestyle=(0, (2, 2)))
        ax.set_xlim(-0.08 * span, span)
        ax.set_ylim(0, 1.06 * views[0].buffer)
        ax.set_ylabel("queue (packets)")
        ax.set_title(title)
    axes[-1, 0].set_xlabel("time from the overflow (s)")
    fig.legend(list(handles.values()), list(handles), loc="outside upper right", ncols=len(handles))
    return fig


@figure("queue-panels")
@plots.styled
def queue_panels(d: Drawing) -> Drawn:
    views_by_title = _frames(d, d.output["panels"])
    if not views_by_title:
        return None
    fig, axes = plots.grid(6.8, 0.5 + 1.6 * len(views_by_title), len(views_by_title), 1, sharex=True, sharey=True)
    handles: dict[Any, Any] = {}
    marks = d.output.get("marks", {})
    for ax, (title, views) in zip(axes[:, 0], views_by_title.items(), strict=True):
        t, q = views[0][2].probe("queue")
        ax.plot(t, q, color=plots.COLOURS["blue"][0], linewidth=0.7)
        for i, (name, level) in enumerate(marks.items()):
            style = ((0, (2, 2)), (0, (6, 2)), (0, (1, 1)))[i % 3]
            handles[f"{name}, {level} packets"] = ax.axhline(level, color=plots.INK, linewidth=0.9, linestyle=style)
        ax.set_ylim(bottom=0)
        ax.margins(x=0.01)
        ax.set_ylabel("queue (packets)")
        ax.set_title(title)
    axes[-1, 0].set_xlabel("time (s)")
    if handles:
        fig.legend(list(handles.values()), list(handles), loc="outside upper right", ncols=len(handles))
    return fig


_CLASSES = {
    "short": ("40 ms", plots.COLOURS["red"][0], "-"),
    "long": ("200 ms", plots.COLOURS["blue"][0], (0, (5, 1.5))),
}


@figure("queue-and-windows")
@plots.styled
def queue_and_windows(d: Drawing) -> Drawn:
    views_by_title = _frames(d, "buffer")
    if not views_by_title:
        return None
    n = len(views_by_title)
    fig, axes = plots.grid(3.4 * n, 4.2, 2, n, sharex=True)
    handles: dict[Any, Any] = {}
    for column, (title, frame) in zip(axes.T, views_by_title.items(), strict=True):
        runs, point, view = frame[0]
        t, q = view.probe("queue")
        column[0].plot(t, q, color=plots.INK, linewidth=0.6)
        column[0].set_title(title)
        for klass, (label, colour, line) in _CLASSES.items():
            times, w = mean_window(view, klass)
            handles[label] = column[1].plot(times, w, color=colour, linestyle=line, linewidth=1.1)[0]
        column[1].set_xlabel("time (s)")
        for ax in column:
            ax.margins(x=0.01)
        # The overshoot of slow start would flatten everything after it.
        highest = max(float(np.quantile(mean_window(view, k)[1], 0.9)) for k in _CLASSES)
        column[0].set_ylim(bottom=0)
        column[1].set_ylim(0, 1.3 * highest)
        # The source has the ratio of the two classes.
        for measure_name in ("cwnd", "cwnd_later"):
            published_ranges = ranges(d, runs, point, measure_name, "long", "short")
            short_window = MEASURES[measure_name].compute(view, "short")
            edge(
                column[1],
                [(low * short_window, high * short_window) for low, high in published_ranges],
                _CLASSES["long"][1],
            )
            for mark in legend(published_ranges).values():
                handles["mean of 200 ms, as published beside that of 40 ms"] = mark
    axes[0][0].set_ylabel("queue (packets)")
    axes[1][0].set_ylabel("mean window (packets)")
    fig.legend(list(handles.values()), list(handles), loc="outside upper right", ncols=3)
    return fig
