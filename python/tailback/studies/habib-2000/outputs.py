"""The keys of this study's own kinds of outputs; see `tailback.study.outputs`."""

from __future__ import annotations

from msgspec import UNSET

from tailback.study.outputs import Output, Texts, output


@output("flow-values")
class FlowValues(Output, kw_only=True, frozen=True):
    column: str
    ylabel: str
    classes: list[str]
    class_titles: Texts = UNSET


@output("responses")
class Responses(Output, kw_only=True, frozen=True):
    """When the answers to what people type are there."""
