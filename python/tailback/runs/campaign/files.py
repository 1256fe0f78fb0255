"""The structure of a sweep file.

    scenario = "lab.toml"               # or a table [scenario] with the scenario itself
    replications = 10
    set = ["duration=60s"]              # for every point

    [axis.queue]
    paths = ["link.bottleneck.queue.kind"]
    values = ["red", "codel", "pie"]

    [axis.buffer]
    paths = ["link.bottleneck.queue.buffer"]
    unit = "packets"
    values = { from = 25, to = 400, count = 5, scale = "log", whole = true }

    [stop]                              # instead of a fixed number of replications
    metric = "links.utilisation"
    half_width = 0.005

Axes and cases are those of studies; every combination is a point, except for axes that go in step, depend on another
(`by`), or are a design.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tailback.core.declared import Table
from tailback.runs.campaign.axes import Where
from tailback.runs.campaign.values import AxisKeys, Values


class SweepAxis(AxisKeys, kw_only=True, frozen=True):
    """[axis.NAME]"""

    values: Values | None = None
    #: Label -> its other changes, or all its changes if there are no values: texts as for `--set`, or keys and values.
    set: dict[str, list[str] | dict[str, Any]] = {}
    #: The axis on whose label the values depend. The values are then a table with values for each label of that axis.
    by: str = ""


class AtTable(Table, kw_only=True, frozen=True):
    """[[at]]: settings for some points only."""

    where: Where
    set: list[str]


class PairedTable(Table, kw_only=True, frozen=True):
    """[compare]: the axis across which points of a seed are compared, and the label the others are held against."""

    axis: str
    against: str | int | float


class StopTable(Table, kw_only=True, frozen=True):
    """[stop]: seeds are added to a point until half of the 95 % interval of a number is under a bound."""

    #: TABLE.COLUMN, such as links.utilisation.
    metric: str
    #: The condition on columns that chooses the row of the table. The condition is not needed if a run has one row.
    where: dict[str, str | int | float] = {}
    #: The bound, in the unit of the number.
    half_width: float | None = None
    #: The bound as a share of the mean, instead of `half_width`.
    relative: float | None = None
    at_least: int = 5
    at_most: int = 100

    @property
    def table(self) -> str:
        return self.metric.partition(".")[0]

    @property
    def column(self) -> str:
        return self.metric.partition(".")[2]

    def bound(self, mean: float) -> float:
        """The bound, in the unit of the number."""
        return self.half_width if self.half_width is not None else (self.relative or 0.0) * abs(mean)


class SweepFile(Table, kw_only=True, frozen=True):
    """A sweep file"""

    #: The path of the scenario from the file's folder, or the scenario itself.
    scenario: Any
    name: str = ""
    replications: int | None = None
    seed: int | None = None
    #: Changes at every point, before and after the changes of the point.
    set: list[str] = []
    then: list[str] = []
    axis: dict[str, dict[str, Any]] = {}
    #: Axes that go in step: lists of their names.
    zip: list[list[str]] = []
    #: The design that chooses the values of axes with an open range together.
    design: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    case: list[dict[str, Any]] = []
    at: list[dict[str, Any]] = []
    compare: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    stop: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
