"""The answer as text: the order, the measures with intervals, who leads where, and the lines for `tc`."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from tailback.apps.ask import refine, shown
from tailback.apps.ask.link import words
from tailback.core.text.plain import plain
from tailback.core.text.width import terminal_width

if TYPE_CHECKING:
    from tailback.apps.ask.link.compared import Comparison
    from tailback.apps.ask.link.link import Link
    from tailback.apps.ask.link.traffic import Times


def _width(width: int | None) -> int:
    return max(width or terminal_width(), 40)


def opening(link: Link, times: Times, seeds: str, width: int | None = None) -> str:
    """The question as it was understood: it can be said before anything has run."""
    paragraphs = [
        f"Which queue for {words.question(link)}?",
        f"{words.crossing(link)} {words.conditions(link, times, seeds)}",
        *link.notes,
    ]
    return "\n".join(plain(line) for p in paragraphs for line in textwrap.wrap(p, _width(width)))


def first(answer: Comparison, width: int | None = None) -> str:
    """What one seed of each discipline says."""
    width = _width(width)
    lines = [*textwrap.wrap(words.at_first(answer), width), "", *_table(answer, width)]
    return "\n".join(plain(line) for line in lines)


def text(answer: Comparison, width: int | None = None, *, opened: bool = False) -> str:
    width = _width(width)
    lines = [] if opened else [opening(answer.link, answer.times, refine.said(len(answer.seeds)), width)]
    lines += ["", *textwrap.wrap(f"{words.first(answer)} {words.against(answer)}", width), "", *_table(answer, width)]
    if len(answer.seeds) > 1:
        lines += [
            "",
            *textwrap.wrap(f"{shown.BEST} {judged(answer)}", width),
        ]
    lines += ["", "On Linux (tc qdisc replace dev DEV root ...)"]
    for name, c in answer.candidates.items():
        line = c.tc if c.tc is not None else "(Linux has no such discipline)"
        notes = [c.where or c.tc_remark] if answer.link.rack is not None else []
        notes += [f"does not say {', '.join(c.unsaid)}"] if c.unsaid else []
        line = "  # ".join(filter(None, (line, *notes)))
        lines += textwrap.wrap(
            f"  {name:<10} {line}", width, subsequent_indent=" " * 13, break_long_words=False, break_on_hyphens=False
        )
    return "\n".join(plain(part) for line in lines for part in line.split("\n"))


def judged(answer: Comparison) -> str:
    return (
        "Better: the 99 % interval of the difference, seed by seed, leaves zero out, and the difference matters. "
        "Ranked by how often better "
        "less how often worse."
    )


def _table(answer: Comparison, width: int) -> list[str]:
    places = answer.ranking.places
    names = [["", "", *(str(p.rank or "") for p in places)], ["queue", "", *(p.queue for p in places)]]
    lead = []
    if len(answer.seeds) > 1:
        lead = [["better", "", *(str(p.better) for p in places)], ["worse", "", *(str(p.worse) for p in places)]]
    return shown.in_terminal(answer.ranking, names, lead, width)
