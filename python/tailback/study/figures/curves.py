"""`curves`: a measure over an axis, with a line for each discipline (or label of another axis), and panels by class or
by a further axis.

kind = "curves"
measure = "share"            # or measures = [...]: one panel each
x = "buffer"                 # the axis along the abscissa; default buffer
lines = "queue"              # the axis whose labels have a line each; default queue
classes = ["short", "long"]  # one panel each, named by class_titles
panels = "window"            # or one panel for each value of an axis
limits = [0.8, 6.0]          # frame of the ordinate
log_x = false
within = { queue = "qsdrr" } # see `where` of Drawing.points
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailback.show import plots
from tailback.study.figures import Drawing, figure, named
from tailback.study.figures.published import published
from tailback.study.measures import MEASURES
from tailback.study.tolerance import OverSeeds

if TYPE_CHECKING:
    from tailback.study.figures import Drawn
    from tailback.study.measures import Measure
    from tailback.study.model import Axis


@figure("curves")
def curves(d: Drawing) -> Drawn:
    output = d.output
    x_axis, line_axis = output.get("x", "buffer"), output.get("lines", "queue")
    measures = [MEASURES[name] for name in output.get("measures", [output.get("measure")])]
    classes = output.get("classes", ["all"])
    titles = output.get("class_titles", classes if len(classes) > 1 else [""])
    frames: list[tuple[str, str, Measure, str | None]] = [
        (t if len(measures) == 1 else measure.title, c, measure, None)
        for measure in measures
        for t, c in zip(titles, classes, strict=True)
    ]
    if "panels" in output:
        labels = list(dict.fromkeys(p.labels[output["panels"]] for _, p in d.points()))
        runs = d.points()[0][0] if labels else None
        axis = runs.axis(output["panels"]) if runs else None
        frames = [(_panel_title(d, axis, x), c, measure, x) for x in labels for _, c, measure, _ in frames]
    panels, drawn_curves = [], []
    for title, klass, measure, panel in frames:
        lines: dict[str, list[tuple[float, float, float]]] = {}
        for runs, p in d.points({output["panels"]: panel} if panel is not None else None):
            x = d.get(runs, p, klass, measure.name)
            if x is not None and x_axis in p.labels:
                e = OverSeeds.of(x)
                lines.setdefault(p.labels.get(line_axis, runs.name), []).append(
                    (float(p.labels[x_axis]), e.mean, e.half)
                )
        frame_curves = []
        for name, v in lines.items():
            frame_curves.append(plots.as_curve(name, _line_title(d, line_axis, name), v))
        labels_of_panel = {output["panels"]: panel} if panel is not None else None
        curve_names = {c.name for c in frame_curves}
        marks = [
            p for p in published(d, klass, measure.name, x_axis, line_axis, labels_of_panel) if p.name in curve_names
        ]
        panels.append(plots.Panel(frame_curves, title, measure.label if len(measures) > 1 else "", marks))
        drawn_curves += frame_curves
    if not drawn_curves:
        return None
    first_measure = measures[0]
    reference = (100.0, "fair share") if first_measure.name == "share" else None
    limits = tuple(output["limits"]) if "limits" in output else None
    runs = d.points()[0][0]
    axis = next((a for a in runs.axes if a.name == x_axis), None)
    xlabel = output.get("xlabel") or _axis_label(axis, x_axis)
    ylabel = output.get("ylabel") or (first_measure.label if len(measures) == 1 else "")
    return plots.curves(
        panels,
        xlabel,
        ylabel,
        log_x=output.get("log_x", True),
        reference=reference,
        limits=limits,
        y="shared" if len(measures) == 1 else "own",
    )


def _axis_label(axis: Axis | None, name: str) -> str:
    if axis is None:
        return name
    title = axis.title[:1].lower() + axis.title[1:] if not axis.title[:2].isupper() else axis.title
    return f"{title} ({axis.unit})" if axis.unit else title


def _line_title(d: Drawing, axis: str, label: str) -> str:
    if label in d.study.disciplines or label in d.study.pairs:
        return d.title(label)
    for runs, _ in d.points():
        for a in runs.axes:
            if a.name == axis:
                return named(a, label)
    return label


def _panel_title(d: Drawing, axis: Axis | None, label: str) -> str:
    if label in d.study.disciplines or label in d.study.pairs:
        return d.title(label)
    return named(axis, label) if axis is not None else label
