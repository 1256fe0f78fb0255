"""Colours, markers and lines: a discipline looks the same in every figure.

The palette is that of Okabe and Ito, which the colour-blind tell apart; markers and lines differ as well, for print
without colour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

INK, GREY, FAINT = "#222222", "#6b6b6b", "#d9d9d9"

#: On and off, in line widths.
DOTS = 1.2, 1.2


@dataclass(frozen=True)
class Look:
    colour: str
    marker: str
    line: Any = "-"


#: How known disciplines look; others take the looks of `OTHERS` in turn.
LOOKS = {
    "droptail": Look("#222222", "o", "-"),
    "red": Look("#D55E00", "s", (0, (5, 1.5))),
    "blue": Look("#0072B2", "^", (0, DOTS)),
    "drr": Look("#E69F00", "D", (0, (7, 1.5, 1.2, 1.5))),
    "tdrr": Look("#CC79A7", "v", (0, (3, 1.5))),
    "qsdrr": Look("#009E73", "P", "-"),
    "dtdrr": Look("#56B4E9", "X", (0, (5, 1.5, 1.2, 1.5, 1.2, 1.5))),
    "dsdrr": Look("#8B4513", "h", (0, (9, 2))),
}
OTHERS = [
    Look("#0072B2", "o", "-"),
    Look("#D55E00", "s", (0, (5, 1.5))),
    Look("#009E73", "^", (0, DOTS)),
    Look("#CC79A7", "D", (0, (7, 1.5, 1.2, 1.5))),
    Look("#E69F00", "v", "-"),
    Look("#56B4E9", "P", (0, (5, 1.5))),
    Look("#222222", "X", (0, (3, 1.5))),
]


def look(name: str, index: int = 0) -> Look:
    return LOOKS.get(name, OTHERS[index % len(OTHERS)])
