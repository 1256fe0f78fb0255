"""Runs the system calls of a script on sockets of this machine's kernel.

Sockets never block here. A blocking call of a script is tried again until it returns, so that the far end can be played
in the same thread.
"""

from __future__ import annotations

import errno
import socket
import struct
from collections.abc import Callable, Mapping

from tailback.apps.conformance.packetdrill.capture import LOCAL, PORT, REMOTE
from tailback.apps.conformance.packetdrill.play import Returned
from tailback.apps.conformance.packetdrill.script import Call, Refused, flat_names, number_at, result_of
from tailback.runs.live import tcp_info

#: Constants of Linux that Python's socket module does not have.
_MORE = {
    "SOL_IP": 0, "SOL_TCP": 6, "IP_MTU_DISCOVER": 10, "IP_RECVERR": 11, "IP_PMTUDISC_DONT": 0, "IP_PMTUDISC_WANT": 1,
    "IP_PMTUDISC_DO": 2, "IP_PMTUDISC_PROBE": 3, "TCP_TIMESTAMP": 24, "TCP_USER_TIMEOUT": 18, "SO_ZEROCOPY": 60,
}  # fmt: skip
_SO_MAX_PACING_RATE, _FASTEST = 47, (1 << 63) - 1
_SENT_AT_ONCE = 1 << 20


class Sockets:
    """The sockets of a script by the script's numbers."""

    def __init__(self, control: tuple[int, str]) -> None:
        self._open: dict[int, socket.socket] = {}
        self._waits: dict[int, bool] = {}
        self._last: socket.socket | None = None
        #: The blocking call, and the bytes that it has written.
        self._doing: tuple[Call, int] | None = None
        #: The congestion control of new sockets, and the line that sets it.
        self.control = control
        #: Whether sockets pace themselves.
        self.paced = False

    def call(self, call: Call) -> Returned | None:
        """Runs a call, or tries it again; None while it blocks. Raises Refused."""
        method = _CALLS.get(call.name)
        if method is None:
            raise Refused(0, call.name, "there is no such system call here")
        try:
            return method(self, call)
        except BlockingIOError as e:
            if self._waits.get(number_at(call, 0), True):
                return None
            return Returned(-1, errno.errorcode.get(e.errno or errno.EAGAIN, "EAGAIN"))
        except OSError as e:
            return Returned(-1, errno.errorcode.get(e.errno or 0, str(e.errno)))

    def info(self) -> Mapping[str, int]:
        if self._last is None:
            raise Refused(0, "tcp_info", "there is no socket")
        return tcp_info.linux(self._last)

    def _of(self, call: Call) -> socket.socket:
        descriptor = number_at(call, 0)
        if descriptor not in self._open:
            raise Refused(0, call.name, f"{descriptor} is no open socket of this script")
        return self._open[descriptor]

    def _keep(self, number: int, s: socket.socket, waits: bool) -> None:
        s.setblocking(False)
        self._open[number], self._waits[number], self._last = s, waits, s

    def _socket(self, call: Call) -> Returned:
        kinds = flat_names(call)
        if "SOCK_STREAM" not in kinds:
            raise Refused(0, call.name, "only sockets of TCP are played (SOCK_STREAM)")
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        line, name = self.control
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        except OSError as e:
            raise Refused(line, name[:60], f"this kernel has no such congestion control ({e.strerror})") from None
        if self.paced:
            # Any limit makes the kernel pace a connection by its own rate.
            sock.setsockopt(socket.SOL_SOCKET, _SO_MAX_PACING_RATE, struct.pack("Q", _FASTEST))
        self._keep(result_of(call), sock, "SOCK_NONBLOCK" not in kinds)
        return Returned(result_of(call))

    def _bind(self, call: Call) -> Returned:
        self._of(call).bind((LOCAL, PORT))
        return Returned(0)

    def _listen(self, call: Call) -> Returned:
        self._of(call).listen(number_at(call, 1))
        return Returned(0)

    def _connect(self, call: Call) -> Returned | None:
        s, waits = self._of(call), self._waits[number_at(call, 0)]
        code = s.connect_ex((REMOTE, PORT))
        if waits and code == errno.EISCONN and self._doing and self._doing[0] is call:
            code = 0
        if waits and code in (errno.EINPROGRESS, errno.EALREADY):
            self._doing = (call, 0)
            return None
        return Returned(0) if code == 0 else Returned(-1, errno.errorcode.get(code, str(code)))

    def _accept(self, call: Call) -> Returned:
        s, _ = self._of(call).accept()
        self._keep(result_of(call), s, "SOCK_NONBLOCK" not in flat_names(call))
        return Returned(result_of(call))

    def _write(self, call: Call) -> Returned | None:
        sock, total = self._of(call), number_at(call, 2)
        flags = _bits(call, 3)
        bytes_done = self._doing[1] if self._doing and self._doing[0] is call else 0
        waits = self._waits[number_at(call, 0)] and not flags & socket.MSG_DONTWAIT
        while True:
            try:
                bytes_done += sock.send(bytes(min(total - bytes_done, _SENT_AT_ONCE)), flags | socket.MSG_NOSIGNAL)
            except BlockingIOError:
                if waits:
                    self._doing = (call, bytes_done)
                    return None
                if bytes_done == 0:
                    raise
            if bytes_done >= total or not waits:
                self._doing = None
                return Returned(bytes_done)

    def _receive(self, call: Call) -> Returned:
        return Returned(len(self._of(call).recv(number_at(call, 2), _bits(call, 3))))

    def _close(self, call: Call) -> Returned:
        s = self._of(call)
        del self._open[number_at(call, 0)]
        s.close()
        if self._last is s:
            self._last = next(reversed(self._open.values()), None)
        return Returned(0)

    def _shutdown(self, call: Call) -> Returned:
        self._of(call).shutdown(_bits(call, 1))
        return Returned(0)

    def _fcntl(self, call: Call) -> Returned:
        descriptor, flags_asked = number_at(call, 0), call.arguments[1] if len(call.arguments) > 1 else ()
        self._of(call)
        if flags_asked == ("F_SETFL",):
            self._waits[descriptor] = "O_NONBLOCK" not in flat_names(call)
        # The flags of a socket are shown as the script has set them.
        return Returned(result_of(call))

    def _setsockopt(self, call: Call) -> Returned:
        level, option, value = _bits(call, 1), _bits(call, 2), call.arguments[3] if len(call.arguments) > 3 else 0
        first_value = value[0] if isinstance(value, list) and value else value
        option_bytes: int | bytes
        if isinstance(first_value, str):
            option_bytes = first_value.encode()
        elif isinstance(first_value, dict):
            option_bytes = struct.pack("ii", int(first_value.get("onoff", 0)), int(first_value.get("linger", 0)))
        else:
            option_bytes = _constant(first_value, call.name)
        self._of(call).setsockopt(level, option, option_bytes)
        return Returned(0)

    def _getsockopt(self, call: Call) -> Returned:
        if "TCP_INFO" in flat_names(call):
            raise Refused(0, "TCP_INFO", "its values are read by assertions (%{ assert tcpi_... }%)")
        level, option = _bits(call, 1), _bits(call, 2)
        value = call.arguments[3] if len(call.arguments) > 3 else None
        if isinstance(value, str) or (isinstance(value, list) and value and not isinstance(value[0], int)):
            self._of(call).getsockopt(level, option, 256)
            return Returned(0)
        return Returned(0, out={3: self._of(call).getsockopt(level, option)})

    def _ioctl(self, call: Call) -> Returned:
        # Modules that only Unix has.
        import fcntl
        import termios

        requests = {"SIOCINQ": termios.FIONREAD, "FIONREAD": termios.FIONREAD, "SIOCOUTQ": termios.TIOCOUTQ}
        name = next((n for n in flat_names(call) if n in requests), None)
        if name is None:
            raise Refused(0, call.name, f"of ioctl only {', '.join(requests)} are played")
        (value,) = struct.unpack("i", fcntl.ioctl(self._of(call), requests[name], b"\0" * 4))
        return Returned(0, out={2: value})


