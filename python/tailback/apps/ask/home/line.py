"""The question about a home line: the line, its modem, the people behind it and their traffic. Checks all options."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from tailback import _core
from tailback.apps.ask import calls, marks
from tailback.apps.ask.given import LinkError, chosen, named, parsed
from tailback.apps.ask.home import people as behind
from tailback.apps.ask.home import spoken
from tailback.apps.ask.home.measured import Measured, measured
from tailback.apps.ask.home.routers import Router
from tailback.apps.ask.home.routers import router as known_router
from tailback.apps.ask.home.spoken import Medium
from tailback.apps.ask.home.variation import Variation, varying
from tailback.linux.framing import Framing, FramingError, framing
from tailback.linux.shaper import SHARE

#: The kinds of traffic, with their words in the answer.
TRAFFIC: Mapping[str, str] = MappingProxyType(
    {
        "bulk": "long transfers, down and up",
        "upload": "an upload that does not end, such as a backup",
        "web": "web pages for readers",
        "call": "a call, marked EF in both directions",
        "video": "a live stream that somebody watches: 2.5 Mbit/s down, at most that with --adapt",
        "game": "a game: 100 B up and 300 B down, 30 times a second, unmarked",
        "rrul": "Flent's RRUL: four transfers each way, marked CS0, CS1, CS5 and EF, and its probes",
        "rrul-be": "Flent's RRUL without marks: four transfers each way, and its probes",
    }
)
DEFAULT_TRAFFIC = ("bulk", "web", "call", "game")
#: Kinds that load the line, with the directions.
LOADS: Mapping[str, tuple[bool, bool]] = MappingProxyType(
    {"bulk": (True, True), "upload": (False, True), "rrul": (True, True), "rrul-be": (True, True)}
)
#: The range of a line's round trip.
LEAST_RTT_S, MOST_RTT_S = 1e-3, 2.0
MOST_TRANSFERS = 200
#: If the upload is faster than the download by this factor, the question is refused.
EXCHANGED = 1.2
#: The smallest buffer of a modem: a few packets.
LEAST_MODEM_BYTES = 4 * 1500
#: The assumed buffer of a modem without a measurement, as a time at its rate.
MODEM = "250ms"
#: Long transfers in each direction of `bulk`, unless a number is given.
TRANSFERS = 4
#: The largest IP packet; with PPPoE the link takes 8 B of it.
PACKET = 1500
#: Shares of the line's rate at which the shaper is tried, until one serves best.
SHARES = (0.80, 0.85, 0.90, 0.95, 1.0)
#: Lower shares, which are tried if the least share of `SHARES` is best.
LOWER_SHARES = (0.75, 0.70, 0.65, 0.60, 0.50, 0.40, 0.30, 0.20)
#: The largest share that is proposed, since no real line keeps its rate exactly.
MOST_SHARE = 0.95
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
    """A home line and its traffic."""

    down_bps: float
    up_bps: float
    rtt_s: float
    hosts: int
    framing: Framing
    traffic: tuple[str, ...]
    #: Long transfers in each direction of `bulk`, over all its hosts.
    transfers: int
    #: Readers of pages, over all their hosts.
    readers: int
    #: The buffers in front of the line in bytes: at the provider, and in the modem.
    down_buffer: int
    up_buffer: int
    #: The origin of the buffers: `assumed`, `fitted`, or the given text.
    modem: str
    #: Congestion control of all TCP.
    sender: str
    #: Whether hosts use ECN and queues mark.
    ecn: bool
    share: Share
    #: Whether the user gave the share; otherwise it is chosen from the answer's table of shares.
    asked_share: bool
    #: Further shares that are tried, to show the effect of the share.
    shares: tuple[Share, ...]
    #: The variation of the line's rate; None if it does not vary.
    varies: Variation | None = None
    #: The hosts of each kind of traffic, counted from 1.
    hosts_of: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    #: Whether hosts were named as people, each with one thing to do.
    people: bool = False
    #: The kind of the line, as given.
    kind: str = "unknown"
    #: The medium, whose waits are not queueing.
    medium: Medium = spoken.STILL
    #: The router that shapes at home, if it was given.
    router: Router | None = None
    #: The results of a speed test.
    measured: Measured | None = None
    #: The latency that a load adds with the fitted buffers, down and up, in seconds.
    fit_adds: tuple[float, float] | None = None
    #: The bursts of the provider's policers, down and up, in bytes; None if a buffer takes the excess.
    policer: tuple[int, int] | None = None
    #: The device that wraps packets in a tunnel: `router`, `host`, or empty.
    vpn: str = ""
    #: The rate control of all video; empty if calls have only audio and a stream keeps its rate.
    adapt: str = ""

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
        """Whether traffic loads the line downwards, and upwards."""
        loads = [LOADS[kind] for kind in self.traffic if kind in LOADS]
        return any(down for down, _ in loads), any(up for _, up in loads)


def question(
    down: str | None = None,
    up: str | None = None,
    rtt: str | None = None,
    *,
    measured: str | None = None,
    people: str | None = None,
    hosts: int | None = None,
    router: str | None = None,
    link: str = "unknown",
    pppoe: bool = False,
    vlan: bool = False,
    traffic: Sequence[str] | None = None,
    transfers: int | None = None,
    modem: str | None = None,
    sender: str = "cubic",
    ecn: bool | None = None,
    share: str | None = None,
    varies: str | None = None,
    policer: str | None = None,
    vpn: str | None = None,
    adapt: str | None = None,
    as_given: bool = False,
) -> HomeLine:
    """The question, checked. Raises `LinkError`, whose message names the option."""
    kind = spoken.kind(link)
    try:
        line_framing = framing(kind.link, pppoe=pppoe, vlan=vlan)
    except FramingError as e:
        raise LinkError(str(e)) from e
    variation = varying(varies, kind.name)
    rates = _rates(down, up, rtt, measured, line_framing, variation)
    _not_exchanged(rates, as_given)
    line_users = _who(people, hosts, traffic, transfers)
    down_buffer, up_buffer = _buffers(modem, rates)
    limit = None if router is None else known_router(router)
    shaper_share = _shares(share, limit, rates)
    control = named("senders", "congestion", sender, "congestion control")
    load_source = "assumed" if rates.test is None or not _loads_measured(rates.test) else "fitted"
    tried_shares = (
        {Share(s, s) for s in SHARES} if limit is None else {_capped(Share(s, s), limit, rates) for s in SHARES}
    )
    return HomeLine(
        down_bps=rates.down_bps,
        up_bps=rates.up_bps,
        rtt_s=rates.rtt_s,
        hosts=line_users.hosts,
        framing=line_framing,
        traffic=line_users.kinds,
        transfers=line_users.transfers,
        readers=line_users.readers,
        down_buffer=down_buffer,
        up_buffer=up_buffer,
        modem=load_source if modem is None else modem,
        sender=control,
        ecn=marks.has_ecn(ecn, {control: control}),
        share=shaper_share,
        asked_share=share is not None,
        shares=tuple(sorted({*tried_shares, shaper_share})),
        varies=variation,
        hosts_of=line_users.hosts_of,
        people=people is not None,
        kind=kind.name,
        medium=kind.medium,
        router=limit,
        measured=rates.test,
        policer=None if policer is None else _policer(policer, modem, varies),
        vpn=_vpn(vpn),
        adapt=calls.control(
            adapt,
            bool({"call", "video"} & set(line_users.kinds)),
            min(rates.down_bps, rates.up_bps if "call" in line_users.kinds else rates.down_bps),
            "add call or video to --traffic, or calls or streams to --people",
        ),
    )


class _Rates(NamedTuple):
    """The rates and the round trip of the line, and the speed test that measured them, if there was one."""

    down_bps: float
    up_bps: float
    rtt_s: float
    test: Measured | None = None


def _rates(
    down: str | None,
    up: str | None,
    rtt: str | None,
    test: str | None,
    framed: Framing,
    variation: Variation | None,
) -> _Rates:
    if test is not None:
        twice = next((n for n, v in (("down", down), ("up", up), ("rtt", rtt)) if v is not None), None)
        if twice is not None:
            raise LinkError(f"measured = {test}: it also contains --{twice}; leave one of them out")
        measured_line = measured(test)
        packet = PACKET - (8 if framed.pppoe else 0)
        rates = measured_line.line_rates(framed, packet, framed.link != "unknown" and variation is None)
        return _Rates(*rates, _round_trip(f"{1e3 * measured_line.idle_s:g}ms"), measured_line)
    if down is None and variation is not None and variation.most_down_bps:
        down = f"{variation.most_down_bps:.0f}bps"
    if up is None and variation is not None and variation.most_up_bps:
        up = f"{variation.most_up_bps:.0f}bps"
    for name, value, usual_value in (("down", down, "100Mbps"), ("up", up, "20Mbps"), ("rtt", rtt, "30ms")):
        if value is None:
            raise LinkError(
                f"{name} is missing: give --down, --up and --rtt, such as --{name} {usual_value}, or what a speed test "
                "said: "
                '--measured "250/40, idle 18, down 240, up 190". The round trip of an idle line is what `ping` to a '
                "near server says: some 10 ms on fibre, 20 on cable and DSL, 40 on LTE and low satellites"
            )
    assert down is not None and up is not None and rtt is not None
    return _Rates(spoken.rate("down", down), spoken.rate("up", up), _round_trip(rtt))


def _round_trip(text: str) -> float:
    rtt_s = parsed("rtt", _core.parse_time, text)
    if not LEAST_RTT_S <= rtt_s <= MOST_RTT_S:
        raise LinkError(
            f"rtt = {text}: give the round trip of the idle line, from 1ms to {MOST_RTT_S:g}s, such as 30ms"
        )
    return rtt_s


def _not_exchanged(rates: _Rates, as_given: bool) -> None:
    """Refuses a line whose upload is much faster than its download, unless the user confirms it."""
    if rates.up_bps > EXCHANGED * rates.down_bps and not as_given:
        down_mbps, up_mbps = rates.down_bps / 1e6, rates.up_bps / 1e6
        if rates.test is not None:
            down_mbps, up_mbps = rates.test.down_bps / 1e6, rates.test.up_bps / 1e6
            raise LinkError(
                f"measured = {down_mbps:g}/{up_mbps:g}: the download, which stands first, is slower than the upload: "
                f"were they exchanged? Write {up_mbps:g}/{down_mbps:g}, or add --as-given if the line is like that"
            )
        raise LinkError(
            f"down = {down_mbps:g}Mbps is less than up = {up_mbps:g}Mbps: were they exchanged? Give --down "
            f"{up_mbps:g}Mbps --up {down_mbps:g}Mbps, or add --as-given if the line is like that"
        )


class _Who(NamedTuple):
    kinds: tuple[str, ...]
    hosts: int
    hosts_of: Mapping[str, tuple[int, ...]]
    transfers: int
    readers: int


def _who(people: str | None, hosts: int | None, traffic: Sequence[str] | None, transfers: int | None) -> _Who:
    """The people behind the line, and their traffic."""
    if transfers is not None:
        _whole("flows", transfers, MOST_TRANSFERS, "long transfers in each direction")
    if people is not None:
        if traffic is not None or hosts is not None:
            excluded_option = "traffic" if traffic is not None else "hosts"
            raise LinkError(f"people = {people}: it also contains --{excluded_option}; leave one of them out")
        counts = behind.people(people)
        # A line without load has no queue, so one download is added, such as an update.
        counts.setdefault("bulk", 1)
        kinds = tuple(kind for kind in TRAFFIC if kind in counts)
        hosts_of = behind.hosts_of_people(counts, kinds)
        return _Who(kinds, sum(counts.values()), hosts_of, max(transfers or 1, counts["bulk"]), counts.get("web", 0))
    kinds_asked = chosen("traffic", traffic or DEFAULT_TRAFFIC, tuple(TRAFFIC), "kinds")
    kinds = tuple(kind for kind in TRAFFIC if kind in kinds_asked)
    if {"rrul", "rrul-be"} <= set(kinds):
        raise LinkError("traffic: rrul and rrul-be are the same transfers with and without marks; name one of them")
    if not any(kind in LOADS for kind in kinds):
        raise LinkError(f"traffic = {','.join(kinds)}: nothing here loads the line; add {', '.join(LOADS)}")
    if hosts is not None:
        _whole("hosts", hosts, behind.MOST_HOSTS, "hosts behind the line")
    host_count = len(kinds) if hosts is None else hosts
    hosts_of = behind.hosts_of_kinds(kinds, host_count)
    readers = max(behind.READERS, len(hosts_of.get("web", ())))
    return _Who(kinds, host_count, hosts_of, max(transfers or TRANSFERS, len(hosts_of.get("bulk", ()))), readers)


def _buffers(modem: str | None, rates: _Rates) -> tuple[int, int]:
    """The buffers in front of the line, in bytes. Buffers from a speed test are fitted later."""
    both_rates = (rates.down_bps, rates.up_bps)
    if modem is None:
        down_bytes, up_bytes = (max(LEAST_MODEM_BYTES, _buffer(MODEM, rate, least=1)) for rate in both_rates)
        return down_bytes, up_bytes
    if rates.test is not None and _loads_measured(rates.test):
        raise LinkError(f"modem = {modem}: the buffers follow from --measured; leave --modem or `down`, `up` there out")
    down_bytes, up_bytes = (
        _buffer(text, rate) for text, rate in zip(_of_both("modem", modem), both_rates, strict=True)
    )
    return down_bytes, up_bytes


def _policer(text: str, modem: str | None, varies: str | None) -> tuple[int, int]:
    """The burst of a policer, down and up, in bytes."""
    if modem is not None or varies is not None:
        excluded_option = "modem" if modem is not None else "varies"
        raise LinkError(
            f"policer = {text}: a policer stands in place of the modem's buffer; leave --{excluded_option} out"
        )
    for part in _of_both("policer", text):
        if re.fullmatch(r"\d+\.?\d*", part):
            raise LinkError(f"policer = {text}: {part} has no unit; write {part}KB for what passes at once")
    sizes = [int(parsed("policer", _core.parse_bytes, part)) for part in _of_both("policer", text)]
    if not all(2 * PACKET <= size <= 10**9 for size in sizes):
        raise LinkError(f"policer = {text}: give what passes at once, from 3KB to 1GB, such as 250KB; or two: down,up")
    return sizes[0], sizes[1]


def _vpn(text: str | None) -> str:
    if text not in (None, "router", "host"):
        raise LinkError(f"vpn = {text}: say who wraps the packets: router, or host (each host for itself)")
    return text or ""


def _loads_measured(test: Measured) -> bool:
    return test.added_down_s is not None or test.added_up_s is not None


def _shares(text: str | None, limit: Router | None, rates: _Rates) -> Share:
    """The given share, or the first one of the answer's table; never more than the router can shape."""
    if text is None:
        return _capped(Share(MOST_SHARE, MOST_SHARE), limit, rates)
    share_given = Share(*(_share(part) for part in _of_both("share", text)))
    if _capped(share_given, limit, rates) != share_given:
        assert limit is not None
        raise LinkError(
            f"share = {text}: the router shapes {limit.most_bps / 1e6:g} Mb/s at most ({limit.source}); leave --share "
            "out, or give less"
        )
    return share_given


