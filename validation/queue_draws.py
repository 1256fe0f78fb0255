"""Drawn scenarios of queue disciplines beside an installed ns-2: what is drawn, both runs, and how near they are.

Two groups of long flows with round trips, buffers, rates and parameters drawn by a seed go through one discipline, five
seeds each side with the same starts. Utilisation, loss, mean queue and the goodput of each group are compared: within
0.2 points, 2 %, one packet, or what chance alone leaves 95 % of equal figures in. That is 2.31 standard deviations of
the difference of the means and not two: the deviation is estimated from five runs a side, so that the difference over
it is distributed as Student's t with eight degrees of freedom, of which two deviations leave 8.1 % outside and 2.31
leave 5. Both counts are printed. What is outside by 2.31 is asked again with twenty other seeds (2.02 deviations, 38
degrees). Where nothing is random, `queue_packets.py` compares packet by packet.
`queue_references.py --draw` calls this.
"""

from __future__ import annotations

import random
import shutil
import statistics
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from queue_packets import packets
from reference_cases import UNLIMITED, Table
from references import rows_of

import tailback as tb

SCRIPT = Path(__file__).resolve().parent / "ns2_queues.tcl"
FROM, TO, SEEDS = 10.0, 50.0, 5
#: What 95 % of Student's t is between, with five runs a side and with twenty.
STUDENT_8, STUDENT_38 = 2.31, 2.02
GROUPS = ("a", "b")
VARIANTS = {"Sack1": "sack", "Newreno": "newreno"}
#: Figures: by name the share of theirs, and the units, that are always allowed.
FIGURES = {
    "utilisation": (0.0, 0.002),
    "loss": (0.02, 0.0),
    "mean queue": (0.0, 1.0),
    "goodput a": (0.02, 0.0),
    "goodput b": (0.02, 0.0),
}


@dataclass(frozen=True)
class Flow:
    group: str
    variant: str
    #: Of its round trip by propagation, in seconds.
    rtt: float
    #: What is in profile, bit/s; 0 without a profile.
    profile: int = 0


@dataclass(frozen=True)
class Queue:
    """A discipline in ns-2's words and in ours."""

    kind: str
    limit: int
    settings: dict[str, Any]
    ours: Table


@dataclass(frozen=True)
class Drawn:
    name: str
    rate: int
    delay: float
    size: int
    flows: tuple[Flow, ...]
    queue: Queue

    def starts(self, seed: int) -> list[float]:
        rng = random.Random(f"{self.name} {seed}")
        return [round(rng.uniform(0.0, 2.0), 6) for _ in self.flows]


@dataclass(frozen=True)
class Line:
    """What a queue is drawn for: rate, delay, packets of a size, how many of them are a good buffer."""

    rate: int
    delay: float
    size: int
    buffer: int

    def packets_a_second(self) -> float:
        return self.rate / 8 / self.size


def droptail(_: random.Random, line: Line) -> Queue:
    # ns-2's limit counts the packet in service.
    return Queue("DropTail", line.buffer + 1, {}, {"kind": "droptail", "buffer": f"{line.buffer} packets"})


def red(rng: random.Random, line: Line, *, gentle: bool = True, wait: bool = True, in_bytes: bool = False) -> Queue:
    low = max(5, round(line.buffer * rng.uniform(0.08, 0.2)))
    high = low * rng.choice((2, 3))
    weight, linear = rng.choice((0.001, 0.002, 0.004)), rng.choice((5, 10, 20))
    # In bytes ns-2 counts thresholds and the limit in mean packets.
    mean = 500 if in_bytes else line.size
    times = line.size // mean if in_bytes else 1
    settings = {
        **{"bytes_": in_bytes, "queue_in_bytes_": in_bytes, "mean_pktsize_": mean, "thresh_": low * times},
        **{"maxthresh_": high * times, "q_weight_": weight, "linterm_": linear, "gentle_": gentle, "wait_": wait},
    }

    def count(packets: int) -> str:
        return f"{packets * line.size}B" if in_bytes else f"{packets} packets"

    ours = {
        **{"kind": "red", "buffer": count(line.buffer), "min_threshold": count(low), "max_threshold": count(high)},
        **{"weight": weight, "max_probability": 1 / linear, "mean_packet": f"{mean}B", "bytes": in_bytes},
        **{"gentle": gentle, "wait": wait, "ns2_guards": True},
    }
    return Queue("RED", line.buffer * times, settings, ours)


