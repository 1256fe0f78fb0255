"""Closed-form models of the queue behind a bottleneck, computed without simulated packets.

Both models are from Kantawala and Turner (2005), for `n` long-lived Reno flows of equal round trip that keep one link
busy. Time advances in steps of one round trip, traffic is fluid, and all windows are equal. Every loss is detected by
duplicate acknowledgements within one round trip. The buffer overflows when every window has grown by one packet more
than pipe and buffer can hold.

`tail_drop` A share `h` of the flows loses a packet at an overflow, halves its window, and the queue falls; then it
grows by `n` packets a round trip until it is full again. Valid while windows are several packets large; `h` lies
between a half and one (1 - 1/e = 0.63 for flows in step; the published table used 0.7). `qsdrr` Each flow has its own
queue, and the victim is sticky. The number of flows that lose packets is only as large as is needed to make room for
the `n` packets of the overflow. This number is a count, not a share.

The units here are packets, seconds, and packets per second. The command line reads quantities with units.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from math import ceil, isqrt
from typing import Any


class PredictError(ValueError):
    """Input that the model cannot take. The message has the remedy."""


@dataclass(frozen=True)
class TailDrop:
    """The model's answer for one buffer. Times in seconds, amounts in packets."""

    flows: int
    packets_per_s: float
    rtt_s: float
    buffer_packets: float
    hit_share: float
    #: Window of each flow that just fills the empty pipe (the report's W0).
    window_empty: float
    #: Window of each flow that fills pipe and buffer (W*).
    window_full: float
    #: Round trip with a full buffer.
    rtt_full_s: float
    #: The queue after the first round trip that follows an overflow. A negative value is unused capacity.
    queue_after: float
    #: The fall of the queue, `buffer - queue_after`.
    queue_drop: float
    #: The number of round trips from there to the next overflow.
    steps: float
    #: The time from one overflow to the next, by the published formula. If the queue runs empty, the formula is
    #: extended (`underflow`).
    cycle_s: float
    #: The packets in a cycle that could have been sent while the queue was empty.
    idle_packets: float
    utilisation: float

    @property
    def underflow(self) -> bool:
        return self.queue_after < 0

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "underflow": self.underflow}

    def level(self, cycles: int = 1) -> tuple[list[float], list[float]]:
        """The queue against time from an overflow at time 0: times and levels, to be joined by straight lines."""
        t, now_s = [0.0], 0.0
        level = [self.buffer_packets]
        for _ in range(cycles):
            now_s += self.rtt_full_s
            virtual = self.queue_after
            t.append(now_s)
            level.append(max(0.0, virtual))
            steps_left = self.steps
            while steps_left > 1e-9:
                step_part = min(1.0, steps_left)
                # A line that crosses zero has a corner at the time when the real queue begins to grow.
                if virtual < 0 < virtual + step_part * self.flows:
                    step_part = min(step_part, -virtual / self.flows)
                now_s += step_part * (self.rtt_s + max(0.0, virtual) / self.packets_per_s)
                virtual += step_part * self.flows
                steps_left -= step_part
                t.append(now_s)
                level.append(max(0.0, virtual))
        return t, level


def tail_drop(
    flows: int, packets_per_s: float, rtt_s: float, buffer_packets: float, hit_share: float = 0.7
) -> TailDrop:
    """Queue drop and cycle of drop-tail (Kantawala and Turner 2005, chapter 2), extended to a queue that runs empty."""
    n, c, tau, b, h = flows, packets_per_s, rtt_s, buffer_packets, hit_share
    if n < 1 or int(n) != n:
        raise PredictError(f"{n} flows: give a whole number, at least 1")
    if not c > 0 or not tau > 0:
        raise PredictError("rate and round trip must be above zero")
    if not b >= 0:
        raise PredictError(f"a buffer of {b} packets: give 0 or more")
    if not 0 < h <= 1:
        raise PredictError(
            f"a hit share of {h}: give the share of flows that lose a packet at an overflow, above 0, at most 1"
        )
    window_empty = c * tau / n
    window_full = (c * tau + b) / n
    rtt_full = tau + b / c
    steps = h / 2 * (window_full + 3) - 2
    if steps <= 0:
        raise PredictError(
            f"the model does not hold: {h:g} of {n} flows with windows of {window_full:.1f} packets give up less than "
            "the queue regains at once; give a larger hit share, fewer flows, or a larger buffer"
        )
    queue_after = b - n * steps
    if queue_after >= 0:
        cycle = rtt_full + steps * (tau + queue_after / c + rtt_full) / 2
        idle_packets = 0.0
    else:
        empty_steps = -queue_after / n
        filling_steps = b / n
        cycle = rtt_full + empty_steps * tau + filling_steps * (tau + rtt_full) / 2
        idle_packets = n * empty_steps**2 / 2
    return TailDrop(
        flows=int(n),
        packets_per_s=c,
        rtt_s=tau,
        buffer_packets=b,
        hit_share=h,
        window_empty=window_empty,
        window_full=window_full,
        rtt_full_s=rtt_full,
        queue_after=queue_after,
        queue_drop=b - queue_after,
        steps=steps,
        cycle_s=cycle,
        idle_packets=idle_packets,
        utilisation=1 - idle_packets / (c * cycle),
    )


@dataclass(frozen=True)
class Qsdrr:
    """The number of flows that lose packets at the first overflow in congestion avoidance, and its consequences."""

    flows: int
    buffer_packets: int
    #: Flows that lose packets.
    victims: int
    #: 1: queues long enough for 1, 2, 3, ... drops; 2: each victim gives up its queue; 3: fewer packets than queues.
    regime: int
    #: The fall of the queue, which needs rate and round trip. None if the queue overflows again in the next round trip.
    queue_drop: float | None = None
    steps: float | None = None
    cycle_s: float | None = None
    #: The drop-tail model with `victims` flows hit; None as above.
    frame: TailDrop | None = None

    def as_dict(self) -> dict[str, Any]:
        return {k: v for k, v in asdict(self).items() if k != "frame"}

    def level(self, cycles: int = 1) -> tuple[list[float], list[float]] | None:
        """The queue against time from an overflow at time 0, as `TailDrop.level`; None if there is no queue drop."""
        return None if self.frame is None else self.frame.level(cycles)


def qsdrr(flows: int, buffer_packets: int, packets_per_s: float | None = None, rtt_s: float | None = None) -> Qsdrr:
    """The number of victims of QSDRR (Kantawala and Turner 2005, chapter 4)."""
    n, b = flows, buffer_packets
    if n < 1 or b < 1 or int(n) != n or int(b) != b:
        raise PredictError(f"{n} flows and a buffer of {b} packets: give whole numbers, at least 1")
    # The smallest number with victims (victims + 1) / 2 >= n, in whole numbers.
    victims = (isqrt(8 * n + 1) - 1) // 2
    while victims * (victims + 1) < 2 * n:
        victims += 1
    if victims * n <= b:
        regime = 1
    elif b >= n:
        length = Fraction(b, n)
        victims, regime = ceil(n / length + (length - 1) / 2), 2
    else:
        victims, regime = n, 3
    victims = min(victims, n)
    if packets_per_s is None or rtt_s is None:
        return Qsdrr(n, b, victims, regime)
    window_full = (packets_per_s * rtt_s + b) / n
    drop = victims / 2 * (window_full + 3) - 2 * n
    if drop <= 0:
        return Qsdrr(n, b, victims, regime)
    model = tail_drop(n, packets_per_s, rtt_s, b, victims / n)
    return Qsdrr(n, b, victims, regime, queue_drop=drop, steps=drop / n, cycle_s=model.cycle_s, frame=model)
