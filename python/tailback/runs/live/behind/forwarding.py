"""Whether this machine forwards packets, for as long as a program is behind a line.

Packets come back by the interfaces of this machine, and each of these has to forward. The kernel has a setting for each
interface. Runs at the same time share it: the first changes it, the last puts back what was there. A process of its own
keeps the setting, and puts it back when the command is gone, however it went. What was there stands in a file below
/run, which all runs that need it have locked. So it is found even where all processes were killed: the next run, or
`tailback doctor --clean`, puts it back.
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

#: The first that this user may write; the second is for the root of a user namespace.
ROOMS = (Path("/run"), Path("/tmp"))
_HEAD = "tailback-forwarding-"
#: What ends together with the command has ended after this time, s.
_WAIT_S = 1.0
#: What the command says: that packets may be forwarded now, and that it ends by itself.
_SET, _REGULAR = b"+", b"."
_SETTINGS = "/proc/sys/net/"


def _room() -> Path:
    return next((room for room in ROOMS if os.access(room, os.W_OK)), ROOMS[0])


def file_of_network() -> Path:
    """Where the settings of this network are kept."""
    return _room() / f"{_HEAD}{os.stat('/proc/self/ns/net').st_ino}"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """One process at a time reads and changes the settings."""
    import fcntl

    room = os.open(_room(), os.O_RDONLY)
    try:
        fcntl.flock(room, fcntl.LOCK_EX)
        yield
    finally:
        os.close(room)


def _changed(fd: int) -> list[str]:
    """The settings that runs have changed; all of them were 0. In a folder that all may write, a file may be another
    user's: only settings of networks are taken from it."""
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
    """The descriptor whose lock says that they are needed, and those that were 0 before all runs."""
    import fcntl

    with _alone():
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        if _last(fd):
            # What is written was left by runs that were killed: it was 0 if nobody has changed it since.
            left = [name for name in _changed(fd) if _read(Path(name)) == "1"]
            os.ftruncate(fd, 0)
            os.pwrite(fd, "".join(f"{name}\n" for name in left).encode(), 0)
        known = _changed(fd)
        new = [name for name in settings if _read(Path(name)) == "0" and name not in known]
        os.pwrite(fd, "".join(f"{name}\n" for name in (*known, *new)).encode(), 0)
        fcntl.flock(fd, fcntl.LOCK_SH)
        return fd, [*known, *new]


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
    """Remove the files of networks that are no more, such as those behind a line, whose keepers ended with it. Whether
    there are files of other networks."""
    others = [p for p in _room().glob(f"{_HEAD}*") if p != file_of_network()]
    if not others:
        return False
    alive = set()
    for link in Path("/proc").glob("[0-9]*/ns/net"):
        with contextlib.suppress(OSError):
            alive.add(link.stat().st_ino)
    with _alone():
        for path in others:
            with contextlib.suppress(OSError):
                fd = os.open(path, os.O_RDWR)
                if _last(fd) and int(path.name.removeprefix(_HEAD)) not in alive:
                    path.unlink()
                os.close(fd)
    return True


def put_back() -> bool:
    """Put back what runs that were killed have left in this network; whether there was anything."""
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
        """Raises OSError where they cannot be kept. `opened`: those that `forward` changes, or another run has."""
        self.end_, theirs = socket.socketpair()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self.end_.close()
                _keep(theirs, settings)
            finally:
                os._exit(1)
        theirs.close()
        self.opened = self._answer()

    def forward(self) -> None:
        """From now on packets are forwarded. Raises OSError where the settings cannot be changed."""
        self.end_.send(_SET)
        self._answer()

    def _answer(self) -> list[str]:
        said = b""
        while part := self.end_.recv(65_536):
            said += part
            if said.endswith(b"\n"):
                break
        word, _, rest = said.decode().strip().partition(" ")
        if word != "kept":
            self.end()
            raise OSError(rest or "the process that keeps them was killed")
        return rest.split()

    def end(self) -> None:
        """Put back what was there, if no other run needs it."""
        with contextlib.suppress(OSError):
            self.end_.send(_REGULAR)
        self.end_.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _keep(theirs: socket.socket, settings: Sequence[str]) -> None:
    os.setsid()
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    # The ends of others: where this process had them open, others would not see that the command is gone.
    kept = theirs.fileno()
    os.closerange(3, kept)
    os.closerange(kept + 1, 4096)
    path = file_of_network()
    try:
        fd, opened = _begin(path, settings)
    except OSError as e:
        theirs.sendall(f"refused {e.strerror} ({e.filename})\n".encode())
        return
    theirs.sendall(f"kept {' '.join(opened)}\n".encode())
    # The socket is readable when the command is gone.
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
    # What a killed command leaves ends with it, and not before it.
    until = time.monotonic() + (0 if is_regular else _WAIT_S)
    while _forget_dead() and time.monotonic() < until:
        time.sleep(0.05)
    os._exit(0)
