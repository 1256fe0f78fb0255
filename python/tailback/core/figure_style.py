"""The settings of every figure. Imports matplotlib with any backend that the environment names.

Figures here are written to files, or their bytes are shown by the caller; neither needs a backend. A backend that
matplotlib does not know is therefore ignored. This module is imported before any part of matplotlib. The module is
outside of `plots`, because a check whether a figure must be drawn again needs only these settings.
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
    # The notebook's backend still serves the user's own figures.
    with contextlib.suppress(ValueError):
        matplotlib.rcParams["backend"] = _asked

INK, GREY, FAINT = "#222222", "#636363", "#d9d9d9"
#: The background of a figure, in light and in dark mode.
PAPER, NIGHT = "#ffffff", "#17181a"

#: Nine colours of stepped lightness, for a white background and for dark mode. Any two differ (CIEDE2000) by at least
#: 18 for normal sight, by 10 for protanopia, deuteranopia and tritanopia (Machado, Oliveira and Fernandes, 2009,
#: severity 1.0), and by 5 in grey. Each has a contrast of at least 3 to 1 with its background (WCAG 2.2, 1.4.11). A
#: search found them, each within the hues of its name.
COLOURS: dict[str, tuple[str, str]] = {
    "black": ("#181818", "#e7f0eb"),
    "violet": ("#2424a1", "#bfa1f3"),
    "brown": ("#531000", "#935748"),
    "blue": ("#3677cb", "#4c73bd"),
    "red": ("#b41211", "#f77963"),
    "green": ("#327649", "#6df099"),
    "purple": ("#78315b", "#b96884"),
    "sky": ("#23a2bf", "#4799b5"),
    "orange": ("#b77726", "#f4b93c"),
}

#: The colour that replaces each colour of a figure in dark mode. Other colours, such as those of maps, stay.
DARK = {
    **dict(COLOURS.values()),
    INK: "#e8e6e1",
    GREY: "#a9abb0",
    FAINT: "#3a3b3e",
    PAPER: NIGHT,
}

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
    "axes.formatter.useoffset": False,
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
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": "auto",
    "savefig.bbox": "tight",
    "savefig.pad_inches": 0.06,
    "svg.hashsalt": "tailback",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "figure.dpi": 100,
}

#: A figure for a page of LaTeX: serifs of the STIX fonts, which come with matplotlib, and type of 7 to 8 pt.
ON_PAPER: dict[Any, Any] = {
    "font.family": "serif",
    "font.serif": ["STIXGeneral", "DejaVu Serif"],
    "mathtext.fontset": "stix",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "axes.linewidth": 0.5,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5,
    "grid.linewidth": 0.4,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.6,
}

#: The styles of a figure by name, as differences from `STYLE`. `dark` changes only colours.
STYLES: dict[str, dict[Any, Any]] = {"screen": {}, "paper": ON_PAPER, "dark": {}}

#: The file formats of a figure.
KINDS = ("png", "pdf", "svg")
#: The format in a page, and the formats that can be requested in addition.
IN_PAGE, BESIDE_PAGE = "svg", ("png", "pdf")

#: An additional figure for screens of 400 pixels: the ending of its name, and its width in inches.
SMALL, SMALL_WIDTH = "-small", 4.1


def settings() -> dict[str, Any]:
    """The settings of matplotlib and of the user, overridden by ours."""
    # The settings are read as a plain dictionary, because matplotlib chooses a backend if its own dictionary is read.
    return {**dict(dict.items(matplotlib.rcParams)), **STYLE}
