"""The progress of an answer: the expected runs, the finished runs, and their computing time."""

from __future__ import annotations

from tailback import _core
from tailback.apps.ask.refine import LEAST
from tailback.apps.ask.trial import Trial
from tailback.runs.campaign.memory import threads_of
from tailback.runs.campaign.progress import HowFar, ProgressLine, Tell, span


class Course:
    """Counts the runs of a question. `each` is the number of runs for one seed of a candidate. `others` is the number
    of other runs. Each other run takes the share `part` of the time of a candidate's run."""

    def __init__(
        self, trial: Trial, tell: Tell, candidates: int, *, each: int = 1, others: int = 0, part: float = 1.0
    ) -> None:
        self.trial, self.tell, self.each, self.others, self.part = trial, tell, each, others, part
        #: The number of seeds, unless the answer needs more.
        self.seeds = trial.replications if trial.sure else min(LEAST, trial.replications)
        run_count = candidates * self.seeds * each + others
        self.far = HowFar(tell, run_count, 0, run_count)
        #: CPU time of the runs of each candidate, by their label `queue`, seconds.
        self.cpu_s: dict[str, float] = {}

    def begin(self, runs: int) -> None:
        """Notes that so many runs begin, perhaps more than expected."""
        further_runs = self.far.done + runs - self.far.total
        if further_runs > 0:
            self.far.total, self.far.work = self.far.total + further_runs, self.far.work + further_runs

    def ended(self, runs: int, results: _core.Results, *, counted: bool = True) -> None:
        """Notes that so many runs have ended, with these results. Stored runs cost no time. Runs that are not `counted`
        do not enter the estimate of the time of a seed."""
        reports = list(results.reports)
        for row in results.runs.rows() if counted else ():
            took = reports[row["run"]]["cpu_s"] if row["run"] < len(reports) else 0.0
            self.cpu_s[row["queue"]] = self.cpu_s.get(row["queue"], 0.0) + took
        self.far.ended(runs, runs)

    def announce(self, best: str, duration_s: float) -> None:
        """Reports the remaining runs after the first seed, and their expected time if it is known."""
        runs_left = self.far.total - self.far.done
        if not isinstance(self.tell, ProgressLine) or runs_left <= 0:
            return
        work = sum(self.cpu_s.values()) * (self.seeds - 1) + self.others * self.part * self.cpu_s[best] / self.each
        about = f", about {span(work / min(threads_of(self.trial.jobs), runs_left))}" if work > 0 else ""
        self.tell.announce(
            f"{runs_left} more runs of {duration_s:g} s{about}; more if the first place is not clear then"
        )
