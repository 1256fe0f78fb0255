"""Memory is promised before it is taken: what runs may take beside what is free, before the first of them begins.

What a run may take follows from its scenario by arithmetic (`scenario.memory`). What is free is the least of three:
what this process may still take (RLIMIT_AS), what its control group may (version 1 and 2), and what is available on the
machine. A run that has begun never changes by it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.store.keys import stored
from tailback.text.plain import LONGEST, plain

Part = Mapping[str, Any]

#: Address space that a vector reserves as it grows, over what is in it.
RESERVED = 2.0
#: Address space of a thread: its stack, and what the allocator reserves for it.
THREAD = 68e6
#: Memory that a text of TOML or JSON takes for each of its bytes when it is read. Shorter ones are not asked.
TEXT, SHORT = 70.0, 1_000_000
#: Parts that a message names.
MOST = 3
#: Where the kernel says what it gives.
PROC, GROUPS = Path("/proc"), Path("/sys/fs/cgroup")

_given: int | None = None


class MemoryRefusal(ValueError):
    """Runs may take more memory than there is. The text says which keys make them, and what to do."""


@dataclass(frozen=True)
class Room:
    """So many bytes may be taken, and who says so."""

    free: float
    by: str
    #: What a run at once takes of it beside what is in its tables: address space of its thread.
    thread: float = 0.0


def give(bytes: int | None) -> None:
    """Take so much as free, whatever the machine says; None to ask the machine."""
    global _given
    _given = bytes


def room() -> Room:
    """What may be taken now."""
    if _given is not None:
        return Room(_given, "--memory")
    found = [Room(float("inf"), "nobody"), *_of_process(), *_of_groups(), *_of_machine()]
    return min(found, key=lambda r: r.free)


def threads_of(jobs: int) -> int:
    """How many runs go at once; 0 is all cores."""
    return jobs or os.cpu_count() or 1


def total(parts: Sequence[Part]) -> int:
    """All parts of a run together, bytes."""
    return sum(int(p["bytes"]) for p in parts)


def kept(parts: Sequence[Part]) -> int:
    """What the tables of a run take when it is over, bytes."""
    return sum(int(p["kept"]) for p in parts)


def promise(plan: _core.Plan, jobs: int, dir: str | os.PathLike[str] | None, build: str = "") -> None:
    """Refuse a plan if the runs that go at once may take more than there is. Without `dir` their tables stay in memory;
    runs that are stored there are not run again."""
    free, threads = room(), threads_of(jobs)
    points = [(parts, runs) for parts, runs in plan.memory() if runs]
    if too_much(points, threads, dir is None, free) is None:
        return
    if dir is not None:
        there = stored(Path(dir))
        runs = [i for i, run in enumerate(plan.runs(build)) if run["key"] not in there]
        points = [(parts, n) for parts, n in plan.only(runs).memory() if n]
    said = too_much(points, threads, dir is None, free)
    if said is not None:
        raise MemoryRefusal(said)


def promise_bytes(needed: float, what: str, remedy: str) -> None:
    """Refuse what would take so many bytes beside what there is."""
    free = room()
    if needed > free.free:
        raise MemoryRefusal(
            f"{what} may take {gigabytes(needed)} of memory, {gigabytes(max(0.0, free.free))} are free ({free.by}); "
            f"help: {remedy}"
        )


def promise_text(length: int, name: str) -> None:
    """Refuse a text of TOML or JSON, so many bytes, if what is in it may take more than there is. One that is too long
    to be read is not refused here."""
    if SHORT < length <= LONGEST:
        promise_bytes(TEXT * length, f"what is in {plain(name)}", "give a shorter text, or raise the limit (ulimit -v)")


def too_much(points: Sequence[tuple[Sequence[Part], int]], threads: int, in_memory: bool, free: Room) -> str | None:
    """Why runs do not fit, with the keys that cause it and the remedy; None where they do. `points` has the parts of
    one run of each point, and how many runs it has."""
    if not points:
        return None
    threads = min(threads, sum(n for _, n in points))
    per_thread = free.thread if threads > 1 else 0.0
    several = (total(parts) + per_thread for parts, n in points for _ in range(min(n, threads)))
    sizes = sorted(several, reverse=True)
    largest, _ = max(points, key=lambda p: total(p[0]))
    # Tables of all runs, put together of those of each.
    tables = sum(2 * n * kept(parts) for parts, n in points) if in_memory and sum(n for _, n in points) > 1 else 0
    needed = sum(sizes[:threads]) + tables
    if needed <= free.free:
        return None
    parts = sorted(largest, key=lambda p: -p["bytes"])[:MOST]
    named = ", ".join(f"{p['key']} ({gigabytes(p['bytes'])})" for p in parts if p["bytes"] > 0.05 * total(largest))
    what, remedy, shown = "the run may take", f"less of {parts[0]['key']}", sizes[0]
    if sum(sizes[:threads]) <= free.free:
        what, remedy, shown = "the runs and their tables may take", "--out DIR, which keeps tables elsewhere", needed
    elif sizes[0] <= free.free:
        fit = max(n for n in range(1, threads + 1) if sum(sizes[:n]) <= free.free)
        what, remedy, shown = f"{threads} runs at once may take", f"--jobs {fit}, or {remedy}", needed
    ample = f"--memory {gigabytes(1.1 * needed, space='')} if so much may be taken"
    return (
        f"{what} {gigabytes(shown)} of memory, {gigabytes(max(0.0, free.free))} are free ({free.by}); "
        f"most of it: {named}; help: {remedy}, or {ample}"
    )


def warning(scenario: _core.Scenario) -> str | None:
    """What `check` says of a scenario whose run would be refused; None where it fits."""
    return too_much([(scenario.memory, 1)], 1, False, room())


def gigabytes(bytes: float, space: str = " ") -> str:
    """As text: 12.3 GB, 45 MB."""
    if bytes >= 1e9:
        return f"{bytes / 1e9:.1f}{space}GB"
    return f"{max(1, round(bytes / 1e6))}{space}MB"


def _of_process() -> list[Room]:
    """What address space this process may still take."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return []
        used = int((PROC / "self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (ImportError, OSError, ValueError, IndexError):
        return []
    return [Room((limit - used) / RESERVED, "the limit of the process, ulimit -v", THREAD)]


def _of_groups() -> list[Room]:
    """What the control groups of this process, and those above them, may still take."""
    try:
        lines = (PROC / "self/cgroup").read_text().splitlines()
    except OSError:
        return []
    found: list[Room] = []
    for line in lines:
        number, _, rest = line.partition(":")
        controllers, _, name = rest.partition(":")
        if number == "0" and not controllers:
            base, files = GROUPS, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            base, files = GROUPS / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        group = base / name.lstrip("/")
        # In a container the name is that outside, and only the root is there.
        for folder in [group, *group.parents]:
            found += _of_group(folder, *files)
            if folder == base:
                break
    return found


def _of_group(folder: Path, limit: str, usage: str, cache: str) -> list[Room]:
    """What one control group may still take; what it holds of files can be given back."""
    try:
        most = int((folder / limit).read_text())
        used = int((folder / usage).read_text())
        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return []
    return [Room(most - used + int(stat.get(cache, 0)), f"the control group's {limit}")]


def _of_machine() -> list[Room]:
    """What the kernel says can be given without swapping."""
    try:
        lines = (PROC / "meminfo").read_text().splitlines()
    except OSError:
        return []
    kilobytes = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return [Room(1024 * int(n), "what is available on the machine") for n in kilobytes]
