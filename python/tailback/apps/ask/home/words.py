"""The answer in sentences, for the terminal and the page alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailback.apps.ask import marks, refine
from tailback.apps.ask.home import traffic, variation
from tailback.apps.ask.home.candidates import MODEM
from tailback.apps.ask.words import capital, joined, quantity
from tailback.core import stats

if TYPE_CHECKING:
    from tailback.apps.ask.home.compared import HomeComparison

#: Where none of this helps.
WIFI = "A queue at home does not help where Wi-Fi is the bottleneck: measure with a cable first."


def question(answer: HomeComparison) -> str:
    """`100/20 Mbps, round trip 30 ms`"""
    line = answer.line
    down, up = line.down_bps / 1e6, line.up_bps / 1e6
    return f"{down:g}/{up:g} Mbps, round trip {line.rtt_s * 1e3:g} ms"


def where(answer: HomeComparison) -> str:
    """Where queues are."""
    line = answer.line
    ways = ", both ways" if line.share.down == line.share.up else ", down and up"
    return (
        f"The modem holds {_size(line.up_buffer)} before the upload, the provider {_size(line.down_buffer)} before the "
        f"download. Each candidate is behind a shaper at home at {line.share} of the line's rate{ways}."
    )


def conditions(answer: HomeComparison) -> str:
    line, times = answer.line, answer.times
    phases = ", ".join(f"{p.title} {p.ends - p.begins:g} s" for p in times.phases)
    ecn = marks.said(line.ecn, {line.sender: line.sender})
    seeds = capital(refine.said(len(answer.seeds)))
    return f"Phases: {phases}; the first quarter of a phase with load is counted apart, as its start. {ecn} {seeds}."


def hosts(answer: HomeComparison) -> str:
    return f"{'; '.join(traffic.said(answer.line))}."


def framing(answer: HomeComparison) -> str:
    """What the link costs, in a sentence."""
    line = answer.line
    share = line.framing.share_of_ip(line.packet)
    if line.framing.link == "unknown":
        return (
            f"The link is unknown, so shapers count each packet as the most costly link would (cake: conservative). "
            f"This leaves {share:.0%} of the shaped rate for full packets. Name the link with --link to get the rest."
        )
    words = line.framing.title
    return f"Packets on {words} carry what the link adds; {share:.1%} of the rate is left for full packets."


def first(answer: HomeComparison) -> str:
    """What one seed of each candidate says."""
    best = answer.best
    grades = f"{answer.grade(MODEM)} to {answer.grade(best)}"
    return f"First answer, from one seed: {best} comes first (grade {grades}). More seeds run now."


def verdict(answer: HomeComparison) -> str:
    """What helps, what it costs, in a sentence or two."""
    if len(answer.seeds) < 2:
        return "One seed gives no interval: nothing here is called better. Ask for --replications 5."
    best = answer.best
    tied = [p.queue for p in answer.ranking.places if p.rank == _rank(answer, best) and p.queue not in (best, MODEM)]
    who = joined([best, *tied], "and")
    verb = "come first, behind a shaper" if tied else "comes first, behind a shaper"
    if not any(d.better == best and MODEM in (d.a, d.b) for d in answer.ranking.differences):
        return f"By no measure is {who} clearly better than the modem alone, over {len(answer.seeds)} seeds."
    parts = [f"{who} {verb}: {_gain(answer, best)} (grade {answer.grade(MODEM)} to {answer.grade(best)})."]
    cost = _cost(answer, best)
    return " ".join([*parts, *([cost] if cost else [])])


def _rank(answer: HomeComparison, name: str) -> int | None:
    return next(p.rank for p in answer.ranking.places if p.queue == name)


def _gain(answer: HomeComparison, best: str) -> str:
    """Latency under load with it and today, each with its interval."""
    with_it, today = (stats.estimate([run.graded for run in answer.runs[name]]) for name in (best, MODEM))
    return f"with {best} a load adds {_ms(with_it)} of latency instead of {_ms(today)}"


def _cost(answer: HomeComparison, best: str) -> str:
    """What is lost in rate."""
    parts = []
    for measure, what in (("goodput_down", "download"), ("goodput_up", "upload")):
        if measure not in answer.ranking.values:
            continue
        lost = stats.paired(answer.ranking.values[measure][MODEM], answer.ranking.values[measure][best])
        if abs(lost.mean) >= 0.005:
            sign = "" if lost.mean > 0 else "-"
            parts.append(f"{sign}{100 * abs(lost.mean):.1f} ± {100 * lost.half_width:.1f} % of the {what}")
    return f"It costs {joined(parts, 'and')}, as shares of the line's rate." if parts else ""


def _ms(e: stats.Mean) -> str:
    places = 0 if abs(e.mean) >= 0.1 else 1
    return f"{1e3 * e.mean:.{places}f} ± {1e3 * e.half_width:.{places}f} ms"


def share_sentence(answer: HomeComparison) -> str:
    """What the shaper's share buys and costs."""
    rows = []
    for share, runs in answer.shares.items():
        goodputs = [
            f"{100 * stats.mean(m.value(run) for run in runs):.0f} % {m.loads}"
            for m in answer.ranking.measures
            if m.loads
        ]
        rows.append(f"{share}: +{1e3 * answer.added_at(share):.3g} ms, {', '.join(goodputs)}")
    seeds = refine.said(min(len(runs) for runs in answer.shares.values()))
    return f"What the share buys with {answer.best} ({seeds}): {'; '.join(rows)}."


def notes(answer: HomeComparison) -> Sequence[str]:
    said = variation.said(answer.line)
    return [*([said] if said else []), WIFI]


def _size(size: int) -> str:
    return quantity("B", size, 3) if size < 1000 else f"{size / 1e6:.3g} MB" if size >= 1e6 else f"{size / 1e3:.3g} kB"
