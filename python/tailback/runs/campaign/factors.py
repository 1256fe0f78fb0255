"""Makes the points of a sweep from its axes. Axes are multiplied, go in step, depend on another axis, or form a
design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tailback.core.declared import FileError
from tailback.core.scenario.read import inline
from tailback.runs.campaign.axes import Axis, Point, axes_in_words, by_label, in_step, product
from tailback.runs.campaign.design import DesignTable, open_range, samples
from tailback.runs.campaign.files import SweepAxis
from tailback.runs.campaign.values import Values, labelled


@dataclass(frozen=True)
class DependentPoints:
    """An axis whose values depend on the label of another."""

    by: str
    of: Mapping[str, list[Point]]


#: Points to multiply, or points that depend on those before them.
Factor = list[Point] | DependentPoints


def axis_of(name: str, table: SweepAxis) -> Axis:
    """The keys of an axis's table, except its values."""
    changes = {label: _texts(given) for label, given in table.set.items()}
    return Axis(name, table.title or name, table.unit, tuple(table.paths), changes)


def _texts(given: list[str] | dict[str, Any], path: str = "") -> list[str]:
    """The changes of a label, as `--set` takes them: texts, or a table of keys and values."""
    if isinstance(given, list):
        return given
    texts: list[str] = []
    for key, value in given.items():
        own_path = f"{path}.{key}" if path else key
        # A table without `kind` is not a value itself, but a part of the path of its values.
        if isinstance(value, dict) and "kind" not in value:
            texts += _texts(value, own_path)
        else:
            texts.append(f"{own_path}={inline(value)}")
    return texts


def combined(factors: Sequence[Factor]) -> list[Point]:
    """Every combination, the last factor fastest."""
    point_lists: list[list[Point]] = []
    for f in factors:
        if isinstance(f, DependentPoints):
            point_lists = [by_label(product(point_lists), f.by, f.of)]
        else:
            point_lists.append(f)
    return product(point_lists)


def factors_of(
    axes: Mapping[str, tuple[Axis, SweepAxis]], zips: list[list[str]], design: DesignTable | None, file: str
) -> list[Factor]:
    """The factors to multiply: each is one axis, or several axes that form one factor in the place of the first of
    them."""
    drawn_axes = [name for name, (_, t) in axes.items() if design is not None and not t.by and open_range(t.values)]
    if design is not None and not drawn_axes:
        raise FileError(
            f"{file}: design: it has no axis to choose values of; give an axis a range without step and count: "
            "values = { from = 1, to = 100 }"
        )
    _check_zips(zips, axes, drawn_axes, file)
    points_by_axis = {
        name: points_of(axis, table.values, f"{file}, axis.{name}")
        for name, (axis, table) in axes.items()
        if name not in drawn_axes and not table.by
    }
    if design is not None:
        points_by_axis |= _drawn({n: axes[n] for n in drawn_axes}, design, file)
    factors: list[Factor] = []
    for i, (name, (axis, table)) in enumerate(axes.items()):
        group = next((g for g in [*zips, drawn_axes] if name in g), [name])
        if table.by:
            factors.append(_dependent(axis, table, dict(list(axes.items())[:i]), points_by_axis, file))
        elif name == group[0]:
            try:
                factors.append(in_step([points_by_axis[x] for x in group]) if len(group) > 1 else points_by_axis[name])
            except ValueError as e:
                raise FileError(f"{file}: {e}") from e
    return factors


def points_of(a: Axis, given: Values | None, where: str) -> list[Point]:
    """The points of one axis."""
    if given is None:
        if not a.changes:
            raise FileError(f"{where}: it needs values = [...], or set = {{ LABEL = [...] }}")
        return [Point({a.name: label}, list(own)) for label, own in a.changes.items()]
    if not a.paths and not a.changes:
        raise FileError(f'{where}: it sets nothing; add paths = ["KEY"], such as ["link.bottleneck.rate"]')
    labelled_values = labelled(given, a.unit, where)
    if not labelled_values:
        raise FileError(f"{where}: values is empty; give at least one value")
    unknown_labels = [k for k in a.changes if k not in dict(labelled_values)]
    if unknown_labels:
        raise FileError(
            f"{where}: set has {unknown_labels[0]!r}, which is no label; give one of {', '.join(dict(labelled_values))}"
        )
    return [a.point(label, text) for label, text in labelled_values]


def _check_zips(zips: list[list[str]], axes: Mapping[str, tuple[Axis, SweepAxis]], drawn: list[str], file: str) -> None:
    """Raises FileError for axes that cannot go in step."""
    all_named = [name for g in zips for name in g]
    for name in all_named:
        if name not in axes:
            raise FileError(f"{file}: zip: there is no axis {name!r}; {axes_in_words(axes)}")
        if axes[name][1].by or name in drawn:
            reason = "are chosen by the design" if name in drawn else f"depend on {axes[name][1].by}"
            raise FileError(f"{file}: zip: the values of {name!r} {reason}; take it out of zip")
        if all_named.count(name) > 1:
            raise FileError(
                f"{file}: zip: the axis {name!r} is there twice; put all axes that change together in one list"
            )
    for g in zips:
        if len(g) == 1:
            raise FileError(
                f"{file}: zip: the list of {g[0]!r} has only this axis; name two axes, or leave the list out"
            )


def _dependent(
    axis: Axis,
    table: SweepAxis,
    before: Mapping[str, tuple[Axis, SweepAxis]],
    made: Mapping[str, list[Point]],
    file: str,
) -> DependentPoints:
    place = f"{file}, axis.{axis.name}"
    earlier_axis = table.by
    if earlier_axis not in before or before[earlier_axis][1].by:
        independent = [n for n, (_, t) in before.items() if not t.by]
        hint = f"write that axis before this one{'; before it are ' + ', '.join(independent) if independent else ''}"
        raise FileError(
            f"{place}: by = {earlier_axis!r}: by needs the name of an earlier axis that has no by itself; {hint}"
        )
    labels = list(dict.fromkeys(p.labels[earlier_axis] for p in made[earlier_axis]))
    values_by_label = table.values
    if not isinstance(values_by_label, dict) or set(values_by_label) != set(labels):
        raise FileError(
            f"{place}: its values depend on {earlier_axis}; give a table with an entry for each of its labels: "
            f"{{ {labels[0]} = [...], ... }} for {', '.join(labels)}"
        )

    def points(label: str, own: Any) -> list[Point]:
        given_values = own if isinstance(own, (list, dict)) else [own]
        return points_of(axis, given_values, f"{place}.values.{label}")

    return DependentPoints(earlier_axis, {label: points(label, own) for label, own in values_by_label.items()})


def _drawn(axes: Mapping[str, tuple[Axis, SweepAxis]], design: DesignTable, file: str) -> dict[str, list[Point]]:
    """The points of the axes of a design, which go in step."""
    ranges = {name: table.values for name, (_, table) in axes.items()}
    values_drawn = samples(design, ranges, file)
    return {name: points_of(axis, values_drawn[name], f"{file}, axis.{name}") for name, (axis, _) in axes.items()}
