"""`against-time`: recorded quantities of one flow against time, a panel for each entry; first seed.

kind = "against-time"
runs = "scenario-3"
what = "flows.ftp.0"                               # the flow or link
span = [600, 700]                              # s; without it the whole run
lines = [100, 200]                             # instants that get a mark, s
[[experiment.output.panel]]
pair = "jk-fcfs"
probes = { win = "window" }                    # drawn together, with their names in the legend
title = "JK/FCFS"
ylabel = "window (packets)"
published = { measure = "most_window", class = "1" }    # published values at the right edge
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tailback.show import plots
from tailback.show.plots.published import edge
from tailback.show.plots.published import handles as legend
from tailback.study.figures import Drawing, figure
from tailback.study.figures.published import ranges

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.study.figures import Drawn


@figure("against-time")
def against_time(d: Drawing) -> Drawn:
    output = d.output
    runs, panels = d.study.runs[output.get("runs", d.experiment.runs[0])], []
    for p in output["panel"]:
        view = d.samples.view(runs.name, runs.key_of(p["pair"]))
        if view is None:
            continue
        lines = []
        for probe, name in p["probes"].items():
            t, v = view.probe(probe, p.get("what", output.get("what")))
            if len(t):
                # A quantity that no longer changes keeps its value to the end.
                ends = view.intervals.get("to_s", ())
                end = max([float(t[-1]), *map(float, ends)])
                lines.append((name, np.append(t, end), np.append(v, v[-1])))
        if lines:
            published_keys = p.get("published")
            point = next(x for x in runs.points(d.mode) if x.key == runs.key_of(p["pair"]))
            marks = (
                ranges(d, runs, point, published_keys["measure"], published_keys.get("class", "all"))
                if published_keys
                else []
            )
            panels.append(Panel(p.get("title", d.title(p["pair"])), p.get("ylabel", ""), lines, marks))
    return (
        draw(panels, (output["span"][0], output["span"][1]) if "span" in output else None, output.get("lines", ()))
        if panels
        else None
    )


@dataclass
class Panel:
    title: str
    ylabel: str
    #: (label, times, values)
    lines: Sequence[tuple[str, np.ndarray, np.ndarray]]
    published: Sequence[tuple[float, float]] = ()


@plots.styled
def draw(
    panels: Sequence[Panel],
    span: tuple[float, float] | None = None,
    instants: Sequence[float] = (),
) -> Figure:
    """Panels under each other on one time axis, drawn as steps."""
    fig, axes = plots.grid(6.8, 1.65 * len(panels) + 0.4, len(panels), 1, sharex=True)
    for ax, panel in zip(axes[:, 0], panels, strict=True):
        for i, (label, t, v) in enumerate(panel.lines):
            line_look = plots.OTHERS[i % len(plots.OTHERS)]
            if span is not None:
                # The value at the beginning of the span belongs to the span.
                first_row = max(int(np.searchsorted(t, span[0], side="right")) - 1, 0)
                end_row = int(np.searchsorted(t, span[1], side="right"))
                t, v = np.clip(t[first_row:end_row], span[0], None), v[first_row:end_row]
                t, v = np.append(t, span[1]), np.append(v, v[-1:])
            ax.plot(
                t,
                v,
                color=line_look.colour,
                linestyle=line_look.line,
                linewidth=0.9,
                label=label,
                drawstyle="steps-post",
            )
        for instant in instants:
            ax.axvline(instant, color=plots.GREY, linewidth=0.7, linestyle=(0, (2, 2)), zorder=1)
        edge(ax, panel.published, plots.OTHERS[0].colour)
        ax.set_title(panel.title)
        ax.set_ylabel(panel.ylabel)
        ax.set_ylim(bottom=0)
        ax.margins(x=0.01)
        if len(panel.lines) > 1:
            ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    if span is not None:
        axes[-1, 0].set_xlim(*span)
    axes[-1, 0].set_xlabel("time (s)")
    marks = legend(instant for panel in panels for instant in panel.published)
    if marks:
        fig.legend(list(marks.values()), list(marks), loc="outside upper right")
    return fig
