"""What a packet costs under each discipline: CPU of whole runs per packet, beside drop-tail with events of its own.

    python benches/disciplines.py [NAME ...] [--rounds 3]

A hundred flows on 100 Mb/s and ten thousand on 1 Gb/s, each discipline with its defaults and a buffer of 200
packets (2000). The time of a run, without that of a run of a millisecond, which is the setting up, is divided by the
packets that the bottleneck delivered, both ways, and by what drop-tail takes; the least of the rounds counts. Drop-tail
is otherwise computed without events: `count_in_service` has it asked for each packet, as all others are.

A packet delivered has to bear those that were dropped, with all their senders did to repeat them: a discipline that
keeps a short queue drops more and looks dearer. The second number divides by the packets that arrived instead, and the
loss stands beside.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from typing import Any

import tailback as tb

#: (flows, rate, duration, buffer)
SIZES = [(100, "100Mbps", "10s", "200 packets"), (10_000, "1Gbps", "2s", "2000 packets")]
#: At most so many times drop-tail: with one queue, and with many.
ONE, MANY = 2.0, 2.5


def scenario(queue: dict[str, Any], size: tuple[int, str, str, str]) -> dict[str, Any]:
    flows, rate, duration, buffer = size
    tcp = {"variant": "sack", "payload": "960B", "timestamps": False, "delayed_ack": 1, "ecn": "off"}
    return {
        "duration": duration,
        "topology": {"kind": "dumbbell", "rate": rate, "delay": "10ms", "queue": {"buffer": buffer, **queue}},
        "flows": {"bulk": {"count": flows, "rtt": ["40ms", "60ms", "80ms", "100ms"], "start": "0s", "tcp": tcp}},
    }


@dataclass(frozen=True)
class Cost:
    """CPU nanoseconds a packet delivered and a packet arrived, the least of the rounds; loss rate of the way there."""

    delivered: float
    arrived: float
    loss: float


def cost(queue: dict[str, Any], size: tuple[int, str, str, str], rounds: int) -> Cost:
    least = setting_up = float("inf")
    for _ in range(rounds):
        begun = time.process_time()
        tb.run({**scenario(queue, size), "duration": "1ms"}, jobs=1)
        between = time.process_time()
        result = tb.run(scenario(queue, size), jobs=1)
        setting_up = min(setting_up, between - begun)
        least = min(least, time.process_time() - between)
    least -= setting_up
    delivered = sum(row["delivered_packets"] for row in result.links)
    arrived = sum(row["arrived_packets"] for row in result.links)
    return Cost(1e9 * least / delivered, 1e9 * least / arrived, max(row["loss_rate"] for row in result.links))


def names() -> list[str]:
    queues = next(f for f in tb.describe() if f["family"] == "queue")
    return [m["name"] for m in queues["models"]]


def main() -> int:
    parser = argparse.ArgumentParser(description="CPU a packet under each discipline, over that of drop-tail.")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    base = [cost({"kind": "droptail", "count_in_service": True}, size, args.rounds) for size in SIZES]
    heads = [f"{flows} flows" for flows, *_ in SIZES]
    print(f"{'discipline':<14}" + "".join(f"{h:>28}" for h in heads))
    print(f"{'':<14}" + f"{'delivered arrived    loss':>28}" * len(SIZES))
    print(f"{'droptail':<14}" + "".join(f"{c.delivered:>9.0f} ns{c.arrived:>5.0f} ns{c.loss:>8.1%}" for c in base))
    for name in args.names or names():
        if name == "droptail":
            continue
        try:
            costs = [cost({"kind": name}, size, args.rounds) for size in SIZES]
        except tb.ScenarioError as e:
            print(f"{name:<14}  not run: {str(e).splitlines()[0]}")
            continue
        both = zip(costs, base, strict=True)
        cells = [f"{c.delivered / b.delivered:>12.2f}{c.arrived / b.arrived:>8.2f}{c.loss:>8.1%}" for c, b in both]
        print(f"{name:<14}" + "".join(cells), flush=True)
    print(f"at most {ONE:g} with one queue, {MANY:g} with many; the pages say where an algorithm asks for more")
    return 0


if __name__ == "__main__":
    sys.exit(main())
