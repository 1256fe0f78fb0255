"""Measures of bursts and of reserved flows, on tables made by hand, and the worst cases by formula."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import of_study

from tailback.study.computed import FUNCTIONS
from tailback.study.measures import MEASURES, RunView

NAN = float("nan")

of_study("kantawala-2005", "measures.bursts")


def on(run: RunView, name: str, klass: str = "all") -> float:
    return MEASURES[name].on(run, klass)


def bursts() -> RunView:
    """Two quick flows and two slow ones; the last has ended nothing."""
    flows = {
        "group": np.array(["short", "short", "long", "long"]),
        "bursts": np.array([3, 1, 2, 0]),
        "burst_time_mean_s": np.array([1.0, 2.0, 4.0, NAN]),
        "burst_time_max_s": np.array([1.5, 2.0, 5.0, NAN]),
        "burst_goodput_wire_bps": np.array([3e6, 1e6, 0.5e6, NAN]),
        "goodput_wire_bps": np.array([1e6, 0.6e6, 0.4e6, 0.0]),
    }
    return RunView(None, options={"ratio": ["long", "short"]}, tables={"flows": flows})


def test_completion_times_are_means_over_bursts_and_goodputs_over_flows():
    run = bursts()
    assert on(run, "burst_time", "short") == pytest.approx((3 * 1.0 + 2.0) / 4)
    assert on(run, "burst_time") == pytest.approx((3 * 1.0 + 2.0 + 2 * 4.0) / 6)
    assert (on(run, "burst_time_max"), on(run, "bursts")) == (5.0, 6)
    assert on(run, "active_goodput", "short") == pytest.approx(2.0)
    assert on(run, "active_goodput") == pytest.approx(1.5), "a flow that ended nothing has no goodput, not none"


def test_ratios_are_of_the_classes_the_set_names():
    run = bursts()
    assert on(run, "time_ratio") == pytest.approx(4.0 / 1.25)
    assert on(run, "goodput_ratio") == pytest.approx(0.5 / 2.0)
    assert on(run, "whole_ratio") == pytest.approx(0.2 / 0.8)
    run.options = {}
    assert np.isnan(on(run, "time_ratio"))


def test_a_window_has_converged_when_its_last_flow_has():
    intervals = {
        "group": np.array(["light", "light", "heavy"] * 2),
        "from_s": np.repeat([0.0, 5.0], 3),
        "to_s": np.repeat([5.0, 10.0], 3),
        "settled_s": np.array([1.0, 2.0, 0.5, 3.0, 5.0, 1.0]),
        "settled_without_first_s": np.array([1.5, 2.5, 0.5, 3.0, 4.96, 1.0]),
        "settled_sliding_s": np.full(6, 5.0),
    }
    run = RunView(None, options={"gap_ms": 500}, tables={"intervals": intervals})
    assert on(run, "settled") == pytest.approx((2.0 + 5.0) / 2)
    assert on(run, "settled_gaps") == pytest.approx(7.0)
    assert on(run, "settled", "heavy") == pytest.approx(0.75)
    assert on(run, "settled_without_first") == pytest.approx((2.5 + 4.96) / 2)
    assert on(run, "settled_sliding") == pytest.approx(5.0)
    assert (on(run, "unsettled"), on(run, "unsettled", "heavy")) == (1, 0)
    assert on(run, "unsettled_without_first") == 1


def test_delays_are_in_milliseconds_or_in_gaps_of_the_flow():
    flows = {
        "group": np.array(["target", "other"]),
        "delay_mean_s": np.array([0.8e-3, 5e-3]),
        "delay_max_s": np.array([2.4e-3, 9e-3]),
    }
    run = RunView(None, options={"gap_ms": 1.6}, tables={"flows": flows})
    assert on(run, "delay_mean", "target") == pytest.approx(0.8)
    assert on(run, "delay_max_gaps", "target") == pytest.approx(1.5)
    assert on(run, "delay_max_over_mean", "target") == pytest.approx(3.0)


def test_worst_cases_by_formula():
    """Published: 0.8 ms and 0.08 ms; more than 10,000 packets in 10 ms."""
    got = FUNCTIONS["reserved_bounds"]({}, 1, {"rate_bps": 10e9, "packet_bits": 8000, "flows": 1000, "weight": 10})[
        "values"
    ]
    assert got["round_ms"] == pytest.approx(0.8072)
    assert got["wdrr_wait_ms"] == pytest.approx(0.7992)
    assert got["wf2q_bound_ms"] == pytest.approx(0.08072)
    assert got["packets_in_10_ms"] == pytest.approx(12_500)
