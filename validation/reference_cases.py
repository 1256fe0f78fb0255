"""The cases of references.py as scenarios: what ns-2.35 was asked to simulate, case by case.

Sources 0..9 are each behind 100 Mb/s, with round trips of 60 to 140 ms by propagation; then 10 Mb/s and 10 ms with the
queue under test, and 10 Mb/s and 10 ms back. Data packets are 1000 B on the wire, 960 of them payload.
`tests/reference/sessions/README.md` has the rest. Nothing here knows what came out.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Table = dict[str, Any]

PAYLOAD = 960
UNLIMITED = {"kind": "droptail", "buffer": "unlimited"}
NS2 = {"profile": "ns2", "payload": f"{PAYLOAD}B", "window_cap": "10000 packets"}
SACK = {**NS2, "variant": "sack"}
FULL = {**NS2, "profile": "ns2-full"}
#: What ns-3's sender does: TcpLinuxReno with SACK and proportional rate reduction.
NS3 = {
    "profile": "ns3",
    "payload": f"{PAYLOAD}B",
    "initial_window": "2 packets",
    "timestamps": False,
}


@dataclass(frozen=True)
class Case:
    """A case by its name, for one seed: the number of its arrivals, starts and random generator."""

    name: str
    seed: int
    #: Folders with recorded arrivals, in the order they are looked into.
    arrivals: tuple[Path, ...]
    starts: Path
    #: Another draw of what is random beside arrivals and starts.
    draw: int = 0

    def generator(self) -> int:
        """The seed of the run's random numbers."""
        return self.seed + 5 * self.draw

    def has(self, word: str) -> bool:
        return word in self.name.split("_")

    def start(self, line: int) -> float:
        lines = (self.starts / f"start_seed{self.seed}.txt").read_text().split()
        return float(lines[line])

    def recorded(self, name: str) -> list[list[str]]:
        """The lines of a file of arrivals; FileNotFoundError where no folder has it."""
        file = f"{name}_s{self.seed}.txt.gz"
        found = next((f / file for f in self.arrivals if (f / file).exists()), None)
        if found is None:
            raise FileNotFoundError(file)
        lines = gzip.decompress(found.read_bytes()).decode().splitlines()
        return [line.split() for line in lines if not line.startswith("#")]


def droptail(limit: int) -> Table:
    """ns-2's limit counts the packet in service."""
    return {"kind": "droptail", "buffer": f"{limit - 1} packets"}


def red(low: int, limit: int, ecn: bool = False) -> Table:
    return {
        "kind": "red",
        "buffer": f"{limit} packets",
        "min_threshold": f"{low} packets",
        "max_threshold": f"{3 * low} packets",
        "weight": 0.002,
        "max_probability": 0.1,
        "mean_packet": "1000B",
        "ns2_guards": True,
        "ecn": ecn,
    }


def even(least: float, most: float, n: int) -> list[float]:
    return [least + (most - least) * i / (n - 1) for i in range(n)] if n > 1 else [least]


def bottleneck(case: Case, rtts: list[float], queue: Table, back: Table = UNLIMITED) -> Table:
    """Sources `s0`, `s1`, ... behind lines of their own, `r1`, the line under test, `r2`."""
    line = {"rate": "10Mbps", "delay": "10ms", "queue": queue, "reverse_queue": back}
    links: Table = {"line": {"from": "r1", "to": "r2", **line}}
    for i, rtt in enumerate(rtts):
        delay = f"{(rtt / 2 - 10) * 1e6:.0f}ns"
        links[f"a{i}"] = {"from": f"s{i}", "to": "r1", "rate": "100Mbps", "delay": delay, "queue": UNLIMITED}
    return {"seed": case.generator(), "link": links}


def transfers(source: int, rows: list[tuple[str, int]], when: str, tcp: Table, start: float = 0.0) -> Table:
    """Transfers of so many packets each, at or after so many seconds."""
    return {
        "kind": "schedule",
        "from": f"s{source}",
        "to": "r2",
        when: [f"{t}s" for t, _ in rows],
        "sizes": [f"{PAYLOAD * packets}B" for _, packets in rows],
        "start": f"{start}s",
        "tcp": tcp,
    }


def arriving(case: Case, name: str, tcp: Table) -> Table:
    """Sessions that replay a file of `start packets source`."""
    by_source: dict[int, list[tuple[str, int]]] = {}
    for start, packets, source in case.recorded(name):
        by_source.setdefault(int(source), []).append((start, int(packets)))
    return {f"from{i}": transfers(i, rows, "at", tcp) for i, rows in sorted(by_source.items())}


def long_flows(case: Case, n: int, sources: int, tcp: Table) -> Table:
    rows = range(n)
    return {f"long{i}": {"from": f"s{i % sources}", "to": "r2", "start": f"{case.start(i)}s", "tcp": tcp} for i in rows}


def poisson(case: Case) -> Table:
    """pois_LAW_LOAD[_full]_QUEUE[_ecn]"""
    words = case.name.split("_")
    queue = red(10, 100, case.has("ecn")) if case.has("red") else droptail(50)
    tcp = {**(FULL if case.has("full") else SACK), "ecn": "on" if case.has("ecn") else "off"}
    sessions = arriving(case, f"{words[1]}_{words[2]}", tcp)
    return {**bottleneck(case, even(60, 140, 10), queue), "sessions": sessions}