def ared(rng: random.Random, line: Line) -> Queue:
    target = rng.choice((0.005, 0.01, 0.02, 0.03))
    settings = {
        **{"bytes_": False, "queue_in_bytes_": False, "mean_pktsize_": line.size, "thresh_": 0, "maxthresh_": 0},
        **{"q_weight_": -1, "adaptive_": 1, "targetdelay_": target, "gentle_": True},
    }
    ours = {
        **{"kind": "ared", "buffer": f"{line.buffer} packets", "delay_target": f"{target}s"},
        **{"mean_packet": f"{line.size}B", "weight_rule": "round-trip", "ns2_guards": True, "clock": "arrival"},
        # One over the packets of 1000 B that the line has in 100 ms.
        "lowest": min(0.01, 80_000 / line.rate),
    }
    return Queue("RED", line.buffer, settings, ours)


def rio(rng: random.Random, line: Line) -> Queue:
    low = max(5, round(line.buffer * rng.uniform(0.05, 0.1)))
    weight, linear = rng.choice((0.001, 0.002, 0.004)), rng.choice((5, 10))
    names = {"thresh_": low, "maxthresh_": 3 * low, "linterm_": linear}
    settings = {
        **{"bytes_": False, "queue_in_bytes_": False, "mean_pktsize_": line.size, "q_weight_": weight},
        **names,
        **{f"out_{name}": value for name, value in names.items()},
        **{"in_thresh_": 4 * low, "in_maxthresh_": 7 * low, "in_linterm_": 50},
    }
    ours = {
        **{"kind": "rio", "profile": "ns2-2006", "buffer": f"{line.buffer} packets", "weight": weight},
        **{"out_min_threshold": f"{low} packets", "out_max_threshold": f"{3 * low} packets"},
        **{"in_min_threshold": f"{4 * low} packets", "in_max_threshold": f"{7 * low} packets"},
        **{"out_max_probability": 1 / linear, "in_max_probability": 0.02, "mean_packet": f"{line.size}B"},
    }
    return Queue("RED/RIO", line.buffer, settings, ours)


def rem(rng: random.Random, line: Line) -> Queue:
    target = rng.choice((10, 20, 30))
    settings = {"pbo_": target, "mean_pktsize_": line.size}
    ours = {"kind": "rem", "reference": f"{target} packets", "mean_packet": f"{line.size}B"}
    return Queue("REM", line.buffer + 1, settings, {**ours, "buffer": f"{line.buffer} packets"})


def pi(rng: random.Random, line: Line) -> Queue:
    times, target = rng.choice((1, 2, 4)), max(10, round(line.buffer * rng.uniform(0.15, 0.4)))
    a, b = 1.822e-5 * times, 1.816e-5 * times
    settings = {"a_": a, "b_": b, "qref_": target, "mean_pktsize_": line.size}
    ours = {"kind": "pi", "a": a, "b": b, "reference": f"{target} packets", "mean_packet": f"{line.size}B"}
    return Queue("PI", line.buffer, settings, {**ours, "buffer": f"{line.buffer} packets"})


def avq(rng: random.Random, line: Line) -> Queue:
    share = rng.choice((0.95, 0.98))
    settings = {"gamma_": share, "mean_pktsize_": line.size}
    ours = {"kind": "avq", "buffer": f"{line.buffer * line.size}B", "mean_packet": f"{line.size}B"}
    return Queue("Vq", line.buffer, settings, {**ours, "utilisation": share})


def sfq(rng: random.Random, line: Line) -> Queue:
    buckets = rng.choice((16, 32))
    ours = {"kind": "sfq", "buffer": f"{line.buffer} packets", "buckets": buckets, "hash": "ns2"}
    return Queue("SFQ", line.buffer, {"maxqueue_": line.buffer, "buckets_": buckets}, ours)


def drr(rng: random.Random, line: Line) -> Queue:
    quantum = line.size * rng.choice((1, 1, 2))
    limit = line.buffer * line.size
    ours = {"kind": "drr", "buffer": f"{limit}B", "quantum": f"{quantum}B", "count_newcomer": True, "tie": "ring"}
    return Queue("DRR", line.buffer, {"buckets_": 4096, "quantum_": quantum, "blimit_": limit}, ours)


