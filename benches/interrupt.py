"""How soon Ctrl-C ends a run of many flows: CPU seconds from the signal to the exit, at random moments of a run.

    python benches/interrupt.py [FLOWS] [SIGNALS] [SEED]

All flows start at one instant, send one datagram each over links of their own, and stop.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCENARIO = """\
duration = "1s"
[topology]
kind = "dumbbell"
rate = "100Gbps"
delay = "1ms"
queue = {{ kind = "droptail", buffer = "unlimited" }}
[flows.f]
count = {flows}
access_rate = "10Mbps"
rtt = "10ms"
start = "100ms"
stop = "101ms"
traffic = {{ kind = "cbr", rate = "1Mbps" }}
"""


def cpu_of(pid: int) -> float:
    """CPU seconds of a process, all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start(file: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tailback", "run", str(file)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def whole(file: Path) -> float:
    """CPU seconds of a run that nobody stops."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    if start(file).wait() != 0:
        sys.exit("the run failed")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def interrupted(file: Path, at: float) -> tuple[float, int] | None:
    """CPU seconds from the signal to the exit, and the exit status; None if the run was over before."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    p = start(file)
    try:
        while cpu_of(p.pid) < at:
            # A run that is over stays in /proc until it is waited for.
            if p.poll() is not None:
                return None
            time.sleep(0.01)
        spent = cpu_of(p.pid)
    except (OSError, IndexError):
        p.wait()
        return None
    p.send_signal(signal.SIGINT)
    p.communicate()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    whole = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return whole - spent, p.returncode


def main() -> None:
    flows, signals, seed = (int(x) for x in [*sys.argv[1:], *("1000000", "10", "1")[len(sys.argv) - 1 :]])
    chance = random.Random(seed)
    # Where a shell starts this in the background SIGINT is ignored, and the runs would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "many.toml"
        file.write_text(SCENARIO.format(flows=flows))
        total = whole(file)
        print(f"{flows} flows: {total:.1f} CPU s")
        worst = 0.0
        for _ in range(signals):
            at = chance.uniform(0.3, max(total, 0.4))
            got = interrupted(file, at)
            print(
                f"signal at {at:5.1f} CPU s: " + ("over" if got is None else f"{got[0]:.2f} s later, status {got[1]}")
            )
            worst = max(worst, got[0] if got else 0.0)
    print(f"at most {worst:.2f} CPU s")


if __name__ == "__main__":
    main()
