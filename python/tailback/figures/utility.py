"""`utility`: the utility diagram of Keshav: each source's number at its throughput and delay, panels side by side.

    kind = "utility"
    runs = "scenario-2"
    panels = [["g-fcfs", "g-fq"], ["pp-fq"]]       # pairs drawn together
    sources = [1, 2]                               # without it all that have a delay
    box_sigmas = 3                                 # half the sides of the boxes, in standard deviations over intervals
    smallest_box = 0.01                            # boxes with both sides below this share of the axes are left out

Down and to the right is better. Sources of a discipline whose table says `style = "italic"` stand in italics.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import matplotlib

from tailback import cells, plots
from tailback.figures import Drawing, figure
from tailback.rules.cell import pooled

#: Marks with so many times the usual delay stand at the upper edge, with their values.
FAR = 6.0


@dataclass(frozen=True)
class Mark:
    """A source: its number, throughput (packets/s) and delay (s), each with its deviation over intervals."""

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

    @property
    def colour(self) -> str:
        return "#0072B2" if self.italic else plots.INK


@figure("utility")
def utility(d: Drawing):
    runs, o, panels = d.study.runs[d.output.get("runs", d.experiment.runs[0])], d.output, []
    for pairs in o["panels"]:
        groups = []
        for pair in pairs:
            found = marks(d, runs, pair)
            if found:
                queue = d.study.pairs.get(pair, {}).get("queue", pair)
                style = d.study.disciplines.get(queue, {}).get("style")
                groups.append(Group(d.title(pair), style == "italic", found))
        if groups:
            panels.append(groups)
    return draw(panels, o.get("box_sigmas", 3.0), o.get("smallest_box", 0.01)) if panels else None


def marks(d: Drawing, runs, pair: str) -> list[Mark]:
    """Where each source of a pair stands; uncontrolled sources have no delay and no place."""
    key = runs.key_of(pair)
    view = d.samples.view(runs.name, key)
    if view is None:
        return []
    found = []
    for s in d.output.get("sources", range(1, len(view.flows["id"]) + 1)):
        (x, dx), (y, dy) = (
            cells.statistics(pooled(d.samples, runs.name, key, str(s), m)) for m in ("throughput", "delay")
        )
        if y > 0:
            found.append(Mark(str(s), x, y, dx, dy))
    return found


def frame(marks: list[Mark]) -> tuple[float, float]:
    """Right and upper end of the axes. A source that is all but shut out, and waits for minutes, sets no scale."""
    ys = sorted(m.y for m in marks)
    usual = ys[int(0.6 * (len(ys) - 1))]
    return 1.15 * max(m.x for m in marks), 1.2 * max(y for y in ys if y <= FAR * usual)


@plots.styled
def draw(panels: list[list[Group]], sigmas: float = 3.0, smallest: float = 0.01):
    """The diagram of some groups, a panel each list, with common axes."""
    n = len(panels)
    right, top = frame([m for groups in panels for g in groups for m in g.marks])
    columns = min(n, 2)
    rows = math.ceil(n / columns)
    fig, axes = plots.grid(3.4 * columns + 0.3, 2.9 * rows + 0.2, rows, columns, sharex=True, sharey=True)
    for ax in list(axes.flat)[n:]:
        ax.set_axis_off()
    for i, (ax, groups) in enumerate(zip(axes.flat, panels, strict=False)):
        for g in groups:
            inside = [m for m in g.marks if m.y <= top]
            for m in inside:
                _box(ax, m, sigmas, right, top, smallest, g.colour)
            style = "italic" if g.italic else "normal"
            look = {"ha": "center", "color": g.colour, "fontstyle": style, "zorder": 3}
            for name, x, y in joined(inside, 0.05 * right, 0.06 * top):
                ax.text(x, y, name, va="center", fontsize=9.5, **look)
        above = [(m, g) for g in groups for m in g.marks if m.y > top]
        for k, (m, g) in enumerate(above):
            style = "italic" if g.italic else "normal"
            text = f"\N{UPWARDS ARROW} {m.name} ({m.x:.2f}, {m.y:.0f} s)"
            y = top * (0.99 - 0.07 * k)
            ax.text(0.02 * right, y, text, va="top", color=g.colour, fontstyle=style, fontsize=8, zorder=3)
        ax.set_title(", ".join(g.title + (" (italic)" if g.italic and len(groups) > 1 else "") for g in groups))
        ax.set_xlim(0, right)
        ax.set_ylim(0, top)
        if i % columns == 0:
            ax.set_ylabel("delay (s)")
        if i + columns >= n:
            ax.set_xlabel("throughput (packets/s)")
            ax.tick_params(labelbottom=True)
    return fig


def _box(ax, m: Mark, sigmas: float, right: float, top: float, smallest: float, colour: str) -> None:
    dx, dy = (0.0 if math.isnan(v) else v for v in (m.dx, m.dy))
    width, height = 2 * sigmas * dx, 2 * sigmas * dy
    if width < smallest * right and height < smallest * top:
        return
    at = (m.x - width / 2, m.y - height / 2)
    patch = matplotlib.patches.Rectangle(at, width, height, fill=False, edgecolor=colour, alpha=0.55, linewidth=0.7)
    ax.add_patch(patch)


def joined(marks: list[Mark], dx: float, dy: float) -> list[tuple[str, float, float]]:
    """Texts and where they stand: numbers that would cover each other become one text, such as `1-6` or `7, 8`."""
    groups: list[list[Mark]] = []
    for m in marks:
        near = next((g for g in groups if abs(g[0].x - m.x) < dx and abs(g[0].y - m.y) < dy), None)
        if near is None:
            groups.append([m])
        else:
            near.append(m)
    found = []
    for g in groups:
        names = [int(m.name) for m in g]
        run = len(names) > 2 and names == list(range(names[0], names[0] + len(names)))
        text = f"{names[0]}-{names[-1]}" if run else ", ".join(map(str, names))
        found.append((text, sum(m.x for m in g) / len(g), sum(m.y for m in g) / len(g)))
    return found
