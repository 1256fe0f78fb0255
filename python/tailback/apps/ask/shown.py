"""The measures of an answer as a table: for a terminal, and as the cells of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tailback.apps.ask.ranking import Place, Ranking
from tailback.apps.ask.words import capital
from tailback.core.results.summary import NumberCell, scale, side_by_side

#: The note below a table of means over seeds.
BEST = "Mean ± 95 % interval over seeds; * no other is better by this measure."


@dataclass(frozen=True)
class PageCell:
    """A mean with half of its interval, and whether no other place is better."""

    mean: str
    half: str
    best: bool


@dataclass(frozen=True)
class MeasureColumn:
    """A measure, with a cell for each place."""

    title: str
    head: str
    unit: str
    cells: list[PageCell]


def columns(ranking: Ranking[Any]) -> list[MeasureColumn]:
    """The measures of a ranking, with a cell for each place."""
    measure_columns = []
    for measure in ranking.measures:
        estimates = [ranking.estimate(measure.name, p.queue) for p in ranking.places]
        unit, cells = _written(measure.unit, [(e.mean, e.half_width) for e in estimates])
        best = ranking.unbeaten(measure.name) if measure.better else []
        of_places = zip(cells, ranking.places, strict=True)
        page_cells = [PageCell(*c, p.queue in best) for c, p in of_places]
        measure_columns.append(MeasureColumn(capital(measure.title), measure.head, unit, page_cells))
    return measure_columns


def _written(unit: str, estimates: Sequence[tuple[float, float]]) -> tuple[str, list[NumberCell]]:
    """The unit of a column, and each mean with the half-width of its interval."""
    name, show = scale(unit, [mean for mean, _ in estimates], places=3)
    return name, [show(mean, half) for mean, half in estimates]


def heads(ranking: Ranking[Any]) -> list[tuple[str, str]]:
    """Title and unit of each column of a page."""
    return [(c.title, c.unit) for c in columns(ranking)]


def rows(ranking: Ranking[Any]) -> list[tuple[Place, list[PageCell]]]:
    """Each place of a page's table, with its cells."""
    cells = [c.cells for c in columns(ranking)]
    return [(place, [column[i] for column in cells]) for i, place in enumerate(ranking.places)]


def in_terminal(
    ranking: Ranking[Any], names: Sequence[Sequence[str]], lead: Sequence[Sequence[str]], width: int
) -> list[str]:
    """A table: the columns that identify a row, the leading columns, and the measures."""
    cells = [[*column] for column in lead]
    for c in columns(ranking):
        texts = (f"{NumberCell(x.mean, x.half).joined()}{'*' if x.best else ' '}" for x in c.cells)
        cells.append([f"{c.head} ", f"{c.unit} ", *texts])
    return side_by_side(names, cells, width)
