"""Measures of sources in packets, as statistics over intervals: throughput without repeats, delay, drops, repeats.

The scenario reports by `interval`. By default the first interval is left out; the set's options `from_s` and `to_s`
choose other intervals. A class is a group of flows, or the number of one flow in the order of the file, from 1. Each
metric has six measures, for example `source_throughput` (mean over intervals and flows), `least_throughput` and
`most_throughput` (of the flows' means), `sum_throughput`, `spread_throughput` (most minus least, divided by the mean),
and `swing_throughput` (standard deviation over intervals, of the flow with the largest).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailback.study.measures import RunView, measure


@dataclass(frozen=True)
class Metric:
    name: str
    title: str
    unit: str
    doc: str
    #: columns of `intervals`, added up
    columns: tuple[str, ...]
    #: counts are divided by the length of the interval
    rate: bool


METRICS = {
    m.name: m
    for m in (
        Metric(
            "throughput",
            "Throughput",
            "packets/s",
            "data packets that reached their destination and were not retransmissions",
            ("fresh_packets",),
            True,
        ),
        Metric(
            "delay",
            "Delay",
            "s",
            "mean round-trip sample, from the first transmission to the acknowledgement; 0 without a sample",
            ("rtt_mean_s",),
            False,
        ),
        Metric("drops", "Drops", "1/s", "data packets dropped anywhere", ("dropped_packets",), True),
        Metric(
            "retransmissions", "Retransmissions", "packets/s", "packets sent again", ("retransmitted_packets",), True
        ),
        Metric(
            "recoveries",
            "Recoveries",
            "1/s",
            "timeouts and fast retransmissions",
            ("timeouts", "fast_retransmits"),
            True,
        ),
        Metric("oneway", "One-way delay", "s", "from the source's hand to the destination's", ("delay_mean_s",), False),
    )
}


def by_interval(run: RunView, klass: str, metric: str) -> np.ndarray:
    """Values (flows, counted intervals) of a metric."""
    source_metric, intervals = METRICS[metric], run.intervals
    if not intervals or not len(intervals["id"]):
        raise ValueError('the scenario reports no intervals; give it interval = "300s"')
    ids = run.flows["id"][run.of(klass)]
    start = run.options.get("from_s", float(np.min(intervals["to_s"])))
    end = run.options.get("to_s", float("inf"))
    is_counted = (intervals["from_s"] >= start - 1e-9) & (intervals["to_s"] <= end + 1e-9)
    rows = []
    for flow in ids:
        keep = (intervals["id"] == flow) & is_counted
        x = sum(np.asarray(intervals[c][keep], dtype=float) for c in source_metric.columns)
        rows.append(
            x / (intervals["to_s"][keep] - intervals["from_s"][keep]) if source_metric.rate else np.nan_to_num(x)
        )
    return np.array(rows)


def _register(m: Metric) -> None:
    def flows(run: RunView, klass: str) -> np.ndarray:
        return np.asarray(by_interval(run, klass, m.name).mean(axis=1))

    doc = f"{m.doc}; mean over the counted intervals"
    measure(f"source_{m.name}", m.title, m.unit, doc, 2)(lambda run, klass: float(flows(run, klass).mean()))
    measure(f"least_{m.name}", f"{m.title}, least", m.unit, f"{doc}, of the flow with the least", 2)(
        lambda run, klass: float(flows(run, klass).min())
    )
    measure(f"most_{m.name}", f"{m.title}, most", m.unit, f"{doc}, of the flow with the most", 2)(
        lambda run, klass: float(flows(run, klass).max())
    )
    measure(f"sum_{m.name}", f"{m.title}, sum", m.unit, f"{doc}, all flows together", 2)(
        lambda run, klass: float(flows(run, klass).sum())
    )
    measure(f"spread_{m.name}", f"{m.title}, spread", "1", "most less least, over the mean of the flows", 2)(
        lambda run, klass: float(np.ptp(flows(run, klass)) / flows(run, klass).mean())
    )
    measure(
        f"swing_{m.name}", f"{m.title}, swing", m.unit, "standard deviation over intervals, largest of the flows", 2
    )(lambda run, klass: float(by_interval(run, klass, m.name).std(axis=1, ddof=1).max()))


for _m in METRICS.values():
    _register(_m)


@measure("unrepaired", "Drops without repeat", "1/s", "largest difference of drops and retransmissions of a flow", 3)
def unrepaired(run: RunView, klass: str) -> float:
    return float(
        np.abs((by_interval(run, klass, "drops") - by_interval(run, klass, "retransmissions")).mean(axis=1)).max()
    )


@measure("repeat_share", "Repeats among what is sent", "%", "retransmissions over retransmissions and throughput", 1)
def repeat_share(run: RunView, klass: str) -> float:
    repeats = by_interval(run, klass, "retransmissions").mean()
    return float(100 * repeats / (repeats + by_interval(run, klass, "throughput").mean()))
