"""A shaper that follows the rate of the line: the rule of cake-autorate, on a fluid that fills the line.

The rule and its numbers are those of cake-autorate 3.2 (github.com/lynxthecat/cake-autorate, `defaults.sh` and the
README). Each 50 ms a ping comes back, and says how much longer it took than on the idle line. Where three of the last
six took more than 30 ms longer, the line is overfull: the rate falls, at most once in 300 ms, by a factor from 0.99 to
0.75, the lower the longer the mean of the six (0.75 from 60 ms on). Else, where more than 75 % of the shaper's rate
pass, the rate grows by a factor up to 1.04 (4 % up to a mean of 10 ms, nothing from 30 ms on). With little load it
returns to the base rate by 1 % a second.

The rule is applied to a fluid, not to the packets of the run: a loaded direction sends at the shaper's rate, the line
takes its own, and what is between them waits in the modem or at the provider. What comes out is the course of the
shaper's rate, which the run with packets then has.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

#: A ping comes back so often: six pingers, each 0.3 s.
SAMPLE_S = 0.3 / 6
WINDOW, DELAYED = 6, 3
LATE_S, FULL_UP_S, FULL_DOWN_S = 0.030, 0.010, 0.060
LEAST_DOWN, MOST_DOWN = 0.99, 0.75
MOST_UP = 1.04
HIGH_LOAD = 0.75
REFRACTORY_S, DECAY_S, DECAY = 0.3, 1.0, 0.01
#: The run has the shaper's rate at these times: the fluid's own.
STEP_S = 0.1


@dataclass(frozen=True)
class Bounds:
    """The rates of the shaper, bit/s: the least, the one without load, and the greatest."""

    least: float
    base: float
    most: float


@dataclass
class Shaper:
    """The rule in one direction."""

    bounds: Bounds
    rate: float

    def __post_init__(self) -> None:
        self.delays: deque[float] = deque([0.0] * WINDOW, maxlen=WINDOW)
        self.lowered_s = self.decayed_s = -1e9

    def ping(self, now_s: float, delay_s: float, passed_bps: float) -> None:
        """A ping is back, so much later than on the idle line, while so much passes."""
        self.delays.append(delay_s)
        mean = sum(self.delays) / WINDOW
        rested = now_s - self.lowered_s > REFRACTORY_S
        if sum(d > LATE_S for d in self.delays) >= DELAYED:
            if rested:
                part = min(1.0, max(0.0, (mean - LATE_S) / (FULL_DOWN_S - LATE_S)))
                self.rate *= LEAST_DOWN + part * (MOST_DOWN - LEAST_DOWN)
                self.lowered_s = self.decayed_s = now_s
        elif passed_bps > HIGH_LOAD * self.rate:
            if rested:
                part = min(1.0, max(0.0, (LATE_S - mean) / (LATE_S - FULL_UP_S)))
                self.rate *= 1 + part * (MOST_UP - 1)
        elif now_s - self.decayed_s > DECAY_S:
            towards = self.bounds.base
            self.rate = (
                max(towards, self.rate * (1 - DECAY)) if self.rate > towards else min(towards, self.rate * (1 + DECAY))
            )
            self.decayed_s = now_s
        self.rate = min(self.bounds.most, max(self.bounds.least, self.rate))


def course(
    bounds: Bounds,
    line: Sequence[tuple[float, float]],
    loaded: Sequence[tuple[float, float]],
    buffer_bits: float,
    duration_s: float,
) -> list[tuple[float, float]]:
    """The rate of the shaper from each time on. `line` is that of the line, and `loaded` are the spans that fill it."""
    shaper = Shaper(bounds, bounds.base)
    waits, now, told, at = 0.0, 0.0, -1e9, 0
    found: list[tuple[float, float]] = []
    while now < duration_s:
        while at + 1 < len(line) and line[at + 1][0] <= now:
            at += 1
        takes = max(line[at][1], 1.0)
        sent = shaper.rate if any(a <= now < b for a, b in loaded) else 0.0
        passed = min(takes, sent + waits / SAMPLE_S)
        waits = min(buffer_bits, max(0.0, waits + (sent - takes) * SAMPLE_S))
        shaper.ping(now, waits / takes, passed)
        if now - told >= STEP_S - 1e-9 and (not found or found[-1][1] != shaper.rate):
            found.append((now, shaper.rate))
            told = now
        now += SAMPLE_S
    return found
