"""Statistics against known values."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailback.core import stats


@pytest.mark.parametrize(
    ("df", "t"),
    # Any table of Student's distribution, two-sided 95 %.
    [(1, 12.70620474), (2, 4.30265273), (3, 3.18244631), (9, 2.26215716), (29, 2.04522964), (100, 1.98397152)],
)
def test_quantiles_of_students_distribution(df: int, t: float) -> None:
    assert stats.t_quantile(0.975, df) == pytest.approx(t, abs=1e-7)


def test_large_degrees_of_freedom_join_smoothly() -> None:
    assert stats.t_quantile(0.975, 2000) == pytest.approx(stats.t_quantile(0.975, 2001), rel=1e-6)
    assert stats.t_quantile(0.995, 10**7) == pytest.approx(2.5758293, abs=1e-5)


@given(st.integers(1, 60), st.floats(0.001, 0.999))
def test_quantile_inverts_the_distribution(df: int, p: float) -> None:
    assert stats.t_cdf(stats.t_quantile(p, df), df) == pytest.approx(p, abs=1e-9)


def test_estimates() -> None:
    e = stats.estimate([1.0, 2.0, 3.0, 4.0, 5.0])
    assert e.mean == 3 and e.sd == pytest.approx(math.sqrt(2.5)) and e.n == 5
    assert e.half_width == pytest.approx(2.77644511 * math.sqrt(2.5 / 5), rel=1e-8)
    assert math.isnan(stats.estimate([1.0]).half_width) and math.isnan(stats.mean([]))
    assert stats.estimate([1.0, math.nan, 3.0]).n == 2


def test_values_that_are_all_alike_have_no_spread() -> None:
    # The mean of these rounds to another number.
    for x in (0.9470208079563566, 0.0901477376539856212, 0.1):
        for n in (3, 5, 10):
            assert stats.estimate([x] * n)[1:3] == (0.0, 0.0)


def test_pairs_and_fairness() -> None:
    assert stats.paired([2.0, 4.0, 6.0], [1.0, 3.0, 5.0]) == (1.0, 0.0, 0.0, 3)
    with pytest.raises(ValueError, match="pairs"):
        stats.paired([1.0], [])
    assert stats.jain([5, 5, 5]) == 1 and stats.jain([1, 0, 0, 0]) == 0.25 and math.isnan(stats.jain([]))
