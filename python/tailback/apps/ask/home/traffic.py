"""The scenario of a home line: its links, its hosts, and the traffic of each host in each phase.

    pc1, pc2, ... ==LAN==> home ==shaper==> modem ==line==> provider

The upload is the forward direction of `shaper` and `line`. For the upload, the shaper at home is before the modem's
buffer. For the download, the provider's buffer is in front of the line, and the shaper at home is behind it, as an IFB
is. The shaper therefore cannot keep slow start out of the provider's buffer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tailback.apps.ask import calls
from tailback.apps.ask.home import follow
from tailback.apps.ask.home.line import LOADS, HomeLine
from tailback.apps.ask.home.people import parts
from tailback.apps.ask.home.phases import Phase, Timeline
from tailback.apps.ask.home.variation import Step, changes

LINE, SHAPER = "line", "shaper"
HOME, MODEM, WORLD = "home", "modem", "provider"
PROBE = "probe"
#: The video of a call that adapts, a stream, and both.
VIDEO, STREAM = "call-video", "video"
VIDEOS = (VIDEO, STREAM)
#: The probe: a small packet every 20 ms, with 36 B of data and headers of UDP and IP. On a slow line the probe takes at
#: most this share of the rate.
PROBE_BYTES, PROBE_S, PROBE_SHARE = 64, 0.020, 0.05
#: A game's client sends a small input, and its server answers with the state of the game.
GAME_UP, GAME_DOWN, GAME_HZ = 100, 300, 30
#: Flent's probes of RRUL: an ICMP ping and three UDP streams, each 200 ms, and their marks.
RRUL_PROBES = (("ping", 84, "CS0"), ("udp-be", 60, "CS0"), ("udp-bk", 60, "CS1"), ("udp-ef", 60, "EF"))
RRUL_PROBE_S = 0.200
#: Marks of RRUL's four transfers in each direction.
RRUL_MARKS = ("CS0", "CS1", "CS5", "EF")
#: The time that a reader spends on a page.
READING_S = 4.0
#: A voice packet with its headers, 50 times a second each way.
CALL_BPS = 200 * 8 * 50
#: Transfers of a phase start within this time.
START_S = 0.2
#: The links at home are so many times as fast as the line, and at least Gigabit Ethernet.
LAN, LEAST_LAN_BPS = 4, 1e9


@dataclass(frozen=True)
class PhaseFlows:
    """A group of flows: its kind of traffic, the direction of its data, and its phase."""

    kind: str
    #: "up", "down", or empty if packets come back.
    direction: str
    #: The phase of the group; empty if it is active in all phases.
    phase: str
    #: Its keys in the scenario.
    table: Mapping[str, Any]
    mark: str = ""
    #: The number of its host among those with the same traffic; 0 if there is only one.
    number: int = 0

    @property
    def name(self) -> str:
        number = str(self.number) if self.number else ""
        return "-".join(part for part in (self.kind, number, self.direction, self.phase, self.mark.lower()) if part)

    @property
    def echoes(self) -> bool:
        return not self.direction


def scenario(
    line: HomeLine, queues: tuple[Any, Any], times: Timeline, seed: int = 1, *, follows: bool = False
) -> dict[str, Any]:
    """The scenario with these queues of the shaper, up and down; None without a shaper. On a varying line the seed
    draws the rate over time. A shaper that `follows` lags behind it."""
    lan = max(LEAST_LAN_BPS, LAN * max(line.down_bps, line.up_bps))
    flows = groups(line, times)
    document: dict[str, Any] = {
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
        document["sessions"] = _web(line)
    if line.varies is not None:
        course = line.varies.course(line, seed, times.duration_s)
        document |= {"seed": seed, "change": changes(course) | (_following(line, course, times) if follows else {})}
    return document


def bounds(line: HomeLine) -> tuple[follow.Bounds, follow.Bounds]:
    """The bounds of a shaper that follows the line, down and up: the least rate of the line, the middle, and the
    greatest."""
    assert line.varies is not None
    least = line.varies.least_bps(line)
    parts_and_rates = zip(least, (line.down_bps, line.up_bps), strict=True)
    down, up = (follow.Bounds(max(0.9 * low, 0.02 * high), (low + high) / 2, high) for low, high in parts_and_rates)
    return down, up


def config(line: HomeLine) -> list[str]:
    """The settings of cake-autorate for the line."""
    settings = []
    for way, bounds_of_way in zip(("dl", "ul"), bounds(line), strict=True):
        for name, rate in (("min", bounds_of_way.least), ("base", bounds_of_way.base), ("max", bounds_of_way.most)):
            settings.append(f"{name}_{way}_shaper_rate_kbps={rate / 1e3:.0f}")
    return settings


def _following(line: HomeLine, course: Sequence[Step], times: Timeline) -> dict[str, Any]:
    down, up = bounds(line)
    down_full = [(p.begins, p.ends) for p in times.loaded if p.down]
    up_full = [(p.begins, p.ends) for p in times.loaded if p.up]
    shaped_ways = (
        follow.Shaped(down, [(s.at_s, s.down_bps) for s in course], down_full, 8 * line.down_buffer),
        follow.Shaped(up, [(s.at_s, s.up_bps) for s in course], up_full, 8 * line.up_buffer),
    )
    packet_bits = 8 * line.framing.on_wire(line.packet)
    shaper_courses = follow.courses(shaped_ways, line.rtt_s, packet_bits, times.duration_s)
    changes_made = {}
    for name, link, rates in zip(
        ("shaper-down", "shaper-up"), (f"{SHAPER}.reverse", SHAPER), shaper_courses, strict=True
    ):
        change_times = [_time(t) for t, _ in rates]
        changes_made[name] = {"link": link, "rate": [f"{rate:.0f}bps" for _, rate in rates], "at": change_times}
    return changes_made


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
    for host in sorted({host for mine in line.hosts_of.values() for host in mine}):
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
    """One direction of the line: its rate, the bytes that its framing adds to a packet, and the buffer before it."""
    rate = f"{rate_bps:.0f}bps"
    modem = {"kind": "droptail", "buffer": f"{buffer}B"}
    if line.policer is not None:
        policer = {"kind": "policer", "rate": rate, "burst": f"{line.policer[0 if way else 1]}B"}
        return {f"{way}rate": f"{lan:.0f}bps", f"{way}queue": modem, f"{way}conditioner": policer}
    if not counts_framing(line):
        return {f"{way}rate": rate, f"{way}queue": modem}
    shaper = {"kind": "htb", "rate": rate, **line.framing.simulated(), "queue": modem}
    return {f"{way}rate": f"{lan:.0f}bps", f"{way}queue": shaper}


def counts_framing(line: HomeLine) -> bool:
    """Whether packets on the line itself have headers and cells: only if the framing is known and the rate does not
    vary."""
    return line.framing.link != "unknown" and line.varies is None and line.policer is None


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
    probing_host = _host(line.hosts_of[loads[0]][0])
    probe_interval_s = max(PROBE_S, 8 * PROBE_BYTES / (PROBE_SHARE * min(line.down_bps, line.up_bps)))
    flow_groups = [PhaseFlows(PROBE, "", "", _echo(probing_host, PROBE_BYTES, probe_interval_s))]
    for phase in times.loaded:
        for kind in loads:
            flow_groups += _transfers(line, kind, phase)
    for phase in times.phases:
        for number, host in _numbered(line, "call"):
            flow_groups += _call(line, _host(host), phase, number)
        for number, host in _numbered(line, STREAM):
            stream = calls.video(line.adapt) | {"start": _time(phase.begins), "stop": _time(phase.ends)}
            stream |= {"from": WORLD, "to": _host(host)}
            flow_groups.append(PhaseFlows(STREAM, "down", phase.name, stream, number=number))
        for number, host in _numbered(line, "game"):
            table = _echo(_host(host), GAME_UP, 1 / GAME_HZ, phase, GAME_DOWN)
            flow_groups.append(PhaseFlows("game", "", phase.name, table, number=number))
    if line.has("rrul", "rrul-be"):
        for name, size, mark in RRUL_PROBES:
            mark_keys = {"dscp": mark} if line.has("rrul") else {}
            flow_groups.append(
                PhaseFlows(f"rrul-{name}", "", "", {**_echo(probing_host, size, RRUL_PROBE_S), **mark_keys})
            )
    return {group.name: _wrapped(line, group) for group in flow_groups}


def _wrapped(line: HomeLine, group: PhaseFlows) -> PhaseFlows:
    """The group in its tunnel, if there is one."""
    ends = str(group.table["from"]), str(group.table["to"])
    host = ends[0] if ends[1] == WORLD else ends[1]
    tunnel = _tunnel(line, host, inner=group.direction == "up")
    return replace(group, table={**group.table, **tunnel}) if tunnel else group


def _tunnel(line: HomeLine, host: str, *, inner: bool) -> dict[str, str]:
    """The tunnel of a host's packets. A router that wraps packets keeps their original flow hash for its upload
    queue."""
    if not line.vpn:
        return {}
    if line.vpn == "host":
        return {"tunnel": f"vpn-{host}"}
    return {"tunnel": "vpn", **({"tunnel_hash": "inner"} if inner else {})}


def _numbered(line: HomeLine, kind: str) -> list[tuple[int, int]]:
    """The hosts of a kind, each with its number among them; 0 if there is only one."""
    hosts = line.hosts_of.get(kind, ())
    return [(i if len(hosts) > 1 else 0, host) for i, host in enumerate(hosts, 1)]


def _transfers(line: HomeLine, kind: str, phase: Phase) -> list[PhaseFlows]:
    """The long transfers of a kind in a phase. The transfers stop at the end of the phase."""
    hosts = _numbered(line, kind)
    counts = parts(line.transfers, len(hosts)) if kind == "bulk" else [1] * len(hosts)
    flow_groups = []
    for (number, host), count in zip(hosts, counts, strict=True):
        flow_groups += _transfers_of(line, kind, phase, _host(host), number, count)
    return flow_groups


def _transfers_of(line: HomeLine, kind: str, phase: Phase, host: str, number: int, count: int) -> list[PhaseFlows]:
    flow_groups = []
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
            for mark in RRUL_MARKS:
                flow_groups.append(
                    PhaseFlows(kind, direction, phase.name, {**flows, "count": 1, "dscp": mark}, mark, number)
                )
        else:
            count = len(RRUL_MARKS) if kind.startswith("rrul") else count
            flow_groups.append(PhaseFlows(kind, direction, phase.name, {**flows, "count": count}, number=number))
    return flow_groups


def _call(line: HomeLine, host: str, phase: Phase, number: int) -> list[PhaseFlows]:
    """Both directions of a call: audio marked as telephony (RFC 4594 section 4.1), and adaptive video."""
    ends = _time(phase.ends)
    audio = {"traffic": "voice", "dscp": "EF", "start": _time(phase.counted), "stop": ends}
    flow_groups = _both_ways("call", host, phase, number, audio)
    if line.adapt:
        # The video begins with the phase, since a rate control takes seconds to settle.
        video = {**calls.video(line.adapt), "dscp": calls.MARK, "start": _time(phase.begins), "stop": ends}
        flow_groups += _both_ways(VIDEO, host, phase, number, video)
    return flow_groups


def _both_ways(kind: str, host: str, phase: Phase, number: int, flows: Mapping[str, Any]) -> list[PhaseFlows]:
    """The same flows upwards and downwards."""
    directions = (("up", host, WORLD), ("down", WORLD, host))
    return [
        PhaseFlows(kind, direction, phase.name, {"from": source, "to": target, **flows}, number=number)
        for direction, source, target in directions
    ]


def _echo(
    host: str, size: int, every_s: float, phase: Phase | None = None, answer: int | None = None
) -> dict[str, Any]:
    """Datagrams that are answered, with answers of the size `answer` if given. With a phase, only in its counted
    part."""
    transport: dict[str, Any] = {"kind": "udp", "echo": True}
    if answer is not None:
        transport["echo_size"] = f"{answer}B"
    group: dict[str, Any] = {
        "from": host,
        "to": WORLD,
        "transport": transport,
        "packet_size": f"{size}B",
        "traffic": {"kind": "cbr", "rate": f"{size * 8 / every_s:.6f}bps"},
    }
    if phase is not None:
        group |= {"start": _time(phase.counted), "stop": _time(phase.ends)}
    return group


def _web(line: HomeLine) -> dict[str, Any]:
    """The sessions of the readers of each host."""
    hosts = _numbered(line, "web")
    sessions = {}
    for (number, host), readers in zip(hosts, parts(line.readers, len(hosts)), strict=True):
        sessions[f"web-{number}" if number else "web"] = {
            "kind": "web",
            "preset": "3gpp",
            "from": WORLD,
            "to": _host(host),
            "clients": readers,
            "servers": readers,
            "think": {"kind": "exponential", "mean": _time(READING_S)},
            "parallel": 6,
            "start": {"kind": "uniform", "to": _time(1.0)},
            "tcp": {**_tcp(line), "connection": "two-way"},
            **_tunnel(line, _host(host), inner=False),
        }
    return sessions


def said(line: HomeLine) -> list[str]:
    """A sentence for each kind of traffic and its hosts."""
    hosts_by_kind = {kind: len(hosts) for kind, hosts in line.hosts_of.items()}
    page_rate = line.readers / READING_S
    words: Mapping[str, str] = {
        "bulk": f"{line.transfers} long transfer{'s' * (line.transfers > 1)} down and as many up ({line.sender}"
        + ("; one is always there, as an update)" if line.people and line.transfers == 1 else ")"),
        "upload": _times(hosts_by_kind.get("upload", 0), "upload") + f" without end ({line.sender})",
        "web": f"{line.readers} reader{'s' * (line.readers > 1)} of pages, "
        f"{page_rate:.2g} page{'s' * (page_rate != 1)} a second together",
        "call": _times(hosts_by_kind.get("call", 0), "call") + _media(line),
        STREAM: _times(hosts_by_kind.get(STREAM, 0), "stream") + f" down, {calls.streamed(line.adapt)}, unmarked",
        "game": _times(hosts_by_kind.get("game", 0), "game")
        + f", {GAME_UP} B up and {GAME_DOWN} B down {GAME_HZ} times a second, unmarked",
        "rrul": f"four transfers each way, marked {', '.join(RRUL_MARKS)}, and RRUL's four probes",
        "rrul-be": "four transfers each way, unmarked, and RRUL's four probes",
    }
    sentences = [f"{_hosts_text(hosts)}: {words[kind]}" for kind, hosts in line.hosts_of.items()]
    voices, games = hosts_by_kind.get("call", 0), hosts_by_kind.get("game", 0)
    for direction, rate, packet in (("down", line.down_bps, GAME_DOWN), ("up", line.up_bps, GAME_UP)):
        streams = hosts_by_kind.get(STREAM, 0) if direction == "down" and not line.adapt else 0
        needs = voices * CALL_BPS + streams * calls.MOST_BPS + games * 8 * packet * GAME_HZ
        if needs > 0.8 * rate:
            sentences.append(
                f"calls, streams and games alone need {needs / 1e3:.0f} kb/s {direction}, more than this line has to "
                "give"
            )
    return sentences


def _media(line: HomeLine) -> str:
    """The media of a call, and their marks."""
    mark_text = "marked EF" if not line.adapt else f"marked EF and {calls.MARK}"
    return f", {calls.said(line.adapt)}, {mark_text}"


def _times(n: int, what: str) -> str:
    return f"one {what}" if n == 1 else f"{n} {what}s"


def _hosts_text(hosts: Sequence[int]) -> str:
    if len(hosts) == 1:
        return f"host {hosts[0]}"
    if len(hosts) <= 4:
        return f"hosts {', '.join(map(str, hosts))}"
    return f"{len(hosts)} hosts"


def _time(seconds: float) -> str:
    return f"{round(seconds * 1e9)}ns"
