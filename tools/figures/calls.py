#!/usr/bin/env python3
"""The figure of the page of voice and video: a call beside a download under six queues, adapting or not.

    make figures          into docs/figures/calls.png

Bars are means over the seeds, and lines on them the range. The numbers printed are those of the page; the same version
gives the same picture.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from common import FIGURES as FOLDER
from common import draw_all, saved

import tailback as tb
from tailback.show.plots import GREY, grid, look, styled

SEEDS = 5
QUEUES = {
    "drop-tail,\n250 ms": 'kind = "droptail", buffer = "83 packets"',
    "drop-tail,\n40 ms": 'kind = "droptail", buffer = "14 packets"',
    "PIE": 'kind = "pie", buffer = "200 packets"',
    "CoDel": 'kind = "codel", buffer = "200 packets"',
    "FQ-CoDel": 'kind = "fq-codel", buffer = "200 packets"',
    "CAKE": 'kind = "cake"',
}
#: Video of 2.5 Mbit/s that keeps its rate, and one of at most that.
VIDEO = {
    "keeps 2.5 Mbit/s": '{ kind = "video", preset = "rfc8593", rate = "2.5Mbps" }',
    "adapts (gcc)": '{ kind = "video", preset = "rfc8593" }\nrtp = { control = "gcc", max_rate = "2.5Mbps" }',
}
SCENARIO = """
duration = "100s"
warmup = "40s"
marking = false
link.line = {{ from = "a", to = "b", rate = "4Mbps", delay = "20ms", queue = {{ {queue} }} }}
[flows.video]
playout = {{ kind = "fixed", delay = "100ms" }}
traffic = {video}
[flows.audio]
traffic = {{ kind = "voice", speech = "on-off" }}
playout = "adaptive"
[flows.download]
start = {{ kind = "uniform", to = "5s" }}
tcp = {{ profile = "linux", congestion = "cubic" }}
"""
#: Rows of the figure: the label, the column, the flow, and what the value is divided by.
ROWS = (
    ("video shown\n(Mbit/s)", "shown_bps", "video", 1e6),
    ("download\n(Mbit/s)", "goodput_bps", "download", 1e6),
    ("until shown,\n95 % (ms)", "delay_p95_s", "video", 1e-3),
    ("frozen\n(% of time)", "w3c_frozen", "video", 1e-2),
    ("R of the\naudio", "rating", "audio", 1.0),
)


def text(queue: str, video: str) -> str:
    """The scenario of one bar."""
    return SCENARIO.format(queue=queue, video=video)


def values(queue: str, video: str) -> list[np.ndarray]:
    """The seeds' values of each row."""
    result = tb.run(text(queue, video), replications=SEEDS)
    found = []
    for _, column, flow, unit in ROWS:
        table = result.flows if flow == "download" else result.results.playout
        found.append(np.asarray(table.where(group=flow)[column]) / unit)
    return found


@styled
def draw(name: str) -> Path:
    fig, axes = grid(7.2, 6.8, len(ROWS), 1, sharex=True)
    at = np.arange(len(QUEUES))
    for i, (label, video) in enumerate(VIDEO.items()):
        found = [values(queue, video) for queue in QUEUES.values()]
        for j, (title, *_) in enumerate(ROWS):
            seeds = np.array([queue[j] for queue in found])
            mean = seeds.mean(axis=1)
            apart = np.abs(np.array([seeds.min(axis=1), seeds.max(axis=1)]) - mean)
            axes[j, 0].bar(
                at + 0.38 * (i - 0.5), mean, 0.34, color=look("", i).colour, label=label, yerr=apart, ecolor=GREY
            )
            axes[j, 0].set_ylabel(title)
            print(label, title.replace("\n", " "), *(f"{x:.3g}" for x in mean))
    axes[-1, 0].set_xticks(at, list(QUEUES))
    axes[-1, 0].set_ylim(0, 100)
    for ax in axes[:, 0]:
        ax.grid(axis="x", visible=False)
    axes[0, 0].set_title("a call beside one download on 4 Mb/s, 40 ms", color=GREY, fontweight="normal")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return saved(fig, FOLDER / f"{name}.png")


if __name__ == "__main__":
    draw_all(["calls"], draw)
