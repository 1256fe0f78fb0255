"""How fast tailback is: packet-hops per CPU second, instructions per packet-hop, memory, start-up.

    make bench                               everything, about half an hour
    make bench QUICK=1                       one run each instead of five
    python benches/run.py counted memory     these parts alone: start_up, counted, speed, disciplines, memory

A packet-hop is a packet, data or ACK, fully received at the far end of a link. Statistics are on, recording is off.
Times are user CPU of the whole process, medians; they move with the machine and what else it does. Instructions do not:
where times are noisy, they decide.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCENARIO = str(ROOT / "benches/reference.toml")
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
RUNNER = str(TARGET / "release/examples/run")
REPEATS = 1 if os.environ.get("QUICK") else 5


def scaled(flows: int, seconds: float, start: str = "1s") -> list[str]:
    """The reference topology with so many flows, 5 Mb/s and ten packets of buffer each."""
    return [
        f"duration={seconds}s",
        f"link.bottleneck.rate={5 * flows}Mbps",
        f"link.bottleneck.queue.buffer={10 * flows} packets",
        f"flows.bulk.count={flows}",
        f'flows.bulk.start={{ kind = "uniform", from = "0s", to = "{start}" }}',
    ]


def user_cpu(command: list[str]) -> tuple[float, str]:
    """User CPU of a command, seconds, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    out = subprocess.run(command, check=True, capture_output=True, text=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, out.stdout + out.stderr


def hops(output: str) -> int:
    found = re.search(r"^hops (\d+)", output, re.MULTILINE)
    assert found, output
    return int(found.group(1))


def rate(overrides: list[str]) -> tuple[float, float]:
    """Packet-hops per CPU second, median; peak memory, MB."""
    runs = [user_cpu([RUNNER, SCENARIO, *overrides]) for _ in range(REPEATS)]
    peak = re.search(r"peak (\d+) MB", runs[0][1])
    return statistics.median(hops(out) / cpu for cpu, out in runs), float(peak.group(1)) if peak else float("nan")


def line(what: str, value: str, bar: str, met: bool | None) -> None:
    mark = "" if met is None else "ok" if met else "MISSED"
    print(f"{what:<46} {value:>26}   {bar:<22} {mark}", flush=True)


def speed() -> None:
    for flows, seconds, bar in [(100, 100, 12), (1000, 50, 8), (10_000, 10, 3)]:
        overrides = [f"duration={seconds}s"] if flows == 100 else scaled(flows, seconds)
        per_second, peak = rate(overrides)
        value = f"{per_second / 1e6:.2f} M hops/s"
        line(
            f"{flows:,} flows, drop-tail, {seconds} s (peak {peak:.0f} MB)",
            value,
            f"at least {bar} M",
            per_second >= bar * 1e6,
        )


def counted_run(overrides: list[str]) -> tuple[int, str]:
    """Instructions of the whole run, and what it printed."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", RUNNER, SCENARIO, *overrides]
    _, out = user_cpu(command)
    found = re.search(r"refs:\s+([\d,]+)", out)
    assert found, out
    return int(found.group(1).replace(",", "")), out


OPTIONS = (
    'flows.bulk.tcp={ profile = "ns2", variant = "sack", payload = "1460B", window_cap = "10000 packets", '
    "timestamps = true, delayed_ack = %d }"
)


def delivered(output: str) -> int:
    """Data packets over the bottleneck."""
    found = re.search(r'"name":"bottleneck".*?"delivered_packets":(\d+)', output)
    assert found, output
    return int(found.group(1))


def counted() -> None:
    if not shutil.which("valgrind"):
        line("instructions per packet-hop", "no valgrind here", "at most 700", None)
        return
    total, out = counted_run(["duration=10s"])
    n, plain = total / hops(out), total / delivered(out)
    line("instructions per packet-hop, 100 flows, 10 s", f"{n:.0f}", "at most 700", n <= 700)
    # A data packet with SACK, timestamps and delayed ACKs; with an ACK each there are twice as many ACKs.
    for segments, what, bar in [(2, "delayed ACKs", 2400), (1, "an ACK each", 3300)]:
        total, out = counted_run(["duration=10s", OPTIONS % segments])
        cost = total / delivered(out)
        value = f"{cost:.0f}, plain {plain:.0f}"
        line(f"  a data packet with SACK, timestamps, {what}", value, f"at most {bar}", cost <= bar)


DISCIPLINES = {
    "red": '{ kind = "red", buffer = "1000 packets", min_threshold = "20%", max_threshold = "100%", weight = 0.001, '
    "max_probability = 0.01, gentle = false }",
    "blue": '{ kind = "blue", buffer = "1000 packets", up = 0.0025, down = 0.00025, timers = "separate" }',
    "codel": '{ kind = "codel", buffer = "1000 packets" }',
    "pie": '{ kind = "pie", buffer = "1000 packets" }',
    "cobalt": '{ kind = "cobalt", buffer = "1000 packets" }',
    "dualpi2": '{ kind = "dualpi2", buffer = "1000 packets" }',
    "fq-codel": '{ kind = "fq-codel", buffer = "1000 packets" }',
    "fq-pie": '{ kind = "fq-pie", buffer = "1000 packets" }',
    "fq-cobalt": '{ kind = "fq-cobalt", buffer = "1000 packets" }',
    "cake": '{ kind = "cake", buffer = "1000 packets" }',
    "random-drop": '{ kind = "random-drop", buffer = "1000 packets" }',
    "front-drop": '{ kind = "front-drop", buffer = "1000 packets" }',
    "drr": '{ kind = "drr", buffer = "1000 packets" }',
    "tdrr": '{ kind = "tdrr", buffer = "1000 packets" }',
    "qsdrr": '{ kind = "qsdrr", buffer = "1000 packets" }',
    "dtdrr": '{ kind = "dtdrr", buffer = "1000 packets" }',
    "dsdrr": '{ kind = "dsdrr", buffer = "1000 packets" }',
    "drr, Bloom groups": '{ kind = "drr", buffer = "1000 packets", mapper = "bloom", queues = 20 }',
    "wdrr": '{ kind = "wdrr", buffer = "1000 packets" }',
    "scfq": '{ kind = "scfq", buffer = "1000 packets" }',
    "wf2q-plus": '{ kind = "wf2q-plus", buffer = "1000 packets" }',
    "wf2q": '{ kind = "wf2q", buffer = "1000 packets" }',
    "fq": '{ kind = "fq", buffer = "1000 packets" }',
    "fqbit": '{ kind = "fqbit", buffer = "1000 packets" }',
    "decsel": '{ kind = "decsel", buffer = "1000 packets" }',
}

# Flows, each with its queue where there are several, and how long to run, in seconds.
SIZES = {100: 50, 1000: 5, 10_000: 1.5}


def disciplines() -> None:
    """CPU per packet-hop of the whole run, against drop-tail that is simulated event by event, as the queues get more.

    What counts are the ratios: the whole run needs more CPU a packet-hop with more flows, whatever the queue. A cost in
    proportion to the number of queues would make the last ratio a hundred times the first."""
    sizes = "  ".join(f"{n:>7,}" for n in SIZES)
    line("CPU per packet-hop against drop-tail; flows:", sizes, "at most 3 x at 100", None)
    for name, table in DISCIPLINES.items():
        ratios = [ratio(n, table) for n in SIZES]
        grown = ratios[-1] / ratios[0]
        met = ratios[0] <= 3 and (grown <= 10 or name == "wf2q")
        line(f"  {name}", "  ".join(f"{x:5.2f} x" for x in ratios), f"grown {grown:.1f} x of 100", met)


EXPLICIT = '{ kind = "droptail", buffer = "1000 packets", count_in_service = true }'


def ratio(flows: int, queue: str) -> float:
    """CPU with so many flows over such a queue, against drop-tail; both run in turn, for the machine has moods."""
    runs = REPEATS if flows == 100 else min(REPEATS, 2)
    pairs = [(cost(flows, queue), cost(flows, EXPLICIT)) for _ in range(runs)]
    return min(p[0] for p in pairs) / min(p[1] for p in pairs)


def cost(flows: int, queue: str) -> float:
    """User CPU per packet-hop, seconds."""
    queue = queue.replace("1000 packets", f"{10 * flows} packets")
    cpu, out = user_cpu([RUNNER, SCENARIO, *scaled(flows, SIZES[flows], "10ms"), f"link.bottleneck.queue={queue}"])
    return cpu / hops(out)


def start_up() -> None:
    tailback = shutil.which("tailback")
    if not tailback:
        return
    for what, command, bar in [
        ("tailback --help", [tailback, "--help"], 0.08),
        ("import tailback", [sys.executable, "-c", "import tailback"], 0.02),
    ]:
        best = min(cpu_of(command) for _ in range(5))
        line(f"{what}, CPU, best of 5", f"{best:.3f} s", f"at most {bar} s", best <= bar)


def cpu_of(command: list[str]) -> float:
    """User and system CPU of a command, seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def memory() -> None:
    """Printed by the test that holds the bar."""
    command = ["cargo", "test", "--release", "-p", "tailback-plan", "--test", "memory_per_flow", "--", "--nocapture"]
    out = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT).stdout
    for text in out.splitlines():
        if "bytes" in text:
            print(text.strip())


def main() -> None:
    parts = {f.__name__: f for f in (start_up, counted, speed, disciplines, memory)}
    wanted = sys.argv[1:] or list(parts)
    odd = [name for name in wanted if name not in parts]
    if odd:
        sys.exit(f"there is no part {odd[0]}; there are {', '.join(parts)}")
    subprocess.run(["cargo", "build", "--release", "-p", "tailback-plan", "--example", "run"], check=True, cwd=ROOT)
    for name in wanted:
        parts[name]()


if __name__ == "__main__":
    main()
