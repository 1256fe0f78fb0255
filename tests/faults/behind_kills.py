"""Kill -9 of `tailback behind` at drawn moments, and other ends: what of the machine is another afterwards?

    python tests/faults/behind_kills.py --kills 100 --nested 20

The machine is one of the test's own (`tests/python/outside.py`). Before and after each end these are compared:
namespaces and processes of the test, interfaces with their addresses, routes of all tables, rules, the ruleset of
nftables, `sysctl net`, mounts, and files below /run. Exit status 1 if anything is another.
"""

from __future__ import annotations

import argparse
import difflib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
from outside import WORLD, Outside, behind, outside, why_not

LINE = ("--down", "20Mbps", "--up", "5Mbps", "--rtt", "40ms")
#: Values that change by themselves: counts of packets' connections, and of time.
_VOLATILE = ("nf_conntrack_count", "net.netfilter.nf_flowtable", "ipv6.route.flush", "netdev_rss_key")
#: The kernel takes a network down a while after its last process has ended, s.
_SETTLES = 10.0
MARK = "TAILBACK_BEHIND_TEST"
_DAEMONS = "setsid sleep 500 & (setsid sh -c 'trap \"\" TERM HUP; sleep 501 & sleep 502' &) ; sleep 503"
_ROUTES = (
    "ip route del default; ip route add 10.77.0.0/16 dev tailback0; ip link add x0 type dummy; "
    "ip rule add from 10.1.1.1 lookup 77; sleep 504"
)


def _processes() -> dict[int, set[str]]:
    """Processes of this test with their namespaces."""
    found = {}
    mark = f"{MARK}={os.getpid()}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                spaces = {os.readlink(entry / "ns" / kind) for kind in ("net", "mnt", "user", "pid")}
                found[int(entry.name)] = spaces | {f"{entry.name} {command[:100]}"}
        except OSError:
            continue
    return found


def dump(there: Outside) -> dict[str, list[str]]:
    """What of the machine is compared."""
    commands = {
        "links": ["ip", "-d", "link"],
        "addresses": ["ip", "addr"],
        "routes": ["ip", "route", "show", "table", "all"],
        "routes of IPv6": ["ip", "-6", "route", "show", "table", "all"],
        "rules": ["ip", "rule"],
        "rules of IPv6": ["ip", "-6", "rule"],
        "nftables": ["nft", "list", "ruleset"],
        "sysctl net": ["sysctl", "-a", "--pattern", "^net\\."],
        "mounts": ["cat", "/proc/self/mountinfo"],
        "files": ["sh", "-c", "ls -d /run/tailback-* /tmp/tailback-* /run/netns/* 2>/dev/null"],
    }
    found = {}
    for name, words in commands.items():
        lines = there.run(*words).stdout.splitlines()
        # A neighbour's reachability is told of by counters of time.
        found[name] = [line for line in lines if not any(v in line for v in _VOLATILE)]
    ours = _processes()
    found["processes and namespaces"] = sorted(set().union(*ours.values()))
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        found["mounts of the true machine"] = [line for line in f if "tailback" in line]
    found["interfaces of the true machine"] = [name for name in os.listdir("/sys/class/net") if "tailback" in name]
    return found


def differences(before: dict[str, list[str]], after: dict[str, list[str]]) -> list[str]:
    found = []
    for name in before:
        for line in difflib.unified_diff(before[name], after[name], lineterm="", n=0):
            if line[0] in "+-" and not line.startswith(("+++", "---")):
                found.append(f"{name}: {line}")
    return found


def at_rest(there: Outside) -> dict[str, list[str]]:
    """What there is once addresses of IPv6 are no longer tentative: a new interface looks for doubles for a second."""
    until = time.monotonic() + 5
    while "tentative" in "".join((found := dump(there))["addresses"]) and time.monotonic() < until:
        time.sleep(0.1)
    return found


def settled(there: Outside, before: dict[str, list[str]]) -> list[str]:
    """What is another once the kernel is through."""
    until = time.monotonic() + _SETTLES
    while (found := differences(before, dump(there))) and time.monotonic() < until:
        time.sleep(0.1)
    return found


