"""Measures of a queue that is to be kept short: the use of the line, the losses, and the swings of the queue."""

from __future__ import annotations

import numpy as np

from tailback.study.measures import RunView, measure

#: The share of its peak to which a queue falls at the end of its first build-up.
FALLEN = 0.5


def _line(run: RunView) -> tuple[float, float]:
    """The utilisation and the loss rate of the studied link, 0 to 1."""
    row = run.link_row()
    return float(row["utilisation"]), float(row["loss_rate"])


@measure("goodput_thesis", "Goodput u (1 - p)", "%", "utilisation times one minus the loss rate, as Jiang 2006 has it")
def goodput_thesis(run: RunView, klass: str) -> float:
    u, p = _line(run)
    return 100 * u * (1 - p)


@measure("goodput_series", "Goodput u (1 - 2p) / (1 - p)", "%", "utilisation times 1 - p - p^2 - p^3 - ...")
def goodput_series(run: RunView, klass: str) -> float:
    u, p = _line(run)
    return 100 * u * (1 - 2 * p) / (1 - p) if p < 1 else float("nan")


@measure("goodput_line", "Goodput of the line", "%", "bytes first delivered, whole packets, of what the line can carry")
def goodput_line(run: RunView, klass: str) -> float:
    return 100 * float(np.sum(run.goodput(klass))) / float(run.link_row()["rate_bps"])


@measure("queueing_delay", "Queueing delay", "ms", "arrival to start of transmission, mean over the packets sent")
def queueing_delay(run: RunView, klass: str) -> float:
    return 1e3 * float(run.link_row()["sojourn_mean_s"])


def managed(run: RunView) -> tuple[np.ndarray, np.ndarray]:
    """The queue that the AQM manages, at the recorded instants. For AAQM it is the first of its two stores."""
    t, inside_packets = run.probe("inside")
    return (t, inside_packets) if len(t) else run.probe("queue")


@measure("queue_sd", "Queue, standard deviation", "packets", "of the managed queue over time", digits=2)
def queue_sd(run: RunView, klass: str) -> float:
    q = managed(run)[1]
    return float(np.std(q)) if len(q) else float("nan")


@measure("queue_cv", "Queue, coefficient of variation", "1", "standard deviation of the managed queue over its mean")
def queue_cv(run: RunView, klass: str) -> float:
    q = managed(run)[1]
    return float(np.std(q) / np.mean(q)) if len(q) and np.mean(q) > 0 else float("nan")


def first_build_up(q: np.ndarray) -> int:
    """The position at which the queue first equals the peak of its first build-up. The build-up lasts until the queue
    has fallen by half.

    Single packets that come and go are no build-up, so the peak has more than one packet.
    """
    peak = 0
    for i, x in enumerate(q):
        if x > q[peak]:
            peak = i
        elif q[peak] > 1 and x <= FALLEN * q[peak]:
            break
    return peak


@measure(
    "first_peak",
    "First peak of the queue",
    "s",
    "from the start to the peak of the first build-up of the managed queue",
)
def first_peak(run: RunView, klass: str) -> float:
    t, q = managed(run)
    return float(t[first_build_up(q)]) if len(q) else float("nan")


@measure(
    "first_peak_height",
    "Height of the first peak",
    "packets",
    "the managed queue at the end of its first build-up",
    digits=1,
)
def first_peak_height(run: RunView, klass: str) -> float:
    q = managed(run)[1]
    return float(q[first_build_up(q)]) if len(q) else float("nan")


@measure(
    "first_full",
    "When the queue first meets its limit",
    "s",
    "first instant at which the managed queue equals its buffer; the end of the run if it never does",
)
def first_full(run: RunView, klass: str) -> float:
    t, q = managed(run)
    if not len(q) or np.isnan(run.buffer):
        return float("nan")
    full_rows = np.flatnonzero(q >= run.buffer)
    return float(t[full_rows[0] if len(full_rows) else -1])


@measure("longest", "When the queue is longest", "s", "first instant at which the managed queue equals its maximum")
def longest(run: RunView, klass: str) -> float:
    t, q = managed(run)
    return float(t[int(np.argmax(q))]) if len(q) else float("nan")


@measure(
    "share_hot",
    "Arrivals at or above the upper threshold",
    "%",
    "arrivals that find the average there, of all; only of queues with thresholds",
)
def share_hot(run: RunView, klass: str) -> float:
    share = run.probe("share_hot")[1]
    return 100 * float(share[-1]) if len(share) else float("nan")


@measure("power", "Power", "Mbit/s per ms", "throughput over the mean queueing delay")
def power(run: RunView, klass: str) -> float:
    row = run.link_row()
    wait = 1e3 * float(row["sojourn_mean_s"])
    return float(row["utilisation"]) * float(row["rate_bps"]) / 1e6 / wait if wait > 0 else float("nan")


@measure(
    "drop_bias", "Share of drops over share of arrivals", "1", "of a class at the studied link; 1 is in proportion"
)
def drop_bias(run: RunView, klass: str) -> float:
    in_class = run.of(klass)
    sent_packets, lost_packets = run.flows["sent_packets"], run.flows["dropped_packets"]
    if not lost_packets.sum() or not sent_packets[in_class].sum():
        return float("nan")
    return float(
        (lost_packets[in_class].sum() / lost_packets.sum()) / (sent_packets[in_class].sum() / sent_packets.sum())
    )
