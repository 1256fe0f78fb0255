"""How to set REDn for a link: the guidelines of Liu (2001), section 3.3, in exact arithmetic.

The three colours have equal thresholds; only the differences between their averages make the preference.

`C = h sum(r1)` The link carries the promised rates with headroom `h`: the sawtooth of a TCP spans 0.66 to 1.33 of its
mean. `H = floor(C T 2p / 8S)` The most queued packets that signals at `p` to `2p` take away within the longest round
trip `T`. `M = floor(C D / 8S)`, `L = floor(C D / 16S)`, `K = L` M is the queue with a delay `D`, and L is half of it,
so that a normal burst from L does not reach M. `w = 1 - exp(-1/N)`, `N = 2 max(r1 RTT / 8S)` The average follows 63 %
of a change within twice the largest product of throughput and delay, counted in packets.

Rates are in bit/s, times in seconds, sizes in bytes. The argument of a floor is a fraction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import expm1, floor
from typing import Any

from tailback.core.theory.predict import PredictError

#: Segments that a sender may send at once in the beginning (RFC 2414, at 1000 bytes a packet).
INITIAL_WINDOW = 4
#: Packets that both buckets of a conditioner hold before the round-trip time is known.
MIN_DEPTH = 5


@dataclass(frozen=True)
class Client:
    """A promised rate, bit/s, and the round trip without queues, seconds."""

    rate: Fraction
    rtt: Fraction


@dataclass(frozen=True)
class Redn:
    """The settings that the guidelines give. Thresholds are in packets."""

    rate_bps: Fraction
    packet_bytes: int
    max_probability: Fraction
    max_threshold: int
    middle_threshold: int
    min_threshold: int
    queue_threshold: int
    increase: int
    decrease: int
    #: Arrivals in which the average follows 63 % of a change; None without flows.
    time_constant: Fraction | None
    weight: float | None
    min_depth_packets: int
    #: The rate of each client, in bit/s.
    peak_rates_bps: tuple[Fraction, ...]
    #: The buffer must be larger than this.
    buffer_above_packets: int
    warnings: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        def plain(x: Any) -> Any:
            if isinstance(x, Fraction):
                return int(x) if x.denominator == 1 else float(x)
            return [plain(y) for y in x] if isinstance(x, tuple) else x

        return {name: plain(value) for name, value in vars(self).items()}


def guidelines(
    clients: Sequence[Client] = (),
    *,
    rate: Fraction | None = None,
    longest_rtt: Fraction = Fraction(1, 2),
    delay: Fraction = Fraction(15, 1000),
    probability: Fraction = Fraction(1, 10),
    headroom: Fraction = Fraction(6, 5),
    packet: int = 1000,
    min_depth: int = MIN_DEPTH,
) -> Redn:
    """The settings for a link of `rate`, or for one that carries these clients with headroom."""
    if rate is None:
        if not clients:
            raise PredictError("give the rate of the link, or the flows it is to carry")
        rate = headroom * sum((c.rate for c in clients), Fraction())
    if rate <= 0 or packet < 1 or longest_rtt <= 0 or delay <= 0:
        raise PredictError("rate, packet, round trip and delay are above zero")
    if not 0 < probability <= 1:
        raise PredictError("a probability lies between 0 and 1; give 0.1, as the guidelines advise")
    packets = rate / (8 * packet)
    upper, middle = floor(packets * longest_rtt * 2 * probability), floor(packets * delay)
    lower = floor(packets * delay / 2)
    constant = max((2 * c.rate * c.rtt / (8 * packet) for c in clients), default=None)
    weight = None if not constant else -expm1(-1 / float(constant))
    warnings = [
        (
            probability > Fraction(1, 10),
            f"probability {float(probability):g} is above 0.1: a fifth of the packets at 0.1",
        ),
        (2 * middle >= upper, f"the middle threshold ({middle}) is not below half the upper one ({upper})"),
        (lower < 5, f"the lower threshold ({lower}) is below 5 packets: single bursts are signalled"),
        (
            weight is not None and not 1e-4 <= weight <= 0.05,
            f"the weight {weight or 0:.3g} is outside 0.0001 to 0.05",
        ),
        (
            min_depth < INITIAL_WINDOW,
            f"a depth of {min_depth} packets is less than the first window of {INITIAL_WINDOW}",
        ),
    ]
    return Redn(
        rate_bps=rate,
        packet_bytes=packet,
        max_probability=probability,
        max_threshold=upper,
        middle_threshold=middle,
        min_threshold=lower,
        queue_threshold=lower,
        increase=2,
        decrease=3,
        time_constant=constant,
        weight=weight,
        min_depth_packets=min_depth,
        peak_rates_bps=tuple(2 * c.rate for c in clients),
        buffer_above_packets=2 * upper,
        warnings=tuple(text for wrong, text in warnings if wrong),
    )


def tolerable_loss(client: Client, packet: int = 1000, *, delayed_acks: bool = False) -> Fraction:
    """The largest loss rate at which a TCP still has its rate: k / W^2, with W packets in flight.

    k is 3/2 with an ACK for every segment, 3/4 with one for every second (Mathis, Semke, Mahdavi, Ott 1997).
    """
    window = client.rate * client.rtt / (8 * packet)
    if window <= 0:
        raise PredictError("a rate and a round trip above zero")
    return min(Fraction(1), (Fraction(3, 4) if delayed_acks else Fraction(3, 2)) / window**2)