DISCIPLINES: dict[str, Callable[[random.Random, Line], Queue]] = {
    "droptail": droptail,
    "red": red,
    "red-hard": lambda rng, line: red(rng, line, gentle=False),
    "red-bytes": lambda rng, line: red(rng, line, in_bytes=True),
    "red-nowait": lambda rng, line: red(rng, line, wait=False),
    "ared": ared,
    "rio": rio,
    "rem": rem,
    "pi": pi,
    "avq": avq,
    "sfq": sfq,
    "drr": drr,
}


def draw(number: int, seed: int) -> Drawn:
    """The scenario of this number: disciplines in turn, everything else by chance."""
    kind = list(DISCIPLINES)[number % len(DISCIPLINES)]
    name = f"{kind} {number // len(DISCIPLINES)}"
    rng = random.Random(f"{seed} {name}")
    rate, size = round(rng.uniform(2e6, 12e6), -5), rng.choice((500, 1000, 1500))
    delay = round(rng.uniform(0.005, 0.02), 3)
    product = rate * rng.uniform(0.08, 0.12) / 8 / size
    line = Line(int(rate), delay, size, min(max(round(product * rng.uniform(0.6, 2.0)), 30), 300))
    flows: list[Flow] = []
    share = rng.uniform(0.1, 0.9)
    # ns-2's hash gives hosts 2 to 13 buckets of their own.
    for group, (least, most) in zip(GROUPS, ((0.045, 0.08), (0.08, 0.18)), strict=True):
        count, variant = rng.randint(2, 6), rng.choice(list(VARIANTS))
        profile = 0
        if kind == "rio":
            profile = round(share * rate / 12 * (1.5 if group == "a" else 0.5))
        flows += [Flow(group, variant, round(rng.uniform(least, most), 5), profile) for _ in range(count)]
    return Drawn(name, line.rate, delay, size, tuple(flows), DISCIPLINES[kind](rng, line))


