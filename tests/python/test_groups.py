"""Rows of a study's files that share keys: what they stand for, and what is said of one that is wrong."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tailback.study.checks.limit import Limit
from tailback.study.data import groups
from tailback.study.data.published import read_published
from tailback.study.data.statement import read_statement
from tailback.study.errors import StudyError

STATEMENTS = """
[[statement]]
id = "a"
sentence = "A."

[[statement]]
sentence = "B."
runs = "r"
measure = "sd"
gate = false
check = [{ of = "x", above = 1 }]
[[statement.each]]
id = "b"

[[statement.each]]
id = "c"
gate = true
check = [{ of = "y", above = 2, measure = "share" }]
"""


def statements(file: Path, text: str) -> list[Any]:
    file.write_text(text)
    rows = groups.rows(tomllib.loads(text)["statement"], "statement", file)
    return [read_statement(row, file) for row in rows]


def test_statements_have_the_keys_above_them_and_their_own(tmp_path: Path) -> None:
    a, b, c = statements(tmp_path / "s.toml", STATEMENTS)
    assert [a.id, b.id, c.id] == ["a", "b", "c"] and [a.gate, b.gate, c.gate] == [True, False, True]
    assert (a.sentence, a.checks) == ("A.", ())
    assert b.sentence == c.sentence == "B."
    assert b.checks == (Limit(runs="r", measure="sd", of="x", above=1),)
    assert c.checks == (Limit(runs="r", measure="share", of="y", above=2),)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        # A shared key is named where it stands, one of a row there.
        ('sentence = "B."', "sentence = 3", "s.toml:7: statement[1].sentence = 3: expected a text, got a whole number"),
        ("gate = false", 'gaet = "x"', 's.toml:10: statement[1]: there is no key "gaet"; did you mean "gate"?'),
        ("gate = true", "gate = 1", "s.toml:17: statement[1].each[1].gate = 1: expected true or false, got a"),
        ('runs = "r"', "runs = 1", "s.toml:8: statement[1].runs = 1: expected"),
        ("above = 1 }", "abvoe = 1 }", 's.toml:11: statement[1].check[0]: there is no key "abvoe"'),
        ("above = 2,", "abvoe = 2,", 's.toml:18: statement[1].each[1].check[0]: there is no key "abvoe"'),
        ("gate = false", 'id = "d"', "s.toml:10: statement[1].id = 'd': each row needs its own"),
        ('id = "b"', "", 's.toml:12: statement[1].each[0]: the key "id" is missing; add id = ...'),
    ],
)
def test_what_is_wrong_is_said_where_it_stands(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert STATEMENTS.count(old) == 1
    with pytest.raises(StudyError) as e:
        statements(tmp_path / "s.toml", STATEMENTS.replace(old, new))
    assert said in str(e.value)


def test_rows_without_a_table_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"s\.toml:3: statement\[0\]\.each = 3: .* write \[\[statement\.each\]\]"):
        statements(tmp_path / "s.toml", '[[statement]]\nsentence = "x"\neach = 3\n')


def test_published_numbers_share_keys(tmp_path: Path) -> None:
    text = """
[[number]]
source = "table 1"
experiment = "e"
runs = "r"
queue = "x"
measure = "sd"
each = [
    { id = "a", value = 1, tolerance = 0.1 },
    { id = "b", value = 2, rule = "band", low = 0.5, high = 2.0, queue = "y" },
]
"""
    file = tmp_path / "p.toml"
    a, b = read_published(tomllib.loads(text), file)
    assert (a.id, a.queue, a.value, b.id, b.queue, b.value) == ("a", "x", 1, "b", "y", 2)
    assert type(a) is not type(b)
    for old, new, said in (
        ('"band"', '"bend"', 'p.toml:10: number[0].each[1].rule = "bend": there is no such rule; there are band'),
        ("value = 1", 'value = "1"', "p.toml:9: number[0].each[0].value = '1': expected a number, got a text"),
        ('runs = "r"', "runs = 2", "p.toml:5: number[0].runs = 2: expected a text"),
    ):
        file.write_text(text.replace(old, new))
        with pytest.raises(StudyError) as e:
            read_published(tomllib.loads(file.read_text()), file)
        assert said in str(e.value)


CASES = """
[[runs.r.case]]
labels = { queue = ["a", "b"], n = [1, 2, 5] }
set = ["x.count={n}", 'x.impair=[{ kind = "loss", max = "{n}us" }]']
fair_share = "{n}kbps"
quick = { queue = "a", n = [1, 5] }
[[runs.r.case]]
labels = { queue = "c" }
values = { delay = "5ms" }
set = ["y.delay={delay}"]
full = false
each = [
    { labels = { n = 1 } },
    { labels = { n = 2 }, values = { delay = "7ms" }, set = ["z=1"], full = true },
    { labels = { n = 3 }, quick = false, full = true, roles = { t = { k = 1 } } },
]
"""


def cases(file: Path, text: str) -> list[dict[str, Any]]:
    file.write_text(text)
    return groups.cases(tomllib.loads(text)["runs"]["r"]["case"], "runs.r", file)


def test_a_case_stands_for_every_combination_of_its_labels(tmp_path: Path) -> None:
    found = cases(tmp_path / "e.toml", CASES)
    assert [tuple(c["labels"].values()) for c in found] == [
        *(("a", 1), ("a", 2), ("a", 5), ("b", 1), ("b", 2), ("b", 5)),
        *(("c", 1), ("c", 2), ("c", 3)),
    ]
    assert found[4]["set"] == ["x.count=2", 'x.impair=[{ kind = "loss", max = "2us" }]']
    assert [c.get("fair_share") for c in found] == [*["1kbps", "2kbps", "5kbps"] * 2, None, None, None]
    both, full, quick = ["quick", "full"], ["full"], ["quick"]
    assert [c["modes"] for c in found] == [both, full, both, full, full, full, quick, both, full]
    assert [c["set"] for c in found[6:]] == [["y.delay=5ms"], ["y.delay=7ms", "z=1"], ["y.delay=5ms"]]
    assert [c.get("roles") for c in found[7:]] == [None, {"t": {"k": 1}}]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("x.count={n}", "x.count={m}", 'e.toml:4: runs.r.case[0].set = "x.count={m}": there is no label or value "m"'),
        ("{n}kbps", "{k}kbps", 'e.toml:5: runs.r.case[0].fair_share = "{k}kbps": there is no label or value "k"'),
        ('quick = { queue = "a"', 'quick = { quue = "a"', 'e.toml:6: runs.r.case[0].quick: there is no label "quue"'),
        ("full = false\n", "fulll = false\n", 'e.toml:11: runs.r.case[1]: there is no key "fulll"'),
        ('set = ["z=1"]', "set = 1", "e.toml:14: runs.r.case[1].each[1].set = 1: expected a list"),
        ("quick = false, full = true,", "quick = false,", "e.toml:15: runs.r.case[1].each[2]: neither quick nor full"),
    ],
)
def test_what_is_wrong_with_a_case_is_said_where_it_stands(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert CASES.count(old) == 1
    with pytest.raises(StudyError) as e:
        cases(tmp_path / "e.toml", CASES.replace(old, new))
    assert said in str(e.value)
