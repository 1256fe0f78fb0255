"""Measures of a border, which is a conditioner behind those of the hosts: its changes of their colours.

A class names the link of a border. The options of the set of runs have the groups whose packets pass the border:

    options.borders = { border1 = ["r1"], border3 = ["r3"] }
"""

from __future__ import annotations

import numpy as np

from tailback.study.measures import RunView, measure

from .rounds import CODES


def _last(run: RunView, what: np.ndarray) -> np.ndarray:
    """The packets in green, yellow and red that left the conditioners of these rows together until the end."""
    s = run.series
    is_packet_count = what & (s["probe"] == "packets")
    packets = np.zeros(len(CODES))
    for name in np.unique(s["what"][is_packet_count]):
        for i, code in enumerate(CODES):
            packets[i] += np.max(s["value"][is_packet_count & (s["what"] == name) & (s["index"] == code)], initial=0.0)
    return packets


def beyond(run: RunView, klass: str) -> tuple[np.ndarray, np.ndarray]:
    """The packets in green, yellow and red that came from the hosts, and those that left the border."""
    object_names = run.series["what"].astype(str)
    groups = run.options["borders"][klass]
    from_hosts = np.zeros(len(object_names), bool)
    for g in groups:
        from_hosts |= np.char.startswith(object_names, f"edge.flows.{g}.")
    return _last(run, from_hosts), _last(run, object_names == f"edge.{klass}")


@measure(
    "recoloured",
    "Packets in another colour behind the border",
    "%",
    "difference of the packets of each colour before and behind, half their sum, of all; what is on its way counts",
    digits=3,
)
def recoloured(run: RunView, klass: str) -> float:
    packets_before, behind = beyond(run, klass)
    return (
        50 * float(np.sum(abs(packets_before - behind)) / packets_before.sum())
        if packets_before.sum()
        else float("nan")
    )


@measure("green_behind", "Green behind the border", "Mb/s", "green packets over the time of the run", digits=2)
def green_behind(run: RunView, klass: str) -> float:
    bits = 8e-6 * float(run.options.get("packet", 1000))
    return float(beyond(run, klass)[1][0]) * bits / float(np.max(run.intervals["to_s"]))
