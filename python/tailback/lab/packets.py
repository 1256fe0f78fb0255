"""Packets one by one: a rerun to an instant, with what waits there and a log of the queue's decisions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tailback import _core
from tailback.campaign import memory
from tailback.lab.asked import PACKET_BITS, probes_of, text
from tailback.lab.state import LabError, State, load, watched

#: What is kept around an instant, seconds before and after: within it every other instant is at hand.
BEFORE_S, AFTER_S = 2.0, 0.5
#: Decisions that the log shows.
LAST = 60
#: Runs of at most so many packets over the link are kept whole, some 30 MB each; of longer ones a window.
MOST_WHOLE = 300_000
#: Runs that are kept: those of both disciplines.
MOST_KEPT = 2


@dataclass
class _Kept:
    key: str
    from_s: float
    to_s: float
    found: _core.Watched


class Packets:
    """Answers for instants of the runs of a state; what was run last is kept."""

    def __init__(self) -> None:
        self._kept: list[_Kept] = []

    def ahead(self, state: State, side: int, stop: _core.Stop) -> None:
        """Have every instant of a run at hand before one is asked for, if the run is not too long."""
        documents = state.documents()
        if side >= len(documents):
            return
        scenario = load(documents[side])
        link = watched(scenario)
        row = next(x for x in scenario.spec["links"] if x["name"] == link)
        if row["rate_bps"] * scenario.duration_s / PACKET_BITS <= MOST_WHOLE:
            self._window(documents[side], link, list(_units(row["queue"])), (0.0, scenario.duration_s), stop)

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
        units = _units(queue)
        span = max(0.0, instant - BEFORE_S), min(scenario.duration_s, instant + AFTER_S)
        found = self._window(document, link, list(units), span, stop, instant)
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
        document: dict[str, Any],
        link: str,
        probes: list[str],
        span: tuple[float, float],
        stop: _core.Stop,
        instant: float | None = None,
    ) -> _core.Watched | None:
        """What was seen in a span of time; it may be kept already, or a span around the instant."""
        key = json.dumps(document, sort_keys=True)
        low, high = span if instant is None else (instant, instant)
        for kept in self._kept:
            if kept.key == key and kept.from_s <= low and high <= kept.to_s:
                return kept.found
        record = {"lab-probes": {"link": link, "probes": probes, "on_change": True}}
        rest = {k: v for k, v in document.items() if k not in ("record", "interval", "log_drops", "warmup")}
        watched = load({**rest, "record": record})
        # The run ends with the span.
        ends = load({**rest, "record": record, "duration": text(span[1])}) if span[1] > 0 else watched
        memory.promise(_core.Plan([({}, ends)]), 1, None)
        found = _core.watch(watched, link, *span, stop, instant)
        if found is not None:
            others = [k for k in self._kept if k.key != key]
            self._kept = [*others[-MOST_KEPT + 1 :], _Kept(key, *found.span, found)]
        return found


def _units(queue: str) -> dict[str, str]:
    """The probes that are shown, with their units."""
    return {"queue": "packets", **probes_of("queue", queue)}
