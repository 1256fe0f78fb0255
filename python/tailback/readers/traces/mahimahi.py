"""Reads Mahimahi's traces. Each line is a time in whole milliseconds at which a packet of 1504 bytes may be delivered
(Netravali et al., USENIX ATC 2015, section 3.2)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from tailback.readers.given import Given
from tailback.readers.measured.measurement import amount
from tailback.readers.reading import Next, Notes, ReadError, Reading, Written

KIND = "mahimahi"
#: A packet of 1500 bytes, and the 4 bytes that Mahimahi's tunnel puts before it.
OPPORTUNITY_BYTES = 1504


@dataclass(frozen=True)
class Opportunities:
    """The times in milliseconds at which a packet may be delivered. The trace repeats after the last one."""

    at_ms: tuple[int, ...]

    @property
    def mean_bps(self) -> float:
        return len(self.at_ms) * OPPORTUNITY_BYTES * 8e3 / self.at_ms[-1] if self.at_ms[-1] else math.nan


def recognises(given: Given) -> bool:
    """Whether each line is a whole number, and the first hundred are in order."""
    head = [line for _, line in given.filled[:100]]
    if not head or not all(len(line) < 20 and line.isascii() and line.isdigit() for line in head):
        return False
    times = [int(line) for line in head]
    return all(a <= b for a, b in itertools.pairwise(times))


def read(given: Given) -> Reading:
    notes = Notes()
    times_ms: list[int] = []
    for line_number, line in given.filled:
        if not (len(line) < 20 and line.isascii() and line.isdigit()):
            raise ReadError(
                f'"{line[:40]}" is not a whole number of milliseconds',
                "each line of Mahimahi's traces has one; a trace of rates has two columns",
                line_number,
                given.name,
            )
        if times_ms and int(line) < times_ms[-1]:
            raise ReadError(
                "this time is earlier than the one before it", "sort the lines by time", line_number, given.name
            )
        times_ms.append(int(line))
    opportunities = Opportunities(tuple(times_ms))
    if not times_ms[-1]:
        raise ReadError(
            "the trace ends at 0 ms, where it would begin again", "give a last line later than 0", name=given.name
        )
    for line_number, line in enumerate(given.lines, 1):
        if line.startswith("#"):
            notes.leave("a comment", "it is no time", line_number)
    notes.say("opportunities", f"{len(times_ms)}, of {OPPORTUNITY_BYTES} B")
    notes.say("length", f"{times_ms[-1] / 1e3:g} s, then it begins again")
    notes.say("mean rate", amount(opportunities.mean_bps, "bit/s"))
    gaps = max((b - a for a, b in zip([0, *times_ms], times_ms, strict=False)), default=0)
    notes.say("longest gap", f"{gaps} ms")
    steps = (
        Next(
            '[change.NAME] link = "LINK", mahimahi = "FILE"',
            "let a link of a scenario follow it (with mahimahi, not trace)",
        ),
        Next("tailback read FILE --write trace.txt", "write it without comments"),
    )
    title = f"a trace of Mahimahi, {len(times_ms)} opportunities"
    usable = Written("a trace of Mahimahi, for the key mahimahi", lambda: "".join(f"{t}\n" for t in times_ms))
    return Reading(KIND, title, tuple(notes.understood), notes.left, steps, opportunities, usable)
