"""Writes the commands of `tc` and `ip` that shape a line in both directions, and those that remove the shaper.

* Upload: the shaper is the queue of the router's own device (`wan`).
* Download: a router has no queue for incoming packets. These packets are sent through an intermediate device (IFB),
  whose queue is the shaper.
* `cake` shapes by itself; any other discipline is the queue of one class of `htb`.

The shaper's rates are a little below the line's, so that packets queue here and not in the modem. Parameters that are
not given have Linux's defaults: an experiment gives all disciplines the same buffer, but a router does not.
`openwrt.py` sets up SQM of OpenWrt in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from tailback.linux import units, words
from tailback.linux.forms import Form, form, nearest
from tailback.linux.framing import Framing
from tailback.linux.law import Path
from tailback.linux.units import TcError

#: Bytes of the largest Ethernet packet as Linux counts it.
FULL_PACKET = 1514
#: The length of a burst of `htb`, which is at least one packet. Longer ones save processor time, but wait in the
#: modem's queue.
BURST_S = 1e-3
#: The default share of the line's rate that the shaper uses, so that packets queue here and not in front of the line.
SHARE = 0.95
#: The default lengths of the queues of a network card and of an IFB, packets.
CARD_PACKETS, IFB_PACKETS = 1000, 32
#: Bytes of an acknowledgement: the headers of IPv4 and TCP, with timestamps.
ACK_BYTES = 52
#: If acknowledgements of a full download take this share of the upload rate, they are filtered. The filter is for very
#: asymmetrical lines, and can harm TCP (Linux, "sch_cake: Add optional ACK filter", 2018), so it is off elsewhere.
ACK_SHARE = 1 / 6

#: A device's name. No other character may come into a line for a shell.
_DEVICE = re.compile(r"[A-Za-z0-9._-]{1,15}")

#: The published cost of a shaper.
PROCESSOR = (
    "A shaper works on the processor, packet by packet, and a slow router cannot keep up with a fast line (OpenWrt "
    "wiki, 'SQM'). Reported with cake: about 135 Mbit/s down on a MIPS processor of 680 MHz (Netgear WNDR3800, "
    "burntchrome.blogspot.com, December 2016), about 150 Mbit/s down on two cores of 1.7 GHz (Netgear R7800, OpenWrt "
    "forum, thread 50368). Watch the processor while a speed test runs: `top` shows the work as `sirq`."
)
#: The reason to turn flow offloading off.
OFFLOAD = (
    "With hardware flow offloading packets bypass the kernel's queues, and so this shaper: turn it off "
    "(OpenWrt wiki, 'SQM')."
)


# Any device


def intermediate(device: str, ifb: str) -> tuple[str, str, str, str]:
    """Commands that send the incoming packets of a device through an intermediate device (IFB), where they can
    queue."""
    redirect = f"action mirred egress redirect dev {ifb}"
    return (
        f"ip link add {ifb} type ifb",
        f"ip link set {ifb} up",
        f"tc qdisc add dev {device} handle ffff: ingress",
        f"tc filter add dev {device} parent ffff: protocol all u32 match u32 0 0 {redirect}",
    )


def htb(device: str, rate: str, burst: int, counted: str, leaf: str) -> tuple[str, str, str]:
    """One class with a discipline in it. `counted` is its words for the line's headers."""
    shape = f"rate {rate} ceil {rate} burst {burst} cburst {burst} quantum {FULL_PACKET} {counted}".rstrip()
    return (
        f"tc qdisc replace dev {device} root handle 1: htb default 1",
        f"tc class replace dev {device} parent 1: classid 1:1 htb {shape}",
        f"tc qdisc replace dev {device} parent 1:1 {leaf}",
    )


def burst_bytes(rate_bps: float, framing: Framing) -> int:
    """The burst of `htb`, in bytes."""
    return max(round(rate_bps * BURST_S / 8), FULL_PACKET + framing.device_overhead)


def acks_share(framing: Framing, down_bps: float, up_bps: float) -> float:
    """The share of the upload rate that the acknowledgements of a full download take, with one for every two packets
    (RFC 5681 section 4.2)."""
    return framing.on_wire(ACK_BYTES) / (2 * framing.on_wire(1500)) * down_bps / up_bps


# A router


