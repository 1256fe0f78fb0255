"""Does the runs of a study that are not stored. Each run is measured when it ends, while its tables are in memory, so
memory does not grow with the study.

A live run takes one of the threads (`lane.py`), and the others simulate meanwhile. With one thread, live runs come
first.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from tailback import _core
from tailback.core.store import fingerprint
from tailback.core.store.sources import Fresh
from tailback.runs.campaign.estimate import point_name
from tailback.runs.campaign.memory import cores, promise, threads_of
from tailback.runs.campaign.progress import HowFar, Tell
from tailback.study import computed
from tailback.study.samples import RunsPoint, Samples
from tailback.study.work.lane import Ended, Lane
from tailback.study.work.needed import Job, Numbers, Work

#: The CPU seconds of computation after which answers are written again.
ANSWERS_EVERY_S = 2.0

#: The (class, measure) pairs that are measured for each set of runs.
Wanted = dict[str, list[tuple[str, str]]]


class Interrupted(KeyboardInterrupt):
    """The user has stopped the runs. Finished runs are kept."""


@dataclass
class Spent:
    """The cost of the runs: CPU time, and the time of live runs."""

    cpu_s: float = 0.0
    live_s: float = 0.0


def run(
    work: Work, wanted: Wanted, progress: Tell = None, unsettled: Callable[[Samples], set[RunsPoint]] | None = None
) -> tuple[Samples, Spent]:
    """Do the runs that are not stored, and measure all runs. Returns the samples and the cost. `unsettled` gives the
    points that need another seed, if they have one."""
    course = _Course(work, wanted, progress)
    course.run()
    samples = work.read(wanted, course.measured)
    while unsettled is not None and work.spare and (added := work.one_more_seed(unsettled(samples))):
        course.run_more(added)
        samples = work.read(wanted, course.measured)
    return samples, course.spent


class _Course:
    def __init__(self, work: Work, wanted: Wanted, progress: Tell) -> None:
        self.work, self.wanted = work, wanted
        jobs = work.jobs
        todo = [j.expected for i, j in enumerate(jobs) if not (j.kept or i in work.spare)]
        engine = [jobs[i].expected for i in work.simulated()[1] if not jobs[i].kept]
        each = sum(engine) / max(len(engine), 1)
        needed = len(jobs) - len(work.spare)
        self.state = HowFar(progress, needed, needed - len(todo), sum(todo), each)
        self.threads = threads_of(work.how.jobs)
        #: The number of threads that work during a live run; 0 if the live run needs the only core.
        self.beside = min(self.threads, cores()) - 1
        self.lane = self._lane(i for i in range(len(jobs)) if i not in work.spare)
        self.spent = Spent()
        self.measured: dict[int, Numbers] = {}
        self.failed: dict[int, str] = {}
        #: Files that were reported as damaged.
        self.damaged: list[str] = []

    def run(self) -> None:
        if self.work.answers.damaged:
            print(f"warning: {self.work.answers.path} is damaged; it is computed again", file=sys.stderr)
        work = self.work
        # Memory is checked before the live runs, which take minutes, because the simulation may begin or get more
        # threads only after them.
        promise(work.simulated()[0], self.threads, work.dir, fingerprint.build())
        try:
            with self.lane:
                if not self.beside:
                    self._live_alone()
                self._compute()
                self._packets()
        finally:
            # Runs that have ended are kept, no matter how this method ends.
            self._keep(self.lane.ended())
        self.work.samples.failed = [self.failed[i] for i in sorted(self.failed)]

    def run_more(self, added: list[int]) -> None:
        """Do further runs that are needed after all others have ended."""
        todo = [self.work.jobs[i] for i in added if not self.work.jobs[i].kept]
        self.state.add(len(added), len(added) - len(todo), sum(j.expected for j in todo))
        self.lane = self._lane(added)
        try:
            with self.lane:
                if not self.beside:
                    self._live_alone()
                self._packets(any(i < self.work.packets for i in added))
        finally:
            self._keep(self.lane.ended())
        self.work.samples.failed = [self.failed[i] for i in sorted(self.failed)]

    def _packets(self, simulated: bool = True) -> None:
        """Do the runs with packets: simulate in parallel to live runs, then simulate the rest, and then do the rest of
        the live runs."""
        if simulated and not (self.lane.beside and self._simulate(beside=True)):
            self._simulate()
        self._live_alone()

    def _lane(self, numbers: Iterable[int]) -> Lane:
        jobs = self.work.jobs
        return Lane({i: partial(_answer, jobs[i]) for i in numbers if jobs[i].live and not jobs[i].kept})

    def _ended(self, *jobs: Job) -> bool:
        """Count some runs that have ended. Returns whether to go on."""
        go_on = True
        for j in jobs:
            self.state.set = j.runs.name
            go_on = self.state.ended(j.expected) and go_on
        return go_on

    def _interrupted(self) -> Interrupted:
        state = self.state
        return Interrupted(f"stopped after {state.done} of {state.total} runs; run the same command to go on")

    # ------------------------------------------------------------------------------------------------- live runs

    def _keep(self, ended: Iterable[Ended]) -> list[Job]:
        """Store the answers of live runs, and return the jobs that have ended. An error of a live run is raised after
        that."""
        answers, ended_jobs = self.work.answers, []
        error: BaseException | None = None
        for ended_job in ended:
            job = self.work.jobs[ended_job.number]
            if ended_job.error is not None:
                error = ended_job.error
                continue
            if ended_job.answer is None:
                self.work.samples.not_measured.setdefault(job.runs.name, ended_job.why)
            else:
                answers.add(job.key, point_name(job.runs.name, job.point.labels), ended_job.answer, ended_job.took_s)
                answers.write()
                self.spent.live_s += ended_job.took_s
            ended_jobs.append(job)
        if isinstance(error, KeyboardInterrupt):
            # Ctrl-C of a terminal also ends the process of a live run.
            raise self._interrupted()
        if error is not None:
            raise error
        return ended_jobs

    def _live_alone(self) -> None:
        """Do the remaining live runs, with no other work in parallel."""
        for x in self.lane.alone():
            if not (self.state.waits() if x is None else self._ended(*self._keep([x]))):
                raise self._interrupted()

    # ----------------------------------------------------------------------------------------------- without packets

    def _compute(self) -> None:
        work, answers = self.work, self.work.answers
        todo = [job for job in work.jobs[work.packets :] if not (job.kept or job.live)]
        if not todo:
            return

        def one(j: Job) -> tuple[Job, dict[str, Any] | None, float]:
            begin_s = time.thread_time()
            try:
                answer = _answer(j)
            except computed.NotMeasured as e:
                work.samples.not_measured.setdefault(j.runs.name, str(e))
                return j, None, time.thread_time() - begin_s
            return j, answer, time.thread_time() - begin_s

        unwritten_s = 0.0
        pool = ThreadPoolExecutor(self.beside if self.lane.beside else self.threads)
        try:
            for job, answer, cpu in pool.map(one, todo):
                if answer is not None:
                    answers.add(job.key, point_name(job.runs.name, job.point.labels), answer, cpu)
                self.spent.cpu_s, unwritten_s = self.spent.cpu_s + cpu, unwritten_s + cpu
                if unwritten_s > ANSWERS_EVERY_S:
                    answers.write()
                    unwritten_s = 0.0
                if not self._ended(job, *self._keep(self.lane.ended())):
                    raise self._interrupted()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            answers.write()

    # ------------------------------------------------------------------------------------------------- with packets

    def _simulate(self, beside: bool = False) -> bool:
        """Do the runs with packets, and measure each as it ends; with `beside`, in parallel to live runs and only as
        long as these go on. Returns whether all are done."""
        work = self.work
        plan, job_numbers = work.simulated()
        if not job_numbers:
            return True
        stopped = False

        def go_on(wanted: bool) -> bool:
            nonlocal stopped
            wanted = self._ended(*self._keep(self.lane.ended())) and wanted
            stopped = stopped or not wanted
            return wanted

        def ended(place: int, tables: _core.RunTables) -> bool:
            i = job_numbers[place]
            job = work.jobs[i]
            # A failed run is not stored: it is done again when the live runs are over, and has been counted.
            is_failed = i in self.failed
            if tables.failure is not None:
                self.failed[i] = f"{job.name}: {tables.failure}"
            else:
                self.measured[i] = work.samples.take(job.view(Fresh(tables)), self.wanted.get(job.runs.name, []))
            # This is decided only when a run has ended. With one thread, a run that is stopped has then only just
            # begun.
            return go_on(is_failed or self._ended(job)) and (self.lane.beside or not beside)

        threads = self.beside if beside else self.threads
        errand = work.errand(lambda engine: go_on(self.state.under_way(engine)), threads)
        results = errand.run(plan, each=ended, chunks=True)
        if results.store_error is not None:
            raise results.store_error
        for path in results.damaged:
            if path not in self.damaged:
                print(f"warning: {path} is damaged; runs that need it are run again", file=sys.stderr)
        self.damaged += results.damaged
        if results.replaced:
            print(f"note: {results.replaced} runs of another version of tailback were replaced", file=sys.stderr)
        if results.interrupted and (stopped or not beside):
            raise self._interrupted()
        self.spent.cpu_s += float(sum(r["cpu_s"] for r in results.reports))
        return not results.interrupted


def _answer(j: Job) -> dict[str, Any]:
    return computed.FUNCTIONS[j.runs.compute](dict(j.point.labels), j.seed, j.runs.options)
