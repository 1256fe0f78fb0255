"""Draws the points of a sweep: an expression over one axis or over two, or the distribution of its values.

over(results, "links.utilisation[bottleneck]", "buffer")                # curves with 95 % bands
over(results, "links.utilisation[bottleneck]", "buffer", "rate")        # a map over two axes
over(results, "bbr / total", "buffer", by="rtt")                        # small multiples
spread(results, "flows.goodput_bps")                                    # distributions, a line a point
boxes(results, "flows.goodput_bps")                                     # boxes, a row a point
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tailback import _core
from tailback.core.results import expression
from tailback.core.results.axes import Scale, scale
from tailback.core.results.expression import ColumnRows, ExpressionError
from tailback.core.results.measured import Metric, Name, all_values, measure
from tailback.core.results.quantities import axis_titles, label, shown
from tailback.core.results.reading import folder_of
from tailback.core.store import manifest
from tailback.core.text import given as check
from tailback.core.text.arguments import checked
from tailback.show.plots import rows as of_rows
from tailback.show.plots.curves import Panel, as_curve, curves
from tailback.show.plots.distributions import distributions
from tailback.show.plots.heat import Field, heat
from tailback.show.plots.palette import discipline
from tailback.show.plots.style import Drawing

#: The most lines or maps of a figure.
MOST = 12


@checked
def is_metric(what: str) -> bool:
    """Whether the text is an expression of columns, and not the name of a recorded quantity."""
    if not what.replace("_", "").replace("-", "").isalnum():
        try:
            leaves = expression.leaves(expression.parse(what))
        except ExpressionError:
            return "." in what and what.split(".")[0] in _core.TABLES
        return any(isinstance(x, ColumnRows) for x in leaves)
    return False


@checked
def over(
    results: Any,
    metric: str | Metric,
    x: str,
    y: str | None = None,
    /,
    *,
    by: str = "",
    against: tuple[str, str] | None = None,
    **where: str,
) -> Drawing:
    """The mean of an expression over the axis `x`, with a curve for each combination of the other axes; with `y`, maps
    over both axes. A metric may be a function of your own: it gets a run, whose tables are attributes, and gives a
    number.

    `by` makes a panel for each label of an axis. `against` is an axis and a label: each run is divided by the run with
    that label and the same seed. `where` chooses rows, by label or by column. Raises ValueError for a name that does
    not exist.
    """
    check.results("results", results)
    return figure_over(results, metric, [x] if y is None else [x, y], where, by=by, against=against)


def figure_over(
    results: Any,
    metric: str | Metric,
    axes: Sequence[str],
    where: Mapping[str, str],
    *,
    by: str = "",
    against: tuple[str, str] | None = None,
    titles: Mapping[str, str] | None = None,
) -> Drawing:
    """The figure of `over`. `titles` replace the titles of axes in the folder of the results."""
    by_run = measure(results, metric, where)
    if against is not None:
        by_run = by_run.against(*against)
    titles = titles if titles is not None else titles_of(results)
    for axis in [*axes, *([by] if by else [])]:
        if axis not in by_run.runs.labels:
            raise ValueError(f'there is no axis "{axis}"; axes are {", ".join(by_run.runs.labels) or "none"}')
    points = by_run.points(by_run.runs.labels)
    if not points:
        raise ValueError(f"{by_run.title} has no value to draw" + (f" where {_said(where)}" if where else ""))
    column_of = {k: i for i, k in enumerate(by_run.runs.labels)}
    # The labels and the names of rows that differ between lines.
    varying_labels = [
        k
        for k in by_run.runs.labels
        if k not in axes and k != by and len({point[column_of[k]] for _, point in points}) > 1
    ]
    several_columns = [i for i in range(len(next(iter(points))[0])) if len({row[i] for row, _ in points}) > 1]
    by_line: dict[Name, dict[Name, tuple[float, float]]] = {}
    for (row, point), (mean, half, _) in points.items():
        line = (*(point[column_of[k]] for k in varying_labels), *(row[i] for i in several_columns))
        place = tuple(point[column_of[k]] for k in (*axes, *([by] if by else [])))
        by_line.setdefault(line, {})[place] = mean, half
    if len(by_line) > MOST:
        raise ValueError(_too_many(len(by_line), varying_labels or ["name"]))
    unit = shown(by_run.unit, [v for mine in by_line.values() for v, _ in mine.values()])
    scaled_points = {
        k: {p: (v * unit.factor, h * unit.factor) for p, (v, h) in mine.items()} for k, mine in by_line.items()
    }
    title = label(by_run.title, unit.unit)
    scales = [scale(a, [p[i] for mine in by_line.values() for p in mine], titles) for i, a in enumerate(axes)]
    if len(axes) > 1:
        return _maps(scaled_points, scales, title)
    legend_title = ", ".join(titles.get(k, k) for k in varying_labels)
    if not scales[0].places:
        return _means(scaled_points, scales[0], title, 1.0 if against else None, legend_title)
    panels = _by(scaled_points, scales[0], legend_title, by, titles)
    reference = (1.0, f"{against[0]} {against[1]}") if against else None
    return curves(
        panels,
        scales[0].title,
        title,
        log_x=scales[0].is_wide,
        signed=by_run.signed,
        reference=reference,
        legend_title=legend_title,
    )


Lines = Mapping[Name, Mapping[Name, tuple[float, float]]]


def _by(lines: Lines, x: Scale, named: str, by: str, titles: Mapping[str, str]) -> list[Panel]:
    """One panel, or a panel for each label of the axis `by`."""
    looks_of = looks(list(lines))
    by_labels = list(dict.fromkeys(p[1] for mine in lines.values() for p in mine)) if by else [""]
    if by and len(by_labels) > MOST:
        raise ValueError(_too_many(len(by_labels), [by]))
    panels = []
    for by_label in scale(by, by_labels, titles).labels if by else by_labels:
        part_curves = []
        for k, by_place in lines.items():
            points = sorted((x.places[p[0]], v, h) for p, (v, h) in by_place.items() if not by or p[1] == by_label)
            if points:
                part_curves.append(as_curve(looks_of[k], ", ".join(k), points))
        panels.append(Panel(part_curves, f"{titles.get(by, by)}: {by_label}" if by else ""))
    return panels


def _maps(lines: Lines, scales: Sequence[Scale], title: str) -> Drawing:
    x, y = scales
    panels = []
    for k, by_place in lines.items():
        mean, half_widths = (np.full((len(y.labels), len(x.labels)), np.nan) for _ in range(2))
        for place, (v, h) in by_place.items():
            cell = y.labels.index(place[1]), x.labels.index(place[0])
            mean[cell], half_widths[cell] = v, h
        panels.append(Field(", ".join(k), mean, half_widths))
    return heat(panels, (x.title, x.labels), (y.title, y.labels), title)


def _means(lines: Lines, x: Scale, title: str, reference: float | None, named: str) -> Drawing:
    """The figure over an axis of words, with a row for each word."""
    rows = [
        (word, {", ".join(k) or title: mine[word,] for k, mine in lines.items() if (word,) in mine})
        for word in x.labels
    ]
    return of_rows.means(rows, title, reference, named)


@checked
def spread(results: Any, metric: str, /, **where: str) -> Drawing:
    """The empirical distribution of a column over all rows of all runs, a line for each point."""
    check.results("results", results)
    return figure_spread(results, metric, where)


@checked
def boxes(results: Any, metric: str, /, **where: str) -> Drawing:
    """The distributions of `spread` as boxes, with a row for each point."""
    check.results("results", results)
    return figure_spread(results, metric, where, as_boxes=True)


def figure_spread(results: Any, metric: str, where: Mapping[str, str], *, as_boxes: bool = False) -> Drawing:
    """The figure of `spread` or `boxes`."""
    by_run, by_point = all_values(results, metric, where)
    if len(by_point) > (2 * MOST if as_boxes else MOST):
        raise ValueError(_too_many(len(by_point), by_run.runs.labels))
    varying_labels = [i for i in range(len(by_run.runs.labels)) if len({k[i] for k in by_point}) > 1]
    values_by_labels = {tuple(k[i] for i in varying_labels): v for k, v in by_point.items()}
    unit = shown(by_run.unit, np.concatenate(list(values_by_labels.values())) if values_by_labels else [])
    looks_of, title = looks(list(values_by_labels)), label(by_run.title, unit.unit)
    lines = [(looks_of[k], ", ".join(k) or by_run.title, unit.factor * v) for k, v in values_by_labels.items()]
    if as_boxes:
        return of_rows.boxes(lines, title)
    legend_title = ", ".join(
        titles_of(results).get(by_run.runs.labels[i], by_run.runs.labels[i]) for i in varying_labels
    )
    return distributions(lines, title, legend_title=legend_title)


def titles_of(results: Any) -> dict[str, str]:
    """The titles of a stored sweep's axes."""
    folder = folder_of(results)
    return axis_titles(manifest.read(folder).get("sweep")) if folder is not None else {}


def looks(points: list[Name]) -> dict[Name, str]:
    """The name by which each point's look is chosen. Each discipline has its own look; if several points have the same
    discipline, each point has its own look."""
    disciplines = [discipline(k) for k in points]
    alike = len(set(disciplines)) < len(disciplines)
    return {k: ", ".join(k) if alike else name for k, name in zip(points, disciplines, strict=True)}


def _too_many(n: int, by: Sequence[str]) -> str:
    return f"that makes {n} lines, one for each {', '.join(by)}; choose some by --where {by[-1]}=VALUE"


def _said(where: Mapping[str, str]) -> str:
    return ", ".join(f"{k} = {v}" for k, v in where.items())
