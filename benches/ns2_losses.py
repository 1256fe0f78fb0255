"""Random losses beside ns-2.35: how many runs send the same segments at the same times.

    python3 benches/ns2_losses.py [--cases N] [--seed S] [--nudge NS] [--keep FILE.gz]

Draws loss patterns in six classes, runs each in an installed ns-2 (Debian: ns2) and in tailback's TCP endpoints over
the same network (`crates/tailback-transport/tests/common/reference_net.rs`), and prints per class how many are the same
and where each of the others differs first. Where there is no ns-2 it says so and ends well.
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
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = Path(__file__).resolve().parent / "ns2_losses.tcl"
VARIANTS = ("Tahoe", "Reno", "Newreno", "Sack1")
SECONDS = 10
# More packets than the slow line carries in that time, retransmissions and small packets included.
ARRIVALS = 1600


def pick(rng: random.Random, probability: float, first: int = 0) -> list[int]:
    return [i for i in range(first, ARRIVALS) if rng.random() < probability]


def few(rng: random.Random) -> tuple[list[int], list[int], list[int]]:
    return sorted(rng.sample(range(0, 250), rng.randint(1, 6))), [], []


def bursts(rng: random.Random) -> tuple[list[int], list[int], list[int]]:
    """All is lost for a while: timeouts of the same segment in a row."""
    lost: set[int] = set()
    for _ in range(rng.randint(1, 3)):
        start = rng.randrange(0, 300)
        lost.update(range(start, start + rng.randint(2, 40)))
    return sorted(lost), [], []


def light(rng: random.Random) -> tuple[list[int], list[int], list[int]]:
    return pick(rng, rng.uniform(0.02, 0.05)), [], []


def heavy(rng: random.Random) -> tuple[list[int], list[int], list[int]]:
    return pick(rng, rng.uniform(0.10, 0.20)), [], []


def lost_acks(rng: random.Random) -> tuple[list[int], list[int], list[int]]:
    return pick(rng, rng.uniform(0.005, 0.05)), [], pick(rng, rng.uniform(0.05, 0.30))


def marks(rng: random.Random) -> tuple[list[int], list[int], list[int]]:
    return pick(rng, rng.uniform(0.0, 0.02)), pick(rng, rng.uniform(0.01, 0.06), first=1), []


CLASSES = {"few": few, "bursts": bursts, "2-5%": light, "10-20%": heavy, "acks": lost_acks, "ecn": marks}


#: Cases that chance seldom draws, with the recorded ones: settings, then what is lost, marked, and lost of the ACKs.
CHOSEN = {
    "Tahoe 0 0 64 2": ([58, 60, 208, 225], [], []),  # duplicates go on after a timeout
    "Tahoe 1 0 64 2": ([80, 100, 125, 168, 205, 230], [], []),
    "Reno 0 1 20 2": ([1], [2], []),  # the first segment is lost, an echo comes before the third duplicate
    "Sack1 0 1 20 2": ([1], [2], []),
    "Reno 0 0 64 10": ([1, 13], [], []),  # duplicates of the first segment go on after its timeout
    "Newreno 0 0 64 10": ([1, 13], [], []),
}


def sends(settings: tuple[str | int, ...], lists: tuple[list[int], ...]) -> str:
    """What ns-2 sends: `microseconds:number`, the time since the segment before, with a c for CWR."""
    words = [*settings, *(" ".join(map(str, numbers)) for numbers in lists)]
    text = subprocess.run(["ns", str(SCRIPT), *map(str, words)], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in text.splitlines() if line.startswith("+")]
    times = [0, *(round(float(r[1]) * 1e6) for r in rows)]
    since = (b - a for a, b in pairwise(times))
    return " ".join(f"{t}:{r[10]}{'c' if r[6][3] == 'A' else ''}" for t, r in zip(since, rows, strict=True))


def run(name: str, number: int, settings: tuple[str | int, ...], lists: tuple[list[int], ...]) -> str:
    """The lines of one case."""
    keys = zip(("lost", "marked", "acks"), lists, strict=True)
    rows = [f"case {name} {number} {' '.join(map(str, settings))}"]
    rows += [f"{key} {' '.join(map(str, numbers))}" for key, numbers in keys]
    return "\n".join([*rows, "sent " + sends(settings, lists), ""])


def draw(cases: int, seed: int, nudge: int) -> str:
    text = ""
    for name, make in CLASSES.items():
        for number in range(cases):
            rng = random.Random(f"{seed} {name} {number}")
            variant = VARIANTS[number % len(VARIANTS)]
            delayed, cap = rng.randint(0, 1), rng.choice((10, 20, 28, 64))
            first = rng.choice((2, 2, 10))
            settings = (variant, delayed, int(name == "ecn"), cap, first, SECONDS, nudge)
            lists = make(rng)
            text += run(name, number, settings, lists)
    for number, (words, lists) in enumerate(CHOSEN.items()):
        text += run("chosen", number, (*words.split(), SECONDS, nudge), lists)
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare random losses with an installed ns-2.")
    parser.add_argument("--cases", type=int, default=150, help="cases of each class")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--nudge", type=int, default=0, help="ns by which one link is longer, so that no two events fall on one instant"
    )
    parser.add_argument("--keep", type=Path, help="write what ns-2 did to this file, and stop")
    args = parser.parse_args()
    if shutil.which("ns") is None:
        print("skipped: there is no ns on the path (Debian: ns2)")
        return 0
    text = gzip.compress(draw(args.cases, args.seed, args.nudge).encode(), mtime=0)
    if args.keep:
        args.keep.write_bytes(text)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "drawn.txt.gz"
        file.write_bytes(text)
        command = ["cargo", "test", "--release", "--quiet", "-p", "tailback-transport", "--test", "ns2_losses"]
        env = {**os.environ, "TAILBACK_NS2_LOSSES": str(file)}
        return subprocess.run([*command, "--", "--nocapture"], cwd=ROOT, env=env, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
