"""The scenarios that are run for a page: those of its state, with what the page draws recorded in place of their own
recordings."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tailback import _core
from tailback.lab.state import State, load, watched
from tailback.scenario.reference import describe

Mode = Literal["coarse", "full"]

#: Samples of the queue in a run; a page shows the least and the greatest of each column of pixels.
SAMPLES = 6000
#: Points of each window, which are drawn as they are.
WINDOW_POINTS: dict[Mode, int] = {"coarse": 200, "full": 400}
#: Intervals of the time in the queue.
INTERVALS = 240
#: Flows whose windows are recorded, at most.
MOST_WINDOWS = 200
#: Packets that a coarse run sends over the link, about; the same on every machine.
COARSE_PACKETS = 10_000
#: Bits of a packet for that purpose.
PACKET_BITS = 12_000
#: A coarse run is not shorter than this, seconds.
LEAST_COARSE_S = 1.0


@dataclass(frozen=True)
class ScreenRun:
    """A run that is asked for: its scenario, and what is read from it."""

    scenario: _core.Scenario
    link: str
    queue: str
    #: Simulated seconds.
    seconds: float
    probes: tuple[str, ...]


def seconds_of(scenario: _core.Scenario, mode: Mode) -> float:
    """How much of a scenario is run."""
    whole = scenario.duration_s
    if mode == "full":
        return whole
    name = watched(scenario)
    rate = next(link["rate_bps"] for link in scenario.spec["links"] if link["name"] == name)
    # Two digits, for it is shown.
    return min(whole, max(LEAST_COARSE_S, float(f"{COARSE_PACKETS * PACKET_BITS / rate:.2g}")))


def asked(state: State, mode: Mode) -> list[ScreenRun]:
    """The runs of a state. Raises `tailback.ScenarioError` with the message that a file gets."""
    return [_recorded(document, mode) for document in state.documents()]


def _recorded(document: Mapping[str, Any], mode: Mode) -> ScreenRun:
    scenario = load(document)
    link = watched(scenario)
    seconds = seconds_of(scenario, mode)
    kept = {k: v for k, v in document.items() if k not in ("record", "interval", "log_drops")}
    top = {"duration": text(seconds), "interval": text(seconds / INTERVALS)}
    if scenario.warmup_s:
        # A coarse run is cut, so that it may end before the warm-up does.
        most = seconds if mode == "full" else seconds / 5
        top["warmup"] = text(min(scenario.warmup_s, most))
    queue = next(x["queue"] for x in scenario.spec["links"] if x["name"] == link)
    own = [p for p in ("average",) if p in probes_of("queue", queue)]
    record: dict[str, Any] = {
        "lab-queue": {"link": link, "probes": ["queue", *own], "every": text(seconds / SAMPLES)},
        "lab-sojourn": {"link": link, "probes": ["sojourn_percentiles"], "every": text(seconds)},
    }
    left = MOST_WINDOWS
    for group in scenario.spec["flows"]:
        if "cwnd" in probes_of("transport", group["transport"]) and group["count"] <= left:
            left -= group["count"]
            record[f"lab-cwnd-{group['name']}"] = {
                "flows": group["name"],
                "probes": ["cwnd"],
                "every": text(seconds / WINDOW_POINTS[mode]),
            }
    run = load({**kept, **top, "record": record})
    return ScreenRun(run, link, queue, seconds, ("queue", *own, "cwnd", "sojourn_percentiles"))


@functools.cache
def probes_of(family: str, name: str) -> dict[str, str]:
    """Probes with one value that a model has, with their units."""
    found = [m for m in describe(name) if m["family"] == family]
    return {p["name"]: p["unit"] for m in found for p in m["probes"] if not p["per"]}


def text(seconds: float) -> str:
    """A time as a scenario has it."""
    return f"{max(1, round(seconds * 1e9))}ns"
