"""Designs: few points that fill a space of many parameters evenly, for which a grid would have too many points.

    [design]
    kind = "latin-hypercube"            # or "sobol"
    points = 64
    seed = 1

    [axis.rate]
    paths = ["link.bottleneck.rate"]
    unit = "Mbps"
    values = { from = 1, to = 1000, scale = "log" }         # without step and count: the design chooses

A Latin hypercube has one point in each of n equal slices of every axis (McKay, Beckman and Conover, 1979). A Sobol
sequence also fills the products of these slices evenly (Sobol, 1967; scrambled as in Owen, 1998) and needs a number of
points that is a power of two. The numbers are those of scipy.stats.qmc.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

from tailback.core.declared import FileError, Table, read_table
from tailback.runs.campaign.values import RangeTable, Values, short

#: The most points of a design.
MOST_POINTS = 1 << 20


class DesignTable(Table, kw_only=True, frozen=True):
    """[design]"""

    kind: Literal["latin-hypercube", "sobol"]
    points: int
    #: The seed of the design's random numbers; the runs have their own seeds.
    seed: int = 1


def open_range(given: Values | None) -> bool:
    """Whether a design chooses the values: a range with neither step nor count."""
    return isinstance(given, dict) and {"from", "to"} <= given.keys() and not given.keys() & {"step", "count"}


def samples(design: DesignTable, ranges: Mapping[str, Any], file: str) -> dict[str, list[int | float]]:
    """The values of each axis at each point."""
    if not 2 <= design.points <= MOST_POINTS:
        raise FileError(f"{file}: design.points = {design.points}; a design has 2 to {MOST_POINTS} points")
    if design.seed < 0:
        raise FileError(f"{file}: design.seed = {design.seed}; write a number of 0 or more")
    tables = {n: read_table(RangeTable, given, file, f"axis.{n}.values") for n, given in ranges.items()}
    for name, r in tables.items():
        _check(r, f"{file}, axis.{name}.values")
    rows = _unit_cube(design, len(tables), file)
    columns = {n: [_value(r, float(row[i])) for row in rows] for i, (n, r) in enumerate(tables.items())}
    points = list(zip(*columns.values(), strict=True))
    if len(set(points)) < len(points):
        raise FileError(
            f"{file}: design: {design.points} points of these ranges are not all different; ask for fewer points, or "
            "leave out whole = true"
        )
    return columns


def _check(r: RangeTable, where: str) -> None:
    if not (math.isfinite(r.from_) and math.isfinite(r.to) and r.from_ < r.to):
        raise FileError(f"{where}: the range goes from {r.from_} to {r.to}; write the smaller number first")
    if r.scale == "log" and r.from_ <= 0:
        raise FileError(f'{where}: from = {r.from_}; a range with scale = "log" begins above zero')
    if not math.isfinite(r.to / r.from_ if r.scale == "log" else r.to - r.from_):
        raise FileError(f"{where}: the range from {r.from_} to {r.to} is too wide to compute with; make it narrower")


def _unit_cube(design: DesignTable, axes: int, file: str) -> Any:
    """The points of the design in the unit cube, one row for each."""
    try:
        from scipy.stats import qmc
    except ImportError as e:
        raise FileError(
            f"{file}: design: this needs scipy, which is not installed; `pip install 'tailback[design]'` adds it"
        ) from e
    if design.kind == "latin-hypercube":
        return qmc.LatinHypercube(axes, rng=design.seed).random(design.points)
    power = design.points.bit_length() - 1
    if design.points != 1 << power:
        raise FileError(
            f"{file}: design.points = {design.points}: a Sobol design has a power of two; "
            f"write {1 << power} or {2 << power}"
        )
    if axes > qmc.Sobol.MAXDIM:
        raise FileError(f"{file}: design: {axes} axes; a Sobol design has at most {qmc.Sobol.MAXDIM}")
    return qmc.Sobol(axes, rng=design.seed).random_base2(power)


def _value(r: RangeTable, u: float) -> int | float:
    """The value at this share of a range; each whole number of a linear range has the same share."""
    if r.scale == "log":
        drawn_value = r.from_ * math.exp(math.log(r.to / r.from_) * u)
        return short(round(drawn_value) if r.whole else drawn_value)
    if r.whole:
        return min(math.floor(r.to), math.floor(r.from_ + u * (r.to - r.from_ + 1)))
    return short(r.from_ + (r.to - r.from_) * u)
