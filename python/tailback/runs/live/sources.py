"""The connections of one namespace: senders, and receivers that discard all data."""

from __future__ import annotations

import contextlib
import errno
import heapq
import selectors
import socket
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from tailback import _core
from tailback.runs.live import datagrams, iperf, tcp_info

#: Values of linux/tcp.h and asm-generic/socket.h for which Python has no names.
TCP_WINDOW_CLAMP, TCP_NOTSENT_LOWAT = 10, 25
SO_MAX_PACING_RATE = 47
_CHUNK = bytes(1 << 18)
#: The most unsent data of a flow that stops, B. A kernel sends all data that it has got, and a line of 5 Mb/s would
#: take seconds for a whole buffer. At 100 Mb/s this amount lasts for 10 ms.
MOST_UNSENT = 1 << 17
#: The shortest sleep between datagrams, s. If the gap is shorter, several datagrams are sent at a time.
SHORTEST_SLEEP = 0.0005
#: The time before the end at which iperf3 has to report its measurements of datagrams, s.
LAST_WORDS = 0.02
#: The most bytes that are read at once. A TCP socket discards data that are read with MSG_TRUNC, without a copy.
_ALL = 1 << 20
_SCRATCH = bytearray(_ALL)


class Loop:
    """An event loop over sockets and a list of things to do at given times."""

    def __init__(self) -> None:
        self.selector = selectors.EpollSelector()
        self.agenda: list[tuple[float, int, Callable[[], None]]] = []
        self.made = 0
        self.begin_ns = 0

    def now(self) -> float:
        return (time.monotonic_ns() - self.begin_ns) * 1e-9

    def at(self, when: float, what: Callable[[], None]) -> None:
        self.made += 1
        heapq.heappush(self.agenda, (when, self.made, what))

    def run(self, control: socket.socket) -> None:
        """Runs until the gateway sends a message or has ended."""
        self.selector.register(control, selectors.EVENT_READ)
        while True:
            seconds_left = self.agenda[0][0] - self.now() if self.agenda else 1.0
            for key, _ in self.selector.select(max(0.0, seconds_left)):
                if key.fileobj is control:
                    self.selector.unregister(control)
                    return
                key.data()
            while self.agenda and self.agenda[0][0] <= self.now():
                heapq.heappop(self.agenda)[2]()


class Work:
    """The work of one namespace for some groups."""

    def __init__(self, config: dict[str, Any], loop: Loop, groups: list[dict[str, Any]]) -> None:
        self.config, self.groups = config, groups
        self.family = socket.AF_INET6 if config["ipv6"] else socket.AF_INET
        self.loop, self.selector = loop, loop.selector
        self.at, self.now = loop.at, loop.now

    def start(self) -> None:
        """Begins the run."""

    def report(self) -> list[dict[str, Any]]:
        return []


def mark(s: socket.socket, dscp: int) -> None:
    """Set the code point of the packets of a socket."""
    if dscp and s.family == socket.AF_INET6:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, dscp << 2)
    elif dscp:
        s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp << 2)


def exchange(s: socket.socket) -> None:
    """Read the data that have arrived, and send as much as there is room for."""
    with contextlib.suppress(OSError):
        s.recv_into(_SCRATCH, _ALL, socket.MSG_TRUNC)
    with contextlib.suppress(OSError):
        s.send(_CHUNK)


class Flow:
    """A connection, and the data of its kernel about it."""

    def __init__(self, name: str, group: dict[str, Any], index: int, start: float, stop: float | None) -> None:
        self.name, self.group, self.index = name, group, index
        self.start, self.stop = start, stop
        self.socket: socket.socket | None = None
        sizes = group["transfer_bytes"]
        self.left: int | None = sizes[index % len(sizes)] if sizes else None
        self.first: dict[str, Any] = {}
        self.last: dict[str, Any] = {}
        self.samples: list[tuple[float, int, int, float]] = []
        self.error = ""
        #: The source that makes the writes of a simulation, and the bytes of these writes that wait for room.
        self.source: _core.LiveSource | None = None
        self.waiting = 0
        #: For datagrams with numbers: the next number; and the number, the arrival time and the round trip of each
        #: answer.
        self.number = 0
        self.heard: list[tuple[int, float, float]] = []
        self.iperf: iperf.Process | None = None
        #: The time at which iperf3 ended.
        self.ended: float | None = None


