"""Colours, markers and lines: a discipline looks the same in every figure.

The palette is that of Okabe and Ito, which the colour-blind tell apart; markers and lines differ as well, for print
without colour.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

#: On and off, in line widths.
DOTS = 1.2, 1.2


@dataclass(frozen=True)
class Look:
    colour: str
    marker: str
    line: Any = "-"


_DASH, _DASH_DOT, _SHORT, _LONG = (0, (5, 1.5)), (0, (7, 1.5, 1.2, 1.5)), (0, (3, 1.5)), (0, (9, 2))
_DASH_DOT_DOT = (0, (5, 1.5, 1.2, 1.5, 1.2, 1.5))
_BLACK, _BLUE, _SKY, _GREEN = "#222222", "#0072B2", "#56B4E9", "#009E73"
_ORANGE, _RED, _PURPLE, _BROWN = "#E69F00", "#D55E00", "#CC79A7", "#8B4513"

#: How each discipline looks, by its name: no two share both colour and marker. A new discipline needs a row.
LOOKS = {
    "droptail": Look(_BLACK, "o", "-"),
    "random-drop": Look(_BLACK, "s", _DASH),
    "front-drop": Look(_BLACK, "^", (0, DOTS)),
    "red": Look(_RED, "s", _DASH),
    "ared": Look(_RED, "^", "-"),
    "feng-red": Look(_RED, "v", _DASH_DOT),
    "nlred": Look(_RED, "8", (0, DOTS)),
    "rio": Look(_RED, "P", _SHORT),
    "wred": Look(_RED, "X", _LONG),
    "mred": Look(_ORANGE, "X", _LONG),
    "redn": Look(_RED, "D", "-"),
    "dred": Look(_RED, "h", _DASH_DOT_DOT),
    "sred": Look(_RED, "<", "-"),
    "fred": Look(_RED, ">", _DASH_DOT),
    "choke": Look(_RED, "H", _LONG),
    "red-pb": Look(_RED, "o", _SHORT),
    "red-pd": Look(_RED, "p", _LONG),
    "blue": Look(_BLUE, "^", (0, DOTS)),
    "pi": Look(_PURPLE, "p", _DASH),
    "aaqm": Look(_BROWN, "o", "-"),
    "sfb": Look(_BLUE, "d", _DASH_DOT),
    "rem": Look(_SKY, "d", _LONG),
    "avq": Look(_BLUE, "H", _DASH),
    "green": Look(_GREEN, "d", _SHORT),
    "green-tcp": Look(_GREEN, "H", (0, DOTS)),
    "pie": Look(_PURPLE, "^", (0, DOTS)),
    "codel": Look(_GREEN, "v", _DASH_DOT),
    "cobalt": Look(_GREEN, ">", _DASH),
    "fq-codel": Look(_GREEN, "D", "-"),
    "fq-pie": Look(_PURPLE, "h", _LONG),
    "fq-cobalt": Look(_GREEN, "X", _SHORT),
    "dualpi2": Look(_SKY, "D", "-"),
    "cake": Look(_BROWN, "D", "-"),
    "diffserv": Look(_BROWN, "s", _DASH),
    "port": Look(_BLACK, "D", "-"),
    "htb": Look(_BLACK, "P", "-"),
    "drr": Look(_ORANGE, "D", _DASH_DOT),
    "tdrr": Look(_PURPLE, "v", _SHORT),
    "qsdrr": Look(_GREEN, "P", "-"),
    "dtdrr": Look(_SKY, "X", _DASH_DOT_DOT),
    "dsdrr": Look(_BROWN, "h", _LONG),
    "wdrr": Look(_ORANGE, "<", "-"),
    "fq": Look(_BLUE, "o", "-"),
    "fqbit": Look(_SKY, "s", _DASH),
    "decsel": Look(_PURPLE, "D", _DASH_DOT),
    "sfq": Look(_ORANGE, "d", (0, DOTS)),
    "srr": Look(_SKY, "h", _DASH),
    "scfq": Look(_BROWN, ">", _SHORT),
    "wf2q": Look(_RED, "*", (0, DOTS)),
    "wf2q-plus": Look(_GREEN, "*", _LONG),
}
#: In turn, what is not a discipline: none looks like one of those.
OTHERS = [
    Look(_BLUE, "8", "-"),
    Look(_RED, "d", _DASH),
    Look(_GREEN, "<", (0, DOTS)),
    Look(_PURPLE, ">", _DASH_DOT),
    Look(_ORANGE, "p", "-"),
    Look(_SKY, "*", _DASH),
    Look(_BLACK, "H", _SHORT),
    Look(_BROWN, "*", _LONG),
    Look(_ORANGE, "H", (0, DOTS)),
    Look(_SKY, "8", _DASH_DOT),
]


def look(name: str, index: int = 0) -> Look:
    """The look of a discipline; of anything else that of its turn."""
    return LOOKS.get(name, OTHERS[index % len(OTHERS)])


def discipline(names: Iterable[str]) -> str:
    """Of the labels of a line, the one that is a discipline; else the first."""
    given = list(names)
    return next((n for n in given if n in LOOKS), given[0] if given else "")
