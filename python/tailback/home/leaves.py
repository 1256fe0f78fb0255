"""The queue under a shaper of `htb`: what Linux calls each discipline, with the defaults of production.

Limits are Linux's own unless they are asked for: an experiment gives all disciplines the same buffer, a router does
not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

#: `quantum` of FQ-CoDel below 100 Mbit/s: small packets go before large ones ("Best practices for benchmarking CoDel
#: and FQ CoDel", bufferbloat.net). The quantum of `cake` grows with the rate from 300 to 1514 (tc-cake(8), examples).
SMALL_QUANTUM, FAST_BPS = 300, 100e6
#: RFC 8289 section 4.3: this interval serves round trips of 10 to 300 ms; the target is a twentieth of it.
INTERVAL_S, LEAST_RTT_S, MOST_RTT_S = 0.100, 0.010, 0.300
#: What a network card's queue holds, and that of an IFB, when nothing is said.
CARD_PACKETS, IFB_PACKETS = 1000, 32
#: What `sfq` holds, and to how many slots it hashes (tc-sfq(8)).
SFQ_PACKETS, SFQ_BUCKETS = 127, 1024
#: The target of PIE, RFC 8033 section 4.2.
REFERENCE_S = 0.015


@dataclass(frozen=True)
class Leaf:
    """What a queue is to hold: a rate, the longest packet on the line, the round trip, and what was asked for."""

    rate_bps: float
    #: Bytes of the line's rate that a packet of 1500 B takes.
    packet_bytes: int
    rtt_s: float
    ecn: bool
    #: Packets, where a limit is asked for.
    limit: int | None = None
    #: What a queue without a limit of its own holds on the device below it.
    device_packets: int = CARD_PACKETS

    @property
    def packet_s(self) -> float:
        """What a largest packet takes on the line."""
        return 8 * self.packet_bytes / self.rate_bps


def _defaults(_leaf: Leaf) -> Mapping[str, str | int]:
    """The simulator's defaults are those of Linux."""
    return {}


@dataclass(frozen=True)
class Known:
    """A discipline as Linux has it under a shaper."""

    #: The line behind `tc qdisc replace dev DEV parent CLASS`.
    line: Callable[[Leaf], str]
    #: The same as a scenario takes it.
    simulated: Callable[[Leaf], Mapping[str, str | int]] = _defaults
    #: Where the simulator's differs from Linux's.
    differs: str = ""
    #: What has to be known before the line is used.
    note: str = ""
    #: The kind has to be in the kernel and in `tc`.
    since: str = ""


def interval_s(rtt_s: float) -> float:
    """The interval of CoDel for a round trip: 100 ms where they serve, and the round trip beyond."""
    if rtt_s > MOST_RTT_S:
        return rtt_s
    return INTERVAL_S if rtt_s >= LEAST_RTT_S else LEAST_RTT_S


def sojourn_times(leaf: Leaf) -> tuple[float, float]:
    """Target and interval of CoDel: a twentieth of the interval, and no less than one and a half packets take, as the
    packet that is being sent and the one behind it are no queue (RFC 8290 section 5.2.2 asks for one at least); the
    interval is longer by as much as the target is. `cake` does the same by itself."""
    interval = interval_s(leaf.rtt_s)
    target = interval / 20
    least = 1.5 * leaf.packet_s
    if least > target:
        return least, max(interval + least - target, 2 * least)
    return target, interval


def tc_time(t: float) -> str:
    """A time as `tc` takes it: whole milliseconds, or microseconds."""
    us = max(1, round(t * 1e6))
    return f"{us // 1000}ms" if us % 1000 == 0 else f"{us}us"


def _words(*words: str) -> str:
    return " ".join(word for word in words if word)


def _ecn(leaf: Leaf) -> str:
    return "ecn" if leaf.ecn else "noecn"


def _limit(leaf: Leaf) -> str:
    return "" if leaf.limit is None else f"limit {leaf.limit}"


def _codel_words(leaf: Leaf) -> str:
    target, interval = sojourn_times(leaf)
    if (target, interval) == (INTERVAL_S / 20, INTERVAL_S):
        return ""
    return f"target {tc_time(target)} interval {tc_time(interval)}"


def _pie_words(leaf: Leaf) -> str:
    least = 1.5 * leaf.packet_s
    return f"target {tc_time(least)}" if least > REFERENCE_S else ""


def _codel_table(leaf: Leaf) -> dict[str, str]:
    target, interval = sojourn_times(leaf)
    if (target, interval) == (INTERVAL_S / 20, INTERVAL_S):
        return {}
    return {"target": tc_time(target), "interval": tc_time(interval)}


def _fq_codel_table(leaf: Leaf) -> dict[str, str]:
    quantum = {"quantum": f"{SMALL_QUANTUM}B"} if leaf.rate_bps < FAST_BPS else {}
    return {**_codel_table(leaf), **quantum}


def _pie_table(leaf: Leaf) -> dict[str, str]:
    least = 1.5 * leaf.packet_s
    return {"reference": tc_time(least)} if least > REFERENCE_S else {}


def _dualpi2_table(leaf: Leaf) -> dict[str, str]:
    return {"target": reference} if (reference := _pie_table(leaf).get("reference")) else {}


