"""A two-way end of the simulator as the host of a script, in simulated time. The host has the part of sockets that a
sender needs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace

from tailback import _core
from tailback.apps.conformance.ours import scenario_of
from tailback.apps.conformance.packetdrill.capture import FLAGS, names_of_flags
from tailback.apps.conformance.packetdrill.play import Returned
from tailback.apps.conformance.packetdrill.script import (
    Call,
    Command,
    Packet,
    Refused,
    Script,
    flat_names,
    names_at,
    number_at,
    result_of,
)
from tailback.apps.conformance.packetdrill.segments import Compares, SentPacket
from tailback.apps.conformance.packetdrill.settings import Setup, setup, takes_nothing

#: The note for every script on features that senders here do not have.
NOT_COMPARED = "PSH, windows and the options of SYNs are not compared"
#: Fields of accurate ECN's option, in the order in which an end here sends them.
_FIELDS = ("e1b", "ceb", "e0b")
#: States of `tcp_info` in which a connection is open.
_OPEN = {1, 4, 5, 6, 8, 9, 11}
_CLOSED = 7


class OurHost:
    """One connection of the simulator."""

    compares = Compares()

    def __init__(self, script: Script) -> None:
        self.setup: Setup = setup(script)
        self._core = _core.SenderByHand(scenario_of(self.setup.tcp), passive=self.setup.passive)
        self._now = 0
        self._unread: deque[SentPacket] = deque()
        self._line = 0
        self._listener: int | None = None
        self._connection: int | None = None
        self._waits = True
        self._closed = self._asked = self._reads_nothing = False
        self._read = 0
        self.packets: list[tuple[int, bool, SentPacket | Packet]] = []

    @property
    def now_ns(self) -> int:
        return self._now

    @property
    def notes(self) -> list[str]:
        return [*self.setup.notes, NOT_COMPARED]

    def tick_ns(self) -> float:
        return 1.0

    def wait(self, until_ns: int) -> None:
        self._now = self._core.advance(max(until_ns, self._now))
        self._take()

    def next_sent(self, until_ns: int) -> SentPacket | None:
        self._take()
        if not self._unread and until_ns > self._now:
            self._now = self._core.advance(until_ns, stops=True)
            self._take()
        return self._unread.popleft() if self._unread else None

    def _take(self) -> None:
        for segment in self._core.take():
            letters = "".join(letter for letter, name in FLAGS.items() if name in segment.flags)
            ack = segment.ack if "ack" in segment.flags else None
            packet = SentPacket(
                segment.at,
                letters,
                segment.seq,
                segment.payload,
                ack,
                segment.ecn,
                None,
                segment.stamps,
                tuple(segment.blocks),
            )
            if segment.counts is not None:
                packet = replace(packet, counts=tuple(zip(_FIELDS, segment.counts, strict=False)))
            self._unread.append(packet)
            self.packets.append((segment.at, False, packet))

    def arrive(self, packet: Packet, echo: int | None) -> None:
        flags = sorted(names_of_flags(packet.flags) - {"psh"})
        shift = 0 if packet.has("S") else self.setup.shift
        window = None if packet.window is None else packet.window << shift
        stamps = (packet.stamps[0], echo or 0) if packet.stamps else None
        self.packets.append((self._now, True, packet))
        self._core.receive(
            flags, packet.ack or 0, packet.sack, stamps, window, packet.seq, packet.payload, packet.ecn or "not-ect",
            _counts(packet),
        )  # fmt: skip
        self._take()

    def info(self) -> Mapping[str, int]:
        return self._core.info()

    def command(self, command: Command, line: int) -> None:
        """Runs a command. Settings apply from the beginning (`settings.py`), except a queue with limit 0."""
        if command.qdisc is not None:
            self._core.hold(takes_nothing(command.qdisc))
            self._take()

    # ---- sockets

    def call(self, call: Call) -> Returned | None:
        method = _CALLS.get(call.name)
        if method is None:
            raise Refused(0, call.name, "senders here do not have this system call")
        result = method(self, call)
        self._take()
        return result

    def _state(self) -> int:
        return int(self._core.info().get("state", _CLOSED))

    def _socket(self, call: Call) -> Returned:
        kinds = flat_names(call)
        if "SOCK_STREAM" not in kinds:
            raise Refused(0, call.name, "only sockets of TCP are played (SOCK_STREAM)")
        if "SOCK_NONBLOCK" in kinds:
            self._waits = False
        return Returned(result_of(call))

    def _listen(self, call: Call) -> Returned:
        self._listener = number_at(call, 0)
        return Returned(0)

    def _connect(self, call: Call) -> Returned | None:
        self._connection = number_at(call, 0)
        if not self._asked:
            self._asked = True
            self._core.write(0)
            self._take()
            if not self._waits:
                return Returned(-1, "EINPROGRESS")
        if self._state() in _OPEN:
            return Returned(0)
        return Returned(-1, "ECONNREFUSED") if self._state() == _CLOSED else None

    def _accept(self, call: Call) -> Returned | None:
        if self._state() not in _OPEN:
            return None if self._waits else Returned(-1, "EAGAIN")
        if self._connection is not None:
            raise Refused(0, call.name, "a script has one connection")
        self._connection = result_of(call)
        return Returned(result_of(call))

    def _write(self, call: Call) -> Returned:
        self._own(call)
        count = number_at(call, 2)
        if self._closed or self._state() == _CLOSED:
            return Returned(-1, "EPIPE")
        for flag in names_at(call, 3):
            if flag not in ("MSG_NOSIGNAL", "MSG_DONTWAIT", "0"):
                raise Refused(0, flag, "senders here do not know this flag")
        self._core.write(count)
        return Returned(count)

    def _receive(self, call: Call) -> Returned | None:
        self._own(call)
        arrived_bytes, is_ended = self._core.received()
        if self._reads_nothing:
            return Returned(0)
        count = min(number_at(call, 2), arrived_bytes - self._read)
        if count == 0 and not is_ended and number_at(call, 2):
            return None if self._waits else Returned(-1, "EAGAIN")
        if "MSG_PEEK" not in names_at(call, 3):
            self._read += count
        return Returned(count)

    def _close(self, call: Call) -> Returned:
        if number_at(call, 0) == self._connection:
            arrived_bytes, _ = self._core.received()
            if arrived_bytes > self._read:
                raise Refused(0, call.name, "a reset because of unread data is not modelled")
            self._closed = True
            self._core.close()
        return Returned(0)

    def _shutdown(self, call: Call) -> Returned:
        self._own(call)
        direction_names = names_at(call, 1)
        self._reads_nothing = self._reads_nothing or direction_names != ["SHUT_WR"]
        if direction_names != ["SHUT_RD"]:
            self._closed = True
            self._core.close()
        return Returned(0)

    def _fcntl(self, call: Call) -> Returned:
        if "F_SETFL" in names_at(call, 1):
            self._waits = "O_NONBLOCK" not in names_at(call, 2)
        return Returned(result_of(call))

    def _setsockopt(self, call: Call) -> Returned:
        (option,) = names_at(call, 2) or [""]
        if option not in _OPTIONS:
            raise Refused(0, option or call.name, "senders here do not have this socket option")
        if option == "SO_LINGER" and call.arguments[3:4] != [{"onoff": 0, "linger": 0}]:
            raise Refused(0, option, "a reset when a socket is closed is not modelled")
        return Returned(0)

    def _getsockopt(self, call: Call) -> Returned:
        (option,) = names_at(call, 2) or [""]
        if option == "TCP_MAXSEG":
            return Returned(0, out={3: self._core.info()["snd_mss"]})
        if option == "SO_ERROR":
            return Returned(0, out={3: 0})
        raise Refused(0, option or call.name, "senders here do not show this socket option")

    def _ioctl(self, call: Call) -> Returned:
        if names_at(call, 1) not in (["SIOCINQ"], ["FIONREAD"]):
            raise Refused(0, call.name, "of ioctl only SIOCINQ is played")
        return Returned(0, out={2: self._core.received()[0] - self._read})

    def _own(self, call: Call) -> None:
        if number_at(call, 0) != self._connection:
            raise Refused(0, call.name, f"{call.arguments[0]} is no connection that is open here")


def _counts(packet: Packet) -> list[int] | None:
    """The option of accurate ECN in the form that an end here reads. Raises Refused."""
    if packet.counts is None:
        return None
    counts = dict(packet.counts)
    fields = [counts[name] for name in _FIELDS if name in counts]
    if list(counts) != list(_FIELDS[: len(counts)]) and len(counts) < len(_FIELDS):
        raise Refused(0, "ECN", "an option that begins with e0b has all three fields here")
    return fields


#: Socket options that are read before the script begins, or that have no effect on a sender here.
_OPTIONS = {
    "SO_REUSEADDR", "SO_REUSEPORT", "SO_SNDBUF", "SO_RCVBUF", "SO_LINGER", "SO_KEEPALIVE", "TCP_CONGESTION",
    "TCP_NODELAY", "TCP_MAXSEG", "TCP_QUICKACK", "IP_TOS", "IP_MTU_DISCOVER", "IP_RECVERR", "TCP_NOTSENT_LOWAT",
    "SO_PRIORITY",
}  # fmt: skip


_CALLS: Mapping[str, Callable[[OurHost, Call], Returned | None]] = {
    "socket": OurHost._socket,
    "bind": lambda host, call: Returned(0),
    "listen": OurHost._listen,
    "connect": OurHost._connect,
    "accept": OurHost._accept,
    "write": OurHost._write,
    "send": OurHost._write,
    "sendto": OurHost._write,
    "read": OurHost._receive,
    "recv": OurHost._receive,
    "recvfrom": OurHost._receive,
    "close": OurHost._close,
    "shutdown": OurHost._shutdown,
    "fcntl": OurHost._fcntl,
    "setsockopt": OurHost._setsockopt,
    "getsockopt": OurHost._getsockopt,
    "ioctl": OurHost._ioctl,
}
