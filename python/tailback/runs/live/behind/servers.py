"""Starts servers at the far end of the line, in place of servers outside."""

from __future__ import annotations

import contextlib
import os
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback.runs.live.behind.stage import Launch, ProgramEnd, ProgramStage

#: The time that a server has to listen before the program begins, s.
WAIT_S = 5.0
_LISTENS = "0A"


@dataclass
class Server:
    said: str
    stage: ProgramStage
    #: How the server ended, if it ended before the program.
    ended: str | None = None

    def poll(self) -> None:
        with contextlib.suppress(EOFError):
            while (words := self.stage.said()) is not None:
                match words[0]:
                    case "ended":
                        code = os.waitstatus_to_exitcode(int(words[1]))
                        self.ended = f"status {code}" if code >= 0 else f"signal {-code}"
                    case "failed":
                        self.ended = os.strerror(int(words[1]))
                    case "refused":
                        self.ended = " ".join(words[1:])

    def report(self) -> dict[str, Any]:
        self.poll()
        return {"command": self.said, "ended": self.ended}


def words(said: str) -> list[str]:
    """The words of a shell's command. A command that has more than plain words becomes a line for `sh`. Raises
    ValueError."""
    command = shlex.split(said)
    if not command:
        raise ValueError("it has no words")
    return ["sh", "-c", said] if set(said) & set("|&;<>$`*?~") or "=" in command[0] else command


def start(said: str, place: ProgramEnd, environment: Mapping[str, str]) -> Server:
    null = os.open(os.devnull, os.O_RDWR)
    try:
        return Server(said, ProgramStage(place, words(said), Launch(environment, (null, null, null), apart=True)))
    finally:
        os.close(null)


def sockets(pid: int) -> int:
    """The number of sockets of this network that wait for connections, and the number that wait for datagrams."""
    socket_count = 0
    for name in ("tcp", "tcp6", "udp", "udp6"):
        with contextlib.suppress(OSError):
            rows = Path(f"/proc/{pid}/net/{name}").read_text(encoding="ascii").splitlines()[1:]
            socket_count += sum(name.startswith("udp") or row.split()[3] == _LISTENS for row in rows)
    return socket_count


def wait(servers: Sequence[Server], pid: int, before: int) -> bool:
    """Waits until the network of this process has one more socket for each server, or a server has ended. Returns
    whether this happened in time."""
    until_s = time.monotonic() + WAIT_S
    while sockets(pid) - before < len(servers):
        for server in servers:
            server.poll()
        if any(server.ended is not None for server in servers):
            return True
        if time.monotonic() > until_s:
            return False
        time.sleep(0.01)
    return True
