"""Drop-tail, SFQ and DRR under constant flows beside an installed ns-2, where nothing is random: packet by packet.

Flows of constant rates and sizes come to the queue alone, at instants that are given. Both sides have to drop the same
packets and send the others in the same order. `queue_references.py --draw` calls this.
"""

from __future__ import annotations

import random
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import tailback as tb

SCRIPT = Path(__file__).resolve().parent / "ns2_packets.tcl"
CASES, PACKETS = 20, 2000
#: Seconds, flow, bytes.
Arrivals = list[tuple[float, int, int]]
#: What leaves and what is dropped, in order: flow, and the number in it.
Fates = dict[str, list[tuple[int, int]]]


def arrivals(rng: random.Random, rate: int) -> Arrivals:
    """Two to six flows that bring 0.8 to 2 times what the line carries; no two packets come at one instant."""
    flows = rng.randint(2, 6)
    shares = [rng.uniform(0.2, 1.0) for _ in range(flows)]
    load = rng.uniform(0.8, 2.0) / sum(shares)
    found: Arrivals = []
    for flow, share in enumerate(shares):
        size = rng.choice((40, 250, 576, 1000, 1500))
        # Multiples of 16 us, each flow with a rest of its own.
        gap = max(1, round(8e6 * size / (rate * share * load) / 16)) * 16
        start = rng.randrange(0, 1000) * 16 + flow
        found += [((start + i * gap) / 1e6, flow, size) for i in range(PACKETS) if start + i * gap < 20e6]
    return sorted(found)[:PACKETS]


def queue(kind: str, rng: random.Random) -> tuple[str, int, dict[str, int], tb.Queue]:
    """ns-2's class, limit and settings, and ours."""
    buffer = rng.randint(4, 60)
    if kind == "droptail":
        return "DropTail", buffer + 1, {}, tb.queue("droptail", buffer=f"{buffer} packets")
    if kind == "sfq":
        buckets = rng.choice((16, 32, 64))
        ours = tb.queue("sfq", buffer=f"{buffer} packets", buckets=buckets, hash="ns2")
        return "SFQ", buffer, {"maxqueue_": buffer, "buckets_": buckets}, ours
    # So large that the longest queue has two packets at least: one that eviction empties in its turn misses a quantum
    # in ns-2, and here not (`pieces/schedule/drr.rs`).
    quantum, buffer = rng.choice((250, 500, 1000, 1500)), rng.randint(20, 60)
    settings = {"buckets_": 4096, "quantum_": quantum, "blimit_": 1000 * buffer}
    return (
        "DRR",
        buffer,
        settings,
        tb.queue("drr", buffer=f"{1000 * buffer}B", quantum=f"{quantum}B", count_newcomer=True, tie="ring"),
    )


def ours(discipline: tb.Queue, rate: int, coming: Arrivals) -> Fates:
    driven = tb.drive(discipline, rate=f"{rate}bps")
    number: dict[int, int] = {}
    identity: dict[int, tuple[int, int]] = {}
    kept: list[Any] = []
    sent: list[tuple[int, int]] = []
    free = 0.0

    def serve(now: float) -> None:
        nonlocal free
        p = driven.dequeue(now=now)
        assert isinstance(p, tb.Packet)
        sent.append(identity[id(p)])
        free = now + 8 * p.bytes / rate

    for at, flow, size in coming:
        while free <= at and driven.backlog()[0]:
            serve(free)
        p = tb.packet(flow=flow, bytes=size)
        kept.append(p)
        identity[id(p)] = (flow, number.get(flow, 0))
        number[flow] = number.get(flow, 0) + 1
        driven.enqueue(p, now=at)
        if free <= at and driven.backlog()[0]:
            serve(at)
    while driven.backlog()[0]:
        serve(free)
    return {"sent": sent, "dropped": [identity[id(p)] for p, *_ in driven.drops]}


def theirs(kind: str, limit: int, settings: dict[str, int], rate: int, coming: Arrivals) -> Fates:
    words = {
        **{"rate": rate, "kind": kind, "limit": limit},
        "settings": "{" + " ".join(f"{k} {v}" for k, v in settings.items()) + "}",
        "arrivals": "{" + " ".join(f"{{{at:.6f} {flow} {size}}}" for at, flow, size in coming) + "}",
    }
    with tempfile.TemporaryDirectory() as folder:
        asked, trace = Path(folder) / "asked.tcl", Path(folder) / "trace"
        asked.write_text("".join(f"set {k} {v}\n" for k, v in words.items()))
        subprocess.run(["ns", str(SCRIPT), str(asked), str(trace)], check=True, capture_output=True)
        rows = [line.split() for line in trace.read_text().splitlines()]
    return {
        name: [(int(r[7]), int(r[10])) for r in rows if r[0] == event]
        for name, event in (("sent", "-"), ("dropped", "d"))
    }


def packets(seed: int, words: list[str]) -> bool:
    """Compare so many cases of each discipline, or of those named; whether every packet has the same fate."""
    same = True
    for kind in (k for k in ("droptail", "sfq", "drr") if not words or k in words):
        equal = 0
        for number in range(CASES):
            rng = random.Random(f"{seed} {kind} {number}")
            # Service times that do not fall on the grid of the arrivals.
            rate = rng.randrange(500_000, 2_000_000) * 2 + 1
            name, limit, settings, discipline = queue(kind, rng)
            coming = arrivals(rng, rate)
            a, b = ours(discipline, rate, coming), theirs(name, limit, settings, rate, coming)
            equal += a == b
            if a != b:
                first = next(
                    (i for i, (x, y) in enumerate(zip(a["sent"], b["sent"], strict=False)) if x != y), "the end"
                )
                counts = f"{len(a['dropped'])} and {len(b['dropped'])} dropped"
                print(f"{kind} {number} differs: departure {first}, {counts}; {name} {limit} {settings}")
        print(f"{kind:<14} {equal} of {CASES} cases equal, packet by packet")
        same &= equal == CASES
    return same
