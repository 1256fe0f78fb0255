"""The formulas that set a discipline's parameters for a link, each with its source.

A link here is a rate, the bytes of a largest packet on it, and the longest usual round trip. Times are in seconds. A
discipline's row names the law that it follows (`law` of `tailback describe --json`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: RFC 8289 section 4.3: this interval serves round trips from 10 to 300 ms.
INTERVAL_S, LEAST_RTT_S, MOST_RTT_S = 0.100, 0.010, 0.300
#: The delay that PIE aims at: RFC 8033 section 4.2, QDELAY_REF.
REFERENCE_S = 0.015
#: A quantum, in bytes, with which small packets go before large ones. This quantum is for FQ-CoDel below 100 Mbit/s
#: ("Best practices for benchmarking CoDel and FQ CoDel", bufferbloat.net). tc-cake(8) has 300 to 1514, which depends on
#: the rate.
SMALL_QUANTUM, FAST_BPS = 300, 100e6
#: RED averages over a second. The lower threshold of RED is half of the bytes that the line sends in this time.
RED_DELAY_S = 0.005
RED_SOURCE = "Floyd, Gummadi and Shenker 2001, section 4"
#: The limit of RED as a multiple of the upper threshold: "a few times" (tc-red(8)).
RED_LIMIT = 4
#: The largest exponent of a weight in Linux.
MOST_EXPONENT = 31


@dataclass(frozen=True)
class Path:
    """The properties of a link from which a law computes parameters."""

    rate_bps: float
    #: Bytes of a largest packet as the rate counts them.
    packet_bytes: int
    rtt_s: float

    @property
    def packet_s(self) -> float:
        return 8 * self.packet_bytes / self.rate_bps

    @property
    def least_s(self) -> float:
        """The smallest delay that can be a target: the time to send one packet and half of the next."""
        return 1.5 * self.packet_s


@dataclass(frozen=True)
class Setting:
    """A parameter's value, as a scenario has it, and the reason for it."""

    name: str
    value: Any
    why: str


def seconds(t: float) -> str:
    """A time as a scenario writes it. The time has whole microseconds, as in Linux, so that the line of `tc` and the
    simulation agree."""
    us = max(1, round(t * 1e6))
    return f"{us / 1000:g}ms" if us >= 1000 else f"{us}us"


# CoDel


def interval(rtt_s: float) -> tuple[float, str]:
    """RFC 8289 section 4.3: of the order of the longest round trip."""
    if LEAST_RTT_S <= rtt_s <= MOST_RTT_S:
        return INTERVAL_S, "100 ms serve round trips of 10 to 300 ms (RFC 8289 section 4.3)"
    return rtt_s, "the longest round trip (RFC 8289 section 4.3)"


def sojourn_times(path: Path) -> tuple[float, float, str]:
    """Target and interval of CoDel, and the reasons. The target is 5 to 10 % of the interval, and no less than the time
    to send a packet (RFC 8289 sections 4.3 and 4.4). A packet that is being sent can delay the next one by this time,
    so the target is one and a half times it. The interval then grows by as much, and is at least twice the target, as
    in Linux's `cake`."""
    length, reason = interval(path.rtt_s)
    target = length / 20
    if path.least_s <= target:
        return target, length, f"{reason}; the target is a twentieth of it (section 4.4)"
    least_s = path.least_s
    return (
        least_s,
        max(length + least_s - target, 2 * least_s),
        f"a packet takes {seconds(path.packet_s)} on this line: the target is one and a half, the interval longer by "
        "as much (RFC 8289 sections 4.3, 4.4)",
    )


def base_interval(target: float, stretched: float, path: Path | None) -> float | None:
    """The interval for which [`sojourn_times`] gives this target and interval; None if there is no such interval."""

    def same(a: float, b: float) -> bool:
        return abs(a - b) <= 2e-6

    if same(20 * target, stretched):
        return stretched
    if path is None or not same(target, path.least_s):
        return None
    base = (stretched - target) * 20 / 19
    return base if same(stretched, max(base + target - base / 20, 2 * target)) else None


# PIE


def reference_delay(path: Path) -> tuple[float, str]:
    """The target of PIE: RFC 8033 section 4.2, but at least the time of one and a half packets, as for CoDel."""
    if path.least_s > REFERENCE_S:
        return path.least_s, f"a packet takes {seconds(path.packet_s)} on this line: one and a half"
    return REFERENCE_S, "RFC 8033 section 4.2"


# RED


