"""How far an answer is: the runs that it is expected to need, those that are done, and what they took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tailback.ask.refine import LEAST
from tailback.ask.trial import Trial
from tailback.campaign.memory import threads_of
from tailback.campaign.progress import HowFar, ProgressLine, Tell, span


class Course:
    """Counts the runs of a question. `each` is how many runs a seed of a candidate has, `others` are runs beside."""

    def __init__(self, trial: Trial, tell: Tell, candidates: int, *, each: int = 1, others: int = 0) -> None:
        self.trial, self.tell, self.each, self.others = trial, tell, each, others
        #: Seeds, unless the answer needs more.
        self.seeds = trial.replications if trial.sure else min(LEAST, trial.replications)
        expected = candidates * self.seeds * each + others
        self.far = HowFar(tell, expected, 0, expected)

    def begin(self, runs: int) -> None:
        """So many runs begin: more than were expected, perhaps."""
        more = self.far.done + runs - self.far.total
        if more > 0:
            self.far.total, self.far.work = self.far.total + more, self.far.work + more

    def ended(self, runs: int) -> None:
        self.far.ended(runs, runs)

    def announce(self, cpu_s: Mapping[str, float], best: str, duration_s: float) -> None:
        """Say what remains after the first seed, by the CPU time that it took of each candidate."""
        rest = self.far.total - self.far.done
        work = sum(cpu_s.values()) * (self.seeds - 1) + self.others * cpu_s[best] / self.each
        if isinstance(self.tell, ProgressLine) and rest > 0:
            took = span(work / min(threads_of(self.trial.jobs), rest))
            self.tell.announce(
                f"{rest} more runs of {duration_s:g} s, about {took}; more if the first is not clear then"
            )


def cpu_of(results: Any) -> dict[str, float]:
    """CPU time of the runs of each candidate, seconds, by the label `queue`; stored runs take none."""
    found: dict[str, float] = {}
    reports = list(results.reports)
    for row in results.runs.rows():
        took = reports[row["run"]]["cpu_s"] if row["run"] < len(reports) else 0.0
        found[row["queue"]] = found.get(row["queue"], 0.0) + took
    return found
