"""Passes signals and the terminal to the program, and the exit status of the program back.

The program is in the process group of the command, so the signals of a terminal reach both. A signal to this process
alone is passed to the program. The stage is another member of the group, and reports whether the whole group got the
signal.
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

#: The time within which a signal reaches all members of a process group, s.
_TOGETHER = 0.05
#: A signal that reached the stage longer ago than this counts as another signal, s. The stage is not asked about
#: signals of the terminal.
_REMEMBERED = 0.5
#: The values of siginfo's `si_code` for a signal from a process and not from the kernel (bits/siginfo-consts.h).
_FROM_PROCESS = (0, -1, -6)
#: The awaited signals: those for the program, and those that announce messages of the program's stage.
_WAITED = {*PASSED, *numbers(("SIGCHLD", "SIGIO"))}
#: The time that the program has to end after its time is over, s.
GRACE = 5.0


@dataclass
class Ended:
    """How the program ended, with the status as from `wait`."""

    status: int
    #: The number of processes that the program left, which were then ended.
    left: int = 0
    #: The reason why the program could not begin. The status is then that of a shell.
    why: str = ""
    #: Whether the program was ended because its time was over.
    timed: bool = False

    @property
    def code(self) -> int:
        """The exit status as in a shell's `$?`."""
        return os.waitstatus_to_exitcode(self.status) if os.WIFEXITED(self.status) else 128 + os.WTERMSIG(self.status)


class PartFailed(RuntimeError):
    """A part that the program needs has ended before the program."""


def take() -> tuple[frozenset[int], frozenset[int]]:
    """Blocks signals, so that they wait. Returns the ignored signals, and the signals that were blocked before."""
    ignored_signals = frozenset(n for n in PASSED if signal.getsignal(n) == signal.SIG_IGN and n not in _OF_PYTHON)
    mask_before = frozenset(signal.pthread_sigmask(signal.SIG_BLOCK, _WAITED - ignored_signals))
    for signal_number in (signal.SIGIO, signal.SIGCHLD):
        # The kernel does not discard a blocked signal that has a handler.
        signal.signal(signal_number, lambda *_: None)
    return ignored_signals, mask_before


#: Signals that Python itself ignores.
_OF_PYTHON = numbers(("SIGPIPE", "SIGXFSZ"))


def give_back(mask: frozenset[int]) -> None:
    """Restores the earlier effect of signals."""
    while signal.sigtimedwait(_WAITED, 0) is not None:
        pass
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _signalled(channel_fd: int) -> None:
    """Makes a message on this descriptor raise a signal."""
    import fcntl

    fcntl.fcntl(channel_fd, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(channel_fd, fcntl.F_GETFL)
    fcntl.fcntl(channel_fd, fcntl.F_SETFL, flags | os.O_ASYNC)


def until_it_ends(stage: ProgramStage, seconds: float | None, tick: Callable[[], None], tick_s: float) -> Ended:
    """Wait for the program. `tick` is called after signals and about every `tick_s`. An exception of `tick` ends the
    wait."""
    _signalled(stage.channel.fileno())
    begin, ended_by_us = time.monotonic(), 0
    heard_at_s: dict[int, float] = {}
    while True:
        while True:
            try:
                words = stage.said()
            except EOFError:
                raise PartFailed("the processes of the program were killed from outside") from None
            if words is None:
                break
            if (end := _read(words, stage, heard_at_s)) is not None:
                end.timed = bool(ended_by_us)
                return end
        tick()
        overtime_s = None if seconds is None else time.monotonic() - begin - seconds
        if overtime_s is not None and overtime_s >= 0 and ended_by_us == 0:
            stage.send(f"signal {int(signal.SIGTERM)}")
            ended_by_us = 1
        elif overtime_s is not None and overtime_s >= GRACE and ended_by_us == 1:
            stage.send(f"signal {int(signal.SIGKILL)}")
            ended_by_us = 2
        most = tick_s if overtime_s is None or overtime_s >= 0 else min(tick_s, -overtime_s)
        signal_info = signal.sigtimedwait(_WAITED, most)
        if signal_info is None or signal_info.si_signo in (signal.SIGCHLD, signal.SIGIO):
            continue
        if signal_info.si_code in _FROM_PROCESS and not _group_heard(stage, signal_info.si_signo, heard_at_s):
            stage.send(f"signal {signal_info.si_signo}")


def _group_heard(stage: ProgramStage, number: int, heard: dict[int, float]) -> bool:
    """Whether the whole group got this signal. Other messages of the stage are kept for later. `heard` has the time at
    which the stage last got each signal."""
    now_s = time.monotonic()
    if now_s - heard.pop(number, -math.inf) < _REMEMBERED:
        return True
    until_s = now_s + _TOGETHER
    other_messages: list[list[str]] = []
    is_heard = False
    while not is_heard and (seconds_left := until_s - time.monotonic()) > 0:
        try:
            words = stage.said(seconds_left)
        except EOFError:
            break
        is_heard = words == ["heard", str(number)]
        if words is not None and not is_heard:
            other_messages.append(words)
    stage.kept += other_messages
    return is_heard


def _read(words: list[str], stage: ProgramStage, heard: dict[int, float]) -> Ended | None:
    match words[0]:
        case "ended":
            return Ended(int(words[1]), int(words[2]))
        case "failed":
            signal_number = int(words[1])
            is_absent = signal_number in (errno.ENOENT, errno.ENOTDIR)
            status = (NOT_FOUND if is_absent else NOT_EXECUTABLE) << 8
            return Ended(status, why=f"{stage.words[0]}: {os.strerror(signal_number)}")
        case "refused":
            raise PartFailed(" ".join(words[1:]))
        case "heard":
            heard[int(words[1])] = time.monotonic()
        case "stopped":
            _stop_too(stage)
    return None


def _stop_too(stage: ProgramStage) -> None:
    """Stops this process too after the program was stopped by a key or by itself, so that the waiting shell sees it."""
    # A key stops this process as well. In this case a signal to continue has already arrived.
    if signal.sigtimedwait({signal.SIGCONT}, 0) is None:
        os.kill(os.getpid(), signal.SIGSTOP)
        signal.sigtimedwait({signal.SIGCONT}, 0)
    stage.send(f"signal {int(signal.SIGCONT)}")


def own_the_terminal() -> None:
    """Makes this process the foreground of the terminal again, if the program was and did not give this back."""
    try:
        fd = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return
    mask_before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    with contextlib.suppress(OSError):
        if os.tcgetpgrp(fd) == 0:
            os.tcsetpgrp(fd, os.getpgrp())
    signal.pthread_sigmask(signal.SIG_SETMASK, mask_before)
    os.close(fd)


def end_as(ended: Ended) -> NoReturn:
    """Ends this process in the same way as the program ended."""
    if os.WIFSIGNALED(ended.status):
        import resource

        signal_number = os.WTERMSIG(ended.status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if signal_number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(signal_number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal_number})
        os.kill(os.getpid(), signal_number)
    raise SystemExit(ended.code)