class Source(Work):
    """The senders."""

    def __init__(self, config: dict[str, Any], loop: Loop) -> None:
        super().__init__(config, loop, [g for g in config["groups"] if g["sends"]])
        groups = {g["name"]: g for g in self.groups}
        self.flows = [
            Flow(name, groups[name.rpartition(".")[0]], int(name.rpartition(".")[2]), start, stop)
            for name, start, stop in config["flows"]
            if name.rpartition(".")[0] in groups
        ]
        self.every = max(config["sample_s"], len(self.flows) / 3000)
        if any(f.group["drawn"] for f in self.flows):
            scenario = _core.load(config["scenario"], "toml", "the scenario", [], False)
            for f in self.flows:
                if f.group["drawn"]:
                    f.source = _core.LiveSource(scenario, config["seed"], f.group["name"], f.index)

    def start(self) -> None:
        for flow in self.flows:
            self.at(flow.start, partial(self.open, flow))
            if flow.stop is not None:
                self.at(flow.stop, partial(self.close, flow))
        self.at(self.every, self.sample)
        self.at(self.config["warmup_s"], self.warm)

    def open(self, flow: Flow) -> None:
        group = flow.group
        if group["iperf3"]:
            self.test(flow)
            return
        kind = socket.SOCK_STREAM if group["protocol"] == 6 else socket.SOCK_DGRAM
        flow.socket = sock = socket.socket(self.family, kind)
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        mark(sock, group["dscp"])
        try:
            if group["pacing_bps"]:
                sock.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, group["pacing_bps"] // 8)
            if group["protocol"] == 6:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, group["congestion"].encode())
                if group["both"] and group["window_bytes"]:
                    sock.setsockopt(socket.IPPROTO_TCP, TCP_WINDOW_CLAMP, group["window_bytes"])
                if flow.stop is not None:
                    sock.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, MOST_UNSENT)
            if group["echo"]:
                sock.setsockopt(socket.SOL_SOCKET, datagrams.SO_TIMESTAMPNS, 1)
            sock.bind((group["own"], group["first_port"] + flow.index))
            sock.connect((group["other"], group["server_port"]))
        except BlockingIOError:
            pass
        except OSError as e:
            flow.error = str(e)
            return
        if group["protocol"] == 6 and (group["both"] or group["back_s"] is not None):
            self.selector.register(sock, selectors.EVENT_READ | selectors.EVENT_WRITE, partial(exchange, sock))
        elif flow.source is not None:
            if group["echo"]:
                self.selector.register(sock, selectors.EVENT_READ, partial(self.hear_answers, flow))
            self.emit(flow)
        else:
            self.selector.register(sock, selectors.EVENT_WRITE, partial(self.feed, flow))

    def test(self, flow: Flow) -> None:
        """Starts iperf3 as the sender of a flow."""
        flow.iperf = iperf_process = iperf.client(flow.group, flow.index, flow.left)

        def over() -> None:
            self.selector.unregister(iperf_process.descriptor)
            flow.ended = self.now()

        self.selector.register(iperf_process.descriptor, selectors.EVENT_READ, over)
        if flow.group["protocol"] != 6:
            # iperf3 must stop before the network ends, or its measurements are lost.
            self.at(self.config["duration_s"] - LAST_WORDS, iperf_process.interrupt)

    def feed(self, flow: Flow) -> None:
        sock = flow.socket
        if sock is None:
            return
        try:
            while flow.left is None or flow.left > 0:
                sent_bytes = sock.send(_CHUNK if flow.left is None else _CHUNK[: min(flow.left, len(_CHUNK))])
                if flow.left is not None:
                    flow.left -= sent_bytes
        except BlockingIOError:
            return
        except OSError as e:
            flow.error = str(e)
            self.selector.unregister(sock)
            return
        self.close(flow)

    def emit(self, flow: Flow) -> None:
        """Send the data that are due, and wake for the next, but at most as often as a clock of user space allows."""
        group, now_s = flow.group, self.now()
        if flow.socket is None or flow.source is None:
            return
        for n in flow.source.until(now_s):
            if group["protocol"] == 6:
                flow.waiting += n
                continue
            payload = _CHUNK[: max(0, n - group["datagram_header"])]
            if group["numbered"]:
                payload = datagrams.numbered(flow.number, payload)
                flow.number += 1
            with contextlib.suppress(OSError):
                flow.socket.send(payload)
        if flow.waiting:
            self.push(flow)
        if (due := flow.source.next()) is not None:
            self.at(max(due, now_s + SHORTEST_SLEEP), partial(self.emit, flow))

    def hear_answers(self, flow: Flow) -> None:
        if flow.socket is None:
            return
        for d in datagrams.received(flow.socket):
            if d.number is not None:
                flow.heard.append((d.number, (d.at_ns - self.loop.begin_ns) * 1e-9, (d.at_ns - d.sent_ns) * 1e-9))

    def push(self, flow: Flow) -> None:
        """Write the waiting data. If there is no room, wait for the event that there is room."""
        sock = flow.socket
        if sock is None:
            return
        waits = False
        try:
            while flow.waiting:
                flow.waiting -= sock.send(_CHUNK[: min(flow.waiting, len(_CHUNK))])
        except BlockingIOError:
            waits = True
        except OSError as e:
            flow.error, flow.waiting = str(e), 0
        if waits != (sock in self.selector.get_map()):
            if waits:
                self.selector.register(sock, selectors.EVENT_WRITE, partial(self.push, flow))
            else:
                self.selector.unregister(sock)

    def close(self, flow: Flow) -> None:
        """Send no more data. Data that the kernel has buffered are still sent."""
        if flow.iperf is not None:
            flow.iperf.interrupt()
        if flow.socket is None:
            return
        if flow.group["protocol"] != 6:
            # Answers may still be on their way.
            if not flow.group["echo"]:
                flow.socket.close()
                flow.socket = None
            return
        with contextlib.suppress(KeyError, ValueError):
            if flow.group["back_s"] is None:
                self.selector.unregister(flow.socket)
            else:
                # The other end may still send: read until it closes.
                self.selector.modify(flow.socket, selectors.EVENT_READ, partial(self.hear, flow.socket))
        with contextlib.suppress(OSError):
            flow.socket.shutdown(socket.SHUT_WR)

    def hear(self, s: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError):
            if s.recv_into(_SCRATCH, _ALL, socket.MSG_TRUNC) == 0:
                self.selector.unregister(s)

    def sample(self) -> None:
        now_s = self.now()
        for flow in self.flows:
            if flow.socket is None or flow.group["protocol"] != 6:
                continue
            flow.last = i = tcp_info.read(flow.socket)
            if i["state"] != 1:
                continue
            flow.samples.append((now_s, i["cwnd"], i["ssthresh"], i["rtt_us"] * 1e-6))
        self.at(now_s + self.every, self.sample)

    def warm(self) -> None:
        for flow in self.flows:
            if flow.socket is not None and flow.group["protocol"] == 6:
                flow.first = tcp_info.read(flow.socket)

    def report(self) -> list[dict[str, Any]]:
        self.sample()
        now_s = self.now()
        outputs = iperf.results({flow.name: flow.iperf for flow in self.flows if flow.iperf})
        rows = []
        for flow in self.flows:
            row = {
                "name": flow.name,
                "first": flow.first,
                "last": flow.last,
                "samples": flow.samples,
                "error": flow.error,
            }
            row["heard"] = flow.heard
            if flow.name in outputs:
                row |= iperf.told(outputs[flow.name], now_s if flow.ended is None else flow.ended)
                # Tests end with the network. A test that ended earlier reports the reason.
                early = flow.ended is not None and flow.ended < self.config["duration_s"]
                was_interrupted = flow.iperf is not None and flow.iperf.interrupted
                row["error"] = outputs[flow.name].get("error", "") if early and not was_interrupted else ""
            rows.append(row)
        return rows


