"""Signals and the terminal on their way to the program, and its exit status on the way back.

The program is in the process group of the command, so what a terminal sends reaches both. A signal to this process
alone is passed on. The stage is another member of the group, and says whether the group got it as well.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from tailback.runs.live.behind.stage import NOT_EXECUTABLE, NOT_FOUND, PASSED, ProgramStage, numbers

#: Within this time all members of a process group have a signal, s.
_TOGETHER = 0.05
#: What the stage got longer ago was another signal, s: for one of the terminal it is not asked.
_REMEMBERED = 0.5
#: siginfo's origins of a signal that is from a process, not from the kernel (bits/siginfo-consts.h).
_FROM_PROCESS = (0, -1, -6)
#: What is waited for: signals, and messages of the program's stage.
_WAITED = {*PASSED, *numbers(("SIGCHLD", "SIGIO"))}
#: After its time is over, the program has so long to end, s.
GRACE = 5.0


@dataclass
class Ended:
    """How the program ended, as `wait` says it."""

    status: int
    #: Processes that it left, which were ended.
    left: int = 0
    #: Why it could not begin; the status is that of a shell.
    why: str = ""
    #: Whether it was ended because its time was over.
    timed: bool = False

    @property
    def code(self) -> int:
        """The exit status as in a shell's `$?`."""
        return os.waitstatus_to_exitcode(self.status) if os.WIFEXITED(self.status) else 128 + os.WTERMSIG(self.status)


class PartFailed(RuntimeError):
    """What the program needs has ended before it."""


def take() -> tuple[frozenset[int], frozenset[int]]:
    """From now on signals wait. Returns those that are ignored, and those that were blocked before."""
    ignored = frozenset(n for n in PASSED if signal.getsignal(n) == signal.SIG_IGN and n not in _OF_PYTHON)
    before = frozenset(signal.pthread_sigmask(signal.SIG_BLOCK, _WAITED - ignored))
    for number in (signal.SIGIO, signal.SIGCHLD):
        # A signal that is blocked and has a handler is not thrown away.
        signal.signal(number, lambda *_: None)
    return ignored, before


#: Python ignores these itself.
_OF_PYTHON = numbers(("SIGPIPE", "SIGXFSZ"))


def give_back(mask: frozenset[int]) -> None:
    """Signals do what they did before."""
    while signal.sigtimedwait(_WAITED, 0) is not None:
        pass
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _signalled(channel_fd: int) -> None:
    """A message on this descriptor is a signal too."""
    import fcntl

    fcntl.fcntl(channel_fd, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(channel_fd, fcntl.F_GETFL)
    fcntl.fcntl(channel_fd, fcntl.F_SETFL, flags | os.O_ASYNC)


def until_it_ends(stage: ProgramStage, seconds: float | None, tick: Callable[[], None], tick_s: float) -> Ended:
    """Wait for the program. `tick` is called after signals and about every `tick_s`. What it raises ends the wait."""
    _signalled(stage.channel.fileno())
    begin, ended_by_us = time.monotonic(), 0
    heard: dict[int, float] = {}
    while True:
        while True:
            try:
                words = stage.said()
            except EOFError:
                raise PartFailed("the processes of the program were killed from outside") from None
            if words is None:
                break
            if (ended := _read(words, stage, heard)) is not None:
                ended.timed = bool(ended_by_us)
                return ended
        tick()
        over = None if seconds is None else time.monotonic() - begin - seconds
        if over is not None and over >= 0 and ended_by_us == 0:
            stage.send(f"signal {int(signal.SIGTERM)}")
            ended_by_us = 1
        elif over is not None and over >= GRACE and ended_by_us == 1:
            stage.send(f"signal {int(signal.SIGKILL)}")
            ended_by_us = 2
        most = tick_s if over is None or over >= 0 else min(tick_s, -over)
        got = signal.sigtimedwait(_WAITED, most)
        if got is None or got.si_signo in (signal.SIGCHLD, signal.SIGIO):
            continue
        if got.si_code in _FROM_PROCESS and not _group_heard(stage, got.si_signo, heard):
            stage.send(f"signal {got.si_signo}")


def _group_heard(stage: ProgramStage, number: int, heard: dict[int, float]) -> bool:
    """Whether the whole group got this signal. Other messages of the stage are kept. `heard`: when the stage got
    each signal last."""
    now = time.monotonic()
    if now - heard.pop(number, -math.inf) < _REMEMBERED:
        return True
    until = now + _TOGETHER
    others: list[list[str]] = []
    is_heard = False
    while not is_heard and (left := until - time.monotonic()) > 0:
        try:
            words = stage.said(left)
        except EOFError:
            break
        is_heard = words == ["heard", str(number)]
        if words is not None and not is_heard:
            others.append(words)
    stage.kept += others
    return is_heard


def _read(words: list[str], stage: ProgramStage, heard: dict[int, float]) -> Ended | None:
    match words[0]:
        case "ended":
            return Ended(int(words[1]), int(words[2]))
        case "failed":
            number = int(words[1])
            is_absent = number in (errno.ENOENT, errno.ENOTDIR)
            status = (NOT_FOUND if is_absent else NOT_EXECUTABLE) << 8
            return Ended(status, why=f"{stage.words[0]}: {os.strerror(number)}")
        case "refused":
            raise PartFailed(" ".join(words[1:]))
        case "heard":
            heard[int(words[1])] = time.monotonic()
        case "stopped":
            _stop_too(stage)
    return None


def _stop_too(stage: ProgramStage) -> None:
    """The program is stopped, by a key or by itself: the shell that waits for this process is to know."""
    # A key stops this process as well; then a signal to go on is here already.
    if signal.sigtimedwait({signal.SIGCONT}, 0) is None:
        os.kill(os.getpid(), signal.SIGSTOP)
        signal.sigtimedwait({signal.SIGCONT}, 0)
    stage.send(f"signal {int(signal.SIGCONT)}")


def own_the_terminal() -> None:
    """A program that was the terminal's foreground may not have given it back."""
    try:
        fd = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    with contextlib.suppress(OSError):
        if os.tcgetpgrp(fd) == 0:
            os.tcsetpgrp(fd, os.getpgrp())
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    os.close(fd)


def end_as(ended: Ended) -> NoReturn:
    """This process ends as the program did."""
    if os.WIFSIGNALED(ended.status):
        import resource

        number = os.WTERMSIG(ended.status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
    raise SystemExit(ended.code)
