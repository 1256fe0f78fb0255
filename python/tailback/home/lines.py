"""The lines for `tc` and `ip` that put a discipline on a home line, both directions, and those that take it away again.

* On the way up the shaper is the queue of the router's own device (`wan`).
* On the way down a router has no queue of its own: packets that come in are sent through an intermediate device (IFB),
  and the shaper is the queue of that.
* `cake` shapes itself; any other discipline is the queue of one class of `htb`.

The rates are those of the shaper: a little below the line's, so that the queue is here and not in the modem.
`openwrt.py` says the same to SQM of OpenWrt.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tailback.home.framing import Framing
from tailback.home.leaves import LEAST_RTT_S, LEAVES, MOST_RTT_S, Known, Leaf, interval_s, kbit, tc_time
from tailback.live import tc

#: A burst of `htb` lasts so long, or one packet. Longer ones save processor time and stand in the modem's queue.
BURST_S = 1e-3
#: Bytes of an acknowledgement: IPv4, TCP, and timestamps.
ACK_BYTES = 52
#: From this part of the line up on, acknowledgements of a full download are thinned out. The filter is for very
#: asymmetrical lines, and can do harm to TCP (Linux, "sch_cake: Add optional ACK filter", 2018): not without need.
ACK_SHARE = 1 / 6

#: A device's name; no other sign may come into a line for a shell.
_DEVICE = re.compile(r"[A-Za-z0-9._-]{1,15}")

#: What a shaper costs, as published.
PROCESSOR = (
    "A shaper works on the processor, packet by packet, and a slow router cannot keep up with a fast line (OpenWrt "
    "wiki, 'SQM'). Reported with cake: about 135 Mbit/s down on a MIPS processor of 680 MHz (Netgear WNDR3800, "
    "burntchrome.blogspot.com, December 2016), about 150 Mbit/s down on two cores of 1.7 GHz (Netgear R7800, OpenWrt "
    "forum, thread 50368). Watch the processor while a speed test runs: `top` shows the work as `sirq`."
)
#: What goes round a shaper.
OFFLOAD = (
    "Hardware flow offloading passes packets by the kernel's queues, and with them by this shaper: turn it off "
    "(OpenWrt wiki, 'SQM')."
)


class LinesError(ValueError):
    """A setup without lines; the message names the option, its value, and what to write instead."""


@dataclass(frozen=True)
class Setup:
    """What is to be set up."""

    #: A discipline by the simulator's name.
    discipline: str
    #: Rates of the shaper.
    down_bps: float
    up_bps: float
    framing: Framing
    #: Hosts at home share the line first, then their flows.
    hosts: bool = True
    #: The usual round trip.
    rtt_s: float = 0.03
    #: Queues mark packets of hosts with ECN. `cake` always does.
    ecn: bool = True
    #: The router's device towards the modem; with PPPoE that of PPP.
    wan: str = "WAN"
    ifb: str = "ifb4wan"
    #: Classes of `cake`.
    diffserv: str = "diffserv4"
    #: The provider's code points mean what they say.
    trusted: bool = True
    #: None: where acknowledgements of a full download take much of the line up.
    ack_filter: bool | None = None
    #: Packets, where a limit is asked for; Linux's own without.
    limit: int | None = None

    def __post_init__(self) -> None:
        for option, name in (("wan", self.wan), ("ifb", self.ifb)):
            if not _DEVICE.fullmatch(name):
                raise LinesError(
                    f"{option} = {name}: a device has a name of 1 to 15 letters, digits, dots, dashes or underscores, "
                    "such as eth0 or pppoe-wan"
                )


@dataclass(frozen=True)
class Line:
    """A command for a shell, and what a reader should know of it."""

    text: str
    comment: str = ""


@dataclass(frozen=True)
class Lines:
    """What sets a discipline up, in order. Without lines, `why_not` says why, and `instead` names the next best."""

    discipline: str
    up: tuple[Line, ...] = ()
    down: tuple[Line, ...] = ()
    undo: tuple[Line, ...] = ()
    #: Where the simulator's model differs from what the lines do.
    remarks: tuple[str, ...] = ()
    why_not: str = ""
    instead: str = ""

    @property
    def commands(self) -> tuple[str, ...]:
        return tuple(line.text for line in (*self.up, *self.down))

    def script(self) -> str:
        """All of it as a shell reads it, comments included."""
        parts = (("Up", self.up), ("Down", self.down), ("To undo", self.undo))
        blocks = ["\n".join([f"# {head}", *map(_commented, lines)]) for head, lines in parts if lines]
        return "\n\n".join(blocks) + "\n" if blocks else ""


def _commented(line: Line) -> str:
    return f"# {line.comment}\n{line.text}" if line.comment else line.text


#: The disciplines that Linux has as `cake`: all of it, and its AQM alone, for one queue and for one queue a flow.
_CAKES = {"cake": "", "cobalt": "besteffort flowblind", "fq-cobalt": "besteffort flows"}

#: The nearest that Linux has, where it is not FQ-CoDel.
_NEAREST = {
    **dict.fromkeys(("random-drop",), "front-drop"),
    **dict.fromkeys(("feng-red", "nlred", "dred", "sred", "rio", "wred", "mred", "redn"), "ared"),
    **dict.fromkeys(("fred", "red-pb", "red-pd", "sfb"), "choke"),
    **dict.fromkeys(("blue", "pi", "rem", "avq", "green", "green-tcp", "aaqm"), "pie"),
    **dict.fromkeys(("drr", "tdrr", "qsdrr", "dtdrr", "dsdrr", "srr", "scfq", "wf2q", "wf2q-plus", "fq"), "sfq"),
    **dict.fromkeys(("diffserv", "wdrr"), "cake"),
}


def lines(setup: Setup) -> Lines:
    """What sets this up on Linux."""
    if setup.discipline in _CAKES:
        return _cake(setup)
    known = LEAVES.get(setup.discipline)
    if known is None:
        instead = _NEAREST.get(setup.discipline, "fq-codel")
        why = f"Linux has no {setup.discipline}; the nearest that it has is {instead}."
        return Lines(setup.discipline, why_not=why, instead=instead)
    return _shaped(setup, known)


def without_cake(setup: Setup) -> Setup:
    """The next best for a router whose kernel has no `cake`: FQ-CoDel under `htb`."""
    return replace(setup, discipline="fq-codel") if setup.discipline in _CAKES else setup


def acks_share(setup: Setup) -> float:
    """The part of the line up that acknowledgements of a full download take: one for two packets (RFC 5681 section
    4.2)."""
    of_line = setup.framing.on_wire(ACK_BYTES) / (2 * setup.framing.on_wire(1500))
    return of_line * setup.down_bps / setup.up_bps


def filters_acks(setup: Setup) -> bool:
    return acks_share(setup) >= ACK_SHARE if setup.ack_filter is None else setup.ack_filter


# The device for the way down


def _intermediate(setup: Setup) -> tuple[Line, ...]:
    comment = "Packets that come in pass through this device, where they can wait."
    return tuple(Line(text, "" if i else comment) for i, text in enumerate(tc.intermediate(setup.wan, setup.ifb)))


def _undo(setup: Setup) -> tuple[Line, ...]:
    return (
        Line(f"tc qdisc del dev {setup.wan} root", "Before the lines are pasted a second time, too."),
        Line(f"tc qdisc del dev {setup.wan} ingress"),
        Line(f"ip link del {setup.ifb}"),
    )


# cake


def cake_words(setup: Setup, direction: str) -> str:
    """What `cake` is told beside its rate and the line's framing."""
    fixed = _CAKES.get(setup.discipline, "")
    if fixed:
        words = [fixed]
    elif setup.hosts:
        words = ["nat", "dual-srchost" if direction == "up" else "dual-dsthost"]
    else:
        words = ["flows"]
    if direction == "down":
        words.append("ingress")
    elif filters_acks(setup):
        words.append("ack-filter")
    if not fixed:
        trusted = setup.trusted or direction == "up"
        words.append(setup.diffserv if trusted else "besteffort wash")
    if not LEAST_RTT_S <= setup.rtt_s <= MOST_RTT_S:
        words.append(f"rtt {tc_time(interval_s(setup.rtt_s))}")
    return " ".join(words)


