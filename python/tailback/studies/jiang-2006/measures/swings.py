"""Measures of the effect of a sudden change on a queue, from drops and recordings. The change is a burst or a fall of
the rate.

The set of runs logs drops (`log_drops = true`) and records `queue`. For the goodput of flows it has intervals of 1 s.
Its `options` are `period_s` and `first_s` for the times of bursts, or `from_s` and `to_s` for the time in which the
rate is low.
"""

from __future__ import annotations

import numpy as np

from tailback.study.measures import RunView, measure
from tailback.study.measures.intervals import goodputs

#: The packets below which a backlog is over, which is the lower threshold of RED here.
OVER = 5
#: The length of the beginning of a change, s.
BEGINNING = 2.0


def longest_run(run: RunView, start: float, end: float, klass: str) -> int:
    """The most packets of one flow of the class that were lost in a row between two instants, in the order of
    sending."""
    log = run.log
    keep = (log["link"] == run.link) & (log["event"] == "drop") & (log["time_s"] >= start) & (log["time_s"] < end)
    flows, sequences, sizes = (log[c][keep] for c in ("flow", "sequence", "bytes"))
    longest = 0
    for flow in np.unique(flows.astype(str)):
        if klass != "all" and flow.rsplit(".", 1)[0] != klass:
            continue
        of_flow = flows.astype(str) == flow
        longest = max(
            longest, int(runs_of(np.unique(sequences[of_flow].astype(np.int64)), int(sizes[of_flow].max())).max())
        )
    return longest


def runs_of(numbers: np.ndarray, packet: int) -> np.ndarray:
    """The lengths of runs of consecutive sequence numbers, counted in packets or in bytes of payload."""
    if not len(numbers):
        return np.zeros(1, int)
    gaps = np.diff(numbers)
    cuts = np.flatnonzero((gaps > 1) & ((gaps > packet) | (gaps < packet // 2)))
    return np.diff(np.concatenate([[0], cuts + 1, [len(numbers)]]))


@measure("class_loss", "Packets lost, of those sent", "%", "of the class, anywhere on its way")
def class_loss(run: RunView, klass: str) -> float:
    in_class = run.of(klass)
    sent_packets = run.flows["sent_packets"][in_class].sum()
    return 100 * float(run.flows["dropped_packets"][in_class].sum() / sent_packets) if sent_packets else float("nan")


def _bursts(run: RunView) -> np.ndarray:
    ends = run.intervals["to_s"]
    return np.arange(float(run.options["first_s"]), float(ends.max()) - 0.5, float(run.options["period_s"]))


@measure("burst_run", "Longest run lost of a burst", "packets", "mean over the bursts", digits=1)
def burst_run(run: RunView, klass: str) -> float:
    period = float(run.options["period_s"])
    return float(np.mean([longest_run(run, t, t + period, klass) for t in _bursts(run)]))


@measure("burst_over", "Until a burst is over", "ms", "from its start until fewer than 5 packets wait, mean", digits=0)
def burst_over(run: RunView, klass: str) -> float:
    t, q = run.probe("queue")
    period, waits = float(run.options["period_s"]), []
    for start in _bursts(run):
        in_burst = (t > start + 0.02) & (t <= start + period)
        low_rows = np.flatnonzero(q[in_burst] < OVER)
        waits.append(float(t[in_burst][low_rows[0]]) - start if len(low_rows) else period)
    return 1e3 * float(np.mean(waits))


@measure("burst_after", "Goodput after a burst, of that before", "%", "in the second that begins with it", digits=1)
def burst_after(run: RunView, klass: str) -> float:
    ends, x = goodputs(run, klass)
    total = x.sum(axis=1)
    interval_number = np.searchsorted(ends, _bursts(run) + 1 - 1e-6)
    return 100 * float(total[interval_number].sum() / total[interval_number - 1].sum())


def _low(run: RunView) -> tuple[float, float]:
    return float(run.options["from_s"]), float(run.options["to_s"])


@measure("fall_drops", "Drops as the rate falls", "packets", "at the studied link in the first 2 s", digits=0)
def fall_drops(run: RunView, klass: str) -> float:
    t, start = run.drops()[0], _low(run)[0]
    return float(((t >= start) & (t < start + BEGINNING)).sum())


@measure("fall_run", "Longest run lost as the rate falls", "packets", "of one flow in the first 2 s", digits=1)
def fall_run(run: RunView, klass: str) -> float:
    start = _low(run)[0]
    return float(longest_run(run, start, start + BEGINNING, klass))


@measure(
    "fall_settled", "Until the queue has settled", "s", "until the mean of a second is within a fifth of the later mean"
)
def fall_settled(run: RunView, klass: str) -> float:
    t, q = run.probe("queue")
    start, end = _low(run)
    later_mean = q[(t >= (start + end) / 2) & (t < end)].mean()
    for at_s in np.arange(start, end - 1, 0.1):
        mean = q[(t >= at_s) & (t < at_s + 1)].mean()
        if abs(mean - later_mean) <= 0.2 * later_mean:
            return float(at_s - start)
    return float("nan")


def _carried(run: RunView, start: float) -> float:
    """The rate that the line carried in the first 2 s after an instant, bit/s."""
    t, bytes_ = run.probe("delivered_bytes")
    a, b = np.interp([start, start + BEGINNING], t, bytes_)
    return 8 * float(b - a) / BEGINNING


@measure("fall_used", "Line used as the rate falls", "%", "of the rate it has then, in the first 2 s")
def fall_used(run: RunView, klass: str) -> float:
    from tailback import _core

    return 100 * _carried(run, _low(run)[0]) / float(_core.parse_rate(run.options["low_rate"]))


@measure("rise_used", "Line used as the rate rises", "%", "in the first 2 s after")
def rise_used(run: RunView, klass: str) -> float:
    from tailback import _core

    return 100 * _carried(run, _low(run)[1]) / float(_core.parse_rate(run.options["rate"]))


@measure("fall_goodput", "Goodput while the rate is low", "Mbit/s", "of the class together", digits=3)
def fall_goodput(run: RunView, klass: str) -> float:
    start, end = _low(run)
    ends, x = goodputs(run, klass)
    return float(x[(ends > start + 0.5) & (ends < end + 0.5)].sum(axis=1).mean()) / 1e6
