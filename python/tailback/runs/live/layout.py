"""Plans a live run of a scenario: addresses, ports, settings of the kernel, and the keys that no kernel takes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tailback import _core
from tailback.runs.live import datagrams
from tailback.runs.live.kernel_queue import KernelQueue
from tailback.runs.live.kernel_queue import NotPossible as NotPossible

#: A flow's port at its source is the sum of this and the flow's number in the group. Each group has its own address.
FIRST_PORT = 20_000
SERVER_PORT = 5001
#: The port of an iperf3 receiver is the sum of this and the flow's number in the group, since each receiver takes one
#: flow.
IPERF_PORT = 40_000
#: The most flows of a run. Each flow needs a descriptor at both ends, and a port of its group.
MOST_FLOWS = 4_000
MOST_GROUPS = 200
#: The most flows of iperf3, since each needs two processes.
MOST_IPERF = 128
#: The size for which datagrams have room if their size is unknown before they are sent, B.
ANY_SIZE = 65_000
#: Parameters that become settings of the kernel, or that have no further effect there.
_TOLD = {
    "congestion", "connection", "ecn", "payload", "timestamps", "variant", "initial_window", "min_rto", "profile",
    "header", "rwnd", "delayed_ack", "dsack",
}  # fmt: skip
_TCP, _UDP = 6, 17


@dataclass
class FlowGroup:
    """One group of flows between two namespaces."""

    name: str
    number: int
    count: int
    protocol: int
    #: Addresses of the sources, and of the destinations.
    source: str
    destination: str
    mtu: int
    congestion: str = ""
    pacing_bps: int | None = None
    #: The code point of the packets of both ends.
    dscp: int = 0
    #: Attributes of the routes to the other side: initial window, ECN, round-trip floor; quick ACKs on the way back.
    there: list[str] = field(default_factory=list)
    back: list[str] = field(default_factory=list)
    window_bytes: int | None = None
    #: The sizes of transfers, which flows take in turn; empty for flows that always have data.
    transfer_bytes: list[int] = field(default_factory=list)
    #: The time after a flow's start at which its destination begins to send too, s.
    back_s: float | None = None
    #: Whether both ends send all the time.
    both: bool = False
    #: Whether the simulator's own source decides the writes and their times.
    drawn: bool = False
    #: Headers of a datagram, bytes.
    datagram_header: int = 0
    #: Whether iperf3 sends and receives; and, for datagrams, the rates, which flows take in turn, and the payload of
    #: each datagram.
    iperf3: bool = False
    rates_bps: list[int] = field(default_factory=list)
    datagram: int = 0
    #: Whether the sources are in the far namespace, and the destinations in the near one.
    turned: bool = False
    #: Whether datagrams have a number and a time, whether they are answered, and the payload of an answer; 0 for that
    #: of the datagram.
    numbered: bool = False
    echo: bool = False
    answer: int = 0

    @property
    def server_port(self) -> int:
        return IPERF_PORT if self.iperf3 else SERVER_PORT


@dataclass
class Layout:
    groups: list[FlowGroup]
    #: Settings of both namespaces, below /proc/sys.
    sysctls: dict[str, str]
    #: Keys of the scenario that have no effect on the kernel, one sentence for each.
    not_told: list[str]
    ipv6: bool = False
    #: The link's queue that this kernel has.
    kernel: KernelQueue | None = None

    @property
    def mtu(self) -> int:
        return max(g.mtu for g in self.groups)

    def conversations(self) -> list[tuple[tuple[str, str, int, int, int], int]]:
        """The headers of each flow's packets, and the flow's number."""
        looks, flow_number = [], 0
        for g in sorted(self.groups, key=lambda g: natural(g.name)):
            for i in range(g.count):
                port = g.server_port + i * g.iperf3
                looks.append(((g.source, g.destination, g.protocol, FIRST_PORT + i, port), flow_number))
                if g.iperf3:
                    # The connection for control of iperf3 may come from any port.
                    looks.append(((g.source, g.destination, _TCP, 0, port), flow_number))
                flow_number += 1
        return looks

    def numbered(self) -> list[int]:
        """The flows whose datagrams have numbers."""
        ordered_groups = sorted(self.groups, key=lambda g: natural(g.name))
        numbers = itertools.count()
        return [number for g in ordered_groups for number in itertools.islice(numbers, g.count) if g.numbered]


def natural(name: str) -> list[tuple[int, int, str]]:
    """The key that sorts names as the engine does: numbers in names count as numbers."""
    import re

    pieces = re.findall(r"\d+|\D", name)
    return [(0, int(p), p) if p.isdigit() else (1, ord(p), p) for p in pieces]


def marks_only_if_asked(read: Callable[[Sequence[str]], Any]) -> Any:
    """The scenario for a live run, in which queues mark only if the scenario says so. `read` reads the scenario with
    overrides.

    Real senders use ECN as their kernels have negotiated it, so the scenario's own setting of ECN decides nothing.
    Raises NotPossible, with the place in the scenario, for a queue that can only mark if the scenario does not request
    marks.
    """
    scenario = read([])
    if scenario.marking["given"] or not scenario.marking["on"]:
        return scenario
    try:
        return read(["marking=false"])
    except _core.ScenarioError as e:
        # Without the override there was no error, so this part of the scenario needs marks.
        first_problem = e.problems[0]
        key_place = (
            f"line {first_problem['line']}, {first_problem['key']}"
            if first_problem["line"] is not None
            else first_problem["key"]
        )
        reason = f"{first_problem['value']} signals only by marks" if first_problem["value"] else "an impairment marks"
    raise NotPossible(
        f"{key_place}: {reason}, but queues of a live run mark only if the scenario says so; give marking = true at "
        "the top of the scenario, or --set marking=true, or use a model that drops"
    )


def plan(scenario: Any, overrides: Mapping[str, Any]) -> Layout:
    """The layout of a live run. Raises NotPossible for a scenario that no kernel can run."""
    groups = _core.live_groups(scenario)
    if scenario.spec["flows"] == [] or not groups:
        raise NotPossible(
            "the scenario has no groups of flows; sessions and applications have no real counterpart here"
        )
    if (flow_count := sum(group_keys["count"] for group_keys in groups)) > MOST_FLOWS:
        raise NotPossible(
            f"the scenario has {flow_count} flows; give at most {MOST_FLOWS}, each needs a real connection"
        )
    if len(groups) > MOST_GROUPS:
        raise NotPossible(f"the scenario has {len(groups)} groups of flows; give at most {MOST_GROUPS}")
    # The bytes that wait in a socket, so that a sender that wakes late still has enough to send.
    buffer_bytes = max(1 << 18, min(1 << 22, (1 << 27) // flow_count))
    ipv6 = bool(overrides.get("ipv6"))
    sysctls = {**_SYSCTLS, "net/ipv4/tcp_wmem": f"4096 {buffer_bytes} 67108864"}
    layout = Layout([], sysctls, [], ipv6)
    for i, group_keys in enumerate(groups):
        if group_keys["transport"]["kind"] == "tcp":
            layout.groups.append(_connections(group_keys, i, layout, overrides))
        elif group_keys["transport"]["kind"] == "udp":
            layout.groups.append(_datagrams(group_keys, i, layout))
        else:
            raise NotPossible(
                f"flows.{group_keys['name']} uses {group_keys['transport']['kind']}, which no kernel has; use tcp or "
                "udp"
            )
        layout.groups[-1].dscp = group_keys["dscp"]
    _sides(groups, layout, overrides.get("kernel"))
    _iperf(overrides.get("iperf3") or (), {group_keys["name"]: group_keys for group_keys in groups}, layout)
    _shared(groups, layout)
    return layout


#: Settings without memory of earlier connections, and with buffers that do not limit a sender.
_SYSCTLS = {
    "net/ipv4/tcp_no_metrics_save": "1",
    "net/ipv4/tcp_rmem": "4096 1048576 67108864",
    "net/ipv4/tcp_slow_start_after_idle": "0",
    "net/ipv4/ip_local_port_range": "60000 65000",
    "net/ipv4/ip_local_reserved_ports": "",
}


def _addresses(number: int, ipv6: bool) -> tuple[str, str]:
    if ipv6:
        return f"fd7a:11b:ac::1:{number + 1:x}", f"fd7a:11b:ac::2:{number + 1:x}"
    return f"10.201.{number + 1}.1", f"10.202.{number + 1}.1"


def _connections(g: Mapping[str, Any], number: int, layout: Layout, overrides: Mapping[str, Any]) -> FlowGroup:
    transport, name = g["transport"], g["name"]
    if g["traffic"]["kind"] not in ("bulk", "transfer") and not g["writes_alone"]:
        raise NotPossible(
            f"flows.{name} sends {g['traffic']['kind']} traffic, which depends on its connection and has no real "
            "sender here; use bulk, transfer, or a source that depends on time alone, such as on-off"
        )
    if g["traffic"].get("turns"):
        raise NotPossible(f"flows.{name} makes pauses (turns), and iperf3 sends all the time; leave out turns")
    congestion = overrides.get("congestion") or transport["congestion"]["kind"]
    near_address, far_address = _addresses(number, layout.ipv6)
    header = 40 + 20 * layout.ipv6 + (12 if transport["timestamps"] else 0)
    # Packets of the scenario have one size with any options. In a kernel, options reduce the payload.
    mtu = transport["payload"] + transport["header"]
    in_kernel = (_core.control_facts(congestion) or {}).get("linux")
    group = FlowGroup(name, number, g["count"], _TCP, near_address, far_address, mtu, in_kernel or congestion)
    if mtu - header < 48 or mtu > 65_000:
        raise NotPossible(f"flows.{name} has packets of {mtu} B; a kernel takes 100 B to 65000 B")
    if not in_kernel and not overrides.get("congestion"):
        raise NotPossible(
            f"flows.{name} has the congestion control {congestion}, which no kernel has; choose one with --congestion"
        )
    if window := _segments(transport["initial_window"], transport["payload"]):
        group.there += ["initcwnd", str(window)]
    if overrides.get("ecn", "on" if g["uses_ecn"] else "off") == "on":
        group.there += ["features", "ecn"]
    if "min_rto" in g["given"] or transport["profile"] not in ("rfc", None):
        group.there += ["rto_min", f"{max(1, round(transport['min_rto'] * 1000))}ms"]
    if transport["delayed_ack"] == 1:
        group.back += ["quickack", "1"]
    if window := _segments(transport["rwnd"], transport["payload"]):
        group.window_bytes = window * transport["payload"]
    if g["traffic"]["kind"] == "transfer":
        group.transfer_bytes = g["traffic"]["size"]
    elif g["writes_alone"]:
        group.drawn = True
    else:
        group.back_s = g["traffic"]["back"]
    group.both = bool(overrides.get("both"))
    if pacing := overrides.get("pacing_bps"):
        group.pacing_bps = int(pacing)
    for key in g["given"]:
        if key not in _TOLD:
            layout.not_told.append(f"flows.{name}.{key}: a kernel has no setting for it")
    return group


def _segments(size: tuple[int, str] | None, payload: int) -> int | None:
    """A size in whole segments."""
    if size is None:
        return None
    amount, unit = size
    return max(1, amount if unit == "packets" else amount // payload)


def _datagrams(g: Mapping[str, Any], number: int, layout: Layout) -> FlowGroup:
    name, traffic = g["name"], g["traffic"]
    if not g["writes_alone"]:
        raise NotPossible(
            f"flows.{name} sends {traffic['kind']} datagrams, which depend on their network and have no real sender; "
            "use a source that depends on time alone, such as cbr, poisson or on-off"
        )
    near, far = _addresses(number, layout.ipv6)
    header = 48 if layout.ipv6 else 28
    group = FlowGroup(name, number, g["count"], _UDP, near, far, ANY_SIZE, drawn=True, datagram_header=header)
    if g["sizes"]["kind"] == "fixed" and "rate" in traffic:
        size = int(g["sizes"]["bytes"])
        if not 60 <= size <= ANY_SIZE:
            raise NotPossible(f"flows.{name} has datagrams of {size} B; a kernel takes 60 B to {ANY_SIZE} B")
        group.mtu = max(1500, size)
        if traffic["kind"] == "cbr":
            # iperf3 counts payload.
            group.rates_bps = [round(r * (size - header) / size) for r in traffic["rate"]]
            group.datagram = size - header
    if g["transport"]["echo"]:
        _answered(g, group)
    return group


def _answered(g: Mapping[str, Any], group: FlowGroup) -> None:
    """The destination sends each datagram back at once."""
    group.echo = group.numbered = True
    least_bytes = group.datagram_header + datagrams.ROOM
    size = g["transport"]["echo_size"]
    smallest = min(size or ANY_SIZE, int(g["sizes"]["bytes"]) if g["sizes"]["kind"] == "fixed" else 0)
    if smallest < least_bytes or (size or 0) > ANY_SIZE:
        raise NotPossible(
            f"flows.{group.name} has its datagrams answered (echo), and each of them carries a number and a time; give "
            f"packet_size one size, and it and echo_size at least {least_bytes}B and at most {ANY_SIZE}B"
        )
    group.answer = 0 if size is None else size - group.datagram_header
    group.mtu = max(group.mtu, size or 0)


def _sides(found: list[dict[str, Any]], layout: Layout, kernel: KernelQueue | None) -> None:
    """Sets the namespace of each flow's source. With a queue of this kernel, the ends themselves measure its delays and
    drops, because the box does not see them."""
    layout.kernel = kernel
    if kernel is None:
        return
    for g, group in zip(found, layout.groups, strict=True):
        ends = [kernel.is_far(g[end]) for end in ("from", "to")]
        if ends[0] == ends[1]:
            raise NotPossible(
                f"flows.{group.name} does not pass link.{kernel.link}, so that it is on one side of the kernel's "
                "queue; leave the flows out, or name a link that all flows pass"
            )
        group.turned = ends[0]
        group.numbered |= group.protocol == _UDP


def _iperf(asked: Sequence[str], found: Mapping[str, Mapping[str, Any]], layout: Layout) -> None:
    """The groups that iperf3 is to send."""
    for name in asked:
        if name != "all" and name not in found:
            raise NotPossible(f"--iperf3 {name}: there is no such group of flows; give {', '.join(found)} or all")
    for group in layout.groups:
        if not {"all", group.name} & set(asked):
            continue
        reason = f"--iperf3 {group.name}: iperf3 sends bulk or transfer over tcp and cbr of constant size over udp"
        if group.back_s is not None:
            raise NotPossible(f"{reason}, and one way; leave `back` out")
        if group.drawn and not group.datagram:
            raise NotPossible(f"{reason}, not {found[group.name]['traffic']['kind']}")
        if group.echo:
            raise NotPossible(
                f"{reason}, and answers to datagrams (echo) are ours; leave flows.{group.name} to tailback"
            )
        group.iperf3, group.drawn, group.numbered = True, False, False
        says = (
            f"flows.{group.name}: iperf3 tells neither timeouts nor what held a sender back; the tables have 0 for them"
        )
        layout.not_told.append(says)
        if group.window_bytes:
            layout.not_told.append(f"flows.{group.name}.rwnd: iperf3 has its own")
        if found[group.name]["traffic"].get("jitter"):
            layout.not_told.append(f"flows.{group.name}.jitter: iperf3 keeps an even gap")
    if (most := sum(g.count for g in layout.groups if g.iperf3)) > MOST_IPERF:
        raise NotPossible(f"{most} flows by iperf3 are {2 * most} processes; give at most {MOST_IPERF} flows")


def _shared(found: list[dict[str, Any]], layout: Layout) -> None:
    """Settings that a kernel has only once for all connections. The first group decides them, and differences of other
    groups are noted."""
    groups = [g for g in found if g["transport"]["kind"] == "tcp"]
    if not groups:
        return
    for key, setting_name in (("variant", "loss recovery"), ("timestamps", "timestamps"), ("dsack", "DSACK")):
        values_of_groups = {g["name"]: g["transport"][key] for g in groups}
        if len(set(values_of_groups.values())) > 1:
            first_name = groups[0]["name"]
            layout.not_told.append(
                f"{setting_name} is one setting of the kernel: all groups have that of flows.{first_name}"
            )
    transport = groups[0]["transport"]
    sack = transport["variant"] == "sack"
    layout.sysctls |= {
        "net/ipv4/tcp_sack": str(int(sack)),
        "net/ipv4/tcp_dsack": str(int(sack and bool(transport["dsack"]))),
        "net/ipv4/tcp_timestamps": str(int(bool(transport["timestamps"]))),
    }
    if not sack:
        # RACK and tail loss probes are turned off, because these variants repair losses by duplicate ACKs and timeouts
        # only.
        layout.sysctls |= {"net/ipv4/tcp_recovery": "0", "net/ipv4/tcp_early_retrans": "0"}
        if transport["variant"] != "newreno":
            layout.not_told.append(f"variant = {transport['variant']}: a kernel without SACK repairs as NewReno does")
    if any(g["transport"]["delayed_ack"] != 1 for g in groups):
        layout.not_told.append("delayed ACKs: a kernel acknowledges at once at the start, then every second segment")
    if not any(g["transport"]["initial_window"] for g in groups):
        layout.not_told.append("initial window: the kernel's own, 10 segments")
    layout.not_told.append("minimum RTO: 200 ms, unless min_rto is given; HyStart and pacing are the kernel's own")
