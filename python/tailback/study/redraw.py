"""Draws one figure of a reproduced study again from its stored runs, in another width or style."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from tailback.core.verdict import told
from tailback.study import figures as kinds
from tailback.study import load as studies
from tailback.study.errors import StudyError
from tailback.study.figures import Drawing
from tailback.study.judge import unsettled
from tailback.study.model import Experiment
from tailback.study.repeat import Repeat, with_asked
from tailback.study.reproduce import wanted
from tailback.study.study import Study
from tailback.study.tables import TABLES
from tailback.study.work.needed import Work


def redraw(folder: Path, name: str) -> Any:
    """The figure `name` of a folder of `tailback reproduce`. The name is that of an experiment, with `-2` for its
    second figure.

    Raises StudyError if there is no figure of that name, or if its runs are not stored.
    """
    record = told.read(folder)
    if record.replaced:
        raise StudyError(
            f"another queue ran under a name of {record.study.id} here; figures are in {folder / 'figures'}"
        )
    study = studies.load(record.study.id)
    experiment, figure_number = _named(study, name)
    study, work = _work(study, experiment, record, folder)
    samples = work.read(wanted(study, [experiment]), {})
    kinds.load()
    study.code.draws()
    figures: list[Any] = []
    for output in experiment.output:
        if output["kind"] not in TABLES:
            figure_drawn = kinds.FIGURES[output["kind"]](Drawing(study, experiment, output, record.mode, samples))
            figures += [fig for _, fig in figure_drawn] if isinstance(figure_drawn, list) else [figure_drawn]
    figures = [fig for fig in figures if fig is not None]
    if not 1 <= figure_number <= len(figures):
        raise StudyError(f"{experiment.id} has {len(figures)} figures here; there is no {name}")
    return figures[figure_number - 1]


def _named(study: Study, name: str) -> tuple[Experiment, int]:
    by_id = {e.id: e for e in study.experiments}
    if name in by_id:
        return by_id[name], 1
    stem, _, number_text = name.rpartition("-")
    if stem in by_id and number_text.isdecimal():
        return by_id[stem], int(number_text)
    names = ", ".join(e.id for e in study.experiments if any(o["kind"] not in TABLES for o in e.output))
    raise StudyError(f'{study.id} has no figure "{name}"; its figures are those of {names}')


def _work(study: Study, e: Experiment, said: told.Told, folder: Path) -> tuple[Study, Work]:
    """The data of the figure, if all of it is stored."""
    if said.overrides:
        study, _ = with_asked(study, said.overrides, [e], said.mode)
    for seeds in (None, said.seeds or None):
        work = Work(study, [e], Repeat(said.mode, seeds, said.overrides), folder)
        work.settle(partial(unsettled, study))
        forecast = work.estimate()
        if forecast.stored == forecast.runs:
            return study, work
    lacks = forecast.runs - forecast.stored
    raise StudyError(
        f"{lacks} of the {forecast.runs} runs of {e.id} are not stored in {folder}; `{said.command}` runs them"
    )
