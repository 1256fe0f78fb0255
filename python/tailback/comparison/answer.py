"""From the question to the answer: candidates, runs on all cores, measures, ranking."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tailback import _core
from tailback.ask.given import LinkError
from tailback.ask.ranking import rank
from tailback.ask.trial import Trial, not_failed
from tailback.ask.words import joined
from tailback.campaign.errand import whole
from tailback.campaign.memory import threads_of
from tailback.campaign.plan import Plan
from tailback.campaign.progress import Progress
from tailback.comparison import candidates as known
from tailback.comparison import measures
from tailback.comparison.candidates import Candidate
from tailback.comparison.compared import Comparison
from tailback.comparison.link import Link, link
from tailback.comparison.text import opening
from tailback.comparison.traffic import run_times, scenario
from tailback.results.setting import among
from tailback.scenario.read import load_scenario
from tailback.text import given as check
from tailback.text.arguments import checked

#: What is taken for a discipline: a name, or a table as a scenario has it, with `name` for its name on the page.
Given = str | Mapping[str, Any]


@checked
def compare_queues(
    *,
    rate: str,
    rtt: str | Sequence[str],
    flows: int,
    buffer: str | None = None,
    traffic: Sequence[str] | None = None,
    senders: Sequence[Any] | None = None,
    queues: Sequence[Given] | None = None,
    packet: str = "1500B",
    ecn: bool | None = None,
    replications: int = 5,
    seed: int = 1,
    duration: str | None = None,
    jobs: int = 0,
    out: str | os.PathLike[str] | None = None,
    progress: Progress = None,
    tcp: Mapping[str, Any] | None = None,
) -> Comparison:
    """Which queue for a link: `queues` side by side with the same traffic and the same seeds.

    `rtt` may be several; flows take them, and the `senders`, in turn. `traffic` is of bulk, web, voice, unresponsive:
    all unless named. A sender is a name, or a class of your own, as `tb.congestion` takes it. A queue is a name, or a
    table as in a scenario. `tcp` changes the senders. With `out`, runs are stored there, and stored runs are not run
    again. Raises `tailback.comparison.LinkError` for a question that has no answer.

    >>> answer = tb.compare_queues(
    ...     rate="10Mbps", rtt="40ms", flows=2, traffic=["bulk"],
    ...     queues=["droptail", "codel"], replications=2, duration="6s",
    ... )
    >>> sorted(row["queue"] for row in answer.to_dict()["ranking"])
    ['codel', 'droptail']
    """
    for name, given, like in (
        ("traffic", traffic, '"bulk"'),
        ("senders", senders, '"cubic"'),
        ("queues", queues, '"codel"'),
    ):
        if given is not None:
            check.several(name, given, like)
    if "congestion" in (tcp or {}):
        raise LinkError("tcp has `congestion`, which `senders` decides; give senders, and leave it out of tcp")
    replications, seed, jobs = check.replications(replications), check.seed(seed), check.jobs(jobs)
    asked = link(rate, rtt, flows, buffer=buffer, traffic=traffic, senders=senders, packet=packet, ecn=ecn)
    return answer(asked, queues, Trial(replications, seed, duration, jobs, out, progress, tcp or {}))


def answer(asked: Link, queues: Sequence[Given] | None, trial: Trial) -> Comparison:
    if queues is None:
        queues, left_out = known.default(asked)
        asked = replace(asked, notes=(*asked.notes, *left_out))
    chosen = _candidates(queues, asked)
    loads = (measures.ALONE, measures.BESIDE) if "unresponsive" in asked.traffic else (measures.ALONE,)
    runs = len(chosen) * len(loads) * trial.replications
    duration = None if trial.duration is None else _duration(trial.duration)
    times = run_times(asked, runs, threads_of(trial.jobs), duration)
    points = []
    scenarios = {}
    for name, candidate in chosen.items():
        for load in loads:
            beside = load == measures.BESIDE
            table = scenario(asked, candidate.table(), times, beside, trial.tcp, candidate.switch)
            made = load_scenario(table, name=f"compare, {name}")
            points.append(({"queue": name, "load": load}, made))
            if load == measures.ALONE:
                scenarios[name] = made
    warned = dict.fromkeys(said for made in scenarios.values() for said in made.warnings)
    unequal = [*among([({"queue": name}, made) for name, made in scenarios.items()]), *_other_buffers(chosen, asked)]
    asked = replace(asked, notes=(*warned, *unequal, *asked.notes))
    seeds = tuple(range(trial.seed, trial.seed + trial.replications))
    if trial.say is not None:
        trial.say(opening(asked, times, seeds))
    swept = _sweep(asked, trial)
    for k, candidate in swept.items():
        table = scenario(asked, candidate.table(), times, False, trial.tcp)
        points.append(({"queue": _swept(k), "load": measures.ALONE}, load_scenario(table, name=f"compare, K = {k}")))
    results = Plan(points, trial.replications, trial.seed).execute(trial.out, trial.jobs, trial.progress)
    found = measures.views(whole(not_failed(results)), asked, times.duration_s)
    seen = {name: found[name] for name in chosen}
    elsewhere = [name for name, candidate in chosen.items() if candidate.where]
    ranking = rank(seen, measures.asked(asked), asked, elsewhere if len(elsewhere) < len(chosen) else ())
    sweep = {k: found[_swept(k)] for k in swept}
    return Comparison(ranking, seeds, asked, times, chosen, scenarios, seen, trial.command, sweep)


def _sweep(asked: Link, trial: Trial) -> dict[int, Candidate]:
    """Thresholds of a step that the page shows beside the default, where there is a page."""
    if asked.rack is None or trial.out is None:
        return {}
    from tailback.comparison.switches import sweep

    return sweep(asked)


def _swept(k: int) -> str:
    return f"step at {k} packets"


def _candidates(queues: Sequence[Given], asked: Link) -> dict[str, Candidate]:
    chosen: dict[str, Candidate] = {}
    for queue in queues:
        if hasattr(queue, "to_dict"):
            queue = queue.to_dict()
        name, made = known.given(queue, asked) if isinstance(queue, Mapping) else known.alone(queue, asked)
        if name in chosen:
            raise LinkError(
                f"queue = {name} stands there twice; give one of them a name of its own: {{ kind = ..., name = ... }}"
            )
        chosen[name] = made
    if len(chosen) < 2:
        raise LinkError("queue: name at least two disciplines, or leave it out for the default ones")
    return chosen


def _other_buffers(chosen: Mapping[str, Candidate], asked: Link) -> list[str]:
    """A sentence for each discipline whose buffer is not that of the link."""
    own = {name: c.table().get("buffer", asked.buffer) for name, c in chosen.items() if not c.switch}
    shared = [name for name, c in chosen.items() if c.switch]
    told = []
    if shared and asked.rack is not None:
        told.append(
            f"{joined(shared, 'and')}: the ports of the switch share {asked.rack.memory_bytes / 1e6:.3g} MB by dynamic "
            f"thresholds, and the other ports are idle; the others have a share of {asked.buffer} of their own."
        )
    return told + [
        f"{name} has a buffer of {b}, the others {asked.buffer}" for name, b in own.items() if b != asked.buffer
    ]


def _duration(text: str) -> float:
    try:
        return float(_core.parse_time(text))
    except (ValueError, TypeError) as e:
        raise LinkError(f"duration = {text}: {e}") from e
