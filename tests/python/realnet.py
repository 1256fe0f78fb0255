"""For tests with real packets: what this machine allows, and what a run may not leave."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

LINUX = sys.platform.startswith("linux")
if LINUX:
    from tailback.runs.live import machine


def missing() -> str:
    """Why this machine cannot; nothing if it can."""
    if not LINUX:
        return "not Linux"
    return "; ".join(f"{c.what}: {c.found}" for c in machine.checks() if c.needed and not c.good)


WHY_NOT = missing()
real = pytest.mark.skipif(bool(WHY_NOT), reason=f"no real packets here: {WHY_NOT}")


def tailback(*words: str, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = [*before, sys.executable, "-m", "tailback", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def interfaces() -> list[str]:
    return sorted(os.listdir("/sys/class/net"))


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Whatever happens inside leaves no process and no interface."""
    before = interfaces()
    yield
    deadline = time.monotonic() + 5
    while (ours() or interfaces() != before) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert ours() == []
    assert interfaces() == before


def ours() -> list[int]:
    """Processes of live runs that this test could have started."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
            if b"tailback.runs.live.agent" in command or command.startswith(b"iperf3\0"):
                environment = (entry / "environ").read_bytes().split(b"\0")
                if f"TAILBACK_TEST={os.getpid()}".encode() in environment:
                    found.append(int(entry.name))
        except OSError:
            continue
    return found
