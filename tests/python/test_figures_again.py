"""Figures of a study that is reproduced again: drawn where their data, the code, a library or the style differ, and
where their files are not what was written; left as they are otherwise."""

from __future__ import annotations

import ast
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib
import pytest

import tailback
from tailback.core import figure_style
from tailback.show import plots
from tailback.study import drawn, figures
from tailback.study import load as studies
from tailback.study.errors import StudyError
from tailback.study.redraw import redraw
from tailback.study.repeat import Repeat
from tailback.study.reproduce import reproduce

pytestmark = pytest.mark.slow

FILES = {
    "link.toml": """
duration = "2s"
warmup = "500ms"
topology = { kind = "dumbbell", rate = "5Mbps", delay = "10ms", queue = { kind = "droptail", buffer = "20 packets" } }
[flows.bulk]
count = 2
start = { kind = "uniform", to = "300ms" }
""",
    "study.toml": 'id = "tiny"\ntitle = "Two lines"\ncitation = "None."\n',
    "experiments.toml": """
[discipline.droptail]
title = "Drop-tail"
queue = { kind = "droptail" }
[runs.link]
scenario = "link.toml"
seeds = { quick = 2, full = 2 }
cost_s = 1
[runs.link.axis.queue]
disciplines = ["droptail"]
paths = ["topology.queue"]
[runs.link.axis.buffer]
title = "Buffer"
unit = "packets"
paths = ["topology.queue.buffer"]
both = [10, 40]
[runs.other]
like = "link"
[[experiment]]
id = "use"
title = "Utilisation"
runs = "link"
output = [{ kind = "curves", measure = "utilisation" },
          { kind = "curves", measure = "utilisation", classes = ["nobody"], caption = "none" },
          { kind = "curves", measure = "share", classes = ["all", "bulk"], caption = "shares" }]
[[experiment]]
id = "again"
title = "The same by another name"
runs = "other"
output = [{ kind = "curves", measure = "utilisation" }]
""",
    "published.toml": """
[[number]]
id = "busy"
experiment = "use"
runs = "link"
queue = "droptail"
source = "p. 1"
where = { buffer = "10" }
measure = "utilisation"
value = 90.0
tolerance = 0.5
""",
    "statements.toml": """
[[statement]]
id = "busier"
sentence = "The link is busy."
source = "p. 2"
experiment = "use"
runs = "link"
measure = "utilisation"
check = [{ of = "droptail", between = [20, 100] }]
""",
}


