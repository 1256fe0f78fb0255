"""Measures of the studied link; the class of flows does not matter."""

from __future__ import annotations

from tailback.study.measures import RunView, measure


@measure("utilisation", "Utilisation of the bottleneck", "%", "share of the time the line was sending")
def utilisation(run: RunView, klass: str) -> float:
    return 100 * float(run.link_row()["utilisation"])


@measure("mean_queue", "Mean queue", "packets", "waiting packets, mean over time")
def mean_queue(run: RunView, klass: str) -> float:
    return float(run.link_row()["mean_queue_packets"])


@measure("drops", "Packets dropped", "packets", "packets lost at the bottleneck")
def drops(run: RunView, klass: str) -> float:
    return float(run.link_row()["dropped_packets"])


@measure("loss", "Loss rate", "%", "dropped over arrived")
def loss(run: RunView, klass: str) -> float:
    return 100 * float(run.link_row()["loss_rate"])


@measure("evicted", "Evicted, of all accepted", "%", "bytes dropped after they had been stored, of all bytes stored")
def evicted(run: RunView, klass: str) -> float:
    return 100 * float(run.link_row().get("wasted", float("nan")))