def theirs(drawn: Drawn, seed: int) -> dict[str, float]:
    def word(x: object) -> str:
        return str(x).lower() if isinstance(x, bool) else f"{x}"

    def flow(f: Flow, start: float) -> str:
        profile = f"{f.profile} {10 * drawn.size}" if f.profile else "{} {}"
        return f"{{{f.group} {f.variant} {f.rtt / 2 - drawn.delay:.9f} {start} {profile}}}"

    queue = drawn.queue
    lines = {
        **{"seed": seed, "rate": drawn.rate, "delay": drawn.delay, "size": drawn.size},
        **{"kind": queue.kind, "limit": queue.limit, "from": FROM, "to": TO},
        "settings": "{" + " ".join(f"{k} {word(v)}" for k, v in queue.settings.items()) + "}",
        "flows": "{" + " ".join(map(flow, drawn.flows, drawn.starts(seed))) + "}",
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "drawn.tcl"
        file.write_text("".join(f"set {k} {v}\n" for k, v in lines.items()))
        done = subprocess.run(["ns", str(SCRIPT), str(file)], capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout.strip():
        raise RuntimeError(f"ns-2 failed on {drawn.name}: {done.stderr.strip()[:500]}")
    waiting, arrived, dropped, sent, *acknowledged = map(float, done.stdout.split())
    seconds = TO - FROM
    return {
        "utilisation": sent * 8 / drawn.rate / seconds,
        "loss": dropped / arrived,
        "mean queue": waiting / seconds,
        **{f"goodput {g}": n * drawn.size * 8e-6 / seconds for g, n in zip(GROUPS, acknowledged, strict=True)},
    }


def scenario(drawn: Drawn, seed: int) -> Table:
    line = {"rate": f"{drawn.rate}bps", "delay": f"{drawn.delay}s", "queue": drawn.queue.ours}
    links: Table = {"line": {"from": "r1", "to": "r2", **line, "reverse_queue": UNLIMITED}}
    flows: Table = {}
    for i, (f, start) in enumerate(zip(drawn.flows, drawn.starts(seed), strict=True)):
        access = {"rate": "100Mbps", "delay": f"{f.rtt / 2 - drawn.delay:.9f}s", "queue": UNLIMITED}
        links[f"source{i}"] = {"from": f"s{i}", "to": "r1", **access}
        tcp = {"profile": "ns2", "payload": f"{drawn.size - 40}B", "window_cap": "10000 packets"}
        flows[f"{f.group}{i}"] = {
            **{"from": f"s{i}", "to": "r2", "start": f"{start}s"},
            "tcp": {**tcp, "variant": VARIANTS[f.variant], "ecn": "off"},
        }
        if f.profile:
            depth = f"{10 * drawn.size}B"
            flows[f"{f.group}{i}"]["conditioner"] = {"kind": "token-bucket", "rate": f"{f.profile}bps", "depth": depth}
    return {"seed": seed, "link": links, "flows": flows}


def ours(drawn: Drawn, seed: int) -> dict[str, float]:
    result = tb.run({**scenario(drawn, seed), "duration": f"{TO}s", "warmup": f"{FROM}s"}, jobs=1)
    line, flows = rows_of(result.links)["line"], rows_of(result.flows)
    sums = {g: sum(r["goodput_wire_bps"] for name, r in flows.items() if name[0] == g) / 1e6 for g in GROUPS}
    return {
        "utilisation": line["utilisation"],
        "loss": line["dropped_packets"] / line["arrived_packets"],
        "mean queue": line["mean_queue_packets"],
        **{f"goodput {g}": x for g, x in sums.items()},
    }


@dataclass(frozen=True)
class Compared:
    figure: str
    ours: float
    theirs: float
    #: The standard deviation of the difference of the two means, and what is always allowed.
    deviation: float
    allowed: float

    def within(self, factor: float) -> float:
        return max(factor * self.deviation, self.allowed)

    def held(self, factor: float) -> bool:
        return abs(self.ours - self.theirs) <= self.within(factor) + 1e-12


def compare(drawn: Drawn, seeds: range) -> list[Compared]:
    """The figures of these seeds, both sides."""
    runs = [(ours(drawn, s), theirs(drawn, s)) for s in seeds]
    found = []
    for figure, (share, units) in FIGURES.items():
        a, b = [o[figure] for o, _ in runs], [t[figure] for _, t in runs]
        deviation = ((statistics.variance(a) + statistics.variance(b)) / len(runs)) ** 0.5
        mean = statistics.mean(b)
        found.append(Compared(figure, statistics.mean(a), mean, deviation, max(share * abs(mean), units)))
    return found


def main(count: int, seed: int, words: list[str]) -> int:
    """Draw so many scenarios, or those of them that have one of these words; the exit status."""
    if shutil.which("ns") is None:
        print("skipped: there is no ns on the path (Debian: ns2)")
        return 0
    exact = packets(seed, words)
    two, student, in_all, compared, outside = Counter[str](), Counter[str](), Counter[str](), Counter[str](), []
    print(f"{'drawn':<14} {'figure':<12} {'ours':>10} {'theirs':>10} {'off':>9} {'within':>9}")
    for number in range(count):
        drawn = draw(number, seed)
        kind = drawn.name.split()[0]
        if words and kind not in words and drawn.name not in words:
            continue
        first = again = compare(drawn, range(1, SEEDS + 1))
        if not all(line.held(STUDENT_8) for line in first):
            again = compare(drawn, range(SEEDS + 1, 5 * SEEDS + 1))
        for line, more in zip(first, again, strict=True):
            compared[kind] += 1
            two[kind] += line.held(2.0)
            student[kind] += line.held(STUDENT_8)
            in_all[kind] += line.held(STUDENT_8) or more.held(STUDENT_38)
            if line.held(STUDENT_8):
                continue
            if not more.held(STUDENT_38):
                outside.append(f"{drawn.name} {line.figure}")
            off = f"{100 * (more.ours / more.theirs - 1):+.1f} %" if more.theirs else "-"
            numbers = f"{more.ours:>10.4g} {more.theirs:>10.4g} {off:>9} {more.within(STUDENT_38):>9.3g}"
            verdict = "by chance: inside with twenty other seeds" if more.held(STUDENT_38) else "outside"
            print(f"{drawn.name:<14} {line.figure:<12} {numbers}  {verdict}", flush=True)
    for kind, n in compared.items():
        counts = f"{two[kind]} of {n} inside by two deviations, {student[kind]} by {STUDENT_8}"
        print(f"{kind:<14} {counts}; {in_all[kind]} with twenty other seeds for those outside")
    n = compared.total()
    print(f"all: {two.total()} of {n} by two deviations, {student.total()} by {STUDENT_8}, {in_all.total()} in the end")
    few = [kind for kind, n in compared.items() if student[kind] < 0.95 * n]
    names = [", ".join(found) or "none" for found in (few, outside)]
    print(f"below 95 % with five seeds: {names[0]}; outside with twenty others too: {names[1]}")
    return 1 if outside or not exact else 0
