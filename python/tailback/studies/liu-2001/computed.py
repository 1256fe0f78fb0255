"""What flows with promised rates are to get on a link, colour by colour (Liu 2001, table 4.1)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tailback.study.computed import computed
from tailback.study.measures import value
from tailback.theory.allocation import Demand, allocate

RATES = (1, 3, 5, 10)

for _rate in RATES:
    value(f"gets_{_rate}", f"Flow of {_rate} Mb/s is to get", "Mbit/s", "max-min by colour, headroom 1.2")


@computed("assured_rates")
def assured_rates(labels: dict[str, str], seed: int, options: dict[str, Any]) -> dict[str, Any]:
    """`links` has the rate (Mb/s) and the flows of each rate by network, `loads` the rates that send."""
    capacity, each = options["links"][labels["network"]]
    sending = options["loads"][labels["load"]]
    flows = {
        f"{rate}.{i}": Demand(("line",), Fraction(rate) * 10**6, 2 * Fraction(rate) * 10**6)
        for rate in sending
        for i in range(int(each))
    }
    shares = allocate({"line": Fraction(str(capacity)) * 10**6}, flows)
    return {"values": {f"gets_{rate}": float(shares[f"{rate}.0"].total / 10**6) for rate in sending}}
