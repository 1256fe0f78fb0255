"""The measures of a fabric: slowdowns of short and long flows, and drops and marks of the switches."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tailback.apps.ask.link.fabric import INCAST, LONG_BYTES
from tailback.apps.ask.link.link import Link
from tailback.apps.ask.measure import Measure
from tailback.core.results.means import by_run

#: The layer of the hosts' own ports.
HOSTS = "host.reverse"


@dataclass(frozen=True)
class SizeRange:
    """A class of sizes, named by the size that its flows exceed."""

    name: str
    over: float
    words: str


SHORT = SizeRange("short", 0, "up to 100 kB")
LONG = SizeRange("long", LONG_BYTES, "above 1 MB")


@dataclass(frozen=True)
class FabricSeed:
    """The run of a discipline with one seed: rows of slowdowns by workload, and of layers."""

    slowdowns: dict[str, list[dict[str, Any]]]
    #: Rows of the layers of switch ports, without those of hosts.
    layers: list[dict[str, Any]]

    def slowdown(self, which: SizeRange, column: str) -> float:
        """The slowdown of a class of flows; NaN if there were too few flows."""
        rows = [r for r in self.of_flows() if r["sizes"] != "all" and r["bytes_over"] == which.over]
        return float(rows[0][column]) if rows else math.nan

    def of_all(self, group: str) -> list[dict[str, Any]]:
        """The row of all sizes of a workload."""
        return [r for r in self.slowdowns.get(group, []) if r["sizes"] == "all"]

    def of_flows(self) -> list[dict[str, Any]]:
        """The classes of the workload that is not incast."""
        return next((rows for group, rows in self.slowdowns.items() if group not in (INCAST, "all")), [])


class FabricMeasure(Measure[Link, FabricSeed]):
    """A quantity by which disciplines are compared in a fabric."""


def asked(link: Link) -> list[FabricMeasure]:
    """The measures of a fabric."""
    return [m for m in MEASURES if m.asked(link)]


def _slowdown(which: SizeRange, percentile: int, least: float, doc: str) -> FabricMeasure:
    """A percentile of the slowdowns of a class of flows."""
    words = "median" if percentile == 50 else f"{percentile}th percentile"
    return FabricMeasure(
        name=f"{which.name}_p{percentile}",
        title=f"slowdown of flows {which.words}, {words}",
        head=f"{which.name} p{percentile}",
        unit="1",
        better="less",
        least=least,
        doc=doc,
        value=lambda seed: seed.slowdown(which, f"slowdown_ideal_p{percentile}"),
    )


def _of_incast(seed: FabricSeed) -> float:
    return next((float(r["slowdown_ideal_p99"]) for r in seed.of_all(INCAST)), math.nan)


def _unfinished(seed: FabricSeed) -> float:
    return float(sum(r["unfinished"] for group in seed.slowdowns if group != "all" for r in seed.of_all(group)))


def _ports(column: str) -> Callable[[FabricSeed], float]:
    """A count of all ports, divided by the arrivals there."""

    def value(seed: FabricSeed) -> float:
        arrived_packets = sum(row["arrived_packets"] for row in seed.layers)
        return sum(row[column] for row in seed.layers) / arrived_packets if arrived_packets else math.nan

    return value


IDEAL = "completion time divided by the ideal one, which is the delays and all packets sent back to back"
MEASURES: list[FabricMeasure] = [
    _slowdown(SHORT, 50, 0.1, f"{IDEAL}; half of the short flows have at most this"),
    _slowdown(SHORT, 99, 1.0, "99 of 100 short flows have at most this; a wait for a timer shows here"),
    _slowdown(LONG, 50, 0.1, "half of the long flows have at most this; it shows the rate that the links leave them"),
    _slowdown(LONG, 99, 0.5, "99 of 100 long flows have at most this"),
    FabricMeasure(
        name="incast_p99",
        title="slowdown of answers that many hosts send at once, 99th percentile",
        head="incast p99",
        unit="1",
        better="less",
        least=2.0,
        asked=lambda link: INCAST in link.traffic,
        doc="the ideal is that of one answer alone; the smallest possible value is the number of answers at once",
        value=_of_incast,
    ),
    FabricMeasure(
        name="loss_rate",
        title="loss rate of the switches",
        head="loss",
        unit="%",
        better="less",
        least=0.0001,
        doc="share of the packets arriving at the switches' ports that are dropped",
        value=_ports("dropped_packets"),
    ),
    FabricMeasure(
        name="unfinished",
        title="unfinished flows",
        head="unfinished",
        unit="1",
        better="less",
        least=1.0,
        doc="flows that are not done 200 ms after the last arrival",
        value=_unfinished,
    ),
    FabricMeasure(
        name="marked",
        title="share of packets that are marked",
        head="marked",
        unit="%",
        better=None,
        doc="CE marks divided by the packets that arrive at the switches' ports; reported, not ranked",
        value=_ports("marked_packets"),
    ),
]


def views(results: Any) -> dict[str, list[FabricSeed]]:
    """The runs of each discipline by seed, in order. `results` have the label `queue`."""
    slowdowns, layers = by_run(results.slowdowns), by_run(results.layers)
    seeds_of: dict[str, list[FabricSeed]] = {}
    for run in results.runs.rows():
        if run["status"] != "done":
            continue
        by_group: dict[str, list[dict[str, Any]]] = {}
        for row in slowdowns.get(run["run"], []):
            by_group.setdefault(str(row["group"]), []).append(row)
        switch_rows = [row for row in layers.get(run["run"], []) if row["layer"] != HOSTS]
        seeds_of.setdefault(run["queue"], []).append(FabricSeed(by_group, switch_rows))
    return seeds_of