def _red_table(leaf: Leaf) -> dict[str, str]:
    low, high = thresholds(leaf)
    limit = 4 * high if leaf.limit is None else leaf.limit
    return {"min_threshold": f"{low} packets", "max_threshold": f"{high} packets", "buffer": f"{limit} packets"}


def _fifo_table(leaf: Leaf) -> dict[str, str]:
    return {"buffer": f"{leaf.device_packets if leaf.limit is None else leaf.limit} packets"}


def _sfq_table(leaf: Leaf) -> dict[str, str | int]:
    return {"buffer": f"{SFQ_PACKETS if leaf.limit is None else leaf.limit} packets", "buckets": SFQ_BUCKETS}


def _fq_codel(leaf: Leaf) -> str:
    quantum = f"quantum {SMALL_QUANTUM}" if leaf.rate_bps < FAST_BPS else ""
    return _words("fq_codel", _limit(leaf), _codel_words(leaf), quantum, _ecn(leaf))


def _codel(leaf: Leaf) -> str:
    return _words("codel", _limit(leaf), _codel_words(leaf), _ecn(leaf))


def _pie(leaf: Leaf) -> str:
    return _words("pie", _limit(leaf), _pie_words(leaf), _ecn(leaf))


def _fq_pie(leaf: Leaf) -> str:
    return _words("fq_pie", _limit(leaf), _pie_words(leaf), _ecn(leaf))


def _dualpi2(leaf: Leaf) -> str:
    return _words("dualpi2", _limit(leaf), _pie_words(leaf) or f"target {tc_time(REFERENCE_S)}")


def _fifo(leaf: Leaf) -> str:
    return _words("pfifo", _limit(leaf))


def _head_drop(leaf: Leaf) -> str:
    return _words("pfifo_head_drop", _limit(leaf))


def _sfq(leaf: Leaf) -> str:
    return _words("sfq", _limit(leaf), "perturb 60")


def thresholds(leaf: Leaf) -> tuple[int, int]:
    """In packets: half of what the line sends in 5 ms, at least 5, at most a sixth of a limit, and three times that
    (Floyd, Gummadi and Shenker 2001, section 4)."""
    low = max(5, round(0.005 / leaf.packet_s / 2))
    if leaf.limit is not None:
        low = min(low, max(leaf.limit // 6, 1))
    return low, 3 * low


def _red_words(leaf: Leaf) -> str:
    """tc-red(8): `limit` a few times above `max`, `burst` (2 min + max) / (3 avpkt)."""
    low, high = thresholds(leaf)
    size = leaf.packet_bytes
    limit = size * (4 * high if leaf.limit is None else leaf.limit)
    burst = math.ceil((2 * low + high) / 3)
    return _words(
        f"limit {limit} min {low * size} max {high * size} avpkt {size} burst {burst}",
        f"bandwidth {kbit(leaf.rate_bps)}",
        "ecn" if leaf.ecn else "",
    )


def _red(leaf: Leaf) -> str:
    return f"red {_red_words(leaf)} probability 0.1"


def _ared(leaf: Leaf) -> str:
    return f"red {_red_words(leaf)} adaptive"


def _choke(leaf: Leaf) -> str:
    low, high = thresholds(leaf)
    limit = 4 * high if leaf.limit is None else leaf.limit
    words = f"limit {limit} min {low} max {high} avpkt {leaf.packet_bytes} burst {math.ceil((2 * low + high) / 3)}"
    return _words("choke", words, f"bandwidth {kbit(leaf.rate_bps)}", "ecn" if leaf.ecn else "")


def kbit(rate_bps: float) -> str:
    """A rate as `tc` takes it, in whole kilobits: never more than was asked for."""
    return f"{max(1, math.floor(rate_bps / 1e3 + 1e-9))}kbit"


_HASH = "Linux hashes flows to 1024 queues with another hash: which flows share a queue differs."
_DEVICE = (
    "Without a limit the queue holds as many packets as the device says: often 1000 on a network card, 32 on an IFB "
    "(`ip link show`)."
)
_RED_LIMIT = "Linux asks for a limit: four times `max` here."
_GENTLE = "Linux drops all above `max`; in the simulator drops rise from there to twice `max` (gentle)."

#: By the simulator's names.
LEAVES: dict[str, Known] = {
    "droptail": Known(_fifo, _fifo_table, note=_DEVICE),
    "front-drop": Known(_head_drop, _fifo_table, note=_DEVICE),
    "fq-codel": Known(_fq_codel, _fq_codel_table, _HASH),
    "codel": Known(_codel, _codel_table),
    "pie": Known(
        _pie,
        _pie_table,
        "Linux moves the probability at ticks of its clock: 15 ms become 16 at 250 Hz (tc-pie(8)).",
    ),
    "fq-pie": Known(
        _fq_pie,
        _pie_table,
        f"{_HASH} A full buffer drops the arrival, not a batch of the longest queue.",
        since="5.6",
    ),
    "dualpi2": Known(_dualpi2, _dualpi2_table, since="6.17"),
    "sfq": Known(
        _sfq,
        _sfq_table,
        "Linux's sfq changes its hash each minute here (the advice of tc-sfq(8)), and drops from the longest queue.",
        "Its limit is 127 packets by default.",
    ),
    "red": Known(_red, _red_table, _GENTLE, _RED_LIMIT),
    "ared": Known(_ared, _red_table, "", _RED_LIMIT),
    "choke": Known(_choke, _red_table, _GENTLE, _RED_LIMIT),
}
