"""Random losses beside ns-2.35: how many runs send the same segments at the same times, with the same windows.

    python3 validation/ns2_losses.py [--cases N] [--seed S] [--nudge NS] [--keep FILE.gz]

Draws loss patterns in six classes, and with each a line (rate, delay, buffer), an agent, delayed ACKs, window cap,
initial window and length; runs each in an installed ns-2 (Debian: ns2) and in tailback's TCP endpoints over the same
network (`crates/tailback-transport/tests/it/common/reference_net.rs`). Prints for each class how many runs are the
same in every segment, ACK, window and threshold, and where each of the others differs first. Without ns-2 it says so
and ends well.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = Path(__file__).resolve().parent / "ns2_losses.tcl"
ONE_WAY = ("Tahoe", "Reno", "Newreno", "Sack1")
#: What happens so shortly before the end is not compared, s.
END = 1.37e-4
#: A run sends no more packets than about this.
PACKETS = 1500

Settings = dict[str, str | int]
#: What is lost, what is marked, and which ACKs are lost, by arrival index.
Lists = tuple[list[int], list[int], list[int]]


def pick(rng: random.Random, probability: float, first: int = 0) -> list[int]:
    return [i for i in range(first, 2 * PACKETS) if rng.random() < probability]


def few(rng: random.Random, packets: int) -> Lists:
    early = range(min(250, packets + 5))
    return sorted(rng.sample(early, rng.randint(1, min(6, len(early))))), [], []


def bursts(rng: random.Random, packets: int) -> Lists:
    """All is lost for a while: timeouts of the same segment in a row."""
    lost: set[int] = set()
    for _ in range(rng.randint(1, 3)):
        start = rng.randrange(min(300, packets + 5))
        lost.update(range(start, start + rng.randint(2, 40)))
    return sorted(lost), [], []


def light(rng: random.Random, _packets: int) -> Lists:
    return pick(rng, rng.uniform(0.02, 0.05)), [], []


def heavy(rng: random.Random, _packets: int) -> Lists:
    return pick(rng, rng.uniform(0.10, 0.20)), [], []


def lost_acks(rng: random.Random, _packets: int) -> Lists:
    return pick(rng, rng.uniform(0.005, 0.05)), [], pick(rng, rng.uniform(0.05, 0.30))


def marks(rng: random.Random, _packets: int) -> Lists:
    return pick(rng, rng.uniform(0.0, 0.03)), pick(rng, rng.uniform(0.01, 0.15), first=1), []


CLASSES = {"few": few, "bursts": bursts, "2-5%": light, "10-20%": heavy, "acks": lost_acks, "ecn": marks}


def setting(rng: random.Random, variant: str, ecn: bool) -> Settings:
    """Everything else that a case has."""
    full = variant.startswith("Full")
    megabits = 10 ** rng.uniform(-0.7, 0.9)
    return {
        "variant": variant,
        "delayed": rng.randint(0, 1),
        "ecn": int(ecn),
        "cap": rng.choice((10, 20, 28, 64, 200)),
        "first": rng.choice((1, 2, 2, 4, 10)),
        "slow": round(64_000 / megabits),
        "delay": round(10 ** rng.uniform(3, 5)),
        "buffer": rng.choice((rng.randint(3, 30), rng.randint(30, 100), 400)),
        "packets": rng.choice((0, 0, rng.randint(1, 40), rng.randint(40, 400))),
        "back": rng.choice((0, rng.randint(1, 40), rng.randint(40, 400))) if full else 0,
        "seconds": min(20, max(3, round(PACKETS * 8e-3 / megabits))),
    }


#: The network of the recorded traces, and cases of it that chance seldom draws.
PLAIN: Settings = {"slow": 64_000, "delay": 20_000, "buffer": 100, "packets": 0, "back": 0, "seconds": 10}
WORDS = ("variant", "delayed", "ecn", "cap", "first")
CHOSEN: dict[str, Lists] = {
    "Tahoe 0 0 64 2": ([58, 60, 208, 225], [], []),  # duplicates go on after a timeout
    "Tahoe 1 0 64 2": ([80, 100, 125, 168, 205, 230], [], []),
    "Reno 0 1 20 2": ([1], [2], []),  # the first segment is lost, an echo comes before the third duplicate
    "Sack1 0 1 20 2": ([1], [2], []),
    "Reno 0 0 64 10": ([1, 13], [], []),  # duplicates of the first segment go on after its timeout
    "Newreno 0 0 64 10": ([1, 13], [], []),
    "Newreno 0 0 20 2": (list(range(60, 84)), [], []),  # the same segment times out again and again
}


def spaced(rows: list[tuple[float, str]], unit: float) -> str:
    """`time:what`, the time since the row before in units."""
    times = [0, *(round(t / unit) for t, _ in rows)]
    since = (b - a for a, b in pairwise(times))
    return " ".join(f"{t}:{what}" for t, (_, what) in zip(since, rows, strict=True))


def windows(lines: list[list[str]], until: float) -> str:
    """`10 us:window:threshold` where either changes for good at an instant, until the last ACK."""
    rows: list[tuple[float, str]] = []
    now = {"cwnd_": "1", "ssthresh_": "0"}
    for line in lines:
        now[line[5]] = f"{float(line[6]):g}"
        t, what = float(line[0]), f"{now['cwnd_']}:{now['ssthresh_']}"
        if rows and rows[-1][0] == t:
            rows.pop()
        if t < until + 1e-5 and (not rows or rows[-1][1] != what):
            rows.append((t, what))
    return spaced(rows, 1e-5)


def what_ns2_does(case: Settings) -> str:
    """What it sends, which ACKs it hears, and its windows. c: with CWR; e: with an echo."""
    words = [str(word) for item in case.items() for word in item]
    text = subprocess.run(["ns", str(SCRIPT), *words], capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in text.splitlines()]
    lines = [r for r in lines if float(r[0] if len(r) == 7 else r[1]) < int(case["seconds"]) - END]
    full = str(case["variant"]).startswith("Full")

    def name(r: list[str]) -> str:
        payload = int(r[5]) - int(r[14]) if full else 0
        return f"{r[10] if payload else 0}.{max(int(r[12]), 0)}.{payload}" if full else r[10]

    here = [r for r in lines if len(r) > 7]
    sent = [(float(r[1]), name(r) + ("c" if r[6][3] == "A" else "")) for r in here if r[0] == "+" and r[2] == "0"]
    heard = [(float(r[1]), name(r) + ("e" if r[6][0] == "C" else "")) for r in here if r[0] == "r" and r[3] == "0"]
    variables = windows([r for r in lines if len(r) == 7], heard[-1][0] if heard else 0.0)
    return f"sent {spaced(sent, 1e-6)}\nheard {spaced(heard, 1e-6)}\nwindows {variables}"


def run(name: str, number: int, settings: Settings, lists: Lists) -> str:
    """The lines of one case."""
    struck = {key: " ".join(map(str, indices)) for key, indices in zip(("lost", "marked", "acks"), lists, strict=True)}
    rows = [f"case {name} {number} " + " ".join(f"{key}={value}" for key, value in settings.items())]
    rows += [f"{key} {indices}" for key, indices in struck.items()]
    return "\n".join([*rows, what_ns2_does({**settings, **struck}), ""])


def draw(cases: int, seed: int, nudge: int, variants: tuple[str, ...]) -> str:
    jobs: list[tuple[str, int, Settings, Lists]] = []
    for name, make in CLASSES.items():
        for number in range(cases):
            rng = random.Random(f"{seed} {name} {number}")
            variant = variants[number % len(variants)]
            settings = {**setting(rng, variant, name == "ecn"), "nudge": nudge}
            lists = make(rng, int(settings["packets"]) or PACKETS)
            if settings["back"]:
                # The handshake stays whole: an agent that is told to send before it is open opens by itself.
                lost, marked, acks = lists
                lists = ([i for i in lost if i > 1], marked, [i for i in acks if i > 0])
            jobs.append((name, number, settings, lists))
    for number, (words, lists) in enumerate(CHOSEN.items()):
        settings = {**dict(zip(WORDS, words.split(), strict=True)), **PLAIN, "nudge": nudge}
        jobs.append(("chosen", number, settings, lists))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return "".join(pool.map(lambda job: run(*job), jobs))


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare random losses with an installed ns-2.")
    parser.add_argument("--cases", type=int, default=150, help="cases of each class")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--nudge",
        type=int,
        default=0,
        help="ns by which the last link is longer; a hundredth of it more takes each 8 B on the first and on the slow "
        "line, and the last grows by 1 ns now and then, so that no two events fall on one instant",
    )
    parser.add_argument(
        "--agents",
        type=lambda text: tuple(text.split(",")),
        default=ONE_WAY,
        help="such as Reno,Sack1 or Full/Sack,Full/Newreno (two-way); without it the four one-way agents",
    )
    parser.add_argument("--keep", type=Path, help="write what ns-2 did to this file, and stop")
    args = parser.parse_args()
    if shutil.which("ns") is None:
        print("skipped: there is no ns on the path (Debian: ns2)")
        return 0
    text = gzip.compress(draw(args.cases, args.seed, args.nudge, args.agents).encode(), mtime=0)
    if args.keep:
        args.keep.write_bytes(text)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "drawn.txt.gz"
        file.write_bytes(text)
        command = ["cargo", "test", "--release", "--quiet", "-p", "tailback-transport", "--test", "it", "ns2_losses"]
        env = {**os.environ, "TAILBACK_NS2_LOSSES": str(file)}
        return subprocess.run([*command, "--", "--nocapture"], cwd=ROOT, env=env, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
