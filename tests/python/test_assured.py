"""Measures of an assured rate on tables made by hand, every flow held to a limit, and conditioners driven by hand."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import of_study

import tailback as tb
from tailback.study.checks.every import Every
from tailback.study.errors import StudyError
from tailback.study.measures import MEASURES, RunView
from tailback.study.tolerance import seeds_of

assured = of_study("liu-2001", "measures.assured")
attainments, colours, loads = assured.attainments, assured.colours, assured.loads

#: Two loads of 10 s: a alone, then a and b. Packets of 1000 bytes: 125 a second are 1 Mb/s.
OPTIONS = {
    "packet": 1000,
    "promised": {"a": 1, "b": 2},
    "loads": {
        "b": {"from": 0, "to": 10, "get": {"a": 1}},
        "o": {"from": 10, "to": 20, "get": {"a": 1, "b": 2}},
    },
    "classes": {"near": ["a.0-0", "b"]},
}


def run(timeouts_at: int = 0) -> RunView:
    ids, groups = ["a.0", "a.1", "b.0"], ["a", "a", "b"]
    seconds = np.arange(20)
    # a.0 has its rate throughout, a.1 only after the first four seconds of each load, b.0 half of it.
    rates = np.array([[125, 0 if s % 10 < 4 else 125, 125 if s >= 10 else 0] for s in seconds])
    intervals = {
        "from_s": np.repeat(seconds, 3).astype(float),
        "to_s": np.repeat(seconds + 1, 3).astype(float),
        "id": np.tile(ids, 20),
        "group": np.tile(groups, 20),
        "received_packets": rates.reshape(-1),
        "timeouts": np.where(np.repeat(seconds, 3) == timeouts_at, 1, 0),
    }
    flows = {
        "id": np.array(ids),
        "group": np.array(groups),
        "received_packets": rates.sum(axis=0),
        "fresh_packets": rates.sum(axis=0),
        "dropped_packets": np.array([1, 3, 0]),
    }
    links = {"name": np.array(["bottleneck", "second"])}
    what = "edge.flows.a.0.access"
    series = {
        "what": np.array([what] * 40),
        "probe": np.array(["packets"] * 40),
        "index": np.repeat([10, 12], 20),
        "time_s": np.tile(seconds + 1.0, 2),
        "value": np.concatenate([100 * (seconds + 1), 25 * (seconds + 1)]).astype(float),
    }
    tables = {"flows": flows, "intervals": intervals, "links": links, "series": series}
    return RunView(None, options=OPTIONS, tables=tables)


def on(name: str, klass: str = "all", view: RunView | None = None) -> float:
    return MEASURES[name].on(view or run(), klass)


def test_attainment_counts_from_when_a_load_has_settled() -> None:
    first, second = loads(run())
    assert attainments(run(), first).tolist() == [1, 1]
    assert attainments(run(), second).tolist() == [1, 1, 0.5]
    assert on("attained_o") == 2 and on("attained") == 4
    assert on("attained_70") == 4
    assert on("attain_o", "b.0") == 0.5 and on("attain_o", "near") == 0.75
    assert np.isnan(on("attain_u")) and np.isnan(on("attain_b", "b"))


def test_timeouts_count_as_late_when_a_load_has_settled() -> None:
    assert on("late_timeouts", view=run(timeouts_at=1)) == 0
    assert on("late_timeouts", view=run(timeouts_at=17)) == 100


def test_rates_swing_once_a_load_has_settled() -> None:
    swing, r = MEASURES["swing"], run()
    assert swing.on(r, "all") == 0
    packets = r.tables["intervals"]["received_packets"].reshape(20, 3)
    packets[:, 0] = np.where(np.arange(20) % 2, 150, 100)
    # 25 packets about a mean of 125, in both loads; a.1 is steady in both.
    assert swing.on(r, "a.0") == pytest.approx(20)
    assert swing.on(r, "a") == pytest.approx(10)


def test_shares_by_class() -> None:
    assert on("drop_part", "a") == 100 and on("drop_part", "near") == 25
    assert on("part", "b") == pytest.approx(100 * 1250 / (2500 + 1500 + 1250))


def test_colours_by_second_and_how_far_they_are_from_the_rate() -> None:
    x = colours(run(), "a.0")
    assert x.shape == (20, 3)
    np.testing.assert_allclose(x[7], [0.8, 0.2, 0])
    # 1 Mb/s is sent and 0.8 of it is green.
    assert on("green_off", "a.0") == pytest.approx(20)
    assert on("yellow_off", "a.0") == pytest.approx(0)


def test_a_class_may_be_a_flow_a_link_or_what_the_options_say() -> None:
    view = run()
    assert view.has("a.1") and view.has("second") and view.has("near") and not view.has("c") and not view.has("a.7")
    assert view.of("near").tolist() == [True, False, True]
    assert view.link_of("second") == "second" and view.link_of("all") == "bottleneck"


def test_every_names_what_it_cannot_read() -> None:
    check = Every(runs="r", measure="attain_o", of="x", every=["a.0-1", "b.0"], above=0.9)
    assert [a.class_ for a in check.asks()] == ["a.0", "a.1", "b.0"]
    with pytest.raises(StudyError, match="no range of flows"):
        Every(runs="r", measure="attain_o", of="x", every=["a.3-1"], above=0.9)
    with pytest.raises(StudyError, match="one limit"):
        Every(runs="r", measure="attain_o", of="x", every=["a.0"])


def test_a_conditioner_driven_by_hand() -> None:
    trtcm = {
        "kind": "trtcm",
        "committed_rate": "8Mbps",
        "committed_burst": "2000B",
        "peak_rate": "8Mbps",
        "peak_burst": "3000B",
    }
    assert tb.mark(trtcm, [(0, 1000)] * 4) == [10, 10, 12, 14]
    assert tb.mark(trtcm | {"police": "red"}, [(0, 1000)] * 4) == [10, 10, 12, None]
    assert tb.mark(trtcm | {"mode": "aware"}, [(0, 1000, 14), (0, 1000, 12)]) == [14, 12]
    with pytest.raises(ValueError, match="before the one before"):
        tb.mark(trtcm, [(1, 1000), (0, 1000)])
    with pytest.raises(ValueError, match="some do not"):
        tb.mark(trtcm, [(0, 1000), (1, 1000, 10)])
    with pytest.raises(tb.ScenarioError, match="tsw9cm"):
        tb.mark("tsw9cm", [])


def test_a_finding_says_in_which_seeds_it_fails() -> None:
    assert seeds_of(np.array([True, False, False, True])) == "seeds 1 4"
    assert seeds_of(np.array([False, True])) == "seed 2"
    assert seeds_of(np.array([True, True])) == "all seeds"
    assert seeds_of(np.array([True])) == "" == seeds_of(np.array([False, False]))
