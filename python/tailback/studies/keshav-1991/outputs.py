"""The keys of this study's own kinds of outputs; see `tailback.study.outputs`."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from tailback.study.outputs import Output, output


@output("utility")
class Utility(Output, kw_only=True, frozen=True):
    panels: list[list[str]]
    sources: list[int] | UnsetType = UNSET
    box_sigmas: float | UnsetType = UNSET
    smallest_box: float | UnsetType = UNSET