def mice(case: Case) -> Table:
    """[n3_]mice_QUEUE[_ecn]"""
    queue = red(20, 200, case.has("ecn")) if case.has("red") else droptail(200)
    if case.has("fqcodel"):
        queue = {"kind": "fq-codel", "buffer": "200 packets", "quantum": "1500B", "ecn": case.has("ecn")}
    tcp = {**(NS3 if case.has("n3") else SACK), "ecn": "on" if case.has("ecn") else "off"}
    return {
        **bottleneck(case, even(60, 140, 10), queue),
        "flows": long_flows(case, 20, 10, tcp),
        "sessions": arriving(case, "mice10", tcp),
    }


def on_off(case: Case) -> Table:
    queue = red(15, 200) if case.has("red") else droptail(100)
    by_source: dict[int, list[tuple[int, str]]] = {}
    for source, packets, off in case.recorded("_".join(case.name.split("_")[:2])):
        by_source.setdefault(int(source), []).append((int(packets), off))
    sessions = {}
    for k, rows in by_source.items():
        # The first begins at the start, each of the others after the silence behind the one before.
        waits = ["0", *(off for _, off in rows[:-1])]
        listed = list(zip(waits, (packets for packets, _ in rows), strict=True))
        sessions[f"source{k}"] = {**transfers(k % 10, listed, "after", SACK, 0.05 * k), "stop": "100s"}
    return {
        **bottleneck(case, even(60, 140, 10), queue),
        "flows": long_flows(case, 5, 10, SACK),
        "sessions": sessions,
    }


def on_and_off_again(case: Case) -> Table:
    """Twelve flows in four classes: 0 and 1 all the time, 2 from 60 s on, 3 until 30 s and from 60 s on."""
    queue = red(15, 200, ecn=True) if case.has("red") else droptail(100)
    tcp = {**SACK, "ecn": "on" if case.has("ecn") else "off"}
    flows: Table = {}
    for i in range(12):
        flow = {"from": f"s{i}", "to": "r2", "tcp": tcp}
        if case.name == "buo_dt":
            flow["send_delay"] = "0.8ms"
        first = f"{15 * case.start(i):.6f}ms"
        again = f"{60000 + 15 * case.start(16 + i):.6f}ms"
        kind = i % 4
        if kind != 2:
            flows[f"c{kind}n{i}"] = {**flow, "start": first, **({"stop": "30s"} if kind == 3 else {})}
        if kind >= 2:
            flows[f"c{kind}n{i}again"] = {**flow, "start": again}
    return {**bottleneck(case, even(60, 140, 12), queue), "flows": flows}


def both_ways(case: Case) -> Table:
    """ft_: data both ways on one connection; tw_: on connections of their own. Both lines have the queue."""
    rtts = [100.0] if case.has("1") else even(60, 140, 5)
    flows: Table = {}
    for i in range(len(rtts)):
        ends = {"from": f"s{i}", "to": "r2", "start": f"{case.start(i)}s"}
        if case.has("ft"):
            traffic = {"kind": "bulk", "back": "1s"} if case.has("both") else {"kind": "bulk"}
            tcp = {**FULL, "delayed_ack": 2 if case.has("del") else 1}
            if case.has("newreno"):
                tcp["variant"] = "newreno"
            flows[f"left{i}"] = {**ends, "traffic": traffic, "tcp": tcp}
            continue
        one_way = {"tcp": {**NS2, "variant": "newreno" if case.has("newreno") else "sack"}}
        if case.has("oh"):
            one_way["send_delay"] = "0.8ms"
        flows[f"left{i}"] = {**ends, **one_way}
        flows[f"right{i}"] = {"from": "r2", "to": f"s{i}", "start": f"{case.start(16 + i)}s", **one_way}
    return {**bottleneck(case, rtts, droptail(50), droptail(50)), "flows": flows}


def parking_lot(case: Case) -> Table:
    queue = red(15, 200) if case.has("red") else droptail(100)
    hop = {"rate": "10Mbps", "delay": "10ms", "queue": queue, "reverse_queue": UNLIMITED}
    links = {f"hop{i}": {"from": f"r{i}", "to": f"r{i + 1}", **hop} for i in range(3)}
    flows: Table = {}
    for i in range(16):
        kind, hops = i % 4, 3 if i < 4 else 1
        first = 0 if i < 4 else i // 4 - 1
        rtt = (70, 100, 130, 160)[kind] if i < 4 else (30, 60, 90, 120)[kind]
        flows[f"f{i}"] = {
            "from": f"r{first}",
            "to": f"r{first + hops}",
            "access_rate": "100Mbps",
            "access_delay": f"{rtt / 2 - 10 * hops}ms",
            "start": f"{case.start(i)}s",
            "tcp": {**NS2, "variant": "newreno" if case.has("newreno") else "sack"},
            **({"send_delay": "0.8ms"} if case.has("oh") else {}),
        }
    return {"seed": case.generator(), "link": links, "flows": flows}


#: By the first word of a case's name.
SCENARIOS = {
    "pois": poisson,
    "mice": mice,
    "n3": mice,
    "onoff": on_off,
    "buo": on_and_off_again,
    "ft": both_ways,
    "tw": both_ways,
    "pl": parking_lot,
}


def scenario(case: Case) -> Table:
    return SCENARIOS[case.name.split("_")[0]](case)
