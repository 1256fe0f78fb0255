"""The answer as one HTML page: what helps, the delay in each phase, the effect of the share, and the lines to paste."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tailback import _core
from tailback.apps.ask import refine, shown
from tailback.apps.ask.home import doing, summary, words
from tailback.apps.ask.home.candidates import FOLLOWER, MINE, MODEM
from tailback.apps.ask.home.traffic import LINE, SHAPER, config
from tailback.core import stats
from tailback.core.scenario.read import inline
from tailback.core.text.plain import plain
from tailback.linux.shaper import OFFLOAD, PROCESSOR, without_cake
from tailback.show import plots
from tailback.show.report.page import Picture, picture, render

if TYPE_CHECKING:
    from tailback.apps.ask.home.compared import HomeComparison

NAME, SCENARIOS = "home.html", "scenarios"
#: The number of points of a curve; each is the largest delay in its part of the run.
POINTS = 400


def write(answer: HomeComparison, folder: Path, kinds: Sequence[str]) -> Path:
    """Writes the page, its figures and the scenario of each candidate into a folder."""
    from tailback.core.text.whole import write_text

    (folder / SCENARIOS).mkdir(parents=True, exist_ok=True)
    for name, document in answer.scenarios.items():
        if answer.candidates[name].maker is None:
            write_text(folder / SCENARIOS / f"{name}.toml", toml(document, name))
    write_text(folder / NAME, page(answer, folder, kinds))
    return folder / NAME


def toml(document: Any, name: str) -> str:
    from tailback.core.scenario.read import load_scenario

    return load_scenario(document, name=f"home line, {name}").toml


def page(answer: HomeComparison, folder: Path, kinds: Sequence[str]) -> str:
    best = answer.best
    setup = answer.setup(best)
    setup_without_cake = None if setup is None or setup == without_cake(setup) else without_cake(setup)
    return render(
        "home.html",
        title=f"What helps on a home line of {words.question(answer)}?",
        question=words.question(answer),
        assumptions=words.assumptions(answer),
        varying=words.varying(answer),
        first_heads=summary.heads(answer),
        first_rows=summary.rows(answer),
        nothing=doing.nothing(answer),
        hosts=words.hosts(answer),
        on_linux=doing.ON_LINUX,
        on_openwrt=doing.ON_OPENWRT,
        check=doing.check(answer),
        not_needed=doing.NOT_NEEDED if words.leave(answer) else "",
        framing=words.framing(answer),
        conditions=words.conditions(answer),
        verdict=words.verdict(answer),
        share=words.share_sentence(answer) if answer.shares else "",
        shares=words.share_table(answer) if answer.shares else [],
        share_heads=[(head, "") for head in words.share_table(answer)[0]] if answer.shares else [],
        autorate=doing.autorate(config(answer.line)) if FOLLOWER in answer.candidates else [],
        heads=shown.heads(answer.ranking),
        rows=_rows(answer),
        several=len(answer.seeds) > 1,
        meanings=[[m.title, m.doc] for m in answer.ranking.measures],
        figures=[f for f in _figures(answer, folder, kinds) if f is not None],
        parameters=_parameters(answer),
        pasted=[_pasted(answer, name) for name in _order(answer)],
        spare=None if setup_without_cake is None else setup_without_cake.discipline,
        processor=PROCESSOR,
        offload=OFFLOAD,
        live=[row for name in answer.candidates for row in live_rows(answer, name)],
        kernel=_kernel(),
        scenario=plain(toml(answer.scenarios[MODEM], MODEM)),
        command=answer.command,
        manifest=[["tailback", _core.__version__], ["seeds", ", ".join(map(str, answer.seeds))]],
    )


def _order(answer: HomeComparison) -> list[str]:
    """The candidates that can be set up, the proposal first."""
    shaped_queues = [p.queue for p in answer.ranking.places if answer.candidates[p.queue].kind]
    return sorted(shaped_queues, key=lambda name: name != answer.best)


def _rows(answer: HomeComparison) -> list[dict[str, Any]]:
    return [
        {"name": p.queue, "grade": answer.grade(p.queue), "where": _where(p.queue), "cells": cells}
        for p, cells in shown.rows(answer.ranking)
    ]


def _where(name: str) -> str:
    return {MODEM: "today, no shaper", MINE: "what you have"}.get(name, "behind a shaper")


def _parameters(answer: HomeComparison) -> list[list[str]]:
    rows = []
    for name, candidate in answer.candidates.items():
        if not candidate.kind:
            rows.append([name, "", "; ".join(candidate.why.values()) or "no shaper: the modem's own queue"])
            continue
        for direction, own in (("up", candidate.up), ("down", candidate.down)):
            settings_text = ", ".join(f"{k} = {inline(v)}" for k, v in own.items() if k not in ("kind", "class"))
            why = "; ".join(candidate.why[k] for k in own if k in candidate.why)
            rows.append([name if direction == "up" else "", f"{direction}: {settings_text or 'defaults'}", why])
    return rows


def _pasted(answer: HomeComparison, name: str) -> dict[str, Any]:
    """The lines of a candidate."""
    lines, block = answer.lines(name), answer.sqm(name)
    return {
        "name": name,
        "follows": answer.candidates[name].follows,
        "why_not": "It is written in Python: no router has it." if lines is None else lines.why_not,
        "script": "" if lines is None else lines.script(),
        "remarks": [] if lines is None else lines.remarks,
        "sqm": "" if block is None else block.block,
        "uci": [] if block is None else block.commands,
        "sqm_undo": [] if block is None else block.undo,
        "sqm_remarks": [] if block is None else block.remarks,
    }


def _has() -> tuple[str, ...]:
    """The queues that the kernel of this machine has."""
    if not sys.platform.startswith("linux"):
        return ()
    from tailback.runs.live.machine import kernel_queues

    return kernel_queues()


def _kernel() -> str:
    """A sentence on the kernel's queues, since the page may be read on another machine."""
    queues_there = [name for name in _has() if name != "ingress"]
    if queues_there:
        return f"the kernel of the machine that wrote this page has {', '.join(queues_there)}"
    return "the machine that wrote this page has no kernel that takes queues (`tailback doctor` says why)"


