"""Measures of colours for each round trip: the pieces of one colour in the packets of a round trip.

The set of runs records the packets of the conditioner at every change. Its `options` have the round trip of each group
(ms), and the time from which slow start is over:

    options.round_trip = { near = 30, far = 200 }
    options.from_s = 3
"""

from __future__ import annotations

import numpy as np

from tailback.study.measures import RunView, measure

#: The code points of green, yellow and red.
CODES = (10, 12, 14)


def packets(run: RunView, klass: str) -> tuple[np.ndarray, np.ndarray]:
    """The time at which each packet left the conditioner of a group's first flow (s), and its colour (0 green, 1
    yellow, 2 red)."""
    s = run.series
    is_packet = (s["what"] == f"edge.flows.{klass}.0.access") & (s["probe"] == "packets") & (s["value"] > 0)
    t, code = s["time_s"][is_packet], s["index"][is_packet]
    order = np.argsort(t, kind="stable")
    return t[order], np.array([CODES.index(int(c)) for c in code[order]], dtype=int)


def round_trip(run: RunView, klass: str) -> float:
    """The round trip in seconds."""
    return 1e-3 * float(run.options["round_trip"][klass])


def settled(run: RunView, klass: str) -> tuple[np.ndarray, np.ndarray]:
    t, colour = packets(run, klass)
    keep = t >= float(run.options["from_s"])
    return t[keep], colour[keep]


def rounds(run: RunView, klass: str) -> float:
    """The number of round trips from the end of slow start to the end of the run."""
    return (float(np.max(run.intervals["to_s"])) - float(run.options["from_s"])) / round_trip(run, klass)


def a_round(run: RunView, klass: str, colour: int) -> float:
    return float(np.sum(settled(run, klass)[1] == colour)) / rounds(run, klass)


def _of_colours() -> None:
    for i, name in enumerate(("green", "yellow", "red")):

        def of(run: RunView, klass: str, i: int = i) -> float:
            return a_round(run, klass, i)

        doc = "packets of the colour over round trips, once slow start is over"
        measure(f"{name}_a_round", f"Packets a round trip, {name}", "packets", doc, digits=1)(of)


_of_colours()


@measure("upto_yellow_a_round", "Green and yellow packets a round trip", "packets", "the sum of both", digits=1)
def upto_yellow_a_round(run: RunView, klass: str) -> float:
    return a_round(run, klass, 0) + a_round(run, klass, 1)


def pieces(run: RunView, klass: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Runs of packets of one colour: the colour, the number of packets, and the time from the first to the last packet
    (s)."""
    t, colour_of_packet = settled(run, klass)
    if not len(t):
        return colour_of_packet, colour_of_packet, t
    cuts = np.flatnonzero(np.diff(colour_of_packet)) + 1
    first_rows = np.append(0, cuts)
    last_rows = np.append(cuts, len(colour_of_packet)) - 1
    return colour_of_packet[first_rows], last_rows - first_rows + 1, t[last_rows] - t[first_rows]


@measure(
    "changes_a_round", "Changes of colour a round trip", "1", "from one packet to the next, over round trips", digits=1
)
def changes_a_round(run: RunView, klass: str) -> float:
    return float(np.sum(np.diff(settled(run, klass)[1]) != 0)) / rounds(run, klass)


@measure("longest_green", "Longest piece of green", "packets", "packets of one colour one after another")
def longest_green(run: RunView, klass: str) -> float:
    colour, n, _ = pieces(run, klass)
    green = n[colour == 0]
    return float(green.max()) if len(green) else 0.0


@measure(
    "green_beyond",
    "Green beyond what the bucket allows",
    "packets",
    "most of: packets of a green piece, less what the rate brings in a round trip and in the time of the piece",
    digits=1,
)
def green_beyond(run: RunView, klass: str) -> float:
    colour, n, length = pieces(run, klass)
    rate = 1e6 / 8 / float(run.options["packet"]) * float(run.options["promised"][klass])
    excess_packets = (n - rate * (length + round_trip(run, klass)))[colour == 0]
    return float(excess_packets.max()) if len(excess_packets) else float("nan")
