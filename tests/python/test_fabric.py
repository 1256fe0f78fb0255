"""A fabric: the twenty lines of the page, what the commands say of it, figures, determinism, and a loaded one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_sweep import tables

import tailback as tb
from tailback.core.results.stored import read_results
from tailback.show.plots.topology import DrawnLink, layers_of

PAGE = Path(__file__).parents[2] / "docs" / "fabric.md"


def of_page() -> str:
    """The first scenario of the page."""
    found = re.search(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    return found.group(1)


def command(cli: Any, *words: str) -> str:
    ran = cli(*words)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return str(ran.stdout + ran.stderr)


def test_twenty_lines_say_fabric_workload_and_load(cli: Any, tmp_path: Path) -> None:
    text = of_page()
    assert len([line for line in text.splitlines() if line]) <= 20
    file = tmp_path / "fabric.toml"
    file.write_text(text.replace("20ms", "2ms"))
    said = command(cli, "run", str(file), "--out", str(tmp_path / "out"), "--replications", "2", "--check-laws")
    assert "beside ideal p50" in said and "beside alone p99" in said
    rows = [r for r in read_results(tmp_path / "out").slowdowns.rows() if r["sizes"] == "all"]
    assert len(rows) == 2 and all(r["count"] > 5 and r["unfinished"] == 0 for r in rows)
    assert all(1 <= r["slowdown_alone_p50"] < r["slowdown_ideal_p50"] < 20 for r in rows)
    command(cli, "plot", str(tmp_path / "out"), "slowdowns", "--to", str(tmp_path / "slowdowns.pdf"))
    assert (tmp_path / "slowdowns.pdf").stat().st_size > 5000
    command(cli, "report", str(tmp_path / "out"))
    assert (tmp_path / "out" / "figures" / "slowdowns.svg").exists()
    picture = (tmp_path / "out" / "figures" / "topology.svg").read_text()
    assert "32 hosts" in picture and "spine2" in picture and "line in use" in picture
    layers = read_results(tmp_path / "out").layers
    assert layers.to_list("layer")[:4] == ["host", "host.reverse", "leaf-spine", "leaf-spine.reverse"]
    assert "leaf-spine.reverse" in said and list(layers["ports"])[:4] == [32, 32, 8, 8]


def test_check_says_what_stays_empty(cli: Any, tmp_path: Path) -> None:
    file = tmp_path / "fabric.toml"
    file.write_text(of_page().replace('paths = "flow"\n', ""))
    said = command(cli, "check", str(file))
    assert "no flow crosses link leaf1-spine2" in said and 'paths = "flow"' in said
    file.write_text(of_page())
    assert "no flow crosses" not in command(cli, "check", str(file))


def test_check_says_the_load_of_each_layer(cli: Any, tmp_path: Path) -> None:
    file = tmp_path / "fabric.toml"
    # Of 31 other hosts 24 are at other leaves, and two links of 10 Gb/s carry what eight hosts send there.
    file.write_text(of_page().replace('spine_rate = "40Gbps"', "oversubscription = 4"))
    said = command(cli, "check", str(file))
    assert "workload.search is a load of 0.5 of host links, 1.55 of leaf-spine links" in said
    assert "warning: " in said and "its flows are 1.548 times what the leaf-spine links carry" in said
    file.write_text(of_page())
    said = command(cli, "check", str(file))
    assert "0.387 of leaf-spine links" in said and "times what" not in said


def test_a_trace_ends_with_the_path_of_the_flow(cli: Any, tmp_path: Path) -> None:
    file = tmp_path / "fabric.toml"
    file.write_text(of_page().replace("20ms", "1ms"))
    lines = command(cli, "trace", str(file), "--flow", "search.2").splitlines()
    there, back = (line.split("  ", 1)[1].split(", ") for line in lines if line.startswith("path "))
    assert there[0].startswith("host") and there[0].endswith(".reverse") and not there[-1].endswith(".reverse")
    assert back[0] == f"{there[-1]}.reverse" and f"{back[-1]}.reverse" == there[0]
    assert sum("SYN" in line and "arrives" in line and " >  " in line for line in lines) == len(there)
    ran = cli("trace", str(file), "--flow", "search.999")
    assert ran.returncode == 2 and re.search(r"search\.999 has not begun: \d+ flows of workload\.search", ran.stderr)


def test_the_layers_of_a_network_are_how_far_from_its_ends() -> None:
    line = [
        DrawnLink(name, ends, 0.0) for name, ends in (("a", ("h1", "s1")), ("b", ("h2", "s1")), ("c", ("s1", "t1")))
    ]
    assert layers_of(line) == [["h1", "h2", "t1"], ["s1"]]
    ring = [DrawnLink(f"r{i}", (f"n{i}", f"n{(i + 1) % 3}"), 0.0) for i in range(3)]
    assert layers_of(ring) == [["n0"], ["n1", "n2"]]
    assert layers_of([]) == []


def test_what_is_not_modelled_says_whom_to_ask(cli: Any) -> None:
    ran = cli("describe", "dcqcn")
    assert ran.returncode == 2
    assert all(words in ran.stderr for words in ("not modelled", "htsim", "tailback describe"))
    assert "Leaf and spine" in command(cli, "describe", "leaf-spine")


@pytest.mark.parametrize("paths", ["flow", "packet", "flowlet"])
def test_shards_give_the_same_bytes(paths: str, tmp_path: Path) -> None:
    net = tb.leaf_spine(2, 2, 2, rate="10Gbps", delay="1us", queue=tb.queue("droptail", buffer="100 packets"))
    net = net.set(paths=paths, duration="5ms").workload("w", sizes="web-search", load=0.6, flows=30)

    plan = tb.Plan.product(net, {"workload.w.load": [0.5, 0.6]}, replications=2)
    plan.execute(tmp_path / "whole")
    for i in (1, 2):
        plan.execute(tmp_path / "parts", shard=(i, 2))
    assert plan.execute(tmp_path / "parts").report["reused"] == 4
    whole = tables(tmp_path / "whole")
    assert "slowdowns.parquet" in whole and tables(tmp_path / "parts") == whole


LARGE: dict[str, Any] = {
    "leaves": 8,
    "spines": 4,
    "hosts": 16,
    "rate": "10Gbps",
    "spine_rate": "40Gbps",
    "delay": "1us",
    "queue": {"kind": "red", "profile": "step"},
    "shared_buffer": "4MB",
}


@pytest.mark.slow
def test_web_search_at_half_the_load_waits_for_no_timer() -> None:
    """4,000 flows: no timer of 200 ms, and all are done 200 ms after the last began."""
    net = tb.leaf_spine(**LARGE).set(paths="flow", end="sessions", duration="2s")
    tcp = {"profile": "linux", "congestion": "dctcp", "ecn": "on"}
    net = net.workload("search", sizes="web-search", load=0.5, flows=4_000, tcp=tcp)
    result = net.run(replications=1)
    rows = [r for r in result.slowdowns.rows() if r["sizes"] == "all"]
    last = {
        run: max(x["asked_s"] for x in result.transfers.rows() if x["run"] == run) for run in (r["run"] for r in rows)
    }
    done = np.asarray(result.transfers["done_s"]) - np.asarray([last[run] for run in result.transfers["run"]])
    assert all(r["unfinished"] == 0 for r in rows) and float(done.max()) < 0.2
    assert int(np.asarray(result.transfers["timeouts"]).sum()) == 0
