"""The newest state is run, in a thread of its own; an older one that still runs is stopped, and never answered."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from tailback import _core
from tailback.campaign import memory
from tailback.lab.asked import Mode, ScreenRun, asked
from tailback.lab.controls import controls
from tailback.lab.frames import ScreenNumbers, frame, measures, of_run
from tailback.lab.state import State

#: Columns of a picture, at most: a screen of 2560 pixels has two panels in a row.
MOST_COLUMNS = 1280


@dataclass(frozen=True)
class LabOrder:
    """A state that a page asks for, with the number of its input."""

    input: int
    state: State
    mode: Mode
    columns: int
    stop: _core.Stop = field(default_factory=_core.Stop)


class Latest:
    """Runs the newest order. `send` gets a frame, in the thread of the runs; `failed` gets the order and what was
    raised."""

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
        """Run this one next, and stop what runs; an order of an older input than the newest is ignored."""
        with self._changed:
            if self._closed or (self._newest is not None and order.input <= self._newest.input):
                return
            if self._newest is not None:
                self._newest.stop.set()
            self._next = self._newest = order
            self._changed.notify()

    def close(self) -> None:
        """Stop what runs, and run nothing more."""
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
                made = made_of(order, self._second)
            except Exception as e:  # What a page asks for must not end the thread.
                if not order.stop.is_set:
                    self.failed(order, e)
                continue
            if made is not None and not order.stop.is_set:
                self.send(made)


def made_of(order: LabOrder, second: ThreadPoolExecutor | None = None, for_page: bool = True) -> bytes | None:
    """The frame of an order; None if it was stopped. A second run goes on beside the first."""
    began = time.perf_counter()
    runs = asked(order.state, order.mode)
    memory.promise(_core.Plan([({}, run.scenario) for run in runs]), len(runs), None)
    waits = [second.submit(_core.run_once, run.scenario, order.stop) for run in runs[1:]] if second else []
    tables = [_core.run_once(runs[0].scenario, order.stop)]
    tables += [w.result() for w in waits] if second else [_core.run_once(r.scenario, order.stop) for r in runs[1:]]
    done = [t for t in tables if t is not None]
    if len(done) < len(runs) or order.stop.is_set:
        return None
    about: dict[str, Any] = {"took_ms": 1e3 * (time.perf_counter() - began)} if for_page else {}
    if for_page and order.mode == "full":
        about["controls"] = controls(order.state)
    return _framed(order, runs, done, about)


def _framed(order: LabOrder, runs: list[ScreenRun], tables: list[_core.RunTables], about: dict[str, Any]) -> bytes:
    numbers = ScreenNumbers()
    columns = max(50, min(order.columns, MOST_COLUMNS))
    header: dict[str, Any] = {
        "do": "picture",
        "input": order.input,
        "mode": order.mode,
        "seconds": runs[0].seconds,
        "warmup": runs[0].scenario.warmup_s,
        "seed": runs[0].scenario.seed,
        "link": runs[0].link,
        "measures": measures(),
        "warnings": runs[0].scenario.warnings,
        "runs": [of_run(run, table, columns, numbers) for run, table in zip(runs, tables, strict=True)],
        **about,
    }
    return frame(header, numbers)
