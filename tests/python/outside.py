"""For tests of `tailback behind`: a machine and an outside of their own, in namespaces, from which nothing leaves.

machine: eth0 10.50.0.2, resolver at 127.0.0.53  ==veth==  world: 10.50.0.1, a web server, name service
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if sys.platform.startswith("linux"):
    from tailback import _core

WORLD, WORLD6 = "10.50.0.1", "fd00:50::1"
NAME = "world.test"
#: Answers each query with the address of the world (RFC 1035 section 4.1), at this address.
_NAMES = """
import socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 53))
while True:
    q, who = s.recvfrom(512)
    end = q.index(0, 12) + 5
    kind = struct.unpack("!H", q[end - 4:end - 2])[0]
    is_v4 = kind == 1
    head = q[:2] + struct.pack("!HHHHH", 0x8180, 1, int(is_v4), 0, 0)
    answer = b"\\xc0\\x0c" + struct.pack("!HHIH", 1, 1, 60, 4) + socket.inet_aton("10.50.0.1")
    s.sendto(head + q[12:end] + answer * is_v4, who)
"""
#: A server for both families, which answers with what it was asked for.
_WEB = """
import http.server, socket
class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"x" * 3000)
    def log_message(self, *_): pass
Server(("::", 80), Handler).serve_forever()
"""
#: What a shell of the machine does before its first command.
_MACHINE = """
mount --make-rprivate /
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs {room}
mknod {room}/tun c 10 200 && chmod 666 {room}/tun && mount --bind {room}/tun /dev/net/tun
echo "nameserver {resolver}" > {room}/resolv.conf && mount --bind {room}/resolv.conf /etc/resolv.conf
{readable}
ip link set lo up
echo ready
exec sleep 7200
"""
#: A folder that only root may read is one in which only this folder is.
_READABLE = """
mkdir {room}/kept && mount --bind {inner} {room}/kept && mount -t tmpfs -o mode=755 tmpfs {outer}
mkdir -p {inner} && mount --bind {room}/kept {inner}
"""


def why_not(*commands: str) -> str:
    """Why these tests cannot run here; nothing if they can."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return "a machine of its own for the test needs Linux and root"
    if missing := [
        name for name in ("ip", "nft", "unshare", "nsenter", "setpriv", *commands) if shutil.which(name) is None
    ]:
        return f"missing here: {', '.join(missing)}"
    done = subprocess.run(["unshare", "-n", "-m", "true"], capture_output=True, check=False)
    return "" if done.returncode == 0 else "no namespaces here"


def ordinary_user() -> pwd.struct_passwd | None:
    """A user without privilege, whom every system has."""
    with contextlib.suppress(KeyError):
        return pwd.getpwnam("nobody")
    return None


def _unreadable() -> tuple[Path, Path] | None:
    """A folder of the interpreter that ordinary users cannot enter, and the next one in it."""
    path = Path(sys.executable).resolve()
    for parent in reversed(path.parents):
        if not parent.stat().st_mode & 0o001:
            return parent, parent / path.relative_to(parent).parts[0]
    return None


@dataclass
class Outside:
    machine: int
    world: int
    room: Path
    started: list[subprocess.Popen[Any]] = field(default_factory=list)

    def words(self, words: Sequence[str], user: bool = False, where: int | None = None) -> list[str]:
        """A command in the machine, as root or as an ordinary user."""
        enter = ["nsenter", "-t", str(where or self.machine), "-n", "-m"]
        row = ordinary_user()
        drop = ["setpriv", f"--reuid={row.pw_uid}", f"--regid={row.pw_gid}", "--clear-groups"] if user and row else []
        return [*enter, *drop, *words]

    def run(self, *words: str, user: bool = False, **more: Any) -> subprocess.CompletedProcess[str]:
        given: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 120, "check": False, "cwd": "/"}
        return subprocess.run(self.words(words, user), **{**given, "env": environment(), **more})

    def start(self, *words: str, user: bool = False, **more: Any) -> subprocess.Popen[str]:
        given: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": "/"}
        running = subprocess.Popen(self.words(words, user), **{**given, "env": environment(), **more})
        self.started.append(running)
        return running

    def serve(self, *words: str) -> subprocess.Popen[Any]:
        """A server of the world."""
        null = subprocess.DEVNULL
        words_there = self.words(words, where=self.world)
        server = subprocess.Popen(
            words_there, stdin=null, stdout=null, stderr=null, cwd="/", preexec_fn=_core.end_with_parent
        )
        self.started.append(server)
        return server


