"""Figures fit for a paper: curves over a parameter with bands, sorted goodputs, series against time.

Every function takes plain arrays and returns a matplotlib figure. `save` writes a figure as PNG, PDF and SVG, with the
same bytes each time. Disciplines keep their colour, marker and line from figure to figure, and differ in all three
within a figure (`palette.py`). Legends are beside, above or below the axes, never on the data. A frame without data
names the reason. `on` draws for a column of a paper, a small screen, or dark mode (`style.py`).
"""

from __future__ import annotations

from tailback.core.figure_style import COLOURS, FAINT, GREY, INK, KINDS, STYLE  # isort: skip
from tailback.show.plots.against_time import queue_against_time, series
from tailback.show.plots.completions import Completions, completions
from tailback.show.plots.curves import Curve, Panel, as_curve, curves
from tailback.show.plots.delays import delays, is_delay
from tailback.show.plots.distributions import Cumulative, cumulative, distributions
from tailback.show.plots.goodputs import goodput_bars, goodputs_by_kind
from tailback.show.plots.heat import Field, heat
from tailback.show.plots.palette import LOOKS, OTHERS, Look, discipline, look
from tailback.show.plots.phases import phases
from tailback.show.plots.points import boxes, is_metric, over, spread
from tailback.show.plots.result import plot
from tailback.show.plots.rows import means
from tailback.show.plots.shares import shares
from tailback.show.plots.spans import spans
from tailback.show.plots.style import Drawing, Sheet, beside, grid, legend, nothing, on, save, sheet, styled, titled

__all__ = [
    "COLOURS",
    "FAINT",
    "GREY",
    "INK",
    "KINDS",
    "LOOKS",
    "OTHERS",
    "STYLE",
    "Completions",
    "Cumulative",
    "Curve",
    "Drawing",
    "Field",
    "Look",
    "Panel",
    "Sheet",
    "as_curve",
    "beside",
    "boxes",
    "completions",
    "cumulative",
    "curves",
    "delays",
    "discipline",
    "distributions",
    "goodput_bars",
    "goodputs_by_kind",
    "grid",
    "heat",
    "is_delay",
    "is_metric",
    "legend",
    "look",
    "means",
    "nothing",
    "on",
    "over",
    "phases",
    "plot",
    "queue_against_time",
    "save",
    "series",
    "shares",
    "sheet",
    "spans",
    "spread",
    "styled",
    "titled",
]
