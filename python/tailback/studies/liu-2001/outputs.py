"""The keys of this study's own kinds of outputs; see `tailback.study.outputs`."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from tailback.study.outputs import Output, Text, Texts, output

Frame = Literal["averages", "delay", "utilisation", "drops", "probabilities", "attained"]


@output("flow-rates")
class FlowRates(Output, kw_only=True, frozen=True):
    round_trips: list[str]
    pair: Text = UNSET
    ends: Text = UNSET
    high: float | UnsetType = UNSET


@output("gateway")
class Gateway(Output, kw_only=True, frozen=True):
    pair: Text = UNSET
    link: Text = UNSET
    panels: list[Frame] | UnsetType = UNSET
    thresholds: dict[str, float] | UnsetType = UNSET
    loads: Texts = UNSET
    round_trips: Texts = UNSET
    #: The constant probability of a discipline that records none.
    stands: float | UnsetType = UNSET


@output("side-by-side")
class SideBySide(Gateway, kw_only=True, frozen=True):
    pairs: list[str]
    panels: list[Frame]


@output("colour-rounds")
class ColourRounds(Output, kw_only=True, frozen=True):
    #: The groups, whose first flows are drawn, and the titles of their frames.
    classes: dict[str, str]
    rounds: int
    from_s: float
    pair: Text = UNSET


@output("marked-traffic")
class MarkedTraffic(Output, kw_only=True, frozen=True):
    flows: dict[str, str]
    pair: Text = UNSET


@output("changes")
class Changes(Output, kw_only=True, frozen=True):
    pair: str
    probe: str
