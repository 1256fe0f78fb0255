"""Measures of a router's decisions: the time from a decision to the cut of the source's window, and the number of flows
with state.

For the first measure the set of runs logs drops and marks (`log_drops = true`), and records the senders' `ssthresh` on
change. Its option `back_s` is the time from the queue to the receiver and back to the sender on an empty path. For the
second measure the set records `active` and `queue`.
"""

from __future__ import annotations

import numpy as np

from tailback.study.measures import RunView, measure


def delays(run: RunView) -> tuple[np.ndarray, int]:
    """The time from the decision to the cut (s), for each cut with a decision before it; and the number of cuts.

    The decision is the latest one about a packet of that flow of which the sender can have got the signal by then.
    """
    return_delay = float(run.options["back_s"])
    log, s = run.log, run.series
    is_of_link = log["link"] == run.link
    flows, times = log["flow"][is_of_link].astype(str), log["time_s"][is_of_link]
    waits: list[float] = []
    cuts = 0
    for flow_name in np.unique(s["what"][s["probe"] == "ssthresh"].astype(str)):
        t, threshold = run.probe("ssthresh", flow_name)
        cuts_s = t[1:][np.diff(threshold) != 0]
        cuts_s = cuts_s[cuts_s >= float(run.options.get("from_s", 0.0))]
        decisions = np.sort(times[flows == flow_name.removeprefix("flows.")])
        cuts += len(cuts_s)
        last_decisions = np.searchsorted(decisions, cuts_s - return_delay, side="right") - 1
        waits.extend((cuts_s - decisions[np.maximum(last_decisions, 0)])[last_decisions >= 0] if len(decisions) else [])
    return np.array(waits), cuts


@measure("signal_delay", "From decision to cut", "ms", "a drop or mark to the fall of the window, median", digits=1)
def signal_delay(run: RunView, klass: str) -> float:
    x, _ = delays(run)
    return 1e3 * float(np.median(x)) if len(x) else float("nan")


@measure("signals_paired", "Cuts with a decision before them", "%", "of all cuts", digits=1)
def signals_paired(run: RunView, klass: str) -> float:
    x, cuts = delays(run)
    return 100 * len(x) / cuts if cuts else float("nan")


def _states(run: RunView) -> np.ndarray:
    return run.probe("active")[1]


@measure("states", "Flows with state", "flows", "mean over the samples", digits=1)
def states(run: RunView, klass: str) -> float:
    x = _states(run)
    return float(np.mean(x)) if len(x) else float("nan")


@measure("states_most", "Most flows with state", "flows", "largest sample", digits=0)
def states_most(run: RunView, klass: str) -> float:
    x = _states(run)
    return float(np.max(x)) if len(x) else float("nan")


@measure("states_excess", "State above the packets that wait", "flows", "largest difference of a sample", digits=0)
def states_excess(run: RunView, klass: str) -> float:
    x, q = _states(run), run.probe("queue")[1]
    return float(np.max(x - q)) if len(x) and len(x) == len(q) else float("nan")
