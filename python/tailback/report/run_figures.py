"""Figures of the page of a run or a sweep: curves and maps over axes of numbers, distributions, recorded series."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tailback import plots
from tailback.plots.points import MOST, figure_over, figure_spread, looks
from tailback.result import Result
from tailback.results.means import averages
from tailback.scenario.read import stored

#: The name of its files, the figure, and what it shows.
Drawn = tuple[str, plots.Drawing, str]

#: Of the first link: column, title, scale and unit.
_OF_LINK = (
    ("utilisation", "utilisation", 100, "%"),
    ("loss_rate", "loss", 100, "%"),
    ("mean_queue_packets", "mean queue", 1, "packets"),
)


def figures(folder: Path, results: Any, labels: list[str], titles: Mapping[str, str]) -> list[tuple[list[str], str]]:
    """The files and the caption of each figure; `titles` are those of axes, by their names."""
    out = []
    for name, fig, caption in _all(folder, results, labels, titles):
        files = plots.save(fig, folder / "figures" / name)
        out.append(([str(f.relative_to(folder)) for f in files], caption))
    return out


def _all(folder: Path, results: Any, labels: list[str], titles: Mapping[str, str]) -> Iterator[Drawn]:
    axes = [n for n in labels if len(results.links) and _numbers(results.links[n])]
    points = len(set(results.runs["run"])) // max(1, len(set(results.runs["replication"])))
    if axes:
        yield from _over_axes(results, labels, axes, titles)
    elif len(results.flows) > 1 and points <= MOST:
        said = "Goodput of each flow (payload, without headers), sorted; the line is the mean. First replication."
        yield "goodput", plots.plot(results, "goodput"), said
    if labels and len(results.flows) > len(results.runs):
        yield _distributions(results, labels, titles)
    if len(results.completions) and not labels:
        said = "Completion times by size; bars are medians of the classes. First replication."
        yield "completions", plots.plot(results, "completions"), said
    if len(results.series):
        # With its scenario, if there is one of all runs, the units of what was recorded are known.
        if not labels and (folder / "scenario.toml").is_file():
            results = Result(results, stored(folder / "scenario.toml"))
        for probe in list(dict.fromkeys(results.series["probe"]))[:8]:
            yield f"series-{probe}", plots.plot(results, probe), f"Recorded: {probe}. First replication."


def _over_axes(results: Any, labels: list[str], axes: list[str], titles: Mapping[str, str]) -> Iterator[Drawn]:
    """Curves over the first axis of numbers, and with a second one maps over both."""
    axis, link = axes[0], results.links["name"][0]
    title = titles.get(axis, axis)
    # Without a unit of the axis its labels may have one.
    unit_of_axis = "" if "(" in title else str(results.links[axis][0]).partition(" ")[2]
    xlabel = f"{title} ({unit_of_axis})" if unit_of_axis else title
    for column, name, scale, unit in _OF_LINK:
        lines = _curves(results.links, ("name", link), labels, axis, (column, scale))
        if len(lines) <= MOST:
            fig = plots.curves([plots.Panel(lines)], xlabel, f"{name} of {link} ({unit})", log_x=_wide(lines))
            yield column, fig, f"{name.capitalize()} of {link} over {title}. Bands: 95 % intervals."
    if len(axes) > 1 and _maps(results, axes, labels) <= MOST:
        both = f"{title} and {titles.get(axes[1], axes[1])}"
        for column, name, scale, unit in _OF_LINK:
            fig = figure_over(
                results,
                f"links.{column}",
                axes[:2],
                {"name": link},
                titles=titles,
                shown=(f"{name} ({unit})", float(scale)),
            )
            yield f"map-{column}", fig, f"{name.capitalize()} of {link} ({unit}) over {both}. Means over replications."
    groups = list(dict.fromkeys(results.groups["group"]))[:4]
    drawn = ("goodput_bps_mean", 1e-6)
    panels = [plots.Panel(_curves(results.groups, ("group", g), labels, axis, drawn), g) for g in groups]
    if all(len(p.curves) <= MOST for p in panels):
        fig = plots.curves(panels, xlabel, "goodput a flow (Mbit/s)", log_x=_wide(panels[0].curves))
        yield "goodput", fig, f"Mean goodput of the flows of each group over {title}. Bands: 95 % intervals."


def _maps(results: Any, axes: list[str], labels: list[str]) -> int:
    """How many maps over the first two axes there are: one for each combination of the other labels."""
    others = [results.runs.to_list(n) for n in labels if n not in axes[:2]]
    return len(set(zip(*others, strict=True))) if others else 1


def _distributions(results: Any, labels: list[str], titles: Mapping[str, str]) -> Drawn:
    """How the goodputs of flows are spread, a line a point; of too many the last axes rest in their middle."""
    values = {n: list(dict.fromkeys(map(str, results.runs.to_list(n)))) for n in labels}
    fixed: dict[str, str] = {}
    for name in reversed(labels):
        if math.prod(len(v) for n, v in values.items() if n not in fixed) <= MOST:
            break
        fixed[name] = values[name][len(values[name]) // 2]
    at = "".join(f", {titles.get(n, n)} at {v}" for n, v in reversed(fixed.items()))
    fig = figure_spread(results, "flows.goodput_bps", fixed, ("goodput of a flow (Mbit/s)", 1e-6))
    return "goodput-distribution", fig, f"How the goodputs of all flows are distributed, over all replications{at}."


def _numbers(values: Any) -> bool:
    """Whether labels are numbers, and more than one."""
    distinct = set(values)
    try:
        return len({float(str(v).split()[0]) for v in distinct}) > 1
    except (ValueError, IndexError):
        return False


def _wide(lines: Sequence[plots.Curve]) -> bool:
    xs = [x for c in lines for x in c.x]
    return bool(xs) and min(xs) > 0 and max(xs) / min(xs) >= 8


def _curves(t: Any, of: tuple[str, str], labels: list[str], axis: str, drawn: tuple[str, float]) -> list[plots.Curve]:
    """A column and its scale over an axis, of the rows whose column has a value: a line a point of the other labels."""
    (key, wanted), (column, scale) = of, drawn
    others = [n for n in labels if n != axis]
    lines: dict[tuple[str, ...], list[tuple[float, float, float]]] = {}
    for row in averages(t.where(**{key: wanted}), [*labels, key], columns=[column]):
        half = row.get(f"{column}_ci95", math.nan)
        point = (float(str(row[axis]).split()[0]), row[column] * scale, half * scale)
        lines.setdefault(tuple(str(row[n]) for n in others), []).append(point)
    called = looks(list(lines))
    return [plots.as_curve(called[k], ", ".join(k) or column, sorted(points)) for k, points in lines.items()]
