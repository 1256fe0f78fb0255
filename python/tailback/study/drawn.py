"""Figures of a study. A figure is drawn only if its files are missing, changed or out of date.

`study.json` has a key for each drawn output, and the SHA-256 of its files. The key is computed from everything that
decides the figures:

    data       the runs of its sets by their keys (a run has another key when its scenario, its seed or the simulator
               differs), answers without packets, the measured numbers, and the study's data on them: axes, titles,
               published values, statements
    code       the Python source of this package, without the packages that no figure uses (`APART`), and the
               code of the study
    libraries  the versions of the libraries that draw and write
    style      matplotlib's settings under ours, and the kinds of files

A figure with the same key and unchanged files is not drawn again.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tailback.core.store import fingerprint
from tailback.core.store.paths import file_name
from tailback.core.store.sources import RunSource, Stored
from tailback.study import figures as kinds
from tailback.study.bundle import sha256
from tailback.study.figures import Drawing
from tailback.study.measures import MEASURES
from tailback.study.model import Experiment

#: Packages that no figure of a study uses. A test compares this list with the imports of figures. The code of studies
#: is in their own keys.
APART = ("cli", "apps/ask/link", "runs/live", "show/report", "studies")
#: The libraries that draw, count, and write PNG and the fonts of PDF.
LIBRARIES = ("matplotlib", "numpy", "PIL", "fontTools")
#: matplotlib's settings for where figures are shown, which do not change the look of figures.
SHOWN = ("animation.", "backend", "figure.raise_window", "interactive", "keymap.", "tk.", "toolbar", "webagg.")

#: A figure: its caption, and its files with their SHA-256. A figure with nothing to show has no files.
Made = dict[str, Any]


class Drawn:
    """Finds the existing figures of a folder of results, and draws the missing ones."""

    def __init__(self, out: Path, beside: Sequence[str] = ()) -> None:
        from tailback.core.figure_style import IN_PAGE

        self.out = out
        #: The kinds of files of a figure.
        self.kinds = (*dict.fromkeys(beside), IN_PAGE)
        self.before: dict[str, list[Made]] = {}
        try:
            sections = json.loads((out / "study.json").read_text(encoding="utf-8"))["sections"]
            self.before = {x["key"]: x["figures"] for s in sections for x in s["drawn"]}
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            # There are no figures here, or another version made them, or they are damaged, so all figures are drawn.
            pass

    def figures(self, d: Drawing, number: int) -> dict[str, Any]:
        """The figures of one output, and their key. `number` figures come before them in the experiment."""
        key = key_of(d, number, self.kinds)
        if not self._there(key, d, number):
            self.before[key] = self._draw(d, number)
        return {"key": key, "figures": self.before[key]}

    def _there(self, key: str, d: Drawing, number: int) -> bool:
        """Whether every file is unchanged since it was written under this key."""
        try:
            for figure in self.before[key]:
                if not isinstance(figure["caption"], str):
                    return False
                if not figure["files"]:
                    continue
                number += 1
                paths = [p.relative_to(self.out).as_posix() for p in self._paths(d, number)]
                # The file for small screens exists if the figure can be drawn narrow.
                if list(figure["files"]) not in (paths, paths[:-1]):
                    return False
                if any(sha256(self.out / f) != h for f, h in figure["files"].items()):
                    return False
        except (OSError, KeyError, TypeError, AttributeError):
            return False
        return True

    def _draw(self, d: Drawing, number: int) -> list[Made]:
        from tailback.show import plots

        kinds.load()
        d.study.code.draws()
        figure_drawn = kinds.FIGURES[d.output["kind"]](d)
        figures = []
        for caption, fig in (
            figure_drawn if isinstance(figure_drawn, list) else [(d.output.get("caption", ""), figure_drawn)]
        ):
            files: list[Path] = []
            if fig is not None:
                number += 1
                files = plots.save(fig, self._stem(d.experiment, number), self.kinds, small=True)
            figures.append(
                {"caption": caption, "files": {f.relative_to(self.out).as_posix(): sha256(f) for f in files}}
            )
        return figures

    def _paths(self, d: Drawing, number: int) -> list[Path]:
        from tailback.core.figure_style import SMALL

        stem = self._stem(d.experiment, number)
        return [*(Path(f"{stem}.{kind}") for kind in self.kinds), Path(f"{stem}{SMALL}.svg")]

    def _stem(self, e: Experiment, number: int) -> Path:
        return self.out / "figures" / file_name(e.id if number == 1 else f"{e.id}-{number}")


def asked(e: Experiment, output: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(set of runs, class, measure) of the numbers that an output needs."""
    for runs in _sets(e, output):
        for m in [output.get("measure"), *output.get("measures", [])]:
            if m in MEASURES:
                yield from ((runs, klass, m) for klass in output.get("classes", ["all"]))


