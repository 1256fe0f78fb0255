"""Draws empirical distributions: the share of values that are at most x, one line for each distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailback.core.figure_style import GREY
from tailback.show.plots.completions import in_decades
from tailback.show.plots.palette import look
from tailback.show.plots.style import Drawing, Numbers, grid, legend, named, nothing, styled


@dataclass(frozen=True)
class Cumulative:
    """A computed distribution: for each `x` the share of values that are at most `x`, and half of its interval over
    seeds."""

    name: str
    label: str
    x: Numbers
    share: Numbers
    half: Numbers | None = None


@styled
def cumulative(
    lines: Sequence[Cumulative], xlabel: str, of: str = "values", seconds: bool = False, legend_title: str = ""
) -> Drawing:
    """Distributions with the bands of their intervals; `seconds` puts times on a log axis."""
    fig, axes = grid(6.4, 3.3)
    ax = axes[0][0]
    handles: dict[str, Any] = {}
    for i, curve in enumerate(lines):
        k = look(curve.name, i)
        x, share = np.asarray(curve.x, float), np.asarray(curve.share, float)
        if curve.half is not None and np.any(np.nan_to_num(curve.half) > 0):
            h = np.nan_to_num(np.asarray(curve.half, float))
            lower, upper = np.clip(share - h, 0, 1), np.clip(share + h, 0, 1)
            ax.fill_between(x, lower, upper, color=k.colour, alpha=0.16, linewidth=0, zorder=2)
        handles[named(curve.label)] = ax.plot(x, share, color=k.colour, linestyle=k.line, zorder=3)[0]
    if not lines:
        nothing(ax, "nothing to draw: there are no values")
        return fig
    if seconds:
        ax.set_xscale("log")
        in_decades(ax, "x")
    else:
        ax.set_xlim(left=min(0.0, ax.get_xlim()[0]) if ax.get_xlim()[0] < 0.5 * ax.get_xlim()[1] else None)
    ax.set_ylim(0, 1.02)
    ax.set(xlabel=xlabel, ylabel=f"share of {of} at most")
    if len(handles) > 1:
        legend(fig, handles, "outside right center", title=legend_title)
    return fig


@styled
def distributions(
    lines: Sequence[tuple[str, str, Numbers]],
    xlabel: str,
    why_none: str = "",
    seconds: bool = False,
    aside: tuple[float, str] | None = None,
    of: str = "values",
    legend_title: str = "",
) -> Drawing:
    """A step function for each (name of its look, label, values); NaN is left out.

    With `seconds` the values are times on a log axis. `aside` is a value to compare with; values below a thousandth of
    it are drawn at the left edge.
    """
    fig, axes = grid(6.4, 3.3)
    ax = axes[0][0]
    curves = 0
    positive = [v for _, _, given in lines for v in np.asarray(given, float) if np.isfinite(v) and v > 0]
    least = max(min(positive, default=1e-6), aside[0] / 1000 if aside else 0.0) if seconds else -np.inf
    for i, (name, label, given) in enumerate(lines):
        sorted_values = np.sort(np.asarray(given, float))
        sorted_values = np.maximum(sorted_values[np.isfinite(sorted_values)], least)
        if not len(sorted_values):
            continue
        curve_look = look(name, i)
        share = np.arange(1, len(sorted_values) + 1) / len(sorted_values)
        ax.step(
            [sorted_values[0], *sorted_values],
            [0.0, *share],
            where="post",
            color=curve_look.colour,
            linestyle=curve_look.line,
            label=named(label),
        )
        curves += 1
    if not curves:
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
    handles = {str(x.get_label()): x for x in ax.lines if not str(x.get_label()).startswith("_")}
    if len(handles) > 1:
        legend(fig, handles, "outside right center", title=legend_title)
    return fig
