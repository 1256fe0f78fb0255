"""What memory may be taken now, and the refusal of what would take more.

What is free is the least of three: what this process may still take (RLIMIT_AS), what its control group may (version 1
and 2), and what is available on the machine.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tailback.core.text.plain import LONGEST, plain

#: Address space that a vector reserves as it grows, over what is in it.
RESERVED = 2.0
#: Address space of a thread: its stack, and what the allocator reserves for it.
THREAD = 68e6
#: Memory that a text of TOML or JSON takes for each of its bytes when it is read. Shorter ones are not asked.
TEXT, SHORT = 70.0, 1_000_000
#: Where the kernel says what it gives.
PROC, GROUPS = Path("/proc"), Path("/sys/fs/cgroup")

_given: int | None = None


class MemoryRefusal(ValueError):
    """Runs may take more memory than there is. The text says which keys make them, and what to do."""


@dataclass(frozen=True)
class Room:
    """The bytes that may be taken, and what sets this limit."""

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
    rooms = [Room(float("inf"), "nobody"), *_of_process(), *_of_groups(), *_of_machine()]
    return min(rooms, key=lambda r: r.free)


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
    rooms: list[Room] = []
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
            rooms += _of_group(folder, *files)
            if folder == base:
                break
    return rooms


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
