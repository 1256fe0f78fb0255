"""Drawn networks, run with all laws checked: each discipline, source, impairment, change, trace, shaper, session and
conditioner.

    python tests/faults/networks.py [COUNT] [SEED]

Prints the seed, and the text of each network that breaks a law or stops the engine. Networks that the reader refuses
are drawn again.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import tailback as tb
from tailback import _core
from tailback.core.scenario.read import read

#: A run that takes longer is stopped, and counted as such.
MOST_SECONDS = 30
_UNITS = {"B": 1.0, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "bps": 1.0, "kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9}


class Declared:
    """The models and their parameters, as `describe` has them."""

    def __init__(self) -> None:
        self.models: dict[str, dict[str, dict[str, Any]]] = {}
        for family in json.loads(_core.describe_json(None)):
            for m in family["models"]:
                for d in json.loads(_core.describe_json(m["name"])):
                    if d["family"] == family["family"]:
                        self.models.setdefault(d["family"], {})[d["name"]] = d

    def model(self, rng: random.Random, family: str, share: float, name: str = "", depth: int = 0) -> dict[str, Any]:
        """A model with some of its parameters, each within its range."""
        name = name or rng.choice(sorted(self.models[family]))
        made: dict[str, Any] = {"kind": name}
        for p in self.models[family][name]["parameters"]:
            if p["required"] or rng.random() < share:
                value = self.value(rng, p, share, depth)
                if value is not None:
                    made[p["name"]] = value
        return made

    def value(self, rng: random.Random, p: dict[str, Any], share: float, depth: int) -> Any:
        kind = p["kind"]
        match kind["type"]:
            case "model":
                family = kind["family"]
                return self.model(rng, family, share, depth=depth + 1) if depth < 2 and family in self.models else None
            case "choice":
                return rng.choice(kind["words"])
            case "flag":
                return rng.random() < 0.5
            case "size":
                return rng.choice([f"{rng.randint(1, 200)} packets", f"{rng.randint(3000, 300_000)}B", "unlimited"])
            case "time" | "rate" | "bytes" | "count" | "number":
                return within(rng, p)
        return None


def within(rng: random.Random, p: dict[str, Any]) -> Any:
    """A number in its range, near its default if it has one, with its unit."""
    kind = p["kind"]
    low, high = (float(x) if x is not None else math.inf for x in (kind["min"], kind["max"]))
    default = re.fullmatch(r"([\d.e+-]+)(\w*)", str(p["default"]))
    if default and float(default[1]) > 0:
        middle = float(default[1]) * _UNITS.get(default[2], 1.0)
        low, high = max(low, middle / 20), min(high, middle * 20)
    else:
        low, high = max(low, 1e-3), min(high, 100.0)
    x = math.exp(rng.uniform(math.log(low), math.log(high))) if 0 < low <= high else low
    match kind["type"]:
        case "time":
            return f"{max(1, round(x * 1e9))}ns"
        case "rate":
            return f"{max(1, round(x))}bps"
        case "bytes":
            return f"{max(1, round(x))}B"
        case "count":
            return max(1, round(x))
    return round(x, 6)


SOURCES = ("cbr", "poisson", "on-off", "trains", "churn", "bulk", "bursts", "transfer", "telnet", "voice", "video")
IMPAIRMENTS = ("loss", "gilbert", "duplicate", "reorder", "jitter", "corrupt", "every-nth")


def flows(rng: random.Random, models: Declared, nodes: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for i in range(rng.randint(1, 4)):
        kind = rng.choice([s for s in SOURCES if s in models.models["traffic"]])
        f: dict[str, Any] = {"count": rng.choice([1, 1, 2, 5])}
        f["traffic"] = models.model(rng, "traffic", 0.2, kind)
        if "rate" in f["traffic"]:
            f["traffic"]["rate"] = rng.choice(["100kbps", "1Mbps", "4Mbps", "17Mbps"])
        if kind in ("bulk", "bursts", "transfer"):
            profile = rng.choice(["", "linux", "ns2", "ns3"])
            control = rng.choice(sorted(models.models["congestion"]))
            f["tcp"] = {"congestion": control, **({"profile": profile} if profile else {})}
            if rng.random() < 0.3:
                f["tcp"]["ecn"] = rng.choice(["on", "off"])
        else:
            f["transport"] = "udp"
            if kind in ("cbr", "poisson") and rng.random() < 0.5:
                f["sizes"] = models.model(rng, "sizes", 0.3)
        if rng.random() < 0.3:
            f["weight"] = [round(rng.uniform(0.01, 10), 3) for _ in range(rng.randint(1, 3))]
        if rng.random() < 0.3:
            f["dscp"] = rng.choice(["EF", "AF11", "AF12", "AF13", "CS1"])
        f["rtt"] = rng.choice(["20ms", ["10ms", "80ms"]])
        f["start"] = rng.choice(["0s", {"kind": "uniform", "to": "100ms"}])
        if len(nodes) > 2:
            a, b = sorted(rng.sample(range(len(nodes)), 2), reverse=rng.random() < 0.3)
            f |= {"from": nodes[a], "to": nodes[b]}
        found[f"g{i}"] = f
    return found


def link(rng: random.Random, models: Declared, folder: Path) -> tuple[dict[str, Any], str]:
    """A link, and the trace that it follows, if it does."""
    table: dict[str, Any] = {
        "rate": rng.choice(["1Mbps", "5Mbps", "10Mbps", "37Mbps"]),
        "delay": rng.choice(["0s", "1ms", "13ms"]),
        "queue": models.model(rng, "queue", rng.choice([0.0, 0.1, 0.3])),
    }
    if rng.random() < 0.3:
        table["reverse_queue"] = models.model(rng, "queue", 0.1)
    if rng.random() < 0.25:
        known = sorted(models.models["impairment"])
        table["impair"] = [models.model(rng, "impairment", 0.4, rng.choice(known)) for _ in range(rng.randint(1, 2))]
    if rng.random() < 0.15:
        table["conditioner"] = models.model(rng, "conditioner", 0.2)
    trace = ""
    if rng.random() < 0.25:
        trace = str(folder / f"{rng.getrandbits(40):x}.trace")
        times, at = [], 0
        for _ in range(rng.randint(1, 60)):
            at += rng.choice([0, 0, 1, 3, 20])
            times.append(max(1, at))
        Path(trace).write_text("\n".join(map(str, times)) + "\n")
    return table, trace


def document(rng: random.Random, models: Declared, folder: Path) -> dict[str, Any]:
    hops = rng.choice([1, 1, 1, 2, 3])
    nodes = [f"n{i}" for i in range(hops + 1)]
    made: dict[str, Any] = {"duration": rng.choice(["400ms", "1s", "2s"]), "link": {}, "change": {}}
    if rng.random() < 0.3:
        made["warmup"] = "200ms"
    if rng.random() < 0.3:
        made["interval"] = rng.choice(["50ms", "100ms", "70ms"])
    if rng.random() < 0.3:
        made["marking"] = rng.random() < 0.5
    for i in range(hops):
        table, trace = link(rng, models, folder)
        made["link"][f"l{i}"] = {"from": nodes[i], "to": nodes[i + 1], **table}
        if trace:
            made["change"][f"c{i}"] = {"link": f"l{i}", "mahimahi": trace}
        elif rng.random() < 0.25:
            rates = [rng.choice(["0bps", "1Mbps", "8Mbps", "30Mbps"]) for _ in range(rng.randint(1, 5))]
            made["change"][f"c{i}"] = {"link": f"l{i}", "rate": rates, "every": rng.choice(["10ms", "130ms"])}
    made["flows"] = flows(rng, models, nodes)
    if rng.random() < 0.2:
        kind = rng.choice(sorted(models.models["session"]))
        own = models.model(rng, "session", 0.2, kind)
        made["sessions"] = {"s": {**own, "clients": rng.randint(1, 5), "from": nodes[-1], "to": nodes[0]}}
    if len(nodes) == 2:
        for f in made["flows"].values():
            f |= {"from": nodes[0], "to": nodes[1]}
    return {k: v for k, v in made.items() if v != {}}


def drawn(seed: int, models: Declared, folder: Path, count: Counter[str]) -> Any:
    """A network that the reader takes, and its document."""
    rng = random.Random(seed)
    while True:
        made = document(rng, models, folder)
        try:
            return read(made), made
        except tb.ScenarioError:
            count["refused"] += 1


def _until(end: float) -> Callable[[Any], bool]:
    return lambda _: time.monotonic() < end


def tries(job: tuple[int, int]) -> tuple[Counter[str], list[str]]:
    """Networks of some seeds, run."""
    first, n = job
    models, count, wrong = Declared(), Counter[str](), []
    with tempfile.TemporaryDirectory() as d:
        for seed in range(first, first + n):
            scenario, made = drawn(seed, models, Path(d), count)
            end = time.monotonic() + MOST_SECONDS
            results = _core.Plan([({}, scenario)]).execute(None, 1, _until(end), laws=True)
            count["run"] += 1
            if results.interrupted:
                count["stopped"] += 1
                print(f"seed {seed} takes more than {MOST_SECONDS} s", flush=True)
                continue
            for table in made["link"].values():
                count[f"queue {table['queue']['kind']}"] += 1
            if results.failure is not None:
                said = str(results.failure["message"])
                broken = "law" in said or "engine stopped" in said
                count["broken" if broken else "failed"] += 1
                if broken:
                    files = [c["mahimahi"] for c in made.get("change", {}).values() if "mahimahi" in c]
                    traces = {f: Path(f).read_text().split() for f in files}
                    wrong.append(f"seed {seed}: {said}\n{scenario.toml}\n{traces}")
    return count, wrong


def main(count: int, seed: int) -> int:
    print(f"{count} networks from seed {seed} on")
    part = 200
    jobs = [(seed + i, min(part, count - i)) for i in range(0, count, part)]
    total, wrong = Counter[str](), []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for found, said in pool.map(tries, jobs):
            total += found
            for text in said:
                print(text, flush=True)
            wrong += said
    kinds = [k for k in total if k.startswith("queue ")]
    ended = f"{total['failed']} ended with a message, {total['stopped']} stopped"
    print(f"{total['run']} run, {total['refused']} drawn again, {ended}")
    print(f"{len(kinds)} disciplines")
    print(f"{len(wrong)} broken")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 400, int(sys.argv[2]) if len(sys.argv) > 2 else 1))
