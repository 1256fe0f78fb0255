"""Meters beside ns-2.35: how many packets are green, yellow and red; ours, theirs, how near they should be.

    python validation/meter_references.py [CASE ...]

Packets come at given instants (`tests/reference/meters`). Where nothing is random every packet has to have the same
colour; colours by chance are held against the formula, in one run within four standard deviations, their mean over five
runs within two. A word such as `tsw` takes the cases that have it. Ends with 1 if a case is outside.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

import tailback as tb

DATA = Path(__file__).resolve().parent.parent / "tests/reference/meters"
#: Code points of green, yellow and red.
CODES = (10, 12, 14)
SEEDS = 5


def arrivals(name: str) -> list[tuple[float, int]]:
    """Instants (s) and sizes; a file has a line a packet, the time since the one before in us and the bytes."""
    with gzip.open(DATA / f"{name}.txt.gz", "rt") as f:
        rows = np.loadtxt(f, dtype=int, ndmin=2)
    return [(t / 1e6, int(b)) for t, b in zip(np.cumsum(rows[:, 0]).tolist(), rows[:, 1].tolist(), strict=True)]


def colours(conditioner: dict[str, Any], name: str, seed: int) -> list[int]:
    """0, 1 or 2 for each packet."""
    marked = tb.mark(conditioner, arrivals(name), seed=seed)
    return [CODES.index(c) for c in marked if c is not None]


def counted(found: list[int]) -> list[int]:
    return [found.count(i) for i in range(len(CODES))]


def exact(case: dict[str, Any]) -> list[tuple[str, str, str, str, bool]]:
    """A row a file: name, ours, theirs, tolerance, whether it is inside."""
    rows = []
    for i, (name, theirs) in enumerate(zip(case["arrivals"], case["counts"], strict=True)):
        found = colours(case["conditioner"], name, 1)
        same = counted(found) == theirs
        tolerance = "exact"
        if i == 0:
            with gzip.open(DATA / f"colours-{case['colours']}.txt.gz", "rt") as f:
                same &= "".join(map(str, found)) == f.read().strip()
            tolerance = "exact, each packet"
        rows.append((f"{case['id']} {name}", show(counted(found)), show(theirs), tolerance, same))
    return rows


def chance(case: dict[str, Any]) -> list[tuple[str, str, str, str, bool]]:
    """One row: the mean over five runs, whose files or seeds differ."""
    files = case["arrivals"] if len(case["arrivals"]) == SEEDS else case["arrivals"] * SEEDS
    runs = np.array([counted(colours(case["conditioner"], f, s)) for s, f in enumerate(files, 1)])
    totals = runs.sum(axis=1)
    green, sd = case["counts"][0], case["sd"]
    inside = abs(runs[:, 0].mean() - green) <= 2 * sd
    if len(set(files)) == 1:
        # The formula's number is of each file; with several files it is known of their mean only.
        inside &= bool(np.all(abs(runs[:, 0] - green) <= 4 * sd))
    inside &= abs(totals.mean() - sum(case["counts"])) <= 0.6
    tolerance = f"green {2 * sd} in the mean" if sd else "exact"
    return [(case["id"], show(runs.mean(axis=0)), show(case["counts"]), tolerance, bool(inside))]


def show(x: Any) -> str:
    return " / ".join(f"{v:g}" for v in x)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="*", help="words of the ids of cases")
    words = parser.parse_args().case
    cases = tomllib.loads((DATA / "cases.toml").read_text(encoding="utf-8"))
    rows = []
    for kind, judged in (("exact", exact), ("chance", chance)):
        for case in cases[kind]:
            if not words or any(w in case["id"] for w in words):
                rows += judged(case)
    if not rows:
        print("no case has one of these words", file=sys.stderr)
        return 2
    print(f"{'case':<26} {'ours':<28} {'theirs':<28} {'tolerance':<22}")
    for name, ours, theirs, tolerance, inside in rows:
        print(f"{name:<26} {ours:<28} {theirs:<28} {tolerance:<22} {'inside' if inside else 'OUTSIDE'}")
    good = sum(r[-1] for r in rows)
    print(f"{good} of {len(rows)} inside")
    return 0 if good == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
