"""Draws published values: a value as a star in the colour of its line with a black edge, and a range as a hatched band.
If bands overlap, one is hatched, and the others have only edges.

A quantity without a place along the abscissa (the final value of a curve, the peak of a window) is drawn at the right
edge.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.lines
import matplotlib.patches
from matplotlib.axes import Axes

from tailback.core.figure_style import GREY, INK
from tailback.show.plots.palette import look
from tailback.show.plots.style import small_type

#: The width of a band at a single point: a factor on a log axis, and a share on a linear one.
NARROW = 1.06
#: The distance, as a part of the height of the frame, below which names cover each other.
_LETTERS = 0.08

_STAR: dict[str, Any] = {
    "linestyle": "none",
    "marker": "*",
    "markersize": 10,
    "markeredgecolor": INK,
    "markeredgewidth": 0.7,
    "zorder": 5,
}
_BAND: dict[str, Any] = {"hatch": "//", "linewidth": 0.6}
#: The look of a band that overlaps another one.
_EDGES: dict[str, Any] = {"linestyle": (0, (5, 2)), "linewidth": 0.9}


@dataclass(frozen=True)
class Published:
    """A value (`low` = `high`) or a range of the line `name`, from one abscissa to another."""

    name: str
    left: float
    right: float
    low: float
    high: float


def draw(ax: Axes, rows: Sequence[Published], lines: dict[str, str]) -> None:
    """Published values over the curves of a panel; `lines` has the name and title of each line, in order."""
    names = list(lines)
    bands: dict[tuple[float, float, float, float], list[str]] = {}
    for p in rows:
        if p.name not in lines:
            continue
        if p.low < p.high:
            bands.setdefault((p.left, p.right, p.low, p.high), []).append(p.name)
            continue
        ends = [p.left] if p.left == p.right else [p.left, p.right]
        colour = look(p.name, names.index(p.name)).colour
        ax.plot(ends, [p.low] * len(ends), color=colour, **_STAR)
    hatched_boxes: list[tuple[float, float, float, float]] = []
    heights_taken: list[float] = []
    for (from_x, to_x, low, high), names_of_band in bands.items():
        # A band has the colour of its line. A band of several lines contains their names.
        colour = look(names_of_band[0], names.index(names_of_band[0])).colour if len(names_of_band) == 1 else GREY
        ends = [from_x / NARROW, to_x * NARROW]
        if any(from_x <= to and start <= to_x and low < top and foot < high for start, to, foot, top in hatched_boxes):
            ax.fill_between(ends, low, high, facecolor="none", edgecolor=colour, alpha=0.6, zorder=1, **_EDGES)
        else:
            ax.fill_between(ends, low, high, facecolor="none", edgecolor=colour, alpha=0.4, zorder=1, **_BAND)
            hatched_boxes.append((from_x, to_x, low, high))
        titles = ", ".join(lines[name] for name in names_of_band) if len(names_of_band) > 1 else ""
        if titles:
            # The names begin at the left end of the band, or end at its right end on the right side of the frame. The
            # names are below the band if there are other names at this height.
            place = [_of_frame(ax, x, high) for x in ends]
            is_right = place[0][0] > 0.5
            is_below = any(abs(y - place[0][1]) < _LETTERS for y in heights_taken)
            heights_taken.append(place[0][1])
            ax.annotate(
                titles,
                (ends[is_right], low if is_below else high),
                (-2 if is_right else 2, -2),
                textcoords="offset points",
                ha="right" if is_right else "left",
                va="top",
                color=INK,
                fontsize=small_type(),
            )


def _of_frame(ax: Axes, x: float, y: float) -> tuple[float, float]:
    """A place in parts of the frame, with the axis limits of the drawing so far."""
    ax.get_xlim(), ax.get_ylim()
    place_in_frame = ax.transAxes.inverted().transform(ax.transData.transform((x, y)))
    return float(place_in_frame[0]), float(place_in_frame[1])


def star(ax: Axes, x: float, y: float, colour: str) -> None:
    """Draws a published value at its place."""
    ax.plot([x], [y], color=colour, **_STAR)


def strip(ax: Axes, low: float, high: float, colour: str) -> None:
    """Draws a published range over the whole width."""
    ax.axhspan(low, high, facecolor="none", edgecolor=colour, alpha=0.5, zorder=1, **_BAND)


def edge(ax: Axes, ranges: Sequence[tuple[float, float]], colour: str) -> None:
    """Draws published values and ranges at the right edge."""
    for low, high in ranges:
        across = ax.get_yaxis_transform()
        if low == high:
            ax.plot([1.0], [low], color=colour, transform=across, clip_on=False, **_STAR)
        else:
            left_edge = (0.97, low)
            ax.add_patch(
                matplotlib.patches.Rectangle(
                    left_edge, 0.03, high - low, transform=across, facecolor="none", edgecolor=colour, zorder=5, **_BAND
                )
            )


def handles(ranges: Iterable[tuple[float, float]]) -> dict[str, Any]:
    """Entries of a legend for the looks that occur."""
    ranges = list(ranges)
    handle_of: dict[str, Any] = {}
    if any(low == high for low, high in ranges):
        handle_of["published"] = matplotlib.lines.Line2D([], [], color="white", **_STAR)
    if any(low != high for low, high in ranges):
        handle_of["published, with its tolerance"] = matplotlib.patches.Patch(facecolor="none", edgecolor=GREY, **_BAND)
    return handle_of
