"""Lets a program in another network use resolvers that only this machine can reach, such as 127.0.0.53.

A process of this machine's network answers at the far end of the line. This process listens at sockets of the far end's
network, and asks the resolver from this machine's network. The queries therefore pass the line. Datagrams and
connections (RFC 1035 section 4.2) are forwarded unread.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import sys
import time
from typing import Any

from tailback import _core

#: The time after which a query without an answer is dropped, s.
_PATIENCE = 10.0
#: The most queries at once.
_MOST = 512


def relay(sockets: list[socket.socket], server: str) -> int:
    """Start the process, which answers at these sockets of datagrams and connections. Returns the process ID."""
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    try:
        _core.end_with_parent()
        if os.getppid() == parent:
            os.setsid()
            null = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            _Relay(sockets, server).run()
    finally:
        os._exit(1)


class _Relay:
    def __init__(self, sockets: list[socket.socket], server: str) -> None:
        infos = socket.getaddrinfo(server, 53, type=socket.SOCK_DGRAM, flags=socket.AI_NUMERICHOST)
        self.family: socket.AddressFamily = infos[0][0]
        self.server: Any = infos[0][4]
        self.waiting: dict[socket.socket, float] = {}
        self.chooser = selectors.DefaultSelector()
        for s in sockets:
            s.setblocking(False)
            take = self._query if s.type == socket.SOCK_DGRAM else self._accept
            self.chooser.register(s, selectors.EVENT_READ, (take, None))

    def run(self) -> None:
        while True:
            for key, _ in self.chooser.select(_PATIENCE):
                take, arguments = key.data
                try:
                    take(key.fileobj, arguments)
                except OSError:
                    if arguments is not None:
                        self._drop(key.fileobj)
            oldest_s = time.monotonic() - _PATIENCE
            for s in [s for s, since in self.waiting.items() if since < oldest_s]:
                self._drop(s)

    def _wait_for(self, s: socket.socket, take: object, beside: object) -> None:
        if len(self.waiting) >= _MOST:
            self._drop(next(iter(self.waiting)))
        self.waiting[s] = time.monotonic()
        self.chooser.register(s, selectors.EVENT_READ, (take, beside))

    def _drop(self, s: object) -> None:
        if isinstance(s, socket.socket) and s in self.waiting:
            del self.waiting[s]
            self.chooser.unregister(s)
            s.close()

    def _query(self, at: socket.socket, _: object) -> None:
        query, client = at.recvfrom(65_535)
        upstream = socket.socket(self.family, socket.SOCK_DGRAM)
        upstream.setblocking(False)
        upstream.connect(self.server)
        upstream.send(query)
        self._wait_for(upstream, self._answer, (at, client))

    def _answer(self, asked: socket.socket, beside: tuple[socket.socket, Any]) -> None:
        listener, client = beside
        listener.sendto(asked.recv(65_535), client)
        self._drop(asked)

    def _accept(self, at: socket.socket, _: object) -> None:
        near_socket, _ = at.accept()
        far_socket = socket.socket(self.family, socket.SOCK_STREAM)
        # The resolver is on this machine, so it answers at once.
        far_socket.settimeout(2)
        far_socket.connect(self.server)
        self._wait_for(near_socket, self._carry, far_socket)
        self._wait_for(far_socket, self._carry, near_socket)

    def _carry(self, a: socket.socket, b: socket.socket) -> None:
        message = a.recv(65_535)
        if message:
            b.settimeout(2)
            b.sendall(message)
            self.waiting[a] = time.monotonic()
            return
        self._drop(a)
        self._drop(b)
