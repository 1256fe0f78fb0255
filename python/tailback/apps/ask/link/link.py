"""The question about a link: the link, its traffic and the length of a run. Checks all options."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tailback import _core
from tailback.apps.ask import calls, marks
from tailback.apps.ask.given import LinkError, chosen, class_shown, named, parsed
from tailback.apps.ask.link import fabric as fabrics
from tailback.apps.ask.link import rack as racks
from tailback.apps.ask.link.fabric import Fabric
from tailback.apps.ask.link.rack import Rack

#: The kinds of traffic, with their words.
TRAFFIC = {
    "bulk": "long transfers that never end",
    "web": "readers who fetch web pages",
    "voice": "one direction of a call, 50 packets of 200 B a second",
    "video": "a live stream that somebody watches, 2.5 Mbit/s; at most that with --adapt",
    "unresponsive": "a flow of constant rate that does not slow down, in runs of its own beside all the rest",
    "incast": "requests to many servers at once, which wait for the last answer",
}
#: The default traffic of a link.
CROSSES = ("bulk", "web", "voice", "unresponsive")
SENDERS = ("cubic", "bbr")
#: The rate of a call, headers included: G.711 at 20 ms with RTP, UDP and IP.
CALL_BPS = 80_000
#: The longest time of a packet on the line; on a slower line the results mean little.
LONGEST_PACKET_S = 1.0
TOO_FAST = (
    "give at most 10Tbps; outside a rack, the hosts' links are ten times as fast as this link, "
    "and no link may exceed 100Tbps"
)
LEAST_RTT_S, MOST_RTT_S = 10e-6, 60.0
MOST_FLOWS = 100_000
#: The default number of long transfers.
LONG_FLOWS = 16
#: The smallest default buffer in packets: an initial window, and the packets that arrive at the same time.
LEAST_BUFFER = 20


@dataclass(frozen=True)
class Link:
    """A link and its traffic."""

    rate_bps: float
    #: Round trips with empty queues; flows take them in turn.
    rtts_s: tuple[float, ...]
    #: Long transfers; they take the senders in turn.
    flows: int
    traffic: tuple[str, ...]
    senders: tuple[str, ...]
    #: A largest packet on the wire.
    packet_bytes: int
    #: The buffer of every discipline.
    buffer_bytes: int
    #: The unit in which the buffer was given: packets or bytes.
    buffer_in: str
    #: Whether hosts have ECN and queues mark.
    ecn: bool
    #: The parts that were left out or assumed, and the reasons.
    notes: tuple[str, ...] = ()
    #: The tables of congestion controls written in Python or with parameters, by name.
    controls: Mapping[str, Any] = field(default_factory=dict)
    #: The tables of senders that are users' own transports, by name.
    stacks: Mapping[str, Any] = field(default_factory=dict)
    #: The origin of the buffer.
    buffer_why: str = "as asked for"
    #: The further settings of a switch port in a data centre; None on any other link.
    rack: Rack | None = None
    #: The fabric whose ports the link represents; None for a single link.
    fabric: Fabric | None = None
    #: The rate control of all video; empty if calls have only audio and a stream keeps its rate.
    adapt: str = ""

    @property
    def packet_s(self) -> float:
        """The time of a packet on the line."""
        return 8 * self.packet_bytes / self.rate_bps

    @property
    def packets_per_s(self) -> float:
        return 1 / self.packet_s

    @property
    def buffer_packets(self) -> int:
        return max(1, self.buffer_bytes // self.packet_bytes)

    @property
    def buffer(self) -> str:
        """The buffer as a scenario writes it."""
        if self.buffer_in == "bytes":
            return f"{self.buffer_bytes}B"
        return f"{self.buffer_packets} packets"

    @property
    def access_bps(self) -> float:
        """The rate of the hosts' own links; in a rack it is that of the port."""
        return self.rate_bps if self.rack else 10 * self.rate_bps

    @property
    def longest_rtt_s(self) -> float:
        return max(self.rtts_s)

    @property
    def shortest_rtt_s(self) -> float:
        return min(self.rtts_s)

    @property
    def unresponsive_bps(self) -> float:
        """The rate of the unresponsive flow: three times the fair share of one more flow, between 0.1 and 0.9 of the
        line's rate, so that its effect is visible."""
        return self.rate_bps * min(max(3 / (self.flows + 1), 0.1), 0.9)

    @property
    def congestion(self) -> dict[str, Any]:
        """The congestion control of each sender that has one, by its name: a name or a table, as a scenario has it."""
        return {name: self.controls.get(name, name) for name in self.senders if name not in self.stacks}

    @property
    def of_sessions(self) -> str:
        """The sender that carries pages and requests: the first that is not a user's own transport."""
        return next(iter(self.congestion), SENDERS[0])

    def senders_of_flows(self) -> dict[tuple[str, float], int]:
        """The number of long flows of each sender at each round trip."""
        if "bulk" not in self.traffic:
            return {}
        kinds = [(sender, rtt) for rtt in self.rtts_s for sender in self.senders]
        flows_each, flows_left = divmod(self.flows, len(kinds))
        flows_of_kind = {kind: flows_each + (i < flows_left) for i, kind in enumerate(kinds)}
        return {kind: n for kind, n in flows_of_kind.items() if n}


