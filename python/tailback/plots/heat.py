"""A map over two parameters: a cell for each pair of values, its mean written in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tailback.plots.palette import INK
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
    (xname, xs), (yname, ys) = x, y
    fig, axes = grid(1.6 + n * max(2.4, 0.62 * len(xs)), 1.2 + max(1.6, 0.42 * len(ys)), 1, n, sharey=True)
    known = [v for _, values in panels for v in np.ravel(values) if np.isfinite(v)]
    if not known:
        nothing(axes[0][0], "nothing to draw: no point has a value")
        return fig
    low, high = min(known), max(known)
    image = None
    for ax, (name, values) in zip(axes[0], panels, strict=True):
        # From light to dark in equal steps for every eye, and in print.
        image = ax.imshow(values, origin="lower", aspect="auto", cmap="cividis", vmin=low, vmax=high)
        for (row, column), v in np.ndenumerate(values):
            if np.isfinite(v):
                dark = high > low and (v - low) / (high - low) < 0.5
                ax.text(column, row, f"{v:.3g}", ha="center", va="center", fontsize=7, color="white" if dark else INK)
        ax.set_xticks(range(len(xs)), list(xs))
        ax.set_yticks(range(len(ys)), list(ys))
        ax.grid(visible=False)
        ax.set_xlabel(xname)
        if name:
            ax.set_title(name)
    axes[0][0].set_ylabel(yname)
    if image is not None:
        fig.colorbar(image, ax=list(axes[0]), label=title)
    return fig
