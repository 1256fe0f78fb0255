"""The progress of a campaign, and a line that shows it: on a terminal, in a notebook, and at intervals in a log."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable
from typing import Any

#: A function that is called with the state of a campaign. The function stops the campaign by returning False.
Tell = Callable[[dict[str, Any]], Any] | None
#: The display of progress: a function that gets the state, a bar (True), or no display.
Progress = Callable[[dict[str, Any]], Any] | bool | None

#: In a log, where a line cannot be overwritten: the time from which the first line may come, the least remaining time
#: for it, and the interval of lines, seconds.
FIRST_S, A_MOMENT_S, EVERY_S = 1.0, 2.0, 10.0


class HowFar:
    """The progress of a campaign that the engine does not count alone. The progress is measured by the expected cost of
    each run, in any unit."""

    def __init__(self, tell: Tell, total: int, reused: int, work: float, each: float | None = None) -> None:
        self.tell, self.total, self.reused, self.work = tell, total, reused, work
        #: The expected mean cost of a run in the engine.
        self.each = work / max(total - reused, 1) if each is None else each
        self.done, self.failed, self.finished = reused, 0, 0.0
        #: The set of runs that reported last.
        self.set = ""
        #: The finished parts of runs that are under way.
        self.open = 0.0
        #: The greatest reported share. If runs are added later, the reported share does not go back.
        self.told = 0.0
        self.started = time.monotonic()

    def ended(self, work: float, runs: int = 1, failed: int = 0) -> bool:
        """Counts runs that have ended. Returns whether to go on."""
        self.finished, self.done, self.failed = self.finished + work, self.done + runs, self.failed + failed
        return self._say()

    def add(self, total: int, reused: int, work: float) -> None:
        """Adds runs that were not counted at first."""
        self.total, self.reused, self.done = self.total + total, self.reused + reused, self.done + reused
        self.work += work

    def under_way(self, engine: dict[str, Any]) -> bool:
        """Takes the engine's report on its runs, which comes a few times a second. Returns whether to go on."""
        self.open = max(0.0, engine["share"] * engine["total"] - engine["done"])
        return self._say()

    def waits(self) -> bool:
        """Reports while no run ends. Returns whether to go on."""
        self.open = 0.0
        return self._say()

    def _say(self) -> bool:
        return self.tell is None or self.tell(self.report()) is not False

    def report(self) -> dict[str, Any]:
        """The state of the campaign in the form of the engine's reports, with the set of runs."""
        share = min(1.0, (self.finished + self.open * self.each) / self.work) if self.work else 1.0
        self.told = share = max(share, self.told if share < 1 else share)
        elapsed_s = time.monotonic() - self.started
        return {
            "set": self.set,
            "total": self.total,
            "reused": self.reused,
            "done": self.done,
            "failed": self.failed,
            "share": share,
            "elapsed_s": elapsed_s,
            "remaining_s": elapsed_s * (1 - share) / share if share > 0.01 else math.nan,
        }


class ProgressLine:
    """A function object that is called with the state of a campaign; `close` clears the line. Without a terminal or a
    notebook a line comes after a second, with an estimate of the remaining time, and then every ten seconds."""

    def __init__(self, stream: Any = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.on = self.stream.isatty() or _in_notebook()
        self.shown = 0
        #: The time of its last message.
        self.told_s: float | None = None

    def __call__(self, state: dict[str, Any]) -> bool:
        # A run of a second or two needs no line.
        if self.on and state["elapsed_s"] > 0.5:
            self._show(line(state))
        elif not self.on and state["share"] < 1 and self._due(state):
            self.told_s = state["elapsed_s"]
            with contextlib.suppress(OSError):
                self.stream.write(line(state) + "\n")
                self.stream.flush()
        return True

    def _due(self, state: dict[str, Any]) -> bool:
        elapsed_s, remaining_s = float(state["elapsed_s"]), float(state["remaining_s"])
        if self.told_s is None:
            return (elapsed_s >= FIRST_S and remaining_s > A_MOMENT_S) or elapsed_s >= EVERY_S
        # The time of a further campaign begins at zero again.
        return elapsed_s - (self.told_s if elapsed_s > self.told_s else 0.0) >= EVERY_S

    def _show(self, text: str) -> None:
        self.stream.write("\r" + text.ljust(self.shown))
        self.stream.flush()
        self.shown = len(text)

    def announce(self, text: str) -> None:
        """Prints a separate line on the planned work before it begins."""
        self.close()
        self.stream.write(f"to do: {text}\n")
        self.stream.flush()

    def close(self) -> None:
        if self.shown:
            self.stream.write("\r" + " " * self.shown + "\r")
            self.stream.flush()
            self.shown = 0

    def of_one_run(self) -> Callable[[float], bool]:
        """A function that gets the finished part of a single run."""
        far = HowFar(self, total=1, reused=0, work=1.0)
        return lambda share: far.under_way({"share": share, "total": 1, "done": 0})

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _in_notebook() -> bool:
    """Whether a kernel of Jupyter shows the output. Such a kernel can overwrite a line."""
    return type(sys.stderr).__module__.startswith("ipykernel")


def bar(share: float, width: int = 20) -> str:
    """`[#######             ]`"""
    full_cells = round(width * min(max(share, 0.0), 1.0))
    return f"[{'#' * full_cells}{' ' * (width - full_cells)}]"


def line(state: dict[str, Any]) -> str:
    """The state in words: `[######   ]  34 %, 12 of 30 runs, 41 s, about 1 min 20 s left`."""
    texts = [f"{bar(state['share'])} {state['share']:4.0%}".replace("%", " %")]
    if state.get("set"):
        texts.insert(0, state["set"])
    if state["total"] > 1:
        texts.append(f"{state['done']} of {state['total']} runs")
    texts.append(span(state["elapsed_s"]))
    if math.isfinite(state["remaining_s"]) and state["share"] < 1:
        texts.append(f"about {span(state['remaining_s'])} left")
    if state["failed"]:
        texts.append(f"{state['failed']} failed")
    return ", ".join(texts)


def span(seconds: float) -> str:
    """A time in hours, minutes or seconds, in everyday words."""
    s = round(seconds)
    if s < 60:
        return f"{s} s"
    if s < 3600:
        return f"{s // 60} min {s % 60} s"
    return f"{s // 3600} h {s % 3600 // 60} min"


def shown(progress: Progress) -> contextlib.AbstractContextManager[Tell]:
    """The function that gets the progress while a plan runs."""
    if progress is True:
        return ProgressLine()
    return contextlib.nullcontext(progress or None)