def programs(seed: random.Random) -> list[tuple[str, list[str], bool]]:
    """Name, command, and whether an ordinary user runs it."""
    curl = ["sh", "-c", f"while :; do curl -s -m 5 -o /dev/null http://{WORLD}/; done"]
    server = ["--server", f"{sys.executable} -m http.server 80"]
    nested = behind("--down", "9Mbps", "--up", "9Mbps", "--", "sleep", "500")
    rows = [
        ("sleeps", behind(*LINE, "--", "sleep", "500"), False),
        ("fetches", behind(*LINE, *server, "--", *curl), False),
        ("has daemons", behind(*LINE, "--", "sh", "-c", _DAEMONS), False),
        ("changes its routes", behind(*LINE, "--", "sh", "-c", _ROUTES), False),
        ("is nested", behind(*LINE, "--", *nested), False),
        ("is an ordinary user's", behind(*LINE, *server, "--", *curl), True),
    ]
    seed.shuffle(rows)
    return rows


def kill(there: Outside, before: Any, number: int, seed: random.Random) -> list[str]:
    """One end by kill -9; what is left."""
    name, words, user = programs(seed)[0]
    moment, group = seed.uniform(0.05, 2.5), seed.random() < 0.2
    null = subprocess.DEVNULL
    started = there.start(*words, user=user, start_new_session=True, stdin=null, stdout=null, stderr=null)
    time.sleep(moment)
    (os.killpg if group else os.kill)(started.pid, signal.SIGKILL)
    started.wait()
    found = settled(there, before)
    whom = "its group" if group else "the command"
    print(
        f"{number}: {name}, {whom} killed after {moment:.2f} s: {'; '.join(found[:5]) or 'nothing is left'}", flush=True
    )
    return found


def nested(there: Outside, before: Any, number: int) -> list[str]:
    words = behind(
        *LINE,
        "--",
        *behind(
            "--down",
            "9Mbps",
            "--up",
            "9Mbps",
            "--rtt",
            "20ms",
            "--",
            "sh",
            "-c",
            f"curl -s -m 9 -o /dev/null http://{WORLD}/; exit 9",
        ),
    )
    done = there.run(*words)
    found = settled(there, before)
    if done.returncode != 9:
        found.append(f"status {done.returncode}: {done.stderr[-200:]}")
    print(f"nested {number}: {'; '.join(found[:5]) or 'nothing is left'}", flush=True)
    return found


def ends(there: Outside, before: Any) -> list[str]:
    """Ends of their own: daemons, and a program that changes its network."""
    found = []
    for name, script in (
        ("daemons", _DAEMONS.replace("sleep 503", "true")),
        ("routes", _ROUTES.replace("; sleep 504", "")),
    ):
        there.run(*behind(*LINE, "--", "sh", "-c", script))
        left = settled(there, before)
        print(f"{name}: {'; '.join(left[:5]) or 'nothing is left'}", flush=True)
        found += left
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--nested", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if why := why_not("curl"):
        print(f"cannot be done here: {why}")
        return 2
    os.environ[MARK] = str(os.getpid())
    seed = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder, outside(_open(Path(folder)) / "room") as there:
        there.serve(sys.executable, "-m", "http.server", "80", "--directory", "/usr/share/doc/bash")
        # The first run of all changes some things of the kernel for good, such as tables that are made on first use.
        there.run(*behind(*LINE, "--", "curl", "-s", "-m", "9", "-o", "/dev/null", f"http://{WORLD}/"))
        time.sleep(1)
        before = at_rest(there)
        found = [line for i in range(options.kills) for line in kill(there, before, i + 1, seed)]
        found += [line for i in range(options.nested) for line in nested(there, before, i + 1)]
        found += ends(there, before)
    print(f"{options.kills} kills, {options.nested} nested runs: {len(found)} differences")
    return int(bool(found))


def _open(folder: Path) -> Path:
    folder.chmod(0o755)
    return folder


if __name__ == "__main__":
    sys.exit(main())
