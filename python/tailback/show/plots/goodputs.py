"""Draws goodputs with one bar for each flow, and one panel for each discipline."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np

from tailback.core.figure_style import INK
from tailback.show.plots import published
from tailback.show.plots.palette import look
from tailback.show.plots.style import Drawing, Numbers, beside, grid, legend, named, nothing, styled

#: From the first number of bars on, the bars are drawn as one shape with at most the second number of steps, which
#: looks the same.
MANY, MOST_STEPS = 200, 2000
#: The most flows whose bars have numbers.
MOST_NUMBERED = 12


def _bars(ax: Any, first: int, values: Numbers, colour: str, width: float = 1.0) -> Any:
    """Draws a bar for each value, at positions from `first` on."""
    n, look = len(values), {"alpha": 0.8, "linewidth": 0}
    if n < MANY:
        return ax.bar(np.arange(first, first + n), values, width=width, color=colour, **look)
    edges = np.unique(np.linspace(0, n, MOST_STEPS + 1).astype(int))
    # A step has the middle one of its values.
    heights = np.asarray(values)[(edges[:-1] + edges[1:]) // 2]
    return ax.stairs(heights, edges + first - 0.5, fill=True, color=colour, **look)


@styled
def goodput_bars(
    groups: Sequence[tuple[str, str, Numbers]],
    fair_share: float,
    unit: str = "Mb/s",
    published_spreads: Sequence[Sequence[tuple[float, float]]] = (),
    called: str = "fair share",
) -> Drawing:
    """One panel for each discipline (name, title, goodputs), with a sorted bar for each flow, and a line at the fair
    share.

    `published_spreads` has ranges of published standard deviations for each panel. Strips show the place of a flow that
    is one standard deviation above or below the mean.
    """
    n = len(groups)
    if not any(len(values) for _, _, values in groups):
        fig, axes = grid(6.8, 2.9)
        nothing(axes[0][0], "nothing to draw: no flow")
        return fig
    columns = beside(n)
    rows = math.ceil(n / columns)
    fig, axes = grid(2.3 * columns + 0.5, 1.65 * rows + 0.5, rows, columns, sharex=True, sharey=True)
    for i, ax in enumerate(axes.flat):
        if i >= n:
            ax.set_axis_off()
            continue
        name, title, values = groups[i]
        x = np.sort(np.asarray(values, float))
        _bars(ax, 1, x, look(name, i).colour)
        ax.axhline(fair_share, color=INK, linewidth=0.9, linestyle=(0, (4, 2)))
        for low, high in published_spreads[i] if i < len(published_spreads) else ():
            mean = float(np.mean(x))
            published.strip(ax, mean + low, mean + high, INK)
            published.strip(ax, mean - high, mean - low, INK)
        ax.set_title(title)
        ax.margins(x=0.01)
        if i % columns == 0:
            ax.set_ylabel(f"goodput ({unit})")
        if i + columns >= n:
            ax.set_xlabel("flow, by goodput")
            ax.tick_params(labelbottom=True)
    line = matplotlib.lines.Line2D([], [], color=INK, linewidth=0.9, linestyle=(0, (4, 2)))
    handles = {f"{called}, {fair_share:.3g} {unit}": line}
    if any(published_spreads):
        handles["one standard deviation from the mean, as published"] = published.handles([(0, 1)]).popitem()[1]
    legend(fig, handles, "outside upper right", most=2)
    return fig


@styled
def goodputs_by_kind(
    panels: Sequence[tuple[str, Mapping[str, Numbers]]],
    fair_share: float,
    unit: str = "Mb/s",
    called: str = "fair share",
) -> Drawing:
    """One panel for each discipline (title, goodputs of each kind of flow), with a bar for each flow in the colour of
    its kind, and a line at the fair share."""
    columns = beside(len(panels))
    rows = math.ceil(len(panels) / columns)
    fig, axes = grid(2.3 * columns + 0.5, 2.1 * rows + 0.4, rows, columns, sharex=True, sharey=True)
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    handles: dict[str, Any] = {}
    for ax, (title, kinds) in zip(list(axes.flat), panels, strict=False):
        first_x = 1
        for i, (kind, values) in enumerate(kinds.items()):
            x = np.sort(np.asarray(values, float))
            handles[named(kind)] = _bars(ax, first_x, x, look("", i).colour, 0.8)
            first_x += len(x)
        handles[f"{called}, {fair_share:.3g} {unit}"] = ax.axhline(
            fair_share, color=INK, linewidth=0.9, linestyle=(0, (4, 2))
        )
        ax.set_title(title)
        ax.set_xlabel("flow")
        if first_x <= MOST_NUMBERED:
            ax.set_xticks(range(1, first_x))
        ax.grid(axis="x", visible=False)
    for row in axes:
        row[0].set_ylabel(f"goodput ({unit})")
    legend(fig, handles, "outside lower left")
    return fig
