"""Makes the way out without privilege, by `pasta` or `slirp4netns`, which is the far end's other neighbour.

Each of the two opens ordinary sockets of this user for the packets of the far end. Connections therefore end in this
program. On the way down its TCP fills the line's queue, and not the TCP of the server.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tailback import _core
from tailback.runs.live.router import Refused

NAMES = ("pasta", "slirp4netns")
FAR_NAME = "uplink"
_WAIT_S = 5.0
#: The Ethernet address of pasta's side of the link. Any locally administered address works.
_NEIGHBOUR = "02:00:00:00:00:01"
#: The far end masquerades, because neither pasta nor slirp4netns has the program's addresses.
TABLE = (
    "table inet tailback { chain out { type nat hook postrouting priority srcnat; "
    f"oifname {FAR_NAME} masquerade; }}; }};\n"
)


def chosen(is_nested: bool) -> str | None:
    """The installed one of the two. No data arrive through a pasta (of March 2023) whose own way out is another
    pasta."""
    names = NAMES[::-1] if is_nested else NAMES
    return next((name for name in names if shutil.which(name)), None)


def words(name: str, pid: int) -> list[str]:
    if name == "pasta":
        nothing = [word for option in ("-t", "-u", "-T", "-U") for word in (option, "none")]
        spaces = ["--userns", f"/proc/{pid}/ns/user", "--netns", f"/proc/{pid}/ns/net"]
        # Started by root, the program would change to another user, who may not enter our namespaces.
        user_words = ["--runas", f"{os.getuid()}:{os.getgid()}"] if os.getuid() == 0 else []
        # Behind another line, the way out has no Ethernet address that could be copied.
        options = ["--foreground", "--quiet", "--config-net", "--no-map-gw", "--mac-addr", _NEIGHBOUR, "-I", FAR_NAME]
        return ["pasta", *user_words, *options, *nothing, *spaces]
    return ["slirp4netns", "--configure", "--mtu=1500", "--disable-host-loopback", str(pid), FAR_NAME]


@dataclass
class UserspaceWay:
    """The running program."""

    name: str
    process: subprocess.Popen[str]

    @property
    def not_real(self) -> str:
        return (
            f"the outside is reached through {self.name}, where connections end: downloads are sent by {self.name}'s "
            "TCP, and its reaction to the line is not that of the servers; those of --server are real"
        )

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


def start(name: str, pid: int) -> UserspaceWay:
    """Attach the program to the network of this process. Raises Refused."""
    process = subprocess.Popen(
        words(name, pid),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: _core.end_with_parent(),
    )
    until = time.monotonic() + _WAIT_S
    while not _is_there(pid):
        if process.poll() is not None or time.monotonic() > until:
            process.kill()
            output_lines = (process.communicate()[1] or "").strip().splitlines()
            raise Refused(
                f"{name} cannot reach the outside: {output_lines[-1] if output_lines else 'it made no interface'}"
            )
        time.sleep(0.01)
    return UserspaceWay(name, process)


def _is_there(pid: int) -> bool:
    """Whether the interface exists and has its own route."""
    with contextlib.suppress(OSError):
        routes = Path(f"/proc/{pid}/net/route").read_text(encoding="ascii").splitlines()[1:]
        six = Path(f"/proc/{pid}/net/ipv6_route").read_text(encoding="ascii").splitlines()
        return any(r.split()[0] == FAR_NAME and r.split()[1] == "00000000" for r in routes) or any(
            r.split()[-1] == FAR_NAME and r.split()[1] == "00" and r.split()[0] == "0" * 32 for r in six
        )
    return False
