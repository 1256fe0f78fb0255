"""Draws a figure of any result: a recorded quantity against time, the goodputs of its flows, or completion times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tailback import _core
from tailback.core.results.expression import ExpressionError, parse
from tailback.core.results.means import labels_of
from tailback.core.results.measured import PlanRuns
from tailback.core.results.quantities import label, shown
from tailback.core.results.reading import pieces
from tailback.core.scenario.controls import KINDS
from tailback.core.scenario.own_probes import own_units
from tailback.core.text import given as check
from tailback.core.text.arguments import checked
from tailback.show.plots.against_time import series
from tailback.show.plots.completions import Completions, completions
from tailback.show.plots.delays import delays, is_delay
from tailback.show.plots.distributions import Cumulative, cumulative
from tailback.show.plots.goodputs import goodput_bars, goodputs_by_kind
from tailback.show.plots.palette import discipline
from tailback.show.plots.points import figure_spread, is_metric, titles_of
from tailback.show.plots.recorded import GOODPUT_OVER_TIME, by_line, distribution, over_seeds, tracks, where_of
from tailback.show.plots.slowdowns import slowdowns, slowdowns_of
from tailback.show.plots.style import Drawing

#: The most panels of a figure of goodputs.
MOST_PANELS = 12


@checked
def plot(result: Any, what: str = "queue", /, *, cdf: bool = False, **where: str) -> Drawing:
    """A figure of a result: a recorded quantity against time (`queue`, `cwnd`, ..., `cwnd[bbr.0]`); `goodput`, with a
    bar for each flow in the colour of its group; `goodput-over-time`, the goodput of each group in each interval;
    `completions`, the times of transfers and pages against their sizes and as distributions; `slowdowns` of workloads
    by size; the distribution of `sojourn`, `delay` or `round_trip`, which every run has; or an expression of columns,
    as boxes or distributions.

    With several replications a recorded quantity is drawn as its mean with the 95 % band; `replication="0"` draws the
    first alone. `cdf` draws the distribution of its values instead. `where` chooses points by label, such as
    `buffer="200"`. Goodput counts payload, as `goodput_bps` does; its bars are of the first replication.
    """
    check.results("result", result)
    if what == "goodput":
        return _goodputs(result, where)
    if what == "completions":
        return _completions(result, where)
    if what == "slowdowns":
        return slowdowns(slowdowns_of(result, where), "nothing to draw: there are no workloads with these labels")
    if is_delay(what):
        return delays(result, what, **where)
    if is_metric(what):
        return figure_spread(result, what, where)
    return _recorded(result, what, where, cdf)


def _recorded(result: Any, what: str, where: Mapping[str, str], cdf: bool) -> Drawing:
    where, replication = dict(where), where.get("replication")
    where.pop("replication", None)
    runs = PlanRuns.of(result, where)
    where_of(where, runs)
    if replication is not None:
        runs.counted[np.asarray(result.runs["replication"]).astype(str) != str(replication)] = False
    recorded_tracks = tracks(result, what, runs)
    if not recorded_tracks:
        raise ValueError(_not_recorded(result, what))
    several_index = len({x.index for x in recorded_tracks}) > 1
    of_points = by_line(recorded_tracks, runs)
    varying_labels = [i for i, _ in enumerate(runs.labels) if len({k[0][i] for k in of_points}) > 1]
    several_things = len({x.what for x in recorded_tracks}) > 1
    probe = "goodput" if what == GOODPUT_OVER_TIME else what.partition("[")[0].split()[-1]
    units = {"bit/s"} if what == GOODPUT_OVER_TIME else {_unit(result, x.what, probe) for x in recorded_tracks}
    unit = shown(units.pop() if len(units) == 1 else "", np.concatenate([x.v for x in recorded_tracks]))
    lines, names, halves = [], [], []
    for (point, object_name, index), seeds in of_points.items():
        words = [point[i] for i in varying_labels] + ([object_name] if several_things or not varying_labels else [])
        t, v, half = (
            distribution(seeds) if cdf else over_seeds(seeds) if len(seeds) > 1 else (seeds[0].t, seeds[0].v, None)
        )
        name = ", ".join(words) + (f" [{index}]" if several_index else "")
        lines.append((name, unit.factor * t if cdf else t, v if cdf else unit.factor * v))
        halves.append(half if cdf or half is None else unit.factor * half)
        names.append(discipline(point) if runs.labels else _of_scenario(result, object_name))
    names = names if len(set(names)) == len(names) else []
    title = label(probe.replace("_", " "), unit.unit)
    legend_title = ", ".join(titles_of(result).get(runs.labels[i], runs.labels[i]) for i in varying_labels)
    if cdf:
        looks_of = names or [""] * len(lines)
        cumulatives = [Cumulative(n, *line, h) for n, line, h in zip(looks_of, lines, halves, strict=True)]
        return cumulative(cumulatives, title, "the time", legend_title=legend_title)
    return series(lines, title, names=names, halves=halves, legend_title=legend_title)


def _not_recorded(result: Any, what: str) -> str:
    if what == GOODPUT_OVER_TIME:
        return 'there are no intervals to draw; add to the scenario, for example: interval = "500ms"'
    if set(what) & set("()[]+*/") or ("." in what and " " not in what):
        try:
            parse(what)
        except ExpressionError as e:
            return str(e)
    probes = sorted({x for piece in pieces(result, "series", ["probe"]) for x in set(piece["probe"].tolist())})
    if not probes:
        return (
            f'nothing was recorded, so there is no "{what}" to draw; add to the scenario, for example: '
            '[record.queue] link = "bottleneck", probes = ["queue"], every = "10ms"'
        )
    return (
        f'"{what}" was not recorded; recorded: {", ".join(probes)}; there are always goodput, sojourn and delay, with '
        "transfers completions, with intervals goodput-over-time, and columns such as links.utilisation"
    )


def _unit(result: Any, thing: str, probe: str) -> str:
    """The unit of a recorded quantity of `link.NAME` or `flows.GROUP.N`, from the declaration of its model.

    For tables without their scenario (several points of a plan) it is the unit that all models give, if they agree.
    """
    from tailback.core.scenario.reference import describe

    scenario = getattr(result, "scenario", None)
    of_link = thing.startswith("link.")
    family, name = ("queue", thing[len("link.") :]) if of_link else ("transport", thing.split(".")[1])
    inner_kinds = [] if of_link else [kind for kind in KINDS if kind.family != family]
    models_of = {f["family"]: [m["name"] for m in f["models"]] for f in describe()}
    if scenario is not None:
        kinds_here = {x[family] for x in scenario.spec["links" if of_link else "flows"] if x["name"] == name}
        models_of[family] = [m for m in models_of[family] if m in kinds_here]
        # `spec` does not have the control of a flow, so the control may be any that its transport can have.
        inner_kinds = [kind for kind in inner_kinds if kind.transport in kinds_here]
    outer = [describe("link" if of_link else "flows")[0], *_described(models_of[family], family)]
    own_units = _own_units(result, scenario)
    inner_models = [m for kind in inner_kinds for m in _described(models_of[kind.family], kind.family)]
    unit = _agreed(outer, probe) or own_units.get(probe, "") or _agreed(inner_models, probe)
    if unit == "unit of the buffer":
        buffers = [x["buffer"] for x in scenario.spec["links"] if x["name"] == name] if scenario is not None else []
        unit = "bytes" if buffers and buffers[0].endswith("B") else "packets" if buffers else unit
    return "" if unit == "1" else unit


def _described(names: Iterable[str], family: str) -> list[Any]:
    from tailback.core.scenario.reference import describe

    return [m for name in names for m in describe(name) if m["family"] == family]


def _agreed(models: Iterable[Any], probe: str) -> str:
    """The unit that these models give a probe; empty if the units differ or no model has the probe."""
    units = {p["unit"] for m in models for p in m["probes"] if p["name"] == probe}
    return str(units.pop()) if len(units) == 1 else ""


def _own_units(result: Any, scenario: Any) -> dict[str, str]:
    """Units of the probes of a user's own classes, from the class or from the manifest of the stored runs."""
    stored_units = getattr(result, "manifest", {}).get("units", {})
    return stored_units if scenario is None else {**stored_units, **own_units([scenario])}


