"""The support of this machine for live runs, and the remains of earlier ones."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tailback import _core
from tailback.core.scenario.reference import describe
from tailback.linux import law, words
from tailback.linux.forms import forms
from tailback.runs.live.kernel_queue import NotPossible
from tailback.runs.live.session import MARK


@dataclass
class MachineCheck:
    what: str
    good: bool
    found: str
    remedy: str = ""
    #: Whether live runs need this.
    needed: bool = True

    def text(self) -> str:
        word = "yes" if self.good else "no " if self.needed else "-- "
        remedy = f"\n      {self.remedy}" if self.remedy and not self.good else ""
        return f"{word} {self.what}: {self.found}{remedy}"


def checks() -> list[MachineCheck]:
    return [_network(), _tun(), _ip(), _ipv6(), _priority(), _timer(), _congestion(), _queues(), *_programs()]


_TRY = """
from tailback import _core
try:
    _core.own_network(False)
    print("with privilege")
except PermissionError:
    _core.own_network(True)
    print("in a user namespace")
"""
_TUN = _TRY + "_core.make_tun('tailback0')\n"


def _attempt(code: str) -> tuple[str, str]:
    """Run code in a separate process. Returns its output, and the reason if it failed."""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return process.stdout.strip(), process.stderr.strip().rsplit("\n", 1)[-1] if process.returncode else ""


def _network() -> MachineCheck:
    output, failure = _attempt(_TRY)
    return MachineCheck(
        "network namespaces",
        not failure,
        failure or output,
        "run as root, or allow user namespaces: sysctl -w user.max_user_namespaces=10000, and where the system has it "
        "kernel.apparmor_restrict_unprivileged_userns=0 (in a container: --cap-add SYS_ADMIN --cap-add NET_ADMIN)",
    )


def _tun() -> MachineCheck:
    path = Path("/dev/net/tun")
    if not path.exists():
        return MachineCheck(
            "TUN devices", False, "/dev/net/tun is missing", "modprobe tun (in a container: --device /dev/net/tun)"
        )
    _, failure = _attempt(_TUN)
    return MachineCheck("TUN devices", not failure, failure or str(path), "let this user read and write /dev/net/tun")


def _ip() -> MachineCheck:
    path = shutil.which("ip")
    return MachineCheck("the command ip", bool(path), path or "missing", "install the package iproute2")


def _ipv6() -> MachineCheck:
    is_on = Path("/proc/sys/net/ipv6").is_dir()
    return MachineCheck(
        "IPv6", is_on, "on" if is_on else "off", "boot without ipv6.disable=1; IPv4 works without", needed=False
    )


def _priority() -> MachineCheck:
    may_be_real_time = _core.may_be_real_time()
    return MachineCheck(
        "real-time priority",
        may_be_real_time,
        "allowed" if may_be_real_time else "not allowed: packets may be written later on a busy machine",
        "run as root, or give this user an rtprio limit of 10 in /etc/security/limits.conf",
        needed=False,
    )


def _timer() -> MachineCheck:
    """The delay at the end of short sleeps."""
    lateness = []
    for _ in range(200):
        begin = time.perf_counter()
        time.sleep(0.0005)
        lateness.append(time.perf_counter() - begin - 0.0005)
    lateness.sort()
    p99 = lateness[-3]
    finding = f"a sleep ends {lateness[100] * 1e6:.0f} us late (median), {p99 * 1e6:.0f} us (p99)"
    return MachineCheck("timers", p99 < 0.001, finding, "end other work, or give the machine more cores", needed=False)


def _controls_of_linux() -> list[str]:
    """Linux's names of the congestion controls that it also has."""
    controls = next(f["models"] for f in describe() if f["family"] == "congestion")
    linux_names = [(_core.control_facts(m["name"]) or {}).get("linux") for m in controls]
    return [name for name in linux_names if name]


def _congestion() -> MachineCheck:
    path = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    names = path.read_text(encoding="ascii").split() if path.exists() else []
    missing_names = [name for name in _controls_of_linux() if name not in names]
    remedy = "modprobe " + " ".join(f"tcp_{n}" for n in missing_names) + ", if the kernel has them"
    finding = " ".join(names) + (f" (not {' '.join(missing_names)})" if missing_names else "")
    return MachineCheck("congestion controls", not missing_names, finding, remedy, needed=False)


