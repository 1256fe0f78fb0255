"""The keys of this study's own kinds of outputs; see `tailback.study.outputs`."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from tailback.study.data.files import Table
from tailback.study.outputs import Numbers, Output, Text, output


class Model(Table, kw_only=True, frozen=True):
    flows: int
    rate: str
    packet: str
    rtt: str
    hit_share: float


@output("queue-against-time")
class QueueModel(Output, kw_only=True, frozen=True):
    model: Model


@output("queue-aligned")
@output("ratio-against-time")
class Panelled(Output, kw_only=True, frozen=True):
    AXES = ("panels",)
    panels: Text = UNSET
    limits: Numbers = UNSET


@output("queue-panels")
class QueuePanels(Output, kw_only=True, frozen=True):
    AXES = ("panels",)
    panels: str
    marks: dict[str, float] | UnsetType = UNSET


@output("stacked-queues")
class StackedQueues(Output, kw_only=True, frozen=True):
    offset: float
    published_overflows: Numbers = UNSET


@output("goodput-bars")
class Bars(Output, kw_only=True, frozen=True):
    """The goodput of each flow."""


@output("drop-raster")
class Raster(Output, kw_only=True, frozen=True):
    """Which flow loses a packet when."""


@output("holds")
class Holds(Output, kw_only=True, frozen=True):
    """How long a queue is chosen to lose."""


@output("queue-and-windows")
class QueueAndWindows(Output, kw_only=True, frozen=True):
    """The queue, and windows below it."""
