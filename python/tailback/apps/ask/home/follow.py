"""A shaper that follows the rate of the line: the rule of cake-autorate, applied to fluid traffic that fills the line.

The rule, its numbers and its timing are those of cake-autorate 3.3 (github.com/lynxthecat/cake-autorate: `defaults.sh`,
the main loop of `cake-autorate.sh`), with fping, its default. Six pingers each send every 0.3 s, so a ping comes back
every 50 ms. The delay of each direction is half of the round trip above the baseline. With each ping of a pinger, its
baseline rises by 0.1 % or falls by 90 % of the difference. For each direction:

* If three of the last six delays are above 30 ms, the rate is multiplied by 0.99 to 0.75, at most once in 300 ms. The
  factor is lower for a longer mean of the six delays (0.75 from 60 ms on).
* Else, if more than 75 % of the rate was used, the rate grows once for each count of the bytes (every 200 ms), by up to
  4 % (4 % up to a mean delay of 10 ms, 0 % from 30 ms on).
* Else it returns to the base rate by 1 % a second.

The delays of 30 ms, 60 ms and 10 ms in this rule grow by the time of a largest packet at the shaper's rate.

The rule is applied to fluid traffic, not to the packets of the run. A loaded direction sends at the shaper's rate and
leaves at the line's rate; the difference queues in the modem or at the provider. A ping is delayed by the queue at the
time when it is sent. The result is the rates of the shapers over time, which the packet run then uses.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

PINGERS, PING_S = 6, 0.3
#: The interval of returning pings, in seconds.
SAMPLE_S = PING_S / PINGERS
WINDOW, DELAYED = 6, 3
LATE_S, FULL_UP_S, FULL_DOWN_S = 0.030, 0.010, 0.060
LEAST_DOWN, MOST_DOWN = 0.99, 0.75
MOST_UP = 1.04
HIGH_LOAD = 0.75
COUNTED_S, REFRACTORY_S, DECAY_S, DECAY = 0.2, 0.3, 1.0, 0.01
#: The share of the difference by which the baseline moves, for a longer and for a shorter delay.
RISES, FALLS = 0.001, 0.9
#: The shortest interval between changes of the shaper's rate in the run.
STEP_S = 0.1

#: Times closer than this are merged.
EDGE_S = 1e-6

#: Times, with the rate from each time on.
Course = list[tuple[float, float]]


@dataclass(frozen=True)
class Bounds:
    """The rates of the shaper, bit/s: the least, the one without load, and the greatest."""

    least: float
    base: float
    most: float


@dataclass(frozen=True)
class Shaped:
    """A direction: the shaper's bounds, the line's rates over time, the times with load, and the buffer before the
    line."""

    bounds: Bounds
    line: Sequence[tuple[float, float]]
    loaded: Sequence[tuple[float, float]]
    buffer_bits: float


class Shaper:
    """The rule in one direction."""

    def __init__(self, bounds: Bounds, packet_bits: float) -> None:
        self.bounds, self.packet_bits, self.rate = bounds, packet_bits, bounds.base
        self.delays: deque[float] = deque([0.0] * WINDOW, maxlen=WINDOW)
        self.late: deque[bool] = deque([False] * WINDOW, maxlen=WINDOW)
        self.load, self.counted = 0.0, False
        self.lowered_s = self.decayed_s = -1e9

    def passed(self, bps: float) -> None:
        """Starts a new count of the bytes that pass."""
        self.load, self.counted = bps / self.rate, True

    def ping(self, now_s: float, delay_s: float) -> None:
        """Takes a returned ping whose delay above the baseline is `delay_s`."""
        packet_s = self.packet_bits / self.rate
        late_s, full_up, full_down = (t + packet_s for t in (LATE_S, FULL_UP_S, FULL_DOWN_S))
        self.delays.append(delay_s)
        self.late.append(delay_s > late_s)
        mean = sum(self.delays) / WINDOW
        is_rested = now_s - self.lowered_s > REFRACTORY_S + EDGE_S
        if sum(self.late) >= DELAYED:
            if is_rested:
                fraction = min(1.0, max(0.0, (mean - late_s) / (full_down - late_s)))
                self.rate *= LEAST_DOWN + fraction * (MOST_DOWN - LEAST_DOWN)
                self.lowered_s = self.decayed_s = now_s
        elif self.load > HIGH_LOAD:
            if is_rested and self.counted:
                fraction = min(1.0, max(0.0, (late_s - mean) / (late_s - full_up)))
                self.rate *= 1 + fraction * (MOST_UP - 1)
                self.counted, self.decayed_s = False, now_s
        elif now_s - self.decayed_s > DECAY_S + EDGE_S:
            towards = self.bounds.base
            self.rate = (
                max(towards, self.rate * (1 - DECAY)) if self.rate > towards else min(towards, self.rate * (1 + DECAY))
            )
            self.decayed_s = now_s
        self.rate = min(self.bounds.most, max(self.bounds.least, self.rate))


class _Fluid:
    """The queue in front of the line in one direction, and the bytes that pass."""

    def __init__(self, way: Shaped) -> None:
        self.way, self.times = way, [t for t, _ in way.line]
        self.waits_bits = self.passed_bits = self.wait_s = 0.0

    def step(self, now_s: float, rate: float) -> None:
        line_bps = max(self.way.line[max(bisect_right(self.times, now_s), 1) - 1][1], 1.0)
        sent_bps = rate if any(a <= now_s < b for a, b in self.way.loaded) else 0.0
        passed_bps = min(line_bps, sent_bps + self.waits_bits / SAMPLE_S)
        self.waits_bits = min(self.way.buffer_bits, max(0.0, self.waits_bits + (sent_bps - line_bps) * SAMPLE_S))
        self.passed_bits += passed_bps * SAMPLE_S
        self.wait_s = self.waits_bits / line_bps


def courses(ways: tuple[Shaped, Shaped], rtt_s: float, packet_bits: float, duration_s: float) -> tuple[Course, Course]:
    """The rates of both shapers, down and up."""
    shapers = [Shaper(way.bounds, packet_bits) for way in ways]
    fluids = [_Fluid(way) for way in ways]
    rates: tuple[Course, Course] = ([], [])
    usual_delay_s = [0.0] * PINGERS
    #: Pings on their way: the time of each return, and its delay above the idle line's.
    pings_on_way: deque[tuple[float, float]] = deque()
    counted_s, pinger = 0.0, 0
    for tick in range(int(duration_s / SAMPLE_S) + 1):
        now_s = tick * SAMPLE_S
        if now_s - counted_s >= COUNTED_S - EDGE_S:
            for shaper, fluid in zip(shapers, fluids, strict=True):
                shaper.passed(fluid.passed_bits / (now_s - counted_s))
                fluid.passed_bits = 0.0
            counted_s = now_s
        while pings_on_way and pings_on_way[0][0] <= now_s + EDGE_S:
            delay_s = pings_on_way.popleft()[1] / 2
            usual_delay_s[pinger] += (RISES if delay_s >= usual_delay_s[pinger] else FALLS) * (
                delay_s - usual_delay_s[pinger]
            )
            for shaper in shapers:
                shaper.ping(now_s, delay_s - usual_delay_s[pinger])
            pinger = (pinger + 1) % PINGERS
        for shaper, fluid, course in zip(shapers, fluids, rates, strict=True):
            fluid.step(now_s, shaper.rate)
            if not course or (course[-1][1] != shaper.rate and now_s - course[-1][0] >= STEP_S - EDGE_S):
                course.append((now_s, shaper.rate))
        waits = sum(fluid.wait_s for fluid in fluids)
        pings_on_way.append((max(now_s + rtt_s + waits, pings_on_way[-1][0] if pings_on_way else 0.0), waits))
    return rates
