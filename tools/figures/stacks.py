#!/usr/bin/env python3
"""The figures of the page of stacks, from what `make stacks` prints.

stacks/target/release/quinn-stack | tools/figures/stacks.py
"""

from __future__ import annotations

import sys
from pathlib import Path

from common import FIGURES, saved
from matplotlib.axes import Axes

from tailback.show.plots import grid, styled


def table(text: str, title: str) -> list[list[float]]:
    """The rows of numbers below the line that begins so; units behind a number are left out."""
    lines = iter(text.partition(title)[2].splitlines()[2:])
    rows = []
    for line in lines:
        if not line.strip():
            break
        rows.append([float(word) for word in line.replace(" s ", " ").replace("ms", "").replace("us", "e-3").split()])
    return rows


def growth(axes: Axes, rows: list[list[float]]) -> None:
    times = [row[0] for row in rows]
    for column, label in ((2, "all it can"), (1, "2 Mb/s")):
        axes.plot(times, [row[column] for row in rows], label=f"the application writes {label}")
    axes.set_yscale("log")
    axes.set_ylim(8, 2000)
    axes.set_yticks([10, 100, 1000], ["10", "100", "1000"])
    axes.set_xlabel("time (s)")
    axes.set_ylabel("window (kB)")


def reordering(axes: Axes, rows: list[list[float]]) -> None:
    late = [row[0] for row in rows]
    axes.plot(late, [row[3] for row in rows], marker="o", label="CUBIC with RACK")
    axes.plot(late, [row[1] for row in rows], marker="o", label="quinn: lost after three later ones")
    axes.set_ylim(0, 21)
    axes.set_xlabel("one packet in a hundred is late by (ms)")
    axes.set_ylabel("goodput (Mb/s)")


#: Each figure, what the table begins with, and where its legend stands.
DRAWINGS = {
    "growth": (growth, "Congestion window of quinn", "upper right"),
    "reordering": (reordering, "Mb/s alone on a path", "center right"),
}


@styled
def drawn(name: str, text: str) -> Path:
    draw, title, place = DRAWINGS[name]
    fig, axes = grid(6.4, 2.6)
    draw(axes[0, 0], table(text, title))
    axes[0, 0].legend(loc=place)
    return saved(fig, FIGURES / "stacks" / f"{name}.png")


if __name__ == "__main__":
    printed = sys.stdin.read()
    for name in DRAWINGS:
        print(drawn(name, printed))
