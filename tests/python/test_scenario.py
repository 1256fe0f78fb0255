"""Scenarios from every source, the builder, quantities and the reference."""

from __future__ import annotations

import json
import math
import tomllib

import pytest
from conftest import SMALL
from hypothesis import given
from hypothesis import strategies as st

import tailback as tb
from tailback.core.scenario.read import inline


def test_every_source_reads_the_same(small) -> None:
    a = tb.load_scenario(SMALL)
    same = [small, str(small), tomllib.loads(SMALL), json.dumps(tomllib.loads(SMALL)), tb.network(tomllib.loads(SMALL))]
    assert {tb.load_scenario(s).digest for s in same} == {a.digest}
    assert (a.name, a.duration_s, a.warmup_s, a.seed) == ("small", 6.0, 1.0, 1)
    assert a.spec["flows"][0]["count"] == 4 and a.spec["links"][0]["queue"] == "red"
    assert json.loads(a.json)["duration"] == "6s" and a.toml == SMALL


def test_overrides_are_texts_or_a_dict() -> None:
    a = tb.load_scenario(SMALL, ["link.bottleneck.rate=7Mbps", "flows.bulk.count=2"])
    b = tb.load_scenario(SMALL, {"link.bottleneck.rate": "7Mbps", "flows.bulk.count": 2})
    assert a.digest == b.digest and a.spec["links"][0]["rate_bps"] == 7e6
    assert tb.load_scenario(a.toml).digest == a.digest
    queue = tb.queue("codel", buffer="50 packets")
    assert tb.load_scenario(SMALL.replace("[record", "[x").split("[x")[0], {"link.bottleneck.queue": queue})


def test_errors_say_where_and_what_to_do(small) -> None:
    with pytest.raises(tb.ScenarioError) as e:
        tb.load_scenario(SMALL.replace('rate = "5Mbps"', 'rate = "5"'))
    assert isinstance(e.value, ValueError)
    assert "topology.rate" in str(e.value) and e.value.problems[0]["line"] == 6
    assert "help" in str(e.value) or "write" in str(e.value)
    with pytest.raises(TypeError, match="not int"):
        tb.load_scenario(3)


def test_the_builder_makes_what_toml_says() -> None:
    net = tb.dumbbell(
        flows={"bulk": {"count": 4, "rtt": ["40ms", "80ms"]}},
        bottleneck="5Mbps",
        delay="10ms",
        queue=tb.queue("red", buffer="40 packets"),
    )
    net.record("queue", link="bottleneck", probes=["queue", "average"], every="50ms")
    net.set(name="small", duration="6s", warmup="1s", interval="1s", marking=False)
    assert net.load().digest == tb.load_scenario(SMALL).digest
    assert tb.load_scenario(net.to_toml()).digest == net.load().digest


def test_builder_shapes() -> None:
    one = tb.dumbbell(flows=3, bottleneck="5Mbps", rtt="50ms", queue="droptail", tcp={"variant": "reno"})
    with pytest.raises(tb.ScenarioError, match="duration"):
        one.load()
    s = one.set(duration="1s").load()
    assert s.spec["links"][0]["delay_s"] == 0.025
    lot = tb.parking_lot(3, flows=2, rate="5Mbps", rtt="60ms", queue=tb.queue("droptail", buffer="50 packets"))
    lot.flows("cross", from_="r0", to="r1", count=2).link("hop2", rate="4Mbps")
    r = lot.run(duration="3s", seed=5)
    assert [round(v) for v in r.links.where(name=["hop1", "hop2", "hop3"])["rate_bps"]] == [5e6, 4e6, 5e6]
    assert list(r.runs["seed"]) == [5]
    own = tb.network().link("a", "x", "y", rate="1Mbps", delay="5ms", queue=tb.queue("droptail", buffer="20 packets"))
    own.flows("f", rtt="20ms")
    assert own.run(duration="2s").groups[0]["goodput_bps_sum"] > 0.5e6


@given(
    st.recursive(
        st.booleans()
        | st.integers(-(2**63), 2**63 - 1)
        | st.floats(allow_nan=False)
        | st.text(st.characters(codec="utf-8")),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
        ),
        max_leaves=8,
    ).map(lambda v: [v])
)
def test_values_become_toml(value) -> None:
    assert tomllib.loads(f"x = {inline(value)}") == {"x": value}


def test_quantities() -> None:
    assert tb.parse_rate("500Mbps") == 5e8 and tb.parse_time("50ms") == 0.05
    assert tb.parse_bytes("64KB") == 64_000
    assert tb.parse_size("10 packets") == (10, "packets") and tb.parse_size("unlimited") == (None, "unlimited")
    assert tb.parse_level("20%") == (0.2, "of buffer")
    with pytest.raises(ValueError, match="unit"):
        tb.parse_rate("500")


def test_reference() -> None:
    assert tb.schema()["title"] == "tailback scenario"
    assert any(f["family"] == "queue" for f in tb.describe())
    assert tb.describe("red")[0]["parameters"]
    with pytest.raises(ValueError, match="droptail"):
        tb.describe("dropptail")


def test_a_number_of_flows_may_be_numpy_s_and_what_is_none_is_refused() -> None:
    import numpy as np

    assert tb.dumbbell(flows=np.int64(3)).set(duration="1s").load().spec["flows"][0]["count"] == 3
    with pytest.raises(ValueError, match="flows = '3'; give a whole number or a dict"):
        tb.dumbbell(flows="3")
    assert repr(tb.dumbbell(flows=3).record(link="bottleneck", probes=["queue"])) == (
        "<Network dumbbell: flows bulk; record bottleneck>"
    )


def test_a_flow_that_delivers_nothing_leaves_its_group_a_delay() -> None:
    net = tb.dumbbell(flows={"few": {"count": 3, "start": ["0s", "1990ms"]}}, rtt="40ms").set(duration="2s")
    result = net.run()
    delays, received = result.flows["delay_mean_s"], result.flows["received_packets"]
    assert received[1] == 0 and math.isnan(delays[1])
    ends = [0, 2]
    mean = sum(delays[i] * received[i] for i in ends) / sum(received[i] for i in ends)
    assert result.groups["delay_mean_s"][0] == pytest.approx(mean)
