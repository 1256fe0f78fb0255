"""Measures of the waits of single flows' packets at a gateway, compared with the mean of all packets there.

The wait of a flow's packets is their time from end to end, minus half of the flow's round trip and the time of a packet
on its three lines. At the access links packets hardly wait. The options of the set of runs have the round trips that
the flows of each group take in turn (ms):

    options.round_trips = [30, 60, 70, 120, 160, 200]
"""

from __future__ import annotations

import numpy as np

from tailback.study.measures import RunView, measure

from .assured import LOADS, Load, load_of
from .gateway import settled

#: Lines of 100 Mb/s at both ends.
ACCESS_BPS = 100e6


def waits(run: RunView, load: Load) -> np.ndarray:
    """The mean wait of the packets of each flow after a load has settled, s."""
    t = run.intervals
    starts, ends = np.unique(t["from_s"]), np.unique(t["to_s"])
    shape = (len(starts), -1)
    keep = (starts >= load.settled - 1e-9) & (ends <= load.end + 1e-9)
    delay = np.nan_to_num(t["delay_mean_s"].reshape(shape)[keep])
    received_packets = t["received_packets"].reshape(shape)[keep]
    bits = 8 * float(run.options.get("packet", 1000))
    sending_s = bits * (2 / ACCESS_BPS + 1 / float(run.link_row()["rate_bps"]))
    groups = run.flows["group"]
    trips = np.array(run.options["round_trips"], float)
    flow_numbers = np.array([int(str(i).rpartition(".")[2]) for i in run.flows["id"]])
    half_trip_s = 0.5e-3 * trips[flow_numbers % len(trips)]
    with np.errstate(invalid="ignore"):
        mean = np.sum(delay * received_packets, axis=0) / np.sum(received_packets, axis=0)
    due = np.array([g in load.get for g in groups.tolist()])
    return np.asarray(np.where(due, mean - half_trip_s - sending_s, np.nan))


def _of_loads() -> None:
    for name in ("b", "u", "o"):
        word = LOADS[name]

        def own(run: RunView, klass: str, name: str = name) -> float:
            load = load_of(run, name)
            x = waits(run, load)[run.of(klass)] if load is not None else np.array([])
            return 1e3 * float(np.nanmean(x)) if np.any(~np.isnan(x)) else float("nan")

        def off(run: RunView, klass: str, name: str = name) -> float:
            load = load_of(run, name)
            if load is None:
                return float("nan")
            d, n = (settled(run, "all", c, load) for c in ("sojourn_mean_s", "delivered_packets"))
            all_of_it = float(np.sum(np.nan_to_num(d) * n) / np.sum(n))
            return 100 * abs(1e-3 * own(run, klass, name) / all_of_it - 1)

        title, doc = f"Delay of the flow, {word}", "what its packets wait, mean once the load has settled"
        measure(f"flow_wait_{name}", title, "ms", doc)(own)
        title, doc = (
            f"Delay of the flow beside that of all, {word}",
            "|its packets' mean - the gateway's| over that",
        )
        measure(f"flow_wait_off_{name}", title, "%", doc)(off)


_of_loads()
