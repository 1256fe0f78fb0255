"""Runs one program behind a line, from beginning to end: networks, the box, the way out, the program, and the
summary."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.runs.live.agent import DEVICE
from tailback.runs.live.behind import allowed, names, network, passing, servers, uplink, userspace
from tailback.runs.live.behind.engine import Engine, EngineError
from tailback.runs.live.behind.line import LINK
from tailback.runs.live.behind.network import Addresses
from tailback.runs.live.behind.stage import Launch, ProgramEnd, ProgramStage, User, who_called_sudo, with_user
from tailback.runs.live.router import Refused
from tailback.runs.live.session import LiveError, Side

#: The name of the far end's address, as a variable of the environment and as a host.
FAR_VARIABLE, FAR_HOST = "TAILBACK_FAR", "far"
#: The interval at which the meter is drawn, s.
_TICK = 0.2
_SYS = Path("/proc/sys")
#: Settings that are copied from outside, because a new network has other values.
_AS_OUTSIDE = (
    "net/ipv4/tcp_congestion_control",
    "net/ipv4/tcp_ecn",
    "net/ipv4/tcp_sack",
    "net/ipv4/tcp_timestamps",
    "net/ipv4/tcp_rmem",
    "net/ipv4/tcp_wmem",
    "net/ipv4/tcp_notsent_lowat",
    "net/ipv4/tcp_slow_start_after_idle",
    "net/ipv4/tcp_mtu_probing",
    "net/ipv4/ip_local_port_range",
    "net/ipv4/ip_unprivileged_port_start",
    "net/ipv4/ping_group_range",
)


@dataclass
class Wishes:
    """The command to run, and its options."""

    scenario: Any
    words: Sequence[str]
    servers: Sequence[str] = ()
    seconds: float | None = None
    capture: str | None = None
    real_time: bool = True
    #: Called with the latest state of the box while the program runs.
    meter: Callable[[dict[str, Any]], None] | None = None
    #: The function that the process of the box applies to its results.
    finished: Callable[[Any], dict[str, Any]] = field(default=lambda _: {})


@dataclass
class Behind:
    """The result."""

    ended: passing.Ended
    #: The return value of `finished`.
    passed: dict[str, Any]
    #: The differences from a program outside, one sentence for each.
    notes: list[str]
    servers: list[dict[str, Any]]
    way: str
    mask: frozenset[int]


class _Course:
    """The parts of a run, each with the function that ends it."""

    def __init__(self, wishes: Wishes) -> None:
        self.wishes = wishes
        self.notes: list[str] = []
        self.user: User | None = who_called_sudo()
        self.is_root = uplink.is_root()
        self.way = "none"
        self.out: uplink.Uplink | None = None

    def run(self, stack: contextlib.ExitStack) -> Behind:
        box = _core.LiveBox(self.wishes.scenario, self.wishes.scenario.seed)
        if self.wishes.capture:
            links = [link["name"] for link in self.wishes.scenario.spec["links"]]
            box.capture(LINK if LINK in links else links[0], self.wishes.capture)
        ways_out = network.ways()
        resolvers = network.resolvers()
        if self.is_root:
            uplink.needs_nft()
        sides = self._sides(stack)
        self.near, self.far = sides
        devices = [_device(side) for side in sides]
        self._out(stack, ways_out)
        self._connect(ways_out)
        relay = self._relay(stack, resolvers)
        engine = Engine(box, (devices[0], devices[1]), self.wishes.real_time, self.wishes.finished)
        stack.callback(engine.end)
        environment = {**os.environ, FAR_VARIABLE: self.addresses.of(Addresses.FAR)}
        sockets_before = servers.sockets(self.far.process.pid)
        server_processes = [self._server(stack, words, environment) for words in self.wishes.servers]
        if not servers.wait(server_processes, self.far.process.pid, sockets_before):
            servers_text = "no --server listened" if len(server_processes) == 1 else "not every --server listened"
            self.notes.append(f"{servers_text} after {servers.WAIT_S:g} s, and the program began")
        engine.begin()
        program_end, mask = self._program(engine, environment, resolvers, relay)
        engine_answer = engine.stop()
        self._firewall()
        if program_end.left:
            self.notes.append(f"the program left {program_end.left} processes, which were ended with it")
        return Behind(program_end, engine_answer, self.notes, [s.report() for s in server_processes], self.way, mask)

    def _sides(self, stack: contextlib.ExitStack) -> list[Side]:
        sides = []
        for name in ("near side", "far side"):
            config = {"role": "none", "ipv6": False, "mtu": 1500, "sysctls": {}, "groups": [], "orders": True}
            sides.append(Side(name, config))
            stack.callback(sides[-1].end)
        return sides

    def _out(self, stack: contextlib.ExitStack, ways: network.WaysOut) -> None:
        """The way out, and addresses that the way out does not use."""
        self.no_six = "the way out has no IPv6"
        pid = self.far.process.pid
        if not (ways.four or ways.six):
            self.addresses = ways.free()[0]
            self.notes.append("this machine has no default route: only what --server starts is at the far end")
        elif self.is_root:
            self.out = uplink.Uplink(pid, ways)
            stack.callback(self.out.end)
            self.addresses, self.no_six = self.out.addresses, self.out.no_six
            self.way = "kernel"
            _order(self.far, commands=[_batch(self.out.far_commands())])
        else:
            self.addresses = ways.free()[0]
            self._userspace(stack, ways, pid)

    def _userspace(self, stack: contextlib.ExitStack, ways: network.WaysOut, pid: int) -> None:
        name = userspace.chosen(FAR_VARIABLE in os.environ)
        if name is None:
            self.notes.append(
                "the outside cannot be reached without root, only what --server starts: install pasta "
                "(apt-get install passt), or run with sudo"
            )
            return
        way_out = userspace.start(name, pid)
        stack.callback(way_out.end)
        self.way = name
        self.notes.append(way_out.not_real)
        _order(self.far, commands=[(["nft", "-f", "-"], userspace.TABLE)])
        self.no_six = "" if ways.six and name == "pasta" else self.no_six

    def _connect(self, ways: network.WaysOut) -> None:
        """Addresses and routes at both ends of the line."""
        addresses, mtu = self.addresses, min(ways.mtu, 1500)
        ends = {self.near: (addresses.PROGRAM, addresses.FAR), self.far: (addresses.FAR, addresses.PROGRAM)}
        has_six = (_SYS / "net/ipv6").is_dir()
        for side, (own_end, far_end) in ends.items():
            # If the kernel has its own queue there, that queue must never drop packets.
            lines = uplink.up(DEVICE, f"mtu {mtu} txqueuelen 20000 multicast off")
            lines.append(f"addr add {addresses.of(own_end)}/32 dev {DEVICE}")
            lines.append(f"route add {addresses.of(far_end)} dev {DEVICE} src {addresses.of(own_end)}")
            if has_six:
                lines += [
                    f"addr add {addresses.of6(own_end)}/128 dev {DEVICE} nodad",
                    f"route add {addresses.of6(far_end)} dev {DEVICE}",
                ]
            if side is self.near:
                lines += [
                    f"route add {addresses.four} dev {DEVICE}",
                    f"route add default via {addresses.of(far_end)} dev {DEVICE} src {addresses.of(own_end)}",
                ]
                if has_six:
                    lines.append(f"route add {addresses.six} dev {DEVICE}")
                if not self.no_six:
                    lines.append(
                        f"route add default via {addresses.of6(far_end)} dev {DEVICE} src {addresses.of6(own_end)}"
                    )
            settings = {name: text for name in _AS_OUTSIDE if (text := _setting(name)) is not None}
            if side is self.far:
                settings |= {"net/ipv4/ip_forward": "1", "net/ipv4/ip_unprivileged_port_start": "0"}
                if has_six:
                    settings["net/ipv6/conf/all/forwarding"] = "1"
            if not self.is_root:
                settings["net/ipv4/ping_group_range"] = "0 0"
            _order(side, commands=[_batch(lines)], sysctls=settings)
        if self.no_six and self.way != "none":
            self.notes.append(f"there is no IPv6 behind the line but to the far end: {self.no_six}")

    def _relay(self, stack: contextlib.ExitStack, resolvers: network.Resolvers) -> str:
        """The process that answers queries in place of resolvers that only this machine can reach."""
        address = self.addresses.of(Addresses.FAR)
        if resolvers.near and self.way != "none":
            relay_answer = _order(self.far, listen=[address], port=53)
            sockets = [socket.socket(fileno=fd) for fd in relay_answer]
            pid = names.relay(sockets, resolvers.near[0])
            stack.callback(_end, pid)
            for s in sockets:
                s.close()
        return address

    def _place(self, side: Side, files: Mapping[str, str]) -> ProgramEnd:
        return ProgramEnd(side.process.pid, not self.is_root, files, self.user)

    def _environment(self, environment: Mapping[str, str]) -> Mapping[str, str]:
        return environment if self.is_root else with_user(environment)

    def _server(self, stack: contextlib.ExitStack, words: str, environment: Mapping[str, str]) -> servers.Server:
        server = servers.start(words, self._place(self.far, {}), self._environment(environment))
        stack.callback(server.stage.end)
        return server

    def _program(
        self, engine: Engine, environment: Mapping[str, str], resolvers: network.Resolvers, relay: str
    ) -> tuple[passing.Ended, frozenset[int]]:
        files = {}
        if resolvers.near:
            files[str(network.RESOLV_CONF)] = resolvers.text(relay)
        with contextlib.suppress(OSError, UnicodeDecodeError):
            a = self.addresses
            hosts = Path("/etc/hosts").read_text(encoding="utf-8")
            files["/etc/hosts"] = f"{hosts.rstrip()}\n{a.of(a.FAR)} {FAR_HOST}\n{a.of6(a.FAR)} {FAR_HOST}\n"
        ignored_signals, mask = passing.take()
        settings = Launch(self._environment(environment), ignored=ignored_signals, mask=mask)
        try:
            stage = ProgramStage(self._place(self.near, files), self.wishes.words, settings)
            try:

                def tick() -> None:
                    state = engine.poll()
                    if self.wishes.meter is not None and state:
                        self.wishes.meter(state)

                return passing.until_it_ends(stage, self.wishes.seconds, tick, _TICK), mask
            finally:
                stage.end()
        finally:
            passing.give_back(mask)

    def _firewall(self) -> None:
        """Notes whether this machine's firewall has dropped packets that were to be forwarded."""
        if self.out is None:
            return
        sent_packets, passed_packets = self.out.forwarded()
        if passed_packets < sent_packets:
            chain = uplink.firewall()
            chain_text = f" (nft list chain {chain})" if chain else ""
            self.notes.append(
                f"the firewall of this machine{chain_text} dropped {sent_packets - passed_packets} of the "
                f"{sent_packets} packets that were to be forwarded to the outside; let them through: "
                f"{uplink.remedy(chain)}"
            )