def link(
    rate: str,
    rtt: str | Sequence[str] | None = None,
    flows: int | None = None,
    *,
    buffer: str | None = None,
    traffic: Sequence[str] | None = None,
    senders: Sequence[Any] | None = None,
    packet: str = "1500B",
    ecn: bool | None = None,
    fabric: str | None = None,
    load: float | None = None,
    adapt: str | None = None,
) -> Link:
    """The checked question. `ecn` is whether hosts have ECN and queues mark. By default both do if a sender needs
    marks. `fabric` names a fabric whose ports are compared, at `load`. Raises `LinkError`."""
    rate_bps = parsed("rate", _core.parse_rate, rate)
    packet_bytes = int(parsed("packet", _core.parse_bytes, packet))
    if not 200 <= packet_bytes <= 65_000:
        raise LinkError(f"packet = {packet}: give 200B to 65000B, headers included; 1500B is Ethernet's")
    if 8 * packet_bytes > rate_bps * LONGEST_PACKET_S:
        least_bps = 8 * packet_bytes / LONGEST_PACKET_S
        raise LinkError(
            f"rate = {rate}: a packet of {packet_bytes} B takes {8 * packet_bytes / max(rate_bps, 1e-9):.3g} s; "
            f"give at least {least_bps / 1000:g}kbps, or a smaller packet"
        )
    if rate_bps > 10e12:
        raise LinkError(f"rate = {rate}: {TOO_FAST}")
    if load is not None and fabric is None:
        raise LinkError(f"load = {load:g}: it is a share of a fabric's hosts' links; add fabric, such as leaf-spine")
    made_of = None if fabric is None else fabrics.fabric(fabric, load, _only(rtt))
    if made_of is not None:
        rtts: tuple[float, ...] = (fabrics.round_trip_s(made_of, rate_bps, packet_bytes),)
    else:
        rtts = tuple(_rtt(text) for text in ([rtt] if isinstance(rtt, str) else rtt or ()))
    if not rtts:
        raise LinkError("rtt: give a round trip such as 40ms, or several: 20ms,80ms")
    if made_of is not None and flows is not None:
        raise LinkError(f"flows = {flows}: the number of flows in a fabric follows from load; leave flows out")
    flows = LONG_FLOWS if flows is None else flows
    if flows < 1 or flows > MOST_FLOWS:
        raise LinkError(f"flows = {flows}: give a number of long flows from 1 to {MOST_FLOWS}")
    sender_tables = [_sender(s) for s in senders or ((fabrics.SENDER,) if made_of else SENDERS)]
    sender_names = tuple(name for name, _, _ in sender_tables)
    names = chosen("senders", sender_names, sender_names, "congestion controls")
    stacks = {name: table for name, table, is_stack in sender_tables if is_stack and name in names}
    if made_of is not None:
        fabrics.check_senders(names, stacks)
    needs_marks = any(sender in racks.MADE_FOR for sender in names)
    in_rack = needs_marks or made_of is not None
    if needs_marks and ecn is False:
        raise LinkError(f"senders = {','.join(names)}: they need marks; leave out --no-ecn")
    notes: list[str] = []
    if made_of is not None:
        kinds = fabrics.traffic(traffic)
    else:
        kinds, notes = _traffic(traffic or (racks.CROSSES if in_rack else None), rate_bps)
    if flows < len(names):
        if senders:
            raise LinkError(f"senders = {','.join(names)}: {flows} flows cannot have {len(names)} senders; name fewer")
        notes.append(f"With {flows} flow, {names[0]} is the only sender; `--senders {names[1]}` asks for the other.")
        names = names[:flows]
        stacks = {name: table for name, table in stacks.items() if name in names}
    size, unit, why = _buffer(buffer, rate_bps, max(rtts), packet_bytes, in_rack)
    part_bytes = racks.static_part(rate_bps) if buffer is None else size
    rack = racks.rack(rate_bps, max(rtts), packet_bytes, part_bytes) if in_rack else None
    if rack is not None and rack.threshold * packet_bytes >= size:
        notes.append(
            f"The buffer of {size} B holds no more than K = {rack.threshold} packets, so drops come before marks."
        )
    controls = {name: table for name, table, is_stack in sender_tables if name in names and not is_stack}
    if stacks and {"web", "incast"} & set(kinds):
        carries = next(iter(controls), SENDERS[0])
        notes.append(f"{' and '.join(stacks)}: long transfers only; what else is asked for is carried by {carries}.")
    return Link(
        rate_bps,
        rtts,
        flows,
        kinds,
        names,
        packet_bytes,
        size,
        unit,
        marks.has_ecn(ecn, controls),
        notes=tuple(notes),
        controls={name: table for name, table in controls.items() if table != name},
        stacks=stacks,
        buffer_why=why,
        rack=rack,
        fabric=made_of,
        adapt=calls.control(
            adapt,
            bool({"voice", "video"} & set(kinds)),
            rate_bps,
            "leave adapt out" if made_of else "add voice or video to traffic",
        ),
    )


