#!/usr/bin/env python3
"""How long commands take: measured here, kept in docs/times.json, shown on docs/times.md.

    make times                            every row; run `make check` before, so that everything is built
    tools/times.py reproduce compare      the rows that have one of these texts; the others stay as they are
    tools/times.py --any-load first-run   to try: prints, on a machine with other work too, and writes nothing
    tools/times.py --page                 the page again, from what is stored

Other pages link to this table instead of naming a time, so that all times are of one machine.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "docs/times.json"
PAGE = ROOT / "docs/times.md"

#: Each is a line for a shell. `make` runs in the checkout, everything else in a new folder.
ROWS = (
    "make check",
    "tailback demo",
    "tailback run examples/first-run.toml",
    "tailback run benches/reference.toml --set link.bottleneck.rate=50Mbps --set duration=60s",
    "tailback run benches/reference.toml --set duration=1ms --set flows.bulk.count=10",
    "tailback run benches/reference.toml --set duration=1ms --set flows.bulk.count=10000",
    "tailback run benches/reference.toml --set duration=1ms --set flows.bulk.count=10000 --json",
    "tailback run benches/reference.toml --set duration=1ms --set flows.bulk.count=100000",
    "tailback run benches/web.toml",
    "tailback compare --rate 50Mbps --rtt 40ms --flows 16 --out out/compare",
    "tailback home --down 100Mbps --up 20Mbps --rtt 30ms --link docsis --out out/home",
    "tailback reproduce appenzeller-2004 --quick",
    "tailback reproduce appenzeller-2004 --full",
    "tailback reproduce habib-2000 --quick",
    "tailback reproduce jiang-2006 --quick",
    "tailback reproduce kantawala-2005 --quick",
    "tailback reproduce keshav-1991 --quick",
    "tailback reproduce keshav-1991 --full",
    "tailback reproduce liu-2001 --quick",
    "tailback reproduce unresponsive --quick",
    "tailback reproduce unresponsive --full",
    "tailback reproduce",
)
#: The load average of the last minute may be this on an idle machine.
IDLE = 0.2
#: A row that takes less than SHORT_S is run REPEATS times, and the median counts.
SHORT_S, REPEATS = 10.0, 3

HEAD = """\
# How long commands take

`make times` measures this table. It refuses to measure while the machine does other work. "Time" is from start to end,
and "CPU" is the time of all cores together. Each command begins without stored results. A row below ten seconds is the
median of three runs. The study kantawala-2005 has experiments with real packets, which are included only if the machine
can do [live runs](live.md).

| command | time | CPU | measured |
|---|---|---|---|
"""


def machine() -> str:
    info = Path("/proc/cpuinfo")
    names = [x.partition(":")[2].strip() for x in info.read_text().splitlines() if x.startswith("model name")]
    return f"{os.cpu_count()} cores, {names[0] if names else platform.machine()}, {platform.system()}"


def version() -> str:
    """The commit, and whether the program differs from it."""
    head = subprocess.run(
        ["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    changed = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "crates", "python"], cwd=ROOT, check=False)
    return head.stdout.strip() + ("-dirty" if changed.returncode else "")


def once(command: str) -> tuple[float, float]:
    """Seconds from start to end, and seconds of CPU."""
    env = {**os.environ, "PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}", "COLUMNS": "80"}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "benches").symlink_to(ROOT / "benches")
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        where = ROOT if command.startswith("make ") else folder
        done = subprocess.run(command, shell=True, cwd=where, env=env, capture_output=True, text=True, check=False)
        took, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{command} ended with {done.returncode}, so nothing is stored of it:\n{done.stderr}")
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(command: str) -> dict[str, Any]:
    runs = [once(command)]
    if runs[0][0] < SHORT_S:
        runs += [once(command) for _ in range(REPEATS - 1)]
    took, cpu = (statistics.median(x) for x in zip(*runs, strict=True))
    today = datetime.date.today().isoformat()
    return {"elapsed_s": round(took, 3), "cpu_s": round(cpu, 3), "date": today, "version": version()}


def said(seconds: float) -> str:
    """Two digits below a minute, then minutes."""
    return (
        f"{seconds:.2g} s"
        if seconds < 59.5
        else f"{seconds / 60:.1f} min"
        if seconds < 5400
        else f"{seconds / 3600:.1f} h"
    )


def page(stored: dict[str, Any]) -> str:
    lines = []
    for command in ROWS:
        row = stored["rows"].get(command)
        cells = (
            [said(row["elapsed_s"]), said(row["cpu_s"]), f"{row['date']}, {row['version']}"]
            if row
            else ["not measured yet", "", ""]
        )
        lines.append(f"| `{command}` | {' | '.join(cells)} |\n")
    return HEAD + "".join(lines) + (f"\nThe machine: {stored['machine']}.\n" if stored["rows"] else "")


def load() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(STORED.read_text())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="How long commands take.")
    parser.add_argument("text", nargs="*", default=[""], help="only the rows that have one of these texts")
    parser.add_argument("--any-load", action="store_true", help="measure on a busy machine too, and write nothing")
    parser.add_argument("--new-machine", action="store_true", help="begin the table again on this machine")
    parser.add_argument("--page", action="store_true", help="write the page from what is stored")
    asked = parser.parse_args()
    stored = load()
    if asked.page:
        PAGE.write_text(page(stored))
        return
    rows = [r for r in ROWS if any(text in r for text in asked.text)]
    if not rows:
        parser.error(f"no row has a text of {asked.text!r}; rows are:\n" + "\n".join(ROWS))
    busy = os.getloadavg()[0]
    if busy > IDLE and not asked.any_load:
        parser.error(
            f"the load average of the last minute is {busy:.2f}, and {IDLE} is the most that times are measured at; "
            "end other work and wait a minute, or give --any-load to try without writing"
        )
    # Times of two machines in one table would be compared.
    if stored["rows"] and stored["machine"] != machine() and not (asked.new_machine or asked.any_load):
        parser.error(
            f"the table is of another machine ({stored['machine']}); give --new-machine to throw its rows away"
        )
    if stored["machine"] != machine():
        stored = {"machine": machine(), "rows": {}}
    stored["rows"] = {c: r for c, r in stored["rows"].items() if c in ROWS}
    for command in rows:
        row = measured(command)
        print(f"{said(row['elapsed_s'])}, {said(row['cpu_s'])} of CPU: {command}", flush=True)
        if not asked.any_load:
            stored["rows"][command] = row
            STORED.write_text(json.dumps(stored, indent=1) + "\n")
            PAGE.write_text(page(stored))


if __name__ == "__main__":
    main()
