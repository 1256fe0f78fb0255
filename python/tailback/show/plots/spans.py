"""Draws quantiles: each row has a bar from the median to the 99th percentile, with a mark at each end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, NullFormatter

from tailback.core.figure_style import GREY, INK
from tailback.show.plots.completions import in_decades
from tailback.show.plots.palette import look
from tailback.show.plots.style import Drawing, grid, legend, nothing, styled


@styled
def spans(
    rows: Sequence[tuple[str, float, float, float]],
    xlabel: str,
    aside: tuple[float, str] | None = None,
    seconds: bool = True,
) -> Drawing:
    """A row for each (name, median, 95th and 99th percentile), from the top, in seconds or without a unit; `aside` is a
    line to compare with."""
    fig, axes = grid(6.8, 0.9 + 0.26 * max(len(rows), 4), shrinks=False)
    ax = axes[0][0]
    if not rows:
        nothing(ax, "nothing to draw: no discipline")
        return fig
    positions = np.arange(len(rows))[::-1]
    percentiles = np.array([row[1:] for row in rows], float)
    # Values of zero are drawn at the left edge.
    least = max(float(percentiles[percentiles > 0].min()) if (percentiles > 0).any() else 1e-6, 1e-9)
    percentiles = np.maximum(percentiles, least)
    for place, (name, *_), (p50, p95, p99) in zip(positions, rows, percentiles, strict=True):
        colour = look(name, len(rows) - 1 - int(place)).colour
        ax.plot([p50, p99], [place, place], color=colour, linewidth=3.2, alpha=0.45, solid_capstyle="butt", zorder=2)
        ax.plot([p50], [place], "o", color=colour, markersize=6, zorder=3)
        ax.plot([p95], [place], "|", color=colour, markersize=9, markeredgewidth=1.6, zorder=3)
        ax.plot([p99], [place], "D", color=colour, markersize=4.5, zorder=3)
    handles: dict[str, Any] = {}
    for marker, title in (("o", "median"), ("|", "95 %"), ("D", "99 %")):
        handles[title] = ax.plot([], [], marker, color=INK, markersize=5)[0]
    if aside is not None:
        handles[aside[1]] = ax.axvline(aside[0], color=GREY, linewidth=0.9, linestyle=(0, (2, 2)))
    ax.set_xscale("log")
    if seconds:
        in_decades(ax, "x")
    else:
        ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
        ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_yticks(positions, [row[0] for row in rows])
    ax.tick_params(axis="y", length=0, labelcolor=INK)
    ax.set_ylim(-0.7, len(rows) - 0.3)
    ax.set_xlabel(xlabel)
    legend(fig, handles, "outside upper right")
    return fig
