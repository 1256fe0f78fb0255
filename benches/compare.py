"""This version against another, paired in one run: time, instructions, memory.

    make bench BASE=../tailback-of-yesterday            about ten minutes
    make bench BASE=../tailback-of-yesterday QUICK=1    one pair each instead of five

BASE is a checkout of the other version; both are built there and here. The two take turns, so that the moods of the
machine meet both alike, and the median of the ratios counts. The bars are those a change has to meet.
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

HERE = Path(__file__).resolve().parents[1]
SCENARIO = HERE / "benches/reference.toml"
PAIRS = 1 if os.environ.get("QUICK") else 5
#: Flows and simulated seconds.
SIZES = {100: 50.0, 1000: 10.0, 10_000: 2.0}
MOST_TIME, MOST_INSTRUCTIONS, MOST_BYTES = 1.02, 809, 6500


def built(root: Path) -> Path:
    """The runner of a checkout."""
    command = ["cargo", "build", "--release", "--quiet", "-p", "tailback-engine", "--example", "run"]
    # Each checkout has its own target directory: one would be built over the other.
    subprocess.run(command, check=True, cwd=root, env={**os.environ, "CARGO_TARGET_DIR": str(root / "target")})
    return root / "target/release/examples/run"


def scaled(flows: int, seconds: float) -> list[str]:
    """The reference topology with so many flows, 5 Mb/s and ten packets of buffer each."""
    return [
        f"duration={seconds}s",
        f"link.bottleneck.rate={5 * flows}Mbps",
        f"link.bottleneck.queue.buffer={10 * flows} packets",
        f"flows.bulk.count={flows}",
        'flows.bulk.start={ kind = "uniform", from = "0s", to = "1s" }',
    ]


def run(command: list[str]) -> tuple[float, str]:
    """User CPU of a command, seconds, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    out = subprocess.run(command, check=True, capture_output=True, text=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, out.stdout + out.stderr


def hops(text: str) -> int:
    found = re.search(r"^hops (\d+)", text, re.MULTILINE)
    if found is None:
        raise SystemExit(f"the runner did not say how many packet-hops it made:\n{text}")
    return int(found[1])


def time_of(runner: Path, flows: int) -> float:
    """User CPU a packet-hop, seconds."""
    cpu, text = run([str(runner), str(SCENARIO), *scaled(flows, SIZES[flows])])
    return cpu / hops(text)


def instructions_of(runner: Path) -> float:
    """Instructions a packet-hop at 100 flows, 10 s."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    _, text = run([*command, str(runner), str(SCENARIO), "duration=10s"])
    found = re.search(r"refs:\s+([\d,]+)", text)
    if found is None:
        raise SystemExit(f"valgrind did not say how many instructions it counted:\n{text}")
    return int(found[1].replace(",", "")) / hops(text)


def bytes_of(root: Path) -> float | None:
    """Bytes that one flow more takes; printed by the test that holds the bar. None if it is not there."""
    command = [
        "cargo",
        "test",
        "--release",
        "--quiet",
        "-p",
        "tailback-engine",
        "--test",
        "memory_per_flow",
        "--",
        "--nocapture",
    ]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(root / "target")}
    out = subprocess.run(command, check=False, capture_output=True, text=True, cwd=root, env=environment).stdout
    found = re.search(r"one flow more (\d+) bytes steady", out)
    return float(found[1]) if found else None


def line(what: str, base: str, here: str, bar: str, met: bool) -> None:
    print(f"{what:<42} {base:>12} {here:>12}   {bar:<18} {'ok' if met else 'MISSED'}", flush=True)


def main() -> int:
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "Cargo.toml").is_file():
        print("give the folder of another checkout: make bench BASE=path", file=sys.stderr)
        return 2
    base_root = Path(sys.argv[1]).resolve()
    base, here = built(base_root), built(HERE)
    line("", "base", "here", "bar", True)
    met = []
    for flows in SIZES:
        pairs = [(time_of(base, flows), time_of(here, flows)) for _ in range(PAIRS)]
        ratio = statistics.median(b / a for a, b in pairs)
        a, b = (1e9 * statistics.median(x) for x in zip(*pairs, strict=True))
        met.append(ratio <= MOST_TIME)
        line(
            f"{flows:,} flows, ns CPU a packet-hop",
            f"{a:.1f}",
            f"{b:.1f}",
            f"{ratio:.3f}, at most {MOST_TIME}",
            met[-1],
        )
    if shutil.which("valgrind"):
        a, b = instructions_of(base), instructions_of(here)
        met.append(b <= MOST_INSTRUCTIONS)
        line("instructions a packet-hop, 100 flows", f"{a:.0f}", f"{b:.0f}", f"at most {MOST_INSTRUCTIONS}", met[-1])
    else:
        print("instructions a packet-hop: no valgrind here")
    memory = bytes_of(base_root), bytes_of(HERE)
    if memory[1] is not None:
        met.append(memory[1] <= MOST_BYTES)
        shown = "-" if memory[0] is None else f"{memory[0]:.0f}"
        line("bytes a flow", shown, f"{memory[1]:.0f}", f"at most {MOST_BYTES}", met[-1])
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
