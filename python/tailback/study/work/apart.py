"""Does one live run for a study by `tailback live` in a separate process. This process has its own interpreter, and can
be stopped from another thread."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from typing import Any

from tailback.study.computed import NotMeasured, NotValid

#: The processes of the live runs that are under way.
_processes: set[subprocess.Popen[str]] = set()


def live_run(scenario: str) -> dict[str, Any]:
    """The document of `tailback live --json` for a scenario. Raises `NotMeasured` if this machine cannot do live runs,
    and `NotValid` if it was too busy to do the run in time."""
    if why := missing():
        raise NotMeasured(f"it needs real packets, which this machine does not forward: {why}")
    command = [sys.executable, "-m", "tailback", "live", "-", "--json"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        _processes.add(process)
        try:
            output, errors = process.communicate(scenario)
        finally:
            _processes.discard(process)
    if process.returncode == 130:
        raise KeyboardInterrupt
    if process.returncode:
        raise NotMeasured(errors.strip().removeprefix("error: ") or f"tailback live ended with {process.returncode}")
    results: dict[str, Any] = json.loads(output)
    (live_part,) = results["live"]
    if not live_part["valid"]:
        raise NotValid("; ".join(live_part["invalid"]))
    return results


def stop() -> None:
    """End the live runs that are under way. The networks and devices of these runs end with the runs."""
    for process in list(_processes):
        process.terminate()


@functools.cache
def missing() -> str:
    """The reason why this machine can do no live runs; empty if it can."""
    if not sys.platform.startswith("linux"):
        return "it is not Linux"
    from tailback.runs.live import machine

    return "; ".join(f"{c.what}: {c.found}" for c in machine.checks() if c.needed and not c.good)
