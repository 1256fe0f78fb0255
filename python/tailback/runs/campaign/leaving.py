"""Stops the runs that are under way when Python exits, and waits for them.

The threads of a run call Python, for progress and for disciplines written in Python. Once the interpreter has begun to
exit, it ends every thread that calls it, in the middle of the run, and the process aborts. This concerns only runs in
daemon threads, because Python waits for all other threads.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

#: The exit waits for runs at most this long, seconds. Runs can be stopped at each report of progress, five a second.
_PATIENCE_S = 2.0


class _Runs:
    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.under_way = 0
        self.leaving = False


_runs = _Runs()


@contextlib.contextmanager
def under_way(tell: Callable[[Any], Any] | None) -> Iterator[Callable[[Any], Any]]:
    """Counts a run as under way. Yields the function that gets the progress of the run in place of `tell`."""
    runs = _runs

    def goes_on(report: Any) -> Any:
        if runs.leaving:
            return False
        return None if tell is None else tell(report)

    with runs.changed:
        runs.under_way += 1
    try:
        yield goes_on
    finally:
        with runs.changed:
            runs.under_way -= 1
            runs.changed.notify_all()


def _leave() -> None:
    _runs.leaving = True
    with _runs.changed:
        _runs.changed.wait_for(lambda: _runs.under_way == 0, _PATIENCE_S)


def _forked() -> None:
    # The child of a fork does not have the threads of its parent's runs.
    global _runs
    _runs = _Runs()


atexit.register(_leave)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