def _device(side: Side) -> int:
    """The device of a side. Raises Refused with the remedy if the process of the side is not allowed to make its
    network."""
    try:
        return side.ready()[0]
    except LiveError as e:
        first_clause = str(e).partition("; ")[0]
        raise Refused(
            f"{first_clause}; {allowed.tun_remedy() if 'tun' in first_clause.lower() else allowed.remedy()}"
        ) from e


def _end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 9)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _batch(lines: Sequence[str]) -> tuple[list[str], str]:
    return ["ip", "-batch", "-"], "\n".join(lines) + "\n"


def _setting(name: str) -> str | None:
    try:
        return (_SYS / name).read_text(encoding="ascii").strip()
    except OSError:
        return None


def _order(side: Side, **order: Any) -> list[int]:
    """Let the process of a side do something in its network. Returns the descriptors that the process opened."""
    side.tell({"order": True, **order})
    answer, descriptors = side.answer()
    if "refused" in answer:
        raise Refused(answer["refused"])
    return descriptors


def run(wishes: Wishes) -> Behind:
    """Runs the command. Raises Refused if the machine does not allow it, and LiveError, PartFailed or EngineError if a
    part failed."""
    with contextlib.ExitStack() as stack:
        return _Course(wishes).run(stack)


__all__ = ["Behind", "EngineError", "LiveError", "Refused", "Wishes", "run"]
