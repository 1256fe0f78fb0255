"""The question: a home line, its modem, who is behind it and what they do; and what is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from tailback import _core
from tailback.apps.ask import marks
from tailback.apps.ask.given import LinkError, chosen, named, parsed
from tailback.apps.ask.home.variation import varying
from tailback.linux.framing import Framing, FramingError, framing
from tailback.linux.shaper import SHARE

#: What the people behind the line do, and in which words the answer says it.
TRAFFIC: Mapping[str, str] = MappingProxyType(
    {
        "bulk": "long transfers, down and up",
        "upload": "an upload that does not end, such as a backup",
        "web": "pages that somebody reads",
        "call": "a call, marked EF in both directions",
        "game": "a game: 100 B up and 300 B down, 30 times a second, unmarked",
        "rrul": "Flent's RRUL: four transfers each way, marked CS0, CS1, CS5 and EF, and its probes",
        "rrul-be": "Flent's RRUL without marks: four transfers each way, and its probes",
    }
)
DEFAULT_TRAFFIC = ("bulk", "web", "call", "game")
#: Kinds that load the line, and in which directions.
LOADS: Mapping[str, tuple[bool, bool]] = MappingProxyType(
    {"bulk": (True, True), "upload": (False, True), "rrul": (True, True), "rrul-be": (True, True)}
)
#: What a line may be.
LEAST_BPS, MOST_BPS = 500e3, 10e9
LEAST_RTT_S, MOST_RTT_S = 1e-3, 2.0
MOST_HOSTS, MOST_TRANSFERS = 50, 200
#: A modem holds at least a few packets.
LEAST_MODEM_BYTES = 4 * 1500
#: The largest IP packet; with PPPoE the link takes 8 B of it.
PACKET = 1500
#: Shares of the line's rate at which the shaper is also tried.
SHARES = (0.80, 0.85, 0.90, 0.95, 1.0)
DEFAULT_SHARE = f"{SHARE:.0%}"


class Share(NamedTuple):
    """The shaper's share of the line's rate, down and up."""

    down: float
    up: float

    def __str__(self) -> str:
        parts = [f"{100 * x:g}%" for x in (self if self.down != self.up else self[:1])]
        return ",".join(parts)


@dataclass(frozen=True)
class HomeLine:
    """A home line and what crosses it."""

    down_bps: float
    up_bps: float
    rtt_s: float
    hosts: int
    framing: Framing
    traffic: tuple[str, ...]
    #: Long transfers in each direction of `bulk`.
    transfers: int
    #: What may wait in front of the line, bytes: at the provider, and in the modem.
    down_buffer: int
    up_buffer: int
    #: How the buffers were asked for.
    modem: str
    #: Congestion control of all TCP.
    sender: str
    #: Hosts use ECN, and queues mark.
    ecn: bool
    share: Share
    #: What is tried as well, to show what the share buys.
    shares: tuple[Share, ...]
    #: How the line's rate varies; None where it does not.
    varies: str | None = None
    #: The host of each kind of traffic, counted from 1.
    host_of: Mapping[str, int] = field(default_factory=dict)

    @property
    def packet(self) -> int:
        """The largest IP packet, bytes."""
        return PACKET - (8 if self.framing.pppoe else 0)

    @property
    def shaped(self) -> tuple[float, float]:
        """Rates of the shaper, down and up, bit/s."""
        return self.share.down * self.down_bps, self.share.up * self.up_bps

    def has(self, *kinds: str) -> bool:
        return any(kind in self.traffic for kind in kinds)

    @property
    def loaded(self) -> tuple[bool, bool]:
        """Whether something loads the line downwards, and upwards."""
        loads = [LOADS[kind] for kind in self.traffic if kind in LOADS]
        return any(down for down, _ in loads), any(up for _, up in loads)


def question(
    down: str,
    up: str,
    rtt: str,
    *,
    hosts: int = 5,
    link: str = "unknown",
    pppoe: bool = False,
    vlan: bool = False,
    traffic: Sequence[str] | None = None,
    transfers: int = 4,
    modem: str = "250ms",
    sender: str = "cubic",
    ecn: bool | None = None,
    share: str = DEFAULT_SHARE,
    varies: str | None = None,
) -> HomeLine:
    """The question, checked. Raises `LinkError`, whose message names the option."""
    down_bps, up_bps = _rate("down", down), _rate("up", up)
    rtt_s = parsed("rtt", _core.parse_time, rtt)
    if not LEAST_RTT_S <= rtt_s <= MOST_RTT_S:
        raise LinkError(f"rtt = {rtt}: give the round trip of the idle line, from 1ms to {MOST_RTT_S:g}s, such as 30ms")
    _whole("hosts", hosts, MOST_HOSTS, "hosts behind the line")
    _whole("flows", transfers, MOST_TRANSFERS, "long transfers in each direction")
    kinds = chosen("traffic", traffic or DEFAULT_TRAFFIC, tuple(TRAFFIC), "kinds")
    kinds = tuple(kind for kind in TRAFFIC if kind in kinds)
    if {"rrul", "rrul-be"} <= set(kinds):
        raise LinkError("traffic: rrul and rrul-be are the same transfers with and without marks; name one of them")
    if not any(kind in LOADS for kind in kinds):
        raise LinkError(f"traffic = {','.join(kinds)}: nothing here loads the line; add {', '.join(LOADS)}")
    buffers = zip(_of_both("modem", modem), (down_bps, up_bps), strict=True)
    down_buffer, up_buffer = (_buffer(text, rate) for text, rate in buffers)
    shared = Share(*(_share(text) for text in _of_both("share", share)))
    try:
        framed = framing(link, pppoe=pppoe, vlan=vlan)
    except FramingError as e:
        raise LinkError(str(e)) from e
    asked = named("senders", "congestion", sender, "congestion control")
    return HomeLine(
        down_bps=down_bps,
        up_bps=up_bps,
        rtt_s=rtt_s,
        hosts=hosts,
        framing=framed,
        traffic=kinds,
        transfers=transfers,
        down_buffer=down_buffer,
        up_buffer=up_buffer,
        modem=modem,
        sender=asked,
        ecn=marks.has_ecn(ecn, {asked: asked}),
        share=shared,
        shares=tuple(sorted({*(Share(s, s) for s in SHARES), shared})),
        varies=varying(varies),
        host_of={kind: 1 + i % hosts for i, kind in enumerate(kinds)},
    )


def _rate(option: str, text: str) -> float:
    rate = float(parsed(option, _core.parse_rate, text))
    if not LEAST_BPS <= rate <= MOST_BPS:
        raise LinkError(f"{option} = {text}: give a rate from 500kbps to 10Gbps, such as 100Mbps")
    return rate


def _whole(option: str, n: int, most: int, what: str) -> None:
    if not 1 <= n <= most:
        raise LinkError(f"{option} = {n}: give a number of {what} from 1 to {most}")


def _buffer(text: str, rate_bps: float) -> int:
    """Bytes of a buffer that is given as a time at its own rate, or as a size."""
    try:
        size = int(rate_bps * _core.parse_time(text) / 8)
    except ValueError:
        as_size = partial(parsed, "modem", _core.parse_bytes)
        size = int(as_size(text))
    if not LEAST_MODEM_BYTES <= size <= 10**10:
        raise LinkError(
            f"modem = {text}: the buffer would have {size} B; give what waits at most as a time at the line's rate, "
            "such as 250ms, or as a size of at least 6KB, such as 256KB"
        )
    return size


def _of_both(option: str, text: str) -> tuple[str, str]:
    """A value for both directions, or one for down and one for up."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 2 or not all(parts):
        raise LinkError(f"{option} = {text}: give one value for both directions, or two: down,up")
    return parts[0], parts[-1]


def _share(text: str) -> float:
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0.1 <= share <= 1:
        raise LinkError(f"share = {text}: give the shaper's share of the line's rate from 10% to 100%, such as 95%")
    return share
