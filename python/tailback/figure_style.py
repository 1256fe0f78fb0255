"""The settings of every figure, and matplotlib, whatever backend the environment names.

Figures here are written to files and shown by what asks for their bytes; neither needs a backend. So one that
matplotlib does not know is no reason to stop: it is left aside. This module is imported before any part of matplotlib.
It stands outside of `plots`, for who asks whether a figure is to be drawn again needs no more of matplotlib than this.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

_asked = os.environ.pop("MPLBACKEND", None)
try:
    import matplotlib
finally:
    if _asked is not None:
        os.environ["MPLBACKEND"] = _asked
if _asked:
    # What a notebook has asked for still serves the user's own figures.
    with contextlib.suppress(ValueError):
        matplotlib.rcParams["backend"] = _asked

INK, GREY, FAINT = "#222222", "#6b6b6b", "#d9d9d9"

STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "text.color": INK,
    # A dollar sign in a label is a dollar sign.
    "text.parse_math": False,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "savefig.bbox": "tight",
    "savefig.pad_inches": 0.06,
    "svg.hashsalt": "tailback",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "figure.dpi": 100,
}

#: The kinds of files a figure is written as.
KINDS = ("png", "pdf", "svg")


def settings() -> dict[str, Any]:
    """matplotlib's own settings and the user's, with ours over them."""
    # As a plain dictionary: asked for its backend, matplotlib would choose one.
    return {**dict(dict.items(matplotlib.rcParams)), **STYLE}
