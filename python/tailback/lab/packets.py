"""Packets one by one: a rerun to an instant, with what waits there and a log of the queue's decisions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tailback import _core
from tailback.lab.asked import probes_of
from tailback.lab.state import LabError, State, load, watched

#: What is kept around an instant, seconds before and after: within it every other instant is at hand.
BEFORE_S, AFTER_S = 2.0, 0.5
#: Decisions that the log shows.
LAST = 60


@dataclass
class _Kept:
    key: str
    from_s: float
    to_s: float
    found: _core.Watched


class Packets:
    """Answers for instants of the runs of a state; the last window that was run is kept."""

    def __init__(self) -> None:
        self._kept: _Kept | None = None

    def at(self, state: State, side: int, instant: float, stop: _core.Stop) -> dict[str, Any] | None:
        """What the queue of one run holds and has decided at an instant; None if it was stopped."""
        documents = state.documents()
        if not 0 <= side < len(documents):
            raise LabError(f"there is no run {side}; a state with one discipline has run 0, one with two has 0 and 1")
        document = documents[side]
        scenario = load(document)
        if not 0 <= instant <= scenario.duration_s:
            raise LabError(f"the run goes from 0 s to {scenario.duration_s:g} s; {instant} s is not in it")
        link = watched(scenario)
        queue = next(x["queue"] for x in scenario.spec["links"] if x["name"] == link)
        units = {"queue": "packets", **probes_of("queue", queue)}
        found = self._window(json.dumps(document, sort_keys=True), document, link, list(units), instant, stop)
        if found is None:
            return None
        waiting, log, values = found.at(instant, LAST)
        return {
            "side": side,
            "at": instant,
            "queue": queue,
            "waiting": waiting,
            "log": log,
            "probes": [[name, units[name], value] for name, value in zip(found.probes, values, strict=True)],
        }

    def _window(
        self,
        key: str,
        document: dict[str, Any],
        link: str,
        probes: list[str],
        instant: float,
        stop: _core.Stop,
    ) -> _core.Watched | None:
        kept = self._kept
        if kept is not None and kept.key == key and kept.from_s <= instant <= kept.to_s:
            return kept.found
        record = {"lab-probes": {"link": link, "probes": probes, "on_change": True}}
        rest = {k: v for k, v in document.items() if k not in ("record", "interval", "log_drops", "warmup")}
        scenario = load({**rest, "record": record})
        begin, end = max(0.0, instant - BEFORE_S), min(scenario.duration_s, instant + AFTER_S)
        found = _core.watch(scenario, link, begin, end, stop)
        if found is not None:
            self._kept = _Kept(key, begin, end, found)
        return found
