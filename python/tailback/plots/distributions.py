"""Empirical distributions: the share of values that are at most x, a line each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tailback.plots.palette import look
from tailback.plots.style import Drawing, Numbers, grid, named, nothing, styled


@styled
def distributions(lines: Sequence[tuple[str, str, Numbers]], xlabel: str, why_none: str = "") -> Drawing:
    """A step function for each (name of its look, label, values); NaN is left out."""
    fig, axes = grid(6.4, 3.3)
    ax = axes[0][0]
    drawn = 0
    for i, (name, label, given) in enumerate(lines):
        values = np.sort(np.asarray(given, float))
        values = values[np.isfinite(values)]
        if not len(values):
            continue
        k = look(name, i)
        share = np.arange(1, len(values) + 1) / len(values)
        ax.step([values[0], *values], [0.0, *share], where="post", color=k.colour, linestyle=k.line, label=named(label))
        drawn += 1
    if not drawn:
        nothing(ax, why_none or "nothing to draw: there are no values")
        return fig
    ax.set_ylim(0, 1.02)
    ax.set_xlabel(xlabel)
    ax.set_ylabel("share of values at most")
    fig.legend(loc="outside right center", handlelength=2.6)
    return fig
