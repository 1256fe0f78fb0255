"""Worst cases of schedulers for reserved flows, by formula (Kantawala and Turner 2005, chapter 7)."""

from __future__ import annotations

from typing import Any

from tailback.study.computed import computed
from tailback.study.measures import value

value("wdrr_wait_ms", "WDRR, wait without the flow's own quantum", "ms", "all other quanta, after using one's own", 3)
value("round_ms", "WDRR, a full round", "ms", "all quanta together", 3)
value("wf2q_bound_ms", "WF2Q, time of a packet at the reserved rate", "ms", "packet over share of the rate", 3)
value("packets_in_10_ms", "Packets of the line in 10 ms", "packets", "at full rate")


@computed("reserved_bounds")
def reserved_bounds(labels: dict[str, str], seed: int, options: dict[str, Any]) -> dict[str, Any]:
    """One flow of weight `weight` among `flows` - 1 of weight 1 on a line of `rate_bps`, packets of `packet_bits`."""
    rate, bits = float(options["rate_bps"]), float(options["packet_bits"])
    weight, others = float(options["weight"]), int(options["flows"]) - 1
    total = weight + others
    return {
        "values": {
            "wdrr_wait_ms": 1e3 * others * bits / rate,
            "round_ms": 1e3 * total * bits / rate,
            "wf2q_bound_ms": 1e3 * bits / (weight / total * rate),
            "packets_in_10_ms": 0.01 * rate / bits,
        }
    }