def _cake(setup: Setup) -> Lines:
    def line(device: str, rate_bps: float, direction: str, comment: str) -> Line:
        words = f"cake bandwidth {kbit(rate_bps)} {cake_words(setup, direction)} {setup.framing.cake}"
        return Line(f"tc qdisc replace dev {device} root {words}", comment)

    return Lines(
        setup.discipline,
        up=(line(setup.wan, setup.up_bps, "up", _up_comment(setup)),),
        down=(*_intermediate(setup), line(setup.ifb, setup.down_bps, "down", _down_comment(setup))),
        undo=_undo(setup),
        remarks=_cake_remarks(setup),
    )


def _up_comment(setup: Setup) -> str:
    share = acks_share(setup)
    said = f"acknowledgements of a full download would take {share:.0%} of the line up"
    if filters_acks(setup):
        return f"ack-filter: {said}; it drops those that a later one in the queue makes superfluous."
    return f"No ack-filter: {said}."


def _down_comment(setup: Setup) -> str:
    counted = "ingress: what is dropped here has crossed the line and counts"
    if setup.discipline != "cake":
        return f"{counted}."
    if setup.trusted:
        return f"{counted}. If your provider's code points mean nothing, write besteffort wash for {setup.diffserv}."
    return f"{counted}; besteffort wash: the provider's code points are not trusted, and are cleared."


