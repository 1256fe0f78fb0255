"""`ratio-against-time`: the flows of the fullest queue over those of the emptiest queue, for the first seed and as long
as the shortest run. Each discipline has a line, and each value of the axis `panels` a frame. Published means are at the
right edge.

kind = "ratio-against-time"
panels = "hold"
limits = [1, 3]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailback import plots
from tailback.show.plots.published import edge
from tailback.show.plots.published import handles as legend
from tailback.study.figures import Drawing, figure
from tailback.study.figures.published import ranges

from ..measures.spread import ratio_of

if TYPE_CHECKING:
    from tailback.study.figures import Drawn
    from tailback.study.measures import RunView

#: The number of points of a line. A curve that changes at every packet would be a solid area.
POINTS = 1500


def thinned(t: np.ndarray, x: np.ndarray, n: int = POINTS) -> tuple[np.ndarray, np.ndarray]:
    """The values of a step function at n equally spaced instants."""
    if len(t) <= n:
        return t, x
    instants = np.linspace(t[0], t[-1], n)
    return instants, x[np.searchsorted(t, instants, side="right") - 1]


@figure("ratio-against-time")
@plots.styled
def ratio_against_time(d: Drawing) -> Drawn:
    axis: str | None = d.output.get("panels")
    frames: dict[str, list[tuple[str, RunView, list[tuple[float, float]]]]] = {}
    for runs, p in d.points():
        view = d.view(runs, p)
        if view is None:
            continue
        title = ""
        if axis is not None:
            a = runs.axis(axis)
            title = f"{a.title} {p.labels[axis]} {a.unit}".strip()
        frames.setdefault(title, []).append((p.labels.get("queue", ""), view, ranges(d, runs, p, "ratio_mean")))
    if not frames:
        return None
    fig, axes = plots.grid(6.8, 0.6 + 2.2 * len(frames), len(frames), 1, sharex=len(frames) > 1)
    names = list(dict.fromkeys(name for lines in frames.values() for name, _, _ in lines))
    handles: dict[Any, Any] = {}
    for ax, (title, lines) in zip(axes[:, 0], frames.items(), strict=True):
        series = [(name, said, *ratio_of(view)) for name, view, said in lines]
        end = min((t[-1] for _, _, t, _ in series if len(t)), default=0.0)
        for name, marks, t, x in series:
            keep = t <= end
            t, x = thinned(t[keep], x[keep])
            # All lines are solid, because dashes cannot be seen on a line that jumps.
            colour = plots.look(name, names.index(name)).colour
            # A value with a tolerance is drawn without its band, because the bands of four lines would hide each other.
            edge(ax, [(low, high) for low, high in marks if low == high], colour)
            handles[d.title(name)] = ax.plot(t, x, drawstyle="steps-post", color=colour, linewidth=0.8)[0]
        ax.set_title(title)
        ax.set_ylabel("max / min flows")
        ax.margins(x=0.01)
        if "limits" in d.output:
            ax.set_ylim(*d.output["limits"])
    axes[-1, 0].set_xlabel("time (s)")
    means = legend(x for lines in frames.values() for _, _, said in lines for x in said if x[0] == x[1])
    handles |= {f"mean, {name}": x for name, x in means.items()}
    fig.legend(list(handles.values()), list(handles), loc="outside upper right", ncols=min(len(handles), 4))
    return fig
