"""Draws slowdown against the size of flows: median and tail, compared with the ideal of the papers and with the sender
alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator

from tailback.core.results.means import labels_of
from tailback.core.stats import estimate
from tailback.show.plots.completions import in_bytes
from tailback.show.plots.palette import look
from tailback.show.plots.style import Drawing, grid, nothing, sheet, styled

#: The two comparisons: the beginning of their columns.
BESIDE = ("slowdown_ideal", "slowdown_alone")
#: The drawn quantity.
TITLE = "slowdown"
#: The factor by which an axis begins below 1, the least slowdown.
MARGIN = 1.15
#: The curves of each comparison: the ending of the column, the words, and the strength of the line.
CURVES = (("_p50", "median", 1.0), ("_p99", "99 %", 0.55))


@dataclass(frozen=True)
class Slowdowns:
    """One point of a plan, or a run: the mean size of each class, bytes, and by column the means over seeds with half
    the 95 % interval."""

    name: str
    sizes: np.ndarray
    values: Mapping[str, tuple[np.ndarray, np.ndarray]]


def slowdowns_of(result: Any, where: Mapping[str, str]) -> list[Slowdowns]:
    """The curves of a result: one for each point of its plan and each workload."""
    table = result.slowdowns
    labels = labels_of(table)
    rows = [r for r in table.rows() if r["sizes"] != "all" and all(str(r.get(k)) == str(v) for k, v in where.items())]
    rows = [r for r in rows if r["group"] != "all"]
    of_point: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        of_point.setdefault((*(str(row[label]) for label in labels), str(row["group"])), []).append(row)
    varying_labels = [i for i in range(len(labels) + 1) if len({point[i] for point in of_point}) > 1]
    curves = []
    for point, own in of_point.items():
        classes: dict[str, list[dict[str, Any]]] = {}
        for row in own:
            classes.setdefault(str(row["sizes"]), []).append(row)
        sizes = [float(np.mean([r["bytes_mean"] for r in of_class])) for of_class in classes.values()]
        order = np.argsort(sizes)
        curve_values = {}
        for column_begin in BESIDE:
            for column_ending, _, _ in CURVES:
                all_means = [
                    estimate(r[column_begin + column_ending] for r in of_class) for of_class in classes.values()
                ]
                middle = np.asarray([m.mean for m in all_means])[order]
                half = np.asarray([0.0 if math.isnan(m.half_width) else m.half_width for m in all_means])[order]
                curve_values[column_begin + column_ending] = (middle, half)
        name = ", ".join(point[i] for i in varying_labels) or point[-1]
        curves.append(Slowdowns(name, np.asarray(sizes)[order], curve_values))
    return curves


@styled
def slowdowns(curves: Sequence[Slowdowns], why_none: str = "nothing to draw: there are no workloads") -> Drawing:
    """The two comparisons side by side. Each has the median and the 99th percentile of every curve, over sizes."""
    columns = 1 if sheet().width else 2
    fig, axes = grid(7.4, 0.3 + 2.8 * 2 / columns, 2 // columns, columns)
    axes = axes.reshape(-1)
    if not curves:
        for ax in axes:
            nothing(ax, why_none)
        return fig
    for ax, column_begin in zip(axes, BESIDE, strict=True):
        for i, curve in enumerate(curves):
            of_curve = look(curve.name, i)
            for (column_ending, words, strength), line_style in zip(CURVES, ("-", (0, (4, 1.5))), strict=True):
                middle, half_widths = curve.values[column_begin + column_ending]
                label = f"{curve.name}, {words}" if len(curves) > 1 else words
                ax.plot(
                    curve.sizes,
                    middle,
                    color=of_curve.colour,
                    linestyle=line_style,
                    marker=of_curve.marker,
                    markersize=3,
                    label=label,
                    alpha=0.5 + strength / 2,
                )
                if half_widths.any():
                    ax.fill_between(
                        curve.sizes,
                        np.maximum(middle - half_widths, 1 / MARGIN),
                        middle + half_widths,
                        color=of_curve.colour,
                        alpha=0.15,
                        linewidth=0,
                    )
        ax.set(xscale="log", yscale="log", xlabel="size", ylabel=TITLE)
        ax.set_ylim(bottom=1 / MARGIN)
        in_bytes(ax)
        ax.xaxis.set_major_locator(LogLocator(100, numticks=9))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes[0].set_title("beside the ideal")
    axes[1].set_title("beside the sender alone")
    axes[-1].legend(handlelength=2.4, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return fig
