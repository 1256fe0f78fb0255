"""Statistics of replications: mean, standard deviation, confidence intervals, paired differences, fairness.

The confidence interval of a mean over n independent runs is `mean +- t(n - 1) * sd / sqrt(n)`, where t is the quantile
of Student's distribution. One run has no interval (NaN).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tailback.core.text.arguments import checked


class Mean(NamedTuple):
    """A mean with its confidence interval."""

    mean: float
    #: Sample standard deviation; NaN for fewer than two values.
    sd: float
    #: Half-width of the confidence interval; NaN for fewer than two values.
    half_width: float
    n: int


@checked
def mean(values: Iterable[float]) -> float:
    """The mean; NaN for no values."""
    x = [float(v) for v in values]
    return math.fsum(x) / len(x) if x else math.nan


@checked
def sd(values: Iterable[float]) -> float:
    """The sample standard deviation (n - 1); NaN for fewer than two values."""
    numbers = [float(v) for v in values]
    if len(numbers) < 2:
        return math.nan
    if not all(map(math.isfinite, numbers)):
        return math.nan
    if min(numbers) == max(numbers):
        # Equal values have no spread, although the rounded mean may differ from them.
        return 0.0
    m = mean(numbers)
    return math.sqrt(math.fsum((v - m) ** 2 for v in numbers) / (len(numbers) - 1))


@checked
def estimate(values: Iterable[float], confidence: float = 0.95) -> Mean:
    """The mean and confidence interval of independent values; NaN values are left out."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence = {confidence}; give a number between 0 and 1, such as 0.95")
    x = [float(v) for v in values if not math.isnan(v)]
    n = len(x)
    s = sd(x)
    half = t_quantile(0.5 + confidence / 2, n - 1) * s / math.sqrt(n) if n > 1 else math.nan
    return Mean(mean(x), s, half, n)


@checked
def ci95(values: Iterable[float]) -> float:
    """Half-width of the 95 % confidence interval of the mean."""
    return estimate(values).half_width


@checked
def paired(a: Sequence[float], b: Sequence[float], confidence: float = 0.95) -> Mean:
    """The paired difference a - b of runs with the same seeds. The interval of this difference is far smaller than that
    of the difference of two means."""
    if len(a) != len(b):
        raise ValueError(f"paired values come in pairs, here {len(a)} and {len(b)}")
    return estimate([x - y for x, y in zip(a, b, strict=True)], confidence)


@checked
def jain(values: Iterable[float]) -> float:
    """Jain's fairness index, (sum x)^2 / (n sum x^2): 1 if all values are equal, 1/n if one value is all; NaN for no
    values."""
    x = [float(v) for v in values]
    squares = math.fsum(v * v for v in x)
    return math.fsum(x) ** 2 / (len(x) * squares) if squares > 0 else math.nan


@checked
def t_cdf(t: float, df: int) -> float:
    """Student's distribution for a whole number of degrees of freedom, by its finite series.

    Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
    """
    theta = math.atan2(t, math.sqrt(df))
    c2 = math.cos(theta) ** 2
    term = total = 1.0
    if df % 2 == 1:
        for k in range(1, (df - 1) // 2):
            term *= c2 * 2 * k / (2 * k + 1)
            total += term
        area = theta + (math.sin(theta) * math.cos(theta) * total if df > 1 else 0.0)
        return 0.5 + area / math.pi
    for k in range(1, df // 2):
        term *= c2 * (2 * k - 1) / (2 * k)
        total += term
    return 0.5 + 0.5 * math.sin(theta) * total


@checked
def t_quantile(p: float, df: int) -> float:
    """The p-quantile of Student's distribution; NaN for 0 degrees of freedom."""
    if df < 1:
        return math.nan
    if not 0 < p < 1:
        raise ValueError(f"a probability lies between 0 and 1, not at {p}")
    if p < 0.5:
        return -t_quantile(1 - p, df)
    if df > 2000:
        # Above 2000 degrees of freedom the normal quantile with its first two corrections (26.7.5) is exact to 1e-9.
        from statistics import NormalDist

        z = NormalDist().inv_cdf(p)
        return z + (z**3 + z) / (4 * df) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df * df)
    low, high = 0.0, 1.0
    while t_cdf(high, df) < p:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if t_cdf(middle, df) < p else (low, middle)
    return (low + high) / 2