def environment() -> Mapping[str, str]:
    package = str(Path(__file__).resolve().parents[2] / "python")
    kept = {k: v for k, v in os.environ.items() if not k.startswith("SUDO_")}
    return {**kept, "PYTHONPATH": package, "HOME": "/tmp", "PYTHONDONTWRITEBYTECODE": "1"}


def behind(*words: str) -> list[str]:
    return [sys.executable, "-m", "tailback", "behind", *words]


def listens(pid: int, port: int, kind: str = "tcp") -> bool:
    rows = Path(f"/proc/{pid}/net/{kind}").read_text().splitlines()[1:]
    return any(int(row.split()[1].rpartition(":")[2], 16) == port for row in rows)


@contextlib.contextmanager
def outside(room: Path, resolver: str = "127.0.0.53") -> Iterator[Outside]:
    """Everything ends with the block."""
    room.mkdir(exist_ok=True)
    room.chmod(0o755)
    held = _unreadable()
    readable = _READABLE.format(room=room, outer=held[0], inner=held[1]) if held else ""
    script = _MACHINE.format(room=room, resolver=resolver, readable=readable)
    with contextlib.ExitStack() as stack:
        sides = []
        for text in (script, "ip link set lo up\necho ready\nexec sleep 7200\n"):
            words = ["unshare", "-n", "-m", "bash", "-ec", text]
            # Also where this process is killed.
            side = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, preexec_fn=_core.end_with_parent)
            stack.callback(side.communicate)
            stack.callback(side.kill)
            assert side.stdout is not None and side.stdout.readline() == "ready\n"
            sides.append(side)
        there = Outside(sides[0].pid, sides[1].pid, room)
        stack.callback(lambda: [(p.kill(), p.wait()) for p in there.started])
        there.run("ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", str(there.world))
        for where, four, six in ((there.machine, "10.50.0.2", "fd00:50::2"), (there.world, WORLD, WORLD6)):
            for words in (["addr", "add", f"{four}/24", "dev", "eth0"], ["link", "set", "eth0", "up"],
                          ["addr", "add", f"{six}/64", "dev", "eth0", "nodad"]):  # fmt: skip
                subprocess.run(there.words(["ip", *words], where=where), check=True)
        there.run("ip", "route", "add", "default", "via", WORLD)
        there.run("ip", "-6", "route", "add", "default", "via", WORLD6)
        there.serve(sys.executable, "-c", _NAMES, WORLD)
        there.started.append(subprocess.Popen(there.words([sys.executable, "-c", _NAMES, "127.0.0.53"]), cwd="/"))
        until = time.monotonic() + 5
        while not (listens(there.world, 53, "udp") and listens(there.machine, 53, "udp")) and time.monotonic() < until:
            time.sleep(0.01)
        yield there


@contextlib.contextmanager
def outside_with_web(folder: Path) -> Iterator[Outside]:
    """An outside whose web server listens, in a folder that other users can reach."""
    for parent in (folder, *folder.parents):
        if parent != Path("/tmp") and parent.is_relative_to("/tmp"):
            parent.chmod(0o755)
    with outside(folder / "room") as made:
        made.serve(sys.executable, "-c", _WEB)
        until = time.monotonic() + 5
        while not listens(made.world, 80, "tcp6") and time.monotonic() < until:
            time.sleep(0.01)
        yield made