def _chosen(table: _core.Table, where: Mapping[str, str]) -> np.ndarray:
    """The rows of the first replication at the points that `where` chooses."""
    is_kept = np.ones(len(table), bool)
    if "replication" in table.columns:
        is_kept &= np.asarray(table["replication"]) == 0
    for name, wanted_label in where.items():
        if name not in table:
            labels = ", ".join(labels_of(table))
            raise ValueError(f'there is no label "{name}"; ' + (f"labels are {labels}" if labels else "there is none"))
        is_kept &= np.asarray([str(x) == str(wanted_label) for x in table.to_list(name)], bool)
    return is_kept


def _no_rows(where: Mapping[str, str]) -> str:
    chosen = ", ".join(f"{k} = {v}" for k, v in where.items())
    return f"nothing to draw: there are no rows with {chosen}" if chosen else "nothing to draw: there are no rows"


def _of_scenario(result: Any, link: str = "") -> str:
    """The discipline of the scenario's link `link.NAME`; without a name, that of the first link."""
    scenario = getattr(result, "scenario", None)
    if scenario is None or (link and not link.startswith("link.")):
        return ""
    name = link[len("link.") :]
    return next((str(x["queue"]) for x in scenario.spec["links"] if not name or x["name"] == name), "")


def _goodputs(result: Any, where: Mapping[str, str]) -> Drawing:
    flows = result.flows
    labels = labels_of(flows)
    index = np.flatnonzero(_chosen(flows, where))
    panels: dict[tuple[str, ...], dict[str, list[float]]] = {}
    unit = shown("bit/s", flows["goodput_bps"])
    goodput = unit.factor * np.asarray(flows["goodput_bps"])
    columns, group_of_flow = [flows[c] for c in labels], flows.to_list("group")
    for i in index:
        panel = panels.setdefault(tuple(str(c[i]) for c in columns), {})
        panel.setdefault(group_of_flow[i], []).append(goodput[i])
    first_panels = list(panels.items())[:MOST_PANELS]
    goodputs = [x for _, kinds in first_panels for v in kinds.values() for x in v]
    mean = float(np.mean(goodputs)) if goodputs else 0.0
    if any(len(kinds) > 1 for _, kinds in first_panels):
        return goodputs_by_kind([(", ".join(k), kinds) for k, kinds in first_panels], mean, unit.unit, called="mean")
    # The titles distinguish several panels of one discipline.
    bars = [
        (discipline(k) if k else _of_scenario(result), ", ".join(k), v)
        for k, kinds in first_panels
        for v in kinds.values()
    ]
    return goodput_bars(bars, mean, unit.unit, called="mean")


