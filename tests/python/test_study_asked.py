"""`reproduce --set`: applied where a scenario has the key, refused where none has; warnings are printed once."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

SCENARIO = """\
duration = "1s"
topology = { kind = "dumbbell", rate = "100Mbps", delay = "10ms", queue = { kind = "codel", buffer = "10 packets" } }
flows.bulk = { count = 1 }
"""
OTHER = SCENARIO.replace("codel", "droptail")
STUDY = """\
[runs.a]
scenario = "a.toml"
seeds = { quick = 2, full = 2 }
link = "bottleneck"
[runs.a.axis.buffer]
paths = ["topology.queue.buffer"]
both = ["10 packets", "20 packets"]
[runs.b]
scenario = "b.toml"
seeds = { quick = 2, full = 2 }
link = "bottleneck"
[runs.b.axis.buffer]
paths = ["topology.queue.buffer"]
both = ["10 packets"]
[[experiment]]
id = "E"
title = "t"
runs = ["a", "b"]
[[experiment]]
id = "F"
title = "t"
runs = "b"
"""


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    at = tmp_path / "lab"
    (at / "experiments").mkdir(parents=True)
    (at / "study.toml").write_text('id = "lab"\ntitle = "t"\ncitation = "c"\nquestion = "q"\nmethod = "m"\n')
    (at / "experiments" / "a.toml").write_text(STUDY)
    (at / "a.toml").write_text(SCENARIO)
    (at / "b.toml").write_text(OTHER)
    return at


def test_a_change_is_applied_where_the_key_is(lab: Path, cli, tmp_path: Path) -> None:
    done = cli("reproduce", lab, "--out", tmp_path / "o", "--set", "topology.queue.target=1ms", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["runs"] == 6
    assert "note: --set topology.queue.target=1ms is not applied to b: no such key there" in done.stderr
    points = json.loads((tmp_path / "o" / "runs" / "manifest.json").read_text())["points"]
    assert len({p["scenario"] for p in points}) == 3


@pytest.mark.parametrize(
    ("what", "change", "says"),
    [
        ("", "topology.queue.targett=1ms", "targett"),
        ("/F", "topology.queue.target=1ms", "target"),
        ("", "topology.queue.target=fast", "fast"),
        ("", "link.other.rate=1Mbps", "other"),
        # Its labels would no longer be true.
        ("", "topology.queue.buffer=30 packets", "its axis buffer sets it"),
    ],
)
def test_a_change_that_nothing_takes_is_refused_before_anything_runs(
    lab: Path, cli, tmp_path: Path, what: str, change: str, says: str
) -> None:
    done = cli("reproduce", f"{lab}{what}", "--out", tmp_path / "o", "--set", change)
    assert (done.returncode, done.stdout) == (2, "") and says in done.stderr, done.stderr
    assert not (tmp_path / "o").exists()


def test_warnings_of_scenarios_are_printed_once_with_their_line(lab: Path, cli, tmp_path: Path) -> None:
    done = cli("reproduce", f"{lab}/E", "--out", tmp_path / "o", "--json")
    assert done.returncode == 0, done.stderr
    # Two points, one warning each, whatever the seeds.
    assert len(re.findall(r"^warning: ", done.stderr, re.M)) == 2, done.stderr
    assert done.stderr.count("is never reached") == 2 and "a.toml" in done.stderr
