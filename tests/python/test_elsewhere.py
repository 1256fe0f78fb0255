"""On a system that lacks what Linux has: all modules can be imported, and everything but real packets works."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

#: Run first: no module, call or file that only Unix or only Linux has. Other packages are loaded before, as those here
#: are for Linux. Its name is one that the standard library takes without modules of its own.
LACKING = """
import sys
if BESIDE:
    import distributed, jinja2, matplotlib.pyplot, msgspec, numpy, rich.progress, rich.table
for name in ("resource", "fcntl", "termios", "pwd", "grp", "syslog"):
    sys.modules[name] = None

import json, os, pkgutil, platform, signal, socket, subprocess, tempfile
for name in ("fork", "forkpty", "getuid", "geteuid", "getgid", "getegid", "killpg", "getpgid", "setsid", "mkfifo",
             "sched_getaffinity", "sched_setaffinity", "sched_setscheduler", "setns", "unshare", "pipe2", "uname",
             "getrusage", "statvfs", "sysconf", "O_NONBLOCK", "O_DIRECTORY"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGKILL", "SIGHUP", "SIGUSR1", "SIGALRM", "setitimer", "alarm", "pthread_sigmask"):
    delattr(signal, name)
for name in ("AF_UNIX", "AF_NETLINK", "AF_PACKET", "TCP_INFO", "TCP_CONGESTION", "SO_MAX_PACING_RATE", "recv_fds"):
    if hasattr(socket, name):
        delattr(socket, name)
sys.platform = "darwin"

def refused(event, arguments):
    if event == "open" and str(arguments[0]).startswith(("/proc/", "/sys/")):
        raise FileNotFoundError(2, "No such file or directory", arguments[0])

sys.addaudithook(refused)

import tailback
from tailback import _core
for name in ("LiveBox", "LiveRun", "LiveSource", "live_groups", "live_results", "live_replay", "own_network",
             "end_with_parent", "join_network", "make_tun", "open_interface", "may_be_real_time", "join_user",
             "own_mounts_and_processes", "show_at", "mount_new", "unmount", "be_user_again"):
    delattr(_core, name)
"""

IMPORTS = """
import importlib

def failed(name):
    raise

names = [m.name for m in pkgutil.walk_packages(tailback.__path__, "tailback.", failed)]
names = [n for n in names if not n.endswith("__main__")]
for name in names:
    importlib.import_module(name)
print(len(names))
"""


def lacking(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", f"BESIDE = {code is IMPORTS}\n" + LACKING + code]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=120, check=False)


def test_every_module_can_be_imported(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    r = lacking(IMPORTS, tmp_path)
    assert r.returncode == 0, r.stderr
    assert int(r.stdout) > 100


def test_a_scenario_runs_and_is_stored(tmp_path: Path) -> None:
    words = ["run", "examples/first-run.toml", "--set", "duration=6s", "--replications", "2", "--out", "out"]
    r = lacking(f"from tailback.cli import main; main({words})", tmp_path)
    assert r.returncode == 0 and "bottleneck" in r.stdout, r.stderr
    manifest = json.loads((tmp_path / "out/manifest.json").read_text(encoding="utf-8"))
    assert manifest["status"] == "done" and manifest["machine"]["cores"] > 0


@pytest.mark.parametrize("words", [["live", "no-such.toml"], ["gateway", "a", "b"], ["behind", "true"], ["doctor"]])
def test_real_packets_are_refused_in_one_line(words: list[str], tmp_path: Path) -> None:
    r = lacking(f"from tailback.cli import main; main({words})", tmp_path)
    assert (r.returncode, r.stdout) == (2, "")
    assert r.stderr.startswith("error: real packets need Linux") and len(r.stderr.splitlines()) == 1