def _only(rtt: str | Sequence[str] | None) -> str | None:
    """The one round trip of a fabric."""
    rtts = [rtt] if isinstance(rtt, str) else list(rtt or ())
    if len(rtts) > 1:
        raise LinkError(f"rtt = {','.join(rtts)}: give one for the longest path of a fabric, or leave it out")
    return rtts[0] if rtts else None


def _sender(given: Any) -> tuple[str, Any, bool]:
    """The name of a sender on the page, its congestion control or transport as a scenario has it, and whether it is a
    transport. A sender is given as a name, as a user's own class, as `FILE.py:CLASS`, or as `tb.congestion(...)` or
    `tb.stack(...)`. Raises `LinkError`."""
    from tailback.core.scenario import controls
    from tailback.core.scenario.own_file import NAMED

    if isinstance(given, str) and not NAMED.fullmatch(given):
        name = named("senders", "congestion", given, "congestion control")
        return name, name, False
    try:
        control = controls.sender(given)
    except _core.ScenarioError as e:
        sender_text = given if isinstance(given, str) else class_shown(given)
        raise LinkError(f"senders = {sender_text}: {e.problems[0]['problem']}; {e.problems[0]['remedy']}") from e
    return re.split(r"[.:]", control.kind)[-1], control.to_dict(), isinstance(control, controls.StackGiven)


def _rtt(text: str) -> float:
    rtt = parsed("rtt", _core.parse_time, text)
    if not LEAST_RTT_S <= rtt <= MOST_RTT_S:
        raise LinkError(
            f"rtt = {text}: give a round trip from {LEAST_RTT_S * 1e6:g}us to {MOST_RTT_S:g}s, such as 40ms"
        )
    return rtt


def _traffic(given: Sequence[str] | None, rate_bps: float) -> tuple[tuple[str, ...], list[str]]:
    kinds = list(chosen("traffic", given or CROSSES, tuple(TRAFFIC), "kinds"))
    notes = []
    if "voice" in kinds and rate_bps < 2 * CALL_BPS:
        if given:
            raise LinkError(
                f"traffic = {','.join(given)}: a call takes {CALL_BPS // 1000} kbit/s, too much for this rate; "
                f"leave out "
                "voice, or give at least 160kbps"
            )
        kinds.remove("voice")
        notes.append(f"There is no call: it takes {CALL_BPS // 1000} kbit/s, more than half of the line.")
    if "video" in kinds and rate_bps < calls.LEAST_LINE_BPS:
        least = f"{calls.LEAST_LINE_BPS / 1e3:g}kbps"
        raise LinkError(f"traffic = {','.join(kinds)}: video is too much for this rate; give at least {least}")
    if "unresponsive" in kinds and "bulk" not in kinds:
        raise LinkError("traffic: an unresponsive flow harms long flows, which are missing; add bulk")
    if not any(t in kinds for t in ("bulk", "web")):
        raise LinkError(f"traffic = {','.join(kinds)}: this traffic does not fill the line; add bulk or web")
    return tuple(t for t in TRAFFIC if t in kinds), notes


def _buffer(
    given: str | None, rate_bps: float, rtt_s: float, packet_bytes: int, in_rack: bool = False
) -> tuple[int, str, str]:
    """The buffer in bytes, its unit, and its origin."""
    if given is None and in_rack:
        static_bytes = int(racks.static_part(rate_bps) / packet_bytes) * packet_bytes
        why = (
            f"an equal share of {racks.MEMORY_BYTES / 1e6:g} MB for each of {racks.PORTS} ports, more above 10 Gb/s "
            f"({racks.DCTCP_PAPER}, table 1)"
        )
        return max(static_bytes, LEAST_BUFFER * packet_bytes), "packets", why
    if given is None:
        product = math.ceil(rate_bps * rtt_s / 8 / packet_bytes)
        if product >= LEAST_BUFFER:
            why = "one rate-delay product: it keeps the line busy while a flow halves (Villamizar and Song 1994)"
            return product * packet_bytes, "packets", why
        why = f"as one rate-delay product is only {product}"
        return LEAST_BUFFER * packet_bytes, "packets", why
    amount, unit = parsed("buffer", _core.parse_size, given)
    if amount is None:
        raise LinkError("buffer = unlimited: then drop-tail's delay has no end either; give packets or bytes")
    size = int(amount) if unit == "bytes" else int(amount) * packet_bytes
    if size < 4 * packet_bytes:
        raise LinkError(f"buffer = {given}: give at least four packets, `4 packets` or {4 * packet_bytes}B")
    return size, unit, "as asked for"
