"""A figure of any result: a recorded quantity against time, the goodputs of its flows, or completion times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tailback import _core
from tailback.plots.against_time import series
from tailback.plots.completions import Completions, completions
from tailback.plots.goodputs import goodput_bars
from tailback.plots.palette import discipline
from tailback.plots.style import Drawing
from tailback.results.means import labels_of


def plot(result: Any, what: str = "queue", /, **where: str) -> Drawing:
    """A figure of a result: a recorded quantity against time (`queue`, `cwnd`, ...); `goodput`, each flow a bar; or
    `completions`, times of transfers and pages against their sizes and as distributions.

    Goodput counts payload, as `goodput_bps` does.

    `where` chooses points by label, such as `buffer="200"`. Of several replications the first is drawn.
    """
    if what == "goodput":
        return _goodputs(result, where)
    if what == "completions":
        return _completions(result, where)
    table = result.series
    if len(table) == 0:
        raise ValueError(
            f'nothing was recorded, so there is no "{what}" to draw; add to the scenario, for example: '
            '[record.queue] link = "bottleneck", probes = ["queue"], every = "10ms"'
        )
    labels = labels_of(table)
    probe, thing = np.asarray(table["probe"], dtype=object), np.asarray(table["what"], dtype=object)
    rows = (probe == what) | ((thing + " " + probe) == what)
    if not rows.any():
        known = ", ".join(sorted(set(probe.tolist())))
        raise ValueError(
            f'"{what}" was not recorded; recorded: {known}; there is always "goodput", and with transfers "completions"'
        )
    index = np.flatnonzero(rows & _chosen(table, where))
    columns = [table[c] for c in [*labels, "what", "index"]]
    keys = [tuple(str(c[i]) for c in columns) for i in index]
    t, v = np.asarray(table["time_s"]), np.asarray(table["value"])
    groups: dict[tuple[str, ...], list[int]] = {}
    for i, k in zip(index, keys, strict=True):
        groups.setdefault(k, []).append(int(i))
    several_index = len({k[-1] for k in groups}) > 1
    lines, names = [], []
    for k, at in groups.items():
        name = ", ".join([*(f"{a} {b}" for a, b in zip(labels, k, strict=False)), k[-2]]) + (
            f" [{k[-1]}]" if several_index else ""
        )
        lines.append((name, t[at], v[at]))
        names.append(discipline(k[:-2]) if labels else _of_scenario(result, k[-2]))
    probes = {(str(thing[i]), str(probe[i])) for i in index}
    units = {_unit(result, *x) for x in probes}
    unit = units.pop() if len(units) == 1 else ""
    names = names if len(set(names)) == len(names) else []
    title = f"{what.split()[-1]} ({unit})" if unit else what.split()[-1]
    return series(lines, title, names=names, why_none=_no_rows(where))


def _unit(result: Any, thing: str, probe: str) -> str:
    """The unit of a recorded quantity of `link.NAME` or `flows.GROUP.N`, from the declaration of the model it is of.

    Tables without their scenario (several points of a plan) have the unit all models agree on, if they do.
    """
    from tailback.scenario.reference import describe

    family, name = ("queue", thing[len("link.") :]) if thing.startswith("link.") else ("transport", thing.split(".")[1])
    models = [describe("link" if family == "queue" else "flows")[0]]
    scenario = getattr(result, "scenario", None)
    if scenario is None:
        named = next(f["models"] for f in describe() if f["family"] == family)
    else:
        key = "links" if family == "queue" else "flows"
        named = [{"name": x[family]} for x in scenario.spec[key] if x["name"] == name]
    models += [m for x in named for m in describe(x["name"]) if m["family"] == family]
    units = {p["unit"] for m in models for p in m["probes"] if p["name"] == probe}
    unit = units.pop() if len(units) == 1 else ""
    if unit == "unit of the buffer":
        buffers = [x["buffer"] for x in scenario.spec["links"] if x["name"] == name] if scenario is not None else []
        unit = "bytes" if buffers and buffers[0].endswith("B") else "packets" if buffers else unit
    return "" if unit == "1" else unit


def _chosen(table: _core.Table, where: Mapping[str, str]) -> np.ndarray:
    """The rows of the first replication at the points that `where` chooses."""
    keep = np.ones(len(table), bool)
    if "replication" in table.columns:
        keep &= np.asarray(table["replication"]) == 0
    for label, wanted in where.items():
        if label not in table:
            known = ", ".join(labels_of(table))
            raise ValueError(f'there is no label "{label}"; ' + (f"labels are {known}" if known else "there is none"))
        keep &= np.asarray([str(x) == str(wanted) for x in table.to_list(label)], bool)
    return keep


def _no_rows(where: Mapping[str, str]) -> str:
    chosen = ", ".join(f"{k} = {v}" for k, v in where.items())
    return f"nothing to draw: there are no rows with {chosen}" if chosen else "nothing to draw: there are no rows"


def _of_scenario(result: Any, link: str = "") -> str:
    """The discipline of a link of the scenario, `link.NAME`; of the first without a name."""
    scenario = getattr(result, "scenario", None)
    if scenario is None or (link and not link.startswith("link.")):
        return ""
    name = link[len("link.") :]
    return next((str(x["queue"]) for x in scenario.spec["links"] if not name or x["name"] == name), "")


def _goodputs(result: Any, where: Mapping[str, str]) -> Drawing:
    flows = result.flows
    labels = labels_of(flows)
    index = np.flatnonzero(_chosen(flows, where))
    groups: dict[tuple[str, ...], list[float]] = {}
    goodput = np.asarray(flows["goodput_bps"])
    columns = [flows[c] for c in labels]
    for i in index:
        groups.setdefault(tuple(str(c[i]) for c in columns), []).append(goodput[i] / 1e6)
    shown = list(groups.items())[:12]
    fair = float(np.mean([x for _, v in shown for x in v])) if shown else 0.0
    # Several panels of one discipline differ by their titles.
    bars = [(discipline(k) if k else _of_scenario(result), ", ".join(k), v) for k, v in shown]
    fig = goodput_bars(bars, round(fair, 3))
    for legend in fig.legends:
        legend.get_texts()[0].set_text(f"mean, {fair:.3g} Mbit/s")
    return fig


def _completions(result: Any, where: Mapping[str, str]) -> Drawing:
    """A row of panels for each group, and for its transfers and its pages; six at most."""
    classes: dict[tuple[str, str], list[tuple[str, float, float]]] = {}
    for row in result.completions.rows():
        edges = row["bytes_over"], row["bytes_to"]
        if row["sizes"] != "all":
            known = classes.setdefault((row["group"], row["what"]), [])
            known.append((row["sizes"], edges[0], np.inf if np.isnan(edges[1]) else edges[1]))
    panels = []
    for (group, what), found in classes.items():
        table = getattr(result, what)
        mine = np.asarray([g == group for g in table.to_list("group")], bool) & _chosen(table, where)
        sizes, times = np.asarray(table["bytes"], float)[mine], np.asarray(table["completion_s"])[mine]
        unfinished = int(np.isnan(times).sum())
        said = f", {unfinished} of {len(times)} not finished" if unfinished else ""
        several = sorted(dict.fromkeys(found), key=lambda c: c[1])
        panels.append(Completions(f"{group}: {what}{said}", sizes, times, several))
    if not panels:
        return completions([], 'nothing to draw: no session and no traffic = "transfer" asked for anything')
    return completions(panels[:6], _no_rows(where))
