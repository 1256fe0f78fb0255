"""A fabric of switches in place of one link: its topology, its traffic, and the scenario of a run.

Hosts send each other flows with sizes from a law, at a given load of their links; at times many hosts send to one at
once. Flows arrive for the duration of a run, and the run ends when all are complete. Every port of a switch has the
compared discipline. Switches, senders and thresholds are those of a rack (`rack.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailback import _core
from tailback.apps.ask.given import LinkError, chosen, parsed
from tailback.apps.ask.link import rack as racks

if TYPE_CHECKING:
    from tailback.apps.ask.link.link import Link
    from tailback.apps.ask.link.traffic import Times

#: The size laws of a workload, with their means in bytes, and requests to many servers.
SIZES = {"web-search": 1.71e6, "data-mining": 12.7e6}
INCAST = "incast"
#: The default traffic of a fabric.
CROSSES = ("web-search", INCAST)
SENDER = racks.MADE_FOR[0]
LOAD = 0.5
#: The number of hosts that send to one at once, the bytes of each, and the share of the hosts' links that these
#: transfers take.
FAN_IN, ANSWER, INCAST_LOAD = 12, "20kB", 0.02
DELAY_S = 1e-6
#: Bounds of the size classes in bytes: short flows up to the first, long flows above the last.
SHORT_BYTES, LONG_BYTES = 100_000, 1_000_000
#: A flow that is not complete this long after the last arrival is unfinished.
PATIENCE_S = 0.2
#: The number of flows of a run, and the fewest if a run takes long.
FLOWS, LEAST_FLOWS = 1500, 300


@dataclass(frozen=True)
class Shape:
    """A topology of a size that a comparison has time for."""

    words: str
    hosts: int
    #: The number of links of the longest path.
    hops: int
    table: Callable[[float], dict[str, Any]]


#: The available fabrics; no fabric is oversubscribed.
SHAPES = {
    "leaf-spine": Shape(
        "a leaf-spine of 4 leaves, 2 spines and 32 hosts",
        32,
        4,
        lambda rate: {"leaves": 4, "spines": 2, "hosts": 8, "spine_rate": f"{4 * rate:.0f}bps"},
    ),
    "fat-tree": Shape("a fat-tree of k = 4 with 16 hosts", 16, 6, lambda rate: {"k": 4}),
}


@dataclass(frozen=True)
class Fabric:
    """The fabric of a question."""

    kind: str
    #: The arriving payload as a share of the capacity of the hosts' links.
    load: float
    #: The delay of each link.
    delay_s: float

    @property
    def shape(self) -> Shape:
        return SHAPES[self.kind]


def fabric(kind: str, load: float | None, rtt: str | None) -> Fabric:
    """The checked fabric. `rtt` is the round trip from propagation delays only. Raises `LinkError`."""
    (name,) = chosen("fabric", [kind], tuple(SHAPES), "fabrics")
    load = LOAD if load is None else load
    if not 0.01 <= load <= 0.95:
        raise LinkError(
            f"load = {load:g}: give a share of the hosts' links from 0.01 to 0.95; beyond, queues only grow"
        )
    if rtt is None:
        return Fabric(name, load, DELAY_S)
    seconds = parsed("rtt", _core.parse_time, rtt)
    hops = 2 * SHAPES[name].hops
    if not hops * 1e-7 <= seconds <= 0.01:
        raise LinkError(f"rtt = {rtt}: the longest path has {hops} links there and back; give {hops / 10:g}us to 10ms")
    return Fabric(name, load, seconds / hops)


def round_trip_s(made: Fabric, rate_bps: float, packet_bytes: int) -> float:
    """The round trip of the longest path: delays both ways, and the store-and-forward time of a packet on each link."""
    hops = made.shape.hops
    return 2 * hops * made.delay_s + hops * 8 * packet_bytes / rate_bps


def arrivals_per_s(link: Link, made: Fabric) -> float:
    """Flows of the workload, without requests to many servers."""
    return made.load * made.shape.hosts * link.rate_bps / 8 / SIZES[sizes(link)]


def sizes(link: Link) -> str:
    """The law of sizes of the flows."""
    return next(kind for kind in link.traffic if kind in SIZES)


def scenario(
    link: Link, queue: Mapping[str, Any], times: Times, sender: Mapping[str, Any], switch: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The scenario with a queue. All flows have the transport `sender`. `switch` is the memory that the ports of a
    switch share."""
    fabric = _of(link)
    topology: dict[str, Any] = {
        "kind": fabric.kind,
        "rate": f"{link.rate_bps:.0f}bps",
        "delay": f"{fabric.delay_s * 1e9:.0f}ns",
        "queue": dict(queue),
        **fabric.shape.table(link.rate_bps),
    }
    if switch:
        topology |= {"shared_buffer": switch["buffer"], "alpha": switch["alpha"]}
    stop = f"{times.duration_s * 1e9:.0f}ns"
    law = sizes(link)
    sender_keys = {"stop": stop, **sender}
    workloads = {law: {"sizes": law, "load": fabric.load, **sender_keys}}
    if INCAST in link.traffic:
        answers = {"kind": "constant", "mean": ANSWER}
        requests = {"pattern": INCAST, "fan_in": FAN_IN, "sizes": answers, "load": INCAST_LOAD}
        workloads[INCAST] = {**requests, **sender_keys}
    return {
        "name": "compare",
        "duration": f"{(times.duration_s + PATIENCE_S) * 1e9:.0f}ns",
        "end": "sessions",
        "paths": "flow",
        "marking": link.ecn,
        "size_classes": [f"{SHORT_BYTES}B", f"{LONG_BYTES}B"],
        "topology": topology,
        "workload": workloads,
    }


