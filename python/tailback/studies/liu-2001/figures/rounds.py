"""Draws the colour of each packet over some round trips of one flow.

kind = "colour-rounds"
classes = { near = "30 ms", far = "200 ms" }     # a frame for each group's first flow
rounds = 3
from_s = 3                                       # the round trips shown begin with the first burst after this
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tailback import plots
from tailback.study.figures import Drawing, figure

from ..measures.rounds import packets, round_trip
from .assured import SHADES, view_of

if TYPE_CHECKING:
    from tailback.study.figures import Drawn


@figure("colour-rounds")
@plots.styled
def colour_rounds(d: Drawing) -> Drawn:
    run = view_of(d)
    if run is None:
        return None
    classes, rounds = d.output["classes"], int(d.output["rounds"])
    fig, axes = plots.grid(7.4, 1.5 * len(classes) + 0.5, len(classes), 1)
    for ax, (klass, title) in zip(axes[:, 0], classes.items(), strict=True):
        sent_s, colour = packets(run, klass)
        trip = round_trip(run, klass)
        start = _first_of_a_burst(sent_s, float(d.output["from_s"]), trip)
        longest = 1
        for row in range(rounds):
            # The next round trip begins with the first packet after its longest pause.
            end = _first_of_a_burst(sent_s, start, 1.5 * trip)
            colours = colour[(sent_s >= start - 1e-9) & (sent_s < end - 1e-9)]
            longest = max(longest, len(colours))
            for i, name in enumerate(("green", "yellow", "red")):
                positions = np.flatnonzero(colours == i) + 1
                label = name if row == 0 else None
                ax.barh(
                    np.full(len(positions), row + 1),
                    1.0,
                    0.7,
                    positions - 0.5,
                    color=SHADES[i],
                    linewidth=0,
                    label=label,
                )
            start = end
        ax.set_title(title)
        ax.set_yticks(range(1, rounds + 1))
        ax.set_ylim(rounds + 0.6, 0.4)
        ax.set_xlim(0.5, longest + 0.5)
        ax.set_ylabel("round trip")
        ax.grid(visible=False)
    axes[0, 0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    axes[-1, 0].set_xlabel("packet of the round trip, in the order of sending")
    return fig


def _first_of_a_burst(t: np.ndarray, after: float, within: float) -> float:
    """The packet after the longest pause between two packets in this time."""
    packets_within = np.flatnonzero((t >= after - 1e-9) & (t < after + within))
    if len(packets_within) < 2:
        return after + within
    return float(t[packets_within[int(np.argmax(np.diff(t[packets_within]))) + 1]])
