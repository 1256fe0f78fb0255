"""Measures of TCP's retransmissions: their number, the pattern of losses, the time of a repair, and the cost of a loss
at the end.

The set of runs logs drops. Greedy flows record `phase` on change. Short transfers are bursts, one for each flow, of
`options.segments` segments of `options.payload_bytes`.
"""

from __future__ import annotations

import numpy as np

from tailback.study.measures import RunView, measure

from .swings import runs_of

#: The number of last segments of a transfer that are its end. Too few segments follow these for a fast repair.
LAST = 5
#: The number of packets of one flow in a run of drops.
RUN = 3


def lost(run: RunView) -> dict[str, np.ndarray]:
    """The numbers of the segments that were dropped at the studied link, by flow, each once."""
    log = run.log
    keep = (log["link"] == run.link) & (log["event"] == "drop")
    flows, sequences = log["flow"][keep].astype(str), log["sequence"][keep].astype(np.int64)
    return {str(f): np.unique(sequences[flows == f]) for f in np.unique(flows)}


@measure("repeated", "Sent again, of all sent", "%", "retransmitted packets over sent packets of the class")
def repeated(run: RunView, klass: str) -> float:
    in_class = run.of(klass)
    sent_packets = run.flows["sent_packets"][in_class].sum()
    return (
        100 * float(run.flows["retransmitted_packets"][in_class].sum() / sent_packets) if sent_packets else float("nan")
    )


@measure("in_runs", "Drops in runs of three or more", "%", "of all drops, of one flow in the order it sent them")
def in_runs(run: RunView, klass: str) -> float:
    lengths = [runs_of(n, int(run.options["payload_bytes"])) for n in lost(run).values()]
    lengths_of_all = np.concatenate(lengths) if lengths else np.zeros(1)
    return (
        100 * float(lengths_of_all[lengths_of_all >= RUN].sum() / lengths_of_all.sum())
        if lengths_of_all.sum()
        else float("nan")
    )


@measure("repair_time", "Length of a repair", "ms", "from the sign of a loss to the end of its recovery", digits=0)
def repair_time(run: RunView, klass: str) -> float:
    s, durations = run.series, []
    for flow in np.unique(s["what"][s["probe"] == "phase"].astype(str)):
        t, phase = run.probe("phase", flow)
        begins = None
        for at_s, x in zip(t, phase, strict=True):
            if x > 0 and begins is None:
                begins = float(at_s)
            elif x == 0 and begins is not None:
                durations.append(float(at_s) - begins)
                begins = None
    return 1e3 * float(np.mean(durations)) if durations else float("nan")


def _at_end(run: RunView, klass: str) -> tuple[np.ndarray, np.ndarray]:
    """For the transfers of the class: which of them ended, and which lost one of their last segments."""
    in_class = run.of(klass)
    first_byte = (int(run.options["segments"]) - LAST) * int(run.options["payload_bytes"])
    late_flows = {flow for flow, n in lost(run).items() if (n > first_byte).any()}
    ids = run.flows["id"][in_class].astype(str)
    return run.flows["bursts"][in_class] > 0, np.array([i in late_flows for i in ids])


@measure("lost_end", "Transfers that lose one of the last 5", "%", "of those that ended")
def lost_end(run: RunView, klass: str) -> float:
    has_ended, lost_at_end = _at_end(run, klass)
    return 100 * float(lost_at_end[has_ended].mean()) if has_ended.any() else float("nan")


@measure("end_costs", "What such a loss costs", "s", "their mean completion time less that of the others", digits=2)
def end_costs(run: RunView, klass: str) -> float:
    has_ended, lost_at_end = _at_end(run, klass)
    times = run.flows["burst_time_mean_s"][run.of(klass)]
    times_with, times_without = times[has_ended & lost_at_end], times[has_ended & ~lost_at_end]
    return float(times_with.mean() - times_without.mean()) if len(times_with) and len(times_without) else float("nan")


@measure("end_timeouts", "Timeouts of such a transfer", "1", "mean", digits=2)
def end_timeouts(run: RunView, klass: str) -> float:
    has_ended, lost_at_end = _at_end(run, klass)
    x = run.flows["timeouts"][run.of(klass)][has_ended & lost_at_end]
    return float(x.mean()) if len(x) else float("nan")
