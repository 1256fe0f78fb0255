"""Axes of a study whose names are columns of the results, and axes of which one undoes another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailback import _core
from tailback.study import load as study
from tailback.study import reproduce
from tailback.study.errors import StudyError
from tailback.study.repeat import Repeat

SCENARIO = """\
duration = "2s"
topology = { kind = "dumbbell", rate = "5Mbps", delay = "10ms", queue = { kind = "droptail", buffer = "40 packets" } }
flows.bulk = { count = 1 }
"""
RUNS = """\
[runs.r]
scenario = "lab.toml"
seeds = { quick = 1, full = 1 }
link = "bottleneck"
[runs.r.axis.flows]
paths = ["flows.bulk.count"]
both = [2, 3]
[runs.r.axis.group]
paths = ["duration"]
both = ["1s"]
[[experiment]]
id = "E"
title = "t"
runs = "r"
[[experiment.output]]
kind = "table"
measures = ["utilisation"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    at = tmp_path / "lab"
    (at / "experiments").mkdir(parents=True)
    (at / "study.toml").write_text('id = "lab"\ntitle = "t"\ncitation = "c"\nquestion = "q"\nmethod = "m"\n')
    (at / "experiments" / "a.toml").write_text(RUNS)
    (at / "lab.toml").write_text(SCENARIO)
    return at


def test_an_axis_named_as_a_column_is_stored_beside_it(folder: Path, tmp_path: Path) -> None:
    how = Repeat(figures=None)
    r = reproduce.reproduce(study.load(folder), how=how, out=tmp_path / "o")
    assert r.runs == 2 and not r.failed
    tables = sorted((tmp_path / "o").rglob("*.parquet"))
    assert tables
    for path in tables:
        columns = _core.read_parquet(path).columns
        assert len(columns) == len(set(columns)), path
    groups = [t for p in tables if len(t := _core.read_parquet(p)) and "jain_index" in t.columns]
    assert groups
    for t in groups:
        # The label beside the count.
        assert [int(x) for x in t["varied_flows"]] == list(t["flows"]) and set(t["varied_group"]) == {"1s"}
    # The point is known again.
    assert reproduce.reproduce(study.load(folder), how=how, out=tmp_path / "o").reused == 2


def test_the_core_takes_no_label_that_is_a_column() -> None:
    scenario = _core.load(SCENARIO, "toml")
    with pytest.raises(ValueError, match="'flows' is the name of a column"):
        _core.Plan([({"flows": "2"}, scenario)])


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ('[runs.r.axis.again]\npaths = ["duration"]\nboth = ["3s"]\n', "'group' and 'again' both set duration"),
        ('[runs.r.axis.bulk]\npaths = ["flows.bulk"]\nboth = { x = { count = 4 } }\n', "undoes what the axis 'flows'"),
    ],
)
def test_an_axis_that_another_undoes_is_refused(folder: Path, more: str, says: str) -> None:
    (folder / "experiments" / "a.toml").write_text(RUNS.replace("[[experiment]]", f"{more}[[experiment]]", 1))
    with pytest.raises(StudyError, match=says):
        study.load(folder)