def live_rows(answer: HomeComparison, name: str) -> list[list[str]]:
    """How a candidate can be run live: in this kernel's queues, in the simulator's box, or only in the model."""
    c = answer.candidates[name]
    if c.maker is not None:
        return [[name, "model only", "a class of Python runs in the simulator"]]
    if "web" in answer.line.traffic:
        return [[name, "model only", "pages of the web have no live form: leave web out of --traffic"]]
    command = f"tailback live {SCENARIOS}/{name}.toml"
    link, needs = _needs(answer, name)
    absent_queues = [need for need in needs if need not in _has()]
    if needs and not absent_queues:
        return [[name, "kernel", f"{command} --kernel {link}"], [name, "our box", command]]
    lacks = f" (the kernel has no {', no '.join(absent_queues)})" if needs else ""
    return [[name, "our box", f"{command}{lacks}"]]


def _needs(answer: HomeComparison, name: str) -> tuple[str, list[str]]:
    """The link whose queue a kernel can run, with the qdiscs that it needs; empty if no kernel can."""
    from tailback.core.scenario.read import load_scenario
    from tailback.runs.live import kernel_queue

    link = SHAPER if answer.candidates[name].shapes else LINE
    try:
        return link, kernel_queue.of(load_scenario(answer.scenarios[name], name=name), link).needs
    except kernel_queue.NotPossible:
        return link, []


def _figures(answer: HomeComparison, folder: Path, kinds: Sequence[str]) -> list[Picture | None]:
    pictures = []
    drawn = [_through_phases(answer), *([_shares(answer)] if answer.shares else []), _distribution(answer)]
    for name, fig, caption in drawn:
        files = plots.save(fig, folder / "figures" / name, kinds, small=True)
        pictures.append(picture(folder, [str(f.relative_to(folder)) for f in files], caption))
    return pictures


def _through_phases(answer: HomeComparison) -> tuple[str, Any, str]:
    curves = []
    for name, runs in answer.runs.items():
        run = runs[0]
        t, v = _largest(run.sent_s, 1e3 * run.round_trips, answer.times.duration_s)
        curves.append((name, t, v))
    spans = [(p.title, p.begins, p.ends) for p in answer.times.phases]
    fig = plots.phases(curves, spans, "round trip (ms)", names=list(answer.runs))
    caption = (
        f"The round trip of a small packet each 20 ms, seed {answer.seeds[0]}, log scale: of each "
        f"{1e3 * answer.times.duration_s / POINTS:.0f} ms the longest. What a shaper cannot prevent is the peak at the "
        "start of the download: slow start fills the provider's buffer before anything is dropped at home."
    )
    return "phases", fig, caption


def _largest(t: np.ndarray, v: np.ndarray, end_s: float) -> tuple[np.ndarray, np.ndarray]:
    """The largest value in each of so many equal parts of a run."""
    bins = np.minimum((t / end_s * POINTS).astype(int), POINTS - 1)
    highest = np.full(POINTS, -math.inf)
    np.maximum.at(highest, bins, v)
    has_value = np.isfinite(highest)
    return (np.flatnonzero(has_value) + 0.5) * end_s / POINTS, highest[has_value]


def _shares(answer: HomeComparison) -> tuple[str, Any, str]:
    def points(of: Any, factor: float) -> list[tuple[float, float, float]]:
        curve = []
        for share, runs in answer.shares.items():
            e = stats.estimate([of(run) for run in runs])
            curve.append((100 * share.up, factor * e.mean, factor * e.half_width))
        return curve

    latency = [plots.as_curve(answer.shares_of, answer.shares_of, points(lambda run: run.graded, 1e3))]
    rates = [plots.as_curve("", m.loads, points(m.value, 100)) for m in answer.ranking.measures if m.loads]
    panels = [
        plots.Panel(latency, "added latency", "added latency (ms)"),
        plots.Panel(rates, "goodput", "goodput (% of the line's rate)"),
    ]
    fig = plots.curves(panels, "shaper's rate (% of the line's)", "", log_x=False, y="own")
    seeds = refine.said(min(len(runs) for runs in answer.shares.values()))
    caption = (
        f"What the share of the shaper buys and costs with {answer.shares_of}: latency that a load adds (mean of "
        f"download and upload), and goodput, from {seeds}. At 100 % a shaper downwards has nothing to do."
    )
    return "shares", fig, caption


def _distribution(answer: HomeComparison) -> tuple[str, Any, str]:
    curves = []
    last_phase = answer.times.last
    for name, runs in answer.runs.items():
        percent = [
            np.percentile(r.phases[last_phase.name].probe, np.arange(101))
            for r in runs
            if len(r.phases[last_phase.name].probe)
        ]
        curves.append((name, name, np.mean(percent, axis=0) if percent else np.empty(0)))
    fig = plots.distributions(
        curves,
        f"round trip, phase: {last_phase.title}",
        "no packet came back",
        seconds=True,
        aside=(answer.line.rtt_s, "the idle line"),
        of="packets",
    )
    caption = (
        "How many of the small packets (upwards) are back within so long (to the right, log scale), under most load. "
        "Means over seeds."
    )
    return "round-trips", fig, caption
