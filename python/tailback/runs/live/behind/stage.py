"""Starts a program in the namespaces of one end of the line, with its own namespaces of processes and mounts.

    this process -- stage -- the first process of the namespace -- the program
                    (in the user's process group, as the program is)

The kernel ends all processes of a process namespace, with all their children, when its first process ends. The first
process ends when the program or this process ends, even if this process is killed. Mounts vanish with the last process
that sees them.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from tailback import _core

#: Exit statuses of a shell for a command that does not exist, and for one that cannot be run.
NOT_FOUND, NOT_EXECUTABLE = 127, 126
#: Sockets by which programs resolve names outside their own network.
_ELSEWHERE = ("/run/systemd/resolve/io.systemd.Resolve", "/run/nscd/socket", "/var/run/nscd/socket")
#: The folder in which the files of a program are made, before they are mounted in their places.
_ROOM = Path("/tmp")

#: Signals that are not for the program, or that the kernel sends to the program by itself.
_NOT_PASSED = (
    *("SIGKILL", "SIGSTOP", "SIGCHLD", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGIO"),
    *("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGSYS", "SIGTRAP"),
)


def numbers(names: Iterable[str]) -> set[int]:
    """The signals of these names that this system has."""
    return {int(getattr(signal, name)) for name in names if hasattr(signal, name)}


PASSED = sorted(int(number) for number in signal.valid_signals() if number not in numbers(_NOT_PASSED))


@dataclass(frozen=True)
class User:
    """The user of a program, if it is not the user of this process."""

    name: str
    number: int
    group: int
    home: str

    def environment(self) -> dict[str, str]:
        return {"HOME": self.home, "USER": self.name, "LOGNAME": self.name}


def who_called_sudo() -> User | None:
    """The user who called `sudo`, which runs this process as root."""
    user_id = os.environ.get("SUDO_UID", "")
    if os.geteuid() != 0 or not user_id.isdigit() or user_id == "0":
        return None
    import pwd

    try:
        row = pwd.getpwuid(int(user_id))
    except KeyError:
        return None
    return User(row.pw_name, row.pw_uid, row.pw_gid, row.pw_dir)


@dataclass
class ProgramEnd:
    """The end of the line at which a program runs."""

    #: A process in the network of this end, and whether that network has its own user namespace.
    pid: int
    has_user_namespace: bool
    #: Contents of files that the program sees in place of this machine's.
    files: Mapping[str, str] = field(default_factory=dict)
    user: User | None = None


@dataclass
class Launch:
    """The settings for starting a program."""

    environment: Mapping[str, str]
    #: Descriptors for the program's input, output and errors.
    standard: tuple[int, int, int] = (0, 1, 2)
    #: Whether the program is outside of the user's process group, and gets no signals of the terminal.
    apart: bool = False
    #: Signals that were ignored when the command began.
    ignored: frozenset[int] = frozenset()
    #: Signals that were blocked when the command began.
    mask: frozenset[int] = frozenset()


class ProgramStage:
    """A started program. `channel` has its messages: `ended STATUS LEFT`, `failed ERRNO`, `stopped NUMBER`, and
    `heard NUMBER` for signals to the process group."""

    def __init__(self, place: ProgramEnd, words: Sequence[str], settings: Launch) -> None:
        self.words = words
        #: Messages that were read and not yet returned by `said`.
        self.kept: list[list[str]] = []
        our_end, their_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.channel = our_end
        own_pid = os.getpid()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            _leave(our_end, _stage, own_pid, place, words, settings, their_end)
        their_end.close()

    def send(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self.channel.send(text.encode())

    def said(self, wait_s: float | None = 0.0) -> list[str] | None:
        """The words of the next message; None if there is none in this time. Raises EOFError after the last message."""
        if self.kept:
            return self.kept.pop(0)
        try:
            if not select.select([self.channel], [], [], wait_s)[0]:
                return None
            message = self.channel.recv(256)
        except ConnectionResetError:
            raise EOFError from None
        if not message:
            raise EOFError
        return message.decode().split()

    def end(self) -> None:
        """Ends all processes of the program."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        # The first process of the namespace is the last one that has the other end of the channel. The first process
        # ends when all others have ended.
        with contextlib.suppress(EOFError, OSError):
            while self.said(5.0) is not None:
                pass
        self.channel.close()


def _leave(ours: socket.socket, what: Any, *given: Any) -> NoReturn:
    """Runs `what` in a child of this process, and ends the child, so that it never continues the code of its parent."""
    try:
        ours.close()
        what(*given)
    except BaseException as e:
        with contextlib.suppress(BaseException):
            given[-1].send(f"refused {type(e).__name__} {e}"[:250].encode())
    finally:
        os._exit(1)


