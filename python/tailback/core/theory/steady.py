"""Long-lived TCP flows in the steady state: the rate at a given loss probability, and the equilibrium of RED.

`square_root` The square-root law (Mathis, Semke, Mahdavi and Ott 1997): in congestion avoidance a Reno flow sends
sqrt(3 / (2 b p)) packets a round trip, where p is the share of packets lost or marked, and b the packets for one
acknowledgement. `with_timeouts` The rate with timeouts (Padhye, Firoiu, Towsley and Kurose 1998, in the form of RFC
5348 section 3.1). `red_equilibrium` The equilibrium of RED and the flows (Firoiu and Borden 2000). The equilibrium is
the average queue at which RED's probability lets `n` flows fill the line exactly. The round trip of these flows
includes the time in the queue. The equilibrium need not be stable: with a large round trip or few flows the average
oscillates around it.

The units here are packets, seconds, and packets a second. The command line reads quantities with units.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import inf, sqrt
from typing import Any, Literal

from tailback.core.theory.predict import PredictError

#: The spacing of RED's signals: `spread` and `wait` of `SignalRules` in the queue crate.
Spacing = Literal["geometric", "uniform", "wait"]
#: The timeout for the equation in round trips, as RFC 5348 section 3.1 recommends.
TIMEOUT_ROUND_TRIPS = 4
#: Below this probability the mean gap is within a hundredth of that of a continuous distribution.
LONG_GAPS = 0.005
#: Below this window a flow has too few packets for three duplicate ACKs, so timeouts occur, which the square-root law
#: leaves out.
FEWEST_FOR_FAST_RETRANSMIT = 4


def square_root(loss: float, rtt_s: float, acked: int = 1) -> float:
    """Packets a second of one flow in congestion avoidance."""
    _check(loss, rtt_s, acked)
    return sqrt(3 / (2 * acked * loss)) / rtt_s


def with_timeouts(loss: float, rtt_s: float, acked: int = 1, timeout_s: float | None = None) -> float:
    """Packets a second of one flow that also waits for timeouts."""
    _check(loss, rtt_s, acked)
    timeout = TIMEOUT_ROUND_TRIPS * rtt_s if timeout_s is None else timeout_s
    waits = timeout * 3 * sqrt(3 * acked * loss / 8) * loss * (1 + 32 * loss**2)
    return 1 / (rtt_s * sqrt(2 * acked * loss / 3) + waits)


def _check(loss: float, rtt_s: float, acked: int) -> None:
    if not 0 < loss <= 1:
        raise PredictError(f"a loss probability of {loss:g}: give one above 0, at most 1")
    if not rtt_s > 0:
        raise PredictError("the model needs a round trip above zero")
    if acked < 1:
        raise PredictError(f"an ACK for {acked} packets: give 1 or more")


def mean_gap(p: float, wait: bool) -> float:
    """Packets from one signal of RED to the next, with base probability `p` (`spread` in the queue crate)."""
    unsignalled_share, gap, n = 1.0, 0.0, 0
    while unsignalled_share > 0:
        gap, n = gap + unsignalled_share, n + 1
        packets_left = (2 if wait else 1) - n * p
        if n * p >= (1 if wait else 0):
            unsignalled_share *= 1 - min(1.0, p / packets_left) if packets_left > 0 else 0.0
    return gap


@dataclass(frozen=True)
class Ramp:
    """RED's probability over its average (Floyd and Jacobson 1993; gentle: Floyd 2000). Thresholds in packets."""

    min_threshold: float
    max_threshold: float
    max_probability: float = 0.1
    gentle: bool = True
    spacing: Spacing = "wait"

    def __post_init__(self) -> None:
        if not 0 <= self.min_threshold < self.max_threshold:
            raise PredictError(
                f"thresholds of {self.min_threshold:g} and {self.max_threshold:g} packets: the second must be larger"
            )
        if not 0 < self.max_probability <= 1:
            raise PredictError(f"a maximum probability of {self.max_probability:g}: give one above 0, at most 1")

    @property
    def end(self) -> float:
        """The average from which every packet is signalled."""
        return 2 * self.max_threshold if self.gentle else self.max_threshold

    def base(self, average: float) -> float:
        """The probability before the signals are spaced."""
        min_threshold, max_threshold, max_probability = self.min_threshold, self.max_threshold, self.max_probability
        if average < min_threshold:
            return 0.0
        if average < max_threshold:
            return max_probability * (average - min_threshold) / (max_threshold - min_threshold)
        return (
            max_probability + (1 - max_probability) * (average - max_threshold) / max_threshold
            if average < self.end
            else 1.0
        )

    def signalled(self, average: float) -> float:
        """The share of packets that are signalled: one divided by the mean gap between signals."""
        p = self.base(average)
        if self.spacing == "geometric" or p in (0, 1):
            return p
        if p < LONG_GAPS:
            # Gaps are uniform on 1 to 1/p - 1, and with `wait` on 1/p to 2/p - 1.
            return 2 * p if self.spacing == "uniform" else 2 * p / (3 - p)
        return 1 / mean_gap(p, self.spacing == "wait")


@dataclass(frozen=True)
class Equilibrium:
    """The equilibrium of RED. Amounts are in packets, times in seconds."""

    flows: int
    #: The position of the average: on the ramp, on its second (gentle) part, or beyond it, where RED signals too
    #: little.
    region: Literal["ramp", "gentle", "beyond"]
    average: float
    #: The share of packets that are dropped or marked.
    signalled: float
    #: The mean window of a flow.
    window: float
    rtt_s: float
    queue_s: float

    @property
    def timeouts(self) -> bool:
        """Whether windows are so small that losses lead to timeouts, which the law leaves out."""
        return self.window < FEWEST_FOR_FAST_RETRANSMIT

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "timeouts": self.timeouts}


def red_equilibrium(flows: int, packets_per_s: float, rtt_s: float, ramp: Ramp, acked: int = 1) -> Equilibrium:
    """The average queue at which RED's signals make `flows` flows fill the line exactly."""
    if flows < 1 or int(flows) != flows:
        raise PredictError(f"{flows} flows: give a whole number, at least 1")
    if not packets_per_s > 0:
        raise PredictError("the model needs a rate above zero")

    def offered(average: float) -> float:
        p = ramp.signalled(average)
        return flows * square_root(p, rtt_s + average / packets_per_s, acked) if p > 0 else inf

    low_average, high_average = ramp.min_threshold, ramp.end
    # The offered load falls with the average; at the end of a ramp without a gentle part it jumps.
    for _ in range(200):
        middle = (low_average + high_average) / 2
        low_average, high_average = (middle, high_average) if offered(middle) > packets_per_s else (low_average, middle)
    rtt = rtt_s + low_average / packets_per_s
    window = packets_per_s * rtt / flows
    is_beyond = high_average >= ramp.end
    region: Literal["ramp", "gentle", "beyond"] = (
        "beyond" if is_beyond else "ramp" if low_average < ramp.max_threshold else "gentle"
    )
    # Beyond the ramp the flows need more signals than the ramp gives; the square-root law gives the number.
    signalled_share = min(1.0, 3 / (2 * acked * window**2)) if is_beyond else ramp.signalled(low_average)
    return Equilibrium(int(flows), region, low_average, signalled_share, window, rtt, low_average / packets_per_s)
