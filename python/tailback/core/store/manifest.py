"""Writes the files beside the tables in a folder of results: the scenario, and the manifest with the origin of the
results."""

from __future__ import annotations

import datetime
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.core.text.json_text import clean
from tailback.core.text.plain import command_line, file_bytes
from tailback.core.text.whole import write_text


def about(
    scenario: Any, seeds: list[int], queues: Mapping[str, Any], command: list[str] | None, units: Mapping[str, str]
) -> dict[str, Any]:
    """The entries of the manifest of a scenario's replications, except the runs. `units` are those of the probes of
    users' classes."""
    return {
        **program(command),
        "scenario": scenario.name,
        "scenario_digest": scenario.digest,
        "queues": {port: getattr(make, "__qualname__", repr(make)) for port, make in sorted(queues.items())},
        "seeds": seeds,
        "replications": len(seeds),
        # A stored result is read without the classes.
        **({"units": dict(units)} if units else {}),
    }


def program(command: list[str] | None = None) -> dict[str, Any]:
    """The program that ran, its command line, and the machine."""
    from tailback.core.store import fingerprint

    return {
        "tailback": _core.__version__,
        "build": fingerprint.build(),
        "python": sys.version.split()[0],
        "command": command_line(command or sys.argv),
        "machine": machine(),
    }


def make(
    result: Any,
    units: Mapping[str, str],
    started: datetime.datetime | None = None,
    command: list[str] | None = None,
) -> dict[str, Any]:
    """The manifest of a result in memory. In a folder of results, the store writes it."""
    end_time = datetime.datetime.now(datetime.UTC)
    results, scenario = result.results, result.scenario
    reports = list(results.reports)
    runs = [
        {
            "seed": row["seed"],
            "key": row["key"],
            "status": row["status"],
            **(reports[row["run"]] if row["run"] < len(reports) else {}),
        }
        for row in results.runs
    ]
    return {
        **about(scenario, [r["seed"] for r in runs], result.queues, command, units),
        "status": "failed" if results.failure else "interrupted" if results.interrupted else "done",
        "started": (started or end_time).isoformat(timespec="seconds"),
        "finished": end_time.isoformat(timespec="seconds"),
        "elapsed_s": results.report.get("elapsed_s"),
        "runs": runs,
    }


def machine() -> dict[str, Any]:
    """The properties of the computer that matter for run times."""
    cpu = ""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        cpu = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    except OSError:
        # On other systems this needs a command of the system, which takes longer than a short run.
        import platform

        cpu = platform.processor()
    if hasattr(os, "uname"):
        system = tuple(os.uname())
    else:
        import platform

        system = tuple(platform.uname())
    return {
        "system": system[0],
        "release": system[2],
        "arch": system[4],
        "cpu": cpu,
        "cores": os.cpu_count(),
    }


def write_scenario(dir: Path, scenario: Any) -> None:
    write_text(dir / "scenario.toml", scenario.toml)


#: The entries that are read, with their types.
_KINDS = {"points": list, "scenarios": dict, "runs": list, "sweep": dict, "demo": dict, "units": dict}
#: A manifest names every run of a plan, of which there may be a million.
LONGEST_MANIFEST = 1 << 31


def write(dir: Path, manifest: dict[str, Any]) -> None:
    write_text(dir / "manifest.json", json.dumps(clean(manifest), indent=2, allow_nan=False) + "\n")


def read(dir: Path) -> dict[str, Any]:
    """The manifest of a folder; an empty dict if the folder has none."""
    try:
        manifest = json.loads(file_bytes(dir / "manifest.json", LONGEST_MANIFEST))
        if not isinstance(manifest, dict):
            raise ValueError("the manifest is not a JSON object")
        if any(not isinstance(manifest[key], kind) for key, kind in _KINDS.items() if manifest.get(key) is not None):
            raise ValueError("a key of the manifest has another type")
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError) as e:
        raise OSError(f"{dir / 'manifest.json'} is damaged; run the plan again to repair it") from e
    return manifest
