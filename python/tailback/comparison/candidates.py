"""What each discipline is given on a link, why, and the line of Linux's `tc` that says the same.

All have the same buffer. Where a published guideline says how a parameter follows from the link, it is followed; all
else is the discipline's default. A discipline without a function here runs with its buffer and its defaults.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tailback import _core
from tailback.ask.given import LinkError, named
from tailback.comparison.link import Link
from tailback.scenario import queues as own_queues

#: Compared unless others are named.
DEFAULT = ("droptail", "red", "codel", "pie", "fq-codel", "fq-pie", "cake", "dualpi2", "qsdrr")


@dataclass(frozen=True)
class Setting:
    """A parameter as it is set here, and why; `value` is as a scenario takes it."""

    name: str
    value: Any
    why: str


@dataclass(frozen=True)
class Candidate:
    """A discipline on a link: its settings, and what Linux calls it."""

    name: str
    settings: tuple[Setting, ...]
    #: The line of `tc` behind `tc qdisc replace dev DEV root`; none where Linux has no such discipline.
    tc: str | None = None
    #: How Linux's differs from what was simulated.
    tc_remark: str = ""
    #: The memory that the port shares with others, as `[switch.NAME]` takes it; none: its own buffer.
    switch: Mapping[str, Any] = field(default_factory=dict)
    #: Where it is found, if not in a switch as the others.
    where: str = ""
    queue: Mapping[str, Any] = field(default_factory=dict)

    def table(self) -> dict[str, Any]:
        """As a scenario takes it."""
        return {"kind": self.name, **{s.name: s.value for s in self.settings}} | dict(self.queue)


def candidate(name: str, link: Link) -> Candidate:
    """A discipline with the settings of its guideline for this link."""
    name = own_name(name)
    model = _model(name)
    _can_signal(model, link)
    make = _GUIDED.get(name)
    if make is not None:
        return make(link)
    return Candidate(name, (_buffer(link),) if _has_buffer(model) else ())


def default(link: Link) -> tuple[list[str], list[str]]:
    """The disciplines that are compared unless others are named, and a sentence for each that is left out."""
    if link.rack is not None:
        from tailback.comparison.switches import CANDIDATES

        return list(CANDIDATES), []
    left_out = [name for name in DEFAULT if not link.ecn and _model(name)["marks"] == "always"]
    why = "is left out: its signal is the mark, and hosts have no ECN; --ecn gives it to them"
    return [name for name in DEFAULT if name not in left_out], [f"{name} {why}" for name in left_out]


def _can_signal(model: Mapping[str, Any], link: Link) -> None:
    if model["marks"] == "always" and not link.ecn:
        raise LinkError(
            f"queue = {model['name']}: its signal is the mark, and hosts have no ECN; add --ecn, or leave it out"
        )


def alone(name: object, link: Link) -> tuple[str, Candidate]:
    """A discipline by its name: its name on the page, and what it is."""
    if link.rack is not None and isinstance(name, str):
        from tailback.comparison.switches import CANDIDATES

        if name in CANDIDATES:
            return name, CANDIDATES[name](link)
    if (own := own_queues.own(name)) is not None:
        return own_queues.short(own), Candidate(own, ())
    made = candidate(own_name(name), link)
    return made.name, made


def given(table: Mapping[str, Any], link: Link) -> tuple[str, Candidate]:
    """A discipline as a table: its name on the page, and what it is. Its buffer is the link's unless it has one."""
    kind = own_name(table.get("kind", ""))
    model = _model(kind)
    _can_signal(model, link)
    own = {k: v for k, v in table.items() if k not in ("kind", "name")}
    settings = tuple(Setting(k, v, "as asked for") for k, v in own.items())
    if "buffer" not in own and _has_buffer(model):
        settings = (_buffer(link), *settings)
    name = str(table.get("name", kind))
    return name, Candidate(kind, settings)


def own_name(given: Any) -> str:
    """The own name of a discipline, of which Linux, ns-2 and ns-3 may have another. Raises `LinkError`."""
    return named("queue", "queue", given, "discipline")


def _model(name: str) -> Mapping[str, Any]:
    from tailback.scenario.reference import describe

    found: Mapping[str, Any] = next(m for m in describe(name) if m["family"] == "queue")
    return found


def _has_buffer(model: Mapping[str, Any]) -> bool:
    """A shaper has none: it is in the discipline behind it."""
    return any(p["name"] == "buffer" for p in model["parameters"])


def _buffer(link: Link) -> Setting:
    return Setting("buffer", link.buffer, f"the same for all: {link.buffer_why}")


def seconds(t: float) -> str:
    """A time as a scenario takes it."""
    return f"{t * 1e3:.6g}ms" if t >= 1e-3 else f"{t * 1e6:.6g}us"


