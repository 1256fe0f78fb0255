"""Scenarios drawn at random, for what has to hold of any: networks, queues, transports, sources, sessions, recordings.

A draw may contradict itself; whoever asks reads it, and draws again if it is refused. The work is cut to some seconds.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

Table = dict[str, Any]

QUEUES = [
    "droptail", "random-drop", "front-drop", "red", "ared", "feng-red", "nlred", "dred", "sred", "rio", "wred",
    "mred", "fred", "choke", "red-pb", "red-pd", "sfb", "blue", "pi", "rem", "avq", "green", "codel", "pie",
    "cobalt", "dualpi2", "drr", "tdrr", "qsdrr", "dtdrr", "dsdrr", "wdrr", "sfq", "srr", "scfq", "wf2q-plus",
    "wf2q", "fq", "fq-codel", "fq-pie", "fq-cobalt", "cake", "fqbit", "decsel", "diffserv",
]  # fmt: skip
PROFILES = ["rfc", "ns2", "ns2-full", "ns3", "linux", "jiang-2006", "kantawala-2005"]
CONTROLS = ["reno", "cubic", "dctcp", "vegas", "bbr", "prague", "scalable", "binomial"]
KESHAV = ["generic", "jacobson-karels", "decbit", "packet-pair"]
#: Packets of 1500 bytes that the bottleneck may carry in a run.
MOST_PACKETS = 60_000


def near(rng: random.Random, low: float, high: float) -> float:
    """Any size between the two alike."""
    return float(low * (high / low) ** rng.random())


def bps(x: float) -> str:
    return f"{max(1, round(x))}bps"


def ms(x: float) -> str:
    return f"{x:.3f}ms"


def queue(rng: random.Random) -> Table:
    drawn: Table = {"kind": rng.choice(QUEUES)}
    packets = round(near(rng, 5, 3000))
    drawn["buffer"] = rng.choice([f"{packets} packets", f"{packets} packets", f"{packets * 1500}B", "unlimited"])
    if drawn["kind"] in ("sfq",) and rng.random() < 0.5:
        drawn["buckets"] = round(near(rng, 4, 100_000))
    if drawn["kind"] in ("drr", "qsdrr", "fq-codel", "cake") and rng.random() < 0.3:
        drawn["queues"] = round(near(rng, 2, 100_000))
    return drawn


def tcp(rng: random.Random) -> Table:
    drawn: Table = {"kind": "tcp"}
    if rng.random() < 0.6:
        drawn["profile"] = rng.choice(PROFILES)
    if rng.random() < 0.4:
        drawn["congestion"] = rng.choice(CONTROLS)
    if rng.random() < 0.3:
        drawn["rwnd"] = f"{round(near(rng, 4, 2000))} packets"
    if rng.random() < 0.2:
        drawn["ecn"] = "on"
    if rng.random() < 0.2:
        drawn["variant"] = rng.choice(["tahoe", "reno", "newreno", "sack"])
    if rng.random() < 0.1:
        drawn["connection"] = "two-way"
    if rng.random() < 0.2:
        drawn["timestamps"] = True
    return drawn


def datagrams(rng: random.Random, share: float) -> Table:
    """A source of datagrams with about this rate, bit/s."""
    rate = bps(share * near(rng, 0.2, 2))
    drawn: Table = {"traffic": rng.choice(["cbr", "poisson", "trains", "on-off", "voice", "video", "telnet", "churn"])}
    kind = drawn["traffic"]
    source: Table = {"kind": kind}
    if kind in ("cbr", "poisson", "trains", "churn", "video"):
        source["rate"] = rate
    if kind == "on-off":
        source |= {"rate": rate, "mean_on": ms(near(rng, 5, 500)), "mean_off": ms(near(rng, 5, 500))}
    if kind == "voice":
        source["speech"] = rng.choice(["constant", "on-off"])
    drawn["traffic"] = source
    drawn["packet_size"] = f"{round(near(rng, 60, 1500))}B"
    if kind in ("voice", "video"):
        del drawn["packet_size"]
    elif rng.random() < 0.2:
        drawn["deadline"] = "50ms"
    return drawn


def flows(rng: random.Random, rate: float) -> Table:
    count = round(near(rng, 1, rng.choice([10, 100, 2000])))
    drawn: Table = {"count": count}
    what = rng.random()
    if what < 0.55:
        drawn["transport"] = tcp(rng)
        source = rng.random()
        if source < 0.15:
            drawn["traffic"] = {"kind": "transfer", "size": f"{round(near(rng, 1, 5000))}kB"}
        elif source < 0.3:
            size = f"{round(near(rng, 2, 500))} packets"
            drawn["traffic"] = {"kind": "bursts", "size": size, "mean_think": ms(near(rng, 10, 3000))}
    elif what < 0.65:
        drawn["transport"] = {"kind": rng.choice(KESHAV), "wmax": round(near(rng, 2, 200))}
    elif what < 0.7:
        drawn["transport"] = "tfrc"
    else:
        drawn |= datagrams(rng, rate / count)
    if rng.random() < 0.7:
        drawn["rtt"] = [ms(near(rng, 130, 400)) for _ in range(rng.choice([1, 1, 3]))]
    if rng.random() < 0.5:
        drawn["access_rate"] = bps(rate * near(rng, 0.1, 20))
    if rng.random() < 0.2:
        drawn["exit_rate"] = bps(rate * near(rng, 0.5, 20))
    if rng.random() < 0.3:
        drawn["start"] = {"kind": "uniform", "to": "1s"}
    if rng.random() < 0.1:
        drawn["conditioner"] = {"kind": "token-bucket", "rate": bps(rate / count), "depth": "10kB"}
    return drawn


def sessions(rng: random.Random, rate: float) -> Table:
    clients = round(near(rng, 1, 200))
    drawn: Table = {"clients": clients, "servers": rng.choice([1, 1, 4]), "rtt": ms(near(rng, 130, 300))}
    kind = rng.choice(["requests", "requests", "web", "schedule"])
    drawn["kind"] = kind
    size = near(rng, 1000, 200_000)
    if kind == "web":
        drawn["preset"] = rng.choice(["3gpp", "ns2-large", "ns2-small", "surge"])
        drawn["think"] = {"kind": "exponential", "mean": ms(near(rng, 100, 10_000))}
    elif kind == "schedule":
        drawn["at"] = [ms(1 + 50 * i) for i in range(round(near(rng, 1, 50)))]
        drawn["sizes"] = [f"{round(size)}B"]
    else:
        law = rng.choice(["constant", "exponential", "pareto"])
        drawn["response"] = {"kind": law, "mean": f"{round(size)}B"}
        if law == "pareto":
            drawn["response"] |= {"shape": 1.3, "max": "10MB"}
        if rng.random() < 0.4:
            # So many bits a second, about.
            gap = clients * size * 8 / (rate * near(rng, 0.1, 1.5))
            drawn |= {"mode": "open", "mean_gap": ms(1000 * max(gap, 1e-3))}
        elif rng.random() < 0.8:
            drawn["think"] = {"kind": "exponential", "mean": ms(near(rng, 10, 5000))}
        drawn["connection"] = rng.choice(["keep", "new"])
    if rng.random() < 0.5:
        drawn["access_rate"] = bps(rate * near(rng, 1, 20))
    if rng.random() < 0.3:
        drawn["tcp"] = {"connection": "two-way"}
    return drawn


def records(rng: random.Random, scenario: Table, probes: Callable[[str, str], list[str]]) -> Table:
    """Recordings of the bottleneck and of groups; `probes` says what a model of a family has."""
    drawn: Table = {}
    how: list[Table] = [{"every": ms(near(rng, 5, 500))}, {"on_change": True}]
    kind = scenario["topology"]["queue"]["kind"]
    for i in range(rng.choice([1, 1, 2, 3])):
        known = ["queue", "queue_bytes", "delivered_bytes", *probes("queue", kind)]
        of: Table = {"link": "bottleneck"}
        if scenario["flows"] and rng.random() < 0.4:
            group = rng.choice(sorted(scenario["flows"]))
            transport = scenario["flows"][group].get("transport", "udp")
            name = transport if isinstance(transport, str) else transport["kind"]
            of, known = {"flows": group}, ["goodput", *probes("transport", name)]
        chosen = rng.sample(known, min(len(known), rng.choice([1, 1, 2])))
        drawn[f"r{i}"] = {**of, "probes": chosen, **rng.choice(how)}
    return drawn


def scenario(rng: random.Random, probes: Callable[[str, str], list[str]]) -> Table:
    """One scenario as a dict, which may have to be refused."""
    rate = near(rng, 2e5, 2e8)
    seconds = min(60.0, MOST_PACKETS * 12_000 / rate * near(rng, 0.1, 1))
    drawn: Table = {
        "duration": ms(1000 * seconds),
        "topology": {"kind": "dumbbell", "rate": bps(rate), "delay": ms(near(rng, 0.5, 60)), "queue": queue(rng)},
        "flows": {f"f{i}": flows(rng, rate) for i in range(rng.choice([0, 1, 1, 2, 3]))},
    }
    if rng.random() < 0.3:
        drawn["warmup"] = ms(250 * seconds)
    if not drawn["flows"] or rng.random() < 0.2:
        drawn["sessions"] = {"s0": sessions(rng, rate)}
    if rng.random() < 0.5:
        drawn["record"] = records(rng, drawn, probes)
    if rng.random() < 0.2:
        drawn["log_drops"] = True
    if rng.random() < 0.25:
        drawn["interval"] = ms(1000 * seconds / near(rng, 2, 100))
    return drawn
