"""Runs the newest state in its own thread. If an older state still runs, it is stopped and gets no answer.

The first picture of a page is coarse and the full one follows, so that the user sees a picture while it is computed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from tailback import _core
from tailback.apps.lab.state import MODES, Mode, State
from tailback.runs.campaign import memory


@dataclass(frozen=True)
class LabOrder:
    """A state that a page requests, with the number of its input."""

    input: int
    state: State
    mode: Mode
    columns: int
    stop: _core.Stop = field(default_factory=_core.Stop)
    #: Whether the page has no picture yet.
    first: bool = False


class Latest:
    """Runs the newest order. In the thread of the runs, `send` is called with a frame, and `failed` with the order and
    the exception."""

    def __init__(self, send: Callable[[bytes], None], failed: Callable[[LabOrder, Exception], None]) -> None:
        self.send, self.failed = send, failed
        self._changed = threading.Condition()
        self._next: LabOrder | None = None
        self._newest: LabOrder | None = None
        self._closed = False
        self._second = ThreadPoolExecutor(1, thread_name_prefix="lab-second")
        self._thread = threading.Thread(target=self._work, name="lab-runs", daemon=True)
        self._thread.start()

    def ask(self, order: LabOrder) -> None:
        """Stops the present run and runs this order next. An order older than the newest is ignored."""
        with self._changed:
            if self._closed or (self._newest is not None and order.input <= self._newest.input):
                return
            if self._newest is not None:
                self._newest.stop.set()
            self._next = self._newest = order
            self._changed.notify()

    def close(self) -> None:
        """Stops the present run, and accepts no further order."""
        with self._changed:
            self._closed = True
            if self._newest is not None:
                self._newest.stop.set()
            self._changed.notify()
        self._second.shutdown(wait=False)

    def _work(self) -> None:
        while True:
            with self._changed:
                while self._next is None and not self._closed:
                    self._changed.wait()
                order, self._next = self._next, None
            if order is None or self._closed:
                return
            try:
                for frame in _answers(order, self._second):
                    if frame is not None and not order.stop.is_set:
                        self.send(frame)
            except Exception as e:  # A request of a page must not end the thread.
                if not order.stop.is_set:
                    self.failed(order, e)


def _answers(order: LabOrder, second: ThreadPoolExecutor) -> Iterator[bytes | None]:
    """The frames of an order, each None if it was stopped."""
    if order.first and order.mode == "full":
        coarse, full_s = (order.state.asked(mode)[0].seconds for mode in MODES)
        if coarse < full_s:
            yield made_of(replace(order, mode="coarse"), second)
    yield made_of(order, second)


def made_of(order: LabOrder, second: ThreadPoolExecutor | None = None, for_page: bool = True) -> bytes | None:
    """The frame of an order; None if it was stopped. The second run goes in parallel with the first."""
    begin_s = time.perf_counter()
    runs = order.state.asked(order.mode)
    memory.promise(_core.Plan([({}, run.scenario) for run in runs]), len(runs), None)
    waits = [second.submit(_core.run_once, run.scenario, order.stop) for run in runs[1:]] if second else []
    tables = [_core.run_once(runs[0].scenario, order.stop)]
    tables += [w.result() for w in waits] if second else [_core.run_once(r.scenario, order.stop) for r in runs[1:]]
    finished_tables = [t for t in tables if t is not None]
    if len(finished_tables) < len(runs) or order.stop.is_set:
        return None
    took_ms = 1e3 * (time.perf_counter() - begin_s) if for_page else None
    controls = for_page and (order.first or order.mode == "full")
    return order.state.picture((order.input, order.mode, order.columns), runs, finished_tables, took_ms, controls)
