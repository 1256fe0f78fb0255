"""Draws queues and recorded series against time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tailback.core.figure_style import COLOURS, GREY
from tailback.show.plots import published
from tailback.show.plots.palette import look
from tailback.show.plots.style import Drawing, Numbers, grid, legend, named, nothing, styled


@styled
def queue_against_time(
    t: Numbers,
    queue: Numbers,
    buffer: float | None = None,
    model: tuple[Numbers, Numbers] | None = None,
    zoom: tuple[float, float] | None = None,
    model_label: str = "model",
    stars: Sequence[tuple[float, float]] = (),
) -> Drawing:
    """A queue over the whole run, and below it an enlarged part of the run with a model over the queue.

    `stars` are published pairs (time, level), which are drawn with the model.
    """
    times, levels = np.asarray(t, float), np.asarray(queue, float)
    if not len(times):
        return series([], "queue (packets)")
    spans = [(float(times[0]), float(times[-1])), *([zoom] if zoom is not None else [])]
    rows = len(spans)
    fig, axes = grid(6.8, 2.4 if rows == 1 else 4.4, rows, 1, sharey=True)
    handles: dict[str, Any] = {}
    for i, (ax, span) in enumerate(zip(axes[:, 0], spans, strict=True)):
        keep = (times >= span[0]) & (times <= span[1])
        handles["simulation"] = ax.plot(
            times[keep], levels[keep], color=COLOURS["blue"][0], linewidth=0.8 if i == 0 and rows > 1 else 1.1
        )[0]
        if model is not None and (i == rows - 1):
            mt, ml = np.asarray(model[0], float), np.asarray(model[1], float)
            handles[model_label] = ax.plot(mt, ml, color=COLOURS["red"][0], linestyle=(0, (5, 1.5)), linewidth=1.5)[0]
            for x, level in stars:
                published.star(ax, x, level, COLOURS["red"][0])
                handles |= published.handles([(level, level)])
        if buffer is not None:
            handles[f"buffer, {buffer:g} packets"] = ax.axhline(
                buffer, color=GREY, linewidth=0.9, linestyle=(0, (2, 2))
            )
        ax.set_xlim(*span)
        ax.set_ylim(bottom=0)
        ax.set_ylabel("queue (packets)")
        if rows > 1:
            ax.set_title("whole run" if i == 0 else f"{span[0]:.0f} s to {span[1]:.0f} s")
    axes[-1, 0].set_xlabel("time (s)")
    legend(fig, handles, "outside upper right")
    return fig


@styled
def series(
    lines: Sequence[tuple[str, Numbers, Numbers]],
    ylabel: str,
    steps: bool = False,
    names: Sequence[str] = (),
    halves: Sequence[Numbers | None] = (),
    legend_title: str = "",
    why_none: str = "nothing to draw: nothing was recorded",
) -> Drawing:
    """Recorded series against time: (label, times, values). More than eight series are drawn thin, without names.

    `names` are the disciplines whose colours the lines have. `halves` are the half-widths of the values' intervals, for
    a band.
    """
    has_many = len(lines) > 8
    fig, axes = grid(6.8, 2.9)
    ax = axes[0][0]
    for i, (label, t, v) in enumerate(lines):
        curve_look = look(names[i] if i < len(names) else "", i)
        ax.plot(
            t,
            v,
            color=curve_look.colour,
            linestyle="-" if has_many else curve_look.line,
            linewidth=0.5 if has_many else 1.1,
            alpha=0.6 if has_many else 1.0,
            label=named(label),
            drawstyle="steps-post" if steps else "default",
        )
        if not has_many and i < len(halves) and halves[i] is not None:
            heights, half = np.asarray(v, float), np.nan_to_num(np.asarray(halves[i], float))
            lower = heights - half if np.nanmin(heights) < 0 else np.maximum(heights - half, 0.0)
            ax.fill_between(t, lower, heights + half, color=curve_look.colour, alpha=0.16, linewidth=0)
    if not any(len(t) for _, t, _ in lines):
        nothing(ax, why_none)
    ax.set_xlabel("time (s)")
    ax.set_ylabel(ylabel)
    ax.margins(x=0.01)
    if len(lines) > 1 and not has_many:
        legend(fig, {str(x.get_label()): x for x in ax.lines}, "outside upper left", most=3, title=legend_title)
    elif has_many:
        ax.set_title(f"{len(lines)} series", color=GREY, fontweight="normal")
    return fig
