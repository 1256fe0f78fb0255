"""Flows over queues: memory formulas, counting, and the measure of a recorded ratio."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import of_study

from tailback import _core
from tailback.cli import cli
from tailback.core.theory.memory import counter_bits, filter_bits, memory, missed, pointer_bytes
from tailback.study import computed
from tailback.study.measures import MEASURES, RunView

thinned = of_study("kantawala-2005", "figures.spread").thinned
mean_over_time = of_study("kantawala-2005", "measures.spread").mean_over_time


def test_the_published_example_of_memory():
    m = memory(100_000, 20_000, 2_000, 50)
    assert (m.per_flow_bytes, m.groups_bytes, m.queues_bytes) == (1_900_000, 140_000, 8_000)
    assert round(m.as_dict()["published_ratio"], 1) == 12.8
    assert round(m.as_dict()["complete_ratio"], 1) == 8.3, "with the tables that balancing needs"
    shown = CliRunner().invoke(cli, ["predict", "memory", "--flows=100000", "--queues=2000", "--filter-bits=50"])
    assert shown.exit_code == 0 and "1 : 12.8" in shown.output and "1 : 8.3" in shown.output
    told = CliRunner().invoke(cli, ["predict", "memory", "--flows=100000", "--queues=2000", "--json"])
    assert json.loads(told.output)["groups"] == 20_000


def test_filters_and_counters():
    assert missed(10) < 0.01, "R4"
    assert [filter_bits(e) for e in (1, 5, 100)] == [10, 48, 959]
    assert [counter_bits(e) for e in (0.1, 1, 5, 42)] == [1, 2, 4, 7]
    assert _core.filter_shape(5) == (50, 7, 4)
    assert [pointer_bytes(x) for x in (1, 2, 256, 257, 65_536, 100_000)] == [0, 1, 1, 2, 2, 3]
    with pytest.raises(ValueError, match="0 groups"):
        memory(10, 0, 1)


def test_memory_of_fewer_and_more_queues():
    """6.4 % of a table of flows at a thousand flows a queue; 58, 84 and 137 % at one.

    Kantawala and Turner 2005, chapter 5.
    """

    def share(per_queue: int, groups: int) -> float:
        labels = {"queue": f"groups-{groups}", "per_queue": str(per_queue)}
        return computed.FUNCTIONS["memory"](labels, 1, {"flows": 100_000})["values"]["memory_share"]

    assert [round(share(1, g)) for g in (5, 10, 20)] == [58, 84, 137]
    assert [round(share(1000, g), 1) for g in (5, 10, 20)] == [6.4, 6.4, 6.4]


def test_counting_is_repeatable_and_groups_are_more_even():
    def ratios(how: str, **kw) -> list[float]:
        return _core.spread_ratios(how, 1000, 20, 200, **kw)

    assert ratios("groups", draws=3, seed=7) == ratios("groups", draws=3, seed=7) != ratios("groups", draws=3, seed=8)
    assert max(ratios("perfect", draws=5)) < 1.05 < min(ratios("hash", draws=5))
    assert _core.spread_ratios("hash", 3, 20) == [math.inf]
    assert sum(_core.spread_occupancy("groups", 1000, 20, 200)) == 1000
    with pytest.raises(ValueError, match="no-such"):
        ratios("no-such")
    with pytest.raises(ValueError, match="queues is 0"):
        _core.spread_ratios("hash", 3, 0)


def test_drift_is_stored_as_a_series():
    options = {"flows": 200, "queues": 10, "hold_s": 1.0, "length_s": 5.0, "step_s": 0.5}
    told = computed.FUNCTIONS["spread-drift"]({"queue": "groups-10"}, 1, options)
    t, x = told["series"]["time_s"], told["series"]["value"]
    assert list(t) == [0.5 * i for i in range(11)] and x[0] == told["values"]["ratio_first"]
    assert told["values"]["ratio_min"] <= x.min() <= x.max() <= told["values"]["ratio_max"]


def view(times, values) -> RunView:
    n = len(times)
    series = {
        "what": np.full(n, "link.bottleneck"),
        "probe": np.full(n, "flow_ratio"),
        "index": np.zeros(n, dtype=int),
        "time_s": np.array(times, dtype=float),
        "value": np.array(values, dtype=float),
    }
    return RunView(None, tables={"series": series})


def test_the_mean_is_over_time_and_begins_when_counts_have_settled():
    run = view([0, 0.1, 0.2, 1.25, 2.25], [math.nan, 9.0, 2.0, 4.0, 4.0])
    # 2 from 0.25 s to 1.25 s, 4 to 2.25 s; the 9 is over by then, but is the maximum.
    assert MEASURES["ratio_mean"].on(run, "all") == pytest.approx(3.0)
    assert MEASURES["ratio_max"].on(run, "all") == 9.0
    assert MEASURES["ratio_min"].on(run, "all") == 2.0
    assert math.isnan(MEASURES["ratio_mean"].on(view([], []), "all"))
    assert math.isnan(mean_over_time(np.array([0.0, 0.2]), np.array([1.0, 2.0]))), "over before it begins"


def test_a_thinned_line_keeps_its_steps():
    t, x = np.arange(10_000) / 1000, np.repeat([1.0, 2.0], 5000)
    at, y = thinned(t, x, 100)
    assert len(at) == 100 and at[-1] == t[-1] and list(y) == [1.0 if a < 5 else 2.0 for a in at]
