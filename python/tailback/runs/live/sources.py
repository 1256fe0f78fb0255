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
            left = self.agenda[0][0] - self.now() if self.agenda else 1.0
            for key, _ in self.selector.select(max(0.0, left)):
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
        g = flow.group
        if g["iperf3"]:
            self.test(flow)
            return
        kind = socket.SOCK_STREAM if g["protocol"] == 6 else socket.SOCK_DGRAM
        flow.socket = s = socket.socket(self.family, kind)
        s.setblocking(False)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        mark(s, g["dscp"])
        try:
            if g["pacing_bps"]:
                s.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, g["pacing_bps"] // 8)
            if g["protocol"] == 6:
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, g["congestion"].encode())
                if g["both"] and g["window_bytes"]:
                    s.setsockopt(socket.IPPROTO_TCP, TCP_WINDOW_CLAMP, g["window_bytes"])
                if flow.stop is not None:
                    s.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, MOST_UNSENT)
            if g["echo"]:
                s.setsockopt(socket.SOL_SOCKET, datagrams.SO_TIMESTAMPNS, 1)
            s.bind((g["own"], g["first_port"] + flow.index))
            s.connect((g["other"], g["server_port"]))
        except BlockingIOError:
            pass
        except OSError as e:
            flow.error = str(e)
            return
        if g["protocol"] == 6 and (g["both"] or g["back_s"] is not None):
            self.selector.register(s, selectors.EVENT_READ | selectors.EVENT_WRITE, partial(exchange, s))
        elif flow.source is not None:
            if g["echo"]:
                self.selector.register(s, selectors.EVENT_READ, partial(self.hear_answers, flow))
            self.emit(flow)
        else:
            self.selector.register(s, selectors.EVENT_WRITE, partial(self.feed, flow))

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
        s = flow.socket
        if s is None:
            return
        try:
            while flow.left is None or flow.left > 0:
                sent = s.send(_CHUNK if flow.left is None else _CHUNK[: min(flow.left, len(_CHUNK))])
                if flow.left is not None:
                    flow.left -= sent
        except BlockingIOError:
            return
        except OSError as e:
            flow.error = str(e)
            self.selector.unregister(s)
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
        s = flow.socket
        if s is None:
            return
        waits = False
        try:
            while flow.waiting:
                flow.waiting -= s.send(_CHUNK[: min(flow.waiting, len(_CHUNK))])
        except BlockingIOError:
            waits = True
        except OSError as e:
            flow.error, flow.waiting = str(e), 0
        if waits != (s in self.selector.get_map()):
            if waits:
                self.selector.register(s, selectors.EVENT_WRITE, partial(self.push, flow))
            else:
                self.selector.unregister(s)

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
        outputs = iperf.results({f.name: f.iperf for f in self.flows if f.iperf})
        rows = []
        for f in self.flows:
            row = {"name": f.name, "first": f.first, "last": f.last, "samples": f.samples, "error": f.error}
            row["heard"] = f.heard
            if f.name in outputs:
                row |= iperf.told(outputs[f.name], now_s if f.ended is None else f.ended)
                # Tests end with the network. A test that ended earlier reports the reason.
                early = f.ended is not None and f.ended < self.config["duration_s"]
                was_interrupted = f.iperf is not None and f.iperf.interrupted
                row["error"] = outputs[f.name].get("error", "") if early and not was_interrupted else ""
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
                s = socket.socket(self.family, socket.SOCK_DGRAM)
                s.setblocking(False)
                s.bind((g["own"], g["server_port"]))
                hear = self.hear_datagrams if g["numbered"] else self.drain_datagrams
                if g["numbered"]:
                    s.setsockopt(socket.SOL_SOCKET, datagrams.SO_TIMESTAMPNS, 1)
                mark(s, g["dscp"])
                self.selector.register(s, selectors.EVENT_READ, partial(hear, s, g))

    def listen(self, g: dict[str, Any]) -> None:
        s = socket.socket(self.family, socket.SOCK_STREAM)
        s.setblocking(False)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Accepted connections inherit the code point.
        mark(s, g["dscp"])
        if g["window_bytes"]:
            s.setsockopt(socket.IPPROTO_TCP, TCP_WINDOW_CLAMP, g["window_bytes"])
        s.bind((g["own"], g["server_port"]))
        s.listen(4096)
        self.selector.register(s, selectors.EVENT_READ, partial(self.accept, s, g))

    def accept(self, listening: socket.socket, g: dict[str, Any]) -> None:
        while True:
            try:
                s, peer = listening.accept()
            except BlockingIOError:
                return
            s.setblocking(False)
            name = f"{g['name']}.{peer[1] - g['first_port']}"
            self.infos[name] = s
            self.received.setdefault(name, 0)
            if g["both"]:
                self.selector.register(s, selectors.EVENT_READ | selectors.EVENT_WRITE, partial(exchange, s))
                continue
            self.selector.register(s, selectors.EVENT_READ, partial(self.drain, s, name))
            if g["back_s"] is not None:
                self.at(self.starts[name] + g["back_s"], partial(self.answer, s, name))

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
