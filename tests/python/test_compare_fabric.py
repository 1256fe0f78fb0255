"""`tailback compare --fabric`: what it asks, what it refuses, and that its answer is of all ports of a fabric."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import tailback as tb
from tailback.apps.ask.link import LinkError, link
from tailback.apps.ask.link import candidates as known
from tailback.apps.ask.link.fabric import FLOWS, LEAST_FLOWS, SHAPES, SIZES, arrivals_per_s
from tailback.apps.ask.link.switches import CANDIDATES
from tailback.apps.ask.link.traffic import run_times, scenario
from tailback.apps.ask.words import quantity
from tailback.core.scenario.read import load_scenario

FABRIC: dict[str, Any] = {"rate": "10Gbps", "fabric": "leaf-spine"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"fabric": "leafspine"}, "there is no 'leafspine'; did you mean 'leaf-spine'?"),
        ({"load": 3.0}, "load = 3: give a share of the hosts' links from 0.01 to 0.95"),
        ({"load": math.nan}, "load = nan: give a share"),
        (
            {"fabric": None, "rtt": "1ms", "load": 0.5},
            "load = 0.5: it is a share of a fabric's hosts' links; add fabric",
        ),
        ({"fabric": None}, "give a round trip"),
        ({"senders": ["dctcp", "cubic"]}, "all flows of a fabric have one sender"),
        ({"senders": ["dctcp"], "ecn": False}, "they need marks"),
        ({"traffic": ["bulk"]}, "kinds are web-search, data-mining, incast"),
        (
            {"traffic": ["incast"]},
            "traffic = incast: the requests of incast need other flows beside them; add web-search or data-mining",
        ),
        ({"traffic": ["web-search", "data-mining"]}, "web-search,data-mining: name one law of sizes"),
        ({"flows": 64}, "flows = 64: the number of flows in a fabric follows from load"),
        ({"rtt": "1s"}, "the longest path has 8 links there and back"),
        ({"rtt": ["10us", "20us"]}, "give one for the longest path"),
    ],
)
def test_a_question_without_an_answer_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(LinkError) as e:
        link(**{**FABRIC, **given})
    assert said in str(e.value)


def test_a_run_has_time_for_a_flow() -> None:
    with pytest.raises(LinkError, match=r"duration = 1us: at this load a flow arrives every"):
        run_times(link(**FABRIC), 1, 1, 1e-6)


def test_what_a_fabric_has_by_default() -> None:
    asked = link(**FABRIC)
    assert asked.senders == ("dctcp",) and asked.traffic == ("web-search", "incast") and asked.ecn
    assert asked.rack is not None and asked.rack.threshold == 65
    # Eight links of 1 us, and a packet that four links store.
    assert asked.rtts_s == (pytest.approx(8e-6 + 4 * 1.2e-6),)
    assert link(**{**FABRIC, "rtt": "16us"}).fabric.delay_s == pytest.approx(2e-6)  # type: ignore[union-attr]
    assert known.default(asked)[0] == list(CANDIDATES)
    times = run_times(asked, 1, 1)
    assert asked.fabric is not None and times.duration_s * arrivals_per_s(asked, asked.fabric) == pytest.approx(FLOWS)
    many = run_times(asked, 10_000, 1)
    assert many.duration_s * arrivals_per_s(asked, asked.fabric) == pytest.approx(LEAST_FLOWS)
    # Without marks the hosts of a fabric are as they are elsewhere.
    assert not link(**{**FABRIC, "senders": ["cubic"]}).ecn


@pytest.mark.parametrize("kind", list(SHAPES))
def test_shapes_are_as_large_as_they_say(kind: str) -> None:
    asked = link(**{**FABRIC, "fabric": kind})
    for name in CANDIDATES:
        _, made = known.alone(name, asked)
        table = scenario(asked, made.table(), run_times(asked, 1, 1), False, {}, made.switch)
        loaded = load_scenario(table, name=name)
        ports = [port["name"] for port in loaded.marking["ports"]]
        assert sum(port.startswith("host") for port in ports) == 2 * SHAPES[kind].hosts


@pytest.mark.parametrize("law", ["web-search", "data-mining"])
def test_mean_sizes_are_those_of_the_laws(law: str) -> None:
    net = tb.star(4, rate="10Gbps", delay="1us", queue="droptail")
    net = net.workload("w", sizes=law, mean_gap="1us", flows=40_000, stop="50ms", tcp={"profile": "linux"})
    sizes = net.set(duration="50ms", size_classes=["1GB"]).run(seed=3).transfers["bytes"]
    mean = sum(sizes) / len(sizes)
    deviation = (sum((s - mean) ** 2 for s in sizes) / len(sizes)) ** 0.5
    assert abs(mean - SIZES[law]) < 4 * deviation / len(sizes) ** 0.5


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    out = tmp_path_factory.mktemp("fabric")
    return tb.compare_queues(
        rate="10Gbps", fabric="leaf-spine", queues=["droptail", "shared-step"], replications=2, duration="15ms", out=out
    )


def test_the_answer_is_of_all_ports(answer: Any) -> None:
    assert answer.link.fabric.kind == "leaf-spine"
    values = answer.ranking.values
    assert all(value > 1 for queue in ("droptail", "shared-step") for value in values["short_p50"][queue])
    # Requests wait for timers of 10 ms where a port has its own share alone, and in the shared memory they do not.
    assert min(values["incast_p99"]["droptail"]) > 100 > max(values["incast_p99"]["shared-step"])
    assert values["loss_rate"]["shared-step"] == [0, 0] and min(values["loss_rate"]["droptail"]) > 0
    assert values["marked"]["droptail"] == [0, 0] and min(values["marked"]["shared-step"]) > 0
    assert values["unfinished"] == {"droptail": [0, 0], "shared-step": [0, 0]}
    said = " ".join(answer.text(200).split())
    assert "Which queue for a leaf-spine of 4 leaves, 2 spines and 32 hosts at 10 Gbps?" in said
    assert "at link.host1 and 47 other ports queues mark at queue = shared-step, and drop at queue = droptail" in said
    assert "and the other ports are idle" not in said


def test_a_ratio_has_no_unit() -> None:
    assert quantity("1", 37.25, 3) == "37.2" and quantity("s", 0.0125, 3) == "12.5 ms"


def test_the_page_has_the_slowdowns(answer: Any, tmp_path: Path) -> None:
    page = answer.write_page(tmp_path).read_text()
    assert "Connections of a host take turns at its own port" in page and "How much longer than the ideal short" in page
    assert (tmp_path / "figures" / "slowdowns-short.svg").exists() and "ten times as fast" not in page


def test_the_command_gives_the_fabric(cli: Any) -> None:
    words = ["compare", "--rate", "10Gbps", "--senders", "dctcp", "--fabric", "fat-tree", "--load", "0.3"]
    ran = cli(*words, "--queue", "step,shared-step", "--replications", "1", "--duration", "3ms", "--json")
    document = json.loads(ran.stdout)
    assert document["link"]["flows"] is None
    assert document["link"]["fabric"] == {"kind": "fat-tree", "load": 0.3, "delay_s": 1e-6}
    assert {row["queue"] for row in document["ranking"]} == {"step", "shared-step"}
    assert cli("compare", "--rate", "10Gbps", "--fabric", "mesh").returncode == 2
