"""Computes the answer: fits the measured modem, chooses the shaper's share, runs the candidates on all cores, and ranks
them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tailback import _core
from tailback.apps.ask import refine
from tailback.apps.ask.course import Course
from tailback.apps.ask.given import parsed
from tailback.apps.ask.home import measures, worth
from tailback.apps.ask.home import mine as pasted
from tailback.apps.ask.home.candidates import MODEM, HomeCandidate, chosen
from tailback.apps.ask.home.compared import HomeComparison
from tailback.apps.ask.home.fit import fitted
from tailback.apps.ask.home.line import LOWER_SHARES, HomeLine, Share, question
from tailback.apps.ask.home.measures import HomeMeasure, HomeRun
from tailback.apps.ask.home.phases import Timeline, timeline
from tailback.apps.ask.home.traffic import SHAPER, scenario
from tailback.apps.ask.ranking import Ranking, rank
from tailback.apps.ask.trial import Trial, not_failed
from tailback.core import stats
from tailback.core.text.arguments import checked
from tailback.runs.builder import Network
from tailback.runs.campaign.errand import whole
from tailback.runs.campaign.plan import Plan
from tailback.runs.campaign.progress import Progress, Tell, shown

#: The number of seeds of the runs at other shares of the shaper. Seeds differ little, unless the line varies or is so
#: slow that one packet matters. These runs have no phase with both loads, since the grade and the goodputs do not need
#: this phase.
SHARE_SEEDS, MORE_SHARE_SEEDS, SLOW_BPS = 1, 3, 2e6
#: The number of lower shares that are tried at once.
LOWER_AT_ONCE = 4


@checked
def home_line(
    *,
    down: str | None = None,
    up: str | None = None,
    rtt: str | None = None,
    measured: str | None = None,
    people: str | None = None,
    router: str | None = None,
    mine: str | None = None,
    queues: Sequence[object] | None = None,
    hosts: int | None = None,
    link: str = "unknown",
    pppoe: bool = False,
    vlan: bool = False,
    traffic: Sequence[str] | None = None,
    transfers: int | None = None,
    modem: str | None = None,
    sender: str = "cubic",
    ecn: bool | None = None,
    share: str | None = None,
    varies: str | None = None,
    policer: str | None = None,
    vpn: str | None = None,
    adapt: str | None = None,
    as_given: bool = False,
    replications: int = 5,
    sure: bool = False,
    seed: int = 1,
    duration: str | None = None,
    jobs: int = 0,
    out: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> HomeComparison:
    """Finds what helps on a home line, what it costs, and the lines to paste.

    `queues` are names of disciplines, tables with `kind`, or classes of your own; each shapes both directions at home.
    With `adapt`, a rate control such as "gcc", calls also have video, and this video follows the rate control. The
    modem alone is always the first row. All candidates get the same seeds. Seeds are added until the first place and
    the grades are clear (`tailback.apps.ask.refine`), up to `replications`. With `sure`, all `replications` seeds are
    run. Raises `tailback.comparison.LinkError` for a question without an answer.

    >>> found = tb.home_line(down="20Mbps", up="5Mbps", rtt="30ms", traffic=["upload"], queues=["cake"],
    ...                      share="95%", replications=2, duration="25s")
    >>> found.best, found.grade("modem"), found.grade("cake")
    ('cake', 'D', 'A+')
    """
    line = question(
        down,
        up,
        rtt,
        measured=measured,
        people=people,
        router=router,
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
        policer=policer,
        vpn=vpn,
        adapt=adapt,
        as_given=as_given,
    )
    return answer(line, queues, Trial(replications, seed, duration, jobs, out, progress, sure=sure), mine)


def answer(line: HomeLine, queues: Sequence[object] | None, trial: Trial, mine: str | None = None) -> HomeComparison:
    """Runs all that the answer needs. `mine` is the user's present queue, as pasted. Raises `LinkError` and
    `RunError`."""
    length = None if trial.duration is None else parsed("duration", _core.parse_time, trial.duration)
    timeline(line, length)
    present_candidate = None if mine is None else pasted.candidate(mine, line)
    candidates = chosen(queues, line, present_candidate)
    with shown(trial.progress) as tell:
        line = fitted(line, trial)
        times = timeline(line, length)
        trial_runs = _Tried(line, times, trial, candidates, tell)
        shares: dict[Share, list[HomeRun]] = {}
        first_shaped = next((name for name, c in candidates.items() if c.kind and not c.follows), None)
        asked_measures = measures.asked(line)
        runs_by_queue: dict[str, list[HomeRun]] = {name: [] for name in candidates}
        latest: HomeComparison | None = None

        def settled() -> bool:
            return latest is not None and latest.settled

        def heard(found: HomeComparison) -> HomeComparison:
            if trial.hear is not None:
                trial.hear(found)
            return found

        # On a varying line, a few seeds may all have drawn similar rates.
        every_seed = trial.sure or line.varies is not None
        for done_seeds, more_seeds in refine.rounds(trial.replications, settled, sure=every_seed):
            for name, runs in trial_runs.seeds(done_seeds, more_seeds).items():
                runs_by_queue[name] += runs
            latest = trial_runs.answer(runs_by_queue, asked_measures)
            if done_seeds == 0:
                trial_runs.course.announce(latest.best, times.duration_s)
            latest = heard(latest)
            if done_seeds > 0 or line.asked_share or first_shaped is None:
                continue
            # The table of shares takes as long as a seed, so the first answer does not wait for it.
            shares = trial_runs.shares_that_serve(first_shaped)
            trial_runs.course.others = 0
            serves = worth.chosen(line, shares)
            if serves != line.share:
                line = replace(line, share=serves)
                trial_runs = trial_runs.at(line, chosen(queues, line, present_candidate))
                runs_by_queue = trial_runs.seeds(0, more_seeds)
                latest = heard(trial_runs.answer(runs_by_queue, asked_measures))
        assert latest is not None
        if not shares and candidates[latest.best].kind and not candidates[latest.best].follows:
            first_shaped, shares = latest.best, trial_runs.shares(latest.best)
            shares[line.share] = list(latest.runs[latest.best][: trial_runs.share_seeds])
        trial_runs.store(latest)
    return replace(latest, shares=dict(sorted(shares.items())), shares_of=first_shaped or "")


class _Tried:
    """The runs of a question. The runs of a discipline written in Python form a separate plan."""

    def __init__(
        self,
        line: HomeLine,
        times: Timeline,
        trial: Trial,
        candidates: Mapping[str, HomeCandidate],
        tell: Tell,
        course: Course | None = None,
    ) -> None:
        self.line, self.times, self.trial, self.known, self.tell = line, times, trial, candidates, tell
        self.networks = {name: self._network(c, line.share, times, trial.seed) for name, c in candidates.items()}
        self.share_seeds = MORE_SHARE_SEEDS if self.unsteady else SHARE_SEEDS
        self.other_shares = [share for share in line.shares if share != line.share or not line.asked_share]
        one_way_share = times.one_way.duration_s / times.duration_s
        other_runs = len(self.other_shares) * self.share_seeds
        self.course = course or Course(trial, tell, len(candidates), others=other_runs, part=one_way_share)

    @property
    def unsteady(self) -> bool:
        """Whether seeds differ much."""
        return self.line.varies is not None or min(self.line.down_bps, self.line.up_bps) < SLOW_BPS

    def at(self, line: HomeLine, candidates: Mapping[str, HomeCandidate]) -> _Tried:
        """The question with the chosen share."""
        return _Tried(line, self.times, self.trial, candidates, self.tell, self.course)

    def _network(self, c: HomeCandidate, share: Share, times: Timeline, seed: int) -> Network:
        network = Network(scenario(self.line, c.queues(self.line, share), times, seed, follows=c.follows))
        if c.maker is not None:
            network.queues = {SHAPER: c.maker, f"{SHAPER}.reverse": c.maker}
        return network

    def seeds(self, done: int, more: int) -> dict[str, list[HomeRun]]:
        """Runs so many further seeds of all candidates, after the first `done` seeds."""
        runs_of: dict[str, list[HomeRun]] = {}
        for folder, points_of_plan in self._plans():
            points = [(name, self.line.share) for name in points_of_plan]
            runs_seen = self._run(points, self.times, done, more, folder)
            runs_of |= {name: runs for (name, _), runs in runs_seen.items()}
        return runs_of

    def _plans(self) -> list[tuple[str, list[str]]]:
        """A folder of runs, and the candidates whose runs it has."""
        own_queues = [name for name, c in self.known.items() if c.maker is not None]
        return [("", [name for name in self.known if name not in own_queues]), *((name, [name]) for name in own_queues)]

    def shares(self, name: str) -> dict[Share, list[HomeRun]]:
        """The runs of a candidate at the other shares of the line's rate."""
        return self._shares(name, self.other_shares, "shares")

    def shares_that_serve(self, name: str) -> dict[Share, list[HomeRun]]:
        """The runs at the other shares, and at still lower shares as long as the lowest one is best."""
        runs_at = self.shares(name)
        lower = [Share(s, s) for s in LOWER_SHARES if Share(s, s) < min(runs_at)]
        while lower and (worth.goes_on(self.line, runs_at) or self.unsteady):
            runs_at |= self._shares(name, lower[:LOWER_AT_ONCE], f"shares-{lower[0]}".rstrip("%"))
            lower = lower[LOWER_AT_ONCE:]
        return runs_at

    def _shares(self, name: str, shares: Sequence[Share], folder: str) -> dict[Share, list[HomeRun]]:
        points = [(name, share) for share in shares]
        runs_seen = self._run(points, self.times.one_way, 0, self.share_seeds, folder, counted=False)
        return {share: runs for (_, share), runs in runs_seen.items()}

    def _run(
        self,
        points: Sequence[tuple[str, Share]],
        times: Timeline,
        done: int,
        more: int,
        folder: str,
        *,
        counted: bool = True,
    ) -> dict[tuple[str, Share], list[HomeRun]]:
        runs = len(points) * more
        self.course.begin(runs)
        results = self._plan(points, times, more, self.trial.seed + done).execute(
            self._folder(folder), self.trial.jobs, self.course.far.under_way
        )
        home_runs = measures.views(whole(not_failed(results)), self.line, times)
        self.course.ended(runs, results, counted=counted)
        return {(name, share): home_runs[name, str(share)] for name, share in points}

    def _plan(self, points: Sequence[tuple[str, Share]], times: Timeline, replications: int, seed: int) -> Plan:
        """Runs so many seeds of each point. On a varying line each seed has its own scenario, since the seed draws the
        rate."""
        if self.line.varies is None:
            fixed_points = [
                ({"queue": name, "share": str(share)}, self._network(self.known[name], share, times, seed))
                for name, share in points
            ]
            return Plan(fixed_points, replications, seed)
        drawn_points = [
            ({"queue": name, "share": str(share), "draw": str(s)}, self._network(self.known[name], share, times, s))
            for name, share in points
            for s in range(seed, seed + replications)
        ]
        return Plan(drawn_points)

    def _folder(self, folder: str) -> Path | None:
        return None if self.trial.out is None else Path(self.trial.out) / folder

    def answer(self, seen: Mapping[str, list[HomeRun]], asked: Sequence[HomeMeasure]) -> HomeComparison:
        """The answer from these runs, without the table of shares."""
        ranking = rank(seen, asked, self.line)
        return HomeComparison(
            line=self.line,
            times=self.times,
            candidates=self.known,
            ranking=ranking,
            seeds=tuple(range(self.trial.seed, self.trial.seed + max(map(len, seen.values())))),
            scenarios={name: made.document for name, made in self.networks.items()},
            runs={name: list(runs) for name, runs in seen.items()},
            best=self._best(ranking, seen),
            shares={},
            command=self.trial.command,
        )

    def _best(self, ranking: Ranking[HomeMeasure], seen: Mapping[str, Sequence[HomeRun]]) -> str:
        """The candidate to propose: the first in the order, unless another one is clearly better in latency and rate
        together."""
        shaped_queues = [p.queue for p in ranking.places if self.known[p.queue].kind]
        best = shaped_queues[0] if shaped_queues else MODEM
        for name in shaped_queues[1:]:
            mine, other = ([worth.of_run(run) for run in seen[one]] for one in (best, name))
            gain = stats.paired(mine, other)
            clear = gain.mean - gain.half_width > worth.MATTERS_S
            # If no share suits a varying line, a shaper that follows it need not be better by more than chance.
            if clear or (self.known[name].follows and gain.mean > 0):
                best = name
        return best

    def store(self, found: HomeComparison) -> None:
        """Writes the tables of all runs together. Until then, only the tables of the last round are in the folder."""
        if self.trial.out is None:
            return
        for folder, names in self._plans():
            points = [(name, self.line.share) for name in names]
            plan = self._plan(points, self.times, len(found.seeds), self.trial.seed)
            whole(plan.execute(self._folder(folder), self.trial.jobs))