@pytest.fixture
def study(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The experiments whose drawing function was called, in order."""
    called: list[str] = []
    curves = figures.load()["curves"]

    def count(d: figures.Drawing) -> figures.Drawn:
        called.append(d.experiment.id)
        return curves(d)

    monkeypatch.setitem(figures.FIGURES, "curves", count)
    return called


def made(study: Path, out: str = "o", **more: Any) -> Path:
    folder = study.parent / out
    reproduce(studies.load(study), how=Repeat(**more), out=folder)
    return folder


def held(out: Path) -> dict[str, tuple[bytes, int]]:
    return {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in (out / "figures").iterdir()}


def test_what_is_there_is_not_drawn_again(study: Path, calls: list[str]) -> None:
    out = made(study)
    assert calls == ["use", "use", "use", "again"]
    names = {f"{stem}{kind}" for stem in ("use", "use-2", "again") for kind in (".svg", "-small.svg")}
    before, said = held(out), (out / "study.json").read_bytes()
    assert set(before) == names
    made(study)
    assert len(calls) == 4 and held(out) == before and (out / "study.json").read_bytes() == said
    assert b"Not drawn (none)" in said and b"data:image" in (out / "report.html").read_bytes()


def test_a_figure_is_drawn_again_for_another_sheet(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = made(study)
    monkeypatch.setenv("TAILBACK_STUDIES", str(study.parent))
    with plots.on(3.5, "paper"):
        figure = redraw(out, "use-2")
    assert figure.get_figwidth() == 3.5 and "share" in figure.axes[0].get_ylabel().lower()
    with pytest.raises(StudyError, match='tiny has no figure "no"; its figures are those of use, again'):
        redraw(out, "no")
    for part in (out / "runs/link").glob("*"):
        shutil.rmtree(part)
    with pytest.raises(StudyError, match="of the 4 runs of use are not stored in"):
        redraw(out, "use")


def test_another_folder_has_the_same_keys_and_bytes(study: Path) -> None:
    a, b = made(study), made(study, "elsewhere")
    assert (a / "study.json").read_bytes() == (b / "study.json").read_bytes()
    assert {k: x for k, (x, _) in held(a).items()} == {k: x for k, (x, _) in held(b).items()}


def edit(file: str, old: str, new: str) -> Callable[[Path], None]:
    def change(study: Path) -> None:
        text = (study / file).read_text()
        assert old in text
        (study / file).write_text(text.replace(old, new))

    return change


def delete(study: Path) -> None:
    (study.parent / "o/figures/use-2.svg").unlink()


def damage(study: Path) -> None:
    path = study.parent / "o/figures/use.svg"
    path.write_bytes(path.read_bytes()[:-1])


def forget(study: Path) -> None:
    (study.parent / "o/study.json").write_text('{"sections": [{"drawn": [{"key": "x"')


@pytest.mark.parametrize(
    ("change", "again"),
    [
        (delete, ["use"]),
        (damage, ["use"]),
        (forget, ["use", "use", "use", "again"]),
        (edit("published.toml", "value = 90.0", "value = 80.0"), ["use"] * 3),
        (edit("statements.toml", "[20, 100]", "[30, 100]"), ["use"] * 3),
        (edit("experiments.toml", 'title = "Buffer"', 'title = "Room"'), ["use", "use", "use", "again"]),
        (edit("experiments.toml", 'caption = "shares"', 'caption = "parts"'), ["use"]),
        (edit("link.toml", "5Mbps", "6Mbps"), ["use", "use", "use", "again"]),
        (edit("study.toml", "Two lines", "Three"), []),
        (edit("experiments.toml", "cost_s = 1", "cost_s = 2"), []),
    ],
    ids=lambda x: "" if isinstance(x, list) else x.__name__,
)
def test_what_differs_is_drawn_again(
    study: Path, calls: list[str], change: Callable[[Path], None], again: list[str]
) -> None:
    before = held(out := made(study))
    calls.clear()
    change(study)
    made(study)
    assert calls == again and set(held(out)) == set(before)
    assert held(out)["use.svg"][0].rstrip().endswith(b"</svg>")
    # And then they are there.
    made(study)
    assert calls == again


def test_another_number_is_drawn(study: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    made(study)
    calls.clear()
    made(study, seeds=3)
    assert calls == ["use", "use", "use", "again"]
    # Also a number that the same runs give otherwise.
    calls.clear()
    utilisation = drawn.MEASURES["utilisation"]
    monkeypatch.setattr(type(utilisation), "on", lambda m, view, klass: 50.0)
    made(study, seeds=3)
    # The class without flows has no number.
    assert calls == ["use", "use", "again"]


def test_style_code_and_libraries_are_part_of_a_figure(
    study: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = made(study)
    first = held(out)
    every = ["use", "use", "use", "again"]

    def drawn_again(*beside: str) -> bool:
        calls.clear()
        made(study, figures=beside)
        return calls == every

    monkeypatch.setitem(figure_style.STYLE, "font.size", 11)
    monkeypatch.setitem(figure_style.STYLE, "axes.labelsize", 12)
    assert drawn_again() and held(out)["use.svg"][0] != first["use.svg"][0]
    # The user's own settings, under ours.
    monkeypatch.setitem(matplotlib.rcParams, "xtick.minor.visible", True)
    assert drawn_again()
    monkeypatch.setitem(matplotlib.rcParams, "keymap.quit", ["x"])
    assert not drawn_again()
    # Other kinds of files only where they are asked for.
    assert {p.suffix for p in (out / "figures").iterdir()} == {".svg"}
    assert drawn_again("png") and (out / "figures/use.png").is_file()
    assert not drawn_again("png") and 'href="figures/use.png"' in (out / "report.html").read_text()
    assert drawn_again() and "use.png" not in (out / "report.html").read_text()
    monkeypatch.setattr(drawn, "libraries", lambda: "matplotlib 99")
    assert drawn_again()
    monkeypatch.setattr(drawn, "code", lambda: "another source")
    assert drawn_again()
    assert not drawn_again()


def test_a_record_that_names_other_files_is_not_believed(study: Path, calls: list[str]) -> None:
    out = made(study)
    calls.clear()
    said = json.loads((out / "study.json").read_text())
    figure = said["sections"][0]["drawn"][0]["figures"][0]
    figure["files"] = {f"figures/../{name}": digest for name, digest in figure["files"].items()}
    (out / "study.json").write_text(json.dumps(said))
    made(study)
    assert calls == ["use"]


ROOT = Path(tailback.__file__).parent


def imported(file: Path) -> Iterator[Path]:
    """The files of the package that a file imports, wherever in it."""
    for n in ast.walk(ast.parse(file.read_text())):
        names = [a.name for a in n.names] if isinstance(n, ast.Import) else []
        if isinstance(n, ast.ImportFrom) and n.module is not None:
            names = [n.module, *(f"{n.module}.{a.name}" for a in n.names)]
        for name in names:
            at = ROOT.parent.joinpath(*name.split("."))
            yield from (
                p for p in (at / "__init__.py", at.with_suffix(".py")) if p.is_file() and p.parent != ROOT.parent
            )


def test_the_source_that_is_hashed_is_all_that_figures_import() -> None:
    todo = [p for room in ("show/plots", "study/figures") for p in (ROOT / room).glob("*.py")]
    of_studies = {p for name in ("figures.py", "figures/*.py") for p in (ROOT / "studies").glob(f"*/{name}")}
    assert len(of_studies) > 5
    todo += of_studies
    seen: set[Path] = set()
    while todo:
        file = todo.pop()
        if file not in seen:
            seen.add(file)
            todo += [p for p in imported(file) if p != ROOT / "__init__.py"]
    assert len(seen) > 50
    assert not [p for p in seen - of_studies if any(p.is_relative_to(ROOT / room) for room in drawn.APART)]
    assert all((ROOT / room).is_dir() for room in drawn.APART)
