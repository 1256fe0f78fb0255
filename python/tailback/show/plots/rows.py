"""Draws figures with a row for each point: boxes of the distribution of values, and means with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from tailback.core.figure_style import GREY, INK, PAPER
from tailback.show.plots.palette import look
from tailback.show.plots.style import Drawing, Numbers, grid, legend, named, nothing, styled

#: The whiskers of a box, percentiles.
WHISKERS = 5, 95


#: The setting for horizontal boxes, which has another name before matplotlib 3.10.
_LYING: dict[str, Any] = (
    {"orientation": "horizontal"} if "orientation" in signature(Axes.boxplot).parameters else {"vert": False}
)


@styled
def boxes(rows: Sequence[tuple[str, str, Numbers]], xlabel: str) -> Drawing:
    """A box for each (name of its look, title, values), from the top: quartiles, median, and whiskers from the 5th to
    the 95th percentile. Values outside are dots."""
    fig, axes = grid(6.4, 0.9 + 0.3 * max(len(rows), 4), shrinks=False)
    ax = axes[0][0]
    if not rows:
        nothing(ax, "nothing to draw: there are no values")
        return fig
    places = np.arange(len(rows))[::-1]
    for i, (place, (name, _, given)) in enumerate(zip(places, rows, strict=True)):
        colour = look(name, i).colour
        sample = np.asarray(given, float)
        ax.boxplot(
            [sample[np.isfinite(sample)]],
            positions=[place],
            **_LYING,
            whis=WHISKERS,
            widths=0.6,
            patch_artist=True,
            manage_ticks=False,
            boxprops={"facecolor": PAPER, "edgecolor": colour, "linewidth": 1.1},
            medianprops={"color": colour, "linewidth": 2.0},
            whiskerprops={"color": colour, "linewidth": 1.1},
            capprops={"color": colour, "linewidth": 1.1},
            flierprops={"marker": ".", "markersize": 2.5, "markeredgecolor": colour, "markerfacecolor": colour},
        )
    _name_rows(ax, [title for _, title, _ in rows])
    ax.set_xlabel(xlabel)
    left_limit, right_limit = ax.get_xlim()
    lowest = min((float(np.nanmin(v)) for _, _, v in rows if len(v)), default=0.0)
    if lowest >= 0 and left_limit < 0.5 * right_limit:
        ax.set_xlim(left=0.0)
    return fig


@styled
def means(
    rows: Sequence[tuple[str, Mapping[str, tuple[float, float]]]],
    xlabel: str,
    reference: float | None = None,
    legend_title: str = "",
) -> Drawing:
    """A row for each (title, mean and half of its interval by line), from the top; a mark for each line."""
    lines = list(dict.fromkeys(name for _, values in rows for name in values))
    fig, axes = grid(6.4, 0.9 + 0.26 * max(len(rows), 4), shrinks=False)
    ax = axes[0][0]
    if not rows:
        nothing(ax, "nothing to draw: no point has a value")
        return fig
    places = np.arange(len(rows))[::-1]
    handles: dict[str, Any] = {}
    for i, name in enumerate(lines):
        row_look = look(name, i)
        shift = 0.16 * ((len(lines) - 1) / 2 - i) if len(lines) > 1 else 0.0
        points = [values.get(name, (np.nan, np.nan)) for _, values in rows]
        half_widths = np.nan_to_num([h for _, h in points])
        handles[named(name)] = ax.errorbar(
            [m for m, _ in points],
            places + shift,
            xerr=half_widths,
            fmt=row_look.marker,
            color=row_look.colour,
            elinewidth=1.1,
            capsize=2,
            zorder=3,
        )
    if reference is not None:
        ax.axvline(reference, color=GREY, linewidth=0.9, linestyle=(0, (2, 2)), zorder=1)
    _name_rows(ax, [title for title, _ in rows])
    ax.set_xlabel(xlabel)
    smallest = min((m for _, values in rows for m, _ in values.values() if np.isfinite(m)), default=0.0)
    if smallest >= 0:
        ax.set_xlim(left=0.0)
    if len(lines) > 1:
        legend(fig, handles, "outside upper right", title=legend_title)
    return fig


def _name_rows(ax: Any, titles: Sequence[str]) -> None:
    ax.set_yticks(np.arange(len(titles))[::-1], titles)
    ax.tick_params(axis="y", length=0, labelcolor=INK)
    ax.grid(axis="y", visible=False)
    ax.set_ylim(-0.7, len(titles) - 0.3)
