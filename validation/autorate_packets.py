"""The rule of cake-autorate on the packets of a run, beside the same rule on a fluid, as `tailback home` has it.

The shaper of each direction is written in Python: small packets first, then one queue, at a rate that may change with
each packet. With `packets` the rate is that of the rule (`apps/ask/home/follow.py`), which is told of pings that cross
this run, and of the bytes that pass its shapers; with `fluid` it has the course that the rule finds on a fluid. Lines,
transfers and seeds are the same. What differs is what a fluid leaves out: how windows fill the line, and the delays of
single pings.

    python validation/autorate_packets.py [--varies evening] [--seeds 3]
"""

from __future__ import annotations

import argparse
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import tailback as tb
from tailback.apps.ask.home import follow
from tailback.apps.ask.home.line import HomeLine, question
from tailback.apps.ask.home.measures import runs_of
from tailback.apps.ask.home.phases import BOTH, DOWN, UP, timeline
from tailback.apps.ask.home.traffic import PROBE_BYTES, SHAPER, _following, bounds, scenario
from tailback.core import stats
from tailback.runs.builder import Network, class_name

#: The probe of a home line is a ping each 20 ms: some of them are those of the rule.
PING_BYTES = PROBE_BYTES
#: Packets that are served before others, bytes at most; what may wait of the others, packets.
SMALL, MOST = 128, 60


@dataclass
class Rule:
    """The rule in both directions, and what it is told of."""

    down: follow.Shaper
    up: follow.Shaper
    #: The course of both shapers by the fluid; None where the rule itself is in force.
    courses: dict[str, tuple[list[float], list[float]]] | None
    sent: dict[int, float] = field(default_factory=dict)
    usual: list[float] = field(default_factory=lambda: [-1.0] * follow.PINGERS)
    pinger: int = 0
    counted_s: float = 0.0
    bits: dict[str, float] = field(default_factory=lambda: {"down": 0.0, "up": 0.0})
    rates: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: {"down": [], "up": []})

    def rate(self, way: str, now: float) -> float:
        if self.courses is None:
            return self.down.rate if way == "down" else self.up.rate
        times, rates = self.courses[way]
        return rates[max(bisect_right(times, now), 1) - 1]

    def back(self, number: int, now: float) -> None:
        """A ping is back."""
        if (began := self.sent.pop(number, None)) is None:
            return
        if now - self.counted_s >= follow.COUNTED_S:
            for way, shaper in (("down", self.down), ("up", self.up)):
                shaper.passed(self.bits[way] / (now - self.counted_s))
                self.bits[way] = 0.0
            self.counted_s = now
        half, k = (now - began) / 2, self.pinger
        if self.usual[k] < 0:
            self.usual[k] = half
        self.usual[k] += (follow.RISES if half >= self.usual[k] else follow.FALLS) * (half - self.usual[k])
        for way, shaper in (("down", self.down), ("up", self.up)):
            shaper.ping(now, half - self.usual[k])
            self.rates[way].append((now, self.rate(way, now)))
        self.pinger = (k + 1) % follow.PINGERS


class Way:
    """A shaper: small packets first, then the others as they come."""

    way = "up"
    rule: Rule

    def __init__(self) -> None:
        self.small: deque[Any] = deque()
        self.others: deque[Any] = deque()
        self.free_s, self.pinged_s = 0.0, -1.0

    def enqueue(self, packet: Any, line: Any, out: Any) -> None:
        if packet.bytes == PING_BYTES and self.way == "down":
            self.rule.back(packet.sequence, line.now)
        if packet.bytes <= SMALL:
            self.small.append(packet)
        elif len(self.others) < MOST:
            self.others.append(packet)
        else:
            out.dropped(packet)

    def dequeue(self, line: Any, out: Any) -> Any:
        if not (self.small or self.others):
            return None
        if line.now < self.free_s - 1e-9:
            return tb.Wait(self.free_s)
        packet = (self.small or self.others).popleft()
        self.free_s = line.now + 8 * packet.bytes / self.rule.rate(self.way, line.now)
        self.rule.bits[self.way] += 8 * packet.bytes
        is_due = line.now - self.pinged_s >= follow.SAMPLE_S - follow.EDGE_S
        if packet.bytes == PING_BYTES and self.way == "up" and is_due:
            self.rule.sent[packet.sequence] = self.pinged_s = line.now
        return packet


class WayUp(Way):
    pass


class WayDown(Way):
    way = "down"


def one(line: HomeLine, seed: int, fluid: bool) -> dict[str, float]:
    times = timeline(line)
    down, up = bounds(line)
    bits = 8 * line.framing.on_wire(line.packet)
    courses = None
    if fluid:
        assert line.varies is not None
        made = _following(line, line.varies.course(line, seed, times.duration_s), times)
        names = {"down": "shaper-down", "up": "shaper-up"}
        courses = {
            way: ([_seconds(t) for t in made[name]["at"]], [float(r.removesuffix("bps")) for r in made[name]["rate"]])
            for way, name in names.items()
        }
    Way.rule = Rule(follow.Shaper(down, bits), follow.Shaper(up, bits), courses)
    queues = tuple({"kind": "python", "class": class_name(kind)} for kind in (WayUp, WayDown))
    run = scenario(line, queues, times, seed)
    network = Network(run)
    network.queues = {SHAPER: WayUp, f"{SHAPER}.reverse": WayDown}
    results = network.run(seed=seed)
    ((_, seen),) = runs_of(results, line, times)
    found = {f"added, {name}, ms": 1e3 * seen.added(name) for name in (DOWN, UP, BOTH)}
    for name, way in ((DOWN, "down"), (UP, "up")):
        found[f"goodput {way}, Mb/s"] = seen.phases[name].goodput.get(way, 0.0) / 1e6
        phase = next(p for p in times.phases if p.name == name)
        rates = [rate for t, rate in Way.rule.rates[way] if phase.counted <= t < phase.ends]
        found[f"shaper {way}, Mb/s"] = stats.mean(rates) / 1e6
    return found


def _seconds(text: str) -> float:
    return float(text.removesuffix("ns")) * 1e-9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--varies", default="evening")
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    line = question("20Mbps", "5Mbps", "30ms", traffic=["bulk"], varies=asked.varies)
    runs = {
        who: [one(line, seed, who == "fluid") for seed in range(1, asked.seeds + 1)] for who in ("packets", "fluid")
    }
    for name in runs["packets"][0]:
        cells = [stats.estimate([run[name] for run in runs[who]]) for who in ("packets", "fluid")]
        print(
            f"{name}: "
            + ", ".join(f"{who} {e.mean:.1f} ± {e.half_width:.1f}" for who, e in zip(runs, cells, strict=True))
        )


if __name__ == "__main__":
    main()
