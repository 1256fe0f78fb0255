"""What a study measures on a run: numbers a run and class of flows, from the tables of results.

A measure takes the goodputs of the flows of one run and class (whole packets, bit/s), or the row of a link, and gives
one number. Studies name measures in their data files; `MEASURES` says what each is and in which unit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Measure:
    name: str
    title: str
    unit: str
    doc: str
    #: "flows" or "link".
    of: str
    compute: Callable

    def show(self, x: float) -> str:
        """A value as text, with a precision that suits the unit."""
        if x is None or np.isnan(x):
            return "-"
        if np.isinf(x):
            return "infinite"
        digits = {"%": 1, "Mbit/s": 2, "packets": 0, "1": 3, "s": 2}[self.unit]
        return f"{x:.{digits}f}"


def _sd(x: np.ndarray) -> float:
    return float(np.std(x, ddof=1)) if len(x) > 1 else 0.0


def _three_sigma(x: np.ndarray, fair: float) -> float:
    mean, sd = float(np.mean(x)), _sd(x)
    return (mean + 3 * sd) / (mean - 3 * sd) if mean > 3 * sd else float("inf")


_ALL = [
    Measure(
        "share",
        "Mean goodput, % of fair share",
        "%",
        "mean goodput of the flows over their fair share",
        "flows",
        lambda x, fair: 100 * float(np.mean(x)) / fair,
    ),
    Measure(
        "goodput",
        "Mean goodput",
        "Mbit/s",
        "mean goodput of the flows, whole packets",
        "flows",
        lambda x, fair: float(np.mean(x)) / 1e6,
    ),
    Measure(
        "total",
        "Total goodput",
        "Mbit/s",
        "goodput of all flows together, whole packets",
        "flows",
        lambda x, fair: float(np.sum(x)) / 1e6,
    ),
    Measure(
        "sd",
        "sd(goodput) / fair share",
        "1",
        "standard deviation over the flows, over their fair share",
        "flows",
        lambda x, fair: _sd(x) / fair,
    ),
    Measure(
        "three_sigma",
        "(mean + 3 sd) / (mean - 3 sd)",
        "1",
        "spread of the goodputs as a ratio; infinite where mean < 3 sd",
        "flows",
        _three_sigma,
    ),
    Measure(
        "utilisation",
        "Utilisation of the bottleneck",
        "%",
        "share of the time the line was sending",
        "link",
        lambda row: 100 * row["utilisation"],
    ),
    Measure(
        "mean_queue",
        "Mean queue",
        "packets",
        "waiting packets, mean over time",
        "link",
        lambda row: row["mean_queue_packets"],
    ),
    Measure(
        "drops",
        "Packets dropped",
        "packets",
        "packets lost at the bottleneck",
        "link",
        lambda row: row["dropped_packets"],
    ),
    Measure("loss", "Loss rate", "%", "dropped over arrived", "link", lambda row: 100 * row["loss_rate"]),
    Measure(
        "queue_drop",
        "Fall of the queue after an overflow",
        "packets",
        "from the peak to the lowest level before the next peak, mean over the cycles after the first two",
        "series",
        lambda t, q, full: _cycles(t, q, full)[0],
    ),
    Measure(
        "cycle",
        "Time from overflow to overflow",
        "s",
        "mean over the cycles after the first two",
        "series",
        lambda t, q, full: _cycles(t, q, full)[1],
    ),
    Measure(
        "empty",
        "Cycles that empty the queue",
        "%",
        "share of the cycles after the first two in which the queue falls to zero",
        "series",
        lambda t, q, full: _cycles(t, q, full)[2],
    ),
]

MEASURES = {m.name: m for m in _ALL}

#: A queue that falls below this share of the buffer has left an overflow behind.
LEFT = 0.9


def overflows(q: np.ndarray, full: float) -> np.ndarray:
    """Last full sample of each overflow: the queue reaches 99 % of the buffer, and then falls below 90 %."""
    found, last = [], -1
    for i, x in enumerate(q):
        if x >= 0.99 * full:
            last = i
        elif x < LEFT * full and last >= 0:
            found.append(last)
            last = -1
    return np.array(found, dtype=int)


def _cycles(t: np.ndarray, q: np.ndarray, full: float) -> tuple[float, float, float]:
    at = overflows(q, full)[2:]
    if len(at) < 2:
        return (float("nan"),) * 3
    low = np.array([q[a:b].min() for a, b in itertools.pairwise(at)])
    return full - float(low.mean()), float(np.diff(t[at]).mean()), 100 * float(np.mean(low <= 0))


@dataclass
class Samples:
    """Every measure of every run: `get` gives one number a seed."""

    #: (set of runs, label values in the order of the set's axes, class, measure) -> one number a replication
    data: dict[tuple[str, tuple[str, ...], str, str], np.ndarray]
    #: goodputs of the flows, sorted by flow: (set, labels, class) -> array (replications, flows), bit/s
    goodputs: dict[tuple[str, tuple[str, ...], str], np.ndarray]
    #: recorded queue: (set, labels) -> (times, packets) of the first replication
    queues: dict[tuple[str, tuple[str, ...]], tuple[np.ndarray, np.ndarray]]
    failed: list[str]

    @classmethod
    def empty(cls) -> Samples:
        return cls({}, {}, {}, [])

    def add(self, runs, results) -> None:
        """Read the results of a set of runs (`study.Runs`)."""
        axes = [a.name for a in runs.axes]
        status, message = results.runs["status"], results.runs["message"]
        for labels, index in _by_run(results.runs, axes):
            if status[index[0]] != "done":
                self.failed.append(f"{runs.name} {', '.join(labels)}: {message[index[0]]}")
        collected: dict[tuple, list] = {}
        flows: dict[tuple, list] = {}
        all_groups = np.asarray(results.flows["group"])
        all_wire = np.asarray(results.flows["goodput_wire_bps"])
        for labels, index in _by_run(results.flows, axes):
            groups, wire = all_groups[index], all_wire[index]
            classes = [*dict.fromkeys(groups.tolist())]
            for c in classes if len(classes) == 1 else [*classes, "all"]:
                x = wire if c == "all" else wire[groups == c]
                names = [c] if len(classes) > 1 else [c, "all"]
                for name in names:
                    flows.setdefault((runs.name, labels, name), []).append(x)
                    for m in _ALL:
                        if m.of == "flows":
                            collected.setdefault((runs.name, labels, name, m.name), []).append(
                                m.compute(x, runs.fair_share_bps)
                            )
        links = {k: results.links[k] for k in results.links.columns}
        for labels, index in _by_run(results.links, axes):
            for i in index:
                if links["name"][i] != runs.link:
                    continue
                row = {k: v[i] for k, v in links.items()}
                for m in _ALL:
                    if m.of == "link":
                        collected.setdefault((runs.name, labels, "all", m.name), []).append(float(m.compute(row)))
        if len(results.series):
            probe, time, value = (np.asarray(results.series[k]) for k in ("probe", "time_s", "value"))
            for labels, index in _by_run(results.series, axes):
                keep = index[probe[index] == "queue"]
                t, q = time[keep], value[keep]
                self.queues.setdefault((runs.name, labels), (t, q))
                full = runs.buffer_of(labels)
                for m in _ALL:
                    if m.of == "series":
                        collected.setdefault((runs.name, labels, "all", m.name), []).append(m.compute(t, q, full))
        self.data.update({k: np.array(v, dtype=float) for k, v in collected.items()})
        self.goodputs.update({k: np.array(v) for k, v in flows.items()})

    def get(self, runs: str, labels: tuple[str, ...], klass: str, measure: str) -> np.ndarray | None:
        return self.data.get((runs, labels, klass, measure))

    def points(self, runs: str) -> list[tuple[str, ...]]:
        return list(dict.fromkeys(k[1] for k in self.data if k[0] == runs))


def _by_run(table, axes: list[str]):
    """(label values, row indices) of each run, in plan order."""
    if len(table) == 0:
        return
    run = np.asarray(table["run"])
    columns = [table[x] for x in axes]
    starts = np.flatnonzero(np.r_[True, run[1:] != run[:-1]])
    for a, b in zip(starts, [*starts[1:], len(run)], strict=True):
        yield tuple(str(c[a]) for c in columns), np.arange(a, b)
