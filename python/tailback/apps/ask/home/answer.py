"""From the question to the answer: candidates, runs on all cores, ranking, and what the shaper's share buys."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tailback import _core
from tailback.apps.ask import refine
from tailback.apps.ask.course import Course
from tailback.apps.ask.given import parsed
from tailback.apps.ask.home import measures
from tailback.apps.ask.home.candidates import MODEM, HomeCandidate, chosen
from tailback.apps.ask.home.compared import HomeComparison
from tailback.apps.ask.home.line import DEFAULT_SHARE, HomeLine, Share, question
from tailback.apps.ask.home.measures import HomeMeasure, HomeRun
from tailback.apps.ask.home.phases import Timeline, timeline
from tailback.apps.ask.home.traffic import SHAPER, scenario
from tailback.apps.ask.ranking import rank
from tailback.apps.ask.trial import Trial, not_failed
from tailback.core.text.arguments import checked
from tailback.runs.builder import Network
from tailback.runs.campaign.errand import whole
from tailback.runs.campaign.plan import Plan
from tailback.runs.campaign.progress import Progress, Tell, shown

#: Seeds of the runs that show what the shaper's share buys: from one seed to another they differ by less than what
#: matters. They have no phase that loads both directions: the grade and the goodputs do not need it.
SHARE_SEEDS = 1


@checked
def home_line(
    *,
    down: str,
    up: str,
    rtt: str,
    queues: Sequence[object] | None = None,
    hosts: int = 5,
    link: str = "unknown",
    pppoe: bool = False,
    vlan: bool = False,
    traffic: Sequence[str] | None = None,
    transfers: int = 4,
    modem: str = "250ms",
    sender: str = "cubic",
    ecn: bool | None = None,
    share: str = DEFAULT_SHARE,
    varies: str | None = None,
    replications: int = 5,
    sure: bool = False,
    seed: int = 1,
    duration: str | None = None,
    jobs: int = 0,
    out: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> HomeComparison:
    """What helps on a home line, what it costs, and the lines to paste.

    `queues` are names of disciplines, tables with `kind`, or classes of your own; each shapes both directions at home.
    The modem alone is always the first row. All candidates get the same seeds, until the first place and the grades are
    clear (`tailback.apps.ask.refine`), at most `replications`; with `sure` all of these. Raises
    `tailback.comparison.LinkError` for a question without an answer.

    >>> found = tb.home_line(down="20Mbps", up="5Mbps", rtt="30ms", traffic=["upload"], queues=["cake"],
    ...                      replications=2, duration="25s")
    >>> found.best, found.grade("modem"), found.grade("cake")
    ('cake', 'D', 'A+')
    """
    line = question(
        down,
        up,
        rtt,
        hosts=hosts,
        link=link,
        pppoe=pppoe,
        vlan=vlan,
        traffic=traffic,
        transfers=transfers,
        modem=modem,
        sender=sender,
        ecn=ecn,
        share=share,
        varies=varies,
    )
    return answer(line, queues, Trial(replications, seed, duration, jobs, out, progress, sure=sure))


def answer(line: HomeLine, queues: Sequence[object] | None, trial: Trial) -> HomeComparison:
    """Run everything that the answer needs. Raises `LinkError` and `RunError`."""
    times = timeline(line, None if trial.duration is None else parsed("duration", _core.parse_time, trial.duration))
    candidates = chosen(queues, line)
    with shown(trial.progress) as tell:
        tried = _Tried(line, times, trial, candidates, tell)
        asked = measures.asked(line)
        seen: dict[str, list[HomeRun]] = {name: [] for name in candidates}
        found: HomeComparison | None = None

        def settled() -> bool:
            return found is not None and found.settled

        for done, more in refine.rounds(trial.replications, settled, sure=trial.sure):
            for name, runs in tried.seeds(done, more).items():
                seen[name] += runs
            found = tried.answer(seen, asked)
            if done == 0:
                tried.course.announce(found.best, times.duration_s)
            if trial.hear is not None:
                trial.hear(found)
        assert found is not None
        shares = {**tried.shares(found.best), line.share: found.runs[found.best][:SHARE_SEEDS]}
        tried.store(found)
    return replace(found, shares=dict(sorted(shares.items())))


class _Tried:
    """The runs of a question. Those of a discipline written in Python are a plan of their own."""

    def __init__(
        self, line: HomeLine, times: Timeline, trial: Trial, candidates: Mapping[str, HomeCandidate], tell: Tell
    ) -> None:
        self.line, self.times, self.trial, self.known = line, times, trial, candidates
        self.networks = {name: self._network(c, line.share, times) for name, c in candidates.items()}
        self.other_shares = [share for share in line.shares if share != line.share]
        part = times.one_way.duration_s / times.duration_s
        self.course = Course(trial, tell, len(candidates), others=len(self.other_shares) * SHARE_SEEDS, part=part)

    def _network(self, c: HomeCandidate, share: Share, times: Timeline) -> Network:
        made = Network(scenario(self.line, c.queues(self.line, share), times))
        if c.maker is not None:
            made.queues = {SHAPER: c.maker, f"{SHAPER}.reverse": c.maker}
        return made

    def seeds(self, done: int, more: int) -> dict[str, list[HomeRun]]:
        """So many further seeds of all candidates, after the first `done`."""
        found: dict[str, list[HomeRun]] = {}
        for folder, mine in self._plans():
            points = [(name, self.line.share, self.networks[name]) for name in mine]
            seen = self._run(points, self.times, done, more, folder)
            found |= {name: runs for (name, _), runs in seen.items()}
        return found

    def _plans(self) -> list[tuple[str, list[str]]]:
        """A folder of runs, and the candidates whose runs are there."""
        own = [name for name, c in self.known.items() if c.maker is not None]
        return [("", [name for name in self.known if name not in own]), *((name, [name]) for name in own)]

    def shares(self, name: str) -> dict[Share, list[HomeRun]]:
        """The runs of a candidate at the other shares of the line's rate."""
        times = self.times.one_way
        points = [(name, share, self._network(self.known[name], share, times)) for share in self.other_shares]
        return {share: runs for (_, share), runs in self._run(points, times, 0, SHARE_SEEDS, "shares").items()}

    def _run(
        self, points: Sequence[tuple[str, Share, Network]], times: Timeline, done: int, more: int, folder: str
    ) -> dict[tuple[str, Share], list[HomeRun]]:
        runs = len(points) * more
        self.course.begin(runs)
        results = self._plan(points, more, self.trial.seed + done).execute(
            self._folder(folder), self.trial.jobs, self.course.far.under_way
        )
        seen = measures.views(whole(not_failed(results)), self.line, times)
        self.course.ended(runs, results)
        return {(name, share): seen[name, str(share)] for name, share, _ in points}

    def _plan(self, points: Sequence[tuple[str, Share, Network]], replications: int, seed: int) -> Plan:
        return Plan([({"queue": name, "share": str(share)}, made) for name, share, made in points], replications, seed)

    def _folder(self, folder: str) -> Path | None:
        return None if self.trial.out is None else Path(self.trial.out) / folder

    def answer(self, seen: Mapping[str, list[HomeRun]], asked: Sequence[HomeMeasure]) -> HomeComparison:
        """What these runs say; nothing yet of other shares."""
        ranking = rank(seen, asked, self.line)
        return HomeComparison(
            line=self.line,
            times=self.times,
            candidates=self.known,
            ranking=ranking,
            seeds=tuple(range(self.trial.seed, self.trial.seed + max(map(len, seen.values())))),
            scenarios={name: made.document for name, made in self.networks.items()},
            runs={name: list(runs) for name, runs in seen.items()},
            best=next(p.queue for p in ranking.places if p.queue != MODEM),
            shares={},
            command=self.trial.command,
        )

    def store(self, found: HomeComparison) -> None:
        """The tables of all runs together; those of the last round alone were written before."""
        if self.trial.out is None:
            return
        for folder, names in self._plans():
            points = [(name, self.line.share, self.networks[name]) for name in names]
            plan = self._plan(points, len(found.seeds), self.trial.seed)
            whole(plan.execute(self._folder(folder), self.trial.jobs))
