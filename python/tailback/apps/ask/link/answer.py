"""Computes the answer to a question: candidates, runs on all cores, measures, ranking."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tailback import _core
from tailback.apps.ask import refine
from tailback.apps.ask.course import Course
from tailback.apps.ask.given import LinkError
from tailback.apps.ask.link import candidates as known
from tailback.apps.ask.link import measures
from tailback.apps.ask.link.candidates import Candidate
from tailback.apps.ask.link.compared import Comparison
from tailback.apps.ask.link.link import Link, link
from tailback.apps.ask.link.text import opening
from tailback.apps.ask.link.traffic import Times, run_times, scenario
from tailback.apps.ask.ranking import rank
from tailback.apps.ask.trial import Trial, not_failed
from tailback.apps.ask.words import joined
from tailback.core.results.setting import among
from tailback.core.scenario.read import load_scenario
from tailback.core.text import given as check
from tailback.core.text.arguments import checked
from tailback.runs.campaign.errand import whole
from tailback.runs.campaign.memory import threads_of
from tailback.runs.campaign.plan import Plan
from tailback.runs.campaign.progress import Progress, shown

#: The form of a discipline: a name, or a table of a scenario, which may have a `name` for the page.
Given = str | Mapping[str, Any]


@checked
def compare_queues(
    *,
    rate: str,
    rtt: str | Sequence[str] | None = None,
    flows: int | None = None,
    buffer: str | None = None,
    traffic: Sequence[str] | None = None,
    senders: Sequence[Any] | None = None,
    queues: Sequence[Given] | None = None,
    packet: str = "1500B",
    ecn: bool | None = None,
    replications: int = 5,
    sure: bool = False,
    seed: int = 1,
    duration: str | None = None,
    jobs: int = 0,
    out: str | os.PathLike[str] | None = None,
    progress: Progress = None,
    tcp: Mapping[str, Any] | None = None,
    fabric: str | None = None,
    load: float | None = None,
    adapt: str | None = None,
) -> Comparison:
    """Which queue for a link: `queues` side by side with the same traffic and the same seeds.

    There are `flows` long transfers (default 16). The transfers take the round trips of `rtt` and the `senders` in
    turn. `traffic` is any of bulk, web, voice, video and unresponsive (default: all except video). A sender is a name,
    or a class of your own in the form that `tb.congestion` or `tb.stack` takes. A transport of your own has long
    transfers only. A queue is a name, or a table as in a scenario. `tcp` changes the senders of TCP. With `fabric`,
    "leaf-spine" or "fat-tree", the link is every port of the fabric, at a `load` of the hosts' links. With `adapt`, a
    rate control such as "gcc", the call of `voice` also has video, and all video follows the rate control. All queues
    get the same seeds. Seeds are added until the first place is clear (see `tailback.apps.ask.refine`), up to
    `replications`. With `sure`, all `replications` seeds are run. With `out`, runs are stored in this folder, and
    stored runs are not run again. Raises `tailback.comparison.LinkError` for a question that has no answer.

    >>> answer = tb.compare_queues(
    ...     rate="10Mbps", rtt="40ms", flows=2, traffic=["bulk"],
    ...     queues=["droptail", "codel"], replications=2, duration="6s",
    ... )
    >>> sorted(row["queue"] for row in answer.to_dict()["ranking"])
    ['codel', 'droptail']
    """
    for name, names, examples in (
        ("traffic", traffic, '"bulk"'),
        ("senders", senders, '"cubic"'),
        ("queues", queues, '"codel"'),
    ):
        if names is not None:
            check.several(name, names, examples)
    if "congestion" in (tcp or {}):
        raise LinkError("tcp has `congestion`, which `senders` decides; give senders, and leave it out of tcp")
    replications, seed, jobs = check.replications(replications), check.seed(seed), check.jobs(jobs)
    asked = link(
        rate,
        rtt,
        flows,
        buffer=buffer,
        traffic=traffic,
        senders=senders,
        packet=packet,
        ecn=ecn,
        fabric=fabric,
        load=load,
        adapt=adapt,
    )
    return answer(asked, queues, Trial(replications, seed, duration, jobs, out, progress, tcp or {}, sure=sure))


def answer(asked: Link, queues: Sequence[Given] | None, trial: Trial) -> Comparison:
    if queues is None:
        queues, left_out = known.default(asked)
        asked = replace(asked, notes=(*asked.notes, *left_out))
    candidates = _candidates(queues, asked)
    loads = (measures.ALONE, measures.BESIDE) if "unresponsive" in asked.traffic else (measures.ALONE,)
    # The length of a run is chosen so that all seeds have time.
    runs = len(candidates) * len(loads) * trial.replications
    duration = None if trial.duration is None else _duration(trial.duration)
    times = run_times(asked, runs, threads_of(trial.jobs), duration)
    points = []
    scenarios = {}
    for name, candidate in candidates.items():
        for load in loads:
            is_beside = load == measures.BESIDE
            table = scenario(asked, candidate.table(), times, is_beside, trial.tcp, candidate.switch)
            loaded_scenario = load_scenario(table, name=f"compare, {name}")
            points.append(({"queue": name, "load": load}, loaded_scenario))
            if load == measures.ALONE:
                scenarios[name] = loaded_scenario
    warnings = dict.fromkeys(said for loaded_scenario in scenarios.values() for said in loaded_scenario.warnings)
    buffer_notes = [
        *among([({"queue": name}, loaded_scenario) for name, loaded_scenario in scenarios.items()]),
        *_other_buffers(candidates, asked),
    ]
    asked = replace(asked, notes=(*warnings, *buffer_notes, *asked.notes))
    if trial.say is not None:
        least = trial.replications if trial.sure else min(refine.LEAST, trial.replications)
        trial.say(opening(asked, times, refine.said(least, trial.replications)))
    tables_of_sweep = {k: candidate.table() for k, candidate in _sweep(asked, trial).items()}
    sweep_points = [
        ({"queue": _swept(k), "load": measures.ALONE}, load_scenario(loaded_scenario, name=f"compare, K = {k}"))
        for k, loaded_scenario in (
            (k, scenario(asked, table, times, False, trial.tcp)) for k, table in tables_of_sweep.items()
        )
    ]
    elsewhere = [name for name, candidate in candidates.items() if candidate.where]
    unplaced_queues = elsewhere if len(elsewhere) < len(candidates) else []
    judged_measures = measures.asked(asked)
    with shown(trial.progress) as tell:
        trial_runs = _Tried(asked, times, trial, points, Course(trial, tell, len(candidates), each=len(loads)))
        runs_by_queue: dict[str, list[Any]] = {name: [] for name in candidates}
        latest: Comparison | None = None

        def settled() -> bool:
            return latest is not None and latest.ranking.first_is_clear()

        for done_seeds, more_seeds in refine.rounds(trial.replications, settled, sure=trial.sure):
            for name, runs_of in trial_runs.seeds(done_seeds, more_seeds).items():
                runs_by_queue[name] += runs_of
            ranking = rank(runs_by_queue, judged_measures, asked, unplaced_queues)
            seeds = tuple(range(trial.seed, trial.seed + done_seeds + more_seeds))
            shown_runs = {name: list(runs_of) for name, runs_of in runs_by_queue.items()}
            latest = Comparison(ranking, seeds, asked, times, candidates, scenarios, shown_runs, trial.command)
            if done_seeds == 0:
                trial_runs.course.announce(ranking.places[0].queue, times.duration_s)
            if trial.hear is not None:
                trial.hear(latest)
        assert latest is not None
        sweep = trial_runs.run(sweep_points, 0, trial.replications) if tables_of_sweep else {}
        trial_runs.store(latest, sweep_points)
    return replace(latest, sweep={k: sweep[_swept(k)] for k in tables_of_sweep})


class _Tried:
    """The runs of a question. `points` are labels and scenarios: each discipline without and with the unresponsive
    flow."""

    def __init__(
        self, asked: Link, times: Times, trial: Trial, points: Sequence[tuple[dict[str, str], Any]], course: Course
    ) -> None:
        self.asked, self.times, self.trial, self.points, self.course = asked, times, trial, points, course

    def seeds(self, done: int, more: int) -> Mapping[str, list[Any]]:
        """Runs so many further seeds of all disciplines, after the first `done` seeds."""
        return self.run(self.points, done, more)

    def run(self, points: Sequence[tuple[dict[str, str], Any]], done: int, more: int) -> Mapping[str, list[Any]]:
        runs = len(points) * more
        self.course.begin(runs)
        plan = Plan(points, more, self.trial.seed + done)
        results = whole(not_failed(plan.execute(self.trial.out, self.trial.jobs, self.course.far.under_way)))
        self.course.ended(runs, results)
        return measures.views(results, self.asked, self.times.duration_s)

    def store(self, found: Comparison, others: Sequence[tuple[dict[str, str], Any]]) -> None:
        """Writes the tables of all runs together. Until then, only the tables of the last round are in the folder."""
        if self.trial.out is None:
            return
        seeds = [len(found.seeds)] * len(self.points) + [self.trial.replications] * len(others)
        plan = Plan([*self.points, *others], seeds, self.trial.seed)
        whole(plan.execute(self.trial.out, self.trial.jobs))


def _sweep(asked: Link, trial: Trial) -> dict[int, Candidate]:
    """The candidates that mark from a threshold on, at further thresholds, for the page; empty if there is no page."""
    if asked.rack is None or asked.fabric is not None or trial.out is None:
        return {}
    from tailback.apps.ask.link.switches import sweep

    return sweep(asked)


def _swept(k: int) -> str:
    return f"step at {k} packets"


def _candidates(queues: Sequence[Given], asked: Link) -> dict[str, Candidate]:
    candidates: dict[str, Candidate] = {}
    for queue in queues:
        if hasattr(queue, "to_dict"):
            queue = queue.to_dict()
        name, candidate = known.given(queue, asked) if isinstance(queue, Mapping) else known.alone(queue, asked)
        if name in candidates:
            raise LinkError(
                f"queue = {name} is given twice; give one of the two another name: {{ kind = ..., name = ... }}"
            )
        candidates[name] = candidate
    if len(candidates) < 2:
        raise LinkError("queue: name at least two disciplines, or leave it out for the default ones")
    return candidates


def _other_buffers(chosen: Mapping[str, Candidate], asked: Link) -> list[str]:
    """A sentence for each discipline with a buffer other than the link's."""
    buffers = {name: c.table().get("buffer", asked.buffer) for name, c in chosen.items() if not c.switch}
    switch_queues = [name for name, c in chosen.items() if c.switch]
    sentences = []
    if switch_queues and asked.rack is not None:
        idle_text = "" if asked.fabric is not None else ", and the other ports are idle"
        sentences.append(
            f"{joined(switch_queues, 'and')}: the ports of the switch share {asked.rack.memory_bytes / 1e6:.3g} MB by "
            f"dynamic thresholds{idle_text}; the others have a share of {asked.buffer} of their own."
        )
    return sentences + [
        f"{name} has a buffer of {b}, the others {asked.buffer}" for name, b in buffers.items() if b != asked.buffer
    ]


def _duration(text: str) -> float:
    try:
        return float(_core.parse_time(text))
    except (ValueError, TypeError) as e:
        raise LinkError(f"duration = {text}: {e}") from e
