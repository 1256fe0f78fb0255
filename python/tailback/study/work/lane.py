"""Does the live runs of a study, one at a time, in a separate thread in parallel to the simulation.

A live run forwards real packets in real time. A live run takes about half of a processor, so the simulation can use the
others. The packets of a live run must still be written in time. The run itself measures this, and reports whether it is
valid. A run that was not valid in parallel to other work is repeated later, alone. Other work can therefore cost time,
but never decides which results count.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tailback.study.computed import NotMeasured, NotValid
from tailback.study.work import apart

#: The number of tries of a run without other work before it counts as not measured.
TRIES = 3
#: If at least this many runs in parallel to other work were not valid, and fewer were valid, the rest are done alone,
#: because most of them would have to be done twice.
MOST_NOT_VALID = 2

Answer = dict[str, Any]


@dataclass(frozen=True)
class Ended:
    """A live run that has ended."""

    number: int
    #: The answer; None if the run could not be measured.
    answer: Answer | None = None
    took_s: float = 0.0
    #: The reason why the run could not be measured.
    why: str = ""
    #: The error, if the machine did not cause it.
    error: BaseException | None = None


class Lane:
    """Does live runs from the moment when its context is entered. Leaving the context stops the run that is under
    way."""

    def __init__(self, runs: Mapping[int, Callable[[], Answer]]) -> None:
        self._runs = runs
        self._again: list[int] = []
        self._ended: queue.SimpleQueue[Ended] = queue.SimpleQueue()
        self._beside_over, self._alone, self._stopped = threading.Event(), threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._work, name="live runs")

    def __enter__(self) -> Lane:
        if self._runs:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._alone.set()
        while self._thread.is_alive():
            # The process of a run may only just begin, so this is repeated.
            apart.stop()
            self._thread.join(0.05)

    @property
    def beside(self) -> bool:
        """Whether live runs are done in parallel to other work, and need a free processor."""
        return self._thread.is_alive() and not self._beside_over.is_set()

    def ended(self) -> Iterator[Ended]:
        """The runs that have ended since the last call."""
        while not self._ended.empty():
            yield self._ended.get()

    def alone(self, every_s: float = 0.2) -> Iterator[Ended | None]:
        """Does the remaining runs while no other work goes on. Yields the runs as they end, and None every `every_s`
        seconds."""
        self._alone.set()
        while self._thread.is_alive() or not self._ended.empty():
            try:
                yield self._ended.get(timeout=every_s)
            except queue.Empty:
                yield None

    def _work(self) -> None:
        valid_count = not_valid = 0
        for job_number in self._runs:
            is_alone = self._alone.is_set()
            if not is_alone and not_valid >= max(MOST_NOT_VALID, valid_count + 1):
                self._again.append(job_number)
            elif self._one(job_number, TRIES if is_alone else 1, last=is_alone):
                valid_count += 1
            else:
                not_valid += 1
                self._again.append(job_number)
        self._beside_over.set()
        self._alone.wait()
        for job_number in self._again:
            self._one(job_number, TRIES, last=True)

    def _one(self, number: int, tries: int, last: bool) -> bool:
        """Do a run until it is valid, at most `tries` times. Returns whether the run has ended; with `last` it has
        always ended."""
        reason = ""
        for _ in range(tries):
            if self._stopped.is_set():
                return True
            begin_s = time.monotonic()
            try:
                answer = self._runs[number]()
            except NotValid as e:
                reason = str(e)
                continue
            except NotMeasured as e:
                self._ended.put(Ended(number, why=str(e)))
            except BaseException as e:
                # The thread of the study raises this error, which ends the study, so no other live run begins.
                self._stopped.set()
                self._ended.put(Ended(number, error=e))
            else:
                self._ended.put(Ended(number, answer, time.monotonic() - begin_s))
            return True
        if last:
            self._ended.put(Ended(number, why=f"the run was not valid in {tries} tries: {reason}"))
        return last
