"""Units of `tc`, each as this machine's `tc` reads it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from netlink import needs_strace, numbered

from tailback.linux import TcError, units

#: A number of each unit, so that nothing is too large for a field.
N = 3


@needs_strace
def test_every_unit_is_what_tc_puts_into_its_request() -> None:
    rates = numbered([f"cake bandwidth {N}{unit}" for unit in units.RATES])
    for unit, sent in zip(units.RATES, rates, strict=True):
        # Bytes a second, rounded down; 0 is no rate, and not sent.
        told = int.from_bytes(sent.get(2, b"\0"), "little")
        assert told == math.floor(units.rate(f"{N}{unit}") / 8), unit
    sizes = numbered([f"cake memlimit {N}{unit}" for unit in units.SIZES])
    for unit, sent in zip(units.SIZES, sizes, strict=True):
        assert int.from_bytes(sent[10], "little") == units.size(f"{N}{unit}"), unit
    times = numbered([f"fq_codel target {N}{unit}" for unit in units.TIMES])
    for unit, sent in zip(units.TIMES, times, strict=True):
        assert int.from_bytes(sent[1], "little") == pytest.approx(1e6 * units.time(f"{N}{unit}")), unit


@needs_strace
def test_case_and_fractions_are_as_tc_has_them() -> None:
    (sent,) = numbered(["cake bandwidth 1.5Mbit"])
    assert int.from_bytes(sent[2], "little") == units.rate("1.5Mbit") / 8 == 187_500
    (sent,) = numbered(["cake bandwidth 2KBps"])
    assert int.from_bytes(sent[2], "little") == units.rate("2KBps") / 8 == 2000


def test_bytes_are_not_bits() -> None:
    assert units.rate("1mbps") == 8 * units.rate("1mbit") == 8e6
    assert units.rate("500") == 500 and units.size("1k") == 1024 and units.time("5") == pytest.approx(5e-6)


@pytest.mark.parametrize("text", ["", "5 ms", "ms", "-5ms", "5xs", "0x10", "1e", "nan", "inf"])
def test_what_is_no_time_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(TcError, match="is no time of tc; write one such as 5ms") as e:
        units.time(text)
    assert "\n" not in str(e.value)


@given(st.integers(1, 10**13))
def test_a_rate_is_read_as_it_is_written(bits: int) -> None:
    assert units.rate(units.rate_text(bits)) == bits
    assert bits < 1000 or 0 <= bits - units.rate(units.kbit_text(bits)) < 1000


@given(st.integers(1, 10**9))
def test_a_time_is_read_as_it_is_written(us: int) -> None:
    assert units.time(units.time_text(us * 1e-6)) == pytest.approx(us * 1e-6, rel=1e-12)