class Sink(Work):
    """The receivers."""

    def __init__(self, config: dict[str, Any], loop: Loop) -> None:
        super().__init__(config, loop, [g for g in config["groups"] if not g["sends"]])
        self.received: dict[str, int] = {}
        #: The number and delay of each numbered datagram that has arrived, by flow.
        self.arrived: dict[str, list[tuple[int, float]]] = {}
        self.infos: dict[str, socket.socket] = {}
        self.starts = {name: start for name, start, _ in config["flows"]}
        self.tests: dict[str, iperf.Process] = {}
        for g in self.groups:
            if g["iperf3"]:
                self.tests |= {f"{g['name']}.{i}": p for i, p in iperf.servers(g).items()}
            elif g["protocol"] == 6:
                self.listen(g)
            else:
                sock = socket.socket(self.family, socket.SOCK_DGRAM)
                sock.setblocking(False)
                sock.bind((g["own"], g["server_port"]))
                hear = self.hear_datagrams if g["numbered"] else self.drain_datagrams
                if g["numbered"]:
                    sock.setsockopt(socket.SOL_SOCKET, datagrams.SO_TIMESTAMPNS, 1)
                mark(sock, g["dscp"])
                self.selector.register(sock, selectors.EVENT_READ, partial(hear, sock, g))

    def listen(self, g: dict[str, Any]) -> None:
        sock = socket.socket(self.family, socket.SOCK_STREAM)
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Accepted connections inherit the code point.
        mark(sock, g["dscp"])
        if g["window_bytes"]:
            sock.setsockopt(socket.IPPROTO_TCP, TCP_WINDOW_CLAMP, g["window_bytes"])
        sock.bind((g["own"], g["server_port"]))
        sock.listen(4096)
        self.selector.register(sock, selectors.EVENT_READ, partial(self.accept, sock, g))

    def accept(self, listening: socket.socket, g: dict[str, Any]) -> None:
        while True:
            try:
                sock, peer = listening.accept()
            except BlockingIOError:
                return
            sock.setblocking(False)
            name = f"{g['name']}.{peer[1] - g['first_port']}"
            self.infos[name] = sock
            self.received.setdefault(name, 0)
            if g["both"]:
                self.selector.register(sock, selectors.EVENT_READ | selectors.EVENT_WRITE, partial(exchange, sock))
                continue
            self.selector.register(sock, selectors.EVENT_READ, partial(self.drain, sock, name))
            if g["back_s"] is not None:
                self.at(self.starts[name] + g["back_s"], partial(self.answer, sock, name))

    def answer(self, s: socket.socket, name: str) -> None:
        """Let this end also send data all the time from now on."""

        def both(s: socket.socket) -> None:
            self.drain(s, name)
            with contextlib.suppress(OSError):
                s.send(_CHUNK)

        with contextlib.suppress(KeyError):
            self.selector.modify(s, selectors.EVENT_READ | selectors.EVENT_WRITE, partial(both, s))

    def drain(self, s: socket.socket, name: str) -> None:
        try:
            # One call for each wake-up, because the data may be a whole window, and other sockets wait.
            received_bytes = s.recv_into(_SCRATCH, _ALL, socket.MSG_TRUNC)
        except BlockingIOError:
            return
        except OSError as e:
            if e.errno not in (errno.ECONNRESET, errno.ETIMEDOUT):
                raise
            received_bytes = 0
        if received_bytes == 0:
            self.selector.unregister(s)
            return
        self.received[name] += received_bytes

    def drain_datagrams(self, s: socket.socket, g: dict[str, Any]) -> None:
        with contextlib.suppress(BlockingIOError):
            for _ in range(64):
                n, peer = s.recvfrom_into(_SCRATCH)
                name = f"{g['name']}.{peer[1] - g['first_port']}"
                self.received[name] = self.received.get(name, 0) + n

    def hear_datagrams(self, s: socket.socket, g: dict[str, Any]) -> None:
        """Reads datagrams with numbers, and answers them if the group requires it."""
        for datagram in datagrams.received(s):
            if g["echo"]:
                with contextlib.suppress(OSError):
                    s.sendto(datagram.answer(g["answer"] or datagram.length), datagram.peer)
            name = f"{g['name']}.{datagram.peer[1] - g['first_port']}"
            self.received[name] = self.received.get(name, 0) + datagram.length
            if datagram.number is not None:
                self.arrived.setdefault(name, []).append((datagram.number, (datagram.at_ns - datagram.sent_ns) * 1e-9))

    def report(self) -> list[dict[str, Any]]:
        rows = []
        for name, output in iperf.results(self.tests).items():
            rows.append({"name": name, "received_bytes": iperf.received(output), "last": {}})
        for name, received_bytes in sorted(self.received.items()):
            last_info = {}
            if name in self.infos:
                with contextlib.suppress(OSError):
                    last_info = tcp_info.read(self.infos[name])
            row = {"name": name, "received_bytes": received_bytes, "last": last_info}
            rows.append(row | {"arrived": self.arrived.get(name, [])})
        return rows
