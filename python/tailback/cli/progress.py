"""One line on a terminal that says how far a plan is and how long it still takes; nothing without a terminal."""

from __future__ import annotations

import math
import sys
from typing import Any


class ProgressLine:
    """Call it with the state of a plan; `close` clears the line."""

    def __init__(self, stream: Any = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.on = self.stream.isatty()
        self.shown = 0

    def __call__(self, state: dict[str, Any]) -> bool:
        # A run of a second or two needs no line.
        if self.on and state["elapsed_s"] > 0.5:
            self._show(line(state))
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


def line(state: dict[str, Any]) -> str:
    """The state in words: `34 %, 12 of 30 runs, 41 s, about 1 min 20 s left`."""
    parts = [f"{state['share']:4.0%}".replace("%", " %")]
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