def _stage(parent: int, place: ProgramEnd, words: Sequence[str], settings: Launch, channel: socket.socket) -> None:
    """The process between this process and the namespace. This process enters the namespace, and reports the signals
    that the process group gets."""
    _core.end_with_parent()
    if os.getppid() != parent:
        return
    if settings.apart:
        os.setsid()
    for stop in (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
        signal.signal(stop, signal.SIG_IGN)

    def heard(number: int, _frame: object) -> None:
        with contextlib.suppress(OSError):
            channel.send(f"heard {number}".encode(), socket.MSG_DONTWAIT)

    for signal_number in PASSED:
        signal.signal(signal_number, heard)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    try:
        if place.has_user_namespace:
            _core.join_user(f"/proc/{place.pid}/ns/user")
        # This also lets the kernel end this process with its parent, which a change of user undoes.
        _core.join_network(f"/proc/{place.pid}/ns/net")
        _core.own_mounts_and_processes()
    except OSError as e:
        channel.send(f"refused the program's namespaces cannot be made ({e.strerror or e})".encode())
        return
    read_end, write_end = os.pipe()
    first_pid = os.fork()
    if first_pid == 0:
        os.close(write_end)
        _first(read_end, place, words, settings, channel)
    os.waitpid(first_pid, 0)
    os._exit(0)


def _first(alive: int, place: ProgramEnd, words: Sequence[str], settings: Launch, channel: socket.socket) -> NoReturn:
    """The first process of the namespace: it waits for all others."""
    try:
        _core.end_with_parent()
        # The parent is outside of the namespace and has no process ID in it. This pipe becomes readable as soon as the
        # parent has ended.
        if select.select([alive], [], [], 0)[0]:
            os._exit(1)
        for signal_number in PASSED:
            signal.signal(signal_number, signal.SIG_IGN)
        is_fresh = _look(place)
        program = os.fork()
        if program == 0:
            _program(place, words, settings, channel)
        _wait(program, channel, is_fresh)
    except BaseException as e:
        with contextlib.suppress(BaseException):
            channel.send(f"refused {type(e).__name__} {e}"[:250].encode())
    finally:
        os._exit(1)


def _look(place: ProgramEnd) -> bool:
    """Mounts the files that the program sees: its own processes and its own resolvers. Returns whether `/proc` is its
    own."""
    is_fresh = True
    try:
        _core.mount_new("proc", "/proc")
    except OSError:
        # A container hides parts of `/proc`. Programs then see the process IDs outside of the namespace.
        is_fresh = False
    files = {name: text for name, text in place.files.items() if os.path.exists(name)}
    if files:
        _core.mount_new("tmpfs", _ROOM)
        for i, (name, text) in enumerate(files.items()):
            probe_file = _ROOM / str(i)
            probe_file.write_text(text, encoding="utf-8")
            probe_file.chmod(0o644)
            _core.show_at(probe_file, name)
        _core.unmount(_ROOM)
    for name in _ELSEWHERE:
        if os.path.exists(name):
            with contextlib.suppress(OSError):
                _core.show_at("/dev/null", name)
    return is_fresh


def _program(place: ProgramEnd, words: Sequence[str], settings: Launch, channel: socket.socket) -> NoReturn:
    """Becomes the program."""
    try:
        environment = dict(settings.environment)
        if place.user is not None:
            os.initgroups(place.user.name, place.user.group)
            os.setgid(place.user.group)
            os.setuid(place.user.number)
            environment |= place.user.environment()
        elif place.has_user_namespace:
            user, group = int(environment.pop(_USER)), int(environment.pop(_GROUP))
            _core.be_user_again(user, group)
        for standard_fd, fd in enumerate(settings.standard):
            if fd != standard_fd:
                os.dup2(fd, standard_fd)
        for signal_number in (*PASSED, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCHLD, signal.SIGIO):
            signal.signal(signal_number, signal.SIG_IGN if signal_number in settings.ignored else signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, settings.mask)
        os.execvpe(words[0], list(words), environment)
    except OSError as e:
        channel.send(f"failed {e.errno or 0}".encode())
    except BaseException as e:
        channel.send(f"refused {type(e).__name__} {e}"[:250].encode())
    os._exit(NOT_FOUND)


#: The variables of the environment with the user and the group, until the program begins.
_USER, _GROUP = "TAILBACK_USER", "TAILBACK_GROUP"


def with_user(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment for a program in a user namespace, which is this user again."""
    return {**environment, _USER: str(os.getuid()), _GROUP: str(os.getgid())}


def _wait(program: int, channel: socket.socket, fresh: bool) -> NoReturn:
    """Reap processes, pass signals to the program, and report how the program ended."""
    woken, wake = os.pipe()
    for fd in (woken, wake):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                os._exit(1)
            if pid == 0:
                break
            if pid != program:
                continue
            if os.WIFSTOPPED(status):
                channel.send(f"stopped {os.WSTOPSIG(status)}".encode())
                continue
            processes_left = sum(name.isdigit() for name in os.listdir("/proc")) - 1 if fresh else 0
            channel.send(f"ended {status} {processes_left}".encode())
            os._exit(0)
        descriptors: list[Any] = [channel, woken]
        ready = select.select(descriptors, [], [])[0]
        if woken in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(woken, 4096)
        if channel in ready:
            words = channel.recv(256).decode().split()
            if not words:
                os._exit(1)
            with contextlib.suppress(ProcessLookupError):
                os.kill(program, int(words[1]))
