"""Empirical distributions: the share of values that are at most x, a line each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tailback.figure_style import GREY
from tailback.plots.completions import in_decades
from tailback.plots.palette import look
from tailback.plots.style import Drawing, Numbers, grid, named, nothing, styled


@styled
def distributions(
    lines: Sequence[tuple[str, str, Numbers]],
    xlabel: str,
    why_none: str = "",
    seconds: bool = False,
    aside: tuple[float, str] | None = None,
    of: str = "values",
) -> Drawing:
    """A step function for each (name of its look, label, values); NaN is left out.

    With `seconds` values are times on a log axis; `aside` is a value to compare with, and what is below a thousandth of
    it stands at the left edge.
    """
    fig, axes = grid(6.4, 3.3)
    ax = axes[0][0]
    drawn = 0
    positive = [v for _, _, given in lines for v in np.asarray(given, float) if np.isfinite(v) and v > 0]
    least = max(min(positive, default=1e-6), aside[0] / 1000 if aside else 0.0) if seconds else -np.inf
    for i, (name, label, given) in enumerate(lines):
        values = np.sort(np.asarray(given, float))
        values = np.maximum(values[np.isfinite(values)], least)
        if not len(values):
            continue
        k = look(name, i)
        share = np.arange(1, len(values) + 1) / len(values)
        ax.step([values[0], *values], [0.0, *share], where="post", color=k.colour, linestyle=k.line, label=named(label))
        drawn += 1
    if not drawn:
        nothing(ax, why_none or "nothing to draw: there are no values")
        return fig
    if aside is not None:
        ax.axvline(aside[0], color=GREY, linewidth=0.9, linestyle=(0, (2, 2)), label=aside[1])
    if seconds:
        ax.set_xscale("log")
        in_decades(ax, "x")
    ax.set_ylim(0, 1.02)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(f"share of {of} at most")
    fig.legend(loc="outside right center", handlelength=2.6)
    return fig
