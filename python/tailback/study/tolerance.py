"""Limits for a measured mean, and the mean with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tailback.core.stats import ci95
from tailback.core.verdict import LEANS, NO, YES
from tailback.study.measures import Measure

#: The remark on a mean whose interval crosses a limit.
CLOSE = "close: the interval reaches over the limit"


@dataclass(frozen=True)
class OverSeeds:
    """A mean over seeds, and the half-width of its 95 % interval (NaN for one seed)."""

    mean: float
    half: float
    n: int

    @classmethod
    def of(cls, x: np.ndarray) -> OverSeeds:
        x = np.asarray(x, dtype=float)
        if len(x) == 0 or np.isnan(x).any():
            return cls(math.nan, math.nan, len(x))
        if np.isinf(x).any():
            return cls(math.inf, math.nan, len(x))
        return cls(float(x.mean()), half_width(x), len(x))

    @classmethod
    def of_difference(cls, a: np.ndarray, b: np.ndarray) -> OverSeeds:
        """The difference of two quantities, seed by seed."""
        if np.isinf(a).any() or np.isinf(b).any():
            x, y = float(np.mean(a)), float(np.mean(b))
            return cls(0.0 if x == y else math.copysign(math.inf, x - y), math.nan, len(a))
        return cls.of(a - b)

    def shown(self, m: Measure) -> str:
        return m.show(self.mean) if math.isnan(self.half) else f"{m.show(self.mean)} ± {m.show(self.half)}"


def seeds_of(missed: np.ndarray) -> str:
    """The numbers of these seeds, from 1 on: "seeds 1 4" or "all seeds"; empty if there is one seed or no seed misses
    the limit."""
    missed_seeds = np.flatnonzero(missed)
    if len(missed) < 2 or not len(missed_seeds):
        return ""
    if len(missed_seeds) == len(missed):
        return "all seeds"
    return f"seed{'s' if len(missed_seeds) > 1 else ''} {' '.join(str(i + 1) for i in missed_seeds)}"


def half_width(x: Sequence[float] | np.ndarray) -> float:
    """Half the 95 % interval of the mean; NaN for fewer than two values."""
    return float(ci95(np.asarray(x, dtype=float))) if len(x) > 1 else math.nan


@dataclass(frozen=True)
class Limits:
    """A mean counts as right from `low` to `high`, both included."""

    low: float
    high: float
    #: The limits in words, for a table.
    text: str

    def hold(self, mean: float) -> bool:
        return self.low <= mean <= self.high

    def margin(self, mean: float) -> float:
        """The distance of a mean from the nearest limit; negative outside of the limits."""
        return min(mean - self.low, self.high - mean)

    def close(self, e: OverSeeds) -> bool:
        """Whether the interval of the mean crosses a limit."""
        reach = 0.0 if math.isnan(e.half) else e.half
        return any(math.isfinite(x) and abs(e.mean - x) < reach for x in (self.low, self.high))

    def outcome(self, e: OverSeeds) -> str:
        """The side of the mean, and whether its interval excludes the other side."""
        if not self.hold(e.mean):
            return NO
        return LEANS if self.close(e) else YES

    def telling(self, mean: float, text: str) -> str:
        """The mean with enough digits to show on which side of the limits it is."""
        if not math.isfinite(mean) or "e" in text:
            return text
        decimals = len(text.partition(".")[2])
        while decimals < 9 and self.hold(float(text)) != self.hold(mean):
            decimals += 1
            text = f"{mean:.{decimals}f}"
        return text
