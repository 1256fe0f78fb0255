"""A figure of any result: a recorded quantity against time, or the goodputs of its flows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tailback.means import labels_of
from tailback.plots.against_time import series
from tailback.plots.goodputs import goodput_bars


def plot(result: Any, what: str = "queue", **where: str) -> Figure:
    """A figure of a result: a recorded quantity against time (`queue`, `cwnd`, ...), or `goodput`, each flow a bar.

    Goodput counts payload, as `goodput_bps` does.

    `where` chooses points by label, such as `buffer="200"`. Of several replications the first is drawn.
    """
    if what == "goodput":
        return _goodputs(result.flows, where)
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
        raise ValueError(f'"{what}" was not recorded; recorded: {known}, and "goodput" is always there')
    if "replication" in table.columns:
        rows &= np.asarray(table["replication"]) == 0
    for label, wanted in where.items():
        rows &= np.asarray(table[label], dtype=object) == str(wanted)
    index = np.flatnonzero(rows)
    columns = [table[c] for c in [*labels, "what", "index"]]
    keys = [tuple(str(c[i]) for c in columns) for i in index]
    t, v = np.asarray(table["time_s"]), np.asarray(table["value"])
    groups: dict[tuple[str, ...], list[int]] = {}
    for i, k in zip(index, keys, strict=True):
        groups.setdefault(k, []).append(int(i))
    several_index = len({k[-1] for k in groups}) > 1
    lines = []
    for k, at in groups.items():
        name = ", ".join([*(f"{a} {b}" for a, b in zip(labels, k, strict=False)), k[-2]]) + (
            f" [{k[-1]}]" if several_index else ""
        )
        lines.append((name, t[at], v[at]))
    probes = {(str(thing[i]), str(probe[i])) for i in index}
    units = {_unit(result, *x) for x in probes}
    unit = units.pop() if len(units) == 1 else ""
    return series(lines, f"{what.split()[-1]} ({unit})" if unit else what.split()[-1])


def _unit(result: Any, thing: str, probe: str) -> str:
    """The unit of a recorded quantity of `link.NAME` or `flows.GROUP.N`, from the declaration of the model it is of.

    Tables without their scenario (several points of a plan) have the unit all models agree on, if they do.
    """
    from tailback.reference import describe

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


def _goodputs(flows: Any, where: Mapping[str, str]) -> Figure:
    labels = labels_of(flows)
    keep = np.ones(len(flows), bool)
    if "replication" in flows.columns:
        keep &= np.asarray(flows["replication"]) == 0
    for k, v in where.items():
        keep &= np.asarray(flows[k], dtype=object) == str(v)
    index = np.flatnonzero(keep)
    groups: dict[tuple[str, ...], list[float]] = {}
    goodput = np.asarray(flows["goodput_bps"])
    columns = [flows[c] for c in labels]
    for i in index:
        groups.setdefault(tuple(str(c[i]) for c in columns), []).append(goodput[i] / 1e6)
    shown = list(groups.items())[:12]
    fair = float(np.mean([x for _, v in shown for x in v]))
    fig = goodput_bars([(k[0] if k else "", ", ".join(k), v) for k, v in shown], round(fair, 3))
    for legend in fig.legends:
        legend.get_texts()[0].set_text(f"mean, {fair:.3g} Mbit/s")
    return fig
