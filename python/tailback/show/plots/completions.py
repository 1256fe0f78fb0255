"""Draws completion times against size, and as distributions by class of sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from tailback.core.figure_style import GREY
from tailback.core.results.columns import column
from tailback.show.plots.palette import look
from tailback.show.plots.style import Drawing, Numbers, grid, nothing, sheet, styled

#: The drawn quantity.
TIME = column("transfers", "completion_s").title
#: The most points of the picture; more points are thinned evenly. Distributions count all.
MOST_POINTS = 20_000


@dataclass(frozen=True)
class Completions:
    """The transfers of one group: sizes in bytes, and completion times in seconds; NaN for unfinished transfers."""

    title: str
    sizes: Numbers
    times: Numbers
    #: Classes of sizes: the name, the bound above which sizes are, and the largest size.
    classes: Sequence[tuple[str, float, float]]


@styled
def completions(panels: Sequence[Completions], why_none: str = "nothing to draw: nothing was asked for") -> Drawing:
    """A row for each of `panels`: completion times against sizes on the left, with the median of each class as a bar;
    on the right the share of each class that was completed within a time. Unfinished transfers keep this share below
    one."""
    rows = max(len(panels), 1)
    columns = 1 if sheet().width else 2
    fig, axes = grid(7.4, 0.3 + 2.6 * rows * 2 / columns, rows * 2 // columns, columns)
    axes = axes.reshape(rows, 2)
    if not panels:
        for ax in axes[0]:
            nothing(ax, why_none)
        return fig
    for (size_ax, share_ax), panel in zip(axes, panels, strict=True):
        sizes, times = np.asarray(panel.sizes, float), np.asarray(panel.times, float)
        is_done = np.isfinite(times)
        if not is_done.any():
            for ax in (size_ax, share_ax):
                nothing(ax, "nothing to draw: nothing was completed")
            size_ax.set_title(panel.title)
            continue
        rows_shown = np.flatnonzero(is_done)[:: 1 + int(is_done.sum()) // MOST_POINTS]
        size_ax.scatter(
            sizes[rows_shown], times[rows_shown], s=3, color=GREY, alpha=0.45, linewidths=0, zorder=2, rasterized=True
        )
        for i, (name, more_than, at_most) in enumerate(panel.classes):
            in_class = (sizes > more_than) & (sizes <= at_most)
            if not (in_class & is_done).any():
                continue
            class_look = look("", i)
            ends = [max(more_than, sizes[in_class].min()), min(at_most, sizes[in_class].max())]
            if ends[0] == ends[1]:
                ends = [ends[0] / 1.2, ends[1] * 1.2]
            size_ax.plot(
                ends, [np.median(times[in_class & is_done])] * 2, color=class_look.colour, linewidth=2.2, zorder=3
            )
            x = np.sort(times[in_class & is_done])
            share = np.arange(1, len(x) + 1) / in_class.sum()
            label = f"{name} ({int(in_class.sum()):,})"
            share_ax.step(
                np.concatenate([x[:1], x]),
                np.concatenate([[0.0], share]),
                where="post",
                color=class_look.colour,
                linestyle=class_look.line,
                label=label,
            )
        for ax in (size_ax, share_ax):
            ax.set_xscale("log")
        size_ax.set_yscale("log")
        _decades(size_ax, "x", _bytes)
        _decades(size_ax, "y", _seconds)
        _decades(share_ax, "x", _seconds)
        size_ax.set(title=panel.title, xlabel="size", ylabel=TIME)
        share_ax.set(xlabel=TIME, ylabel="share completed", ylim=(0, 1.02))
        # The legend is beside or below the frame, because curves of a distribution fill the whole frame.
        legend_place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)}
        if columns == 1:
            legend_place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.32), "ncols": 2, "columnspacing": 1.0}
        share_ax.legend(handlelength=2.4, **legend_place)
    return fig


def _decades(ax: Axes, which: Literal["x", "y"], words: Callable[[float], str]) -> None:
    """Ticks at powers of ten, in words; at least two, so that a scale can be read."""
    axis = ax.xaxis if which == "x" else ax.yaxis
    least, most = np.log10(axis.get_view_interval())
    if np.floor(most) - np.ceil(least) < 1:
        limits = 10.0 ** np.floor(least), 10.0 ** max(np.ceil(most), np.floor(least) + 1)
        (ax.set_xlim if which == "x" else ax.set_ylim)(*limits)
    axis.set_major_locator(LogLocator(10, numticks=9))
    axis.set_major_formatter(FuncFormatter(lambda v, _: words(v)))
    axis.set_minor_formatter(NullFormatter())


def in_decades(ax: Axes, which: Literal["x", "y"]) -> None:
    """Makes an axis logarithmic, with ticks of seconds in words."""
    _decades(ax, which, _seconds)


def in_bytes(ax: Axes) -> None:
    """Makes an axis logarithmic, with ticks of bytes in words."""
    _decades(ax, "x", _bytes)


def _scaled(v: float, steps: Sequence[tuple[float, str]]) -> str:
    factor, unit = next(((f, u) for f, u in steps if v >= f * 0.999), steps[-1])
    return f"{v / factor:g} {unit}"


def _bytes(v: float) -> str:
    return _scaled(v, ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")))


def _seconds(v: float) -> str:
    return _scaled(v, ((1.0, "s"), (1e-3, "ms"), (1e-6, "\u00b5s")))
