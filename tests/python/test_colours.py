"""Measures of colours, borders, hits and waits on tables made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import of_study

from tailback.study.measures import MEASURES, RunView

rounds = of_study("liu-2001", "measures.rounds")
packets, pieces = rounds.packets, rounds.pieces


def of(name: str, run: RunView, klass: str) -> float:
    return MEASURES[name].on(run, klass)


def series(rows: list[tuple[float, str, str, int, float]]) -> dict[str, np.ndarray]:
    time, what, probe, index, value = zip(*rows, strict=True)
    return {
        "time_s": np.array(time, float),
        "what": np.array(what, object),
        "probe": np.array(probe, object),
        "index": np.array(index),
        "value": np.array(value, float),
    }


def bursts() -> RunView:
    """From 0 s on, each 0.1 s a burst of 4 green, 3 yellow (a green one among them) and 2 red packets, 1 ms apart."""
    rows, sent = [], dict.fromkeys((10, 12, 14), 0)
    for burst in range(20):
        for i, code in enumerate((10, 10, 10, 10, 12, 10, 12, 12, 14, 14)):
            sent[code] += 1
            rows.append((0.1 * burst + 1e-3 * i, "edge.flows.a.0.access", "packets", code, sent[code]))
    tables = {
        "series": series([(0.0, "edge.flows.a.0.access", "packets", 10, 0.0), *rows]),
        "intervals": {"to_s": np.array([1.0, 2.0])},
    }
    options = {"packet": 1000, "promised": {"a": 0.4}, "round_trip": {"a": 100}, "from_s": 1.0}
    return RunView(None, options=options, tables=tables)


def test_rounds() -> None:
    run = bursts()
    t, colour = packets(run, "a")
    assert len(t) == 200 and np.all(np.diff(t) > 0)
    assert np.bincount(colour).tolist() == [100, 60, 40]
    assert of("green_a_round", run, "a") == pytest.approx(5)
    assert of("upto_yellow_a_round", run, "a") == pytest.approx(8)
    # Green, yellow, green, yellow, red; and red to green of the next: ten round trips, of which the last has no next.
    assert of("changes_a_round", run, "a") == pytest.approx(4.9)
    assert of("longest_green", run, "a") == 4
    assert [int(n) for n in pieces(run, "a")[1][:5]] == [4, 1, 1, 2, 2]
    # 50 packets a second bring 5 in a round trip and 0.15 in the 3 ms of the piece.
    assert of("green_beyond", run, "a") == pytest.approx(4 - 5.15)


def test_first_seconds() -> None:
    run = bursts()
    run.tables["flows"] = {
        "group": np.array(["a", "a"], object),
        "id": np.array(["a.0", "a.1"], object),
        "dropped_packets": np.array([4, 8]),
    }
    run.options["round_trips"] = [100, 200]
    # Each burst of ten has four changes, and one to the next burst: 99 of 199. Flow a.1 has no packets recorded.
    assert of("mixed", run, "a") == pytest.approx(100 * 99 / 199)
    # 100 green packets in pieces of four and one: two a burst.
    assert of("green_pieces", run, "a") == pytest.approx(2.5)
    assert of("red_sent", run, "a.0") == pytest.approx(20)
    # 4 drops in 20 round trips of 0.1 s, 8 in 10 of 0.2 s.
    assert of("drops_a_round", run, "a") == pytest.approx((0.2 + 0.8) / 2)


def test_borders() -> None:
    rows = [
        (t, what, "packets", code, value * t)
        for t in (1.0, 10.0)
        for what, code, value in (
            ("edge.flows.a.0.access", 10, 30.0),
            ("edge.flows.a.1.access", 12, 10.0),
            ("edge.flows.ab.0.access", 10, 99.0),
            ("edge.good", 10, 30.0),
            ("edge.good", 12, 10.0),
            ("edge.flows.cheat.0.access", 10, 40.0),
            ("edge.bad", 10, 10.0),
            ("edge.bad", 14, 30.0),
        )
    ]
    options = {"packet": 1000, "borders": {"good": ["a"], "bad": ["cheat"]}}
    run = RunView(None, options=options, tables={"series": series(rows), "intervals": {"to_s": np.array([10.0])}})
    assert of("recoloured", run, "good") == 0
    assert of("recoloured", run, "bad") == pytest.approx(75)
    assert of("green_behind", run, "bad") == pytest.approx(100 * 8e-3 / 10)


def test_hits() -> None:
    flows = {
        "id": np.array(["a.0", "a.1", "b.0"], object),
        "group": np.array(["a", "a", "b"], object),
        "sent_packets": np.array([100, 100, 300]),
    }
    rows = [(t, "link.bottleneck", "flow_hits", i, n * t) for t in (1.0, 2.0) for i, n in enumerate((5, 5, 45))]
    run = RunView(None, tables={"series": series(rows), "flows": flows})
    assert of("hit_part", run, "b") == pytest.approx(100 * 45 / 55)
    assert (of("most_hit", run, "b"), of("most_hit", run, "a")) == (1, 1)
    assert of("hits_as_squares", run, "b") == pytest.approx((45 / 55) / (9 / 11))


def test_waits_of_flows() -> None:
    """Two flows of 20 and 40 ms; packets of the first wait 5 ms in the mean, of the second 7."""
    sending = 8000 * (2 / 100e6 + 1 / 80e6)
    ids, seconds = ["a.0", "a.1"], np.arange(10)
    delay = np.array([[0.010 + 0.005 + sending, 0.020 + 0.007 + sending]] * 10)
    run = RunView(
        None,
        options={"packet": 1000, "round_trips": [20, 40], "loads": {"b": {"from": 0, "to": 10, "get": {"a": 1}}}},
        tables={
            "intervals": {
                "from_s": np.repeat(seconds, 2).astype(float),
                "to_s": np.repeat(seconds + 1, 2).astype(float),
                "delay_mean_s": delay.reshape(-1),
                "received_packets": np.ones(20),
            },
            "flows": {"id": np.array(ids, object), "group": np.array(["a", "a"], object)},
            "links": {"name": np.array(["bottleneck"], object), "rate_bps": np.array([80e6])},
            "link_intervals": {
                "name": np.array(["bottleneck"] * 10, object),
                "from_s": seconds.astype(float),
                "sojourn_mean_s": np.full(10, 0.006),
                "delivered_packets": np.full(10, 2),
            },
        },
    )
    assert of("flow_wait_b", run, "a.0") == pytest.approx(5.0)
    assert of("flow_wait_b", run, "all") == pytest.approx(6.0)
    assert of("flow_wait_off_b", run, "a.1") == pytest.approx(100 / 6)
    assert np.isnan(of("flow_wait_u", run, "a.0"))
