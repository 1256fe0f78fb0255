"""The keys of this study's own kinds of outputs; see `tailback.study.outputs`."""

from __future__ import annotations

from msgspec import UNSET

from tailback.study.outputs import Output, Text, Texts, output


@output("against")
class Against(Output, kw_only=True, frozen=True):
    AXES = ("lines", "panels")
    measures: list[str]
    lines: Text = UNSET
    panels: Texts = UNSET
