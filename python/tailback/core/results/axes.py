"""The labels of an axis as places along it: numbers with their unit, or words in their order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tailback import _core
from tailback.core.results.quantities import label, number, shown

#: The reader of a label with a unit, and the unit of the read values.
_READERS: tuple[tuple[Callable[[str], float], str], ...] = (
    (_core.parse_rate, "bit/s"),
    (_core.parse_time, "s"),
    (_core.parse_bytes, "bytes"),
)


@dataclass(frozen=True)
class Scale:
    """The positions of an axis's labels, if they are numbers, and the title of the axis."""

    title: str
    #: The labels, in the order in which they are shown.
    labels: list[str]
    #: The place of each label; empty for words.
    places: dict[str, float]

    @property
    def is_wide(self) -> bool:
        """Whether a logarithmic scale fits the labels better."""
        values = list(self.places.values())
        return len(values) > 1 and min(values) > 0 and max(values) / min(values) >= 8


def scale(name: str, labels: Iterable[str], titles: Mapping[str, str]) -> Scale:
    """The scale of an axis. `titles` may have a title for it, with a unit.

    >>> from tailback.core.results.axes import scale
    >>> s = scale("rate", ["10Mbps", "2Mbps"], {})
    >>> s.title, s.labels, s.places["2Mbps"]
    ('rate (Mb/s)', ['2Mbps', '10Mbps'], 2.0)
    """
    distinct_labels = list(dict.fromkeys(map(str, labels)))
    title = titles.get(name, _plain(name))
    numbers_of = {x: number(x) for x in distinct_labels}
    if not any(map(math.isnan, numbers_of.values())):
        units = {x.partition(" ")[2] for x in distinct_labels}
        unit = units.pop() if len(units) == 1 and "(" not in title else ""
        return Scale(label(title, unit), sorted(distinct_labels, key=numbers_of.__getitem__), numbers_of)
    for reader, unit in _READERS:
        quantities = _all(reader, distinct_labels)
        if quantities:
            by = shown(unit, quantities.values())
            places = {x: v * by.factor for x, v in quantities.items()}
            words = title if "(" in title else label(title, by.unit)
            return Scale(words, sorted(distinct_labels, key=places.__getitem__), places)
    return Scale(title, distinct_labels, {})


def _all(read: Callable[[str], Any], labels: list[str]) -> dict[str, float]:
    try:
        return {x: float(read(x)) for x in labels}
    except ValueError:
        return {}


def _plain(name: str) -> str:
    """The last part of a path, without the signs of names."""
    return name.rpartition(".")[2].replace("_", " ")
