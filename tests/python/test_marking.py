"""Whether queues mark: said by `check`, by the summary, and first where two results differ in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import tailback as tb
from tailback.apps.ask.link import LinkError, compare_queues, link
from tailback.apps.ask.link.candidates import default
from tailback.cli import cli
from tailback.core.results.setting import among, between

SCENARIO = """
duration = "2s"
[link.line]
from = "a"
to = "b"
rate = "5Mbps"
delay = "10ms"
queue = { kind = "codel", buffer = "1000 packets" }
reverse_queue = { kind = "droptail", buffer = "unlimited" }
[flows.bulk]
count = 4
"""


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def said(*arguments: str) -> str:
    done = CliRunner().invoke(cli, list(arguments))
    assert done.exit_code == 0, done.output
    return done.output


def test_check_says_where_queues_mark_by_default_and_how_to_have_them_drop(tmp_path: Path) -> None:
    path = write(tmp_path, "a.toml", SCENARIO)
    text = said("check", path)
    assert "codel marks ECN-capable packets, since flows.bulk has ECN on; marking = false" in text
    assert text.count("marks ECN-capable") == 1
    for more in ("marking=false", "marking=true", "link.line.queue.ecn=true", "flows.bulk.tcp.ecn=off"):
        assert "ECN-capable" not in said("check", path, "--set", more)
    assert "ECN-capable" not in said("check", path, "--set", 'link.line.queue={ kind = "droptail" }')


def test_the_summary_shows_marking_and_what_overrides_it(tmp_path: Path) -> None:
    path = write(tmp_path, "a.toml", SCENARIO)
    assert "queues mark ECN-capable packets: flows.bulk has ECN on\n" in said("run", path)
    own = said("run", path, "--set", "link.line.queue.ecn=false")
    assert "except that link.line has ecn = false" in " ".join(own.split())
    assert "mark" not in said("run", path, "--set", "link.line.queue.kind=droptail").split("\n\n")[0]
    found = json.loads(said("run", path, "--json", "--set", "marking=false"))
    assert found["marking"]["on"] is False and found["marking"]["because"] == "marking = false"


def test_a_comparison_of_two_results_says_first_that_one_marks_and_the_other_drops(tmp_path: Path) -> None:
    path = write(tmp_path, "a.toml", SCENARIO)
    a, b, c = (str(tmp_path / name) for name in "abc")
    said("run", path, "--out", a)
    said("run", path, "--out", b, "--set", "marking=false", "--set", "link.line.queue.buffer=500 packets")
    said("run", path, "--out", c)
    lines = said("report", a, b).splitlines()
    assert lines[0] == "the two differ in:"
    assert lines[1] == "  marking: at link.line, a marks and b drops"
    assert '  link.line.queue.buffer: a has "1000 packets", b "500 packets"' in lines
    assert "differ in" not in said("report", a, c)
    found = json.loads(said("report", a, b, "--json"))["setting"]
    assert {d["key"] for d in found["keys"]} == {"marking", "link.line.queue.buffer"}
    assert found["marking"] and found["points"] == 1 and not found["builds"]
    assert between(Path(a), Path(c)).lines() == []


def test_points_of_a_sweep_that_differ_in_marking_are_named(tmp_path: Path) -> None:
    base = write(tmp_path, "a.toml", SCENARIO)
    sweep = write(
        tmp_path,
        "sweep.toml",
        f'scenario = "{base}"\n[axis.queue]\npaths = ["link.line.queue"]\n[axis.queue.values]\n'
        'marks = { kind = "red", buffer = "100 packets" }\n'
        'drops = { kind = "red", buffer = "100 packets", ecn = false }\n',
    )
    out = str(tmp_path / "out")
    sentence = "at link.line queues mark at queue = marks, and drop at queue = drops"
    assert sentence in said("sweep", sweep, "--out", out)
    assert said("report", out, "--across", "queue=marks").startswith(sentence)
    assert sentence in Path(said("report", out).strip().splitlines()[-1]).read_text()
    points = [({"queue": k}, tb.load_scenario(SCENARIO.replace("codel", k))) for k in ("codel", "red", "fq-codel")]
    assert among(points) == []


def test_compare_leaves_out_what_signals_by_marks_where_hosts_have_no_ecn() -> None:
    names, notes = default(link("10Mbps", "40ms", 4))
    assert "dualpi2" not in names and "--ecn" in notes[0]
    names, notes = default(link("10Mbps", "40ms", 4, ecn=True))
    assert "dualpi2" in names and notes == []
    with pytest.raises(LinkError, match=r"signals only by marks.*add --ecn"):
        compare_queues(rate="10Mbps", rtt="40ms", flows=4, queues=["dualpi2", "codel"])


def test_a_discipline_of_compare_that_differs_in_marking_is_said_first() -> None:
    found = compare_queues(
        rate="10Mbps", rtt="40ms", flows=2, ecn=True, traffic=["bulk"], replications=1, duration="4s",
        queues=["codel", {"kind": "codel", "name": "dropping", "ecn": False, "buffer": "90 packets"}],
    )  # fmt: skip
    assert found.link.notes[0].startswith(
        "at link.bottleneck queues mark at queue = codel, and drop at queue = dropping"
    )
    assert any("dropping has a buffer of 90 packets" in note for note in found.link.notes)
