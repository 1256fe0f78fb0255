"""A measurement of any program: series of pings and rates, and totals of the sent data.

Units are seconds, bits a second and bytes, as in results. The summary of a series uses the words of
`tailback.core.results.quantities`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from tailback.core.results.quantities import shown

Numbers = npt.NDArray[np.float64]


class Role(StrEnum):
    """The quantity of a series."""

    PING = "round trip"
    DOWN = "download"
    UP = "upload"
    OTHER = "other"


@dataclass(frozen=True)
class Series:
    """Values over time. `whole` marks the sum over all flows of a direction."""

    name: str
    role: Role
    #: "s", "bit/s", or the program's own name of a unit.
    unit: str
    times_s: Numbers
    values: Numbers
    #: The mean that the program itself states, from its totals.
    stated_mean: float = math.nan
    whole: bool = False

    @property
    def mean(self) -> float:
        """The mean that the program states, or the mean of the values."""
        if math.isfinite(self.stated_mean):
            return self.stated_mean
        return float(self.values.mean()) if len(self.values) else math.nan

    @property
    def median(self) -> float:
        return float(np.median(self.values)) if len(self.values) else math.nan

    @property
    def p99(self) -> float:
        """The quantile, linearly interpolated between two values, as in NumPy and in Flent's summary if it has
        NumPy."""
        return float(np.quantile(self.values, 0.99)) if len(self.values) else math.nan

    def written(self, value: float) -> str:
        """A value of the series with its unit: `34.21 ms`."""
        return amount(value, self.unit)


@dataclass(frozen=True)
class Measurement:
    """A measurement. `settings` are those that its file gives: rates of the line, queue, congestion control."""

    program: str
    series: tuple[Series, ...]
    length_s: float = math.nan
    settings: Mapping[str, str] = field(default_factory=dict)
    sent: int | None = None
    received: int | None = None
    retransmissions: int | None = None
    #: Round trips of a speed test before the load, in seconds.
    idle_s: float = math.nan

    def of(self, role: Role) -> list[Series]:
        return [s for s in self.series if s.role is role]

    def rate(self, role: Role) -> float:
        """The mean rate of a direction over all its flows, in bit/s; NaN if it was not measured."""
        series = self.of(role)
        whole_series = [s for s in series if s.whole]
        if whole_series:
            return whole_series[0].mean
        return math.fsum(s.mean for s in series) if series else math.nan

    def over_time(self, role: Role) -> tuple[Numbers, Numbers] | None:
        """Times and rates of a direction, summed over its flows."""
        series = [s for s in self.of(role) if s.whole] or self.of(role)
        if not series:
            return None
        times = series[0].times_s
        total = sum((np.interp(times, s.times_s, s.values) for s in series if len(s.values)), np.zeros(len(times)))
        return times, total

    @property
    def loss(self) -> float:
        """The share of packets that were lost; NaN if it is unknown."""
        if not self.sent or self.received is None:
            return math.nan
        return max(0.0, 1 - self.received / self.sent)


def amount(value: float, unit: str) -> str:
    """A number with its unit and a prefix, four significant digits.

    >>> from tailback.readers.measured.measurement import amount
    >>> amount(0.0342, "s"), amount(94.1e6, "bit/s")
    ('34.2 ms', '94.1 Mb/s')
    """
    if not math.isfinite(value):
        return "unknown"
    sign = shown(unit, [value])
    return f"{value * sign.factor:.4g} {sign.unit}".strip()


def said(series: Series) -> str:
    """A series in one line: mean, median, 99th percentile, and number of values."""
    statistics = [f"mean {series.written(series.mean)}"]
    if len(series.values):
        statistics += [f"median {series.written(series.median)}", f"99th percentile {series.written(series.p99)}"]
    value_count = len(series.values)
    return (
        f"{', '.join(statistics)} ({value_count} value{'' if value_count == 1 else 's'})"
        if value_count
        else statistics[0]
    )


def numbers(values: Sequence[float]) -> Numbers:
    return np.asarray(values, dtype=np.float64)
