"""Draws maps over two parameters. Each pair of values has a cell with its mean and its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch, Rectangle

from tailback.core.figure_style import GREY
from tailback.core.results.summary import number
from tailback.show.plots.fit import whole
from tailback.show.plots.style import Drawing, beside, grid, legend, nothing, small_type, styled

#: An interval is wide if half of it is more than this share of its mean; such a cell is hatched.
WIDE = 0.1
#: The colours of the text in cells. In dark mode they do not change, because the cells do not change either.
DARK_TEXT, LIGHT_TEXT = "#000000", "#fefefe"


@dataclass(frozen=True)
class Field:
    """A map: means by row of y and column of x, and half of their intervals; NaN leaves a cell empty."""

    title: str
    mean: np.ndarray
    half: np.ndarray | None = None


@styled
def heat(
    panels: Sequence[Field],
    x: tuple[str, Sequence[str]],
    y: tuple[str, Sequence[str]],
    title: str,
) -> Drawing:
    """Maps that share their axes (name, labels) and their scale, with its `title`.

    A cell has its mean and, if there is room, half of its 95 % interval. Hatched cells have a wide interval.
    """
    panels = [p for p in panels if np.isfinite(p.mean).any()] or panels[:1]
    n = max(len(panels), 1)
    (xname, xs), (yname, ys) = x, y
    columns = beside(n)
    if len(xs) > 4:
        columns = min(columns, 2) if len(xs) <= 6 else 1
    rows = math.ceil(n / columns)
    size = 1.6 + columns * max(2.4, 0.62 * len(xs)), rows * (1.2 + max(1.6, 0.42 * len(ys)))
    fig, frames = grid(*size, rows, columns, sharex=True, sharey=True)
    for ax in frames.flat[n:]:
        ax.set_axis_off()
    axes = list(frames.flat[:n])
    means = [v for p in panels for v in np.ravel(p.mean) if np.isfinite(v)]
    if not means:
        nothing(axes[0], "nothing to draw: no point has a value")
        return fig
    image, has_wide = None, False
    for i, (ax, panel) in enumerate(zip(axes, panels, strict=True)):
        # This colour map goes from light to dark in steps that look equal, also to the colour-blind and in print.
        image = ax.imshow(
            panel.mean, origin="lower", aspect="auto", cmap="cividis", vmin=min(means), vmax=max(means), zorder=1
        )
        has_wide |= _hatch(ax, panel, image)
        ax.set_xticks(range(len(xs)), list(xs))
        ax.set_yticks(range(len(ys)), list(ys))
        ax.grid(visible=False)
        if i + columns >= n:
            ax.set_xlabel(xname)
            ax.tick_params(labelbottom=True)
        if i % columns == 0:
            ax.set_ylabel(yname)
        if panel.title:
            ax.set_title(panel.title)
    assert image is not None
    fig.colorbar(image, ax=list(frames.flat), label=title, aspect=30, pad=0.02)
    if has_wide:
        handle = Patch(facecolor="none", edgecolor=GREY, hatch="///", linewidth=0.5)
        legend(fig, {f"interval wider than ±{100 * WIDE:g} % of the mean": handle}, "outside lower left")
    fig.draw_without_rendering()
    for ax, panel in zip(axes, panels, strict=True):
        _write(ax, panel, image)
    return fig


def _hatch(ax: Axes, panel: Field, image: Any) -> bool:
    if panel.half is None:
        return False
    with np.errstate(invalid="ignore"):
        is_wide = panel.half > WIDE * np.abs(panel.mean)
    for row, column in np.argwhere(is_wide):
        edge = _on(image.cmap(image.norm(panel.mean[row, column])))
        place = column - 0.5, row - 0.5
        ax.add_patch(Rectangle(place, 1, 1, fill=False, hatch="///", edgecolor=edge, linewidth=0, zorder=2))
    return bool(is_wide.any())


def _write(ax: Axes, panel: Field, image: Any) -> None:
    """Writes the means into their cells, and intervals below the means if all intervals fit."""
    rows, columns = panel.mean.shape
    frame = ax.get_window_extent()
    dots = whole(ax).dpi / 72
    width, height = frame.width / columns / dots, frame.height / rows / dots
    size, half_widths = small_type(), panel.half
    texts: dict[tuple[int, int], list[str]] = {}
    for cell, v in np.ndenumerate(panel.mean):
        if np.isfinite(v):
            h = math.nan if half_widths is None else float(half_widths[cell])
            texts[cell[0], cell[1]] = number(float(v), h, 3).split(" ") if h > 0 else [f"{v:.3g}"]
    longest = max((len(t) for lines in texts.values() for t in lines[:1]), default=0)
    longest_half = max((len(t) for lines in texts.values() for t in lines[1:]), default=0)
    letter = 0.62 * size
    if longest * letter > width or 1.25 * size > height:
        return
    both_fit = longest_half * letter <= width and 2.6 * size <= height
    for (row, column), lines in texts.items():
        colour = _on(image.cmap(image.norm(panel.mean[row, column])))
        is_wide = half_widths is not None and half_widths[row, column] > WIDE * abs(panel.mean[row, column])
        box = {"facecolor": image.cmap(image.norm(panel.mean[row, column])), "edgecolor": "none", "pad": 0.8}
        ax.text(
            column,
            row,
            "\n".join(lines) if both_fit else f"{panel.mean[row, column]:.3g}",
            ha="center",
            va="center",
            fontsize=size,
            linespacing=1.05,
            color=colour,
            bbox=box if is_wide else None,
            zorder=4,
        )


def luminance(colour: Any) -> float:
    """The relative luminance of a colour (WCAG 2.2)."""
    rgb = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]


def _on(cell: Any) -> str:
    """The text colour with more contrast to a cell."""
    return DARK_TEXT if (luminance(cell) + 0.05) ** 2 > 1.05 * 0.05 else LIGHT_TEXT