def cost_s(link: Link, duration_s: float, hops_per_s: float) -> float:
    """The estimated seconds of a run on one core: each packet crosses its path, and an ACK comes back."""
    fabric = _of(link)
    packets = fabric.load * fabric.shape.hosts * link.rate_bps * duration_s / 8 / link.packet_bytes
    return 2 * fabric.shape.hops * packets / hops_per_s


def said(link: Link) -> list[str]:
    """A sentence for each part of the fabric's traffic."""
    fabric = _of(link)
    clauses = [f"{link.senders[0]} flows of the sizes of {sizes(link)} between all hosts at a load of {fabric.load:g}"]
    if INCAST in link.traffic:
        kilobytes = _core.parse_bytes(ANSWER) / 1000
        clauses.append(
            f"{FAN_IN} hosts at once to one, {kilobytes:g} kB each, with {INCAST_LOAD:.0%} of what hosts carry"
        )
    return clauses


def question(link: Link) -> str:
    from tailback.apps.ask.words import quantity

    return f"{_of(link).shape.words} at {quantity('bit/s', link.rate_bps)}"


def traffic(given: Sequence[str] | None) -> tuple[str, ...]:
    """The traffic of a fabric. Raises `LinkError`."""
    kinds = chosen("traffic", given or CROSSES, (*SIZES, INCAST), "kinds")
    laws = [kind for kind in kinds if kind in SIZES]
    if len(laws) > 1:
        raise LinkError(f"traffic = {','.join(kinds)}: name one law of sizes, and ask again for the other")
    if not laws:
        raise LinkError(
            f"traffic = {INCAST}: the requests of incast need other flows beside them; add {' or '.join(SIZES)}"
        )
    return tuple(kinds)


def check_senders(senders: tuple[str, ...], stacks: Collection[str]) -> None:
    """All flows have one congestion control; `stacks` are the senders that have none."""
    if stacks:
        raise LinkError(f"senders = {','.join(senders)}: a fabric has flows of TCP; name a congestion control")
    if len(senders) > 1:
        names = ",".join(senders)
        raise LinkError(
            f"senders = {names}: all flows of a fabric have one sender; name one, and ask again for another"
        )


def _of(link: Link) -> Fabric:
    if link.fabric is None:
        raise ValueError("this link is in no fabric")
    return link.fabric
