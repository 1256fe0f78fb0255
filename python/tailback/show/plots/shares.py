"""Draws the share of each class of flows under each discipline, with a row for each discipline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tailback.core.figure_style import GREY, INK
from tailback.core.stats import ci95
from tailback.show.plots.palette import look
from tailback.show.plots.style import Drawing, Numbers, grid, legend, named, nothing, styled


@styled
def shares(rows: Sequence[tuple[str, Sequence[Numbers]]], classes: Sequence[str]) -> Drawing:
    """A row for each (title, values of each class over seeds, in fair shares), from the top; a line at one fair share.

    Marks are means, and the bars behind them are 95 % intervals.
    """
    fig, axes = grid(6.8, 0.9 + 0.19 * max(len(rows), 8), shrinks=False)
    ax = axes[0][0]
    if not rows:
        nothing(ax, "nothing to draw: no discipline")
        return fig
    positions = np.arange(len(rows))[::-1]
    handles: dict[str, Any] = {}
    for i, title in enumerate(classes):
        shares_of_kind = [np.asarray(v[i], float) for _, v in rows]
        mean = np.array([v.mean() for v in shares_of_kind])
        half_widths = np.array([ci95(v) if len(v) > 1 else 0.0 for v in shares_of_kind])
        k = look("", i)
        handles[named(title)] = ax.errorbar(
            mean,
            positions,
            xerr=half_widths,
            fmt=k.marker,
            color=k.colour,
            elinewidth=1.0,
            markersize=4.5,
            zorder=3,
        )
    handles["fair share"] = ax.axvline(1.0, color=INK, linewidth=0.9, linestyle=(0, (4, 2)))
    ax.set_yticks(positions, [title for title, _ in rows])
    ax.tick_params(axis="y", length=0, labelcolor=INK)
    ax.grid(axis="y", color=GREY, alpha=0.25)
    ax.set_xlim(left=0)
    ax.set_ylim(-0.7, len(rows) - 0.3)
    ax.set_xlabel("goodput (fair shares)")
    legend(fig, handles, "outside upper right")
    return fig
