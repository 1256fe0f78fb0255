"""The memory that may be taken now, and the refusal of a task that would take more.

Free memory is the least of three limits: that of this process (RLIMIT_AS), that of its control group (version 1 and 2),
and the memory available on the machine.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tailback.core.text.plain import LONGEST, plain

#: The address space that a growing vector reserves, as a multiple of its contents.
RESERVED = 2.0
#: Address space of a thread: its stack, and the allocator's reserve.
THREAD = 68e6
#: The memory for each byte of a TOML or JSON text when it is read. Texts below the second number are not checked.
TEXT, SHORT = 70.0, 1_000_000
#: Files in which the kernel reports memory.
PROC, GROUPS = Path("/proc"), Path("/sys/fs/cgroup")

_given: int | None = None


class MemoryRefusal(ValueError):
    """Runs may take more memory than is free. The text names the keys that cause it, and the remedy."""


@dataclass(frozen=True)
class Room:
    """The free bytes, and the name of the limit."""

    free: float
    by: str
    #: The address space of a parallel run's thread, without the run's tables.
    thread: float = 0.0


def give(bytes: int | None) -> None:
    """Sets the free memory by hand; None reads it from the machine again."""
    global _given
    _given = bytes


def room() -> Room:
    """The memory that may be taken now."""
    if _given is not None:
        return Room(_given, "--memory")
    rooms = [Room(float("inf"), "nobody"), *_of_process(), *_of_groups(), *_of_machine()]
    return min(rooms, key=lambda r: r.free)


def promise_bytes(needed: float, what: str, remedy: str) -> None:
    """Refuses a task that needs more bytes than are free."""
    free_room = room()
    if needed > free_room.free:
        raise MemoryRefusal(
            f"{what} may take {gigabytes(needed)} of memory, {gigabytes(max(0.0, free_room.free))} are free "
            f"({free_room.by}); help: {remedy}"
        )


def promise_text(length: int, name: str) -> None:
    """Refuses a TOML or JSON text of this length if its contents may take more memory than is free. A text too long to
    be read is refused elsewhere."""
    if SHORT < length <= LONGEST:
        promise_bytes(TEXT * length, f"what is in {plain(name)}", "give a shorter text, or raise the limit (ulimit -v)")


def gigabytes(bytes: float, space: str = " ") -> str:
    """A number of bytes as text: 12.3 GB, 45 MB."""
    if bytes >= 1e9:
        return f"{bytes / 1e9:.1f}{space}GB"
    return f"{max(1, round(bytes / 1e6))}{space}MB"


def _of_process() -> list[Room]:
    """The address space that this process may still take."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return []
        used_bytes = int((PROC / "self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (ImportError, OSError, ValueError, IndexError):
        return []
    return [Room((limit - used_bytes) / RESERVED, "the limit of the process, ulimit -v", THREAD)]


def _of_groups() -> list[Room]:
    """The memory that the control groups of this process, and those above them, may still take."""
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
        # In a container the name is the one outside, and only the root exists.
        for folder in [group, *group.parents]:
            rooms += _of_group(folder, *files)
            if folder == base:
                break
    return rooms


def _of_group(folder: Path, limit: str, usage: str, cache: str) -> list[Room]:
    """The memory that one control group may still take; its file cache can be freed and counts as free."""
    try:
        most_bytes = int((folder / limit).read_text())
        used_bytes = int((folder / usage).read_text())
        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return []
    return [Room(most_bytes - used_bytes + int(stat.get(cache, 0)), f"the control group's {limit}")]


def _of_machine() -> list[Room]:
    """The memory that the kernel can give without swapping."""
    try:
        lines = (PROC / "meminfo").read_text().splitlines()
    except OSError:
        return []
    kilobytes = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return [Room(1024 * int(n), "what is available on the machine") for n in kilobytes]
