"""From the question to the answer: candidates, runs on all cores, measures, ranking."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.choose import candidates as known
from tailback.choose import measures
from tailback.choose.candidates import Candidate
from tailback.choose.compared import Compared
from tailback.choose.link import Link, LinkError, link
from tailback.choose.ranking import CONFIDENCE, rank
from tailback.choose.traffic import run_times, scenario
from tailback.progress import Progress

#: What is taken for a discipline: a name, or a table as a scenario has it, with `name` for its name on the page.
Given = str | Mapping[str, Any]


@dataclass(frozen=True)
class Answer(Compared):
    """Disciplines side by side on a link, and how to show them."""

    def text(self, width: int | None = None) -> str:
        """The answer for a terminal."""
        from tailback.choose.text import text

        return text(self, width)

    def write_page(self, folder: str | os.PathLike[str]) -> Path:
        """One HTML file that needs nothing else, and its figures beside it; gives back its path."""
        from tailback.choose.page import write

        return write(self, Path(folder))

    def to_dict(self) -> dict[str, Any]:
        """What `tailback compare --json` prints."""
        from tailback.document import clean

        r = self.ranking
        estimates = {m.name: {q: r.estimate(m.name, q) for q in self.candidates} for m in r.measures}
        document = {
            "version": _core.__version__,
            "command": self.command,
            "link": {
                "rate_bps": self.link.rate_bps,
                "rtts_s": list(self.link.rtts_s),
                "flows": self.link.flows,
                "traffic": list(self.link.traffic),
                "senders": list(self.link.senders),
                "packet_bytes": self.link.packet_bytes,
                "buffer_bytes": self.link.buffer_bytes,
                "ecn": self.link.ecn,
                "unresponsive_bps": self.link.unresponsive_bps if "unresponsive" in self.link.traffic else None,
                "notes": list(self.link.notes),
            },
            "duration_s": self.times.duration_s,
            "warmup_s": self.times.warmup_s,
            "seeds": list(self.seeds),
            "confidence_of_better": CONFIDENCE,
            "measures": [
                {
                    "name": m.name,
                    "title": m.title,
                    "unit": "1" if m.unit == "%" else m.unit,
                    "better": m.better,
                    "meaning": m.doc,
                }
                for m in r.measures
            ],
            "ranking": [
                {
                    "rank": p.rank,
                    "queue": p.queue,
                    "better": p.better,
                    "worse": p.worse,
                    "of": p.of,
                    "values": {m.name: estimates[m.name][p.queue].mean for m in r.measures},
                    "ci95": {m.name: estimates[m.name][p.queue].half_width for m in r.measures},
                    "unbeaten": [m.name for m in r.measures if p.queue in r.unbeaten(m.name)],
                    "parameters": {s.name: s.value for s in self.candidates[p.queue].settings},
                    "why": {s.name: s.why for s in self.candidates[p.queue].settings},
                    "tc": self.candidates[p.queue].tc,
                }
                for p in r.places
            ],
            "differences": [
                {
                    "measure": d.measure,
                    "a": d.a,
                    "b": d.b,
                    "difference": d.difference,
                    "half_width": d.half_width,
                    "better": d.better or None,
                }
                for d in r.differences
            ],
        }
        cleaned: dict[str, Any] = clean(document)
        return cleaned

    def __repr__(self) -> str:
        return self.text()


def compare_queues(
    *,
    rate: str,
    rtt: str | Sequence[str],
    flows: int,
    buffer: str | None = None,
    traffic: Sequence[str] | None = None,
    senders: Sequence[str] | None = None,
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
) -> Answer:
    """Which queue for a link: `queues` side by side with the same traffic and the same seeds.

    `rtt` may be several; flows take them, and the `senders`, in turn. `traffic` is of bulk, web, voice, unresponsive:
    all unless named. A queue is a name, or a table as in a scenario. `tcp` changes the senders. With `out`, runs are
    stored there, and stored runs are not run again. Raises `tailback.choose.LinkError` for a question that cannot be
    answered.

    >>> answer = tb.compare_queues(
    ...     rate="10Mbps", rtt="40ms", flows=2, traffic=["bulk"],
    ...     queues=["droptail", "codel"], replications=2, duration="6s",
    ... )
    >>> sorted(row["queue"] for row in answer.to_dict()["ranking"])
    ['codel', 'droptail']
    """
    asked = link(rate, rtt, flows, buffer=buffer, traffic=traffic, senders=senders, packet=packet, ecn=ecn)
    return answer(
        asked,
        queues,
        replications=replications,
        seed=seed,
        duration=duration,
        jobs=jobs,
        out=out,
        progress=progress,
        tcp=tcp,
    )


def answer(
    asked: Link,
    queues: Sequence[Given] | None,
    *,
    replications: int = 5,
    seed: int = 1,
    duration: str | None = None,
    jobs: int = 0,
    out: str | os.PathLike[str] | None = None,
    progress: Progress = None,
    tcp: Mapping[str, Any] | None = None,
    command: str = "",
) -> Answer:
    from tailback.plan import Plan
    from tailback.result import RunError
    from tailback.scenarios import load_scenario
    from tailback.setting import among

    if queues is None:
        queues, left_out = known.default(asked)
        asked = replace(asked, notes=(*asked.notes, *left_out))
    chosen = _candidates(queues, asked)
    loads = (measures.ALONE, measures.BESIDE) if "unresponsive" in asked.traffic else (measures.ALONE,)
    cores = jobs or os.cpu_count() or 1
    times = run_times(
        asked, len(chosen) * len(loads) * replications, cores, None if duration is None else _duration(duration)
    )
    points = []
    scenarios = {}
    for name, candidate in chosen.items():
        for load in loads:
            made = load_scenario(
                scenario(asked, candidate.table(), times, load == measures.BESIDE, tcp or {}), name=f"compare, {name}"
            )
            points.append(({"queue": name, "load": load}, made))
            if load == measures.ALONE:
                scenarios[name] = made
    unequal = [*among([({"queue": name}, made) for name, made in scenarios.items()]), *_other_buffers(chosen, asked)]
    asked = replace(asked, notes=(*unequal, *asked.notes))
    results = Plan(points, replications, seed).execute(out, jobs, progress)
    if results.failure is not None:
        failed = results.failure
        raise RunError(f"the run with seed {failed['seed']} failed: {failed['message']}")
    if results.store_error is not None:
        raise results.store_error
    if results.interrupted:
        raise KeyboardInterrupt
    runs = measures.views(results, asked, times.duration_s)
    runs = {name: runs[name] for name in chosen}
    ranking = rank(runs, measures.asked(asked), asked)
    seeds = tuple(range(seed, seed + replications))
    return Answer(asked, times, chosen, ranking, seeds, scenarios, runs, command)


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
        raise LinkError("queue: name at least two disciplines, or none for those of today")
    return chosen


def _other_buffers(chosen: Mapping[str, Candidate], asked: Link) -> list[str]:
    """A sentence for each discipline whose buffer is not that of the link."""
    own = {name: c.table().get("buffer", asked.buffer) for name, c in chosen.items()}
    return [f"{name} has a buffer of {b}, the others {asked.buffer}" for name, b in own.items() if b != asked.buffer]


def _duration(text: str) -> float:
    try:
        return float(_core.parse_time(text))
    except (ValueError, TypeError) as e:
        raise LinkError(f"duration = {text}: {e}") from e
