"""Outputs of a study: what is wrong with one is said with file, place, value and remedy before anything is run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import Cli

from tailback.study import figures, outputs, reproduce
from tailback.study import load as study
from tailback.study.tables import TABLES

OWN = "[[experiment.output]]\n"
ROW = '[[experiment.output.row]]\nname = "a"\nqueue = "red"\nsays = "b"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of a small study."""
    return Path(shutil.copytree(Path(study.__file__).parents[1] / "studies/unresponsive", tmp_path / "mine"))


def with_output(folder: Path, text: str) -> Path:
    """Another output behind those of the study's last experiment."""
    file = folder / "experiments.toml"
    file.write_text(file.read_text() + OWN + text)
    return file


def test_every_kind_that_is_drawn_is_declared_and_no_other() -> None:
    figures.load()
    assert {*figures.FIGURES.known_to(""), *TABLES.known_to("")} == set(outputs.KINDS.known_to(""))
    for name in study.known():
        code = study.load(name).code
        code.draws()
        made = {*figures.FIGURES.known_to(code.package), *TABLES.known_to(code.package)}
        assert made == set(outputs.KINDS.known_to(code.package)), name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'kind = "table"\nmeasures = ["exess"]',
            '.measures = "exess": there is none of that name; did you mean',
        ),
        (
            'kind = "tabel"\nmeasures = ["excess"]',
            '.kind = "tabel": there is none of that name; did you mean "table"',
        ),
        ('measures = ["excess"]', 'output[2]: the key "kind" is missing; add kind = ...'),
        ('kind = "table"', 'the key "measures" is missing; add measures = ...'),
        ('kind = "table"\nmeasures = ["excess"]\nclases = ["cbr"]', 'no key "clases"; did you mean "classes"?'),
        ('kind = "curves"', 'it draws nothing; add measure = "..." or measures = [...]'),
        (
            'kind = "curves"\nmeasure = "excess"\nx = "rat"',
            '.x = "rat": there is none of that name; there are',
        ),
        (
            'kind = "table"\nmeasures = ["excess"]\nruns = "flows"',
            '.runs = "flows": there is none of that name',
        ),
        ('kind = "table"\nmeasures = ["excess"]\nwhere = { sends = "9" }', 'output[2].where = "sends": there is none'),
        ('kind = "table"\nmeasures = ["excess"]\nwhere = { queue = "hfsc" }', "no point of the runs has these labels"),
        ('kind = "gateway"', '.kind = "gateway": there is none of that name'),
        (
            'kind = "claims"\n[[experiment.output.row]]\nname = "a"\nqueue = "red"\nsays = "b"\nstatements = ["z"]',
            ".statements",
        ),
        (
            'kind = "cells"\nmetrics = ["goodputs"]',
            '.metrics = "goodputs": there is none of that name; there are',
        ),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_run(folder: Path, cli: Cli, text: str, said: str) -> None:
    file = with_output(folder, text)
    done = cli("reproduce", folder, "--quick", "--out", folder.parent / "out")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    told = " ".join(done.stderr.split())
    assert said in told and file.name in told
    assert not (folder.parent / "out").exists()


def test_a_figure_that_finds_nothing_says_so(folder: Path, tmp_path: Path) -> None:
    # Nothing is recorded there.
    with_output(folder, 'kind = "windows"\ncaption = "Who loses when."')
    s = study.load(folder)
    e = s.experiments[-1]
    found = reproduce._section(s, e, "quick", reproduce.Samples(), tmp_path / "out", reproduce.Drawn(tmp_path / "out"))
    assert "Not drawn (Who loses when.): no point of it has a value in quick." in found["notes"]
