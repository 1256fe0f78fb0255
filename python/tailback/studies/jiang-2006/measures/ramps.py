"""Measures to compare with arithmetic: RED's ramp with a constant average, the loss of each colour, and one mark in the
load of many."""

from __future__ import annotations

import numpy as np

from tailback.study.measures import RunView, measure


def ramp(average: float, gentle: bool, low: float = 5, high: float = 15, top: float = 0.1) -> float:
    """RED's base probability (Floyd and Jacobson 1993, section 4; gentle: Floyd 2000)."""
    if average < low:
        return 0.0
    if average < high:
        return top * (average - low) / (high - low)
    if gentle and average < 2 * high:
        return top + (1 - top) * (average - high) / high
    return 1.0


@measure("ramp_base", "Base probability, by the formula", "%", "of thresholds 5 and 15 packets and max_p 0.1", digits=2)
def ramp_base(run: RunView, klass: str) -> float:
    return 100 * ramp(float(run.labels["average"]), run.labels["queue"] == "gred-held")


@measure("ramp_gap", "Loss less the formula", "points", "with a held average and independent signals", digits=2)
def ramp_gap(run: RunView, klass: str) -> float:
    return 100 * float(run.link_row()["loss_rate"]) - ramp_base(run, klass)


def _lost(run: RunView, colour: str, key: str) -> float:
    """The drops of a colour at the studied link, as a share of its offered load in the set's options (Mb/s)."""
    t = run.losses
    of_colour = (t["link"] == run.link) & (t["event"] == "drop") & (t["colour"].astype(str) == colour)
    offered_bits = float(run.options[key]) * 1e6 * float(run.options["seconds"])
    return 100 * 8 * float(t["bytes"][of_colour].sum()) / offered_bits if offered_bits else 0.0


@measure("lost_in", "Lost of what is in profile", "%", "packets marked AF11")
def lost_in(run: RunView, klass: str) -> float:
    return _lost(run, "AF11", "in_mbps")


@measure("lost_out", "Lost of what is out of profile", "%", "packets marked AF12")
def lost_out(run: RunView, klass: str) -> float:
    return _lost(run, "AF12", "out_mbps")


@measure("load_fall", "Fall of the load after one mark", "%", "least round trip after 4 s, of those before", digits=2)
def load_fall(run: RunView, klass: str) -> float:
    t, bytes_ = run.probe("delivered_bytes")
    load = np.diff(bytes_)
    is_after = t[1:] > 4.0
    load_before = load[(t[1:] > 2.0) & ~is_after]
    return 100 * (1 - float(load[is_after].min() / load_before.mean()))


@measure("signal_sd", "Signal probability, standard deviation", "%", "of the recorded probability over time", digits=2)
def signal_sd(run: RunView, klass: str) -> float:
    x = run.probe("probability")[1]
    return 100 * float(np.std(x)) if len(x) else float("nan")


@measure("effective_flows", "Flows as SRED estimates them", "flows", "one over the mean hit frequency", digits=1)
def effective_flows(run: RunView, klass: str) -> float:
    x = run.probe("hit_frequency")[1]
    return 1 / float(np.mean(x)) if len(x) and np.mean(x) > 0 else float("nan")


@measure("signals", "Signals a second", "1/s", "packets dropped or marked at the studied link", digits=1)
def signals(run: RunView, klass: str) -> float:
    row = run.link_row()
    return (float(row["dropped_packets"]) + float(row["marked_packets"])) / float(run.options["seconds"])


@measure("largest_share", "Largest flow's share", "%", "its goodput, of the goodput of all", digits=1)
def largest_share(run: RunView, klass: str) -> float:
    x = run.goodput(klass)
    return 100 * float(x.max() / x.sum()) if x.sum() else float("nan")


@measure("window_cut", "Window after its first cut, of that before", "1", "of the recorded window", digits=2)
def window_cut(run: RunView, klass: str) -> float:
    w = run.probe("cwnd")[1]
    cut_rows = np.flatnonzero(np.diff(w) < 0)
    return float(w[cut_rows[0] + 1] / w[cut_rows[0]]) if len(cut_rows) else float("nan")


@measure("window_least", "Least window after the start", "packets", "of the recorded window, after 1 s", digits=1)
def window_least(run: RunView, klass: str) -> float:
    t, w = run.probe("cwnd")
    return float(w[t > 1].min()) if (t > 1).any() else float("nan")