@dataclass(frozen=True)
class Setup:
    """The shaper to set up."""

    #: The simulator's name of the discipline.
    discipline: str
    #: Rates of the shaper, in bits a second.
    down_bps: float
    up_bps: float
    framing: Framing
    #: Parameters of the discipline, as a scenario has them.
    down: Mapping[str, Any] = field(default_factory=dict)
    up: Mapping[str, Any] = field(default_factory=dict)
    #: The largest IP packet, bytes.
    packet: int = 1500
    #: The usual round trip, in seconds.
    rtt_s: float = 0.03
    #: Whether queues mark packets of hosts that use ECN.
    ecn: bool = True
    #: The router's device towards the modem; with PPPoE, the PPP device.
    wan: str = "WAN"
    ifb: str = "ifb4wan"
    #: The `linux` attribute of a user's own class of discipline.
    own_form: Form | None = None

    def __post_init__(self) -> None:
        for option, name in (("wan", self.wan), ("ifb", self.ifb)):
            if not _DEVICE.fullmatch(name):
                raise TcError(
                    f"{option} = {name}: a device has a name of 1 to 15 letters, digits, dots, dashes or underscores, "
                    "such as eth0 or pppoe-wan"
                )

    @cached_property
    def form(self) -> Form | None:
        return self.own_form or form(self.discipline)

    def path(self, rate_bps: float) -> Path:
        """The properties of one direction of the line from which a law computes parameters."""
        if self.form is not None and self.form.shapes:
            return Path(1000 * units.kbit(rate_bps), self.framing.on_wire(self.packet), self.rtt_s)
        return Path(rate_bps * self.framing.rate_factor, self.framing.shaped(self.packet), self.rtt_s)

    def written(self, direction: str, *, without: tuple[str, ...] = (), bare: bool = False) -> words.Written:
        """The words of the discipline. `bare` leaves out the rate and the line's framing."""
        if self.form is None:
            raise TcError(f"Linux has no {self.discipline}")
        is_up = direction == "up"
        settings = {k: v for k, v in (self.up if is_up else self.down).items() if k not in without}
        path = self.path(self.up_bps if is_up else self.down_bps)
        framing_words: list[str] = []
        if self.form.shapes and not bare:
            framing_keys = self.framing.simulated()
            if any(settings.get(k, v) != v for k, v in framing_keys.items()):
                settings = {**framing_keys, **settings}
            else:
                settings = {k: v for k, v in settings.items() if k not in framing_keys}
                framing_words = self.framing.cake.split()
            if self.form.has("rate"):
                settings["rate"] = f"{path.rate_bps:.0f}bps"
        ecn = None if "ecn" in without else self.ecn
        return words.write(self.form, settings, path, ecn=ecn, as_linux=True, behind=framing_words)


@dataclass(frozen=True)
class Line:
    """A command for a shell, and a comment on it."""

    text: str
    comment: str = ""


@dataclass(frozen=True)
class Lines:
    """The commands that set a discipline up, in order. If there are no commands, `why_not` gives the reason, and
    `instead` the next best discipline."""

    discipline: str
    up: tuple[Line, ...] = ()
    down: tuple[Line, ...] = ()
    undo: tuple[Line, ...] = ()
    #: Remarks on differences between the simulator's model and these commands, and on settings that no command has.
    remarks: tuple[str, ...] = ()
    #: Given parameters that no command can set.
    unsaid: tuple[str, ...] = ()
    why_not: str = ""
    instead: str = ""

    @property
    def commands(self) -> tuple[str, ...]:
        return tuple(line.text for line in (*self.up, *self.down))

    def script(self) -> str:
        """The commands as a script for a shell, with comments."""
        directions = (("Up", self.up), ("Down", self.down), ("To undo", self.undo))
        blocks = ["\n".join([f"# {head}", *map(_commented, lines)]) for head, lines in directions if lines]
        return "\n\n".join(blocks) + "\n" if blocks else ""


def _commented(line: Line) -> str:
    return f"# {line.comment}\n{line.text}" if line.comment else line.text


