"""The axes that are varied, with the same words in sweep files, studies and `Plan.product`.

An axis is a list of points in order, each with labels and overrides. A product of axes is again an axis, and so are
axes in step. The engine combines axes (`crates/tailback-plan/src/axes.rs`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tailback import _core

#: A condition on labels: axis -> a value, a list of values, or { from = , to = }.
Where = dict[str, Any]


def axes_in_words(names: Iterable[str]) -> str:
    """The end of a message about an axis that does not exist."""
    axis_names = ", ".join(names)
    return f"there are {axis_names}" if axis_names else "this file has no axis"


@dataclass(frozen=True)
class Point:
    """A value of one or several axes: its label on each axis, and its changes, as `--set` takes them."""

    labels: dict[str, str]
    overrides: list[str]

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(self.labels.values())


@dataclass(frozen=True)
class Axis:
    """An axis: its name, its title, and the changes of its labels."""

    name: str
    #: The title of the axis in figures and tables.
    title: str = ""
    #: The unit that is written behind each number.
    unit: str = ""
    #: Keys of the scenario that take the value.
    paths: tuple[str, ...] = ()
    #: Label -> the other changes of this label, as `--set` takes them.
    changes: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def point(self, label: str, text: str) -> Point:
        """The point of a label. The value of the label is given to every path."""
        return Point({self.name: label}, [*(f"{p}={text}" for p in self.paths), *self.changes.get(label, ())])


def product(axes: Iterable[Sequence[Point]]) -> list[Point]:
    """Every combination of the axes; the last axis varies fastest."""
    return _combined("product", axes)


def in_step(axes: Iterable[Sequence[Point]]) -> list[Point]:
    """The i-th point has the i-th value of each axis. Raises ValueError for axes of different lengths."""
    return _combined("zip", axes)


def by_label(all: Sequence[Point], by: str, values: Mapping[str, Sequence[Point]]) -> list[Point]:
    """Every point combined with the points that `values` has for its label on the axis `by`. The latter vary
    fastest."""
    pairs_by_label = [(label, _pairs(axis)) for label, axis in values.items()]
    return [Point(dict(labels), list(own)) for labels, own in _core.combine_by(_pairs(all), by, pairs_by_label)]


def _pairs(axis: Iterable[Point]) -> list[tuple[list[tuple[str, str]], list[str]]]:
    return [(list(p.labels.items()), p.overrides) for p in axis]


def _combined(how: Literal["product", "zip"], axes: Iterable[Sequence[Point]]) -> list[Point]:
    pairs_by_axis = [_pairs(axis) for axis in axes]
    return [Point(dict(labels), list(own)) for labels, own in _core.combine(how, pairs_by_axis)]


def clash(axes: Iterable[Axis]) -> str | None:
    """The message if one of these axes undoes another when they are applied in this order; None if no axis does."""
    earlier_paths: list[tuple[str, str]] = []
    for axis in axes:
        for path in axis.paths:
            for earlier_path, earlier_axis in earlier_paths:
                if path == earlier_path:
                    return f"the axes {earlier_axis!r} and {axis.name!r} both set {path}; keep one of the two"
                if earlier_path.startswith(f"{path}."):
                    return (
                        f"the axis {axis.name!r} sets the whole of {path}, and undoes what the axis {earlier_axis!r} "
                        f"sets there; put {earlier_axis!r} after {axis.name!r}"
                    )
            earlier_paths.append((path, axis.name))
    return None


def matches(labels: dict[str, str], where: Where) -> bool:
    """Whether a point's labels meet a condition: a value, a list of values, or `{ from = , to = }`."""
    return all(name not in labels or meets(labels[name], wanted) for name, wanted in where.items())


def meets(label: str, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return float(wanted.get("from", "-inf")) <= float(label) <= float(wanted.get("to", "inf"))
    wanted = wanted if isinstance(wanted, list) else [wanted]
    return label in [str(w) for w in wanted]
