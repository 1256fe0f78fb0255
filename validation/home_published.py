#!/usr/bin/env python3
"""Home lines that others have measured, beside the same lines here.

    python validation/home_published.py [SEEDS]     prints a table in Markdown for docs/home-line.md

What a source does not say is ours, and is said in `assumed`. Buffers of modems are set to what was measured without a
shaper, so the row of the modem tests little; the rows of the disciplines are predictions.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tailback as tb
from tailback.apps.ask.home.measures import HomeRun
from tailback.core import stats


@dataclass(frozen=True)
class Published:
    """A line that was measured: what it was, which phase, and ms of latency that the load added, by discipline."""

    name: str
    source: str
    assumed: str
    phase: str
    #: "mean", "median" or "peak" of the round trips of a phase.
    what: str
    line: dict[str, Any]
    #: ms, as published, and how the text says it.
    added: dict[str, tuple[float, str]]
    queues: list[Any] = field(default_factory=list)


LINES = [
    Published(
        "fibre 100/12",
        "[sqm-scripts issue 48](https://github.com/tohojo/sqm-scripts/issues/48)",
        "idle 17 ms (the lowest value under load is 18), buffers of 18 ms",
        "both",
        "mean",
        {
            "down": "100Mbps", "up": "12Mbps", "rtt": "17ms", "link": "ethernet", "modem": "18ms",
            "share": "90%,66.7%", "traffic": ["bulk"], "transfers": 4,
        },
        {
            "modem": (18, "35 ms in all"),
            "fq-codel": (2, "18 to 20 ms in all"),
            "cake": (2, "19 ms in all"),
        },
    ),
    Published(
        "cable 28/4.8",
        "[Getting SQM Running Right](https://www.bufferbloat.net/projects/bloat/wiki/Getting_SQM_Running_Right/)",
        "buffers of 1.2 s in each direction",
        "both",
        "mean",
        {
            "down": "28Mbps", "up": "4.8Mbps", "rtt": "65ms", "link": "docsis", "modem": "1200ms",
            "share": "85.7%,91.7%", "traffic": ["bulk"], "transfers": 4, "duration": "200s",
        },
        {"modem": (1200, "1.2 seconds"), "fq-codel": (10, "10 ms over the baseline of 65")},
    ),
    Published(
        "DSL 7/0.768, upload",
        "[OpenWrtScripts](https://github.com/richb-hanover/OpenWrtScripts)",
        "idle 38 ms, buffers of 25 ms down and 3.7 s up, a share of 95 %, fq_codel",
        "up",
        "median",
        {
            "down": "7Mbps", "up": "768kbps", "rtt": "38ms", "link": "ethernet", "modem": "25ms,3.7s",
            "share": "95%", "traffic": ["bulk"], "transfers": 5, "duration": "250s",
        },
        {"modem": (3354, "3392 ms in all"), "fq-codel": (8, "46 ms in all")},
    ),
    Published(
        "testbed 20/3, one transfer each way",
        "CakePerformance, wiki of bufferbloat.net, 2017",
        "a share of 95 % in front of a line; there the shaper was the line",
        "both",
        "peak",
        {
            "down": "20Mbps", "up": "3Mbps", "rtt": "90ms", "link": "ethernet", "share": "95%",
            "traffic": ["bulk"], "transfers": 1, "ecn": True, "duration": "150s",
        },
        {
            "pie": (85, "85 ms"), "codel": (55, "55 ms"), "fq-codel": (20, "20 ms"), "cake": (5, "5 ms"),
        },
    ),
]  # fmt: skip


def added(run: HomeRun, phase: str, what: str) -> float:
    idle = float(run.phases["idle"].probe.mean())
    seen = run.phases[phase].probe
    value = {"mean": np.mean, "median": np.median, "peak": np.max}[what](seen)
    return 1e3 * (float(value) - idle)


def main() -> int:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print("| line | latency that the load adds | published | here | assumed |")
    print("|---|---|---|---|---|")
    for p in LINES:
        queues = [q for q in p.added if q != "modem"]
        found = tb.home_line(**p.line, queues=queues, replications=seeds)
        values = {q: [added(run, p.phase, p.what) for run in found.runs[q]] for q in p.added}
        for i, (queue, (ms, said)) in enumerate(p.added.items()):
            e = stats.estimate(values[queue])
            name = f"{p.name}: {p.source}" if i == 0 else ""
            said = f" ({said})" if said else ""
            cells = (
                name,
                f"{queue}, {p.what}",
                f"{ms:g} ms{said}",
                f"{e.mean:.1f} ± {e.half_width:.1f} ms",
                "" if i else p.assumed,
            )
            print(f"| {' | '.join(cells)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
