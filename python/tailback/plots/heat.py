"""A map over two parameters: a cell for each pair of values, its mean written in it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tailback.figure_style import INK
from tailback.plots.style import Drawing, grid, nothing, styled


@styled
def heat(
    panels: Sequence[tuple[str, np.ndarray]],
    x: tuple[str, Sequence[str]],
    y: tuple[str, Sequence[str]],
    title: str,
) -> Drawing:
    """Maps that share their axes (name, labels) and their scale; each is (title, values by row of y and column of x).

    NaN leaves a cell empty.
    """
    n = max(len(panels), 1)
    columns = n if n <= 3 else 2 if n == 4 else 3
    rows = math.ceil(n / columns)
    (xname, xs), (yname, ys) = x, y
    width, height = 1.6 + columns * max(2.4, 0.62 * len(xs)), rows * (1.2 + max(1.6, 0.42 * len(ys)))
    fig, frames = grid(width, height, rows, columns, sharex=True, sharey=True)
    for ax in frames.flat[n:]:
        ax.set_axis_off()
    axes = list(frames.flat[:n])
    known = [v for _, values in panels for v in np.ravel(values) if np.isfinite(v)]
    if not known:
        nothing(axes[0], "nothing to draw: no point has a value")
        return fig
    low, high = min(known), max(known)
    image = None
    for i, (ax, (name, values)) in enumerate(zip(axes, panels, strict=True)):
        # From light to dark in equal steps for every eye, and in print.
        image = ax.imshow(values, origin="lower", aspect="auto", cmap="cividis", vmin=low, vmax=high)
        for (row, column), v in np.ndenumerate(values):
            if np.isfinite(v):
                dark = high > low and (v - low) / (high - low) < 0.5
                ax.text(column, row, f"{v:.3g}", ha="center", va="center", fontsize=7, color="white" if dark else INK)
        ax.set_xticks(range(len(xs)), list(xs))
        ax.set_yticks(range(len(ys)), list(ys))
        ax.grid(visible=False)
        if i + columns >= n:
            ax.set_xlabel(xname)
            ax.tick_params(labelbottom=True)
        if i % columns == 0:
            ax.set_ylabel(yname)
        if name:
            ax.set_title(name)
    if image is not None:
        fig.colorbar(image, ax=list(frames.flat), label=title)
    return fig
