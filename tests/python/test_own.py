"""Code that a study brings: a study from elsewhere with a measure, a function, a table and a figure of its own."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Cli

from tailback.study import bundle, own
from tailback.study.errors import StudyError
from tailback.study.load import load
from tailback.study.measures import MEASURES
from tailback.study.reproduce import reproduce

FILES = {
    "study.toml": 'id = "coins"\ntitle = "Coins"\ncitation = "none"\n',
    "experiments.toml": """
[discipline.x]
title = "X"
queue = { kind = "droptail" }
[runs.c]
compute = "toss"
seeds = { quick = 2, full = 2 }
axis.queue = { disciplines = ["x"] }
axis.n = { both = [10, 20] }
[[experiment]]
id = "e"
title = "tossing"
runs = "c"
[[experiment.output]]
kind = "table"
measures = ["heads", "heads_share"]
[[experiment.output]]
kind = "listed"
words = ["a", "b"]
[[experiment.output]]
kind = "dots"
""",
    "statements.toml": """
[[statement]]
experiment = "e"
runs = "c"
measure = "heads_share"
sentence = "Half of them are heads."
[[statement.each]]
id = "s"
check = [{ of = "x", between = [50, 50] }]
""",
    "computed.py": """
from tailback.study.computed import computed
from tailback.study.measures import value

value("heads", "Heads", "1", "coins that show their heads")


@computed("toss")
def toss(labels, seed, options):
    return {"values": {"heads": float(labels["n"]) / 2, "tossed": float(labels["n"])}}
""",
    "measures/shares.py": """
from tailback.study.measures import measure


@measure("heads_share", "Heads", "%", "heads over coins")
def heads_share(run, klass):
    return 100 * run.values["heads"] / run.values["tossed"]
""",
    "outputs.py": """
from tailback.study.outputs import Output, output


@output("listed")
class Listed(Output, kw_only=True, frozen=True):
    words: list[str]


@output("dots")
class Dots(Output, kw_only=True, frozen=True):
    pass
""",
    "tables.py": """
from tailback.study.tables import table


@table("listed")
def listed(d, out, number):
    return [{"caption": "", "heads": [["Word", ""]], "rows": [[w] for w in d.output["words"]], "text_columns": 1,
             "file": ""}]
""",
    "figures.py": """
from tailback.show import plots
from tailback.study.figures import figure

from .measures.shares import heads_share


@figure("dots")
@plots.styled
def dots(d):
    view = d.view(*d.points()[0])
    fig, axes = plots.grid(4, 3, 1, 1)
    axes[0, 0].plot([0, 1], [0, heads_share(view, "all")], "o")
    return fig
""",
}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    for name, text in FILES.items():
        file = tmp_path / "coins" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    yield tmp_path / "coins"
    for name in {of for r in own.REGISTRIES for of in r.brought.values()}:
        if str(tmp_path) in str(sys.modules[name].__path__):
            own.forget(name)


def test_a_study_from_elsewhere_brings_its_measures_functions_tables_and_figures(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    r = reproduce(load(folder), out=out)
    assert [(v.id, v.outcome, v.measured) for v in r.verdicts] == [
        ("s", "reproduced", "X 50.0 ± 0.0 % at 10 n; X 50.0 ± 0.0 % at 20 n")
    ]
    section = r.sections[0]
    assert [t["rows"] for t in section["tables"]] == [
        [["X", "10", "5.000 ± 0.000", "50.0 ± 0.0", "2"], ["X", "20", "10.000 ± 0.000", "50.0 ± 0.0", "2"]],
        [["a"], ["b"]],
    ]
    assert len(section["figures"]) == 1 and (out / "figures/e.svg").is_file()


def test_the_code_of_a_study_decides_whether_its_figures_are_drawn_again(folder: Path, tmp_path: Path) -> None:
    def key() -> str:
        return str(reproduce(load(folder), out=tmp_path / "out").sections[0]["drawn"][0]["key"])

    before, digest = key(), bundle.digest_of(load(folder))
    compiled = folder / "__pycache__" / "figures.pyc"
    compiled.parent.mkdir(exist_ok=True)
    compiled.write_bytes(b"x")
    assert key() == before and bundle.digest_of(load(folder)) == digest
    file = folder / "figures.py"
    file.write_text(file.read_text().replace('"o"', '"x"'))
    assert key() != before and bundle.digest_of(load(folder)) != digest


def test_a_copy_with_the_same_code_is_the_same_code(folder: Path, tmp_path: Path) -> None:
    first = load(folder)
    shutil.copytree(folder, tmp_path / "coins-2", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(folder)
    second = load(tmp_path / "coins-2")
    assert second.code == first.code
    assert len(reproduce(second, out=tmp_path / "out").sections[0]["figures"]) == 1


def test_what_one_study_brings_another_does_not_have(folder: Path, tmp_path: Path) -> None:
    load(folder)
    other = tmp_path / "other"
    other.mkdir()
    for name in ("study.toml", "experiments.toml"):
        shutil.copy(folder / name, other)
    with pytest.raises(
        StudyError, match=r'experiments\.toml:\d+: runs\.c\.compute = "toss": there is no such function'
    ):
        load(other)


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("computed.py", '"heads", "Heads"', '"share", "Heads"', 'computed.py:5: two measures are called "share"; give'),
        ("computed.py", "def toss(", "def toss(:", "computed.py:9: "),
        ("measures/shares.py", "import measure", "import mesure", "shares.py:2: ImportError: cannot import name"),
        ("outputs.py", '"dots"', '"curves"', 'outputs.py:10: two kinds of outputs are called "curves"; give this one'),
        (
            "computed.py",
            '"toss"',
            '"tosss"',
            'runs.c.compute = "toss": there is no such function; did you mean "tosss"',
        ),
        ("experiments.toml", '"heads", ', '"haeds", ', '.measures = "haeds": there is none of that name; did you mean'),
        ("experiments.toml", "words = [", "word = [", 'no key "word"; did you mean "words"?'),
    ],
)
def test_what_is_wrong_with_it_is_said(folder: Path, cli: Cli, file: str, old: str, new: str, said: str) -> None:
    path = folder / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    done = cli("reproduce", folder, "--quick", "--out", folder.parent / "out")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert said in " ".join(done.stderr.split())
    assert not (folder.parent / "out").exists()


def test_a_module_and_a_folder_of_one_name_are_refused(folder: Path) -> None:
    (folder / "measures.py").write_text("")
    with pytest.raises(StudyError, match=r"both measures\.py and a folder measures"):
        load(folder)


def test_a_module_that_fails_leaves_nothing_behind(folder: Path) -> None:
    file = folder / "computed.py"
    text = file.read_text()
    file.write_text(text + "1 / 0\n")
    for _ in range(2):
        with pytest.raises(StudyError, match=r"computed\.py:11: ZeroDivisionError: division by zero; correct"):
            load(folder)
    assert "heads" not in MEASURES
    file.write_text(text)
    assert load(folder).runs["c"].compute == "toss"
