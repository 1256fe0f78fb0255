"""A port of a switch in a data centre: the defaults of its question, and the marking threshold K.

Senders that respond to the share of marked bytes (DCTCP) make the question one about a rack. The hosts of a rack have
offload and a card as fast as the port, requests go to many servers at once, and the ports of the switch share a memory.
Round trips are so short that the length of a run is a number of round trips and not of seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

#: Senders that make the question one of a data centre.
MADE_FOR = ("dctcp",)
DCTCP_PAPER = "Alizadeh et al., Data Center TCP, SIGCOMM 2010"
#: The default traffic of a port of a rack.
CROSSES = ("bulk", "incast")
#: A switch of 24 ports of 10 Gb/s with 4 MB (table 1 of the paper).
PORTS, MEMORY_BYTES, MEMORY_RATE = 24, 4_000_000, 10e9
#: The multiple of the free memory that a queue may take. One queue alone may take 800 kB of 4 MB; the paper's switch
#: gave about 700 kB.
ALPHA = 0.25
#: The paper's thresholds in packets: at 1 Gb/s and below, and at 10 Gb/s. Above 10 Gb/s they grow in proportion to the
#: rate.
LEAST_K, PAPER_K, PAPER_RATE = 20, 65, 10e9
#: A train of segmentation offload, bytes of payload.
OFFLOAD_BYTES = 65_536
#: The servers that answer a request, the bytes of each answer (section 2.2 of the paper), and the requests' share of
#: the line.
SERVERS, ANSWER_BYTES, REQUEST_SHARE = 40, 2_000, 0.1
#: The length of a run in round trips, of which the first fifth is not counted, and the shortest length.
RTTS, LEAST_RTTS = 2000, 300
#: Timers of hosts in data centres: Vasudevan et al., SIGCOMM 2009, found 200 ms and 40 ms too long; the paper has 10
#: ms.
MIN_RTO, DELAYED_ACK = "10ms", "1ms"


@dataclass(frozen=True)
class Rack:
    """The settings of a rack's port other than rate, round trip and buffer."""

    #: The marking threshold K in packets, and its origin.
    threshold: int
    threshold_why: str
    #: The memory of the switch, bytes.
    memory_bytes: int
    alpha: float = ALPHA


def static_part(rate_bps: float) -> float:
    """Bytes of the memory for a port if all ports have an equal share."""
    return MEMORY_BYTES * max(1.0, rate_bps / MEMORY_RATE) / PORTS


def burst_packets(payload_bytes: int) -> int:
    """Segments of the longest train."""
    return max(1, OFFLOAD_BYTES // payload_bytes)


def rack(rate_bps: float, rtt_s: float, packet_bytes: int, part_bytes: float) -> Rack:
    """The port of a switch whose ports have this part of the memory each; `rtt_s` is the longest round trip."""
    by_rtt = rate_bps * rtt_s / 8 / packet_bytes / 7
    burst = burst_packets(packet_bytes - 52)
    paper = max(LEAST_K, PAPER_K * rate_bps / PAPER_RATE)
    least = math.floor(by_rtt) + 1
    threshold = max(math.ceil(paper - 1e-9), least, burst)
    reason = (
        f"{_paper_says(rate_bps)} ({DCTCP_PAPER}, section 3.4); above rate x round trip / 7 = {by_rtt:.3g} packets "
        f"(equation 13), and no less than an offload burst of {burst}"
    )
    return Rack(threshold, reason, round(PORTS * part_bytes))


def _paper_says(rate_bps: float) -> str:
    if rate_bps == PAPER_RATE:
        return f"{PAPER_K} packets at 10 Gb/s"
    return f"{LEAST_K} packets at 1 Gb/s, {PAPER_K} at 10 Gb/s, beyond in proportion"
