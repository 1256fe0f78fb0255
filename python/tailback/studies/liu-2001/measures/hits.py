"""Measures of a list of recent arrivals that counts which flow is met again (`sred` as a detector)."""

from __future__ import annotations

import numpy as np

from tailback.study.measures import RunView, measure


def hits(run: RunView) -> np.ndarray:
    """The hits of each flow since the start, in the order of the table of flows."""
    s = run.series
    counts = np.zeros(len(run.flows["id"]))
    is_hit_count = s["probe"] == "flow_hits"
    for flow, count in zip(s["index"][is_hit_count], s["value"][is_hit_count], strict=True):
        if int(flow) < len(counts):
            counts[int(flow)] = max(counts[int(flow)], count)
    return counts


@measure("hit_part", "Share of the hits", "%", "hits of the class in the list, of those of all flows", digits=1)
def hit_part(run: RunView, klass: str) -> float:
    h = hits(run)
    return 100 * float(h[run.of(klass)].sum() / h.sum()) if h.sum() else float("nan")


@measure("most_hit", "Among the most hit", "flows", "flows of the class among as many most hit as it has", digits=1)
def most_hit(run: RunView, klass: str) -> float:
    h, in_class = hits(run), run.of(klass)
    most_hit_flows = np.argsort(-h, kind="stable")[: int(in_class.sum())]
    return float(np.sum(in_class[most_hit_flows])) if h.sum() else float("nan")


@measure(
    "hits_as_squares",
    "Hits beside squares of arrivals",
    "1",
    "share of the hits over the share of squares of what the flows of the class sent",
    digits=2,
)
def hits_as_squares(run: RunView, klass: str) -> float:
    h, sent_squares, in_class = hits(run), run.flows["sent_packets"].astype(float) ** 2, run.of(klass)
    due = float(sent_squares[in_class].sum() / sent_squares.sum())
    return float(h[in_class].sum() / h.sum()) / due if h.sum() and due else float("nan")
