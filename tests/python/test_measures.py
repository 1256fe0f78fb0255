"""Measures on runs made by hand: overflows, holds, windows, ratios."""

import numpy as np
import pytest
from conftest import of_study

from tailback.study.measures import MEASURES, RunView
from tailback.study.measures.drops import periods
from tailback.study.measures.intervals import cumulative_max_min

holds = of_study("kantawala-2005", "measures.holds").holds


def run(buffer=100.0, labels=None, **tables):
    flows = {"id": np.array(["a.0", "a.1", "b.0", "b.1"], object), "group": np.array(["a", "a", "b", "b"], object)}
    links = {"name": np.array(["bottleneck"], object), "rate_bps": np.array([12e6])}
    return RunView(
        None,
        labels=labels or {},
        options={"rtt": "100ms"},
        buffer=buffer,
        tables={"flows": flows, "links": links, **tables},
    )


def log(*drops):
    t, flow = zip(*drops, strict=True)
    n = len(t)
    return {
        "time_s": np.array(t),
        "flow": np.array(flow, object),
        "link": np.full(n, "bottleneck", object),
        "event": np.full(n, "drop", object),
    }


def series(*points):
    what, probe, index, t, v = zip(*points, strict=True)
    return {
        "what": np.array(what, object),
        "probe": np.array(probe, object),
        "index": np.array(index),
        "time_s": np.array(t, float),
        "value": np.array(v, float),
    }


def test_an_overflow_ends_with_half_a_round_trip_of_a_full_queue_without_drops():
    # 100 packets of 1500 B at 12 Mbit/s are 100 ms: the round trip is 200 ms, and half of it 100 ms.
    gap = [(1.0, "a.0"), (1.05, "a.1"), (1.14, "b.0"), (1.25, "b.1"), (1.26, "b.1")]
    v = run(log=log(*gap))
    assert [(a, b) for a, b, _ in periods(v)] == [(1.0, 1.14), (1.25, 1.26)]
    assert MEASURES["victims_first"].on(v, "all") == 3
    assert MEASURES["victims_second"].on(v, "all") == 1
    assert MEASURES["second_overflow_s"].on(v, "all") == 1.25
    assert MEASURES["hit_share"].on(v, "all") == 25
    assert MEASURES["drops_of"].on(v, "b") == 60
    # With a buffer of a packet the round trip is 101 ms, and each gap of more than 50 ms ends a period.
    assert len(periods(run(buffer=1.0, log=log(*gap)))) == 3


def test_flows_hit_in_a_round_trip_do_not_grow_with_an_overflow_that_never_ends():
    endless = [(1.0, "a.0")] + [(2 + 0.045 * i, "a.0" if i < 9 else "b.0") for i in range(18)]
    v = run(log=log(*endless))
    assert MEASURES["hit_share"].on(v, "all") == 50
    assert MEASURES["hit_per_rtt"].on(v, "all") == 25


def test_a_victim_holds_from_its_choice_to_the_next_and_loses_less_long():
    v = run(
        series=series(*[("link.b", "victim", 0, t, q) for t, q in ((1.0, 3), (1.5, 7), (2.5, 3))]),
        log=log((1.0, "a.0"), (1.2, "a.0"), (1.5, "b.0"), (1.6, "b.0")),
    )
    queue, start, length = holds(v)
    assert queue.tolist() == [3, 7] and start.tolist() == [1.0, 1.5] and length.tolist() == [0.5, 1.0]
    assert holds(v, to_last_drop=True)[2] == pytest.approx([0.2, 0.1])
    assert MEASURES["hold_max"].on(v, "all") == 1.0 and MEASURES["hold_count"].on(v, "all") == 2


def test_a_queue_holds_from_closing_to_opening_and_one_cut_by_the_end_is_left_out():
    points = [(2, 1.0, 1), (5, 1.1, 1), (2, 1.4, 0), (5, 1.2, 0), (2, 3.0, 1)]
    v = run(series=series(*[("link.b", "closed", q, t, x) for q, t, x in points]))
    queue, start, length = holds(v)
    assert queue.tolist() == [2, 5] and start.tolist() == [1.0, 1.1] and length == pytest.approx([0.4, 0.1])
    assert np.isnan(MEASURES["hold_mean_last"].on(v, "all"))


def test_windows_are_means_over_the_flows_of_a_class():
    points = [
        ("flows.a.0", 1, 10),
        ("flows.a.1", 1, 20),
        ("flows.b.0", 1, 40),
        ("flows.a.0", 2, 30),
        ("flows.a.1", 2, 0),
    ]
    v = run(series=series(*[(f, "cwnd", 0, t, w) for f, t, w in points]))
    assert MEASURES["cwnd"].on(v, "a") == 15 and MEASURES["cwnd"].on(v, "b") == 40


