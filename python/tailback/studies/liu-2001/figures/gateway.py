"""Draws a colour-aware gateway, by second: averages with thresholds, delay, utilisation, early drops, and
probabilities.

`gateway`         one run, frames under each other
`side-by-side`    the same frames and the attainments of several pairs, a column for each

kind = "gateway"
pair = "adaptive"
link = "first"                       # without it the studied link
panels = ["averages", "delay", "utilisation", "drops", "probabilities"]
thresholds = { L = 189, M = 378, H = 2520 }
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tailback import plots
from tailback.study.figures import Drawing, figure
from tailback.study.measures import RunView

from ..measures.assured import attainments, loads
from ..measures.gateway import average, by_second, early
from .assured import SHADES, view_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tailback.study.figures import Drawn

#: The target delay of the thesis, ms.
TARGET = 15.0


def _averages(ax: Axes, run: RunView, link: str, o: dict[str, Any]) -> None:
    for i, name in enumerate(("green", "green + yellow", "all")):
        t, x = average(run, link, i)
        ax.plot(t, x, color=SHADES[i], linewidth=0.9, label=name)
    levels = {name: level for name, level in o.get("thresholds", {}).items() if level <= 2000}
    for name, level in levels.items():
        ax.axhline(level, color=plots.GREY, linewidth=0.7, linestyle=(0, (4, 2)))
        # One label is below its line and the other above, because the lines may be close to each other.
        va = "top" if level == min(levels.values()) else "bottom"
        place = ("axes fraction", "data")
        ax.annotate(name, (1.0, level), (2, 0), place, "offset points", fontsize=8, color=plots.GREY, va=va)
    ax.set_ylabel("packets")


def _delay(ax: Axes, run: RunView, link: str, o: dict[str, Any]) -> None:
    t, x = by_second(run, link, "sojourn_mean_s")
    ax.plot(t, 1e3 * x, color=plots.INK, linewidth=0.9, drawstyle="steps-post")
    ax.axhline(TARGET, color=plots.GREY, linewidth=0.7, linestyle=(0, (4, 2)))
    ax.set_ylabel("ms")


def _utilisation(ax: Axes, run: RunView, link: str, o: dict[str, Any]) -> None:
    t, x = by_second(run, link, "utilisation")
    ax.plot(t, 100 * x, color=plots.INK, linewidth=0.9, drawstyle="steps-post")
    ax.set_ylabel("%")


def _drops(ax: Axes, run: RunView, link: str, o: dict[str, Any]) -> None:
    t, x = early(run, link)
    ax.plot(t, 100 * x, color=plots.INK, linewidth=0.9, drawstyle="steps-post")
    ax.set_ylabel("%")


def _probabilities(ax: Axes, run: RunView, link: str, o: dict[str, Any]) -> None:
    end = max(load.end for load in loads(run))
    for i, name in enumerate(("green", "yellow", "red")):
        t, x = run.probe("effective", f"link.{run.link_of(link)}", i)
        if len(t):
            t, x = np.append(t, end), np.append(x, x[-1])
            ax.plot(t, x, color=SHADES[i], linewidth=0.9, drawstyle="steps-post", label=name)
    if not ax.lines and "stands" in o:
        ax.plot([0, end], [o["stands"]] * 2, color=plots.INK, linewidth=0.9)
    ax.set_ylabel("effective")


def _attained(ax: Axes, run: RunView, link: str, o: dict[str, Any]) -> None:
    """The rate of each flow divided by its target rate, in the order of round trips, load by load."""
    for i, load in enumerate(loads(run)):
        x = attainments(run, load)
        trip = np.tile(np.arange(6), len(x) // 6)
        ax.plot(trip + 0.22 * (i - 1), x, ".", markersize=3, color=plots.OTHERS[i].colour, label=o["loads"][i])
    ax.axhline(0.9, color=plots.GREY, linewidth=0.7, linestyle=(0, (4, 2)))
    ax.set_xticks(range(6), [t.removesuffix(" ms") for t in o["round_trips"]])
    ax.set_xlabel("round trip (ms)")
    ax.set_yscale("log")
    ax.set_ylim(0.2, 6)
    ax.set_yticks([0.25, 0.5, 1, 2, 4], ["0.25", "0.5", "1", "2", "4"])
    ax.minorticks_off()
    ax.set_ylabel("got / is to get")


#: The frames side by side with a logarithmic axis, and its ticks, because one queue has ten times the delay of another.
LOGARITHMIC = {"delay": (1, 3, 10, 30, 100), "averages": (10, 100, 1000)}

PANELS: dict[str, tuple[str, Callable[[Axes, RunView, str, dict[str, Any]], None]]] = {
    "averages": ("Average queues", _averages),
    "delay": ("Delay", _delay),
    "utilisation": ("Utilisation", _utilisation),
    "drops": ("Early drops", _drops),
    "probabilities": ("Maximum probability", _probabilities),
    "attained": ("Attainment", _attained),
}


@figure("gateway")
@plots.styled
def gateway(d: Drawing) -> Drawn:
    run = view_of(d)
    if run is None:
        return None
    names = d.output.get("panels", ["averages", "delay", "utilisation", "drops", "probabilities"])
    fig, axes = plots.grid(7.4, 1.5 * len(names) + 0.5, len(names), 1, sharex=True)
    for ax, name in zip(axes[:, 0], names, strict=True):
        title, draw = PANELS[name]
        draw(ax, run, d.output.get("link", "all"), d.output)
        ax.set_title(title)
        ax.set_ylim(bottom=0)
        ax.margins(x=0.01)
        if ax.get_legend_handles_labels()[1]:
            ax.legend(loc="upper left", bbox_to_anchor=(1.03, 1.0))
    axes[-1, 0].set_xlabel("time (s)")
    return fig


@figure("side-by-side")
@plots.styled
def side_by_side(d: Drawing) -> Drawn:
    """Each row is a frame and each column a pair. All frames of a row have one scale."""
    views = []
    for pair in d.output["pairs"]:
        for runs, p in d.points():
            view = d.view(runs, p) if pair in p.labels.values() else None
            if view is not None:
                views.append((d.title(pair), view))
    if not views:
        return None
    names = d.output["panels"]
    # All columns are side by side; on a narrow sheet two are, and the next two are below them.
    columns = min(len(views), 2) if plots.sheet().width else len(views)
    blocks = math.ceil(len(views) / columns)
    row_count = len(names)
    fig, axes = plots.grid(2.5 * columns + 0.9, (1.75 * row_count + 0.3) * blocks + 0.3, row_count * blocks, columns)
    for ax in axes[-row_count:, len(views) - columns * blocks + columns :].flat:
        ax.set_axis_off()
    handles: dict[str, dict[str, Any]] = {name: {} for name in names}
    for i, (title, view) in enumerate(views):
        block, column = divmod(i, columns)
        for row, name in enumerate(names):
            ax, first_ax = axes[block * row_count + row, column], axes[row, 0]
            if ax is not first_ax:
                ax.sharey(first_ax)
            if column:
                ax.tick_params(labelleft=False)
            PANELS[name][1](ax, view, "all", d.output)
            ax.set_title(title if row == 0 else "")
            if name != "attained":
                ax.set_xlabel("time (s)" if row == row_count - 1 or names[row + 1] == "attained" else "")
            ax.margins(x=0.02)
            ax.set_ylabel("" if column else f"{PANELS[name][0]}\n({ax.get_ylabel()})")
            for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
                handles[name].setdefault(label, handle)
    for row, name in enumerate(names):
        if name in LOGARITHMIC:
            ticks = LOGARITHMIC[name]
            axes[row, 0].set_yscale("log")
            axes[row, 0].set_yticks(ticks, [f"{t:,}" for t in ticks])
            axes[row, 0].minorticks_off()
            axes[row, 0].set_ylim(bottom=ticks[0])
        elif name != "attained":
            axes[row, 0].set_ylim(bottom=0)
        if handles[name]:
            axes[row, -1].legend(
                list(handles[name].values()),
                list(handles[name]),
                loc="upper left",
                bbox_to_anchor=(1.08, 1.0),
                markerscale=2.5,
            )
    return fig
