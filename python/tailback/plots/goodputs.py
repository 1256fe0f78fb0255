"""Sorted goodputs: every flow a bar, one panel a discipline."""

from __future__ import annotations

import math
from collections.abc import Sequence

import matplotlib
import numpy as np

from tailback.plots.palette import INK, look
from tailback.plots.style import Drawing, Numbers, grid, nothing, styled


@styled
def goodput_bars(groups: Sequence[tuple[str, str, Numbers]], fair_share: float, unit: str = "Mbit/s") -> Drawing:
    """One panel a discipline (name, title, goodputs): every flow a bar, sorted, and a line at the fair share."""
    n = len(groups)
    if not any(len(values) for _, _, values in groups):
        fig, axes = grid(6.8, 2.9)
        nothing(axes[0][0], "nothing to draw: no flow")
        return fig
    columns = 1 if n == 1 else 2 if n in (2, 4) else 3
    rows = math.ceil(n / columns)
    fig, axes = grid(2.3 * columns + 0.5, 1.65 * rows + 0.5, rows, columns, sharex=True, sharey=True)
    for i, ax in enumerate(axes.flat):
        if i >= n:
            ax.set_axis_off()
            continue
        name, title, values = groups[i]
        x = np.sort(np.asarray(values, float))
        ax.bar(np.arange(1, len(x) + 1), x, width=1.0, color=look(name, i).colour, alpha=0.8, linewidth=0)
        ax.axhline(fair_share, color=INK, linewidth=0.9, linestyle=(0, (4, 2)))
        ax.set_title(title)
        ax.margins(x=0.01)
        if i % columns == 0:
            ax.set_ylabel(f"goodput ({unit})")
        if i + columns >= n:
            ax.set_xlabel("flow, by goodput")
            ax.tick_params(labelbottom=True)
    line = matplotlib.lines.Line2D([], [], color=INK, linewidth=0.9, linestyle=(0, (4, 2)))
    fig.legend([line], [f"fair share, {fair_share:g} {unit}"], loc="outside upper right")
    return fig
