"""Who gets what: a bar for each flow of a run with very different ones, and a mark where it is behind drop-tail."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from scene import LINK, MIXED

import tailback as tb
from tailback.show.plots import look

#: The flows of MIXED, by round trip.
ORDER = [f"ten.{i + j}" for i in range(5) for j in (0, 5)] + ["heavy.0", "call.0"]
NAMES = ["60", "", "80", "", "100", "", "120", "", "140", "", "5 Mb/s", "call"]
DROPTAIL = 'kind = "droptail", buffer = "{}"'

Columns = dict[str, np.ndarray]


def text(queue: str, call: str = "") -> str:
    """The scenario of a run of forty seconds, counted from ten on. `call` is added to the fields of the call."""
    return f'duration = "40s"\nwarmup = "10s"\nmarking = false\n{LINK.format(f"{{ {queue} }}")}{MIXED}{call}'


def columns(queue: str, call: str = "") -> Columns:
    flows = tb.run(text(queue, call)).flows
    rows = [list(flows["id"]).index(name) for name in ORDER]
    return {name: np.asarray(flows[name])[rows] for name in ("goodput_bps", "delay_p99_s")}


def bars(ax: Axes, mine: np.ndarray, droptail: np.ndarray) -> None:
    at = np.arange(len(mine))
    ax.bar(at, mine, color=[look("", 0).colour] * 10 + [look("", 1).colour, look("", 2).colour], width=0.75)
    ax.scatter(
        at, droptail, marker="_", color="black", s=60, linewidth=1.3, label="the same behind drop-tail", zorder=3
    )
    # Two flows of each round trip, with one number between them.
    ax.set_xticks([*np.arange(0.5, 10, 2), 10, 11], [n for n in NAMES if n], rotation=60, fontsize=7.5)
    ax.grid(axis="x", visible=False)
    ax.set_xlabel("flow (round trip, ms)")


def told(kind: str, mine: Columns, droptail: Columns) -> None:
    for name, unit in (("goodput_bps", 1e6), ("delay_p99_s", 1e-3)):
        for who, values in ((kind, mine), ("droptail", droptail)):
            print(f"  {who}: {name}", *(f"{v / unit:.3g}" for v in values[name]))
