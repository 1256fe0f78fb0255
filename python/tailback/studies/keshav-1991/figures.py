"""`utility`: the utility diagram of Keshav. The number of each source is at its throughput and delay; panels are side
by side.

    kind = "utility"
    runs = "scenario-2"
    panels = [["g-fcfs", "g-fq"], ["pp-fq"]]       # pairs drawn together
    sources = [1, 2]                               # without it all that have a delay
    box_sigmas = 3                                 # half the sides of the boxes, in standard deviations over intervals
    smallest_box = 0.01                            # boxes with both sides below this share of the axes are left out

Places further down and to the right are better. Sources of a discipline with `style = "italic"` in its table are in
italics.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import matplotlib.lines
import matplotlib.patches

from tailback import plots
from tailback.show.plots.style import small_type
from tailback.study import cells
from tailback.study.checks.cell import CellNumber, pooled
from tailback.study.figures import Drawing, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailback.study.figures import Drawn
    from tailback.study.model import Runs

#: The multiple of the usual delay from which marks are at the upper edge, with their values.
FAR = 6.0
#: The ratio of the ends of axes above which panels have their own axes.
APART = 5.0


@dataclass(frozen=True)
class Mark:
    """A source: its number, and its throughput (packets/s) and delay (s), each with the deviation over intervals."""

    name: str
    x: float
    y: float
    dx: float
    dy: float


@dataclass(frozen=True)
class Group:
    """The sources of one pair."""

    title: str
    italic: bool
    marks: list[Mark]
    #: The published throughput and delay of the sources.
    published: list[tuple[float, float]] = field(default_factory=list)

    @property
    def colour(self) -> str:
        return plots.COLOURS["violet"][0] if self.italic else plots.INK


@figure("utility")
def utility(d: Drawing) -> Drawn:
    runs, output, panels = d.study.runs[d.output.get("runs", d.experiment.runs[0])], d.output, []
    for pairs in output["panels"]:
        groups = []
        for pair in pairs:
            pair_marks = marks(d, runs, pair)
            if pair_marks:
                queue = d.study.pairs[pair].queue if pair in d.study.pairs else pair
                style = d.study.disciplines[queue].style if queue in d.study.disciplines else None
                groups.append(Group(d.title(pair), style == "italic", pair_marks, published(d, runs, pair)))
        if groups:
            panels.append(groups)
    if not panels:
        return None
    return draw(panels, output.get("box_sigmas", 3.0), output.get("smallest_box", 0.01), who(d, runs))


def who(d: Drawing, runs: Runs) -> str:
    """A text with the kind of each source: `1-2 FTP, 3-4 Telnet`."""
    titles = {int(n.class_): n.title for n in d.study.published if isinstance(n, CellNumber) and n.runs == runs.name}
    for o in d.experiment.output:
        if o["kind"] == "cells" and o.get("runs", d.experiment.runs[0]) == runs.name:
            titles |= {i + 1: s for i, s in enumerate(o.get("sources", ()))}
    kinds: dict[str, list[int]] = {}
    for n, title in sorted(titles.items()):
        kinds.setdefault(title, []).append(n)
    return "; ".join(f"{spans(numbers)} {title}" for title, numbers in kinds.items())


def published(d: Drawing, runs: Runs, pair: str) -> list[tuple[float, float]]:
    """The places, from the published tables, of the sources that have both a throughput and a delay."""
    cells_of = {
        (n.class_, n.metric): n.cell.mean
        for n in d.study.published
        if isinstance(n, CellNumber) and n.runs == runs.name and n.queue == pair
    }
    shown_sources = [str(s) for s in d.output.get("sources", range(1, 100))]
    places = [(cells_of.get((s, "throughput")), cells_of.get((s, "delay"))) for s in shown_sources]
    return [(x, y) for x, y in places if x is not None and y]


def marks(d: Drawing, runs: Runs, pair: str) -> list[Mark]:
    """The place of each source of a pair. Uncontrolled sources have no delay and no place."""
    key = runs.key_of(pair)
    view = d.samples.view(runs.name, key)
    if view is None:
        return []
    source_marks = []
    for s in d.output.get("sources", range(1, len(view.flows["id"]) + 1)):
        rates, delays = (pooled(d.samples, runs.name, key, str(s), m) for m in ("throughput", "delay"))
        if rates is None or delays is None:
            continue
        (x, dx), (y, dy) = cells.statistics(rates), cells.statistics(delays)
        if y > 0:
            source_marks.append(Mark(str(s), x, y, dx, dy))
    return source_marks


def frames(panels: list[list[Group]]) -> list[tuple[float, float]]:
    """The right and upper ends of each panel's axes. The ends are common to all panels, unless this would squeeze a
    panel.

    A source that gets almost nothing and waits for minutes does not count for the scale.
    """
    marks = [[m for g in groups for m in g.marks] for groups in panels]
    ys = sorted(m.y for list_ in marks for m in list_)
    limit = FAR * ys[int(0.6 * (len(ys) - 1))]
    rights = [1.15 * max(m.x for m in list_) for list_ in marks]
    tops = [1.2 * max((m.y for m in list_ if m.y <= limit), default=limit) for list_ in marks]
    return list(zip(_common(rights), _common(tops), strict=True))


def _common(ends: list[float]) -> list[float]:
    return ends if max(ends) > APART * min(ends) else [max(ends)] * len(ends)


@plots.styled
def draw(panels: list[list[Group]], sigmas: float = 3.0, smallest: float = 0.01, sources: str = "") -> Figure:
    """The diagram of some groups, with a panel for each list. `sources` has the source of each number."""
    n = len(panels)
    # Numbers are in rings, for which two panels side by side on a narrow sheet have no room.
    columns = 1 if plots.sheet().width else min(n, 2)
    rows = math.ceil(n / columns)
    fig, axes = plots.grid(3.4 * columns + 0.3, 2.9 * rows + 0.2, rows, columns)
    for ax in list(axes.flat)[n:]:
        ax.set_axis_off()
    for i, (ax, groups, (x_limit, y_limit)) in enumerate(zip(axes.flat, panels, frames(panels), strict=False)):
        # The axis has a little room left of the origin, where a source without throughput is.
        ax.set_xlim(-0.05 * x_limit, x_limit)
        ax.set_ylim(-0.05 * y_limit, y_limit)
        for group in groups:
            for mark in group.marks:
                if mark.y <= y_limit:
                    _box(ax, mark, sigmas, (smallest * x_limit, smallest * y_limit), group.colour)
            points_inside = [(x, y) for x, y in group.published if x <= x_limit and y <= y_limit]
            ax.plot([x for x, _ in points_inside], [y for _, y in points_inside], **_PUBLISHED, color=group.colour)
        for group, text, x, y in placed(groups, x_limit, y_limit):
            ax.text(x, y, text, ha="center", va="center", fontsize="medium", **_look(group))
        marks_above = [(mark, group) for group in groups for mark in group.marks if mark.y > y_limit]
        for k, (mark, group) in enumerate(marks_above):
            text = f"\N{UPWARDS ARROW} {mark.name} ({mark.x:.2f}, {mark.y:.0f} s)"
            ax.text(0.02 * x_limit, y_limit * (0.99 - 0.07 * k), text, va="top", fontsize=small_type(), **_look(group))
        if i + columns >= n:
            ax.set_xlabel("throughput (packets/s)")
        if i % columns == 0:
            ax.set_ylabel("delay (s)")
        ax.set_title(
            ", ".join(group.title + (" (italic)" if group.italic and len(groups) > 1 else "") for group in groups)
        )
    handles = []
    if any(group.published for groups in panels for group in groups):
        ring = {**_PUBLISHED, "markersize": 11, "color": plots.INK}
        handles.append(matplotlib.lines.Line2D([], [], **ring, label="published"))
    if sources:
        handles.append(matplotlib.lines.Line2D([], [], linestyle="none", label=f"numbers: {sources}"))
    if handles:
        fig.legend(handles=handles, loc="outside upper center", ncols=2, handletextpad=0.6)
    return fig


#: The part of a panel above which a box is drawn as a cross, because it would enclose marks of other sources.
TALL = 0.4

#: The look of a published place: a ring, so that a number at the same place is inside.
_PUBLISHED: dict[str, Any] = {
    "linestyle": "none",
    "marker": "o",
    "markersize": 19,
    "markerfacecolor": "none",
    "markeredgewidth": 0.7,
    "alpha": 0.5,
    "zorder": 2,
}


def _look(g: Group) -> dict[str, Any]:
    """The look of a group's numbers, which are in front of boxes."""
    ground = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "boxstyle": "square,pad=0.05"}
    return {"color": g.colour, "fontstyle": "italic" if g.italic else "normal", "zorder": 3, "bbox": ground}


