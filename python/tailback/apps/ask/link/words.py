"""The answer in sentences, for the terminal and the page alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailback.apps.ask import marks
from tailback.apps.ask.link import fabric
from tailback.apps.ask.link.traffic import Times, said
from tailback.apps.ask.words import capital, joined, quantity
from tailback.linux.shaper import SHARE

if TYPE_CHECKING:
    from tailback.apps.ask.link.compared import Comparison
    from tailback.apps.ask.link.link import Link


def question(link: Link) -> str:
    """`50 Mbps, round trip 40 ms`"""
    if link.fabric is not None:
        return fabric.question(link)
    rtts = ", ".join(f"{rtt * 1e3:g}" for rtt in link.rtts_s[:6])
    if len(link.rtts_s) > 6:
        rtts = f"{link.shortest_rtt_s * 1e3:g} to {link.longest_rtt_s * 1e3:g}"
    trips = "round trip" if len(link.rtts_s) == 1 else "round trips"
    return f"{quantity('bit/s', link.rate_bps)}, {trips} {rtts} ms"


def crossing(link: Link) -> str:
    sentence = f"Across it: {'; '.join(said(link))}."
    if "unresponsive" in link.traffic:
        rate = quantity("bit/s", link.unresponsive_bps)
        sentence += f" In runs of their own, beside all that: a flow of {rate} that does not slow down."
    return sentence


def conditions(link: Link, times: Times, seeds: str) -> str:
    size = f"{link.buffer_packets} packets" if link.buffer_in == "packets" else f"{link.buffer_bytes} B"
    if link.fabric is not None:
        return (
            f"Buffer of a port {size}, {link.buffer_why}. {marks.said(link.ecn, link.congestion)} Flows arrive for "
            f"{times.duration_s * 1e3:.3g} ms ({times.why}), and a run ends when all are done; {seeds}, the same for "
            "all."
        )
    return (
        f"Buffer {size}, {link.buffer_why}. {marks.said(link.ecn, link.congestion)} "
        f"Runs of {times.duration_s:g} s of which the first {times.warmup_s:g} s are not counted ({times.why}), "
        f"{seeds}, the same for all."
    )


def production(link: Link) -> str:
    """A sentence that introduces the lines to paste."""
    return (
        f"On Linux, behind a shaper at {SHARE:.0%} of the line's rate, so that packets wait there (DEV is the device "
        "towards the line). Production values: a buffer that the experiment chose is left to Linux."
    )


def at_first(answer: Comparison) -> str:
    """The first answer, from one seed of each discipline."""
    leading = [p.queue for p in answer.ranking.places if p.rank == 1]
    verb = "comes" if len(leading) == 1 else "come"
    return f"First answer, from one seed: {joined(leading, 'and')} {verb} first. More seeds run now."


def first(answer: Comparison) -> str:
    """A sentence on the first place."""
    places = answer.ranking.places
    if len(answer.seeds) < 2:
        return "One seed gives no interval: nothing here is called better. Ask for --replications 5."
    first_places = [p for p in places if p.rank == 1]
    unranked_queues = [p.queue for p in places if not p.rank]
    if len(first_places) + len(unranked_queues) == len(places):
        return "No discipline is better than another here: no difference is both clear and large enough to matter."
    leader = first_places[0]
    if len(first_places) == 1:
        sentence = (
            f"{leader.queue} comes first: better than another discipline in {leader.better} of {leader.of} "
            f"comparisons, worse in {leader.worse}."
        )
    else:
        leaders = joined([p.queue for p in first_places], "and")
        sentence = f"{leaders} share the first place: they have equal scores (how often better minus how often worse)."
    if not unranked_queues:
        return sentence
    where = answer.candidates[unranked_queues[0]].where
    return f"{sentence} {joined(unranked_queues, 'and')} ({where}) are compared, but have no place."


def against(answer: Comparison) -> str:
    """The measures by which the first is better than drop-tail. If drop-tail is first or missing, the first is compared
    with the last."""
    ranking = answer.ranking
    leader, last_queue = ranking.places[0].queue, [p for p in ranking.places if p.rank][-1].queue
    rival = "droptail" if "droptail" in answer.candidates and leader != "droptail" else last_queue
    clauses = []
    for m in ranking.measures:
        if any(d.measure == m.name and d.better == leader and rival in (d.a, d.b) for d in ranking.differences):
            leader_text, rival_text = (quantity(m.unit, ranking.estimate(m.name, q).mean, 3) for q in (leader, rival))
            clauses.append(f"{m.title} {leader_text} instead of {rival_text}")
    return f"{leader} against {rival}: {'; '.join(clauses)}." if clauses else ""


def by_measure(answer: Comparison) -> list[tuple[str, str]]:
    """For each measure its title, and the disciplines that no other beats."""
    r = answer.ranking
    rows = []
    for measure in r.measures:
        if measure.better is None:
            continue
        best = r.unbeaten(measure.name)
        if not best:
            rows.append((capital(measure.title), "no clear difference"))
        else:
            rows.append((capital(measure.title), joined(best, "and")))
    return rows