def tc_time(t: float) -> str:
    """A time as `tc` takes it: whole microseconds, or milliseconds."""
    us = max(1, round(t * 1e6))
    return f"{us // 1000}ms" if us % 1000 == 0 else f"{us}us"


def tc_rate(rate_bps: float) -> str:
    """A rate as `tc` takes it, in the largest unit that keeps it whole."""
    bits = round(rate_bps)
    for factor, unit in ((10**9, "gbit"), (10**6, "mbit"), (10**3, "kbit")):
        if bits % factor == 0:
            return f"{bits // factor}{unit}"
    return f"{bits}bit"


def _tc_ecn(link: Link) -> str:
    return "ecn" if link.ecn else "noecn"


# CoDel and its kin


def sojourn_times(link: Link) -> tuple[float, float, str]:
    """Target and interval of CoDel for a link, and why.

    RFC 8289 sections 4.3 and 4.4: the interval is of the order of the longest round trip, and 100 ms serve 10 to 300
    ms; the target is 5 to 10 % of the interval, and no less than a packet takes on the line. As a packet that is being
    sent keeps the one behind it for up to one of these times, one and a half are given here.
    """
    interval, why = _interval(link)
    target = 0.05 * interval
    why += "; the target is a twentieth of it"
    if 1.5 * link.packet_s > target:
        interval += 1.5 * link.packet_s - target
        target = 1.5 * link.packet_s
        interval = max(interval, 2 * target)
        why = (
            f"a packet takes {seconds(link.packet_s)} on this line: the target is one and a half, "
            "the interval longer by as much"
        )
    return target, interval, f"{why} (RFC 8289 sections 4.3, 4.4)"


def _interval(link: Link) -> tuple[float, str]:
    if 0.010 <= link.longest_rtt_s <= 0.300:
        return 0.100, "100 ms serve round trips of 10 to 300 ms"
    return link.longest_rtt_s, "the longest round trip"


def _codel_settings(link: Link) -> tuple[Setting, ...]:
    target, interval, why = sojourn_times(link)
    return Setting("target", seconds(target), why), Setting("interval", seconds(interval), why)


def _tc_codel(link: Link) -> str:
    target, interval, _ = sojourn_times(link)
    return f"target {tc_time(target)} interval {tc_time(interval)}"


def _codel(link: Link) -> Candidate:
    settings = (_buffer(link), *_codel_settings(link))
    return Candidate("codel", settings, f"codel limit {link.buffer_packets} {_tc_codel(link)} {_tc_ecn(link)}")


def _fq_codel(link: Link) -> Candidate:
    settings = (_buffer(link), *_codel_settings(link))
    line = f"fq_codel limit {link.buffer_packets} flows 1024 quantum 1514 {_tc_codel(link)} {_tc_ecn(link)}"
    return Candidate("fq-codel", settings, line)


def _cobalt(link: Link) -> Candidate:
    return Candidate("cobalt", (_buffer(link), *_codel_settings(link)))


def _fq_cobalt(link: Link) -> Candidate:
    return Candidate("fq-cobalt", (_buffer(link), *_codel_settings(link)))


def _cake(link: Link) -> Candidate:
    target, interval, why = sojourn_times(link)
    # There the line's packets are added by itself.
    rtt = tc_time(_interval(link)[0])
    settings = (
        _buffer(link),
        Setting("target", seconds(target), why),
        Setting("interval", seconds(interval), why),
        Setting("tins", "diffserv3", "its own default: the call is marked as one (EF) and has a class of its own"),
    )
    line = f"cake bandwidth {tc_rate(link.rate_bps)} diffserv3 triple-isolate rtt {rtt} memlimit {link.buffer_bytes}b"
    remark = (
        "There cake is the shaper too, and takes its target from the rate and from rtt; here the line itself is "
        "the rate."
    )
    return Candidate("cake", settings, line, remark)


# PIE and its kin


def reference_delay(link: Link) -> tuple[float, str]:
    """The delay PIE holds: RFC 8033 section 4.2, and as for CoDel no less than one and a half packets take."""
    if 1.5 * link.packet_s > 0.015:
        return 1.5 * link.packet_s, f"a packet takes {seconds(link.packet_s)} on this line: one and a half"
    return 0.015, "RFC 8033 section 4.2"


def _reference(link: Link) -> Setting:
    reference, why = reference_delay(link)
    return Setting("reference", seconds(reference), why)


def _pie(link: Link) -> Candidate:
    line = f"pie limit {link.buffer_packets} target {tc_time(reference_delay(link)[0])} tupdate 15ms {_tc_ecn(link)}"
    return Candidate("pie", (_buffer(link), _reference(link)), line)


