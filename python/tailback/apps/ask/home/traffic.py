"""The scenario of a home line: its links, its hosts, and what each of them does in each phase.

    pc1, pc2, ... ==LAN==> home ==shaper==> modem ==line==> provider

The way up is the forward direction of `shaper` and `line`. Upwards the shaper at home stands before the modem's buffer.
Downwards the provider's buffer is in front of the line, at the line's rate, and the shaper at home stands behind it, as
an IFB does: it cannot keep slow start out of the provider's buffer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tailback.apps.ask.home.line import LOADS, HomeLine
from tailback.apps.ask.home.phases import Phase, Timeline
from tailback.apps.ask.home.variation import changes

LINE, SHAPER = "line", "shaper"
HOME, MODEM, WORLD = "home", "modem", "provider"
PROBE = "probe"
#: A small packet each 20 ms: 36 B of data with UDP and IP headers.
PROBE_BYTES, PROBE_S = 64, 0.020
#: A game's client sends a small input, and its server answers with what happened around it.
GAME_UP, GAME_DOWN, GAME_HZ = 100, 300, 30
#: Flent's probes of RRUL: an ICMP ping and three UDP streams, each 200 ms, and their marks.
RRUL_PROBES = (("ping", 84, "CS0"), ("udp-be", 60, "CS0"), ("udp-bk", 60, "CS1"), ("udp-ef", 60, "EF"))
RRUL_PROBE_S = 0.200
#: Marks of RRUL's four transfers in each direction.
RRUL_MARKS = ("CS0", "CS1", "CS5", "EF")
#: Pages of a household: so many readers, each with so much time for a page.
READERS, READING_S = 4, 4.0
#: Transfers of a phase start within this time.
START_S = 0.2
#: Lines at home are so many times as fast as the line, and at least Gigabit Ethernet.
LAN, LEAST_LAN_BPS = 4, 1e9


@dataclass(frozen=True)
class PhaseFlows:
    """A group of flows: what it is, which way its data go, and in which phase it is there."""

    kind: str
    #: "up", "down", or empty where packets come back.
    direction: str
    #: Empty where it is there in all phases.
    phase: str
    #: As a scenario takes it.
    table: Mapping[str, Any]
    mark: str = ""

    @property
    def name(self) -> str:
        return "-".join(part for part in (self.kind, self.direction, self.phase, self.mark.lower()) if part)

    @property
    def echoes(self) -> bool:
        return not self.direction


def scenario(line: HomeLine, queues: tuple[Any, Any], times: Timeline) -> dict[str, Any]:
    """The run with these queues of the shaper, up and down; None for no shaper."""
    lan = max(LEAST_LAN_BPS, LAN * max(line.down_bps, line.up_bps))
    flows = groups(line, times)
    made: dict[str, Any] = {
        "name": "home line",
        "duration": _time(times.duration_s),
        "interval": "1s",
        "marking": line.ecn,
        "link": _links(line, queues, lan),
        "flows": {name: dict(group.table) for name, group in flows.items()},
        "record": {
            name: {"flows": name, "probes": ["round_trip"], "on_change": True}
            for name, group in flows.items()
            if group.echoes and group.kind in (PROBE, "game")
        },
    }
    if "web" in line.traffic:
        made["sessions"] = {"web": _web(line)}
    change = changes(line, times.duration_s)
    if change:
        made["change"] = change
    return made


def _links(line: HomeLine, queues: tuple[Any, Any], lan: float) -> dict[str, Any]:
    open_queue = {"kind": "droptail", "buffer": "unlimited"}
    up, down = queues
    ends = {"from": HOME, "to": MODEM, "rate": f"{lan:.0f}bps", "delay": "0s"}
    links = {
        SHAPER: {**ends, "queue": up or open_queue, "reverse_queue": down or open_queue},
        LINE: {
            "from": MODEM,
            "to": WORLD,
            "delay": _time(line.rtt_s / 2),
            **_line(line, line.up_bps, line.up_buffer, "", lan),
            **_line(line, line.down_bps, line.down_buffer, "reverse_", lan),
        },
    }
    for host in sorted(set(line.host_of.values())):
        links[_host(host)] = {
            "from": _host(host),
            "to": HOME,
            "rate": f"{lan:.0f}bps",
            "delay": "0s",
            "queue": open_queue,
            "reverse_queue": open_queue,
        }
    return links


def _line(line: HomeLine, rate_bps: float, buffer: int, way: str, lan: float) -> dict[str, Any]:
    """One direction of the line: its rate, with what its framing adds to a packet, and the buffer before it."""
    rate = f"{rate_bps:.0f}bps"
    modem = {"kind": "droptail", "buffer": f"{buffer}B"}
    if not counts_framing(line):
        return {f"{way}rate": rate, f"{way}queue": modem}
    framed = {"kind": "htb", "rate": rate, **line.framing.simulated(), "queue": modem}
    return {f"{way}rate": f"{lan:.0f}bps", f"{way}queue": framed}


def counts_framing(line: HomeLine) -> bool:
    """Whether packets on the line itself have headers and cells: where it is known what they are, and where the rate
    does not vary."""
    return line.framing.link != "unknown" and line.varies is None


def _host(number: int) -> str:
    return f"pc{number}"


def _tcp(line: HomeLine) -> dict[str, Any]:
    return {
        "profile": "linux",
        "congestion": line.sender,
        "payload": f"{line.packet - 52}B",
        "ecn": "where_answered" if line.ecn else "off",
    }


def groups(line: HomeLine, times: Timeline) -> dict[str, PhaseFlows]:
    """The groups of flows of a run, by name."""
    loads = [kind for kind in line.traffic if kind in LOADS]
    probed = _host(line.host_of[loads[0]])
    made = [PhaseFlows(PROBE, "", "", _echo(probed, PROBE_BYTES, PROBE_S))]
    for phase in times.loaded:
        for kind in loads:
            made += _transfers(line, kind, phase)
    for phase in times.phases:
        if "call" in line.traffic:
            made += _call(_host(line.host_of["call"]), phase)
        if "game" in line.traffic:
            table = _echo(_host(line.host_of["game"]), GAME_UP, 1 / GAME_HZ, phase, GAME_DOWN)
            made.append(PhaseFlows("game", "", phase.name, table))
    if line.has("rrul", "rrul-be"):
        for name, size, mark in RRUL_PROBES:
            marked = {"dscp": mark} if line.has("rrul") else {}
            made.append(PhaseFlows(f"rrul-{name}", "", "", {**_echo(probed, size, RRUL_PROBE_S), **marked}))
    return {group.name: group for group in made}


def _transfers(line: HomeLine, kind: str, phase: Phase) -> list[PhaseFlows]:
    """The long transfers of a kind in a phase. They stop with it."""
    made = []
    host = _host(line.host_of[kind])
    count = {"bulk": line.transfers, "upload": 1}.get(kind, len(RRUL_MARKS))
    for direction, goes in (("down", phase.down and LOADS[kind][0]), ("up", phase.up and LOADS[kind][1])):
        if not goes:
            continue
        ends = (WORLD, host) if direction == "down" else (host, WORLD)
        flows = {
            "from": ends[0],
            "to": ends[1],
            "count": count,
            "tcp": _tcp(line),
            "start": {"kind": "uniform", "from": _time(phase.begins), "to": _time(phase.begins + START_S)},
            "stop": _time(phase.ends),
        }
        if kind == "rrul":
            one = {**flows, "count": 1}
            made += [PhaseFlows(kind, direction, phase.name, {**one, "dscp": mark}, mark) for mark in RRUL_MARKS]
        else:
            made.append(PhaseFlows(kind, direction, phase.name, flows))
    return made


def _call(host: str, phase: Phase) -> list[PhaseFlows]:
    """Both directions of a call, as telephones mark it (RFC 4594 section 4.1)."""
    made = []
    for direction, there, here in (("up", host, WORLD), ("down", WORLD, host)):
        table = {
            "from": there,
            "to": here,
            "traffic": "voice",
            "dscp": "EF",
            "start": _time(phase.counted),
            "stop": _time(phase.ends),
        }
        made.append(PhaseFlows("call", direction, phase.name, table))
    return made


def _echo(
    host: str, size: int, every_s: float, phase: Phase | None = None, answer: int | None = None
) -> dict[str, Any]:
    """Datagrams that come back, of another size if `answer` says so; where a phase is given, only while it counts."""
    transport: dict[str, Any] = {"kind": "udp", "echo": True}
    if answer is not None:
        transport["echo_size"] = f"{answer}B"
    made: dict[str, Any] = {
        "from": host,
        "to": WORLD,
        "transport": transport,
        "packet_size": f"{size}B",
        "traffic": {"kind": "cbr", "rate": f"{size * 8 / every_s:.6f}bps"},
    }
    if phase is not None:
        made |= {"start": _time(phase.counted), "stop": _time(phase.ends)}
    return made


def _web(line: HomeLine) -> dict[str, Any]:
    return {
        "kind": "web",
        "preset": "3gpp",
        "from": WORLD,
        "to": _host(line.host_of["web"]),
        "clients": READERS,
        "servers": READERS,
        "think": {"kind": "exponential", "mean": _time(READING_S)},
        "parallel": 6,
        "start": {"kind": "uniform", "to": _time(1.0)},
        "tcp": {**_tcp(line), "connection": "two-way"},
    }


def said(line: HomeLine) -> list[str]:
    """Which host does what, a sentence a kind."""
    words: Mapping[str, str] = {
        "bulk": f"{line.transfers} long transfers down and {line.transfers} up ({line.sender})",
        "upload": f"one upload that does not end ({line.sender})",
        "web": f"pages for {READERS} readers, about one a second",
        "call": "a call, marked EF",
        "game": f"a game, {GAME_UP} B up and {GAME_DOWN} B down, {GAME_HZ} times a second, unmarked",
        "rrul": f"four transfers each way, marked {', '.join(RRUL_MARKS)}, and RRUL's four probes",
        "rrul-be": "four transfers each way, unmarked, and RRUL's four probes",
    }
    found: dict[int, list[str]] = {}
    for kind, host in line.host_of.items():
        found.setdefault(host, []).append(words[kind])
    idle = line.hosts - len(found)
    told = [f"Host {host}: {'; '.join(parts)}" for host, parts in sorted(found.items())]
    return [*told, *([f"{idle} host{'s are' if idle > 1 else ' is'} idle"] if idle else [])]


def _time(seconds: float) -> str:
    return f"{round(seconds * 1e9)}ns"