def _constant(value: object, name: str) -> int:
    if isinstance(value, int):
        return value
    total = 0
    for word in value if isinstance(value, tuple) else ():
        constant = _MORE.get(word, getattr(socket, word, None))
        if not isinstance(constant, int):
            raise Refused(0, str(word), "this constant is not known here")
        total |= int(constant)
    if not isinstance(value, tuple):
        raise Refused(0, name, f"{value!r} is no number"[:120])
    return total


def _bits(call: Call, place: int) -> int:
    return _constant(call.arguments[place], call.name) if place < len(call.arguments) else 0


_CALLS: Mapping[str, Callable[[Sockets, Call], Returned | None]] = {
    "socket": Sockets._socket,
    "bind": Sockets._bind,
    "listen": Sockets._listen,
    "connect": Sockets._connect,
    "accept": Sockets._accept,
    "accept4": Sockets._accept,
    "write": Sockets._write,
    "send": Sockets._write,
    "sendto": Sockets._write,
    "read": Sockets._receive,
    "recv": Sockets._receive,
    "recvfrom": Sockets._receive,
    "close": Sockets._close,
    "shutdown": Sockets._shutdown,
    "fcntl": Sockets._fcntl,
    "setsockopt": Sockets._setsockopt,
    "getsockopt": Sockets._getsockopt,
    "ioctl": Sockets._ioctl,
}
