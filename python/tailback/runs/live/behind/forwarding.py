"""Makes this machine forward packets for as long as a program is behind a line.

Packets come back by the interfaces of this machine, and each of these interfaces has to forward. The kernel has a
setting for each interface. Parallel runs share the setting: the first run changes it, and the last one restores the old
value. A separate process keeps the setting, and restores it when the command has ended in any way. The old values are
in a file below /run, which is locked by all runs that need the setting. The file is therefore found even if all
processes were killed. In this case the next run, or `tailback doctor --clean`, restores the settings.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

#: Folders for this file; the first one that this user may write is used. The second is for the root of a user
#: namespace.
ROOMS = (Path("/run"), Path("/tmp"))
_HEAD = "tailback-forwarding-"
#: The time after which everything that ends with the command has ended, s.
_WAIT_S = 1.0
#: The messages of the command: that packets may be forwarded now, and that the command ends by itself.
_SET, _REGULAR = b"+", b"."
_SETTINGS = "/proc/sys/net/"


def _room() -> Path:
    return next((room for room in ROOMS if os.access(room, os.W_OK)), ROOMS[0])


def file_of_network() -> Path:
    """The file in which the settings of this network are kept."""
    return _room() / f"{_HEAD}{os.stat('/proc/self/ns/net').st_ino}"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """A lock under which only one process at a time reads and changes the settings."""
    import fcntl

    room = os.open(_room(), os.O_RDONLY)
    try:
        fcntl.flock(room, fcntl.LOCK_EX)
        yield
    finally:
        os.close(room)


def _changed(fd: int) -> list[str]:
    """The settings that runs have changed; all of them were 0. In a folder that all users may write, the file may be
    another user's. Only settings of networks are therefore taken from the file."""
    names = os.pread(fd, 1 << 20, 0).decode("ascii", "replace").split()
    return [name for name in names if name.startswith(_SETTINGS) and ".." not in name]


def _last(fd: int) -> bool:
    """Whether no other run needs the settings."""
    import fcntl

    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _begin(path: Path, settings: Sequence[str]) -> tuple[int, list[str]]:
    """The descriptor whose lock shows that this run needs the settings, and the settings that were 0 before all
    runs."""
    import fcntl

    with _alone():
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        if _last(fd):
            # The settings in the file were left by runs that were killed. These settings were 0 before, unless they
            # have been changed since.
            settings_left = [name for name in _changed(fd) if _read(Path(name)) == "1"]
            os.ftruncate(fd, 0)
            os.pwrite(fd, "".join(f"{name}\n" for name in settings_left).encode(), 0)
        known_settings = _changed(fd)
        new_settings = [name for name in settings if _read(Path(name)) == "0" and name not in known_settings]
        os.pwrite(fd, "".join(f"{name}\n" for name in (*known_settings, *new_settings)).encode(), 0)
        fcntl.flock(fd, fcntl.LOCK_SH)
        return fd, [*known_settings, *new_settings]


def _set(settings: Sequence[str]) -> None:
    with _alone():
        for name in settings:
            if _read(Path(name)) == "0":
                Path(name).write_text("1", encoding="ascii")


def _end(path: Path, fd: int) -> None:
    with _alone():
        if _last(fd):
            for name in _changed(fd):
                with contextlib.suppress(OSError):
                    Path(name).write_text("0", encoding="ascii")
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
        os.close(fd)


def _forget_dead() -> bool:
    """Remove the files of networks that have ended, such as networks behind a line, whose keepers ended with the line.
    Returns whether there are files of other networks."""
    other_files = [p for p in _room().glob(f"{_HEAD}*") if p != file_of_network()]
    if not other_files:
        return False
    inodes = set()
    for link in Path("/proc").glob("[0-9]*/ns/net"):
        with contextlib.suppress(OSError):
            inodes.add(link.stat().st_ino)
    with _alone():
        for path in other_files:
            with contextlib.suppress(OSError):
                fd = os.open(path, os.O_RDWR)
                if _last(fd) and int(path.name.removeprefix(_HEAD)) not in inodes:
                    path.unlink()
                os.close(fd)
    return True


def put_back() -> bool:
    """Restore the settings that killed runs have left in this network. Returns whether there were any."""
    path = file_of_network()
    try:
        with _alone():
            fd = os.open(path, os.O_RDWR)
    except OSError:
        return False
    is_left = _last(fd)
    _end(path, fd)
    return is_left


class Keeper:
    """The process that keeps the settings."""

    def __init__(self, settings: Sequence[str]) -> None:
        """Raises OSError if the settings cannot be kept. `opened` has the settings that `forward` changes or another
        run has changed."""
        self.end_, their_end = socket.socketpair()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self.end_.close()
                _keep(their_end, settings)
            finally:
                os._exit(1)
        their_end.close()
        self.opened = self._answer()

    def forward(self) -> None:
        """Let packets be forwarded from now on. Raises OSError if the settings cannot be changed."""
        self.end_.send(_SET)
        self._answer()

    def _answer(self) -> list[str]:
        message = b""
        while chunk := self.end_.recv(65_536):
            message += chunk
            if message.endswith(b"\n"):
                break
        word, _, details = message.decode().strip().partition(" ")
        if word != "kept":
            self.end()
            raise OSError(details or "the process that keeps them was killed")
        return details.split()

    def end(self) -> None:
        """Restore the old values, if no other run needs the settings."""
        with contextlib.suppress(OSError):
            self.end_.send(_REGULAR)
        self.end_.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _keep(theirs: socket.socket, settings: Sequence[str]) -> None:
    os.setsid()
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE):
        signal.signal(signal_number, signal.SIG_IGN)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    # Close the sockets of other processes. If this process kept them open, the others would not see that the command
    # has ended.
    kept_descriptor = theirs.fileno()
    os.closerange(3, kept_descriptor)
    os.closerange(kept_descriptor + 1, 4096)
    path = file_of_network()
    try:
        fd, settings_to_restore = _begin(path, settings)
    except OSError as e:
        theirs.sendall(f"refused {e.strerror} ({e.filename})\n".encode())
        return
    theirs.sendall(f"kept {' '.join(settings_to_restore)}\n".encode())
    # The socket becomes readable when the command has ended.
    word = theirs.recv(1)
    if word == _SET:
        try:
            _set(settings)
        except OSError as e:
            theirs.sendall(f"refused {e.strerror} ({e.filename})\n".encode())
        else:
            theirs.sendall(b"kept\n")
        word = theirs.recv(1)
    is_regular = word == _REGULAR
    _end(path, fd)
    # The networks of a killed command end after the command, so this process waits.
    until = time.monotonic() + (0 if is_regular else _WAIT_S)
    while _forget_dead() and time.monotonic() < until:
        time.sleep(0.05)
    os._exit(0)
