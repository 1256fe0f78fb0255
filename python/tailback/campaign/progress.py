"""One line that says how far a plan is and how long it still takes: on a terminal, and in a notebook."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable
from typing import Any

#: What is told of a plan as it goes on: a function of its state, True for a bar, or nothing.
Progress = Callable[[dict[str, Any]], Any] | bool | None


#: Where a line cannot be written anew, such as in a log, there is one so often.
EVERY_S = 10.0


class ProgressLine:
    """Call it with the state of a plan; `close` clears the line. Without a terminal or a notebook there is a line each
    ten seconds."""

    def __init__(self, stream: Any = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.on = self.stream.isatty() or _in_notebook()
        self.shown = 0
        self.told_s = 0.0

    def __call__(self, state: dict[str, Any]) -> bool:
        # A run of a second or two needs no line.
        if self.on and state["elapsed_s"] > 0.5:
            self._show(line(state))
        elif not self.on and state["elapsed_s"] - self.told_s >= EVERY_S and state["share"] < 1:
            self.told_s = state["elapsed_s"]
            with contextlib.suppress(OSError):
                self.stream.write(line(state) + "\n")
                self.stream.flush()
        return True

    def _show(self, text: str) -> None:
        self.stream.write("\r" + text.ljust(self.shown))
        self.stream.flush()
        self.shown = len(text)

    def close(self) -> None:
        if self.shown:
            self.stream.write("\r" + " " * self.shown + "\r")
            self.stream.flush()
            self.shown = 0

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _in_notebook() -> bool:
    """Whether a kernel of Jupyter shows what is written: it knows how to begin a line anew."""
    return type(sys.stderr).__module__.startswith("ipykernel")


def bar(share: float, width: int = 20) -> str:
    """`[#######             ]`"""
    full = round(width * min(max(share, 0.0), 1.0))
    return f"[{'#' * full}{' ' * (width - full)}]"


def line(state: dict[str, Any]) -> str:
    """The state in words: `[######   ]  34 %, 12 of 30 runs, 41 s, about 1 min 20 s left`."""
    parts = [f"{bar(state['share'])} {state['share']:4.0%}".replace("%", " %")]
    if state["total"] > 1:
        parts.append(f"{state['done']} of {state['total']} runs")
    parts.append(span(state["elapsed_s"]))
    if math.isfinite(state["remaining_s"]) and state["share"] < 1:
        parts.append(f"about {span(state['remaining_s'])} left")
    if state["failed"]:
        parts.append(f"{state['failed']} failed")
    return ", ".join(parts)


def span(seconds: float) -> str:
    """A time of hours, minutes or seconds, as people say it."""
    s = round(seconds)
    if s < 60:
        return f"{s} s"
    if s < 3600:
        return f"{s // 60} min {s % 60} s"
    return f"{s // 3600} h {s % 3600 // 60} min"


def shown(progress: Progress) -> contextlib.AbstractContextManager[Callable[[dict[str, Any]], Any] | None]:
    """The function that is told, for as long as a plan goes on."""
    if progress is True:
        return ProgressLine()
    return contextlib.nullcontext(progress or None)
