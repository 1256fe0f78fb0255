"""The four phases of a run (idle, download, upload, both), and the counted part of each."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tailback.apps.ask.given import LinkError
from tailback.apps.ask.home.line import HomeLine

IDLE, DOWN, UP, BOTH = "idle", "down", "up", "both"
#: The names of phases for tables, figures and sentences.
TITLES = {IDLE: "idle", DOWN: "download", UP: "upload", BOTH: "both"}
#: The idle time before the first phase with load.
IDLE_S = 5.0
#: The pause between two phases, so that queues empty and senders stop; it is longer if more bytes are queued.
GAP_S = 4.0
#: The default length of a phase with load, and the shortest.
LOADED_S, LEAST_LOADED_S = 20.0, 4.0
#: If down and up together are faster than this rate, a phase is shorter in proportion, but at least this long: the same
#: number of packets gives the same precision.
FAST_BPS, FAST_LOADED_S = 300e6, 8.0
#: The first part of a phase with load is its start, which is measured separately.
START_SHARE = 0.25


@dataclass(frozen=True)
class Phase:
    """A part of a run, in seconds from its start."""

    name: str
    begins: float
    ends: float
    #: Whether the line is loaded downwards, and upwards.
    down: bool
    up: bool
    #: The beginning of the counted part; the time before is the start.
    counted: float

    @property
    def title(self) -> str:
        return TITLES[self.name]


@dataclass(frozen=True)
class Timeline:
    phases: tuple[Phase, ...]
    duration_s: float

    def __getitem__(self, name: str) -> Phase:
        return next(p for p in self.phases if p.name == name)

    def __contains__(self, name: str) -> bool:
        return any(p.name == name for p in self.phases)

    @property
    def loaded(self) -> tuple[Phase, ...]:
        return tuple(p for p in self.phases if p.down or p.up)

    @property
    def one_way(self) -> Timeline:
        """The phases without the one that loads both directions."""
        one_way_phases = tuple(p for p in self.phases if not (p.down and p.up))
        return self if len(one_way_phases) == len(self.phases) else Timeline(one_way_phases, self[BOTH].begins)

    @property
    def last(self) -> Phase:
        """The phase with most load."""
        return self.phases[-1]


def timeline(line: HomeLine, duration_s: float | None = None) -> Timeline:
    """The phases of a run on this line; `duration_s` is the length of the run. Raises `LinkError`."""
    down, up = line.loaded
    loads = [(DOWN, True, False), (UP, False, True), (BOTH, True, True)]
    loads = [w for w in loads if (down or not w[1]) and (up or not w[2])]
    # The queue of a full modem must drain, and retransmissions must end, before the next phase.
    gap = GAP_S + 4 * max(8 * line.down_buffer / line.down_bps, 8 * line.up_buffer / line.up_bps)
    unloaded_s = IDLE_S + gap * len(loads)
    both_bps = line.down_bps + line.up_bps
    usual = LOADED_S if both_bps <= FAST_BPS else max(FAST_LOADED_S, math.ceil(LOADED_S * FAST_BPS / both_bps))
    load_s = usual if duration_s is None else (duration_s - unloaded_s) / len(loads)
    if load_s < LEAST_LOADED_S:
        least_s = unloaded_s + LEAST_LOADED_S * len(loads)
        raise LinkError(
            f"duration = {duration_s:g}s: {len(loads)} phases with load and the pauses after them do not fit; give at "
            f"least {least_s:g}s"
        )
    phases = [Phase(IDLE, 0.0, IDLE_S, False, False, 1.0)]
    begin_s = IDLE_S
    for name, d, u in loads:
        phases.append(Phase(name, begin_s, begin_s + load_s, d, u, begin_s + START_SHARE * load_s))
        begin_s += load_s + gap
    # The last pause lets packets that are still on their way arrive.
    return Timeline(tuple(phases), begin_s)
