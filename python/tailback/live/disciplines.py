"""Disciplines of a scenario in the words of `tc`: what a link of the box has, for a queue of this kernel.

Lengths are those of IP packets, as a TUN device has no Ethernet header: `overhead` of `htb` counts from there, as the
scenario's does, and not from the Ethernet packet as on a router's own device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tailback import _core
from tailback.live.tc import FULL_PACKET

#: As many packets as a queue without a limit is told.
UNLIMITED = 1_000_000


class NotPossible(ValueError):
    """The scenario asks for something that no kernel, or not this one, can do: wrong input."""


@dataclass(frozen=True)
class Line:
    """A queue behind `tc qdisc replace dev DEV root` or below a class."""

    #: Of the kernel.
    kind: str
    words: str
    #: Of the class of `htb`, in bits: its rate; what it may send at once; headers of the line.
    rate_bps: float = 0.0
    burst: int = FULL_PACKET
    counted: str = ""
    #: Bytes of the rate that a packet of 1500 B takes.
    packet: int = 1500
    #: It shapes by itself.
    shapes: bool = False

    @property
    def rate(self) -> str:
        return f"{self.rate_bps:.0f}bit"

    @classmethod
    def of_link(cls, rate_bps: float) -> Line:
        """A class that is as fast as a link, and sends packet by packet as a link does."""
        return cls("", "", rate_bps)

    @classmethod
    def of_htb(cls, given: Mapping[str, Any]) -> Line:
        """The class of the scenario's `htb`."""
        overhead, mpu = (_core.parse_bytes(str(given.get(key, "0B"))) for key in ("overhead", "mpu"))
        framing = given.get("framing", "plain")
        # It does not know the codes of PTM: 64 of 65 bytes are left.
        rate = _core.parse_rate(str(given["rate"])) * (64 / 65 if framing == "ptm" else 1)
        counted = f"overhead {overhead} mpu {mpu} linklayer {'atm' if framing == 'atm' else 'ethernet'}"
        length = max(1500 + overhead, mpu)
        packet = 53 * -(-length // 48) if framing == "atm" else length
        burst = max(_core.parse_bytes(str(given.get("burst", "1514B"))), FULL_PACKET)
        return cls("", "", rate, burst, counted, packet)


def leaf(given: Mapping[str, Any], link: str, line: Line, marking: bool) -> Line:
    """The discipline below a class."""
    kind = given["kind"]
    made = _LEAVES.get(kind)
    if made is None:
        raise NotPossible(
            f"--kernel {link}: Linux has no queue that is the {kind} of link.{link}; the kernel can have "
            f"{', '.join(sorted(_LEAVES))}, and cake"
        )
    kernel, words, known = made(given, line, marking)
    _no_more(given, known, link)
    return Line(kernel, words, line.rate_bps, line.burst, line.counted, line.packet)


def _no_more(given: Mapping[str, Any], known: Mapping[str, Any], link: str) -> None:
    for key in given:
        if key != "kind" and key not in known:
            raise NotPossible(f"--kernel {link}: {given['kind']} of the kernel is not told {key}; leave {key} out")


_Made = tuple[str, str, Mapping[str, str]]


def _droptail(given: Mapping[str, Any], _line: Line, _marking: bool) -> _Made:
    number, unit = _core.parse_size(str(given.get("buffer", "unlimited")))
    kind = "bfifo" if unit == "bytes" else "pfifo"
    return kind, f"{kind} limit {UNLIMITED if number is None else number}", {"buffer": ""}


def _red(given: Mapping[str, Any], line: Line, marking: bool) -> _Made:
    """tc-red(8): thresholds in bytes; `burst` (2 min + max) / (3 avpkt)."""
    low, high, limit = (_packets(given, key) for key in ("min_threshold", "max_threshold", "buffer"))
    size = line.packet
    words = f"red limit {limit * size} min {low * size} max {high * size} avpkt {size} "
    words += f"burst {math.ceil((2 * low + high) / 3)} bandwidth {line.rate} probability 0.1"
    return "red", words + (" ecn" if marking else ""), dict.fromkeys(("min_threshold", "max_threshold", "buffer"), "")


def _packets(given: Mapping[str, Any], key: str) -> int:
    number, unit = _core.parse_size(str(given.get(key, "unlimited")))
    if unit != "packets":
        raise NotPossible(f"--kernel: {key} of red has to be given in packets, such as 15 packets")
    return int(number or 0)


def _told(kernel: str, words: Mapping[str, str], first: str = "", ecn: bool = True) -> Callable[..., _Made]:
    """A discipline that is told numbers by words of its own."""

    def made(given: Mapping[str, Any], _line: Line, marking: bool) -> _Made:
        said = [kernel, first]
        for key, word in words.items():
            if key in given:
                said.append(f"{word} {_number(str(given[key]))}")
        if ecn:
            said.append("ecn" if marking else "noecn")
        return kernel, " ".join(word for word in said if word), words

    return made


def _number(text: str) -> str:
    """As `tc` takes it: packets and bytes without a unit, times in microseconds."""
    if text.isdigit():
        return text
    try:
        number, unit = _core.parse_size(text)
        return f"{UNLIMITED if unit == 'unlimited' else number}"
    except ValueError:
        return f"{max(1, round(1e6 * _core.parse_time(text)))}us"


#: By the simulator's names.
_LEAVES: dict[str, Callable[..., _Made]] = {
    "droptail": _droptail,
    "front-drop": _told("pfifo_head_drop", {"buffer": "limit"}, ecn=False),
    "red": _red,
    "codel": _told("codel", {"target": "target", "interval": "interval", "buffer": "limit"}),
    "fq-codel": _told(
        "fq_codel", {"target": "target", "interval": "interval", "quantum": "quantum", "buffer": "limit"}
    ),
    "pie": _told("pie", {"reference": "target", "buffer": "limit"}),
    "fq-pie": _told("fq_pie", {"reference": "target", "buffer": "limit"}),
    "sfq": _told("sfq", {"buffer": "limit", "buckets": "divisor"}, "perturb 60", ecn=False),
}

#: What `tc` calls the values of two keys of `cake`, where it has other words.
_ISOLATION = {"triple": "triple-isolate", "dual-src": "dual-srchost", "dual-dst": "dual-dsthost"}
_ACK_FILTER = {"conservative": "ack-filter", "aggressive": "ack-filter-aggressive"}
#: Keys of `cake`, and how `tc` says their values.
_CAKE: dict[str, Callable[[str], str]] = {
    "overhead": lambda v: f"overhead {_core.parse_bytes(v)}",
    "mpu": lambda v: f"mpu {_core.parse_bytes(v)}",
    "framing": lambda v: {"plain": "noatm", "atm": "atm", "ptm": "ptm"}[v],
    "tins": str,
    "isolation": lambda v: _ISOLATION.get(v, v),
    "ingress": lambda v: "ingress" if v == "True" else "egress",
    "ack_filter": lambda v: _ACK_FILTER.get(v, "no-ack-filter"),
    "rtt": lambda v: f"rtt {_number(v)}",
}


def own_shaper(given: Mapping[str, Any], link: str) -> Line | None:
    """`cake`, which shapes by itself; None for anything else."""
    if given["kind"] != "cake" or "rate" not in given:
        return None
    _no_more(given, {**_CAKE, "rate": ""}, link)
    rate = _core.parse_rate(str(given["rate"]))
    said = [say(str(given[key])) for key, say in _CAKE.items() if key in given]
    return Line("cake", " ".join(["cake", f"bandwidth {rate:.0f}bit", *said]), rate, shapes=True)
