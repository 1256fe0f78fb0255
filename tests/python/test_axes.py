"""Axes that set several keys, depend on another axis or are a design, and axes over units that depend on the path."""

from __future__ import annotations

import itertools
import math
import sys
from typing import Any

import pytest

import tailback as tb
from tailback.core.declared import FileError

SCENARIO = """
duration = "400ms"
topology = { kind = "dumbbell", rate = "5Mbps", delay = "1ms", queue = "droptail" }
[flows.bulk]
count = 2
rtt = "20ms"
start = { kind = "uniform", to = "50ms" }
"""

RTT = {"paths": ["flows.bulk.rtt"], "unit": "ms", "values": {"from": 10, "to": 160, "count": 5, "scale": "log"}}
PRODUCTS = {
    "paths": ["topology.queue.buffer"],
    "unit": "bdp",
    "values": {"from": 0.1, "to": 10, "count": 5, "scale": "log"},
}


def sweep(**table: Any) -> Any:
    return tb.load_sweep({"scenario": SCENARIO, **table})


def labels(s: Any) -> list[tuple[str, ...]]:
    return [tuple(point.values()) for point, _ in s.points]


def buffers(s: Any) -> list[str]:
    return [p.spec["links"][0]["buffer"] for _, p in s.points]


def numbers(results: Any) -> list[list[float]]:
    return [results.links[c].tolist() for c in ("utilisation", "dropped_packets", "sojourn_mean_s", "arrived_packets")]


def test_twenty_five_cases_are_two_axes() -> None:
    """What had to be written case by case, with a buffer computed for each, is two axes with the same runs."""
    rtts = [10, 20, 40, 80, 160]
    products = [0.1, 0.316228, 1, 3.16228, 10]
    cases = [
        {
            "labels": {"rtt": rtt, "buffer": x},
            "set": [
                f"flows.bulk.rtt={rtt}ms",
                f"topology.queue.buffer={math.ceil(x * 5e6 * rtt / 1000 / 8 / 1500 - 1e-9)} packets",
            ],
        }
        for rtt, x in itertools.product(rtts, products)
    ]
    written, axes = sweep(case=cases, replications=2), sweep(axis={"rtt": RTT, "buffer": PRODUCTS}, replications=2)
    assert len(cases) == 25 and len(axes) == 50
    assert labels(axes) == labels(written)
    assert buffers(axes) == buffers(written)
    assert numbers(axes.execute()) == numbers(written.execute())


def test_a_buffer_in_products_follows_an_axis_over_rates() -> None:
    rate = {"paths": ["topology.rate"], "values": ["6Mbps", "60Mbps"]}
    s = sweep(axis={"rate": rate}, set=["topology.queue.buffer=1 bdp"])
    assert buffers(s) == ["10 packets", "100 packets"]
    # The same from Python, from a scenario that has been read already.
    base = tb.load_scenario(SCENARIO, {"topology.queue.buffer": "1 bdp"})
    plan = tb.Plan.product(base, {"topology.rate": ["6Mbps", "60Mbps"]})
    assert [p.spec["links"][0]["buffer"] for _, p in plan.points] == ["10 packets", "100 packets"]
    net = tb.dumbbell(flows=2, bottleneck="6Mbps", rtt="20ms", queue=tb.queue("droptail", buffer="1 bdp"))
    plan = tb.Plan.product(net.set(duration="1s"), {"topology.rate": ["6Mbps", "60Mbps"]})
    assert [p.spec["links"][0]["buffer"] for _, p in plan.points] == ["10 packets", "100 packets"]


def test_a_plan_takes_the_tables_of_a_sweep_file() -> None:
    plan = tb.Plan.product(SCENARIO, {"rtt": RTT, "buffer": PRODUCTS}, replications=2)
    s = sweep(axis={"rtt": RTT, "buffer": PRODUCTS}, replications=2)
    assert [r["key"] for r in plan.runs()] == [r["key"] for r in s.plan().runs()]
    assert [p for p, _ in plan.points] == [p for p, _ in s.points]
    with pytest.raises(ValueError, match=r"axis\.rtt: there is no key"):
        tb.Plan.product(SCENARIO, {"rtt": {**RTT, "valuse": []}})


def test_a_label_may_be_a_table_of_keys_and_values() -> None:
    access = {
        "dsl": {"topology.rate": "16Mbps", "topology.delay": "12ms", "flows": {"bulk": {"count": 3, "rtt": "50ms"}}},
        "fibre": {"topology": {"rate": "300Mbps", "queue": {"kind": "codel", "target": "1ms"}}},
    }
    s = sweep(axis={"access": {"set": access}})
    assert labels(s) == [("dsl",), ("fibre",)]
    links = [p.spec["links"][0] for _, p in s.points]
    assert [(x["rate_bps"], x["delay_s"], x["queue"]) for x in links] == [
        (16e6, 0.012, "droptail"),
        (300e6, 0.001, "codel"),
    ]
    assert [p.spec["flows"][0]["count"] for _, p in s.points] == [3, 2]


