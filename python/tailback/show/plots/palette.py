"""Colours, markers and lines: a discipline looks the same in every figure, and differs from the others in it.

The nine colours of `figure_style.COLOURS` differ in lightness too, so that they are told apart in grey and by the
colour-blind. A group of disciplines has a colour, and a discipline the marker and the line of its place in the group:
its first choice. Within a figure whoever comes first keeps it; a later one whose colour, marker or line is taken gets
the next that is free, always in the same order. Nine names thus differ in all three.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from tailback.core.figure_style import COLOURS
from tailback.core.scenario.reference import describe
from tailback.core.text.arguments import checked

#: On and off, in line widths.
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

#: In the order in which they are tried where the first choice is taken: those last that most have as their first.
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

#: The colours of the groups of disciplines, in their order; again from the first where there are more groups.
_OF_GROUPS = (_BLACK, _RED, _ORANGE, _BROWN, _BLUE, _GREEN, _PURPLE, _SKY, _VIOLET)


def _by_group() -> dict[str, Look]:
    """The first choice of each discipline that is declared."""
    disciplines = next(f["models"] for f in describe() if f["family"] == "queue")
    groups = list(dict.fromkeys(m["group"] for m in disciplines))
    places: dict[str, int] = {}
    looks = {}
    for m in disciplines:
        colour = _OF_GROUPS[groups.index(m["group"]) % len(_OF_GROUPS)]
        place = places.get(colour, 0)
        places[colour] = place + 1
        looks[m["name"]] = Look(colour, _MARKERS[place % len(_MARKERS)], _LINES[place % len(_LINES)])
    return looks


#: The colour and marker of each discipline, by its name; no two disciplines share both.
LOOKS = _by_group()
#: In turn, what is not a discipline: none looks like one of those.
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
    """The looks within one figure. Whoever is asked for first keeps its first choice.

    >>> from tailback.show.plots.palette import Cast
    >>> cast = Cast()
    >>> a, b = cast.look("fq-codel"), cast.look("qsdrr")
    >>> a.colour != b.colour and a.marker != b.marker and a.line != b.line
    True
    """

    def __init__(self) -> None:
        self._given: dict[tuple[str, int], Look] = {}

    def look(self, name: str, index: int = 0) -> Look:
        """What has no name counts by its turn."""
        key = (name, 0) if name else ("", index)
        if key not in self._given:
            first, taken = _first_choice(name, index), list(self._given.values())
            self._given[key] = Look(
                _free(first.colour, [k.colour for k in taken], _COLOURS),
                _free(first.marker, [k.marker for k in taken], _MARKERS),
                _free(first.line, [k.line for k in taken], _LINES),
            )
        return self._given[key]


#: The looks of the figure that is being drawn.
CAST: ContextVar[Cast | None] = ContextVar("CAST", default=None)


@checked
def look(name: str, index: int = 0) -> Look:
    """The look of a discipline, and of anything else that of its turn, in the figure that is being drawn; its first
    choice outside of any."""
    cast = CAST.get()
    return _first_choice(name, index) if cast is None else cast.look(name, index)


def _first_choice(name: str, index: int) -> Look:
    return LOOKS.get(name, OTHERS[index % len(OTHERS)])


def _free(first: Any, taken: list[Any], others: tuple[Any, ...]) -> Any:
    """The first choice, or else the least used one: nine lines all differ."""
    return min([first, *others], key=taken.count)


@checked
def discipline(names: Iterable[str]) -> str:
    """Of the labels of a line, the one that is a discipline; else the first."""
    labels = list(names)
    return next((n for n in labels if n in LOOKS), labels[0] if labels else "")
