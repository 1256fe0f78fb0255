"""A program behind a line: its status, signals and the terminal.

The machine and the outside are namespaces of the test (`outside.py`).
"""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from outside import Outside, behind, why_not

WHY_NOT = why_not("curl")
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=f"no machine for the test: {WHY_NOT}")
LINE = ("--down", "20Mbps", "--up", "5Mbps", "--rtt", "40ms")


@pytest.mark.parametrize(("command", "status", "words"), [
    (("nonesuch",), 127, "nonesuch: No such file"),
    (("/etc/passwd",), 126, "/etc/passwd: Permission denied"),
    (("sh", "-c", "exit 3"), 3, "exit status 3"),
])  # fmt: skip
def test_the_status_is_that_of_the_command(there: Outside, command: tuple[str, ...], status: int, words: str) -> None:
    done = there.run(*behind(*LINE, "--", *command))
    assert done.returncode == status and words in done.stderr and done.stdout == ""


def test_a_program_that_a_signal_ended_ends_the_command_by_it(there: Outside) -> None:
    done = there.run(*behind(*LINE, "--", "sh", "-c", "kill -TERM $$"))
    assert done.returncode == -signal.SIGTERM and "ended by SIGTERM" in done.stderr


def test_time_that_is_over_ends_the_program_and_what_it_started(there: Outside) -> None:
    begin = time.monotonic()
    done = there.run(*behind(*LINE, "--for", "1s", "--", "sh", "-c", "setsid sleep 70 & sleep 71"))
    assert time.monotonic() - begin < 10
    assert "as its time was over" in done.stderr and "left 2 processes" in done.stderr
    assert not running("sleep 70") and not running("sleep 71")


def running(words: str) -> bool:
    return subprocess.run(["pgrep", "-fx", words], capture_output=True, check=False).returncode == 0


COUNTS = """
import signal, sys, time
seen = []
for n in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP):
    signal.signal(n, lambda n, _: seen.append(n))
print("ready", flush=True)
end = time.monotonic() + 20
while len(seen) < int(sys.argv[1]) and time.monotonic() < end:
    time.sleep(0.02)
time.sleep(0.3)
print(" ".join(str(int(n)) for n in seen), flush=True)
"""


@pytest.mark.parametrize("group", [False, True], ids=["to the command", "to its group"])
def test_a_signal_reaches_the_program_once(there: Outside, group: bool) -> None:
    wanted = [signal.SIGINT, signal.SIGUSR1, signal.SIGTERM, signal.SIGHUP]
    words = behind(*LINE, "--", sys.executable, "-c", COUNTS, str(len(wanted)))
    with there.start(*words, start_new_session=True) as started:
        assert started.stdout is not None and started.stdout.readline() == "ready\n"
        for number in wanted:
            (os.killpg if group else os.kill)(started.pid, number)
            time.sleep(0.2)
        said, errors = started.communicate(timeout=30)
    assert said.split() == [str(int(n)) for n in wanted], errors
    assert started.returncode == 0


COUNTS_INTERRUPTS = """
import os, signal, sys, time
seen = []
signal.signal(signal.SIGINT, lambda n, _: (seen.append(n), print("interrupt", len(seen), flush=True)))
print("ready", flush=True)
end = time.monotonic() + 20
while len(seen) < 2 and time.monotonic() < end:
    time.sleep(0.02)
"""


def test_a_signal_to_the_command_after_the_same_key_reaches_the_program(there: Outside) -> None:
    """The stage hears a key, too; that is no answer to a later signal."""
    command = " ".join(f"'{w}'" for w in behind(*LINE, "--", sys.executable, "-c", COUNTS_INTERRUPTS))
    shown = in_terminal(
        there,
        ["sh", "-c", f"(sleep 6; kill -INT $$) & exec {command}"],
        [("ready", "\x03"), ("interrupt 1", "")],
    )
    assert "interrupt 2" in shown and "exit status 0" in shown, shown


def in_terminal(there: Outside, words: list[str], keys: list[tuple[str, str]], timeout: float = 30) -> str:
    """What a terminal shows: after each text that is waited for, keys are pressed."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir("/")
        os.execvpe("nsenter", there.words(words), {**os.environ, "TERM": "xterm", "PS1": "$ ", "ENV": "",
                   "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "python")})  # fmt: skip
    shown, seen, until = "", 0, time.monotonic() + timeout
    try:
        while time.monotonic() < until:
            if keys and (found := re.search(keys[0][0], shown[seen:])):
                seen += found.end()
                # A program that has just begun is not yet ready for a key.
                time.sleep(0.3)
                os.write(fd, keys.pop(0)[1].encode())
            if not select.select([fd], [], [], 0.1)[0]:
                continue
            try:
                data = os.read(fd, 4096)
            except OSError:
                break
            if not data:
                break
            shown += data.decode(errors="replace")
        else:
            os.kill(pid, signal.SIGKILL)
            raise AssertionError(f"no end, waiting for {keys[:1]}: {shown!r}")
    finally:
        os.close(fd)
        os.waitpid(pid, 0)
    return shown


def test_the_terminal_is_the_programs(there: Outside) -> None:
    """A pager draws and takes keys; nothing else is drawn before its end."""
    shown = in_terminal(there, behind(*LINE, "--", "less", "/etc/passwd"), [("root:", "q")])
    before, _, after = shown.partition("tailback behind:")
    assert "root:" in before and "exit status 0" in after


def test_keys_of_a_terminal_interrupt_and_stop_the_program(there: Outside) -> None:
    command = " ".join(f"'{w}'" for w in behind(*LINE, "--", "sh", "-c", "echo began; sleep 1000"))
    shown = in_terminal(
        there,
        ["bash", "--norc", "-i"],
        [
            (r"\$ ", f"{command}\n"),
            (r"\rbegan", "\x1a"),
            (r"Stopped", "fg\n"),
            (r"sleep 1000", "\x03"),
            (r"behind the line", "echo status $?\n"),
            (r"status 1\d\d", "exit\n"),
        ],
    )
    assert "status 130" in shown, shown


def test_a_shell_has_job_control(there: Outside) -> None:
    shown = in_terminal(
        there,
        ["env", "SHELL=/bin/bash", *behind(*LINE, "--shell")],
        [
            (r"[$#] ", "sleep 1000\n"),
            (r"sleep 1000", "\x1a"),
            (r"Stopped", "fg\n"),
            (r"sleep 1000", "\x03"),
            (r"[$#] ", "exit 5\n"),
        ],
    )
    assert "exit status 5" in shown and "no job control" not in shown, shown