def thresholds(path: Path, limit: int | None) -> tuple[int, int]:
    """Both thresholds in whole packets. The lower threshold is half of the packets that the line sends in 5 ms, at
    least 5, and at most a sixth of the limit; the upper is three times the lower. Floyd, Gummadi and Shenker 2001,
    section 4."""
    min_threshold = max(5, round(RED_DELAY_S / path.packet_s / 2))
    if limit is not None:
        min_threshold = min(min_threshold, max(limit // 6, 1))
    return min_threshold, 3 * min_threshold


def automatic_thresholds(rate_bps: float, mean_packet: int, room: float, target_s: float | None) -> tuple[float, float]:
    """Both default thresholds of the simulator's RED, in packets. The lower is half of the mean packets that the line
    sends in `target_s`, and at least 5; the upper is three times the lower. Without a target, `target_s` is 5 ms and
    the ramp ends within a buffer of `room` packets (`tailback describe red`)."""
    half_packets = (RED_DELAY_S if target_s is None else target_s) * rate_bps / (8 * mean_packet) / 2
    min_threshold = (
        max(half_packets, 5.0) if target_s is not None else min(max(min(half_packets, room / 6), 5.0), room / 3)
    )
    return min_threshold, 3 * min_threshold


def weight(path: Path) -> float:
    """The weight for which the average has a time constant of one second: 1 - exp(-1/C) for C packets a second."""
    return -math.expm1(-path.packet_s)


def exponent_of_burst(min_packets: float, burst: int) -> int | None:
    """The exponent w of the weight 2^-w that iproute2 computes from a burst (`tc_red_eval_ewma`). This exponent is the
    first one for which a burst of L packets into an empty queue leaves the average at or below the lower threshold
    (Floyd and Jacobson 1993, equation 3: L + 1 + ((1 - W)^L - 1) / W). None if iproute2 refuses the burst."""
    burst_above = burst + 1 - min_packets
    if burst_above < 1:
        return None
    fits = (w for w in range(1, MOST_EXPONENT + 1) if burst_above <= _filtered(w, burst))
    return next(fits, None)


def _filtered(w: int, burst: int) -> float:
    return -math.expm1(burst * math.log1p(-(2.0**-w))) * 2.0**w


def burst(min_packets: float, wanted: float) -> tuple[int, int]:
    """The largest burst for which Linux takes the weight nearest, by ratio, to the wanted weight; and the exponent of
    Linux's weight."""
    target = min(max(round(-math.log2(wanted)), 1), MOST_EXPONENT)
    for w in range(target, 0, -1):
        largest = _largest_burst(min_packets, w)
        if largest is not None:
            return largest, w
    return max(1, math.ceil(min_packets)), 1


def _largest_burst(min_packets: float, w: int) -> int | None:
    """The largest burst that yields this exponent; None if no burst does."""
    burst_below = max(1, math.ceil(min_packets))
    if (least := exponent_of_burst(min_packets, burst_below)) is None or least > w:
        return None
    burst_above = 2 * burst_below
    while burst_above + 1 - min_packets <= _filtered(w, burst_above):
        burst_below, burst_above = burst_above, 2 * burst_above
    while burst_above - burst_below > 1:
        middle = (burst_below + burst_above) // 2
        burst_below, burst_above = (
            (middle, burst_above) if middle + 1 - min_packets <= _filtered(w, middle) else (burst_below, middle)
        )
    return burst_below if exponent_of_burst(min_packets, burst_below) == w else None


# All laws, by the name that a discipline declares


def settings(
    law: Mapping[str, Any] | None, path: Path, limit: int | None = None, *, shapes: bool = False
) -> tuple[Setting, ...]:
    """The parameters that this law sets on a link; empty without a law. `limit` is the buffer in packets. `shapes` is
    true if the discipline shapes to the rate by itself."""
    name = law["name"] if law else ""
    # A discipline with a parameter for its rate adds the time of a packet by itself.
    match "sojourn" if name == "round-trip" and not shapes else name:
        case "sojourn":
            target, length, reason = sojourn_times(path)
            return Setting("target", seconds(target), reason), Setting("interval", seconds(length), reason)
        case "round-trip":
            length, reason = interval(path.rtt_s)
            return (Setting(str(law and law["parameter"]), seconds(length), reason),)
        case "delay":
            reference, reason = reference_delay(path)
            return (Setting(str(law and law["parameter"]), seconds(reference), reason),)
        case "average":
            return _red(path, limit)
    return ()


def _red(path: Path, limit: int | None) -> tuple[Setting, ...]:
    min_threshold, max_threshold = thresholds(path, limit)
    packets, exponent = burst(min_threshold, weight(path))
    half_text = f"half of what the line sends in 5 ms, at least 5 packets, at most a sixth of the buffer ({RED_SOURCE})"
    forgets = (
        f"the average forgets in a second, 1 - exp(-1/C) ({RED_SOURCE}): the power of two that Linux has for a burst "
        f"of {packets} packets"
    )
    return (
        Setting("min_threshold", f"{min_threshold} packets", half_text),
        Setting("max_threshold", f"{max_threshold} packets", f"three times that ({RED_SOURCE})"),
        Setting("weight_rule", "given", forgets),
        Setting("weight", 2.0**-exponent, forgets),
        Setting("mean_packet", f"{path.packet_bytes}B", "what most packets have"),
    )
