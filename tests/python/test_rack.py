"""`tailback compare` in a data centre: what it asks by default, and what the DCTCP paper says of the answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

import tailback as tb
from tailback.apps.ask.link import LinkError, link
from tailback.apps.ask.link import candidates as known
from tailback.apps.ask.link.switches import CANDIDATES, step, sweep
from tailback.apps.ask.link.traffic import run_times, scenario
from tailback.core import stats
from tailback.core.scenario.read import load_scenario
from tailback.runs.live import kernel_queue
from tailback.runs.live.kernel_queue import NotPossible

RACK: dict[str, Any] = {"rate": "10Gbps", "rtt": "100us", "flows": 16, "senders": ["dctcp"]}


def threshold(**given: Any) -> int:
    made = link(**{**RACK, **given}).rack
    assert made is not None
    return made.threshold


def test_k_is_above_the_product_by_seven_and_a_burst() -> None:
    assert threshold() == 65
    # 1 ms: C x RTT / 7 = 119.05 packets.
    assert threshold(rtt="1ms") == 120
    # A burst of 64 KiB is 45 segments of 1448 B; with jumbo frames it is 7, and the paper's 20 packets are more.
    assert threshold(rate="1Gbps") == 45
    assert threshold(rate="1Gbps", packet="9000B") == 20
    assert threshold(rate="100Gbps", rtt="20us") == 650


def test_what_a_rack_has_by_default() -> None:
    asked = link(**RACK)
    assert asked.traffic == ("bulk", "incast") and asked.ecn and asked.access_bps == asked.rate_bps
    assert asked.buffer == "111 packets", "a part of 24 in 4 MB"
    assert asked.rack is not None and (asked.rack.memory_bytes, asked.rack.alpha) == (4_000_000, 0.25)
    times = run_times(asked, 35, 2)
    assert times.duration_s / 100e-6 == pytest.approx(2000) and times.warmup_s / 100e-6 == pytest.approx(400)
    assert known.default(asked)[0] == list(CANDIDATES)
    with pytest.raises(LinkError, match="they need marks; leave out --no-ecn"):
        link(**RACK, ecn=False)
    assert "drops come before marks" in link(**RACK, buffer="60 packets").notes[0]
    plain = link("10Gbps", "100us", 16)
    assert plain.rack is None and plain.traffic == ("bulk", "web", "voice", "unresponsive")


def test_every_candidate_loads_and_says_where_it_is_found() -> None:
    asked = link(**RACK)
    times = run_times(asked, 35, 2)
    for name in CANDIDATES:
        _, made = known.alone(name, asked)
        load_scenario(scenario(asked, made.table(), times, False, {}, made.switch), name=name)
        assert bool(made.where) == (name in ("codel", "dualpi2")), name
        assert bool(made.switch) == name.startswith("shared"), name
    assert list(sweep(asked)) == [6, 16, 32, 65, 98]
    assert step(asked).tc == (
        "red limit 166500 min 97500 max 97500 avpkt 1500 burst 66 bandwidth 10gbit probability 1 ecn"
    )
    assert "Close to a step, but not a step" in CANDIDATES["step"](asked).tc_remark


def test_a_queue_of_the_kernel_shares_no_memory() -> None:
    port = {"from": "tor", "to": "a", "rate": "1Gbps", "delay": "25us", "queue": "droptail"}
    document = {"duration": "1s", "link": {"port": port}, "flows": {"bulk": {}}, "switch": {"tor": {}}}
    with pytest.raises(NotPossible, match="leaves the switch tor, whose ports share a memory"):
        kernel_queue.of(load_scenario(document, name="switch"), "port")


@pytest.fixture(scope="module")
def answer() -> Any:
    return tb.compare_queues(**RACK, queues=["droptail", "step", "shared", "shared-step"])


def paired(answer: Any, measure: str, a: str, b: str) -> stats.Mean:
    values = answer.ranking.values[measure]
    return stats.paired(values[a], values[b], 0.99)


@pytest.mark.slow
def test_the_step_has_less_delay_at_the_same_use(answer: Any) -> None:
    """The 99 % intervals of the differences, seed by seed, over five seeds."""
    use = paired(answer, "utilisation", "step", "droptail")
    assert abs(use.mean) + use.half_width < 0.02, use
    for measure in ("delay_p50_s", "delay_p99_s"):
        less = paired(answer, measure, "step", "droptail")
        assert less.mean + less.half_width < 0, (measure, less)


@pytest.mark.slow
def test_the_mean_queue_is_near_k(answer: Any) -> None:
    """Section 3.3: between K + N and K + N less half the root of 2 N (C RTT + K), in steps of all flows together; flows
    out of step swing less."""
    n, k, product = 16, 65, 10e9 * 100e-6 / 12_000
    most = k + n
    least = most - 0.5 * (2 * n * (product + k)) ** 0.5
    for queue in ("step", "shared-step"):
        mean = stats.estimate(answer.ranking.values["mean_queue_packets"][queue])
        assert least < mean.mean - mean.half_width and mean.mean + mean.half_width < most, (queue, mean)


@pytest.mark.slow
def test_shared_memory_serves_requests_to_many_servers(answer: Any) -> None:
    """Section 4.2.1: with a part of its own the port loses packets of answers, which wait for a timeout of 10 ms at
    least; with the shared memory it does not. Whatever the seed."""
    p95 = answer.ranking.values["request_p95_s"]
    assert max(p95["shared-step"]) < 0.001
    assert min(p95["step"]) > 0.010 and min(p95["droptail"]) > 0.010
    assert max(answer.ranking.values["loss_rate"]["shared-step"]) < 1e-4
    assert min(answer.ranking.values["loss_rate"]["droptail"]) > 0.0


def use(k: int, offload: str) -> stats.Mean:
    """Of two senders behind lines four times as fast as the port, over five seeds."""
    asked = link(**{**RACK, "flows": 2, "traffic": ["bulk"]})
    table = scenario(asked, step(asked, k).table(), run_times(asked, 1, 1), False, {"offload": offload})
    for flows in table["flows"].values():
        flows["access_rate"] = "40Gbps"
    links = tb.network(table).run(replications=5).links
    return stats.estimate([row["utilisation"] for row in links.rows() if row["name"] == "bottleneck"])


@pytest.mark.slow
def test_a_threshold_below_a_burst_loses_use() -> None:
    """12 packets are above C x RTT / 7 = 11.9, and below a train: a third of two windows that share 83 + 12 packets, at
    four times the rate of the port."""
    below, above = use(12, "64KB"), use(65, "64KB")
    assert below.mean + below.half_width < 0.9, below
    assert above.mean - above.half_width > 0.995, above
    # Segments that leave by themselves need no more.
    apart = use(12, "1448B")
    assert apart.mean - apart.half_width > 0.995, apart


@pytest.mark.slow
def test_the_command_says_the_question_before_it_runs(cli: Any) -> None:
    words = ["compare", "--rate", "10Gbps", "--rtt", "100us", "--senders", "dctcp", "--queue", "droptail,step"]
    short = ["--replications", "2", "--duration", "20ms"]
    shown = cli(*words, *short).stdout
    assert shown.startswith("Which queue for 10 Gbps, round trip 0.1 ms?\n") and shown.count("Which queue for") == 1
    said = " ".join(shown.split())
    assert "burst 66 bandwidth 10gbit probability 1 ecn" in said and "Close to a step, but not a step" in said
    document = json.loads(cli(*words, *short, "--json").stdout)
    assert document["link"]["threshold_packets"] == 65
