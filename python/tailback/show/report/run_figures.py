"""Draws the figures of the page of a run or a sweep: curves and maps over axes of numbers, distributions, and recorded
series."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tailback.core.results.axes import scale
from tailback.core.results.columns import tables
from tailback.core.results.expression import ExpressionError
from tailback.core.scenario.read import stored
from tailback.core.stats import mean
from tailback.core.store import manifest
from tailback.show import plots
from tailback.show.plots.points import MOST, figure_over, figure_spread
from tailback.show.plots.topology import lines_of, topology

#: The name of a figure's files, the function that makes the figure, and its caption.
Drawn = tuple[str, Callable[[], plots.Drawing], str]

_MEANS = "Means over replications, bands: 95 % intervals."


def figures(
    folder: Path, results: Any, labels: list[str], titles: Mapping[str, str], kinds: Sequence[str]
) -> list[tuple[list[str], str]]:
    """The files and the caption of each figure; `titles` are the titles of axes, by their names, and `kinds` the kinds
    of files."""
    files_and_captions = []
    for name, make, caption in _all(folder, results, labels, titles):
        try:
            fig = make()
        except ExpressionError:
            # No run has a value for this figure, for example because all runs failed.
            continue
        files = plots.save(fig, folder / "figures" / name, kinds, small=True)
        files_and_captions.append(([str(f.relative_to(folder)) for f in files], caption))
    return files_and_captions


def _all(folder: Path, results: Any, labels: list[str], titles: Mapping[str, str]) -> Iterator[Drawn]:
    axes = [n for n in labels if len(results.links) and len(scale(n, results.links.to_list(n), titles).places) > 1]
    points = len(set(results.runs["run"])) // max(1, len(set(results.runs["replication"])))
    if axes:
        yield from _over_axes(results, labels, axes, titles)
    elif len(results.flows) > 1 and points <= MOST:
        caption = "Goodput of each flow (payload, without headers), sorted; the line is the mean. First replication."
        yield "goodput", functools.partial(plots.plot, results, "goodput"), caption
    if labels and len(results.flows) > len(results.runs):
        yield _distributions(results, labels, titles)
    if len(results.completions) and not labels:
        caption = "Completion times by size; bars are medians of the classes. First replication."
        yield "completions", functools.partial(plots.plot, results, "completions"), caption
    if len(results.layers) and not labels and (folder / "scenario.toml").is_file():
        of_spec = stored(folder / "scenario.toml").spec["links"]
        utilisation_of = {name: mean(of_run) for name, of_run in _utilisations(results).items()}
        caption = (
            "The fabric: hosts at the bottom, switches above. A line is as dark as the direction with more is used."
        )
        yield "topology", functools.partial(topology, lines_of(of_spec, utilisation_of)), caption
    if len(results.slowdowns) and points <= MOST:
        caption = f"Slowdown of flows by size, median and 99th percentile. {_MEANS}"
        yield "slowdowns", functools.partial(plots.plot, results, "slowdowns"), caption
    if len(results.series):
        # If all runs have one scenario, this scenario gives the units of the recorded quantities.
        if not labels and (folder / "scenario.toml").is_file():
            results = _WithScenario(results, folder)
        several = len(set(results.runs["replication"])) > 1
        for probe in list(dict.fromkeys(results.series["probe"]))[:8]:
            caption = f"Recorded: {probe}. {_MEANS if several else ''}".strip()
            yield f"series-{probe}", functools.partial(plots.plot, results, probe), caption


def _utilisations(results: Any) -> dict[str, list[float]]:
    """The utilisations of each direction of a link, one for each run."""
    utilisations: dict[str, list[float]] = {}
    for row in results.links.rows():
        utilisations.setdefault(str(row["name"]), []).append(float(row["utilisation"]))
    return utilisations


class _WithScenario:
    """Tables with the scenario and the manifest of their runs."""

    def __init__(self, tables: Any, folder: Path) -> None:
        self.tables = tables
        self.scenario = stored(folder / "scenario.toml")
        self.manifest = manifest.read(folder)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tables, name)


def _over_axes(results: Any, labels: list[str], axes: list[str], titles: Mapping[str, str]) -> Iterator[Drawn]:
    """Curves over the first axis of numbers, and, if there is a second one, maps over both."""
    axis, link = axes[0], results.links["name"][0]
    title, other_points = titles.get(axis, axis), _others(results, labels, axes[:1])
    of_link = tables()["links"].drawn
    for column in of_link:
        if other_points <= MOST:
            fig = functools.partial(figure_over, results, f"links.{column.name}[{link}]", [axis], {}, titles=titles)
            yield column.name, fig, f"{_capital(column.title)} of {link} over {title}. Bands: 95 % intervals."
    if len(axes) > 1 and _others(results, labels, axes[:2]) <= MOST:
        both_titles = f"{title} and {titles.get(axes[1], axes[1])}"
        for column in of_link:
            fig = functools.partial(figure_over, results, f"links.{column.name}[{link}]", axes[:2], {}, titles=titles)
            caption = (
                f"{_capital(column.title)} of {link} over {both_titles}. Means over replications ± half the 95 % "
                "interval."
            )
            yield f"map-{column.name}", fig, caption
    groups = list(dict.fromkeys(results.groups["group"]))
    if other_points * len(groups) <= MOST:
        for column in tables()["groups"].drawn:
            fig = functools.partial(figure_over, results, f"groups.{column.name}", [axis], {}, titles=titles)
            yield (
                "goodput",
                fig,
                f"{_capital(column.title)} of the flows of each group over {title}. Bands: 95 % intervals.",
            )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _others(results: Any, labels: list[str], axes: list[str]) -> int:
    """The number of combinations of the other labels, each of which has a line or a map."""
    other_labels = [results.runs.to_list(n) for n in labels if n not in axes]
    return len(set(zip(*other_labels, strict=True))) if other_labels else 1


def _distributions(results: Any, labels: list[str], titles: Mapping[str, str]) -> Drawn:
    """The distribution of the goodputs of flows, one line for each point. If there are too many points, the last axes
    are fixed at their middle labels."""
    labels_of_axis = {n: list(dict.fromkeys(map(str, results.runs.to_list(n)))) for n in labels}
    fixed_labels: dict[str, str] = {}
    for name in reversed(labels):
        if math.prod(len(v) for n, v in labels_of_axis.items() if n not in fixed_labels) <= MOST:
            break
        fixed_labels[name] = labels_of_axis[name][len(labels_of_axis[name]) // 2]
    fixed_text = "".join(f", {titles.get(n, n)} at {v}" for n, v in reversed(fixed_labels.items()))
    fig = functools.partial(figure_spread, results, "flows.goodput_bps", fixed_labels)
    return (
        "goodput-distribution",
        fig,
        f"How the goodputs of all flows are distributed, over all replications{fixed_text}.",
    )
