"""The cases of coloured_references.py: queues of three colours, as ns-2.35's diffserv module was asked.

The queue alone gets recorded arrivals; the others are TCP flows through meters. `tests/reference/coloured/README.md`
says what they are. Nothing here knows what came out.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reference_cases import SACK, UNLIMITED, Table, even

import tailback as tb

DATA = Path(__file__).resolve().parent.parent / "tests/reference/coloured"
#: Code points of green, yellow and red.
CODES = (10, 12, 14)
RAMPS = {
    "min_threshold": ["40 packets", "25 packets", "10 packets"],
    "max_threshold": ["55 packets", "40 packets", "25 packets"],
    "mean_packet": "1000B",
}
#: What is called so in the names of cases.
ACCOUNTING = {"rioc": "rio-c", "riod": "rio-d", "wred": "wred", "drop": "tail-drop"}


@dataclass(frozen=True)
class Arrival:
    """What became of a packet, and the queue after it."""

    colour: int
    #: A accepted, L dropped above the upper threshold (of drop-tail, at the limit), E dropped early.
    outcome: str
    averages: tuple[float, ...]
    waiting: tuple[int, ...]


def law_queue(accounting: str, random: bool) -> tb.Queue:
    top = [0.02, 0.05, 0.10] if random else 1e-9
    settings: Table = {"buffer": "60 packets", "weight": 0.01, "max_probability": top, "ns2_idle": True, **RAMPS}
    return tb.queue("mred", accounting=ACCOUNTING[accounting], **settings)


def replay(queue: tb.Queue, number: int, seed: int) -> Iterator[Arrival]:
    """Recorded arrivals of 1000 B at 1 Mb/s, 8 ms a packet; a departure comes before an arrival of its instant."""
    driven = tb.drive(queue, rate="1Mbps", seed=seed)
    free, seen = 0.0, 0
    lines = gzip.decompress((DATA / f"law_s{number}.txt.gz").read_bytes()).decode().split("\n")
    for line in lines:
        if not line:
            continue
        when, colour = line.split()
        now = float(when)
        while free <= now and driven.backlog()[0]:
            driven.dequeue(now=free)
            free += 0.008
        before = driven.backlog()[0]
        driven.enqueue(tb.packet(bytes=1000, dscp=CODES[int(colour)]), now=now)
        # `drops` is the list of all until now: it is read only where something was dropped.
        lost = driven.backlog()[0] == before
        reasons = [reason for *_, reason in driven.drops[seen:]] if lost else []
        seen += len(reasons)
        if free <= now and driven.backlog()[0]:
            driven.dequeue(now=now)
            free = now + 0.008
        yield Arrival(
            int(colour),
            {"forced": "L", "percap": "L", "overflow": "L", "early": "E"}[reasons[0]] if reasons else "A",
            tuple(driven.probe("average", i) for i in range(3)),
            tuple(int(driven.probe("backlog", i)) for i in range(3)),
        )


def recorded(accounting: str) -> list[Arrival]:
    """What ns-2.35 did with the first file where nothing is random."""
    colours = [int(x.split()[1]) for x in gzip.decompress((DATA / "law_s1.txt.gz").read_bytes()).decode().splitlines()]
    rows = gzip.decompress((DATA / f"{accounting}_s1.csv.gz").read_bytes()).decode().splitlines()
    found = []
    for colour, row in zip(colours, rows, strict=True):
        outcome, *numbers = row.split(",")
        averages = tuple(map(float, numbers[:-3]))
        found.append(Arrival(colour, outcome, averages, tuple(map(int, numbers[-3:]))))
    return found


def meter(case: str) -> Table:
    """The conditioner of E, for all flows together."""
    kind = case.split("_")[1]
    rates = {"committed_rate": "4Mbps", "peak_rate": "7Mbps"}
    bursts = {"committed_burst": "20000B", "peak_burst": "20000B"}
    return {
        "tsw2cm": {"kind": "tsw2cm", "committed_rate": "4Mbps"},
        "tsw3cm": {"kind": "tsw3cm", **rates},
        "srtcm": {"kind": "srtcm", "committed_rate": "4Mbps", "committed_burst": "20000B", "excess_burst": "20000B"},
        "trtcm": {"kind": "trtcm", **rates, **bursts},
        "tb": {"kind": "token-bucket", "rate": "3.5Mbps", "depth": "20000B"},
    }[kind]


def flow_meter(flow: int) -> Table:
    committed, peak = ("0.6Mbps", "1.2Mbps") if flow % 2 == 0 else ("0.2Mbps", "0.4Mbps")
    rates = {"committed_rate": committed, "peak_rate": peak}
    return {"kind": "trtcm", **rates, "committed_burst": "10000B", "peak_burst": "10000B"}


def core(case: str) -> Table:
    accounting = next(a for a in ACCOUNTING if a in case.split("_"))
    top = [0.02, 0.05, 0.10]
    marks = {"ecn": True} if case.endswith("_ecn") else {}
    settings = {"buffer": "100 packets", "weight": 0.002, "max_probability": top, "ns2_idle": True, **RAMPS}
    return {"kind": "mred", "accounting": ACCOUNTING[accounting], **settings, **marks}


def scenario(case: str, seed: int) -> Table:
    """Ten flows, and in `udp_` a constant one of three times its committed rate."""
    words = case.split("_")
    starts = (DATA.parent / f"sessions/starts/start_seed{seed}.txt").read_text().split()
    rtts = [100.0] * 10 if "eq" in words else even(60, 140, 10)
    tcp = {**SACK, "ecn": "on" if "ecn" in words else "off"}
    # One profile for all TCP flows stands where nothing else passes: beside UDP, at a line of its own before E.
    edge: Table = {"rate": "100Mbps", "delay": "1ms", "queue": UNLIMITED}
    if "flow" not in words and words[0] == "tcp":
        edge["conditioner"] = meter(case)
    line = {"rate": "10Mbps", "delay": "10ms", "queue": core(case), "reverse_queue": UNLIMITED}
    links: Table = {"edge": {"from": "e", "to": "c", **edge}, "line": {"from": "c", "to": "d", **line}}
    flows: Table = {}
    together = "tcp" if words[0] == "udp" else "e"
    if words[0] == "udp":
        gather = {"rate": "100Gbps", "delay": "0s", "queue": UNLIMITED, "conditioner": meter(case)}
        links["gather"] = {"from": together, "to": "e", **gather}
    for i, rtt in enumerate(rtts):
        delay = f"{(rtt / 2 - 11) * 1e6:.0f}ns"
        links[f"a{i}"] = {"from": f"s{i}", "to": together, "rate": "100Mbps", "delay": delay, "queue": UNLIMITED}
        flows[f"long{i}"] = {"from": f"s{i}", "to": "d", "start": f"{starts[i]}s", "tcp": tcp}
        if "flow" in words:
            flows[f"long{i}"]["conditioner"] = flow_meter(i)
    if words[0] == "udp":
        links["u"] = {"from": "u", "to": "e", "rate": "100Mbps", "delay": "39ms", "queue": UNLIMITED}
        flows["udp"] = {
            **{"from": "u", "to": "d", "transport": "udp", "packet_size": "1000B", "start": "10s"},
            "traffic": {"kind": "cbr", "rate": "1.5Mbps"},
            "conditioner": {"kind": "token-bucket", "rate": "0.5Mbps", "depth": "10000B"},
        }
    return {"seed": seed, "link": links, "flows": flows}