def _capped(share: Share, limit: Router | None, rates: _Rates) -> Share:
    if limit is None:
        return share
    shares_and_rates = zip(share, (rates.down_bps, rates.up_bps), strict=True)
    return Share(*(min(one, math.floor(1000 * limit.most_bps / rate) / 1000) for one, rate in shares_and_rates))


def _whole(option: str, n: int, most: int, what: str) -> None:
    if not 1 <= n <= most:
        raise LinkError(f"{option} = {n}: give a number of {what} from 1 to {most}")


def _buffer(text: str, rate_bps: float, least: int = LEAST_MODEM_BYTES) -> int:
    """Bytes of a buffer that is given as a time at its own rate, or as a size."""
    if re.fullmatch(r"\d+\.?\d*", text):
        raise LinkError(f"modem = {text}: write {text}ms for a time at the line's rate, or {text}KB for a size")
    try:
        size = int(rate_bps * _core.parse_time(text) / 8)
    except ValueError:
        as_size = partial(parsed, "modem", _core.parse_bytes)
        size = int(as_size(text))
    if not least <= size <= 10**10:
        raise LinkError(
            f"modem = {text}: the buffer would have {size} B; give what waits at most as a time at the line's rate, "
            "such as 250ms, or as a size of at least 6KB, such as 256KB"
        )
    return size


def _of_both(option: str, text: str) -> tuple[str, str]:
    """A value for both directions, or one for down and one for up."""
    texts = [part.strip() for part in text.split(",")]
    if len(texts) > 2 or not all(texts):
        raise LinkError(f"{option} = {text}: give one value for both directions, or two: down,up")
    return texts[0], texts[-1]


def _share(text: str) -> float:
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0.1 <= share <= 1:
        raise LinkError(f"share = {text}: give the shaper's share of the line's rate from 10% to 100%, such as 95%")
    return share