def _lines() -> dict[str, str]:
    """For each kind of queue, the words after `tc qdisc add dev lo root` that the kernel accepts if it has this
    kind."""
    slow = law.Path(1e6, 1500, 0.1)
    lines = {"htb": "htb", "tbf": "tbf rate 1mbit burst 10000 limit 10000", "bfifo": "bfifo"}
    return lines | {f.kind: words.write(f, {}, slow, ecn=False).text for f in forms()}


#: Tries each line of `LINES`, and the qdisc and device that incoming packets need.
_TRY_QUEUES = """
import subprocess
def taken(line):
    return subprocess.run(line.split(), capture_output=True).returncode == 0
for name, line in LINES.items():
    if taken("tc qdisc replace dev lo root handle 1: " + line):
        print(name)
    taken("tc qdisc del dev lo root")
if taken("tc qdisc add dev lo handle ffff: ingress"):
    print("ingress")
if taken("ip link add ifb4wan type ifb"):
    print("ifb")
"""


@functools.cache
def kernel_queues() -> tuple[str, ...]:
    """The queues that this kernel has, by the names of `tc` and `ip`; empty if it allows no namespace. A separate
    process tries each queue in a separate namespace."""
    lines = _lines()
    output, _ = _attempt(f"{_TRY}\nLINES = {lines!r}\n{_TRY_QUEUES}")
    names = (*lines, "ingress", "ifb")
    return tuple(name for name in names if name in output.split())


def require(needs: Sequence[str], link: str) -> None:
    """Raises NotPossible if this kernel lacks one of these queues."""
    queues = kernel_queues()
    if missing_queues := [name for name in needs if name not in queues]:
        has = f"it has {', '.join(queues)}" if queues else "it allows no namespace to put one in (`tailback doctor`)"
        raise NotPossible(
            f"--kernel {link}: this kernel has no {', no '.join(missing_queues)}; {has}. Leave --kernel out, and the "
            "box has the queue"
        )


def _queues() -> MachineCheck:
    queues = kernel_queues()
    missing_queues = [name for name in _lines() if name not in queues]
    finding = (" ".join(queues) or "none were found") + (f" (not {' '.join(missing_queues)})" if missing_queues else "")
    modules = " ".join(f"sch_{n}" for n in missing_queues)
    remedy = f"modprobe {modules}, if the kernel has them, for `tailback live --kernel`"
    return MachineCheck("queues of the kernel", not missing_queues, finding, remedy, needed=False)


#: Programs that some commands need, with their package and purpose. One program of a row is enough.
_PROGRAMS = (
    (("iperf3",), "iperf3", "`tailback live --iperf3`"),
    (("nft",), "nftables", "the way out of `tailback behind`"),
    (("pasta", "slirp4netns"), "passt", "the way out of `tailback behind` without root"),
)


def _programs() -> list[MachineCheck]:
    checks = []
    for names, package, purpose in _PROGRAMS:
        path = next(filter(None, map(shutil.which, names)), None)
        remedy = f"install the package {package}, for {purpose}"
        checks.append(MachineCheck(" or ".join(names), bool(path), path or "missing", remedy, needed=False))
    return checks


def left_behind() -> list[int]:
    """Processes of runs whose gateway has ended. The networks and devices of such runs end with these processes."""
    processes = []
    for process_folder in Path("/proc").iterdir():
        if not process_folder.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            command = (process_folder / "cmdline").read_bytes().split(b"\0")
            if b"tailback.runs.live.agent" not in command and os.path.basename(command[0]) != b"iperf3":
                continue
            environment = (process_folder / "environ").read_bytes().split(b"\0")
            owner = next((v.partition(b"=")[2] for v in environment if v.startswith(MARK.encode() + b"=")), b"")
            if owner and not (Path("/proc") / owner.decode()).exists():
                processes.append(int(process_folder.name))
    return processes


def clean() -> str:
    """Ends the remaining processes of earlier runs, and returns a text that names their number."""
    processes = left_behind()
    for pid in processes:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    if not processes:
        return "nothing is left behind"
    return f"ended {len(processes)} processes of earlier runs; their namespaces and devices are gone with them"