def test_an_axis_may_depend_on_another() -> None:
    rate = {"paths": ["topology.rate"], "values": ["5Mbps", "50Mbps"]}
    queue = {"paths": ["topology.queue.kind"], "values": ["droptail", "codel"]}
    flows = {"by": "rate", "paths": ["flows.bulk.count"], "values": {"5Mbps": 4, "50Mbps": [4, 40]}}
    s = sweep(axis={"rate": rate, "queue": queue, "load": flows})
    assert labels(s) == [
        ("5Mbps", "droptail", "4"),
        ("5Mbps", "codel", "4"),
        ("50Mbps", "droptail", "4"),
        ("50Mbps", "droptail", "40"),
        ("50Mbps", "codel", "4"),
        ("50Mbps", "codel", "40"),
    ]
    assert [p.spec["flows"][0]["count"] for _, p in s.points] == [4, 4, 4, 40, 4, 40]


@pytest.mark.parametrize(
    ("axis", "said"),
    [
        (
            {"rate": {"by": "rtt", "paths": ["topology.rate"], "values": {}}, "rtt": RTT},
            "needs the name of an earlier axis",
        ),
        ({"rtt": RTT, "rate": {"by": "rtt", "paths": ["topology.rate"], "values": {"10": "5Mbps"}}}, "10, 20, 40"),
        ({"rtt": RTT, "rate": {"by": "rtt", "paths": ["topology.rate"], "values": ["5Mbps"]}}, "{ 10 = [...], ... }"),
    ],
)
def test_what_an_axis_depends_on_is_there(axis: dict[str, Any], said: str) -> None:
    with pytest.raises(FileError, match=r"axis\.rate: ") as e:
        sweep(axis=axis)
    assert said in str(e.value)


def test_axes_that_depend_or_are_drawn_do_not_go_in_step() -> None:
    rate = {"by": "rtt", "paths": ["topology.rate"], "values": dict.fromkeys(("10", "20", "40", "80", "160"), "5Mbps")}
    with pytest.raises(FileError, match="the values of 'rate' depend on rtt; take it out of zip"):
        sweep(axis={"rtt": RTT, "rate": rate}, zip=[["rtt", "rate"]])


OPEN = {
    "rate": {"paths": ["topology.rate"], "unit": "Mbps", "values": {"from": 1, "to": 1000, "scale": "log"}},
    "load": {"paths": ["flows.bulk.count"], "values": {"from": 1, "to": 50, "whole": True}},
}


@pytest.mark.parametrize("kind", ["latin-hypercube", "sobol"])
def test_a_design_fills_its_ranges_evenly(kind: str) -> None:
    pytest.importorskip("scipy")
    queue = {"paths": ["topology.queue.kind"], "values": ["droptail", "codel"]}
    design = {"kind": kind, "points": 16, "seed": 3}
    s = sweep(axis={"queue": queue, **OPEN}, design=design)
    assert len(s.points) == 32
    assert labels(s)[:16] == [("droptail", *x[1:]) for x in labels(s)[16:]]
    # One point in each of 16 equal slices of the axis: both kinds have this.
    slices = [math.floor(math.log(float(x[1]) / 1) / math.log(1000) * 16) for x in labels(s)[:16]]
    assert sorted(slices) == list(range(16))
    counts = [int(x[2]) for x in labels(s)[:16]]
    assert 1 <= min(counts) <= 4 and 47 <= max(counts) <= 50
    again = sweep(axis={"queue": queue, **OPEN}, design=design)
    assert labels(again) == labels(s), "the same seed chooses the same points"
    other = sweep(axis={"queue": queue, **OPEN}, design={**design, "seed": 4})
    assert labels(other) != labels(s)


def wide(first: float, last: float, scale: str = "linear") -> dict[str, Any]:
    return {"paths": ["flows.bulk.count"], "values": {"from": first, "to": last, "scale": scale}}


@pytest.mark.parametrize(
    ("design", "axis", "said"),
    [
        ({"kind": "sobol", "points": 100}, OPEN, "write 64 or 128"),
        ({"kind": "sobol", "points": 1}, OPEN, "2 to"),
        ({"kind": "halton", "points": 8}, OPEN, "latin-hypercube, sobol"),
        ({"kind": "sobol", "points": 8}, {"rtt": RTT}, "it has no axis to choose values of"),
        ({"kind": "sobol", "points": 8, "seed": -1}, OPEN, "0 or more"),
        ({"kind": "latin-hypercube", "points": 64}, {"load": OPEN["load"]}, "not all different"),
        ({"kind": "sobol", "points": 8}, {"load": wide(-1e308, 1e308)}, "too wide"),
        ({"kind": "sobol", "points": 8}, {"load": wide(1e-320, 1e308, "log")}, "too wide"),
        (None, OPEN, "a [design] chooses the values"),
    ],
)
def test_a_design_that_cannot_be_is_refused(design: dict[str, Any] | None, axis: dict[str, Any], said: str) -> None:
    pytest.importorskip("scipy")
    with pytest.raises(FileError, match="sweep") as e:
        sweep(axis=axis, **({"design": design} if design else {}))
    assert said in str(e.value)


def test_without_scipy_a_design_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(FileError, match=r"pip install 'tailback\[design\]'"):
        sweep(axis=OPEN, design={"kind": "sobol", "points": 8})