def _fq_pie(link: Link) -> Candidate:
    target = tc_time(reference_delay(link)[0])
    line = f"fq_pie limit {link.buffer_packets} flows 1024 target {target} tupdate 15ms quantum 1514 {_tc_ecn(link)}"
    return Candidate("fq-pie", (_buffer(link), _reference(link)), line)


def _dualpi2(link: Link) -> Candidate:
    reference, why = reference_delay(link)
    settings = [_buffer(link)]
    line = f"dualpi2 limit {link.buffer_packets}"
    if reference > 0.015:
        settings.append(Setting("target", seconds(reference), why))
        line += f" target {tc_time(reference)}"
    remark = "Since Linux 6.17; older versions of tc do not know it."
    if not any((_core.control_facts(s) or {}).get("codepoint") == "ect1" for s in link.senders):
        remark += " None of these senders marks its packets as L4S, so that its second queue stays empty."
    return Candidate("dualpi2", tuple(settings), line, remark)


# RED


def red_thresholds(link: Link) -> tuple[float, float]:
    """In packets: half of what the line sends in 5 ms, at least 5, at most a sixth of the buffer; and three times
    that."""
    low = min(max(link.packets_per_s * 0.005 / 2, 5.0), max(link.buffer_packets / 6, 1.0))
    return low, 3 * low


def red_weight(link: Link) -> float:
    return 1 - math.exp(-1 / link.packets_per_s)


def red_burst(low: float, weight: float) -> int:
    """The largest burst from an empty queue that keeps the average below the lower threshold: Floyd and Jacobson 1993,
    equation 3, L + 1 + ((1 - w)^(L + 1) - 1) / w < low. Linux takes the burst and works out the weight."""

    def average(burst: int) -> float:
        return burst + 1 + math.expm1((burst + 1) * math.log1p(-weight)) / weight

    below, above = 1, 2
    while average(above) < low:
        below, above = above, 2 * above
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if average(middle) < low else (below, middle)
    return below


def _red_settings(link: Link) -> tuple[Setting, ...]:
    low, high = red_thresholds(link)
    guide = "Floyd, Gummadi and Shenker 2001, section 4"
    return (
        _buffer(link),
        Setting(
            "min_threshold",
            f"{low:.4g} packets",
            f"half of what the line sends in 5 ms, at least 5 packets, at most a sixth of the buffer ({guide})",
        ),
        Setting("max_threshold", f"{high:.4g} packets", f"three times that ({guide})"),
        Setting("weight_rule", "rate", f"the average forgets in a second, 1 - exp(-1/C) ({guide})"),
        Setting("mean_packet", f"{link.packet_bytes}B", "what most packets have"),
    )


def _red(link: Link) -> Candidate:
    low, high = red_thresholds(link)
    size = link.packet_bytes
    words = [
        f"red limit {max(link.buffer_bytes, math.ceil(high * size))} min {math.ceil(low * size)} max "
        f"{math.ceil(high * size)}",
        f"avpkt {size} burst {red_burst(low, red_weight(link))} bandwidth {tc_rate(link.rate_bps)} probability 0.1",
    ]
    if link.ecn:
        words.append("ecn")
    return Candidate(
        "red",
        _red_settings(link),
        " ".join(words),
        "Linux drops all above max; here, as Floyd recommended in 2000, drops rise from there to twice max "
        "(gentle). tc may warn that the burst is large: "
        "the average forgets in a second, as the guideline has it.",
    )


def _ared(link: Link) -> Candidate:
    settings = tuple(s for s in _red_settings(link) if s.name != "weight_rule")
    return Candidate("ared", settings)


# FIFO and queues with longest-queue drop


def _droptail(link: Link) -> Candidate:
    packets = link.buffer_in == "packets"
    line = f"pfifo limit {link.buffer_packets}" if packets else f"bfifo limit {link.buffer_bytes}"
    return Candidate("droptail", (_buffer(link),), line)


def _sfq(link: Link) -> Candidate:
    line = f"sfq limit {link.buffer_packets} divisor 1024 quantum 1514"
    return Candidate("sfq", (_buffer(link),), line, "Linux's sfq has other buckets, and drops from the longest.")


_GUIDED: dict[str, Callable[[Link], Candidate]] = {
    "droptail": _droptail,
    "red": _red,
    "ared": _ared,
    "codel": _codel,
    "pie": _pie,
    "cobalt": _cobalt,
    "fq-codel": _fq_codel,
    "fq-pie": _fq_pie,
    "fq-cobalt": _fq_cobalt,
    "cake": _cake,
    "dualpi2": _dualpi2,
    "sfq": _sfq,
}
