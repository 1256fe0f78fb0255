"""The router experiment: QSDRR and Tail Drop on real packets between two network namespaces.

One call is one live run (`tailback live`): long-lived connections of this kernel with Reno, without SACK, time-based
loss recovery and timestamps, packets of 576 B, a queue for each connection. Goodput is counted in whole packets, so
that it compares with the rate over the number of flows. What this machine does not allow, and a run that was not valid
even when it was repeated alone, is not measured, with the reason.
"""

from __future__ import annotations

import statistics
from typing import Any

from tailback.study.computed import live
from tailback.study.measures import value
from tailback.study.work.apart import live_run

value("live_share", "Goodput, real packets", "%", "mean over the flows, share of the rate over their number", 1)
value("live_spread", "Spread, real packets", "1", "standard deviation over the flows, of the fair share", 3)
value("live_rate_mbps", "Forwarded, real packets", "Mbit/s", "what the line delivered in the measured time", 2)
value("live_lateness_us", "Lateness", "us", "99th percentile of how late packets were written", 0)

#: Bytes of a packet.
PACKET, HEADER = 576, 40


def scenario(labels: dict[str, str], seed: int, options: dict[str, Any]) -> str:
    """The run of a point."""
    rate, flows = float(labels["rate"]), int(labels["flows"])
    rtt = float(labels["rtt"])
    packets = buffer_of(labels["buffer"], rate, rtt)
    warmup, measured = float(options["warmup_s"]), float(options["measured_s"])
    return f"""
name = "router"
duration = "{warmup + measured}s"
warmup = "{warmup}s"
seed = {seed}
[link.bottleneck]
from = "routers"
to = "hosts"
rate = "{rate}Mbps"
reverse_rate = "1Gbps"
delay = "1ms"
queue = {{ kind = "{labels["queue"]}", buffer = "{packets} packets" }}
[flows.bulk]
from = "routers"
to = "hosts"
count = {flows}
rtt = "{rtt}s"
access_rate = "1Gbps"
start = {{ kind = "uniform", to = "1s" }}
tcp = {{ variant = "newreno", timestamps = false, ecn = "off", payload = "{PACKET - HEADER}B", header = "{HEADER}B" }}
"""


def buffer_of(products: str, rate: float, rtt: float) -> int:
    """Packets: a multiple of the product of rate and round trip."""
    return max(1, round(float(products) * rate * 1e6 * rtt / 8 / PACKET))


@live("live-router")
def live_router(labels: dict[str, str], seed: int, options: dict[str, Any]) -> dict[str, Any]:
    """Mean and spread of the goodputs of one run."""
    return {"values": _values(live_run(scenario(labels, seed, options)), float(labels["rate"]) * 1e6)}


def _values(found: dict[str, Any], rate_bps: float) -> dict[str, float]:
    (told,) = found["live"]
    goodputs = [f["goodput_wire_bps"] for f in found["flows"]]
    fair = rate_bps / len(goodputs)
    return {
        "live_share": 100 * statistics.mean(goodputs) / fair,
        "live_spread": statistics.stdev(goodputs) / fair,
        "live_rate_mbps": found["links"][0]["throughput_bps"] / 1e6,
        "live_lateness_us": told["quality"]["lateness_p99_s"] * 1e6,
    }