def test_the_ratio_of_throughputs_counts_from_the_start():
    intervals = {
        "to_s": np.array([1.0, 1.0, 3.0, 3.0]),
        "group": np.array(["a"] * 4, object),
        "goodput_wire_bps": np.array([4.0, 1.0, 1.0, 2.5]),
    }
    t, ratio = cumulative_max_min(run(intervals=intervals))
    assert t.tolist() == [1, 3] and ratio == pytest.approx([4.0, 1.0])


def test_the_model_stands_beside_what_was_measured():
    v = run(buffer=4167.0, labels={"flows": "100"})
    v.options.update(rate="500Mbps", packet="1500B", hit_share=0.7)
    assert MEASURES["model_queue_drop"].on(v, "all") == pytest.approx(2822, abs=1)
    assert MEASURES["model_cycle"].on(v, "all") == pytest.approx(4.89, abs=0.01)
    assert MEASURES["model_victims"].on(v, "all") == 14


def test_the_first_build_up_ends_when_the_queue_has_halved() -> None:
    first_build_up = of_study("jiang-2006", "measures.congestion").first_build_up

    assert first_build_up(np.array([0, 1, 0, 1, 4, 9, 9, 5, 12, 6, 40])) == 8  # 5 is more than half of 9, 6 half of 12
    assert first_build_up(np.array([0, 1, 0, 1, 0, 3, 1])) == 5  # single packets are no build-up
    assert first_build_up(np.array([0, 0])) == 0


def test_goodput_as_a_loss_rate_makes_it() -> None:
    row = {"utilisation": np.array([0.9]), "loss_rate": np.array([0.1]), "sojourn_mean_s": np.array([0.02])}
    row |= {"name": np.array(["bottleneck"], object), "rate_bps": np.array([10e6])}
    flows = {"id": np.array(["a.0"], object), "group": np.array(["a"], object), "goodput_wire_bps": np.array([8e6])}
    r = RunView(None, tables={"links": row, "flows": flows})
    got = {m: MEASURES[m].on(r, "all") for m in ("goodput_thesis", "goodput_series", "goodput_line", "queueing_delay")}
    # 0.9 (1 - 0.1); 0.9 (1 - 0.2) / 0.9, which is 1 - p - p^2 - ... up to rounding; 8 of 10 Mb/s; 20 ms.
    assert got == pytest.approx(
        {"goodput_thesis": 81.0, "goodput_series": 80.0, "goodput_line": 80.0, "queueing_delay": 20.0}
    )
    assert 90 * (1 - sum(0.1**n for n in range(1, 30))) == pytest.approx(got["goodput_series"])


def test_of_two_stores_the_managed_one_is_measured() -> None:
    points = [("link.bottleneck", p, 0, t, v) for p, v in (("queue", 9.0), ("inside", 4.0)) for t in (0.0, 1.0)]
    aaqm = run(series=series(*points))
    red = run(series=series(*points[:2]))
    assert MEASURES["first_peak_height"].on(aaqm, "all") == 4.0
    assert MEASURES["first_peak_height"].on(red, "all") == 9.0
    assert np.isnan(MEASURES["longest"].on(run(), "all"))


def test_harm_is_what_is_taken_and_what_it_costs() -> None:
    flows = {"id": np.array(["a.0", "b.0", "b.1"], object), "group": np.array(["a", "b", "b"], object)}
    flows["goodput_wire_bps"] = np.array([6e6, 2e6, 1e6])
    r = RunView(None, fair_share_bps=3e6, tables={"flows": flows})
    assert MEASURES["excess"].on(r, "a") == pytest.approx(100.0)
    assert MEASURES["cost"].on(r, "a") == pytest.approx(50.0)
    assert np.isnan(MEASURES["cost"].on(r, "all"))


def test_drops_in_proportion_have_a_bias_of_one() -> None:
    flows = {"id": np.array(["a.0", "b.0"], object), "group": np.array(["a", "b"], object)}
    flows |= {"sent_packets": np.array([300, 100]), "dropped_packets": np.array([30, 10])}
    r = RunView(None, tables={"flows": flows})
    assert MEASURES["drop_bias"].on(r, "a") == pytest.approx(1.0)
    flows["dropped_packets"] = np.array([0, 10])
    assert MEASURES["drop_bias"].on(RunView(None, tables={"flows": flows}), "b") == pytest.approx(4.0)
