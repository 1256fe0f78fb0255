"""Tables of a study that extend one another, and `{name}` in their texts: what they stand for, and what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tailback.study import load as study
from tailback.study.data import fill, groups
from tailback.study.errors import StudyError

NAME = "appenzeller-2004"
RUNS = """
[values]
rates = ["5Mbps", "10Mbps"]

[runs.base]
scenario = "buffers.toml"
seeds = { quick = 1, full = 2 }
values = { unit = "Mb/s", flow = "tcp" }
set = ["flows.{flow}.count=2"]
axis.rate = { title = "{unit}", paths = ["link.bottleneck.rate"], both = "{rates}" }

[runs.larger]
extends = "base"
seeds = { quick = 2, full = 2 }
values = { flow = ["tcp", "more"] }
axis.rate = { both = ["20Mbps"] }
axis.delay = { title = "Delay", paths = ["link.bottleneck.delay"], both = ["10ms"] }

[runs.largest]
extends = "larger"
then = ["duration=1s"]

[[experiment]]
id = "base"
item = "figure 1"
aliases = ["old"]
title = "Base"
text = "At {at}."
runs = "base"
values = { at = "first" }
[[experiment.output]]
kind = "table"
measures = ["utilisation"]
each = [
    { caption = "All, {at}." },
    { caption = "Few, {at}.", where = { rate = "5Mbps" } },
]

[[experiment]]
id = "more"
extends = "base"
title = "More"
values = { at = "last" }
"""


def folder_with(tmp_path: Path, text: str) -> Path:
    """A study whose experiments are of one file."""
    folder = tmp_path / NAME
    shutil.copytree(study.load(NAME).path, folder)
    (folder / "statements.toml").unlink()
    (folder / "contents.toml").unlink(missing_ok=True)
    (folder / "experiments.toml").write_text(text)
    return folder


def test_a_set_of_runs_has_what_it_extends_where_it_has_none_of_its_own(tmp_path: Path) -> None:
    runs = study.load(folder_with(tmp_path, RUNS)).runs
    base, larger, largest = runs["base"], runs["larger"], runs["largest"]
    assert base.set == ("flows.tcp.count=2",)
    assert base.axis("rate").values["quick"] == {"5Mbps": "5Mbps", "10Mbps": "10Mbps"}
    assert larger.set == ("flows.tcp.count=2", "flows.more.count=2"), "a change for each item of a list in its path"
    assert (larger.seeds, larger.scenario) == ({"quick": 2, "full": 2}, base.scenario)
    assert [a.name for a in larger.axes] == ["rate", "delay"], "an axis that is not written out stays"
    assert (larger.axis("rate").title, larger.axis("rate").labels("full")) == ("Mb/s", ["20Mbps"])
    assert (largest.seeds, largest.then, largest.set) == (larger.seeds, ("duration=1s",), larger.set)


def test_an_experiment_keeps_its_names_to_itself(tmp_path: Path) -> None:
    base, more = study.load(folder_with(tmp_path, RUNS)).experiments
    assert (more.title, more.runs, more.text) == ("More", ("base",), "At last.")
    assert (more.item, more.aliases) == ("", ())
    assert [o["caption"] for o in base.output] == ["All, first.", "Few, first."]
    assert [o["caption"] for o in more.output] == ["All, last.", "Few, last."]
    assert more.output[1]["where"] == {"rate": "5Mbps"} and "values" not in more.output[0]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('extends = "larger"', 'extends = "lager"', r'runs.largest.extends = .lager.: .*did you mean "larger"\?'),
        ('extends = "larger"', 'extends = "largest"', "it extends itself: largest -> largest; leave out extends"),
        ("[runs.base]\n", '[runs.base]\nextends = "largest"\n', "it extends itself: base -> largest -> larger -> base"),
        ('extends = "larger"', "extends = 3", "runs.largest.extends = 3: there is nothing of that name"),
        (
            'id = "more"\nextends = "base"',
            'id = "more"\nextends = "bse"',
            r"experiment\[1\].extends = .bse.: .*\"base\"",
        ),
        ("At {at}.", "At {it}.", 'there is no label or value "it"; there are rates, at'),
        ("count=2", "count={n}", r'runs.base.set = "flows.\{flow\}.count=\{n\}": there is no label or value "n"'),
        ('values = { flow = ["tcp", "more"] }', "values = 3", "runs.larger.values = 3: expected"),
        ('caption = "All, {at}."', "captoin = 3", r'output\[0\].each\[0\]: there is no key "captoin"'),
    ],
)
def test_what_is_wrong_is_said_where_it_stands(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert RUNS.count(old) == 1
    text = RUNS.replace(old, new)
    with pytest.raises(StudyError, match=said) as e:
        study.load(folder_with(tmp_path, text))
    assert "experiments.toml" in str(e.value)
    if "extends" in said and "itself" not in said:
        line = next(i for i, x in enumerate(text.split("\n"), 1) if x == new.split("\n")[-1])
        assert f"experiments.toml:{line}: " in str(e.value)


def test_names_become_values() -> None:
    words: dict[str, Any] = {"n": 3, "all": ["a", "b"], "stage": {"kind": "x"}}
    assert fill.filled(["{all}", "{n}", "no {n}"], words, "f") == ["a", "b", 3, "no 3"]
    assert fill.filled({"marker": "{stage}", "k": 1.5}, words, "f") == {"marker": {"kind": "x"}, "k": 1.5}
    assert fill.changes(["{all}.k={n}", "{all}.m=1", "x={all}"], words, "f") == [
        "a.k=3", "a.m=1", "b.k=3", "b.m=1", 'x=["a", "b"]',
    ]  # fmt: skip


def test_a_range_is_a_list_of_texts() -> None:
    table = {"values": {"at": {"from": 0, "to": 500, "step": 200, "unit": "us"}, "stage": {"kind": "x"}}}
    assert fill.values(table, "f") == {"at": ["0us", "200us", "400us"], "stage": {"kind": "x"}}
    with pytest.raises(StudyError, match=r"f\.values\.at: a range has either step or count"):
        fill.values({"values": {"at": {"from": 0, "to": 5}}}, "f")


def test_rows_may_have_rows_and_values() -> None:
    tables = [{"a": 1, "values": {"x": "X"}, "each": [{"b": "{x}", "each": [{"id": 1}, {"id": 2, "a": 3}]}, {"id": 4}]}]
    rows = groups.rows(tables, "number", "f.toml")
    assert [r.table for r in rows] == [{"a": 1, "b": "X", "id": 1}, {"a": 3, "b": "X", "id": 2}, {"a": 1, "id": 4}]
    assert [r.at for r in rows] == ["number[0].each[0].each[0]", "number[0].each[0].each[1]", "number[0].each[1]"]
    assert rows[0].place("b") == "number[0].each[0].b" and rows[1].place("a") == "number[0].each[0].each[1].a"