def _sets(e: Experiment, output: dict[str, Any]) -> list[str]:
    names = output.get("runs", e.runs)
    return [names] if isinstance(names, str) else list(names)


def key_of(d: Drawing, number: int, kinds: Sequence[str]) -> str:
    """32 hexadecimal digits that are computed from everything that decides the figures of an output."""
    h = hashlib.sha256()
    made_by = (code(), d.study.code.digest, libraries(), repr(kinds), _style())
    for key_part in (*made_by, _words(d, number), *_runs(d), *_numbers(d)):
        h.update(key_part if isinstance(key_part, bytes) else key_part.encode())
        h.update(b"\n")
    return h.hexdigest()[:32]


@functools.cache
def code() -> str:
    """A hash of the source that makes figures, and of the engine."""
    root = Path(__file__).resolve().parents[1]
    h = hashlib.sha256(fingerprint.build().encode())
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        if not any(name.is_relative_to(room) for room in APART):
            h.update(f"\n{name.as_posix()}\n".encode())
            h.update(path.read_bytes())
    return h.hexdigest()


@functools.cache
def libraries() -> str:
    # This module is imported before any part of matplotlib.
    importlib.import_module("tailback.core.figure_style")
    return ", ".join(f"{name} {importlib.import_module(name).__version__}" for name in LIBRARIES)


def _style() -> str:
    from tailback.core import figure_style

    visible_settings = {k: v for k, v in figure_style.settings().items() if not k.startswith(SHOWN)}
    return repr(sorted(visible_settings.items()))


def _words(d: Drawing, number: int) -> str:
    """The contents of the study's files: the output and its sets of runs, titles, and published values. The text has no
    paths, because a study has the same figures in any folder, and no costs of runs."""
    s, sets = d.study, _sets(d.experiment, d.output)
    runs = [replace(s.runs[name], scenario=None, file="", cost_s={}) for name in sets]
    published_numbers = [p for p in s.published if p.runs in sets]
    statements = [x for x in s.statements if any(getattr(c, "runs", None) in sets for c in x.checks)]
    about = [d.experiment.id, d.experiment.where, number, d.output, d.mode]
    return repr([about, runs, s.disciplines, s.pairs, s.replaced, published_numbers, statements])


def _runs(d: Drawing) -> Iterator[str | bytes]:
    """The runs of each point, as parts of a key."""
    sets = _sets(d.experiment, d.output)
    for (name, point), (_, _, sources) in d.samples.stored.items():
        if name in sets:
            yield repr((name, point))
            for seed, source in sources:
                yield str(seed)
                yield from _source(source)


def _source(source: RunSource) -> Iterator[str | bytes]:
    if isinstance(source, Stored):
        yield source.key
        return
    yield repr(source.values)
    for name, column in source.columns("series").items():
        yield f"{name} {column.dtype}"
        yield repr(column.tolist())


def _numbers(d: Drawing) -> Iterator[str | bytes]:
    points = list(d.samples.stored)
    for runs, klass, measure in asked(d.experiment, d.output):
        for name, point in points:
            if name == runs:
                x = d.samples.get(runs, point, klass, measure)
                yield repr((point, klass, measure))
                yield b"" if x is None else x.tobytes()
