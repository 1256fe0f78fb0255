"""Measures of the first seconds, packet by packet: the interleaving of colours, and the number of hits of a flow in a
round trip.

The set of runs records the packets of the conditioners at every change. Its `options` have the round trips that the
flows of a group take in turn (ms): `options.round_trips = [30, 60]`.
"""

from __future__ import annotations

import numpy as np

from tailback.study.measures import RunView, measure

from .rounds import CODES


def colours_of(run: RunView, klass: str) -> list[np.ndarray]:
    """The colours of the packets of each flow of a class, in order (0 green, 1 yellow, 2 red)."""
    s = run.series
    packets = (s["probe"] == "packets") & (s["value"] > 0)
    object_names, colours = s["what"].astype(str), []
    for flow in run.flows["id"][run.of(klass)].tolist():
        is_of_flow = packets & (object_names == f"edge.flows.{flow}.access")
        t, code = s["time_s"][is_of_flow], s["index"][is_of_flow]
        order = np.argsort(t, kind="stable")
        colours.append(np.array([CODES.index(int(c)) for c in code[order]], dtype=int))
    return [x for x in colours if len(x) > 1]


def _mean(x: list[float]) -> float:
    return float(np.mean(x)) if x else float("nan")


@measure("mixed", "Changes of colour", "%", "packets of another colour than the one before, mean of flows")
def mixed(run: RunView, klass: str) -> float:
    return _mean([100 * float(np.mean(np.diff(x) != 0)) for x in colours_of(run, klass)])


@measure("green_pieces", "Length of a green piece", "packets", "green packets in a row, mean of flows", digits=1)
def green_pieces(run: RunView, klass: str) -> float:
    means = []
    for x in colours_of(run, klass):
        green = x == 0
        piece_count = np.count_nonzero(green[1:] & ~green[:-1]) + int(green[0])
        if piece_count:
            means.append(float(np.count_nonzero(green) / piece_count))
    return _mean(means)


@measure("red_sent", "Red of what is sent", "%", "red packets of all, mean of flows")
def red_sent(run: RunView, klass: str) -> float:
    return _mean([100 * float(np.mean(x == 2)) for x in colours_of(run, klass)])


@measure("drops_a_round", "Drops a round trip", "1", "packets of a flow dropped, mean of flows", digits=2)
def drops_a_round(run: RunView, klass: str) -> float:
    is_of_class, trips = run.of(klass), [1e-3 * float(x) for x in run.options["round_trips"]]
    end = float(np.max(run.intervals["to_s"]))
    members = [int(flow.rsplit(".", 1)[1]) for flow in run.flows["id"][is_of_class].tolist()]
    dropped_packets = run.flows["dropped_packets"][is_of_class].tolist()
    return _mean([d * trips[m % len(trips)] / end for d, m in zip(dropped_packets, members, strict=True)])
