"""From the question to the answer: candidates, runs on all cores, ranking, and what the shaper's share buys."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from tailback import _core
from tailback.ask.given import parsed
from tailback.ask.ranking import rank
from tailback.ask.trial import Trial, not_failed
from tailback.builder import Network
from tailback.campaign.errand import whole
from tailback.campaign.memory import threads_of
from tailback.campaign.plan import Plan
from tailback.campaign.progress import HowFar, Progress, ProgressLine, span
from tailback.home import measures
from tailback.home.candidates import MODEM, HomeCandidate, chosen
from tailback.home.compared import HomeComparison
from tailback.home.line import DEFAULT_SHARE, HomeLine, Share, question
from tailback.home.measures import HomeRun
from tailback.home.phases import Timeline, timeline
from tailback.home.traffic import SHAPER, scenario
from tailback.text.arguments import checked

#: Seeds of the runs that show what the shaper's share buys.
SWEEP_SEEDS = 3
#: Simulated packets a second of CPU, about, with their ACKs and all their hops.
PACKETS_PER_S = 4e5
#: What the probes, the call, the game and the pages of a run take, seconds of CPU, about.
BESIDE_S = 0.05


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
    seed: int = 1,
    duration: str | None = None,
    jobs: int = 0,
    out: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> HomeComparison:
    """What helps on a home line, what it costs, and the lines to paste.

    `queues` are names of disciplines, tables with `kind`, or classes of your own; each shapes both directions at home.
    The modem alone is always the first row. Raises `tailback.comparison.LinkError` for a question without an answer.

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
    return answer(line, queues, Trial(replications, seed, duration, jobs, out, progress))


def answer(line: HomeLine, queues: Sequence[object] | None, trial: Trial) -> HomeComparison:
    """Run everything that the answer needs. Raises `LinkError` and `RunError`."""
    times = timeline(line, None if trial.duration is None else parsed("duration", _core.parse_time, trial.duration))
    candidates = chosen(queues, line)
    tried = _Tried(line, times, trial, candidates)
    seen = tried.candidates()
    ranking = rank(seen, measures.asked(line), line)
    best = next(p.queue for p in ranking.places if p.queue != MODEM)
    shares = {**tried.shares(best), line.share: seen[best][:SWEEP_SEEDS]}
    return HomeComparison(
        line=line,
        times=times,
        candidates=candidates,
        ranking=ranking,
        seeds=tuple(range(trial.seed, trial.seed + trial.replications)),
        scenarios={name: made.document for name, made in tried.networks.items()},
        runs=seen,
        best=best,
        shares=dict(sorted(shares.items())),
        command=trial.command,
    )


class _Tried:
    """The runs of a question. Those of a discipline written in Python are a plan of their own."""

    def __init__(self, line: HomeLine, times: Timeline, trial: Trial, candidates: Mapping[str, HomeCandidate]) -> None:
        self.line, self.times, self.trial, self.known = line, times, trial, candidates
        self.networks = {name: self._network(c, line.share) for name, c in candidates.items()}
        others = [share for share in line.shares if share != line.share]
        runs = len(candidates) * trial.replications + len(others) * SWEEP_SEEDS
        cost = runs * cost_s(line, times)
        self.far = HowFar(None if trial.progress is True else trial.progress or None, runs, 0, cost)
        if isinstance(trial.progress, ProgressLine):
            trial.progress.announce(
                f"{runs} runs of {times.duration_s:g} s, about {span(cost / min(threads_of(trial.jobs), runs))}"
            )

    def _network(self, c: HomeCandidate, share: Share) -> Network:
        made = Network(scenario(self.line, c.queues(self.line, share), self.times))
        if c.maker is not None:
            made.queues = {SHAPER: c.maker, f"{SHAPER}.reverse": c.maker}
        return made

    def candidates(self) -> dict[str, list[HomeRun]]:
        """The runs of each candidate."""
        ours = [name for name, c in self.known.items() if c.maker is None]
        plans = [ours, *([name] for name, c in self.known.items() if c.maker is not None)]
        found: dict[str, list[HomeRun]] = {}
        for names in plans:
            points = [(name, self.line.share, self.networks[name]) for name in names]
            folder = None if names is ours else names[0]
            found |= {name: runs for (name, _), runs in self._run(points, self.trial.replications, folder).items()}
        return {name: found[name] for name in self.known}

    def shares(self, name: str) -> dict[Share, list[HomeRun]]:
        """The runs of a candidate at the other shares of the line's rate."""
        others = [share for share in self.line.shares if share != self.line.share]
        points = [(name, share, self._network(self.known[name], share)) for share in others]
        return {share: runs for (_, share), runs in self._run(points, SWEEP_SEEDS, "shares").items()}

    def _run(
        self, points: Sequence[tuple[str, Share, Network]], replications: int, folder: str | None
    ) -> dict[tuple[str, Share], list[HomeRun]]:
        out = None if self.trial.out is None else Path(self.trial.out) / (folder or "")
        labelled = [({"queue": name, "share": str(share)}, made) for name, share, made in points]
        results = Plan(labelled, replications, self.trial.seed).execute(out, self.trial.jobs, self.far.under_way)
        seen = measures.views(whole(not_failed(results)), self.line, self.times)
        runs = len(points) * replications
        self.far.ended(runs * cost_s(self.line, self.times), runs)
        return {(name, share): seen[name, str(share)] for name, share, _ in points}


def cost_s(line: HomeLine, times: Timeline) -> float:
    """About how many seconds of CPU a run takes."""
    packets = sum(
        (p.down * line.down_bps + p.up * line.up_bps) * (p.ends - p.begins) / (8 * line.packet) for p in times.loaded
    )
    return BESIDE_S + packets / PACKETS_PER_S
