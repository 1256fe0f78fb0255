"""Chooses colours, markers and lines. A discipline looks the same in every figure, and differs from the others in the
figure.

The nine colours of `figure_style.COLOURS` also differ in lightness, so that they can be distinguished in grey and by
the colour-blind. The first choice of a discipline is the colour of its group, and the marker and the line of its place
in the group. In a figure, the discipline that is drawn first keeps its first choice. If the colour, marker or line of a
later discipline is taken, the discipline gets the next free one, always in the same order. Nine names thus differ in
all three.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from tailback.core.figure_style import COLOURS
from tailback.core.scenario.reference import describe
from tailback.core.text.arguments import checked

#: The lengths of dot and gap of a dotted line, in line widths.
DOTS = 1.2, 1.2


@dataclass(frozen=True)
class Look:
    colour: str
    marker: str
    line: Any = "-"


_DASH, _DASH_DOT, _SHORT, _LONG = (0, (5, 1.5)), (0, (7, 1.5, 1.2, 1.5)), (0, (3, 1.5)), (0, (9, 2))
_DASH_DOT_DOT = (0, (5, 1.5, 1.2, 1.5, 1.2, 1.5))
_SPARSE, _LONG_SHORT = (0, (1.2, 3.2)), (0, (9, 1.5, 3, 1.5))
_BLACK, _VIOLET, _BROWN, _BLUE, _RED, _GREEN, _PURPLE, _SKY, _ORANGE = (light for light, _ in COLOURS.values())

#: The colours in the order in which they are tried if the first choice is taken. The most frequent first choices are
#: last.
_COLOURS = (_BLUE, _VIOLET, _ORANGE, _SKY, _BROWN, _PURPLE, _RED, _GREEN, _BLACK)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "h", "p", "d", "*", "8", "H")
_LINES: tuple[Any, ...] = (
    "-",
    _DASH,
    (0, DOTS),
    _DASH_DOT,
    _LONG,
    _DASH_DOT_DOT,
    _SHORT,
    _SPARSE,
    _LONG_SHORT,
)

#: The colours of the groups of disciplines, in the order of the groups. If there are more groups, the colours are
#: repeated from the first.
_OF_GROUPS = (_BLACK, _RED, _ORANGE, _BROWN, _BLUE, _GREEN, _PURPLE, _SKY, _VIOLET)


def _by_group() -> dict[str, Look]:
    """The first choice of each declared discipline."""
    disciplines = next(f["models"] for f in describe() if f["family"] == "queue")
    groups = list(dict.fromkeys(m["group"] for m in disciplines))
    count_of_colour: dict[str, int] = {}
    looks = {}
    for m in disciplines:
        colour = _OF_GROUPS[groups.index(m["group"]) % len(_OF_GROUPS)]
        place = count_of_colour.get(colour, 0)
        count_of_colour[colour] = place + 1
        looks[m["name"]] = Look(colour, _MARKERS[place % len(_MARKERS)], _LINES[place % len(_LINES)])
    return looks


#: The colour and marker of each discipline, by its name; no two disciplines share both.
LOOKS = _by_group()
#: The looks of lines that are not disciplines, which take them in turn. No discipline has one of these looks.
OTHERS = [
    Look(_BLUE, "8", "-"),
    Look(_RED, "d", _DASH),
    Look(_GREEN, "<", (0, DOTS)),
    Look(_ORANGE, "p", _DASH_DOT),
    Look(_VIOLET, ">", _LONG),
    Look(_SKY, "*", _DASH_DOT_DOT),
    Look(_PURPLE, "H", _SHORT),
    Look(_BLACK, "h", _LONG_SHORT),
    Look(_BROWN, "*", _SPARSE),
    Look(_ORANGE, "H", (0, DOTS)),
]


class Cast:
    """The looks within one figure. The name that is requested first keeps its first choice.

    >>> from tailback.show.plots.palette import Cast
    >>> cast = Cast()
    >>> a, b = cast.look("fq-codel"), cast.look("qsdrr")
    >>> a.colour != b.colour and a.marker != b.marker and a.line != b.line
    True
    """

    def __init__(self) -> None:
        self._given: dict[tuple[str, int], Look] = {}

    def look(self, name: str, index: int = 0) -> Look:
        """The look of a name. A line without a name is identified by its index."""
        key = (name, 0) if name else ("", index)
        if key not in self._given:
            first_choice, looks_taken = _first_choice(name, index), list(self._given.values())
            self._given[key] = Look(
                _free(first_choice.colour, [k.colour for k in looks_taken], _COLOURS),
                _free(first_choice.marker, [k.marker for k in looks_taken], _MARKERS),
                _free(first_choice.line, [k.line for k in looks_taken], _LINES),
            )
        return self._given[key]


#: The looks of the figure that is being drawn.
CAST: ContextVar[Cast | None] = ContextVar("CAST", default=None)


@checked
def look(name: str, index: int = 0) -> Look:
    """The look of a discipline, or the look with this index for anything else, in the figure that is being drawn.
    Outside of a figure it is the first choice."""
    cast = CAST.get()
    return _first_choice(name, index) if cast is None else cast.look(name, index)


def _first_choice(name: str, index: int) -> Look:
    return LOOKS.get(name, OTHERS[index % len(OTHERS)])


def _free(first: Any, taken: list[Any], others: tuple[Any, ...]) -> Any:
    """The first choice, or else the least used one, so that nine lines all differ."""
    return min([first, *others], key=taken.count)


@checked
def discipline(names: Iterable[str]) -> str:
    """The label of a line that is a discipline, or else the line's first label."""
    labels = list(names)
    return next((n for n in labels if n in LOOKS), labels[0] if labels else "")
