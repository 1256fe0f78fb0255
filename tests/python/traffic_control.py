"""For tests of lines for `tc`: a network namespace of their own, and what `tc` says of each line (what it sends:
`netlink.py`).

`tc` reads a line and sends it; the kernel takes it, or refuses it where it lacks a module. A line that `tc` cannot read
fails with other words.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

#: What a kernel without the module says of a line that `tc` has read.
LACKS_MODULE = "Error: Specified qdisc kind is unknown."
TAKEN = "taken"
#: Devices as a home router has them. TUN is everywhere; a kernel may lack dummy devices.
DEVICES = """\
(ip tuntap add WAN mode tun || ip link add WAN type dummy) && ip link set WAN up || exit 3
"""
IFB = "ip link add ifb4wan type ifb && ip link set ifb4wan up || exit 3\n"


@functools.cache
def enter() -> tuple[str, ...]:
    """How a process gets a namespace of its own; nothing where it cannot."""
    if not shutil.which("tc") or not shutil.which("ip") or not shutil.which("unshare"):
        return ()
    for words in (("unshare", "-n"), ("unshare", "-rn")):
        made = subprocess.run([*words, "sh", "-c", DEVICES + IFB], capture_output=True)
        if made.returncode == 0:
            return words
    return ()


#: The kernel is known to have every kind of queue: then nothing is left out, and nothing may be refused.
ALL_KINDS = os.environ.get("TAILBACK_KINDS") == "all"
needs_tc = pytest.mark.skipif(not enter() and not ALL_KINDS, reason="no tc, or no right to make a network namespace")


def shell(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A script in a namespace of its own."""
    words = [*enter(), "sh", "-c", script]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, env={**os.environ, **environment})


def said_of(lines: Iterable[str], folder: Path, before: str = "") -> dict[str, str]:
    """What is said of each line, all in one namespace: `TAKEN`, or the last words of the refusal."""
    lines = list(dict.fromkeys(lines))
    assert all(line.startswith("tc ") for line in lines)
    batch = folder / "lines.tc"
    # The last line is one that fails: if nothing is said of it, an earlier one has ended the whole batch.
    batch.write_text("".join(line.removeprefix("tc ") + "\n" for line in [*lines, "tc qdisc end"]))
    done = shell(f"{DEVICES}{IFB}{before}exec tc -batch {batch} -force")
    assert done.returncode == 1, done
    said: dict[str, str] = dict.fromkeys(lines, TAKEN)
    words: list[str] = []
    for line in done.stderr.splitlines():
        if line.startswith("Command failed "):
            number = int(line.rpartition(":")[2])
            if number > len(lines):
                return said
            # The reason is in the first line, unless a note stands before it; a list of words may follow.
            said[lines[number - 1]] = next((w for w in words if not w.startswith(("RED: ", "CHOKE: "))), "")
            words = []
        else:
            words.append(line)
    raise AssertionError(f"tc ended before the last line: {words}")
