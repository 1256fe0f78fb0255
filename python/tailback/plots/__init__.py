"""Figures fit for a paper: curves over a parameter with bands, sorted goodputs, series against time.

Every function takes plain arrays and returns a matplotlib figure; `save` writes it as PNG, PDF and SVG, the same bytes
each time. Disciplines keep their colour, marker and line from figure to figure: the palette is that of Okabe and Ito,
which the colour-blind tell apart, and markers and lines differ as well, for print without colour. Legends stand beside
or above the axes, never on the data. A frame without data says why.
"""

from __future__ import annotations

from tailback.figure_style import FAINT, GREY, INK, KINDS, STYLE  # isort: skip
from tailback.plots.against_time import queue_against_time, series
from tailback.plots.completions import Completions, completions
from tailback.plots.curves import Curve, Panel, as_curve, curves
from tailback.plots.distributions import distributions
from tailback.plots.goodputs import goodput_bars, goodputs_by_kind
from tailback.plots.heat import heat
from tailback.plots.palette import LOOKS, OTHERS, Look, discipline, look
from tailback.plots.phases import phases
from tailback.plots.points import is_metric, over, spread
from tailback.plots.result import plot
from tailback.plots.shares import shares
from tailback.plots.spans import spans
from tailback.plots.style import Drawing, grid, nothing, save, styled, titled

__all__ = [
    "FAINT",
    "GREY",
    "INK",
    "KINDS",
    "LOOKS",
    "OTHERS",
    "STYLE",
    "Completions",
    "Curve",
    "Drawing",
    "Look",
    "Panel",
    "as_curve",
    "completions",
    "curves",
    "discipline",
    "distributions",
    "goodput_bars",
    "goodputs_by_kind",
    "grid",
    "heat",
    "is_metric",
    "look",
    "nothing",
    "over",
    "phases",
    "plot",
    "queue_against_time",
    "save",
    "series",
    "shares",
    "spans",
    "spread",
    "styled",
    "titled",
]
