"""The answer as one HTML page: the ranking with its measures, figures, parameters with their reasons, and the lines of
`tc`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tailback import _core
from tailback.apps.ask import refine, shown
from tailback.apps.ask.link import words
from tailback.apps.ask.link.candidates import Candidate
from tailback.apps.ask.link.fabric_measures import LONG, SHORT, SizeRange
from tailback.apps.ask.link.measures import Seed
from tailback.apps.ask.link.production import lines as production
from tailback.apps.ask.link.traffic import UNRESPONSIVE, group
from tailback.apps.ask.words import quantity
from tailback.core import stats
from tailback.core.results.columns import column
from tailback.core.scenario.read import inline
from tailback.core.text.plain import plain
from tailback.show import plots
from tailback.show.report.page import Picture, picture, render

if TYPE_CHECKING:
    from tailback.apps.ask.link.compared import Comparison

NAME = "compare.html"
#: The upper bounds of the size classes of transfers in bytes. A class that has fewer than the second number of
#: transfers in some run is not drawn.
SIZES = (1e3, 1e4, 1e5, 1e6, 1e7)
LEAST = 5


def write(answer: Comparison, folder: Path, kinds: Sequence[str]) -> Path:
    """Writes the page and its figures into a folder."""
    from tailback.core.text.whole import write_text

    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / NAME, page(answer, folder, kinds))
    return folder / NAME


def page(answer: Comparison, folder: Path, kinds: Sequence[str]) -> str:
    candidates = answer.candidates
    lines = [(f"{name} ({c.where})" if c.where else name, *_lines(answer, c)) for name, c in candidates.items()]
    scenario = next(iter(answer.scenarios.values()))
    return render(
        "compare.html",
        title=f"Which queue for {words.question(answer.link)}?",
        question=words.question(answer.link),
        crossing=words.crossing(answer.link),
        conditions=words.conditions(answer.link, answer.times, refine.said(len(answer.seeds))),
        notes=answer.link.notes,
        first=words.first(answer),
        against=words.against(answer),
        leaders=[
            [title, who, meaning]
            for (title, who), meaning in zip(words.by_measure(answer), _meanings(answer), strict=True)
        ],
        heads=shown.heads(answer.ranking),
        rows=_rows(answer),
        several=len(answer.seeds) > 1,
        figures=[f for f in _figures(answer, folder, kinds) if f is not None],
        hosts=_hosts(answer),
        parameters=_parameters(answer),
        lines=lines,
        behind=words.production(answer.link) if answer.link.rack is None else "",
        scenario=plain(scenario.toml),
        scenario_of=next(iter(answer.scenarios)),
        command=answer.command,
        manifest=[["tailback", _core.__version__], ["seeds", ", ".join(map(str, answer.seeds))]],
    )


def _hosts(answer: Comparison) -> str:
    if answer.link.fabric is not None:
        return "Connections of a host take turns at its own port; every port of a switch has the discipline."
    access = "as fast as this one" if answer.link.rack else "ten times as fast as this one"
    return f"Flows are behind lines of their own, {access}."


def _lines(answer: Comparison, c: Candidate) -> tuple[tuple[str, ...], str]:
    """The lines to paste for a discipline, and remarks on them."""
    if answer.link.rack is not None:
        return (f"tc qdisc replace dev DEV root {c.tc}",) if c.tc else (), c.tc_remark
    paste = production(c, answer.link)
    if paste is None:
        return (), c.tc_remark
    unsaid = (f"The lines do not say {', '.join(paste.unsaid)}.",) if paste.unsaid else ()
    return paste.commands, " ".join(dict.fromkeys((*unsaid, *paste.remarks)))


def _parameters(answer: Comparison) -> list[list[str]]:
    """The discipline and its parameters, grouped by reason. Settings that are the same for all disciplines are
    elsewhere on the page."""
    rows = []
    for name, c in answer.candidates.items():
        reasons: dict[str, list[str]] = {}
        for s in c.settings:
            if s.name != "buffer":
                reasons.setdefault(s.why, []).append(f"{s.name} = {inline(s.value)}")
        shown = [[", ".join(settings), why] for why, settings in reasons.items()] or [["", "nothing but the buffer"]]
        rows += [[name if i == 0 else "", *row] for i, row in enumerate(shown)]
    return rows


def _meanings(answer: Comparison) -> list[str]:
    return [m.doc for m in answer.ranking.measures if m.better is not None]


def _rows(answer: Comparison) -> list[dict[str, Any]]:
    return [{"place": place, "cells": cells} for place, cells in shown.rows(answer.ranking)]


def _figures(answer: Comparison, folder: Path, kinds: Sequence[str]) -> list[Picture | None]:
    pictures = []
    if answer.link.fabric is not None:
        figures = [_slowdowns(answer, which) for which in (SHORT, LONG)]
    else:
        figures = [of(answer) for of in (_delays, _waits, _completions, _shares, _thresholds)]
    for name, fig, caption in figures:
        if fig is None:
            continue
        files = plots.save(fig, folder / "figures" / name, kinds, small=True)
        pictures.append(picture(folder, [str(f.relative_to(folder)) for f in files], caption))
    return pictures


def _names(answer: Comparison) -> list[str]:
    return [p.queue for p in answer.ranking.places]


def _slowdowns(answer: Comparison, which: SizeRange) -> tuple[str, Any, str]:
    """Percentiles of the slowdowns of a class of sizes, a line for each discipline."""
    columns = ("slowdown_ideal_p50", "slowdown_ideal_p95", "slowdown_ideal_p99")
    rows = []
    for q in _names(answer):
        p50, p95, p99 = (stats.mean(seed.slowdown(which, c) for seed in answer.runs[q]) for c in columns)
        rows.append((q, p50, p95, p99))
    fig = plots.spans(rows, column("slowdowns", "slowdown_ideal_p50").quantity, (1.0, "the ideal"), seconds=False)
    caption = (
        f"How much longer than the ideal {which.name} flows take ({which.words}): half of them no longer than the dot, "
        "95 and 99 of 100 no longer than the other marks. Left is better."
    )
    return f"slowdowns-{which.name}", fig, caption


def _delays(answer: Comparison) -> tuple[str, Any, str]:
    def quantile(runs: list[Seed], column: str) -> float:
        return stats.mean(float(s.alone.link[column]) for s in runs)

    columns = ("sojourn_p50_s", "sojourn_p95_s", "sojourn_p99_s")
    rows = []
    for q in _names(answer):
        p50, p95, p99 = (quantile(list(answer.runs[q]), c) for c in columns)
        rows.append((q, p50, p95, p99))
    rtt = answer.link.shortest_rtt_s
    fig = plots.spans(rows, column("links", "sojourn_mean_s").quantity, (rtt, "the round trip"))
    caption = (
        "How long packets wait in the queue: half of them no longer than the dot, 95 and 99 of 100 no longer than "
        "the other marks. Left is better. A queue for each flow keeps the wait of a flow that overfills its own queue "
        "away from the others: see the call and the short transfers."
    )
    return "delays", fig, caption


def _waits(answer: Comparison) -> tuple[str, Any, str]:
    """The whole distribution of the time in the queue."""
    curves = []
    for q in _names(answer):
        seeds = [s.alone.waits for s in answer.runs[q] if len(s.alone.waits)]
        curves.append((q, q, np.mean(seeds, axis=0) if seeds else np.empty(0)))
    rtt = answer.link.shortest_rtt_s
    fig = plots.distributions(
        curves,
        column("links", "sojourn_mean_s").quantity,
        "nothing passed the queue",
        seconds=True,
        aside=(rtt, "the round trip"),
        of="packets",
    )
    caption = (
        "The wait of every packet: the share of packets (upwards) that wait no longer than a time (to the right, log "
        "scale). A curve further left is better; a steep curve has similar waits. Waits below a "
        "thousandth of the round trip are at the left edge. Means over seeds."
    )
    return "waits", fig, caption


def _completions(answer: Comparison) -> tuple[str, Any, str]:
    if "web" not in answer.link.traffic:
        return "completions", None, ""
    curves = []
    for queue in _names(answer):
        points = []
        least_bytes = 0.0
        for most_bytes in SIZES:
            medians = []
            for seed in answer.runs[queue]:
                class_times = seed.alone.times[(seed.alone.sizes > least_bytes) & (seed.alone.sizes <= most_bytes)]
                medians.append(float(np.median(class_times)) if len(class_times) >= LEAST else math.nan)
            if not any(map(math.isnan, medians)):
                e = stats.estimate(medians)
                points.append((most_bytes, e.mean, e.half_width))
            least_bytes = most_bytes
        curves.append(plots.as_curve(queue, queue, points))
    fig = plots.curves(
        [plots.Panel(curves)],
        "bytes of the transfer, at most",
        column("completions", "completion_p50_s").title,
        y="seconds",
    )
    caption = (
        "Web transfers: the median completion time by size (up to 1 kB, 10 kB, ...). Lower is better. Bands: "
        "95 % intervals."
    )
    return "completions", fig, caption


def _shares(answer: Comparison) -> tuple[str, Any, str]:
    link = answer.link
    sender_counts = link.senders_of_flows()
    if not sender_counts or link.flows + len(sender_counts) < 3:
        return "shares", None, ""
    kinds = _kinds(answer)
    has_unresponsive = "unresponsive" in link.traffic
    rows = []
    for q in _names(answer):
        shares = [[_share(s, names) for s in answer.runs[q]] for names in kinds.values()]
        if has_unresponsive:
            shares.append([_share_of_unresponsive(s) for s in answer.runs[q]])
        rows.append((q, shares))
    titles = [*kinds, *(["unresponsive flow"] if has_unresponsive else [])]
    fig = plots.shares(rows, titles)
    caption = "Mean goodput of a flow of each kind, in fair shares: 1 is an equal share of the line."
    if has_unresponsive:
        caption += " The unresponsive flow is in separate runs; the others lose there what it takes beyond 1."
    return "shares", fig, caption


def _thresholds(answer: Comparison) -> tuple[str, Any, str]:
    """Utilisation and mean queue over the marking threshold."""
    if not answer.sweep:
        return "thresholds", None, ""

    def curve(column: str, factor: float) -> plots.Curve:
        points = []
        for k, seeds in sorted(answer.sweep.items()):
            e = stats.estimate([factor * float(s.alone.link[column]) for s in seeds])
            points.append((float(k), e.mean, e.half_width))
        return plots.as_curve("step", "step", points)

    panels = [
        plots.Panel([curve("utilisation", 100.0)], ylabel="line in use, %"),
        plots.Panel([curve("mean_queue_packets", 1.0)], ylabel="mean queue, packets"),
    ]
    fig = plots.curves(panels, "marking threshold K, packets", "", y="own")
    caption = (
        "The effect of the marking threshold: below an offload burst the line is not always in use, and above "
        "it only the queue grows. Bands: 95 % intervals."
    )
    return "thresholds", fig, caption


def _kinds(answer: Comparison) -> dict[str, list[str]]:
    """Groups of the long flows by their titles in a figure: by sender, or also by round trip if there is one sender or
    if there are few curves."""
    link = answer.link
    keys = list(link.senders_of_flows())
    if len(link.rtts_s) == 1 or len(keys) > 4:
        groups_of: dict[str, list[str]] = {}
        for sender, rtt in keys:
            groups_of.setdefault(sender, []).append(group(sender, rtt, link))
        if len(groups_of) > 1 or len(link.rtts_s) == 1:
            return groups_of
        ends = {link.shortest_rtt_s: "shortest round trip", link.longest_rtt_s: "longest round trip"}
        return {ends[rtt]: [group(sender, rtt, link)] for sender, rtt in keys if rtt in ends}
    return {f"{sender}, {quantity('s', rtt)}": [group(sender, rtt, link)] for sender, rtt in keys}


def _share(seed: Seed, names: list[str]) -> float:
    flows = seed.long_flows(seed.alone)
    goodputs_of_kind = np.concatenate([seed.alone.goodput[n] for n in names])
    return float(goodputs_of_kind.mean() / flows.mean()) if flows.mean() > 0 else math.nan


def _share_of_unresponsive(seed: Seed) -> float:
    if seed.beside is None:
        return math.nan
    unresponsive_bps = float(seed.beside.goodput[UNRESPONSIVE].sum())
    flows = seed.long_flows(seed.beside)
    fair = (unresponsive_bps + float(flows.sum())) / (1 + len(flows))
    return unresponsive_bps / fair if fair > 0 else math.nan