def _completions(result: Any, where: Mapping[str, str]) -> Drawing:
    """A row of panels for each group, with separate rows for transfers and pages; at most six rows."""
    classes: dict[tuple[str, str], list[tuple[str, float, float]]] = {}
    for row in result.completions.rows():
        edges = row["bytes_over"], row["bytes_to"]
        if row["sizes"] != "all":
            bounds = classes.setdefault((row["group"], row["what"]), [])
            bounds.append((row["sizes"], edges[0], np.inf if np.isnan(edges[1]) else edges[1]))
    panels = []
    groups_named = {group for what in ("transfers", "pages") for group in getattr(result, what).to_list("group")}
    for (group, what), bounds_of_group in classes.items():
        table = getattr(result, what)
        # A name in the table of completions that no group has stands for all groups together.
        chosen = np.asarray([g == group or group not in groups_named for g in table.to_list("group")], bool)
        chosen &= _chosen(table, where)
        sizes, times = np.asarray(table["bytes"], float)[chosen], np.asarray(table["completion_s"])[chosen]
        unfinished_count = int(np.isnan(times).sum())
        ending = f", {unfinished_count} of {len(times)} not finished" if unfinished_count else ""
        several = sorted(dict.fromkeys(bounds_of_group), key=lambda c: c[1])
        panels.append(Completions(f"{group}: {what}{ending}", sizes, times, several))
    if not panels:
        return completions([], 'nothing to draw: no session and no traffic = "transfer" asked for anything')
    return completions(panels[:6], _no_rows(where))
