"""Draws curves over a parameter, with bands for their confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from tailback.core.figure_style import GREY
from tailback.core.text.arguments import checked
from tailback.show.plots.completions import in_decades
from tailback.show.plots.palette import look
from tailback.show.plots.published import Published
from tailback.show.plots.published import draw as draw_published
from tailback.show.plots.published import handles as legend_of
from tailback.show.plots.style import Drawing, Numbers, beside, grid, legend, named, nothing, styled


@dataclass(frozen=True)
class Curve:
    """A line: values over x, each with the half-width of its interval. NaN or None gives no band."""

    name: str
    label: str
    x: Numbers
    y: Numbers
    half: Numbers | None = None


@dataclass(frozen=True)
class Panel:
    """Curves in one frame."""

    curves: Sequence[Curve]
    title: str = ""
    #: The label of the panel's axis, if panels show different quantities; without one, the figure's label is used.
    ylabel: str = ""
    #: Published values of a source.
    published: Sequence[Published] = ()


@styled
def curves(
    panels: Sequence[Panel],
    xlabel: str,
    ylabel: str,
    *,
    log_x: bool = True,
    y: Literal["shared", "own", "seconds"] = "shared",
    reference: tuple[float, str] | None = None,
    limits: tuple[float, float] | None = None,
    signed: bool = False,
    legend_title: str = "",
) -> Drawing:
    """Curves with bands, in one panel or in several panels that share their x axis. The legend is on the right.

    More than three panels are arranged in rows. A panel without any value is left out. The panels share their y axis,
    or each has its `own`, which different quantities need; `seconds` is a shared log axis of times. Bands go below zero
    only if the quantity is `signed`.
    """
    panels = [p for p in panels if _has_value(p)] or panels[:1]
    n = len(panels)
    columns = beside(n)
    rows = math.ceil(n / columns)
    size = (6.4, 3.3) if n == 1 else (3.1 * columns + 1.3, 3.3 if rows == 1 else 2.6 * rows)
    fig, frames = grid(*size, rows, columns, sharey=y != "own", sharex=True)
    for ax in frames.flat[n:]:
        ax.set_axis_off()
    axes = list(frames.flat[:n])
    xs = sorted({float(x) for p in panels for curve in p.curves for x in curve.x})
    handles: dict[str, Any] = {}
    for ax, panel in zip(axes, panels, strict=True):
        for i, curve in enumerate(panel.curves):
            curve_look = look(curve.name, i)
            order = np.argsort(np.asarray(curve.x, float))
            curve_xs, curve_ys = np.asarray(curve.x, float)[order], np.asarray(curve.y, float)[order]
            finite = np.where(np.isfinite(curve_ys), curve_ys, np.nan)
            curve_line = ax.plot(
                curve_xs,
                finite,
                color=curve_look.colour,
                marker=curve_look.marker,
                linestyle=curve_look.line,
                markeredgecolor="white",
                markeredgewidth=0.4,
                label=named(curve.label),
                zorder=3,
            )[0]
            handles.setdefault(named(curve.label), curve_line)
            if curve.half is not None:
                h = np.nan_to_num(np.asarray(curve.half, float)[order])
                if np.any(h > 0):
                    lower = finite - h if signed or np.nanmin(finite) < 0 else np.maximum(finite - h, 0.0)
                    ax.fill_between(
                        curve_xs, lower, finite + h, color=curve_look.colour, alpha=0.16, linewidth=0, zorder=2
                    )
            if limits is not None and len(xs_beyond := curve_xs[~np.isnan(curve_ys) & (curve_ys > limits[1])]):
                # Values above the frame are marked at its upper edge.
                ax.plot(
                    xs_beyond,
                    np.full(len(xs_beyond), limits[1]),
                    linestyle="none",
                    marker=curve_look.marker,
                    color=curve_look.colour,
                    markerfacecolor="none",
                    clip_on=False,
                    zorder=4,
                )
        if reference is not None:
            ax.axhline(reference[0], color=GREY, linewidth=0.9, linestyle=(0, (2, 2)), zorder=1)
        if panel.title:
            ax.set_title(panel.title)
        if log_x and xs:
            ax.set_xscale("log")
            _plain_log(ax, xs)
        if limits is not None:
            ax.set_ylim(*limits)
        draw_published(ax, panel.published, {curve.name: curve.label for curve in panel.curves})
    for i, (ax, panel) in enumerate(zip(axes, panels, strict=True)):
        if i + columns >= n:
            ax.set_xlabel(f"{xlabel}, log scale" if log_x and len(xs) > 1 else xlabel)
            ax.tick_params(labelbottom=True)
        if panel.ylabel or i % columns == 0:
            ax.set_ylabel(panel.ylabel or ylabel)
        if not _has_value(panel):
            nothing(ax, "nothing to draw: no point has a value")
    if y == "seconds":
        for ax in axes:
            ax.set_yscale("log")
            in_decades(ax, "y")
    elif limits is None and xs and not signed:
        for ax, sharing in zip(axes, [[p] for p in panels], strict=True) if y == "own" else [(axes[0], panels)]:
            _from_zero(ax, sharing)
    if reference is not None:
        handles[reference[1]] = matplotlib.lines.Line2D([], [], color=GREY, linewidth=0.9, linestyle=(0, (2, 2)))
    handles |= legend_of((x.low, x.high) for p in panels for x in p.published)
    if len(handles) > 1 or any(handles):
        legend(fig, handles, "outside right center", title=legend_title)
    return fig


def _has_value(panel: Panel) -> bool:
    return any(math.isfinite(v) for c in panel.curves for v in c.y)


def _from_zero(ax: Axes, panels: Sequence[Panel]) -> None:
    """Let the axis begin at zero, unless all values are far above zero or some are below."""
    bottom, top = ax.get_ylim()
    finite = [v for p in panels for c in p.curves for v in c.y if math.isfinite(v)]
    if finite and min(finite) >= 0 and bottom < 0.5 * top:
        ax.set_ylim(0.0, top)


def _plain_log(ax: Axes, xs: list[float]) -> None:
    """Ticks of a log axis at 1, 2, 5 times powers of ten, written as numbers, and a margin around the data."""
    least, most = xs[0], xs[-1]
    steps = [m * 10.0**e for e in range(-9, 13) for m in (1, 2, 5)]
    ticks = [t for t in steps if least / 1.01 <= t <= most * 1.01]
    if len(xs) <= 4:
        ticks = xs
    elif len(ticks) > 9:
        ticks = [t for t in ticks if f"{t:e}"[0] == "1"]
    ax.xaxis.set_major_locator(FixedLocator(ticks if len(ticks) > 1 else xs))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: _thousands(v)))
    if most > least:
        pad = (most / least) ** 0.05
        ax.set_xlim(least / pad, most * pad)


def _thousands(v: float) -> str:
    return f"{v:,.0f}" if v >= 1 or v == 0 else f"{v:g}"


@checked
def as_curve(name: str, label: str, points: Iterable[tuple[float, float, float]]) -> Curve:
    """A curve from (x, mean, half width)."""
    x, y, h = zip(*points, strict=True) if points else ((), (), ())
    return Curve(name, label, x, y, h)