def placed(groups: list[Group], right: float, top: float) -> list[tuple[Group, str, float, float]]:
    """Each text of a panel with its place. A text that would cover an earlier one is moved up or down."""
    texts: list[tuple[Group, str, float, float]] = []
    letter_width, line_height = 0.0125 * right, 0.08 * top
    for g in groups:
        for text, x, y in joined([m for m in g.marks if m.y <= top], 0.05 * right, 0.06 * top):
            heights_beside = [f[3] for f in texts if abs(f[2] - x) < letter_width * (len(text) + len(f[1]))]
            texts.append((g, text, x, _free(y, heights_beside, line_height)))
    return texts


def _free(y: float, taken: list[float], line: float) -> float:
    """The height nearest to `y`, above zero, that is at least a line away from all taken heights."""
    places = [y, *(t + line for t in taken), *(t - line for t in taken if t > line)]
    return min((p for p in places if all(abs(p - t) > 0.999 * line for t in taken)), key=lambda p: abs(p - y))


def _box(ax: Axes, m: Mark, sigmas: float, smallest: tuple[float, float], colour: str) -> None:
    dx, dy = (0.0 if math.isnan(v) else v for v in (m.dx, m.dy))
    width, height = 2 * sigmas * dx, 2 * sigmas * dy
    if width < smallest[0] and height < smallest[1]:
        return
    look: dict[str, Any] = {"alpha": 0.25, "linewidth": 0.6}
    (x_min, right), (foot, y_max) = ax.get_xlim(), ax.get_ylim()
    if width > TALL * (right - x_min) or height > TALL * (y_max - foot):
        ax.plot([m.x - width / 2, m.x + width / 2], [m.y, m.y], color=colour, zorder=1, **look)
        ax.plot([m.x, m.x], [m.y - height / 2, m.y + height / 2], color=colour, zorder=1, **look)
        return
    corner = (m.x - width / 2, m.y - height / 2)
    patch = matplotlib.patches.Rectangle(corner, width, height, fill=False, edgecolor=colour, **look)
    ax.add_patch(patch)


def joined(marks: list[Mark], dx: float, dy: float) -> list[tuple[str, float, float]]:
    """The texts with their places. Numbers that would cover each other become one text, such as `1, 3-6`."""
    groups: list[list[Mark]] = []
    for mark in marks:
        group = next((g for g in groups if abs(g[0].x - mark.x) < dx and abs(g[0].y - mark.y) < dy), None)
        if group is None:
            groups.append([mark])
        else:
            group.append(mark)
    return [
        (spans([int(mark.name) for mark in g]), sum(mark.x for mark in g) / len(g), sum(mark.y for mark in g) / len(g))
        for g in groups
    ]


def spans(names: list[int]) -> str:
    """Rising numbers as text, in which three or more consecutive numbers are a span: `1, 3-6`."""
    runs: list[list[int]] = []
    for name in names:
        if runs and name == runs[-1][-1] + 1:
            runs[-1].append(name)
        else:
            runs.append([name])
    return ", ".join(f"{r[0]}-{r[-1]}" if len(r) > 2 else ", ".join(map(str, r)) for r in runs)
