"""Compares the memory that runs may take with the free memory, before the first run begins.

The memory of a run is computed from its scenario (`scenario.memory`), and the free memory by `text/room.py`. A run that
has begun does not depend on this.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.core.store.keys import stored
from tailback.core.text.room import MemoryRefusal, Room, gigabytes, room

Part = Mapping[str, Any]

#: The most parts that a message names.
MOST = 3


def threads_of(jobs: int) -> int:
    """The number of parallel runs; 0 uses all cores."""
    return jobs or cores()


def cores() -> int:
    """Cores that this process may use, as the engine counts them. `taskset` or the quota of a control group may leave
    this process fewer cores than the machine has."""
    return _core.cores()


def total(parts: Sequence[Part]) -> int:
    """The memory of all parts of a run together, in bytes."""
    return sum(int(p["bytes"]) for p in parts)


def kept(parts: Sequence[Part]) -> int:
    """The memory of a finished run's tables, in bytes."""
    return sum(int(p["kept"]) for p in parts)


def promise(plan: _core.Plan, jobs: int, dir: str | os.PathLike[str] | None, build: str = "") -> None:
    """Refuse a plan if parallel runs may take more memory than is free. Without `dir` the tables of the runs stay in
    memory. Runs that are stored in `dir` are not counted, because they are not run again."""
    free_room, threads = room(), threads_of(jobs)
    points = [(parts, runs) for parts, runs in plan.memory() if runs]
    if too_much(points, threads, dir is None, free_room) is None:
        return
    if dir is not None:
        stored_keys = stored(Path(dir))
        runs = [i for i, run in enumerate(plan.runs(build)) if run["key"] not in stored_keys]
        points = [(parts, n) for parts, n in plan.only(runs).memory() if n]
    problem = too_much(points, threads, dir is None, free_room)
    if problem is not None:
        raise MemoryRefusal(problem)


def too_much(points: Sequence[tuple[Sequence[Part], int]], threads: int, in_memory: bool, free: Room) -> str | None:
    """The message if runs do not fit, with the keys that cause it and the remedy; None if they fit. `points` has, for
    each point, the parts of one run and the number of runs."""
    if not points:
        return None
    threads = min(threads, sum(n for _, n in points))
    per_thread = free.thread if threads > 1 else 0.0
    several = (total(parts) + per_thread for parts, n in points for _ in range(min(n, threads)))
    sizes = sorted(several, reverse=True)
    largest, _ = max(points, key=lambda p: total(p[0]))
    # The tables of all runs together are made from the tables of each run.
    tables = sum(2 * n * kept(parts) for parts, n in points) if in_memory and sum(n for _, n in points) > 1 else 0
    needed_bytes = sum(sizes[:threads]) + tables
    if needed_bytes <= free.free:
        return None
    parts = sorted(largest, key=lambda p: -p["bytes"])[:MOST]
    largest_parts = ", ".join(
        f"{p['key']} ({gigabytes(p['bytes'])})" for p in parts if p["bytes"] > 0.05 * total(largest)
    )
    lead, remedy, claimed_bytes = "the run may take", f"less of {parts[0]['key']}", sizes[0]
    if sum(sizes[:threads]) <= free.free:
        lead, remedy, claimed_bytes = (
            "the runs and their tables may take",
            "--out DIR, which keeps tables elsewhere",
            needed_bytes,
        )
    elif sizes[0] <= free.free:
        fit = max(n for n in range(1, threads + 1) if sum(sizes[:n]) <= free.free)
        lead, remedy, claimed_bytes = f"{threads} runs at once may take", f"--jobs {fit}, or {remedy}", needed_bytes
    ample = f"--memory {gigabytes(1.1 * needed_bytes, space='')} if so much may be taken"
    return (
        f"{lead} {gigabytes(claimed_bytes)} of memory, {gigabytes(max(0.0, free.free))} are free ({free.by}); "
        f"most of it: {largest_parts}; help: {remedy}, or {ample}"
    )


def warning(scenario: _core.Scenario) -> str | None:
    """The warning of `check` for a scenario whose run would be refused; None if the run fits."""
    return too_much([(scenario.memory, 1)], 1, False, room())
