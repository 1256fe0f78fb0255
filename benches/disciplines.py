"""What a packet costs under each discipline: CPU of whole runs per packet, beside drop-tail with events of its own.

    python benches/disciplines.py [NAME ...] [--rounds 3]

A hundred flows on 100 Mb/s and ten thousand on 1 Gb/s, each discipline with its defaults and a buffer of 200
packets (2000). The time of a run is divided by the packets that the bottleneck delivered, both ways, and by what
drop-tail takes; the least of the rounds counts. Drop-tail is otherwise computed without events: `count_in_service`
has it asked for each packet, as all others are.
"""

from __future__ import annotations

import argparse
import sys
import time
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


def cost(queue: dict[str, Any], size: tuple[int, str, str, str], rounds: int) -> float:
    """CPU nanoseconds a packet, the least of the rounds."""
    least = float("inf")
    for _ in range(rounds):
        begun = time.process_time()
        result = tb.run(scenario(queue, size), jobs=1)
        spent = time.process_time() - begun
        packets = sum(row["delivered_packets"] for row in result.links)
        least = min(least, 1e9 * spent / packets)
    return least


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
    print(f"{'discipline':<14}" + "".join(f"{h:>16}" for h in heads))
    print(f"{'droptail':<14}" + "".join(f"{ns:>13.0f} ns" for ns in base))
    for name in args.names or names():
        if name == "droptail":
            continue
        try:
            ratios = [cost({"kind": name}, size, args.rounds) / ns for size, ns in zip(SIZES, base, strict=True)]
        except tb.ScenarioError as e:
            print(f"{name:<14}  not run: {str(e).splitlines()[0]}")
            continue
        print(f"{name:<14}" + "".join(f"{r:>16.2f}" for r in ratios), flush=True)
    print(f"at most {ONE:g} with one queue, {MANY:g} with many; the pages say where an algorithm asks for more")
    return 0


if __name__ == "__main__":
    sys.exit(main())