def lines(setup: Setup) -> Lines:
    """The commands that set this up on Linux."""
    if setup.form is None:
        instead = nearest(setup.discipline)
        reason = f"Linux has no {setup.discipline}; the nearest that it has is {instead}."
        return Lines(setup.discipline, why_not=reason, instead=instead)
    make, remarks = (_shaping, _SHAPING_REMARKS) if setup.form.shapes else (_below_htb, _HTB_REMARKS)
    comment = "Incoming packets pass through this device, where they can wait."
    ifb_lines = (Line(text, "" if i else comment) for i, text in enumerate(intermediate(setup.wan, setup.ifb)))
    tc_words_of = {direction: setup.written(direction) for direction in ("up", "down")}
    nat = (_NAT_REMARK,) if "nat" in tc_words_of["up"].words else ()
    return Lines(
        setup.discipline,
        up=make(setup, "up", tc_words_of["up"]),
        down=(*ifb_lines, *make(setup, "down", tc_words_of["down"])),
        undo=(
            Line(f"tc qdisc del dev {setup.wan} root", "Run these also before you paste the lines a second time."),
            Line(f"tc qdisc del dev {setup.wan} ingress"),
            Line(f"ip link del {setup.ifb}"),
        ),
        remarks=tuple(dict.fromkeys((*tc_words_of["up"].remarks, *tc_words_of["down"].remarks, *remarks, *nat))),
        unsaid=tuple(dict.fromkeys((*tc_words_of["up"].unsaid, *tc_words_of["down"].unsaid))),
    )


def without_cake(setup: Setup) -> Setup:
    """The next best commands for a router whose kernel has no `cake`: FQ-CoDel under `htb`."""
    shapes = setup.form is not None and setup.form.shapes
    return replace(setup, discipline="fq-codel", up={}, down={}) if shapes else setup


_SHAPING_REMARKS = (
    "Linux finds hosts and flows by hashes, in sets of eight; the simulator tells hosts apart exactly.",
    "Linux splits large segments (GSO) before they are queued; the simulator has none.",
)
_NAT_REMARK = "`nat` looks up the host behind the router's address; the simulator knows the hosts."
_HTB_REMARKS = (
    "htb holds one packet that has already left the discipline; the simulator's htb does not.",
    "htb and its queue see large segments (GSO, GRO) as one packet of up to 64 KB and count the line's headers once "
    "for it; the simulator has none. On slow lines turn them off (tc-stab(8)): ethtool -K DEV tso off gso off gro off.",
    "A kernel without high-resolution timers sends once a tick: `burst` has to be the rate over HZ then (tc-htb(8)).",
)


def _shaping(setup: Setup, direction: str, written: words.Written) -> tuple[Line, ...]:
    device, comment = (setup.wan, _up_comment(setup)) if direction == "up" else (setup.ifb, _down_comment(setup))
    return (Line(f"tc qdisc replace dev {device} root {written.text}", comment),)


def _up_comment(setup: Setup) -> str:
    share = acks_share(setup.framing, setup.down_bps, setup.up_bps)
    crowd = f"acknowledgements of a full download would take {share:.0%} of the upload rate"
    if setup.up.get("ack_filter", "off") != "off":
        return f"ack-filter: {crowd}; the filter drops an acknowledgement if a later one in the queue replaces it."
    return f"No ack-filter: {crowd}."


def _down_comment(setup: Setup) -> str:
    ingress_text = "ingress: packets dropped here have crossed the line, and count" if setup.down.get("ingress") else ""
    tins = str(setup.down.get("tins", "besteffort"))
    if setup.down.get("wash"):
        marks = f"{tins} wash: the provider's code points are not trusted, and are cleared"
    elif tins != "besteffort":
        marks = f"If your provider's code points mean nothing, write besteffort wash for {tins}"
    else:
        marks = ""
    return " ".join(f"{part}." for part in (ingress_text, marks) if part)


def _below_htb(setup: Setup, direction: str, written: words.Written) -> tuple[Line, ...]:
    device, line_bps = (setup.wan, setup.up_bps) if direction == "up" else (setup.ifb, setup.down_bps)
    framing = setup.framing
    rate_bps = line_bps * framing.rate_factor
    rate, burst = units.kbit_text(rate_bps), burst_bytes(rate_bps, framing)
    texts = htb(device, rate, burst, framing.htb, written.text)
    comments = ("", _shape_comment(framing, line_bps), _leaf_comment(setup.form))
    return tuple(map(Line, texts, comments))


def _leaf_comment(form: Form | None) -> str:
    if form is None:
        return ""
    return f"{form.note} {form.first}".strip()


def _shape_comment(framing: Framing, line_bps: float) -> str:
    overhead_text = f"overhead: {framing.overhead} B from the IP packet on"
    clauses = [
        f"{overhead_text}, of which the device counts {framing.device_header}"
        if framing.device_header
        else overhead_text
    ]
    if framing.cells == "ptm":
        clauses.append(f"htb knows no ptm, so that the rate is 64/65 of {units.kbit_text(line_bps)}")
    if framing.mpu:
        clauses.append("mpu: kernels from 3.7 to 5.16 ignore it")
    return "; ".join(clauses) + "."
