"""Figures fit for a paper: curves over a parameter with bands, sorted goodputs, series against time.

Every function takes plain arrays and returns a matplotlib figure; `save` writes it as PNG, PDF and SVG, the same bytes
each time. Disciplines keep their colour, marker and line from figure to figure, and differ in all three within one
(`palette.py`). Legends stand beside, above or below the axes, never on the data. A frame without data says why. `on`
draws for a column of a paper, a small screen, or dark mode (`style.py`).
"""

from __future__ import annotations

from tailback.figure_style import COLOURS, FAINT, GREY, INK, KINDS, STYLE  # isort: skip
from tailback.plots.against_time import queue_against_time, series
from tailback.plots.completions import Completions, completions
from tailback.plots.curves import Curve, Panel, as_curve, curves
from tailback.plots.delays import delays, is_delay
from tailback.plots.distributions import Cumulative, cumulative, distributions
from tailback.plots.goodputs import goodput_bars, goodputs_by_kind
from tailback.plots.heat import Field, heat
from tailback.plots.palette import LOOKS, OTHERS, Look, discipline, look
from tailback.plots.phases import phases
from tailback.plots.points import boxes, is_metric, over, spread
from tailback.plots.result import plot
from tailback.plots.rows import means
from tailback.plots.shares import shares
from tailback.plots.spans import spans
from tailback.plots.style import Drawing, Sheet, beside, grid, legend, nothing, on, save, sheet, styled, titled

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
