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
"""

from __future__ import annotations

from tailback import plots
from tailback.figures import Drawing, figure


@figure("against-time")
def against_time(d: Drawing):
    o = d.output
    runs, panels = d.study.runs[o.get("runs", d.experiment.runs[0])], []
    for p in o["panel"]:
        view = d.samples.view(runs.name, runs.key_of(p["pair"]))
        if view is None:
            continue
        lines = [(name, *view.probe(x, p.get("what", o.get("what")))) for x, name in p["probes"].items()]
        lines = [line for line in lines if len(line[1])]
        if lines:
            panels.append((p.get("title", d.title(p["pair"])), p.get("ylabel", ""), lines))
    return draw(panels, tuple(o["span"]) if "span" in o else None, o.get("lines", ())) if panels else None


@plots.styled
def draw(panels, span: tuple[float, float] | None = None, instants=()):
    """Panels under each other on one time axis: (title, ylabel, [(label, times, values)]), drawn as steps."""
    fig, axes = plots.grid(6.8, 1.65 * len(panels) + 0.4, len(panels), 1, sharex=True)
    for ax, (title, ylabel, lines) in zip(axes[:, 0], panels, strict=True):
        for i, (label, t, v) in enumerate(lines):
            k = plots._REST[i % len(plots._REST)]
            if span is not None:
                keep = (t >= span[0]) & (t <= span[1])
                t, v = t[keep], v[keep]
            ax.plot(t, v, color=k.colour, linestyle=k.line, linewidth=0.9, label=label, drawstyle="steps-post")
        for x in instants:
            ax.axvline(x, color=plots.GREY, linewidth=0.7, linestyle=(0, (2, 2)), zorder=1)
        ax.set_title(title)
        ax.set_ylabel(ylabel)
        ax.set_ylim(bottom=0)
        ax.margins(x=0.01)
        if len(lines) > 1:
            ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    if span is not None:
        axes[-1, 0].set_xlim(*span)
    axes[-1, 0].set_xlabel("time (s)")
    return fig