def _cake_remarks(setup: Setup) -> tuple[str, ...]:
    found = ["Linux finds hosts and flows by hashes, in sets of eight; the simulator tells hosts apart exactly."]
    found.append("Linux splits large segments (GSO) before they are queued; the simulator has none.")
    if setup.discipline == "cake" and setup.hosts:
        found.append("`nat` looks up the host behind the router's address; the simulator knows the hosts.")
    if not setup.ecn:
        found.append("`cake` always marks packets of hosts that have ECN; it has no word against it.")
    return tuple(found)


# htb and a leaf


def _shaped(setup: Setup, known: Known) -> Lines:
    return Lines(
        setup.discipline,
        up=_htb(setup, known, setup.wan, setup.up_bps),
        down=(*_intermediate(setup), *_htb(setup, known, setup.ifb, setup.down_bps)),
        undo=_undo(setup),
        remarks=tuple(r for r in (known.differs, *_HTB_REMARKS) if r),
    )


_HTB_REMARKS = (
    "htb has one packet below the discipline; the simulator has none there.",
    "htb and its queue see large segments (GSO, GRO) as one packet of up to 64 KB and count the line's headers once "
    "for it; the simulator has none. On slow lines turn them off (tc-stab(8)): ethtool -K DEV tso off gso off gro off.",
    "A kernel without high-resolution timers sends once a tick: `burst` has to be the rate over HZ then (tc-htb(8)).",
)


def burst_bytes(rate_bps: float, framing: Framing) -> int:
    """What `htb` may send at once."""
    return max(round(rate_bps * BURST_S / 8), tc.FULL_PACKET + framing.device_overhead)


def _htb(setup: Setup, known: Known, device: str, line_bps: float) -> tuple[Line, ...]:
    framing = setup.framing
    rate_bps = line_bps * framing.rate_factor
    leaf = Leaf(rate_bps, framing.shaped(1500), setup.rtt_s, setup.ecn, setup.limit)
    since = f" {known.since} of Linux and of iproute2 are the first to have it." if known.since else ""
    texts = tc.htb(device, kbit(rate_bps), burst_bytes(rate_bps, framing), framing.htb, known.line(leaf))
    comments = ("", _shape_comment(framing, line_bps), f"{known.note}{since}".strip())
    return tuple(map(Line, texts, comments))


def _shape_comment(framing: Framing, line_bps: float) -> str:
    said = [f"overhead: {framing.overhead} B from the IP packet on"]
    if framing.device_header:
        said[0] += f", of which the device counts {framing.device_header}"
    if framing.cells == "ptm":
        said.append(f"htb knows no ptm, so that the rate is 64/65 of {kbit(line_bps)}")
    if framing.mpu:
        said.append("mpu: kernels from 3.7 to 5.16 ignore it")
    return "; ".join(said) + "."
