"""This version against another, paired in one run: time, instructions, memory.

    make bench BASE=../tailback-of-yesterday            about half an hour
    make bench BASE=../tailback-of-yesterday QUICK=1    one pair each instead of five; PAIRS=21: so many
    python benches/compare.py ../other counted memory   these parts alone

The parts are sessions, datagrams, flows, disciplines, senders, looks, captures, counted and memory. BASE is a checkout
of the other version; both are built there and here. The two take turns, so that the moods of the machine meet both
alike, and the median of the ratios counts. A change may cost 2 % of the time and 1 % of the instructions of the version
before it, and no memory. What a capture costs is held against the same run without one, both of this version.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
SCENARIO = HERE / "benches/reference.toml"
#: What has sessions: people who browse, and a home line.
WEB = HERE / "benches/web.toml"
HOME = HERE / "benches/home.toml"
SESSIONS = {
    "web behind FQ-CoDel, 1,000 clients": (WEB, []),
    "web behind CAKE": (WEB, ['link.bottleneck.queue={ kind = "cake" }']),
    "a home line behind CAKE, ten times": (HOME, []),
}
EXAMPLES = HERE / "python/tailback/examples"
DATAGRAMS = {"Poisson datagrams": "poisson-md1.toml", "on-off datagrams": "on-off.toml"}
PAIRS = 1 if os.environ.get("QUICK") else int(os.environ.get("PAIRS", "5"))
#: Flows and simulated seconds.
SIZES = {10: 200.0, 100: 50.0, 1000: 10.0, 10_000: 2.0}
MOST_TIME, MOST_INSTRUCTIONS, MOST_MEMORY = 1.02, 1.01, 1.0
#: A run that writes all packets of the bottleneck into a file, over one that does not.
MOST_CAPTURE = 2.5

#: As in `run.py`; the buffer is ten packets a flow. No flow has ECN on, so that nothing is marked, but with the
#: discipline whose signal is the mark.
DISCIPLINES = {
    "red": '{ kind = "red", buffer = "BUFFER", min_threshold = "20%", max_threshold = "100%", weight = 0.001, '
    "max_probability = 0.01, gentle = false }",
    "codel": '{ kind = "codel", buffer = "BUFFER" }',
    "fq-codel": '{ kind = "fq-codel", buffer = "BUFFER" }',
    "qsdrr": '{ kind = "qsdrr", buffer = "BUFFER" }',
    "cake": '{ kind = "cake", buffer = "BUFFER" }',
    "dualpi2": '{ kind = "dualpi2", buffer = "BUFFER" }',
}
WITH_ECN = 'flows.bulk.tcp={ profile = "ns2", variant = "reno", payload = "1460B", ecn = "on" }'
SENDERS = {
    "profile linux": '{ profile = "linux" }',
    "SACK, time stamps, delayed ACKs": '{ ecn = "off" }',
}
#: What looks at a run, and costs.
LOOKS = {
    "a probe a link each 10 ms": ['record.queue={ link = "bottleneck", probes = "queue", every = "10ms" }'],
    "a log of drops": ["log_drops=true"],
}


def crate_with(root: Path, file: str) -> str | None:
    """The crate of a checkout that has this file: the crates of another version may be others. None if it has none."""
    found = sorted((root / "crates").glob(f"*/{file}"))
    return found[0].relative_to(root / "crates").parts[0] if found else None


def built(root: Path, example: str = "run") -> Path:
    """The runner of a checkout, or another of its examples."""
    crate = crate_with(root, f"examples/{example}.rs")
    if crate is None:
        raise SystemExit(f"no crate of {root} has the example {example}; give a checkout that has it")
    command = ["cargo", "build", "--release", "--quiet", "-p", crate, "--example", example]
    # Each checkout has its own target directory: one would be built over the other.
    subprocess.run(command, check=True, cwd=root, env={**os.environ, "CARGO_TARGET_DIR": str(root / "target")})
    return root / "target/release/examples" / example


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


def time_of(runner: Path, flows: int, more: list[str], share: float = 1.0) -> float:
    """User CPU a packet-hop, seconds; of so large a share of the usual time."""
    cpu, text = run([str(runner), str(SCENARIO), *scaled(flows, SIZES[flows] * share), *more])
    return cpu / hops(text)


def cpu_of(runner: Path, file: Path, more: list[str], times: int) -> float:
    """User CPU a packet-hop of a scenario, seconds, the mean of so many runs."""
    runs = [run([str(runner), str(file), *more]) for _ in range(times)]
    return sum(cpu for cpu, _ in runs) / sum(hops(text) for _, text in runs)


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
    crate = crate_with(root, "tests/memory_per_flow.rs")
    if crate is None:
        return None
    command = ["cargo", "test", "--release", "--quiet", "-p", crate, "--test", "memory_per_flow", "--", "--nocapture"]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(root / "target")}
    out = subprocess.run(command, check=False, capture_output=True, text=True, cwd=root, env=environment).stdout
    found = re.search(r"one flow more (\d+) bytes steady", out)
    return float(found[1]) if found else None


class Bench:
    """Two checkouts, and whether all bars were met."""

    def __init__(self, base: Path) -> None:
        self.roots = base, HERE
        self.runners = built(base), built(HERE)
        self.met = True

    def line(self, what: str, base: float, here: float, most: float, unit: str = "") -> None:
        ratio = here / base
        self.met &= ratio <= most
        shown = [f"{x:.0f}{unit}" if x >= 1000 else f"{x:.1f}{unit}" for x in (base, here)]
        mark = "ok" if ratio <= most else "MISSED"
        print(f"{what:<48} {shown[0]:>10} {shown[1]:>10}  {ratio:6.3f}, at most {most}  {mark}", flush=True)

    def median(self, what: str, times: list[list[float]], most: float = MOST_TIME) -> None:
        # The ratio of each pair counts, not that of the medians.
        ratio = statistics.median(here / base for base, here in times)
        base = 1e9 * statistics.median(t[0] for t in times)
        self.line(what, base, base * ratio, most, " ns")

    def pairs(self, what: str, flows: int, more: list[str] | None = None, share: float = 1.0) -> None:
        times = [[time_of(r, flows, more or [], share) for r in self.runners] for _ in range(PAIRS)]
        self.median(f"{what}, {flows:,} flows", times)

    def scenario(self, what: str, file: Path, more: list[str], times: int = 1) -> None:
        """A scenario as it is, so many times for a measure."""
        pairs = [[cpu_of(r, file, more, times) for r in self.runners] for _ in range(PAIRS)]
        self.median(what, pairs)

    def sessions(self) -> None:
        for what, (file, more) in SESSIONS.items():
            self.scenario(what, file, more, 10 if file == HOME else 1)

    def datagrams(self) -> None:
        for what, name in DATAGRAMS.items():
            self.scenario(what, EXAMPLES / name, [])

    def flows(self) -> None:
        for flows in SIZES:
            self.pairs("drop-tail", flows)

    def disciplines(self) -> None:
        for name, table in DISCIPLINES.items():
            for flows in (100, 10_000):
                queue = table.replace("BUFFER", f"{10 * flows} packets")
                more = [WITH_ECN] if name == "dualpi2" else []
                self.pairs(name, flows, [f"link.bottleneck.queue={queue}", *more], 0.4)

    def senders(self) -> None:
        for name, table in SENDERS.items():
            self.pairs(name, 100, [f"flows.bulk.tcp={table}"], 0.4)

    def looks(self) -> None:
        for name, more in LOOKS.items():
            self.pairs(name, 100, more)

    def captures(self) -> None:
        capture = built(HERE, "capture")
        with tempfile.TemporaryDirectory() as folder:
            file = str(Path(folder) / "link.pcapng")
            plain, taken = [str(self.runners[1]), str(SCENARIO)], [str(capture), str(SCENARIO), "bottleneck", file]
            commands = [[*command, *scaled(100, SIZES[100])] for command in (plain, taken)]
            runs = [[run(command) for command in commands] for _ in range(PAIRS)]
        self.median("a capture over none", [[cpu / hops(text) for cpu, text in pair] for pair in runs], MOST_CAPTURE)

    def counted(self) -> None:
        if not shutil.which("valgrind"):
            print("instructions a packet-hop: no valgrind here")
            return
        base, here = (instructions_of(r) for r in self.runners)
        self.line("instructions a packet-hop, 100 flows", base, here, MOST_INSTRUCTIONS)

    def memory(self) -> None:
        base, here = (bytes_of(r) for r in self.roots)
        if base is not None and here is not None:
            self.line("memory of one flow more", base, here, MOST_MEMORY, " B")


def main() -> int:
    helpers = ("__init__", "line", "median", "pairs", "scenario")
    parts = [name for name, of in vars(Bench).items() if callable(of) and name not in helpers]
    if len(sys.argv) < 2 or not (Path(sys.argv[1]) / "Cargo.toml").is_file() or not set(sys.argv[2:]) <= set(parts):
        print(f"give the folder of another checkout, and perhaps some of {', '.join(parts)}", file=sys.stderr)
        return 2
    bench = Bench(Path(sys.argv[1]).resolve())
    print(f"{'user CPU a packet-hop':<48} {'base':>10} {'here':>10}")
    for name in sys.argv[2:] or parts:
        getattr(bench, name)()
    return 0 if bench.met else 1


if __name__ == "__main__":
    sys.exit(main())
